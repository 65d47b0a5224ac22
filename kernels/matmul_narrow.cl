/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product in which C has few rows, or few columns: reading the large matrix once is all that takes time.
 * Result (i, j) is the sum over k of s[i][k] and the large matrix's (j, k), for i below `small`, which is
 * TDM_NARROW at most. `s` is the small matrix as ACC: contiguous rows, TDM_NARROW_STEP elements or a
 * multiple of that long, and an even number of them; what is beyond `k` and `small` is zero. OP:
 * TDM_OP_NARROW_COLS when the large matrix is stored with a row for each k, else it has one for each j. */

#define OUT(i, j) (args.c_offset + matrix * args.c_stride + (i)*args.c_small + (j)*args.c_large)
#define PUT(i, j, v)                                                                               \
    do {                                                                                           \
        const ACC tdm_old = args.read_c ? beta * LOAD(c, OUT(i, j)) : (ACC)0;                      \
        STORE(c, OUT(i, j), alpha * (v) + tdm_old);                                                \
    } while (0)

#if ROW_LOOPS

#define ROWS 4    /* of the large matrix that are multiplied together */
#define SLICE 512 /* of k */
#define COLS TDM_NARROW_COLS
#define DEPTH 8   /* rows that are added to these at once */

/* Row r of a slice at j: as it lies in the matrix, or converted. */
#define IN_PLACE(r) LOAD_VEC(l + (r)*args.large_ld + j)
#define IN_LINES(r) (*(const VEC *)(lines + (r)*SLICE + j))
#define IN_COLS(r) (*(const VEC *)(lines + (r)*COLS + j))

/* n elements of a row as ACC. */
#define CONVERT_ROW(line, row, n)                                                                  \
    do {                                                                                           \
        tdm_i32 j = 0;                                                                             \
        for (; j + VEC_LEN <= (n); j += VEC_LEN)                                                   \
            *(VEC *)((line) + j) = LOAD_VEC((row) + j);                                            \
        for (; j < (n); j++)                                                                       \
            (line)[j] = LOAD(row, j);                                                              \
    } while (0)

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

/* Adds the products of DEPTH pieces of rows to the sums, for two rows of the small matrix at a time. */
#define MULTIPLY_PIECES(ROW)                                                                       \
    for (tdm_i32 i = 0; i < pairs; i += 2) {                                                       \
        ACC *const p = sums + i * COLS, *const q = p + COLS;                                       \
        GLOBAL const ACC *const a = sm + i * args.s_row + start;                                   \
        GLOBAL const ACC *const b = a + args.s_row;                                                \
        const ACC a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];                                      \
        const ACC a4 = a[4], a5 = a[5], a6 = a[6], a7 = a[7];                                      \
        const ACC b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];                                      \
        const ACC b4 = b[4], b5 = b[5], b6 = b[6], b7 = b[7];                                      \
        for (tdm_i32 j = 0; j < n; j += VEC_LEN) {                                                 \
            const VEC l0 = ROW(0), l1 = ROW(1), l2 = ROW(2), l3 = ROW(3);                          \
            const VEC l4 = ROW(4), l5 = ROW(5), l6 = ROW(6), l7 = ROW(7);                          \
            *(VEC *)(p + j) += ((a0 * l0 + a1 * l1) + (a2 * l2 + a3 * l3)) +                       \
                               ((a4 * l4 + a5 * l5) + (a6 * l6 + a7 * l7));                        \
            *(VEC *)(q + j) += ((b0 * l0 + b1 * l1) + (b2 * l2 + b3 * l3)) +                       \
                               ((b4 * l4 + b5 * l5) + (b6 * l6 + b7 * l7));                        \
        }                                                                                          \
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
        const tdm_i32 small = (tdm_i32)args.small, pairs = (small + 1) / 2 * 2;
        GLOBAL const ACC *const sm = s + matrix * args.s_stride;
        GLOBAL const T *const lm = large + (args.large_offset + matrix * args.large_stride);
        if ((OP & TDM_OP_NARROW_COLS) != 0) {
            for (tdm_i32 i = 0; i < pairs * COLS; i++)
                sums[i] = 0;
            /* of more rows than two it is better kept what is converted */
            const tdm_i32 in_place = n % VEC_LEN == 0 && (small <= 2 || T_SIZE > 2);
            for (tdm_i64 start = 0; start < (tdm_i64)args.k; start += DEPTH) {
                const tdm_i32 depth = (tdm_i32)MIN((tdm_i64)DEPTH, (tdm_i64)args.k - start);
                GLOBAL const T *const l = lm + start * args.large_ld + first;
                for (tdm_i32 r = DEPTH; r < 2 * DEPTH; r++)
                    FETCH_ROW(l + r * args.large_ld, n);
                if (in_place && depth == DEPTH) {
                    MULTIPLY_PIECES(IN_PLACE)
                    continue;
                }
                for (tdm_i32 r = 0; r < DEPTH; r++) {
                    ACC *const line = lines + r * COLS;
                    if (r < depth) {
                        CONVERT_ROW(line, l + r * args.large_ld, n);
                    } else { /* beyond k there are zeros, as zero times Inf would be NaN */
                        FOR_LANES(j, 0, n)
                        {
                            line[j] = 0;
                        }
                    }
                }
                MULTIPLY_PIECES(IN_COLS)
            }
            for (tdm_i32 i = 0; i < small; i++)
                for (tdm_i32 j = 0; j < n; j++)
                    PUT(i, first + j, sums[i * COLS + j]);
        } else if (T_SIZE > 2 && small == 1) {
            /* rows of 16 bits are read faster by vectors, as below */
            for (tdm_i32 r = 0; r < n; r += 2) {
                GLOBAL const T *const l0 = lm + (first + r) * args.large_ld;
                GLOBAL const T *const l1 = r + 1 < n ? l0 + args.large_ld : l0;
                ACC a = 0, b = 0;
                SUM2(a, b, j, 0, (tdm_i32)args.k, READ(l0) READ(l1), const ACC q = sm[j],
                     AT(l0, j) * q, AT(l1, j) * q, AHEAD(l0));
                PUT(0, first + r, a);
                if (r + 1 < n) PUT(0, first + r + 1, b);
            }
        } else {
            for (tdm_i32 i = 0; i < pairs * ROWS * VEC_LEN; i++)
                sums[i] = 0;
            for (tdm_i32 i = n * SLICE; i < ROWS * SLICE; i++)
                lines[i] = 0;
            for (tdm_i64 start = 0; start < (tdm_i64)args.k; start += SLICE) {
                const tdm_i32 depth = (tdm_i32)MIN((tdm_i64)SLICE, (tdm_i64)args.k - start);
                GLOBAL const T *const l = lm + first * args.large_ld + start;
                if (n == ROWS && depth % VEC_LEN == 0 && (T_SIZE > 2 || small <= 4)) {
                    for (tdm_i32 r = 0; r < ROWS; r++)
                        FETCH(l + r * args.large_ld, depth);
                    MULTIPLY_PAIRS(IN_PLACE)
                    continue;
                }
                for (tdm_i32 r = 0; r < n; r++) {
                    GLOBAL const T *const lr = l + r * args.large_ld;
                    ACC *const line = lines + r * SLICE;
                    FETCH(lr, depth);
                    CONVERT_ROW(line, lr, depth);
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
#undef IN_COLS
#undef MULTIPLY_PIECES
#undef CONVERT_ROW
#undef IN_PLACE
#undef IN_LINES
#undef MULTIPLY_PAIRS

#else

#define TOGETHER 4 /* rows of the small matrix */

/* A group has a row of the large matrix, or LANES columns of it. */
KERNEL3(matmul_narrow, tdm_matmul_narrow_args, const ACC, s, const T, large, T, c)
{
    GROUP_ARRAY(ACC, scratch);
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
