/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm. A pass takes both moments around a pivot, at first the middle one of three elements, so
 * that it is hardly an outlier. Where squares overflow or vanish, the next pass multiplies the row by
 * a power of two; where the mean is far from the pivot in terms of the deviation, which loses digits,
 * it is around the mean found so far. As the mean may not be representable, pivot + shift is kept as
 * a rounded sum and what that lost. OP: TDM_OP_WEIGHT, TDM_OP_BIAS. y may be x. */
OPS(layer_norm, TDM_OP_AFFINE_COUNT, 1)

KERNEL4(layer_norm, tdm_normalize_args, const T, x, const T, weight, const T, bias, T, y)
{
    LOCAL_ARRAY(ACC, scratch, LANES);
    LOCAL_ARRAY(KEY, key_scratch, LANES);
    const tdm_i32 cols = (tdm_i32)args.cols;
    const ACC inverse = (ACC)1 / (ACC)cols;
    const ACC epsilon = SCALAR(args.epsilon);
    GLOBAL const T *const wr = weight + args.weight_offset;
    GLOBAL const T *const br = bias + args.bias_offset;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride);
        const ACC x0 = LOAD(xr, 0), x1 = LOAD(xr, cols / 3), x2 = LOAD(xr, cols - 1 - cols / 3);
        ACC pivot = MAX(MIN(x0, x1), MIN(MAX(x0, x1), x2));
        ACC factor = (ACC)1, least = epsilon, shift = 0, variance = 0;
        for (tdm_i32 tries = 0; tries < 3;) {
            ACC first = 0, second = 0, lost = 0;
            FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
            {
                ACC a = 0, b = 0;
                SUM2(a, b, j, begin, end, const ACC d = LOAD(xr, j) * factor - pivot, d, d * d,
                     AHEAD(xr));
                ADD_BLOCK(first, lost, a);
                second += b;
            }
            shift = GROUP_SUM(scratch, first) * inverse;
            second = GROUP_SUM(scratch, second) * inverse;
            variance = second - shift * shift;
            if (tries == 0 && !SAFE_SQUARES(second + epsilon)) {
                const ACC root = SQRT(epsilon);
                KEY key = MAGNITUDE_KEY(root);
                LARGEST(key, j, 0, cols, MAGNITUDE_KEY(LOAD(xr, j)), NOTHING_AHEAD);
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
        const ACC rest = (pivot - (mean - added)) + (shift - added);
        const ACC scale = (ACC)1 / SQRT(variance + least);
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride))
        {
            ACC v = ((LOAD(xr, j) * factor - mean) - rest) * scale;
            if ((OP & TDM_OP_WEIGHT) != 0) v *= LOAD(wr, j);
            if ((OP & TDM_OP_BIAS) != 0) v += LOAD(br, j);
            WRITE(yr, j, v);
        }
    }
}
