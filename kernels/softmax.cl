/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Softmax of each row. exp is computed twice rather than kept: a 16-bit y could not hold it, and the
 * second time is cheaper than memory. NaN and +Inf reach the sum, and so the whole row. y may be x. */
OPS(softmax, 1, 1)

KERNEL2(softmax, tdm_rows_args, const T, x, T, y)
{
    LOCAL_ARRAY(ACC, scratch, LANES);
    LOCAL_ARRAY(KEY, key_scratch, LANES);
    const tdm_i32 cols = (tdm_i32)args.cols;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride);
        KEY key = LOWEST_KEY;
        LARGEST(key, j, 0, cols, READ(xr), ORDER_KEY(AT(xr, j)), AHEAD(xr));
        const ACC largest = VALUE_OF(GROUP_MAX(key_scratch, key));
        ACC sum = 0;
        FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
        {
            ACC a = 0;
            SUM(a, j, begin, end, READ(xr), EXP_NEGATIVE(AT(xr, j) - largest), NOTHING_AHEAD);
            sum += a;
        }
        const ACC scale = (ACC)1 / GROUP_SUM(scratch, sum);
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), READ(xr))
        {
            WRITE(yr, j, EXP_NEGATIVE(AT(xr, j) - largest) * scale);
        }
    }
}
