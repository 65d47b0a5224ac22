/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* For the first `keep` words of each sorted row: the numbers of their elements, and the elements, bit by bit. */

#define NUMBER(word) ((tdm_i64)((word) & (tdm_u64)0xffffffff))

KERNEL4(sort_take, tdm_sort_args, tdm_i32, indices, T, values, const T, x, const tdm_u64, words)
{
    const tdm_i64 pieces = ((tdm_i64)args.keep + args.piece - 1) / args.piece;
    FOR_ROWS(item, args.rows * pieces)
    {
        const tdm_i64 row = item / pieces, first = (item - row * pieces) * args.piece;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.piece, (tdm_i64)args.keep - first);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL const tdm_u64 *const from = words + (args.from + row * args.cols + first);
        GLOBAL const tdm_u64 *const order = words + (args.order + row * args.cols);
        const tdm_i64 values_at = args.values_offset + row * args.values_stride + first;
        const tdm_i64 indices_at = args.indices_offset + row * args.indices_stride + first;
        FOR_LANES_SINGLY(j, n)
        {
            const tdm_i64 place = NUMBER(from[j]);
            const tdm_i64 number = args.second ? NUMBER(order[place]) : place;
            if (args.has_values) values[values_at + j] = xr[number];
            if (args.has_indices && args.wide)
                ((GLOBAL tdm_i64 *)indices)[indices_at + j] = number;
            else if (args.has_indices)
                indices[indices_at + j] = (tdm_i32)number;
        }
    }
}

#undef NUMBER
