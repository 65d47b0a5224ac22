/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = one value of any stride, as bits: T is an unsigned integer as wide as the dtype. */

KERNEL1(fill, tdm_elementwise_args, T, y)
{
    const T value = (T)args.bits;
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        tdm_i64 y_at = args.offset[0] + first * args.inner_stride[0];
        TDM_FOR_INDICES(d, index, row, args.outer_ndim, args.outer_shape)
            y_at += index * args.outer_stride[0][d];
        GLOBAL T *const yr = y + y_at;
        if (STREAM || VECTORS || args.unit_stride) {
            FOR_LANES_FILL(yr, j, n)
            {
                FILL(yr, j, value);
            }
        } else {
            FOR_LANES(j, 0, n)
            {
                yr[j * args.inner_stride[0]] = value;
            }
        }
    }
}
