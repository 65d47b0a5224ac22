/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Row i of y = the row of the table whose number is index i, bit by bit: T is an unsigned integer as wide as
 * the dtype. Where there is no such row, y has one value. */

KERNEL3(gather_rows, tdm_gather_args, T, y, const T, table, const tdm_i32, indices)
{
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        const tdm_i64 index = INDEX_AT(indices, args.index_offset + row * args.index_stride, args.wide);
#if ROW_LOOPS
        /* rows lie anywhere: those that are read soon are fetched now */
        const tdm_i64 later = row + 1 + 2 * TDM_DISTANCE / (tdm_i64)args.cols;
        if (later < args.rows) {
            const tdm_i64 next = INDEX_AT(indices, args.index_offset + later * args.index_stride, args.wide);
            if (next >= 0 && next < args.table_rows)
                FETCH_ROW(table + (args.table_offset + next * args.table_stride + first),
                          MIN(n, TDM_DISTANCE));
        }
#endif
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        if (index >= 0 && index < args.table_rows) {
            GLOBAL const T *const tr = table + (args.table_offset + index * args.table_stride + first);
            FOR_LANES_WRITE(yr, j, n, NOTHING_AHEAD, READ_U(tr))
            {
                WRITE_RAW(yr, j, U_AT(tr, j));
            }
        } else {
            FOR_LANES_FILL(yr, j, n)
            {
                FILL(yr, j, (T)args.bits);
            }
        }
    }
}
