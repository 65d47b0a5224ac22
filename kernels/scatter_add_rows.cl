/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Row r of y += the rows of the source whose index is r, one after the other, in the order in which they come there, in
 * ACC, rounded once. The words are sorted (sort_keys.cl): index in the high half, row of the source in the low one. */
OPS(scatter_add_rows, 1, 0)

/* columns that one lane alone has at a time: two of the widest registers */
#define WIDTH (128 / (tdm_i32)sizeof(ACC))

KERNEL3(scatter_add_rows, tdm_scatter_args, T, y, const T, source, const tdm_u64, words)
{
    FOR_ROWS(item, args.rows * args.chunks)
    {
        const tdm_i64 row = args.chunks == 1 ? item : item / args.chunks;
        const tdm_i64 first = (item - row * args.chunks) * args.chunk;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - first);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        GLOBAL const T *const sr = source + (args.source_offset + first);
        const tdm_u64 wanted = (tdm_u64)row << 32;
        tdm_i64 begin = 0, most = args.count;
        while (begin < most) {
            const tdm_i64 middle = (begin + most) / 2;
            if (words[args.words + middle] < wanted)
                begin = middle + 1;
            else
                most = middle;
        }
        tdm_i64 end = begin;
        while (end < args.count && words[args.words + end] >> 32 == (tdm_u64)row)
            end++;
#if LANES == 1
        for (tdm_i32 from = 0; from < n && begin < end; from += WIDTH) {
            PRIVATE_ARRAY(ACC, sum, WIDTH);
            const tdm_i32 m = MIN(WIDTH, n - from);
            for (tdm_i32 j = 0; j < m; j++)
                sum[j] = LOAD(yr, from + j);
            for (tdm_i64 k = begin; k < end; k++) {
                const tdm_i64 number = (tdm_i64)(words[args.words + k] & (tdm_u64)0xffffffff);
                GLOBAL const T *const from_row = sr + (number * args.source_stride + from);
                if (m == WIDTH) {
                    FOR_LANES(j, 0, WIDTH)
                    {
                        sum[j] += LOAD(from_row, j);
                    }
                } else {
                    for (tdm_i32 j = 0; j < m; j++)
                        sum[j] += LOAD(from_row, j);
                }
            }
            for (tdm_i32 j = 0; j < m; j++)
                STORE(yr, from + j, sum[j]);
        }
#else
        if (begin < end) {
            FOR_LANES_ROLLED(j, n)
            {
                ACC sum = LOAD(yr, j);
                for (tdm_i64 k = begin; k < end; k++) {
                    const tdm_i64 number = (tdm_i64)(words[args.words + k] & (tdm_u64)0xffffffff);
                    sum += LOAD(sr + number * args.source_stride, j);
                }
                STORE(yr, j, sum);
            }
        }
#endif
    }
}

#undef WIDTH
