/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* C = alpha op(A) op(B) + beta C, one group per tile of C; OP: TDM_OP_TRANSPOSE_A, TDM_OP_TRANSPOSE_B.
 * Slices of A and B are brought into fast memory as ACC, padded with zeros to the tile's edges. With
 * one lane that is a private block, multiplied in strips of registers; with more it is local memory,
 * and a lane has a small rectangle of the tile in registers. */

/* The element (row, k) of op(A) and (k, col) of op(B). */
#define LOAD_A(r, k)                                                                               \
    ((OP & TDM_OP_TRANSPOSE_A) != 0 ? LOAD(ar, (k)*args.lda + (r)) : LOAD(ar, (r)*args.lda + (k)))
#define LOAD_BT(k, c)                                                                              \
    ((OP & TDM_OP_TRANSPOSE_B) != 0 ? LOAD(br, (c)*args.ldb + (k)) : LOAD(br, (k)*args.ldb + (c)))

#if ROW_LOOPS

#define SLICE 128 /* of k */
#define STRIP 8   /* rows in registers */

KERNEL3(matmul, tdm_matmul_args, const T, a, const T, b, T, c)
{
    SCRATCH_ARRAY(ACC, a_block, TDM_TILE_M * SLICE, 0);                  /* [row][k] */
    SCRATCH_ARRAY(ACC, b_block, SLICE * TDM_TILE_N, TDM_TILE_M * SLICE); /* [k][col] */
    SCRATCH_ARRAY(ACC, tile, TDM_TILE_M * TDM_TILE_N, (TDM_TILE_M + TDM_TILE_N) * SLICE);
    const ACC alpha = SCALAR(args.alpha), beta = SCALAR(args.beta);
    const tdm_i64 tiles_m = (args.m + TDM_TILE_M - 1) / TDM_TILE_M;
    const tdm_i64 tiles_n = (args.n + TDM_TILE_N - 1) / TDM_TILE_N;
    FOR_ROWS(item, args.batch * tiles_m * tiles_n)
    {
        const tdm_i64 matrix = item / (tiles_m * tiles_n);
        const tdm_i64 row = (item / tiles_n % tiles_m) * TDM_TILE_M;
        const tdm_i64 col = (item % tiles_n) * TDM_TILE_N;
        const tdm_i32 m = (tdm_i32)MIN((tdm_i64)TDM_TILE_M, (tdm_i64)args.m - row);
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)TDM_TILE_N, (tdm_i64)args.n - col);
        GLOBAL const T *const ar = a + (args.a_offset + matrix * args.a_stride);
        GLOBAL const T *const br = b + (args.b_offset + matrix * args.b_stride);
        for (tdm_i32 i = 0; i < TDM_TILE_M * TDM_TILE_N; i++)
            tile[i] = 0;
        for (tdm_i64 start = 0; start < (tdm_i64)args.k; start += SLICE) {
            const tdm_i32 depth = (tdm_i32)MIN((tdm_i64)SLICE, (tdm_i64)args.k - start);
            if (m < TDM_TILE_M) {
                for (tdm_i32 i = 0; i < TDM_TILE_M * SLICE; i++)
                    a_block[i] = 0;
            }
            if (n < TDM_TILE_N) {
                for (tdm_i32 i = 0; i < SLICE * TDM_TILE_N; i++)
                    b_block[i] = 0;
            }
            if ((OP & TDM_OP_TRANSPOSE_A) != 0) {
                for (tdm_i32 k = 0; k < depth; k++) {
                    FOR_LANES(i, 0, m)
                    {
                        a_block[i * SLICE + k] = LOAD_A(row + i, start + k);
                    }
                }
            } else {
                for (tdm_i32 i = 0; i < m; i++) {
                    FOR_LANES(k, 0, depth)
                    {
                        a_block[i * SLICE + k] = LOAD_A(row + i, start + k);
                    }
                }
            }
            if ((OP & TDM_OP_TRANSPOSE_B) != 0) {
                for (tdm_i32 j = 0; j < n; j++) {
                    FOR_LANES(k, 0, depth)
                    {
                        b_block[k * TDM_TILE_N + j] = LOAD_BT(start + k, col + j);
                    }
                }
            } else {
                for (tdm_i32 k = 0; k < depth; k++) {
                    FOR_LANES(j, 0, n)
                    {
                        b_block[k * TDM_TILE_N + j] = LOAD_BT(start + k, col + j);
                    }
                }
            }
            for (tdm_i32 j = 0; j < n; j += VEC_LEN) {
                for (tdm_i32 i = 0; i < m; i += STRIP) {
                    const ACC *const p = a_block + i * SLICE;
                    VEC v0 = *(VEC *)(tile + (i + 0) * TDM_TILE_N + j);
                    VEC v1 = *(VEC *)(tile + (i + 1) * TDM_TILE_N + j);
                    VEC v2 = *(VEC *)(tile + (i + 2) * TDM_TILE_N + j);
                    VEC v3 = *(VEC *)(tile + (i + 3) * TDM_TILE_N + j);
                    VEC v4 = *(VEC *)(tile + (i + 4) * TDM_TILE_N + j);
                    VEC v5 = *(VEC *)(tile + (i + 5) * TDM_TILE_N + j);
                    VEC v6 = *(VEC *)(tile + (i + 6) * TDM_TILE_N + j);
                    VEC v7 = *(VEC *)(tile + (i + 7) * TDM_TILE_N + j);
                    for (tdm_i32 k = 0; k < depth; k++) {
                        const VEC q = *(const VEC *)(b_block + k * TDM_TILE_N + j);
                        v0 += p[0 * SLICE + k] * q;
                        v1 += p[1 * SLICE + k] * q;
                        v2 += p[2 * SLICE + k] * q;
                        v3 += p[3 * SLICE + k] * q;
                        v4 += p[4 * SLICE + k] * q;
                        v5 += p[5 * SLICE + k] * q;
                        v6 += p[6 * SLICE + k] * q;
                        v7 += p[7 * SLICE + k] * q;
                    }
                    *(VEC *)(tile + (i + 0) * TDM_TILE_N + j) = v0;
                    *(VEC *)(tile + (i + 1) * TDM_TILE_N + j) = v1;
                    *(VEC *)(tile + (i + 2) * TDM_TILE_N + j) = v2;
                    *(VEC *)(tile + (i + 3) * TDM_TILE_N + j) = v3;
                    *(VEC *)(tile + (i + 4) * TDM_TILE_N + j) = v4;
                    *(VEC *)(tile + (i + 5) * TDM_TILE_N + j) = v5;
                    *(VEC *)(tile + (i + 6) * TDM_TILE_N + j) = v6;
                    *(VEC *)(tile + (i + 7) * TDM_TILE_N + j) = v7;
                }
            }
        }
        for (tdm_i32 i = 0; i < m; i++) {
            GLOBAL T *const cr =
                c + (args.c_offset + matrix * args.c_stride + (row + i) * args.ldc + col);
            const ACC *const from = tile + i * TDM_TILE_N;
            if (args.read_c) {
                FOR_LANES(j, 0, n)
                {
                    STORE(cr, j, alpha * from[j] + beta * LOAD(cr, j));
                }
            } else {
                FOR_LANES(j, 0, n)
                {
                    STORE(cr, j, alpha * from[j]);
                }
            }
        }
    }
}

#undef SLICE
#undef STRIP

#else

#define PER_M (TDM_TILE_M / LANES_M)
#define PER_N (TDM_TILE_N / LANES_N)
#define SLICE 16
#define PITCH_A (TDM_TILE_M + 1) /* one more, against bank conflicts */
#define PITCH_B (TDM_TILE_N + 1)

KERNEL3(matmul, tdm_matmul_args, const T, a, const T, b, T, c)
{
    LOCAL_ARRAY(ACC, a_slice, SLICE * PITCH_A); /* [k][row] */
    LOCAL_ARRAY(ACC, b_slice, SLICE * PITCH_B); /* [k][col] */
    const ACC alpha = SCALAR(args.alpha), beta = SCALAR(args.beta);
    const tdm_i64 tiles_m = (args.m + TDM_TILE_M - 1) / TDM_TILE_M;
    const tdm_i64 tiles_n = (args.n + TDM_TILE_N - 1) / TDM_TILE_N;
    const tdm_i32 y = LANE / LANES_N, x = LANE % LANES_N;
    FOR_ROWS(item, args.batch * tiles_m * tiles_n)
    {
        const tdm_i64 matrix = item / (tiles_m * tiles_n);
        const tdm_i64 row = (item / tiles_n % tiles_m) * TDM_TILE_M;
        const tdm_i64 col = (item % tiles_n) * TDM_TILE_N;
        GLOBAL const T *const ar = a + (args.a_offset + matrix * args.a_stride);
        GLOBAL const T *const br = b + (args.b_offset + matrix * args.b_stride);
        ACC sums[PER_M][PER_N];
        for (tdm_i32 i = 0; i < PER_M; i++)
            for (tdm_i32 j = 0; j < PER_N; j++)
                sums[i][j] = 0;
        for (tdm_i64 start = 0; start < (tdm_i64)args.k; start += SLICE) {
            FOR_LANES(e, 0, SLICE * TDM_TILE_M)
            {
                /* neighbouring lanes read neighbouring elements, whichever way A lies */
                const tdm_i32 i = (OP & TDM_OP_TRANSPOSE_A) != 0 ? e % TDM_TILE_M : e / SLICE;
                const tdm_i32 k = (OP & TDM_OP_TRANSPOSE_A) != 0 ? e / TDM_TILE_M : e % SLICE;
                const tdm_i32 inside = row + i < (tdm_i64)args.m && start + k < (tdm_i64)args.k;
                a_slice[k * PITCH_A + i] = inside ? LOAD_A(row + i, start + k) : (ACC)0;
            }
            FOR_LANES(e, 0, SLICE * TDM_TILE_N)
            {
                const tdm_i32 j = (OP & TDM_OP_TRANSPOSE_B) != 0 ? e / SLICE : e % TDM_TILE_N;
                const tdm_i32 k = (OP & TDM_OP_TRANSPOSE_B) != 0 ? e % SLICE : e / TDM_TILE_N;
                const tdm_i32 inside = col + j < (tdm_i64)args.n && start + k < (tdm_i64)args.k;
                b_slice[k * PITCH_B + j] = inside ? LOAD_BT(start + k, col + j) : (ACC)0;
            }
            BARRIER;
            for (tdm_i32 k = 0; k < SLICE; k++) {
                ACC q[PER_N];
                for (tdm_i32 j = 0; j < PER_N; j++)
                    q[j] = b_slice[k * PITCH_B + x + j * LANES_N];
                for (tdm_i32 i = 0; i < PER_M; i++) {
                    const ACC p = a_slice[k * PITCH_A + y + i * LANES_M];
                    for (tdm_i32 j = 0; j < PER_N; j++)
                        sums[i][j] += p * q[j];
                }
            }
            BARRIER;
        }
        for (tdm_i32 i = 0; i < PER_M; i++) {
            for (tdm_i32 j = 0; j < PER_N; j++) {
                const tdm_i64 to_row = row + y + i * LANES_M, to_col = col + x + j * LANES_N;
                if (to_row < (tdm_i64)args.m && to_col < (tdm_i64)args.n) {
                    GLOBAL T *const cr = c + (args.c_offset + matrix * args.c_stride);
                    const tdm_i64 at = to_row * args.ldc + to_col;
                    const ACC old = args.read_c ? beta * LOAD(cr, at) : (ACC)0;
                    STORE(cr, at, alpha * sums[i][j] + old);
                }
            }
        }
    }
}

#undef SLICE
#endif

#undef LOAD_A
#undef LOAD_BT
