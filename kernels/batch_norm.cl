/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation at inference, where a row is one channel of one sample, in chunks. OP: TDM_OP_WEIGHT,
 * TDM_OP_BIAS. y may be x. */

KERNEL6(batch_norm, tdm_batch_norm_args, const T, x, const T, mean, const T, variance, const T, weight,
        const T, bias, T, y)
{
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        const tdm_i64 channel = row % args.channels;
        const tdm_i64 at = row * (tdm_i64)args.cols + first;
        GLOBAL const T *const xr = x + (args.x_offset + at);
        GLOBAL T *const yr = y + (args.y_offset + at);
        const ACC centre = LOAD(mean, args.mean_offset + channel);
        ACC scale = (ACC)1 / SQRT(LOAD(variance, args.variance_offset + channel) + epsilon);
        if ((OP & TDM_OP_WEIGHT) != 0) scale *= LOAD(weight, args.weight_offset + channel);
        const ACC shift =
            (OP & TDM_OP_BIAS) != 0 ? LOAD(bias, args.bias_offset + channel) : (ACC)0;
        FOR_LANES_WRITE(yr, j, n, AHEAD(xr), READ(xr))
        {
            WRITE(yr, j, (AT(xr, j) - centre) * scale + shift);
        }
    }
}
