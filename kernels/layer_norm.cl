/* LayerNorm. One pass takes both moments around a pivot, the row's first element; where that loses
 * digits (the mean is far from the pivot in terms of the deviation) or is not finite, a second pass
 * takes them around the mean. Values are handled as (x - pivot) - shift, never x - mean: the mean
 * itself may not be representable. OP: TDM_OP_WEIGHT, TDM_OP_BIAS. y may be x. */
OPS(layer_norm, TDM_OP_AFFINE_COUNT, 1)

KERNEL4(layer_norm, tdm_normalize_args, const T, x, const T, weight, const T, bias, T, y)
{
    LOCAL_ARRAY(ACC, scratch, LANES);
    const tdm_i32 cols = (tdm_i32)args.cols;
    const ACC inverse = (ACC)1 / (ACC)cols;
    const ACC epsilon = SCALAR(args.epsilon);
    GLOBAL const T *const wr = weight + args.weight_offset;
    GLOBAL const T *const br = bias + args.bias_offset;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride);
        const ACC pivot = LOAD(xr, 0);
        ACC first = 0, second = 0, lost = 0;
        FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
        {
            ACC a = 0, b = 0;
            SUM2(a, b, j, begin, end, const ACC d = LOAD(xr, j) - pivot, d, d * d, AHEAD(xr));
            ADD_BLOCK(first, lost, a);
            second += b;
        }
        ACC shift = GROUP_SUM(scratch, first) * inverse;
        ACC variance = GROUP_SUM(scratch, second) * inverse - shift * shift;
        if (!(shift * shift <= (ACC)16 * variance)) {
            first = 0;
            second = 0;
            lost = 0;
            FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
            {
                ACC a = 0, b = 0;
                SUM2(a, b, j, begin, end, const ACC d = (LOAD(xr, j) - pivot) - shift, d, d * d,
                     NOTHING_AHEAD);
                ADD_BLOCK(first, lost, a);
                second += b;
            }
            const ACC left = GROUP_SUM(scratch, first) * inverse;
            variance = GROUP_SUM(scratch, second) * inverse - left * left;
            shift += left;
        }
        const ACC scale = (ACC)1 / SQRT(variance + epsilon);
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride))
        {
            ACC v = ((LOAD(xr, j) - pivot) - shift) * scale;
            if ((OP & TDM_OP_WEIGHT) != 0) v *= LOAD(wr, j);
            if ((OP & TDM_OP_BIAS) != 0) v += LOAD(br, j);
            WRITE(yr, j, v);
        }
    }
}
