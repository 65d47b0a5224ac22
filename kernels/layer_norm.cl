/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm of s = x + residual, see residual.h. The mean is kept as a rounded sum and what that lost, as its rounding
 * is much to elements that are near it. OP: TDM_OP_ROW_RESIDUAL, _WEIGHT, _BIAS, _SUM. */

#define BUFFERS(X)                                                                                 \
    X(0, const T, x) X(1, const T, residual) X(2, const T, weight) X(3, const T, bias)             \
    X(4, tdm_moments, partial) X(5, T, sum) X(6, T, y)

KERNEL_OF(layer_norm, tdm_normalize_args, BUFFERS)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC epsilon = SCALAR(args.epsilon), root = SQRT(epsilon);
    FOR_ROWS(item, args.rows * PIECES)
    {
        PIECE(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL const T *const wr = HAS_WEIGHT ? weight + (args.weight_offset + start) : xr;
        GLOBAL const T *const br = HAS_BIAS ? bias + (args.bias_offset + start) : xr;
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD_S(xr, rr, row, start, cols);
        tdm_moments all;
        FOR_STATES(c, begin, end, cols)
        {
            tdm_moments m;
            if (PHASE == TDM_ROWS_WRITES)
                m = LEFT(c);
            else
                MOMENTS(m, xr, RESIDUAL_OR_NULL(rr), MIDDLE_S(xr, rr, begin, end - begin), j, begin, end,
                        READ_S(xr, rr), S_AT(xr, rr, j), epsilon, root);
            KEEP_STATE(all, c, m, tdm_moments_merged(all, m));
        }
        if (PHASE == TDM_ROWS_SUMS) continue;
        const ACC least = all.factor == (ACC)1 ? epsilon : SQUARE(root * all.factor);
        const ACC scale = (ACC)1 / SQRT(all.variance + least);
        WRITE_WEIGHTED_OF_S(yr, xr, rr, wr, br, row, start, cols, s, j,
                            ((s * all.factor - all.mean) - all.rest) * scale);
    }
}

#undef BUFFERS
