/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms of rows, or of chunks of rows that norm_combine puts together. OP is the norm's kind. The
 * plain sum of squares is kept when it is far from overflow and underflow, else it is taken again of
 * the elements divided by the largest one. Maxima are of integer keys, in which NaN is above Inf. */

/* A row so short is fetched at once, whole: 1.6 times as fast at 64 columns. */
#define SHORT_ROW 1024

OPS(norm, TDM_OP_NORM_COUNT, 0)
OPS(norm_combine, TDM_OP_NORM_COUNT, 0)

KERNEL3(norm, tdm_norm_args, const T, x, ACC, partial, U, out)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    const tdm_u32 chunks = args.chunks;
    FOR_ROWS(item, args.rows * chunks)
    {
        const tdm_i64 row = chunks == 1 ? item : item / chunks;
        const tdm_i64 start = chunks == 1 ? 0 : (item - row * chunks) * args.chunk;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - start);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        ACC scale = (ACC)1, sum = 0;
        if (n <= SHORT_ROW) FETCH(xr, n);
        if (OP != TDM_OP_NORM_INF) {
            FOR_BLOCKS(begin, end, n, SUM_BLOCK)
            {
                ACC a = 0;
                SUM(a, j, begin, end, READ(xr),
                    OP == TDM_OP_NORM_L1 ? ABS(AT(xr, j)) : SQUARE(AT(xr, j)), AHEAD(xr));
                sum += a;
            }
            sum = GROUP_SUM(scratch, sum);
        }
        const tdm_i32 unsafe = OP == TDM_OP_NORM_L2 ? !SAFE_SQUARES(sum) : 0;
        if (OP == TDM_OP_NORM_INF ? 1 : unsafe) {
            KEY largest = 0;
            LARGEST(largest, j, 0, n, READ(xr), MAGNITUDE_KEY(AT(xr, j)), AHEAD(xr));
            scale = MAGNITUDE_OF(GROUP_MAX(key_scratch, largest));
        }
        if (unsafe) {
            sum = (ACC)1; /* 0, Inf and NaN are their own norms */
            if (scale > 0 && IS_FINITE(scale)) {
                sum = 0;
                FOR_BLOCKS(begin, end, n, SUM_BLOCK)
                {
                    ACC a = 0;
                    SUM(a, j, begin, end, READ(xr), SQUARE(AT(xr, j) / scale), NOTHING_AHEAD);
                    sum += a;
                }
                sum = GROUP_SUM(scratch, sum);
            }
        }
        if (LANE == 0) {
            if (chunks == 1) {
                const ACC result = OP == TDM_OP_NORM_L1 ? sum
                                   : OP == TDM_OP_NORM_L2 ? scale * SQRT(sum)
                                                          : scale;
                STORE_U(out, args.out_offset + row, result);
            } else {
                partial[2 * item] = OP == TDM_OP_NORM_L1 ? sum : scale;
                partial[2 * item + 1] = OP == TDM_OP_NORM_L2 ? sum : (ACC)0;
            }
        }
    }
}

KERNEL2(norm_combine, tdm_norm_args, const ACC, partial, U, out)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    const tdm_i32 n = (tdm_i32)args.chunks;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const ACC *const pr = partial + 2 * row * (tdm_i64)args.chunks;
        ACC result = 0;
        if (OP == TDM_OP_NORM_L1) {
            SUM(result, j, 0, n, NOTHING_READ, pr[2 * j], NOTHING_AHEAD);
            result = GROUP_SUM(scratch, result);
        } else {
            KEY largest = 0;
            LARGEST(largest, j, 0, n, NOTHING_READ,
                    MAGNITUDE_KEY(OP == TDM_OP_NORM_L2 ? pr[2 * j] * SQRT(pr[2 * j + 1]) : pr[2 * j]),
                    NOTHING_AHEAD);
            result = MAGNITUDE_OF(GROUP_MAX(key_scratch, largest));
        }
        if (OP == TDM_OP_NORM_L2 && result > 0 && IS_FINITE(result)) {
            ACC sum = 0;
            SUM(sum, j, 0, n, NOTHING_READ, SQUARE(pr[2 * j] * SQRT(pr[2 * j + 1]) / result),
                NOTHING_AHEAD);
            result *= SQRT(GROUP_SUM(scratch, sum));
        }
        if (LANE == 0) STORE_U(out, args.out_offset + row, result);
    }
}

#undef SHORT_ROW
