/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels over rows that write rows: what they compute, their layouts, values stored in every block. */
#include <criterion/criterion.h>
#include <math.h>

#include "reference/bounds.h"
#include "suite/expression_call.h"
#include "support/array.h"

TestSuite(row_kernel_apply, .init = device_open, .fini = device_close);

enum { ROWS = 3 };

/* Softmax by two kernels, the second in place; in one piece and cut. */
Test(row_kernel_apply, softmax, TAGS("compiled texts")) {
    static const int64_t lengths[] = {1, 5, 64, 1000, 4099, 100003};
    for (int d = 0; d < float_dtype_count; d++) {
        for (size_t l = 0; l < (small ? 5 : sizeof lengths / sizeof *lengths); l++) {
            const int64_t cols = lengths[l];
            const tdm_dtype dtype = float_dtypes[d];
            const double eps = compute_eps(dtype);
            array *x = array_2d(dtype, ROWS, cols, cols + 8),
                  *y = array_2d(dtype, ROWS, cols, cols);
            double *want = numbers(ROWS * cols), *bound = numbers(ROWS * cols);
            array_uniform(x, -2, 2);
            for (int i = 0; i < ROWS; i++) {
                double top = -1e9;
                for (int64_t j = 0; j < cols; j++)
                    top = fmax(top, x->v[i * cols + j]);
                for (int64_t j = 0; j < cols; j++) {
                    const int64_t e = i * cols + j;
                    want[e] = exp(x->v[e] - top) * 0.5;
                    bound[e] = stored(dtype, want[e], want[e] * 8 * eps);
                }
            }
            const tdm_row_kernel exps =
                TDM_ROW_KERNEL(.map = "x", .combine = TDM_MAX, .apply = "exp(x - r) * s");
            array *const arrays[] = {x, y};
            check_case("exp(x - r) of %lld columns in %s", (long long)cols, tdm_dtype_name(dtype));
            bool right = run_rows(&exps, arrays, "xy", 0.5, 0) && ARRAY_CHECK(y, want, bound) &&
                         ARRAY_SAME(x);
            array_uniform(y, 0.5, 1);
            for (int i = 0; i < ROWS; i++) {
                long double sum = 0;
                for (int64_t j = 0; j < cols; j++)
                    sum += (long double)y->v[i * cols + j];
                for (int64_t j = 0; j < cols; j++) {
                    const int64_t e = i * cols + j;
                    want[e] = (double)((long double)y->v[e] / sum * (long double)cols);
                    bound[e] = stored(dtype, want[e], want[e] * 60 * eps);
                }
            }
            const tdm_row_kernel divides =
                TDM_ROW_KERNEL(.map = "x", .finish = "n / r", .apply = "x * r");
            array *const in_place[] = {y, y};
            check_case("x / r of %lld columns in %s, in place", (long long)cols,
                       tdm_dtype_name(dtype));
            right = right && run_rows(&divides, in_place, "xy", NO_NUMBER, 0) &&
                    ARRAY_CHECK(y, want, bound);
            array_free_all();
            if (!right) return;
        }
    }
}

/* Strides, other dtypes, other tensors in apply, a value that both need, and none of an element's. */
Test(row_kernel_apply, any_layout, TAGS("texts")) {
    for (int i = 0; i < (compiles() ? 8 : small ? 25 : 200); i++) {
        const int ndim = (int)random_integer(1, 4);
        int64_t shape[TDM_MAX_DIMS], rows = 1;
        for (int k = 0; k < ndim; k++) {
            shape[k] = random_integer(1, ndim == 1 ? 3000 : 12);
            rows *= k < ndim - 1 ? shape[k] : 1;
        }
        const int64_t cols = shape[ndim - 1];
        array *a = array_any_strides(TDM_I16, ndim, shape, true),
              *b = array_any_strides(TDM_F32, ndim, shape, true);
        array *y = array_any_strides(i % 2 ? TDM_F32 : TDM_I32, ndim, shape, false);
        array_integers(a, -20, 20);
        array_integers(b, -20, 20);
        double *want = numbers(rows * cols), *sums = numbers(rows);
        for (int64_t e = 0; e < rows * cols; e++)
            sums[e / cols] += a->v[e] * 3 + 1;
        for (int64_t e = 0; e < rows * cols; e++)
            want[e] = (a->v[e] * 3 + 1) * 2 + sums[e / cols] * 2 - (double)cols + b->v[e] +
                      (double)(e % cols);
        const tdm_row_kernel texts =
            TDM_ROW_KERNEL(.map = "a * k + 1", .finish = "r * 2 - n",
                           .apply = "t = a * k + 1; t * 2 + r + b + column");
        array *const arrays[] = {a, b, y};
        check_case("%d dimensions %lldx%lld", ndim, (long long)shape[0],
                   ndim > 1 ? (long long)shape[1] : 0);
        bool right = run_rows(&texts, arrays, "aby", NO_NUMBER, 3) && ARRAY_CHECK(y, want, NULL);
        if (right && !compiles()) {
            for (int64_t e = 0; e < rows * cols; e++)
                want[e] = sums[e / cols];
            const tdm_row_kernel same = TDM_ROW_KERNEL(.map = "t = b; a * k + 1", .apply = "r");
            right = run_rows(&same, arrays, "aby", NO_NUMBER, 3) && ARRAY_CHECK(y, want, NULL);
        }
        array_free_all();
        if (!right) break;
    }
}

/* ---- values that are computed once, or once for each row ---- */

enum { VALUE_ROWS = 5, COLS = 300 };

/* apply gives each element of a row what finish made of it, through a function or by itself. */
Test(row_kernel_apply, finished_values) {
    static const tdm_row_kernel texts[] = {
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)", .apply = "r"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .apply = "sqrt(r)"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)", .apply = "sqrt(r)"),
        TDM_ROW_KERNEL(.map = "sqrt(x)", .combine = TDM_SUM, .apply = "r"),
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .finish = "sqrt(r)",
                       .apply = "x + sqrt(r)")};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        array *x = array_2d(TDM_F32, VALUE_ROWS, COLS, COLS),
              *y = array_2d(TDM_F32, VALUE_ROWS, COLS, COLS);
        array *const arrays[] = {x, y};
        double want[VALUE_ROWS * COLS], bound[VALUE_ROWS * COLS];
        array_uniform(x, 1, 4);
        for (int r = 0; r < VALUE_ROWS; r++) {
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
        if (run_rows(&texts[k], arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(y, want, bound);
        array_free_all();
    }
}

/* A function of a number alone. */
Test(row_kernel_apply, of_a_number) {
    array *y = array_2d(TDM_F32, VALUE_ROWS, COLS, COLS + 1), *const arrays[] = {y};
    const double *want = numbers_of(y->count, exp(2.0));
    const double *bound = numbers_of(y->count, 4 * 0x1p-23 * exp(2.0));
    check_case("y = exp(s)");
    if (run("y = exp(s)", arrays, "y", 2, 0)) ARRAY_CHECK(y, want, bound);
    array_free_all();
}

/* Every element of a row sees the same r, also of numbers that compare equal. */
Test(row_kernel_apply, signs_of_zeros, TAGS("lanes")) {
    enum { CASES = 6 };
    const tdm_row_kernel sign = TDM_ROW_KERNEL(.map = "x", .combine = TDM_MAX, .apply = "1 / r");
    for (int k = 0; k < CASES; k++) {
        const int cols = k % 3 == 0 ? 32 : k % 3 == 1 ? 40 : COLS, count = VALUE_ROWS * cols;
        array *x = array_2d(TDM_F32, VALUE_ROWS, cols, cols),
              *y = array_2d(TDM_F32, VALUE_ROWS, cols, cols);
        array *const arrays[] = {x, y};
        double values[VALUE_ROWS * COLS];
        float now[VALUE_ROWS * COLS];
        for (int i = 0; i < count; i++)
            values[i] = i / (k < 3 ? 1 : 4) % 2 ? 0.0 : -0.0; /* from lane to lane */
        array_set(x, values);
        check_case("%d columns", cols);
        if (run_rows(&sign, arrays, "xy", NO_NUMBER, 0) && OK(tdm_to_host(queue, &y->t, now))) {
            for (int i = 0; i < count; i++)
                CHECK(now[i] == now[i / cols * cols], "element %d is %g, the row's first %g", i,
                      (double)now[i], (double)now[i / cols * cols]);
        }
        array_free_all();
    }
}
