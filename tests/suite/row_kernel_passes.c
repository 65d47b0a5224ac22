/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Values that are computed once, or once for each row, and stored in every block of it. */
#include <criterion/criterion.h>
#include <math.h>

#include "suite/expression_call.h"

TestSuite(row_kernel_passes, .init = device_open, .fini = device_close);

enum { ROWS = 5, COLS = 300 };

/* apply gives each element of a row what finish made of it, through a function or by itself. */
Test(row_kernel_passes, finished_values) {
    static const tdm_row_kernel texts[] = {
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)", .apply = "r"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .apply = "sqrt(r)"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)", .apply = "sqrt(r)"),
        TDM_ROW_KERNEL(.map = "sqrt(x)", .combine = TDM_SUM, .apply = "r"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)",
                       .apply = "x + sqrt(r)")};
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        array *x = array_2d(TDM_F32, ROWS, COLS, COLS), *y = array_2d(TDM_F32, ROWS, COLS, COLS);
        const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("y", &y->t)};
        double want[ROWS * COLS], bound[ROWS * COLS];
        tdm_kernel *kernel;
        array_uniform(x, 1, 4);
        for (int r = 0; r < ROWS; r++) {
            double sum = 0;
            for (int j = 0; j < COLS; j++)
                sum += k == 3 ? sqrt(x->v[r * COLS + j]) : x->v[r * COLS + j];
            const double row = k == 3 ? sum : k == 2 || k == 4 ? sqrt(sqrt(sum)) : sqrt(sum);
            for (int j = 0; j < COLS; j++) {
                want[r * COLS + j] = k == 4 ? x->v[r * COLS + j] + row : row;
                bound[r * COLS + j] = 64 * 0x1p-23 * want[r * COLS + j];
            }
        }
        check_case("finish \"%s\", apply \"%s\"", texts[k].finish ? texts[k].finish : "",
                   texts[k].apply);
        if (OK(tdm_kernel_rows(device, &texts[k], parameters, 2, &kernel))) {
            if (OK(tdm_kernel_run(queue, kernel, arguments, 2))) ARRAY_CHECK(y, want, bound);
            tdm_kernel_release(kernel);
        }
        array_free_all();
    }
}

/* A function of a number alone. */
Test(row_kernel_passes, of_a_number) {
    const tdm_parameter parameters[] = {TDM_NUMBER("s"), TDM_TENSOR("y")};
    array *y = array_2d(TDM_F32, ROWS, COLS, COLS + 1);
    const tdm_argument arguments[] = {TDM_WITH_NUMBER("s", 2), TDM_WITH_TENSOR("y", &y->t)};
    double want[ROWS * COLS], bound[ROWS * COLS];
    tdm_kernel *kernel;
    for (int i = 0; i < ROWS * COLS; i++) {
        want[i] = exp(2.0);
        bound[i] = 4 * 0x1p-23 * want[i];
    }
    check_case("y = exp(s)");
    if (!OK(tdm_kernel_elementwise(device, "y = exp(s)", parameters, 2, &kernel))) return;
    if (OK(tdm_kernel_run(queue, kernel, arguments, 2))) ARRAY_CHECK(y, want, bound);
    tdm_kernel_release(kernel);
    array_free_all();
}
