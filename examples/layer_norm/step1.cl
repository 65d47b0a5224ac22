/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A lane for each row. */
KERNEL(step1)
{
    const tdm_i32 cols = (tdm_i32)args.x.cols;
    GLOBAL const T *const w = ROW(weight, 0), *const b = ROW(bias, 0);
    FOR_PIECES(all, begin, end)
    {
        FOR_LANES(row, begin, end)
        {
            GLOBAL const T *const xr = ROW(x, row);
            GLOBAL T *const yr = ROW(y, row);
            ACC sum = 0, squares = 0;
            for (tdm_i32 j = 0; j < cols; j++)
                sum += LOAD(xr, j);
            const ACC mean = sum / (ACC)cols;
            for (tdm_i32 j = 0; j < cols; j++)
                squares += SQUARE(LOAD(xr, j) - mean);
            const ACC scale = 1 / SQRT(squares / (ACC)cols + SCALAR(args.epsilon));
            for (tdm_i32 j = 0; j < cols; j++)
                STORE(yr, j, (LOAD(xr, j) - mean) * scale * LOAD(w, j) + LOAD(b, j));
            STORE(ROW(means, 0), row, mean);
        }
    }
}
