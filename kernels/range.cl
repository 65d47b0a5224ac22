/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = start + i step, i counted over the whole tensor; T is a float, an unsigned integer as wide as
 * the dtype, or bool. */

#if T_IS_FLOAT
#define VALUE(i) ((T)TO_T(FMA((ACC)(i), step, start)))
#elif T_KIND == TDM_KIND_BOOL
#define VALUE(i) ((tdm_u64)args.start_i64 + (tdm_u64)(i) * (tdm_u64)args.step_i64 != 0)
#else
#define VALUE(i) ((T)((tdm_u64)args.start_i64 + (tdm_u64)(i) * (tdm_u64)args.step_i64))
#endif

KERNEL1(range, tdm_range_args, T, y)
{
#if T_IS_FLOAT
    const ACC start = SCALAR(args.start), step = SCALAR(args.step);
#endif
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        const tdm_i64 number = args.first + row * args.cols + first;
        FOR_LANES_FILL(yr, j, n)
        {
            FILL(yr, j, VALUE(number + j));
        }
    }
}

#undef VALUE
