/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Words to sort by, one for each element of a row: 32 bits of its place among all values, then its number, so
 * that no two are equal and equal values keep their order. T is an unsigned integer as wide as the dtype. -0 is 0,
 * and every NaN the largest value. Elements of 64 bits are sorted twice, by the low half first; the second time
 * the number is that of the place where the first one left the element. Lanes sort runs of TDM_SORT_RUN words. */

#define SIGN ((tdm_u64)1 << (8 * T_SIZE - 1))
#define ALL (SIGN - 1 + SIGN)
#define LOW_WORD ((tdm_u64)0xffffffff)

KERNEL2(sort_keys, tdm_sort_args, tdm_u64, words, const T, x)
{
    const tdm_i64 runs = ((tdm_i64)args.cols + TDM_SORT_RUN - 1) / TDM_SORT_RUN;
    FOR_ROWS(item, (args.rows * runs + LANES - 1) / LANES)
    {
        const tdm_i64 unit = item * LANES + LANE;
        const tdm_i64 row = unit / runs, begin = (unit - row * runs) * TDM_SORT_RUN;
        const tdm_i64 left = row < args.rows ? (tdm_i64)args.cols - begin : 0;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)TDM_SORT_RUN, left);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL const tdm_u64 *const order = words + (args.order + row * args.cols);
        GLOBAL tdm_u64 *const to = words + (args.to + row * args.cols + begin);
        for (tdm_i32 i = 0; i < n; i++) {
            const tdm_i64 at = args.second ? (tdm_i64)(order[begin + i] & LOW_WORD) : begin + i;
            tdm_u64 v = (tdm_u64)xr[at * args.x_step];
            if (args.limit > 0) {
                v = v < (tdm_u64)args.limit ? v : LOW_WORD;
            } else if (args.kind == TDM_KIND_FLOAT) {
                const tdm_u64 magnitude = v & (SIGN - 1);
                v = (v & SIGN) != 0 && magnitude != 0 ? ALL ^ v : magnitude | SIGN;
                v = magnitude > (tdm_u64)args.infinity ? ALL : v;
            } else if (args.kind == TDM_KIND_SIGNED) {
                v ^= SIGN;
            } else if (args.kind == TDM_KIND_BOOL) {
                v = v != 0;
            }
            v = args.descending ? ALL ^ v : v;
            const tdm_u64 part = args.second ? v >> 32 : v & LOW_WORD;
            const tdm_u64 word = part << 32 | (tdm_u64)(begin + i);
            tdm_i32 j = i;
            for (; j > 0 && to[j - 1] > word; j--)
                to[j] = to[j - 1];
            to[j] = word;
        }
    }
}

#undef SIGN
#undef ALL
#undef LOW_WORD
