/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Row r of y += the rows of the source whose index is r, one after the other, in the order in which they come there, in
 * ACC, rounded once. The words are sorted (sort_keys.cl): index in the high half, row of the source in the low one. For
 * a lane alone there may be lists of rows instead (scatter_order.cl). */

#define SORTED_ROW(k) ((tdm_i64)(words[args.words + (k)] & (tdm_u64)0xffffffff))
#if ROW_LOOPS
/* columns that are added up at a time: two of the widest registers */
#define WIDTH (128 / (tdm_i32)sizeof(ACC))
#define LISTED (args.words < 0)
#define SOURCE_ROW(k) (sr + (LISTED ? numbers[k] : SORTED_ROW(k)) * args.source_stride)
#else
#define LISTED 0
#define SOURCE_ROW(k) (sr + SORTED_ROW(k) * args.source_stride)
#endif

KERNEL3(scatter_add_rows, tdm_scatter_args, T, y, const T, source, const tdm_u64, words)
{
#if ROW_LOOPS
    GLOBAL const tdm_i32 *const ends = (GLOBAL const tdm_i32 *)words, *const numbers = ends + args.rows;
    const tdm_i64 later = 1 + 2 * TDM_DISTANCE / MAX((tdm_i64)args.cols, (tdm_i64)1);
    const tdm_i64 listed = LISTED && args.rows > 0 ? ends[args.rows - 1] : 0;
#endif
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        GLOBAL const T *const sr = source + (args.source_offset + first);
        tdm_i64 begin = 0, end = 0;
#if ROW_LOOPS
        if (LISTED) {
            begin = row > 0 ? ends[row - 1] : 0;
            end = ends[row];
        }
#endif
        if (!LISTED) {
            const tdm_u64 wanted = (tdm_u64)row << 32;
            tdm_i64 most = args.count;
            while (begin < most) {
                const tdm_i64 middle = (begin + most) / 2;
                if (words[args.words + middle] < wanted)
                    begin = middle + 1;
                else
                    most = middle;
            }
            end = begin;
            while (end < args.count && words[args.words + end] >> 32 == (tdm_u64)row)
                end++;
        }
#if ROW_LOOPS
        /* rows lie anywhere: those that are read soon are fetched now */
        for (tdm_i64 k = begin + later; k < end + later && k < listed; k++)
            FETCH_ROW(SOURCE_ROW(k), MIN(n, TDM_DISTANCE));
        if (end - begin == 1) {
            GLOBAL const T *const old = yr, *const a = SOURCE_ROW(begin);
            FOR_LANES_WRITE(yr, j, n, NOTHING_AHEAD, READ(old) READ(a))
            {
                WRITE(yr, j, AT(old, j) + AT(a, j));
            }
        } else if (end - begin == 2) {
            GLOBAL const T *const old = yr, *const a = SOURCE_ROW(begin), *const b = SOURCE_ROW(begin + 1);
            FOR_LANES_WRITE(yr, j, n, NOTHING_AHEAD, READ(old) READ(a) READ(b))
            {
                WRITE(yr, j, AT(old, j) + AT(a, j) + AT(b, j));
            }
        } else {
            for (tdm_i32 from = 0; from < n && begin < end; from += WIDTH) {
                PRIVATE_ARRAY(ACC, sum, WIDTH);
                const tdm_i32 m = MIN(WIDTH, n - from);
                for (tdm_i32 j = 0; j < m; j++)
                    sum[j] = LOAD(yr, from + j);
                for (tdm_i64 k = begin; k < end; k++) {
                    GLOBAL const T *const from_row = SOURCE_ROW(k) + from;
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
        }
#else
        if (begin < end) {
            FOR_LANES_ROLLED(j, n)
            {
                ACC sum = LOAD(yr, j);
                for (tdm_i64 k = begin; k < end; k++)
                    sum += LOAD(SOURCE_ROW(k), j);
                STORE(yr, j, sum);
            }
        }
#endif
    }
}

#if ROW_LOOPS
#undef WIDTH
#endif
#undef SORTED_ROW
#undef LISTED
#undef SOURCE_ROW
