/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms of rows. OP is the norm's kind. Maxima are of integer keys, in which NaN is above Inf. */

/* A row so short is fetched at once, whole: 1.6 times as fast at 64 columns. */
#define SHORT_ROW 1024


KERNEL3(norm, tdm_norm_args, const T, x, tdm_squares, partial, U, out)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    FOR_ROWS(item, args.rows * PIECES)
    {
        PIECE(item, row, start, cols);
        tdm_i64 x_at = args.x_offset + start, out_at = args.out_offset;
        TDM_FOR_INDICES(d, index, row, args.outer_ndim, args.outer_shape)
        {
            x_at += index * args.x_stride[d];
            out_at += index * args.out_stride[d];
        }
        GLOBAL const T *const xr = x + x_at;
        if (cols <= SHORT_ROW) FETCH(xr, cols);
        tdm_squares all;
        FOR_STATES(c, begin, end, cols)
        {
            tdm_squares s;
            if (PHASE == TDM_ROWS_WRITES) {
                s = LEFT(c);
            } else if (OP != TDM_OP_NORM_INF) {
                ACC sum = 0, lost = 0;
                FOR_BLOCKS_OF(from, to, begin, end)
                {
                    ACC a = 0;
                    SUM(a, j, from, to, READ(xr),
                        OP == TDM_OP_NORM_L1 ? ABS(AT(xr, j)) : SQUARE(AT(xr, j)), AHEAD(xr));
                    TDM_ADD_BLOCK_AT(from, begin, sum, lost, a);
                }
                sum = GROUP_SUM(scratch, sum);
                s = tdm_squares_of(1, sum);
                if (OP == TDM_OP_NORM_L2 && !SAFE_SUM(sum, sum))
                    SQUARES(s, xr, 0, j, begin, end, READ(xr), AT(xr, j), 1, 0, (ACC)0);
            } else {
                KEY largest = 0;
                LARGEST(largest, j, begin, end, READ(xr), MAGNITUDE_KEY(AT(xr, j)), AHEAD(xr));
                s = tdm_squares_of(1, MAGNITUDE_OF(GROUP_MAX(key_scratch, largest)));
            }
            KEEP_STATE(all, c, s,
                 OP != TDM_OP_NORM_INF
                     ? tdm_squares_merged(all, s)
                     : tdm_squares_of(1, MAGNITUDE_OF(MAX(MAGNITUDE_KEY(all.sum), MAGNITUDE_KEY(s.sum)))));
        }
        if (PHASE == TDM_ROWS_SUMS || LANE != 0) continue;
        STORE_U(out, out_at, OP == TDM_OP_NORM_L2 ? SQRT(all.sum) / all.factor : all.sum);
    }
}

#undef SHORT_ROW
