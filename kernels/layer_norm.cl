/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm. A pass takes both moments around a pivot, at first the middle one of three elements, so
 * that it is hardly an outlier: these lie where few patterns repeat. Around the mean itself more digits would
 * be lost where few elements are far from all others, as each sum with one of these is rounded in their
 * terms. Where squares overflow or vanish, the next pass multiplies the row by a power of two; where the
 * mean is far from the pivot in terms of the deviation, which loses digits, it is around the mean found so
 * far. As the mean may not be representable, pivot + shift + low is kept as a rounded sum and what that
 * lost: a rounding of the mean is much to elements that are near it. OP: TDM_OP_WEIGHT, TDM_OP_BIAS. y may
 * be x. */
OPS(layer_norm, TDM_OP_AFFINE_COUNT, 1)

KERNEL4(layer_norm, tdm_normalize_args, const T, x, const T, weight, const T, bias, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    const tdm_i32 cols = (tdm_i32)args.cols;
    const ACC inverse = (ACC)1 / (ACC)cols;
    const ACC epsilon = SCALAR(args.epsilon);
    GLOBAL const T *const wr = weight + args.weight_offset;
    GLOBAL const T *const br = bias + args.bias_offset;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride);
        HOLD(xr, cols);
        ACC pivot = 0;
        if (LANE == 0) {
            const ACC x0 = LOAD(xr, cols / 8), x1 = LOAD(xr, cols / 8 * 3);
            const ACC x2 = LOAD(xr, cols / 8 * 5);
            pivot = MAX(MIN(x0, x1), MIN(MAX(x0, x1), x2));
        }
        pivot = GROUP_SUM(scratch, pivot);
        ACC factor = (ACC)1, least = epsilon, shift = 0, low = 0, variance = 0;
        for (tdm_i32 tries = 0; tries < 3;) {
            ACC first = 0, second = 0, lost = 0;
            FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
            {
                ACC a = 0, b = 0;
                SUM2(a, b, j, begin, end, HELD(xr), const ACC d = AT(xr, j) * factor - pivot, d,
                     d * d, AHEAD(xr));
                ADD_BLOCK(first, lost, a);
                second += b;
            }
            first = GROUP_SUM(scratch, first);
            shift = first * inverse;
            /* what the quotient lost, and the sum where one lane has all of it */
            low = (FMA(-shift, (ACC)cols, first) - (LANES == 1 ? lost : (ACC)0)) * inverse;
            second = GROUP_SUM(scratch, second) * inverse;
            variance = second - shift * shift;
            if (tries == 0 && !SAFE_SQUARES(second + epsilon)) {
                const ACC root = SQRT(epsilon);
                KEY key = MAGNITUDE_KEY(root);
                LARGEST(key, j, 0, cols, HELD(xr), MAGNITUDE_KEY(AT(xr, j)), NOTHING_AHEAD);
                factor = RESCALE(GROUP_MAX(key_scratch, key));
                least = SQUARE(root * factor);
                pivot *= factor;
                tries = 1;
            } else if (tries < 2 && !(shift * shift <= (ACC)4 * variance)) {
                pivot += shift;
                tries = 2;
            } else {
                tries = 3;
            }
        }
        const ACC mean = pivot + shift, added = mean - pivot;
        const ACC rest = (pivot - (mean - added)) + ((shift - added) + low);
        const ACC scale = (ACC)1 / SQRT(variance + least);
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride),
                        HELD(xr) READ_IF((OP & TDM_OP_WEIGHT) != 0, wr) READ_IF((OP & TDM_OP_BIAS) != 0, br))
        {
            ACC v = ((AT(xr, j) * factor - mean) - rest) * scale;
            if ((OP & TDM_OP_WEIGHT) != 0) v *= AT(wr, j);
            if ((OP & TDM_OP_BIAS) != 0) v += AT(br, j);
            WRITE(yr, j, v);
        }
    }
}
