/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance in one pass, by the sum of the squares: not for use, as it loses the digits of the variance. */
KERNEL(step5)
{
    GROUP_ARRAY(ACC, scratch);
    GLOBAL const T *const w = ROW(weight, 0), *const b = ROW(bias, 0);
    FOR_ROWS(row, ROWS)
    {
        GLOBAL const T *const xr = ROW(x, row);
        GLOBAL T *const yr = ROW(y, row);
        ACC sum = 0, squares = 0;
        SUM2(sum, squares, j, 0, COLS, READ(xr), const ACC v = AT(xr, j), v, SQUARE(v), AHEAD(xr));
        const ACC mean = GROUP_SUM(scratch, sum) / (ACC)COLS;
        const ACC variance = GROUP_SUM(scratch, squares) / (ACC)COLS - SQUARE(mean);
        const ACC scale = 1 / SQRT(MAX(variance, (ACC)0) + SCALAR(args.epsilon));
        FOR_LANES_WRITE(yr, j, COLS, ROW_AHEAD(xr, args.x.stride), READ(xr) READ(w) READ(b))
        {
            WRITE(yr, j, (AT(xr, j) - mean) * scale * AT(w, j) + AT(b, j));
        }
    }
}
