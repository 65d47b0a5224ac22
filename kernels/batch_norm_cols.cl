/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation at inference, where each sample is one row, in chunks, and a column is a channel. OP:
 * TDM_OP_WEIGHT, TDM_OP_BIAS. y may be x. */

KERNEL6(batch_norm_cols, tdm_batch_norm_args, const T, x, const T, mean, const T, variance, const T,
        weight, const T, bias, T, y)
{
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        const tdm_i64 at = row * (tdm_i64)args.cols + first;
        GLOBAL const T *const xr = x + (args.x_offset + at);
        GLOBAL const T *const mr = mean + (args.mean_offset + first);
        GLOBAL const T *const vr = variance + (args.variance_offset + first);
        GLOBAL const T *const wr =
            (OP & TDM_OP_WEIGHT) != 0 ? weight + (args.weight_offset + first) : mr;
        GLOBAL const T *const br = (OP & TDM_OP_BIAS) != 0 ? bias + (args.bias_offset + first) : mr;
        GLOBAL T *const yr = y + (args.y_offset + at);
        FOR_LANES_WRITE(yr, j, n, AHEAD(xr),
                        READ(xr) READ(mr) READ(vr) READ_IF((OP & TDM_OP_WEIGHT) != 0, wr)
                            READ_IF((OP & TDM_OP_BIAS) != 0, br))
        {
            ACC scale = (ACC)1 / SQRT(AT(vr, j) + epsilon);
            if ((OP & TDM_OP_WEIGHT) != 0) scale *= AT(wr, j);
            const ACC v = (AT(xr, j) - AT(mr, j)) * scale;
            WRITE(yr, j, (OP & TDM_OP_BIAS) != 0 ? v + AT(br, j) : v);
        }
    }
}
