/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product in which C has few rows, or few columns: reading the large matrix once is all that takes time.
 * Result (i, j) is the sum over k of s[i][k] and the large matrix's (j, k), for i below `small`, which is
 * TDM_NARROW at most. `s` is the small matrix as ACC: contiguous rows, TDM_NARROW_STEP elements or a
 * multiple of that long, and an even number of them; what is beyond `k` and `small` is zero. OP:
 * TDM_OP_NARROW_COLS when the large matrix is stored with a row for each k, else it has one for each j. */
OPS(matmul_narrow, TDM_OP_NARROW_COUNT, 0)

#define OUT(i, j) (args.c_offset + matrix * args.c_stride + (i)*args.c_small + (j)*args.c_large)
#define PUT(i, j, v)                                                                               \
    do {                                                                                           \
        const ACC tdm_old = args.read_c ? beta * LOAD(c, OUT(i, j)) : (ACC)0;                      \
        STORE(c, OUT(i, j), alpha * (v) + tdm_old);                                                \
    } while (0)

#if LANES == 1

#define ROWS 4    /* of the large matrix that are multiplied together */
#define SLICE 512 /* of k */
#define COLS TDM_NARROW_COLS
#define DEPTH 8   /* rows that are added to these at once */

/* Row r of a slice at j: as it lies in the matrix, or converted. */
#define IN_PLACE(r) LOAD_VEC(l + (r)*args.large_ld + j)
#define IN_LINES(r) (*(const VEC *)(lines + (r)*SLICE + j))

/* Adds the products of a slice to the sums, two rows of the small matrix at a time. */
#define MULTIPLY_PAIRS(ROW)                                                                        \
    for (tdm_i32 i = 0; i < pairs; i += 2) {                                                       \
        GLOBAL const ACC *const p = sm + i * args.s_row + start;                                   \
        GLOBAL const ACC *const q = p + args.s_row;                                                \
        ACC *const line = sums + i * ROWS * VEC_LEN;                                               \
        VEC p0 = *(VEC *)(line + 0 * VEC_LEN), p1 = *(VEC *)(line + 1 * VEC_LEN);                  \
        VEC p2 = *(VEC *)(line + 2 * VEC_LEN), p3 = *(VEC *)(line + 3 * VEC_LEN);                  \
        VEC q0 = *(VEC *)(line + 4 * VEC_LEN), q1 = *(VEC *)(line + 5 * VEC_LEN);                  \
        VEC q2 = *(VEC *)(line + 6 * VEC_LEN), q3 = *(VEC *)(line + 7 * VEC_LEN);                  \
        for (tdm_i32 j = 0; j < depth; j += VEC_LEN) {                                             \
            const VEC a = *(GLOBAL const VEC *)(p + j);                                            \
            const VEC b = *(GLOBAL const VEC *)(q + j);                                            \
            const VEC l0 = ROW(0), l1 = ROW(1), l2 = ROW(2), l3 = ROW(3);                          \
            p0 += a * l0;                                                                          \
            p1 += a * l1;                                                                          \
            p2 += a * l2;                                                                          \
            p3 += a * l3;                                                                          \
            q0 += b * l0;                                                                          \
            q1 += b * l1;                                                                          \
            q2 += b * l2;                                                                          \
            q3 += b * l3;                                                                          \
        }                                                                                          \
        *(VEC *)(line + 0 * VEC_LEN) = p0;                                                         \
        *(VEC *)(line + 1 * VEC_LEN) = p1;                                                         \
        *(VEC *)(line + 2 * VEC_LEN) = p2;                                                         \
        *(VEC *)(line + 3 * VEC_LEN) = p3;                                                         \
        *(VEC *)(line + 4 * VEC_LEN) = q0;                                                         \
        *(VEC *)(line + 5 * VEC_LEN) = q1;                                                         \
        *(VEC *)(line + 6 * VEC_LEN) = q2;                                                         \
        *(VEC *)(line + 7 * VEC_LEN) = q3;                                                         \
    }

KERNEL3(matmul_narrow, tdm_matmul_narrow_args, const ACC, s, const T, large, T, c)
{
    /* slices of ROWS rows or DEPTH pieces of rows, as ACC; sums of lines [i][row][VEC_LEN] or [i][col] */
    SCRATCH_ARRAY(ACC, lines, DEPTH * COLS, 0);
    SCRATCH_ARRAY(ACC, sums, TDM_NARROW * COLS, DEPTH * COLS);
    const ACC alpha = SCALAR(args.alpha), beta = SCALAR(args.beta);
    /* a launch that only warms up has arguments of zeros */
    const tdm_i64 step =
        (OP & TDM_OP_NARROW_COLS) != 0 ? MAX((tdm_i64)args.step, (tdm_i64)1) : (tdm_i64)ROWS;
    const tdm_i64 blocks = (args.large + step - 1) / step;
    FOR_ROWS(item, args.batch * blocks)
    {
        const tdm_i64 matrix = item / blocks, first = item % blocks * step;
        const tdm_i32 n = (tdm_i32)MIN(step, args.large - first);
        const tdm_i32 small = (tdm_i32)args.small;
        GLOBAL const ACC *const sm = s + matrix * args.s_stride;
        GLOBAL const T *const lm = large + (args.large_offset + matrix * args.large_stride);
        if ((OP & TDM_OP_NARROW_COLS) != 0) {
            for (tdm_i32 i = 0; i < small * COLS; i++)
                sums[i] = 0;
            tdm_i64 start = 0;
            /* what is converted is kept below, for the rows after the first */
            for (; (small == 1 || T_SIZE > 2) && start + DEPTH <= (tdm_i64)args.k;
                 start += DEPTH) {
                GLOBAL const T *const l0 = lm + start * args.large_ld + first;
                GLOBAL const T *const l1 = l0 + args.large_ld, *const l2 = l1 + args.large_ld;
                GLOBAL const T *const l3 = l2 + args.large_ld, *const l4 = l3 + args.large_ld;
                GLOBAL const T *const l5 = l4 + args.large_ld, *const l6 = l5 + args.large_ld;
                GLOBAL const T *const l7 = l6 + args.large_ld;
                for (tdm_i32 r = DEPTH; r < 2 * DEPTH; r++)
                    FETCH_ROW(l0 + r * args.large_ld, n);
                for (tdm_i32 i = 0; i < small; i++) {
                    ACC *const sum = sums + i * COLS;
                    GLOBAL const ACC *const q = sm + i * args.s_row + start;
                    const ACC q0 = q[0], q1 = q[1], q2 = q[2], q3 = q[3];
                    const ACC q4 = q[4], q5 = q[5], q6 = q[6], q7 = q[7];
                    FOR_LANES(j, 0, n)
                    {
                        const ACC even = q0 * LOAD(l0, j) + q2 * LOAD(l2, j) + q4 * LOAD(l4, j) +
                                         q6 * LOAD(l6, j);
                        const ACC odd = q1 * LOAD(l1, j) + q3 * LOAD(l3, j) + q5 * LOAD(l5, j) +
                                        q7 * LOAD(l7, j);
                        sum[j] += even + odd;
                    }
                }
            }
            for (; start < (tdm_i64)args.k; start += DEPTH) {
                const tdm_i32 depth = (tdm_i32)MIN((tdm_i64)DEPTH, (tdm_i64)args.k - start);
                for (tdm_i32 r = 0; r < DEPTH; r++) {
                    /* beyond k there are zeros, as zero times Inf would be NaN */
                    GLOBAL const T *const lr = lm + (start + r) * args.large_ld + first;
                    ACC *const line = lines + r * COLS;
                    FETCH_ROW(lr + DEPTH * args.large_ld, n);
                    if (r < depth) {
                        FOR_LANES(j, 0, n)
                        {
                            line[j] = LOAD(lr, j);
                        }
                    } else {
                        FOR_LANES(j, 0, n)
                        {
                            line[j] = 0;
                        }
                    }
                }
                for (tdm_i32 i = 0; i < small; i++) {
                    GLOBAL const ACC *const q = sm + i * args.s_row + start;
                    const ACC q0 = q[0], q1 = q[1], q2 = q[2], q3 = q[3];
                    const ACC q4 = q[4], q5 = q[5], q6 = q[6], q7 = q[7];
                    for (tdm_i32 j = 0; j < n; j += VEC_LEN) {
                        const ACC *const p = lines + j;
                        VEC v = *(VEC *)(sums + i * COLS + j);
                        v += q0 * *(const VEC *)(p + 0 * COLS);
                        v += q1 * *(const VEC *)(p + 1 * COLS);
                        v += q2 * *(const VEC *)(p + 2 * COLS);
                        v += q3 * *(const VEC *)(p + 3 * COLS);
                        v += q4 * *(const VEC *)(p + 4 * COLS);
                        v += q5 * *(const VEC *)(p + 5 * COLS);
                        v += q6 * *(const VEC *)(p + 6 * COLS);
                        v += q7 * *(const VEC *)(p + 7 * COLS);
                        *(VEC *)(sums + i * COLS + j) = v;
                    }
                }
            }
            for (tdm_i32 i = 0; i < small; i++)
                for (tdm_i32 j = 0; j < n; j++)
                    PUT(i, first + j, sums[i * COLS + j]);
        } else if (T_SIZE > 2 && small == 1) {
            /* rows of 16 bits are converted faster in longer pieces, as below */
            for (tdm_i32 r = 0; r < n; r += 2) {
                GLOBAL const T *const l0 = lm + (first + r) * args.large_ld;
                GLOBAL const T *const l1 = r + 1 < n ? l0 + args.large_ld : l0;
                ACC a = 0, b = 0;
                SUM2(a, b, j, 0, (tdm_i32)args.k, const ACC q = sm[j], LOAD(l0, j) * q,
                     LOAD(l1, j) * q, AHEAD(l0));
                PUT(0, first + r, a);
                if (r + 1 < n) PUT(0, first + r + 1, b);
            }
        } else {
            const tdm_i32 pairs = (small + 1) / 2 * 2;
            for (tdm_i32 i = 0; i < pairs * ROWS * VEC_LEN; i++)
                sums[i] = 0;
            for (tdm_i32 i = n * SLICE; i < ROWS * SLICE; i++)
                lines[i] = 0;
            for (tdm_i64 start = 0; start < (tdm_i64)args.k; start += SLICE) {
                const tdm_i32 depth = (tdm_i32)MIN((tdm_i64)SLICE, (tdm_i64)args.k - start);
                GLOBAL const T *const l = lm + first * args.large_ld + start;
#if T_SIZE > 2
                if (n == ROWS && depth % VEC_LEN == 0) {
                    for (tdm_i32 r = 0; r < ROWS; r++)
                        FETCH(l + r * args.large_ld, depth);
                    MULTIPLY_PAIRS(IN_PLACE)
                    continue;
                }
#endif
                for (tdm_i32 r = 0; r < n; r++) {
                    GLOBAL const T *const lr = l + r * args.large_ld;
                    ACC *const line = lines + r * SLICE;
                    FETCH(lr, depth);
                    FOR_LANES(j, 0, depth)
                    {
                        line[j] = LOAD(lr, j);
                    }
                    for (tdm_i32 j = depth; j % VEC_LEN != 0; j++)
                        line[j] = 0;
                }
                MULTIPLY_PAIRS(IN_LINES)
            }
            for (tdm_i32 i = 0; i < small; i++) {
                for (tdm_i32 r = 0; r < n; r++) {
                    const ACC *const line = sums + (i * ROWS + r) * VEC_LEN;
                    ACC total = 0;
                    for (tdm_i32 j = 0; j < VEC_LEN; j++)
                        total += line[j];
                    PUT(i, first + r, total);
                }
            }
        }
    }
}

#undef ROWS
#undef SLICE
#undef COLS
#undef DEPTH
#undef IN_PLACE
#undef IN_LINES
#undef MULTIPLY_PAIRS

#else

#define TOGETHER 4 /* rows of the small matrix */

/* A group has a row of the large matrix, or LANES columns of it. */
KERNEL3(matmul_narrow, tdm_matmul_narrow_args, const ACC, s, const T, large, T, c)
{
    LOCAL_ARRAY(ACC, scratch, LANES);
    const ACC alpha = SCALAR(args.alpha), beta = SCALAR(args.beta);
    const tdm_i64 step = (OP & TDM_OP_NARROW_COLS) != 0 ? LANES : 1;
    const tdm_i64 blocks = (args.large + step - 1) / step;
    FOR_ROWS(item, args.batch * blocks)
    {
        const tdm_i64 matrix = item / blocks;
        const tdm_i64 at = item % blocks * step + ((OP & TDM_OP_NARROW_COLS) != 0 ? LANE : 0);
        const tdm_i32 small = (tdm_i32)args.small;
        GLOBAL const T *const lm = large + (args.large_offset + matrix * args.large_stride);
        for (tdm_i32 i = 0; i < small; i += TOGETHER) {
            GLOBAL const ACC *const sm = s + (matrix * args.s_stride + i * args.s_row);
            ACC sums[TOGETHER];
            for (tdm_i32 t = 0; t < TOGETHER; t++)
                sums[t] = 0;
            if ((OP & TDM_OP_NARROW_COLS) != 0) {
                for (tdm_i64 k = 0; k < (tdm_i64)args.k && at < args.large; k++) {
                    const ACC v = LOAD(lm, k * args.large_ld + at);
                    for (tdm_i32 t = 0; t < TOGETHER; t++)
                        sums[t] += v * (i + t < small ? sm[t * args.s_row + k] : (ACC)0);
                }
            } else {
                GLOBAL const T *const lr = lm + at * args.large_ld;
                FOR_LANES(k, 0, (tdm_i32)args.k)
                {
                    const ACC v = LOAD(lr, k);
                    for (tdm_i32 t = 0; t < TOGETHER; t++)
                        sums[t] += v * (i + t < small ? sm[t * args.s_row + k] : (ACC)0);
                }
                for (tdm_i32 t = 0; t < TOGETHER; t++)
                    sums[t] = GROUP_SUM(scratch, sums[t]);
            }
            if (at < args.large && ((OP & TDM_OP_NARROW_COLS) != 0 || LANE == 0)) {
                for (tdm_i32 t = 0; t < TOGETHER; t++)
                    if (i + t < small) PUT(i + t, at, sums[t]);
            }
        }
    }
}

#undef TOGETHER
#endif

#undef OUT
#undef PUT
