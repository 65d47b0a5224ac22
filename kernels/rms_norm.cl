/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm of s = x + residual, see residual.h. OP: TDM_OP_ROW_RESIDUAL, _WEIGHT, _SUM. */

KERNEL6(rms_norm, tdm_normalize_args, const T, x, const T, residual, const T, weight, tdm_squares, partial,
        T, sum, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC inverse = (ACC)1 / (ACC)args.cut.cols;
    const ACC epsilon = SCALAR(args.epsilon), root = SQRT(epsilon);
    FOR_ROWS(item, args.rows * PIECES)
    {
        PIECE(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL const T *const wr = HAS_WEIGHT ? weight + (args.weight_offset + start) : xr;
        GLOBAL const T *const br = xr; /* there is none */
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD_S(xr, rr, row, start, cols);
        tdm_squares all;
        FOR_STATES(c, begin, end, cols)
        {
            tdm_squares s;
            if (PHASE == TDM_ROWS_WRITES)
                s = LEFT(c);
            else
                SQUARES(s, xr, RESIDUAL_OR_NULL(rr), j, begin, end, READ_S(xr, rr), S_AT(xr, rr, j), inverse,
                        epsilon, root);
            KEEP_STATE(all, c, s, tdm_squares_merged(all, s));
        }
        if (PHASE == TDM_ROWS_SUMS) continue;
        const ACC least = all.factor == (ACC)1 ? epsilon : SQUARE(root * all.factor);
        const ACC scale = (ACC)1 / SQRT(all.sum * inverse + least);
        WRITE_WEIGHTED_OF_S(yr, xr, rr, wr, br, row, start, cols, s, j, s * all.factor * scale);
    }
}
