/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A group for each row, whose lanes take neighbours. */
KERNEL(step2)
{
    GROUP_ARRAY(ACC, scratch);
    GLOBAL const T *const w = ROW(weight, 0), *const b = ROW(bias, 0);
    FOR_ROWS(row, ROWS)
    {
        GLOBAL const T *const xr = ROW(x, row);
        GLOBAL T *const yr = ROW(y, row);
        ACC sum = 0, squares = 0;
        for (tdm_i32 j = LANE; j < COLS; j += LANES)
            sum += LOAD(xr, j);
        const ACC mean = GROUP_SUM(scratch, sum) / (ACC)COLS;
        for (tdm_i32 j = LANE; j < COLS; j += LANES)
            squares += SQUARE(LOAD(xr, j) - mean);
        const ACC scale = 1 / SQRT(GROUP_SUM(scratch, squares) / (ACC)COLS + SCALAR(args.epsilon));
        FOR_LANES(j, 0, COLS)
        {
            STORE(yr, j, (LOAD(xr, j) - mean) * scale * LOAD(w, j) + LOAD(b, j));
        }
    }
}
