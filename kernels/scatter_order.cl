/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* For each row of y the numbers of the indices that name it, in their order, by counting: `order` begins with where the
 * list of each row ends; the lists follow, one after the other. A lane makes the lists of a part of the rows, and reads
 * all indices twice. */

KERNEL2(scatter_order, tdm_scatter_order_args, tdm_i32, order, const tdm_i32, indices)
{
    GLOBAL tdm_i32 *const numbers = order + args.rows;
    FOR_ROWS(item, (args.parts + LANES - 1) / LANES)
    {
        const tdm_i64 first = MIN((item * LANES + LANE) * args.part, args.rows);
        const tdm_i64 last = MIN(first + args.part, args.rows);
        GLOBAL tdm_i32 *const ends = order + first;
        tdm_i32 place = 0;
        for (tdm_i64 r = 0; r < last - first; r++)
            ends[r] = 0;
        for (tdm_i64 i = 0; i < args.count; i++) {
            const tdm_i64 index = INDEX_AT(indices, args.index_offset + i * args.index_stride, args.wide);
            place += index >= 0 && index < first;
            if (index >= first && index < last) ends[index - first]++;
        }
        for (tdm_i64 r = 0; r < last - first; r++) {
            const tdm_i32 its = ends[r];
            ends[r] = place;
            place += its;
        }
        for (tdm_i64 i = 0; i < args.count; i++) {
            const tdm_i64 index = INDEX_AT(indices, args.index_offset + i * args.index_stride, args.wide);
            if (index >= first && index < last) numbers[ends[index - first]++] = (tdm_i32)i;
        }
    }
}
