/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The next elements are fetched meanwhile. */
KERNEL(step4) {
    GROUP_ARRAY(ACC, scratch);
    GLOBAL const T *const w = ROW(weight, 0), *const b = ROW(bias, 0);
    FOR_ROWS(row, ROWS) {
        GLOBAL const T *const xr = ROW(x, row);
        GLOBAL T *const yr = ROW(y, row);
        ACC sum = 0, squares = 0;
        SUM(sum, j, 0, COLS, READ(xr), AT(xr, j), AHEAD(xr));
        const ACC mean = GROUP_SUM(scratch, sum) / (ACC)COLS;
        SUM(squares, j, 0, COLS, READ(xr), SQUARE(AT(xr, j) - mean), NOTHING_AHEAD);
        const ACC scale = 1 / SQRT(GROUP_SUM(scratch, squares) / (ACC)COLS + SCALAR(args.epsilon));
        FOR_LANES_WRITE(yr, j, COLS, ROW_AHEAD(xr, args.x.stride), READ(xr) READ(w) READ(b)) {
            WRITE(yr, j, (AT(xr, j) - mean) * scale * AT(w, j) + AT(b, j));
        }
    }
}
