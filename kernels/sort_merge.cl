/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sorted runs of `run` words, two by two, as sorted runs of twice as many, of which `keep` at most are kept. A lane
 * has a piece of the result at a time; it finds by halving how many words of each run lie before it (Green, Odeh
 * and Birk, Merge Path, 2012), and merges from there. */

KERNEL1(sort_merge, tdm_sort_args, tdm_u64, words)
{
    const tdm_i64 cols = args.cols, run = args.run, keep = args.keep, piece = args.piece;
    const tdm_i64 pairs = (cols + 2 * run - 1) / (2 * run);
    const tdm_i64 pieces = (MIN(2 * run, keep) + piece - 1) / piece;
    FOR_ROWS(item, (args.rows * pairs * pieces + LANES - 1) / LANES)
    {
        const tdm_i64 unit = item * LANES + LANE;
        const tdm_i64 row = unit / (pairs * pieces), rest = unit - row * pairs * pieces;
        const tdm_i64 pair = rest / pieces, begin = (rest - pair * pieces) * piece;
        const tdm_i64 first = pair * 2 * run, held = MIN(run, keep);
        const tdm_i64 la = MIN(held, cols - first);
        const tdm_i64 lb = MIN(held, MAX(cols - first - run, (tdm_i64)0));
        const tdm_i64 total = row < args.rows ? MIN(la + lb, keep) : 0;
        const tdm_i64 end = MIN(begin + piece, total);
        GLOBAL const tdm_u64 *const a = words + (args.from + row * cols + first);
        GLOBAL const tdm_u64 *const b = a + run;
        GLOBAL tdm_u64 *const to = words + (args.to + row * cols + first);
        tdm_i64 i = MAX((tdm_i64)0, begin - lb), most = MIN(begin, la);
        while (begin < end && i < most) {
            const tdm_i64 middle = (i + most) / 2;
            if (a[middle] < b[begin - 1 - middle])
                i = middle + 1;
            else
                most = middle;
        }
        tdm_i64 j = begin - i, k = begin;
        for (; k < end && i < la && j < lb; k++) {
            const tdm_u64 v = a[i], w = b[j];
            const tdm_i64 of_a = v < w;
            to[k] = of_a ? v : w;
            i += of_a;
            j += 1 - of_a;
        }
        for (; k < end; k++)
            to[k] = i < la ? a[i++] : b[j++];
    }
}
