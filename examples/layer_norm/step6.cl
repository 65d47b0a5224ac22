/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance of one block after the other, merged. */
KERNEL(step6)
{
    GROUP_ARRAY(ACC, scratch);
    GLOBAL const T *const w = ROW(weight, 0), *const b = ROW(bias, 0);
    FOR_ROWS(row, ROWS)
    {
        GLOBAL const T *const xr = ROW(x, row);
        GLOBAL T *const yr = ROW(y, row);
        ACC mean = 0, squares = 0;
        FOR_BLOCKS(begin, end, COLS, KEEP_BLOCK)
        {
            const tdm_i32 n = end - begin;
            KEEP(block, xr, begin, n);
            ACC sum = 0, around = 0;
            SUM(sum, j, 0, n, KEPT(block), AT(block, j), AHEAD(block));
            const ACC middle = GROUP_SUM(scratch, sum) / (ACC)n;
            SUM(around, j, 0, n, KEPT(block), SQUARE(AT(block, j) - middle), NOTHING_AHEAD);
            const ACC distance = middle - mean, share = (ACC)n / (ACC)end;
            mean += distance * share;
            squares += GROUP_SUM(scratch, around) + SQUARE(distance) * (ACC)begin * share;
        }
        const ACC scale = 1 / SQRT(squares / (ACC)COLS + SCALAR(args.epsilon));
        FOR_LANES_WRITE(yr, j, COLS, ROW_AHEAD(xr, args.x.stride), READ(xr) READ(w) READ(b))
        {
            WRITE(yr, j, (AT(xr, j) - mean) * scale * AT(w, j) + AT(b, j));
        }
    }
}
