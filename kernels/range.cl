/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = start + i step, i counted over the whole tensor; any dtype. */
OPS(range, 1, 1)

#if T_ID <= TDM_ID_BF16
#define VALUE(i) ((T)TO_T(FMA((ACC)(i), step, start)))
#else
#define VALUE(i) ((T)((tdm_u64)args.start_i64 + (tdm_u64)(i) * (tdm_u64)args.step_i64))
#endif

KERNEL1(range, tdm_range_args, T, y)
{
#if T_ID <= TDM_ID_BF16
    const ACC start = SCALAR(args.start), step = SCALAR(args.step);
#endif
    FOR_ROWS(item, args.rows * args.chunks)
    {
        const tdm_i64 row = args.chunks == 1 ? item : item / args.chunks;
        const tdm_i64 first = (item - row * args.chunks) * args.chunk;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - first);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        const tdm_i64 number = args.first + row * args.cols + first;
        FOR_LANES_WRITE(yr, j, n, NOTHING_AHEAD)
        {
            WRITE_RAW(yr, j, VALUE(number + j));
        }
    }
}

#undef VALUE
