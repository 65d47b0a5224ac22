/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Row i of y = zeros, and one value in the column whose number is index i, if there is one. T is an unsigned
 * integer as wide as the dtype. */

KERNEL2(one_hot, tdm_gather_args, T, y, const tdm_i32, indices)
{
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        const tdm_i64 index = INDEX_AT(indices, args.index_offset + row * args.index_stride, args.wide);
        const tdm_i32 hot = index >= first && index < first + n ? (tdm_i32)(index - first) : -1;
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        FOR_LANES_FILL(yr, j, n)
        {
            FILL(yr, j, (tdm_i32)j == hot ? (T)args.bits : (T)0);
        }
    }
}
