/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels over rows: what combines, dtypes, layouts, rows of no elements and of many. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "operations/formulas.h"
#include "suite/expression_call.h"
#include "support/array.h"
#include "support/contents.h"

TestSuite(row_kernels, .init = device_open, .fini = device_close);

static const char *const combines[] = {"sum", "product", "largest", "smallest"};

static double start_of(tdm_combine combine) {
    const double starts[] = {0, 1, -(double)INFINITY, (double)INFINITY};
    return starts[combine];
}

/* ---- floats ---- */

enum { ROWS = 3 };

static bool check_rows(tdm_kernel *kernel, tdm_dtype dtype, tdm_combine combine, int64_t cols,
                       int64_t stride) {
    static const ref_reduction reductions[] = {REF_SUM, REF_PRODUCT, REF_MAX, REF_MIN};
    const bool multiplies = combine == TDM_PRODUCT;
    array *x = array_2d(dtype, ROWS, cols, stride), *y = array_1d(dtype, ROWS);
    double want[ROWS], bound[ROWS];
    array_uniform(x, multiplies ? 0.99 : -1, multiplies ? 1.01 : 1.5);
    for (int i = 0; i < ROWS; i++)
        want[i] =
            ref_reduce(reductions[combine], dtype, dtype, cols, x->v + i * cols, 1, 0, &bound[i]);
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("y", &y->t)};
    check_case("%s of %lld columns, %lld apart, in %s", combines[combine], (long long)cols,
               (long long)stride, tdm_dtype_name(dtype));
    const bool right = OK(tdm_kernel_run(queue, kernel, arguments, 2)) &&
                       ARRAY_CHECK(y, want, bound) && ARRAY_SAME(x);
    array_free_all();
    return right;
}

Test(row_kernels, lengths, TAGS("lanes few compiled texts")) {
    static const int64_t lengths[] = {1,  2,   7,    31,   32,   33,   63,   64,    65,
                                      96, 640, 1000, 1025, 2047, 2048, 4097, 10007, 100000};
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    for (int c = 0; c < TDM_COMBINE_COUNT; c++) {
        const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x", .combine = (tdm_combine)c);
        tdm_kernel *kernel;
        bool right = OK(tdm_kernel_rows(device, &texts, parameters, 2, &kernel));
        for (int d = 0; d < float_dtype_count && right; d++) {
            if (compiles() && small && (c + d) % 2 != 0) continue;
            for (size_t l = 0; l < (small ? 15 : sizeof lengths / sizeof *lengths) && right; l++)
                for (int gap = 0; gap < 2 && right; gap++)
                    right = check_rows(kernel, float_dtypes[d], (tdm_combine)c, lengths[l],
                                       lengths[l] + gap * (l % 2 ? 3 : 64));
        }
        tdm_kernel_release(kernel);
    }
}

/* Few long rows, which are cut, give the same each time, and lose nothing by their length. */
Test(row_kernels, long_rows, TAGS("lanes")) {
    const int64_t cols = small ? 70001 : 3000017;
    array *x = array_1d(TDM_F32, cols), *y = array_1d(TDM_F32, 1), *z = array_1d(TDM_F32, 1);
    array_uniform(x, 0, 1);
    double bound, want = ref_reduce(REF_L2, TDM_F32, TDM_F32, cols, x->v, 1, 0, &bound);
    want /= sqrt((double)cols);
    bound = want * 32 * 0x1p-23;
    array *const arrays[] = {x, y}, *const again[] = {x, z};
    const tdm_row_kernel rms =
        TDM_ROW_KERNEL(.map = "x * x", .combine = TDM_SUM, .finish = "sqrt(r / n)");
    check_case("rms of %lld columns", (long long)cols);
    if (run_rows(&rms, arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(y, &want, &bound);
    if (run_rows(&rms, again, "xy", NO_NUMBER, 0)) {
        float first, second;
        OK(tdm_to_host(queue, &y->t, &first));
        OK(tdm_to_host(queue, &z->t, &second));
        CHECK(memcmp(&first, &second, sizeof first) == 0, "%a, and again %a", (double)first,
              (double)second);
    }
    const tdm_row_kernel mean = TDM_ROW_KERNEL(.map = "x", .finish = "r / n");
    want = ref_reduce(REF_MEAN, TDM_F32, TDM_F32, cols, x->v, 1, 0, &bound);
    bound = want * 32 * 0x1p-23;
    check_case("mean of %lld columns", (long long)cols);
    if (run_rows(&mean, arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(y, &want, &bound);
    array_free_all();
}

/* Each chunk has a crumb, which it would lose if chunks were added as they are, and the first one has many. */
Test(row_kernels, chunks, TAGS("lanes")) {
    const int64_t cols = small ? 1 << 17 : 1 << 20;
    array *const arrays[] = {array_1d(TDM_F32, cols), array_1d(TDM_F32, 1)};
    double bound;
    fill_row(TDM_F32, CRUMBS, 0, 0, cols, arrays[0]->v);
    array_set(arrays[0], arrays[0]->v);
    const double want = ref_reduce(REF_SUM, TDM_F32, TDM_F32, cols, arrays[0]->v, 1, 0, &bound);
    const tdm_row_kernel total = TDM_ROW_KERNEL(.map = "x");
    if (run_rows(&total, arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(arrays[1], &want, &bound);
    array_free_all();
}

/* NaN and infinities, among many others. */
Test(row_kernels, special_values, TAGS("texts")) {
    enum { CASES = 5, COLS = 200 };
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double put[CASES] = {nan, inf, -inf, -nan, 0};
    static const double want[TDM_COMBINE_COUNT][CASES] = {
        {NAN, INFINITY, -INFINITY, NAN, 199},
        {NAN, INFINITY, -INFINITY, NAN, 0},
        {NAN, INFINITY, 1, NAN, 1},
        {NAN, 1, -INFINITY, NAN, 0},
    };
    for (int d = 0; d < float_dtype_count; d++) {
        for (int c = 0; c < TDM_COMBINE_COUNT; c++) {
            array *x = array_2d(float_dtypes[d], CASES, COLS, COLS);
            array *y = array_1d(float_dtypes[d], CASES);
            double *values = numbers_of(CASES * COLS, 1);
            for (int i = 0; i < CASES; i++)
                values[i * COLS + random_integer(0, COLS - 1)] = put[i];
            array_set(x, values);
            const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x", .combine = (tdm_combine)c);
            array *const arrays[] = {x, y};
            check_case("%s of special values in %s", combines[c], tdm_dtype_name(float_dtypes[d]));
            if (run_rows(&texts, arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(y, want[c], NULL);
            array_free_all();
        }
    }
}

/* ---- integers ---- */

static uint64_t combine_integers(tdm_combine combine, bool is_signed, uint64_t a, uint64_t b) {
    const bool above = is_signed ? (int64_t)a > (int64_t)b : a > b;
    switch (combine) {
    case TDM_SUM:
        return a + b;
    case TDM_PRODUCT:
        return a * b;
    case TDM_MAX:
        return above ? a : b;
    default:
        return above ? b : a;
    }
}

/* Integers of all sizes combine as their type: those of up to 16 bits, and bool, as i32. */
Test(row_kernels, integers, TAGS("texts")) {
    enum { COLS = 777 };
    static const struct {
        tdm_dtype x, y;
        bool is_signed, is_wide;
    } cases[] = {{TDM_I32, TDM_I32, true, false}, {TDM_U32, TDM_U32, false, false},
                 {TDM_I64, TDM_I64, true, true},  {TDM_U64, TDM_U64, false, true},
                 {TDM_I8, TDM_I32, true, false},  {TDM_U8, TDM_I32, true, false},
                 {TDM_I16, TDM_I32, true, false}, {TDM_U16, TDM_I32, true, false},
                 {TDM_BOOL, TDM_I32, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int c = 0; c < TDM_COMBINE_COUNT; c++) {
            if (compiles() && (i + (size_t)c) % (small ? 4 : 2) != 0) continue;
            array *x = array_2d(cases[i].x, ROWS, COLS, COLS + 1), *y = array_1d(cases[i].y, ROWS);
            array_integers(x, cases[i].is_signed && cases[i].x != TDM_BOOL ? -100 : 0,
                           cases[i].x == TDM_BOOL ? 1 : 100);
            unsigned char got[ROWS * 8];
            const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x", .combine = (tdm_combine)c);
            array *const arrays[] = {x, y};
            check_case("%s of %s", combines[c], tdm_dtype_name(cases[i].x));
            bool right =
                run_rows(&texts, arrays, "xy", NO_NUMBER, 0) && OK(tdm_to_host(queue, &y->t, got));
            for (int row = 0; row < ROWS && right; row++) {
                uint64_t all = (uint64_t)(int64_t)x->v[row * COLS], result = 0;
                for (int j = 1; j < COLS; j++)
                    all = combine_integers((tdm_combine)c, cases[i].is_signed, all,
                                           (uint64_t)(int64_t)x->v[row * COLS + j]);
                const size_t size = cases[i].is_wide ? 8 : 4;
                memcpy(&result, got + (size_t)row * size, size);
                if (!cases[i].is_wide) all &= 0xffffffffu;
                CHECK(result == all, "row %d is %llx, not %llx", row, (unsigned long long)result,
                      (unsigned long long)all);
                right = result == all;
            }
            array_free_all();
        }
    }
}

/* ---- layouts ---- */

/* Strides of any kind, dtypes mixed, an output with or without the last dimension. */
Test(row_kernels, any_layout, TAGS("texts")) {
    for (int i = 0; i < (compiles() ? 12 : small ? 25 : 300); i++) {
        const int ndim = (int)random_integer(1, 6);
        int64_t shape[TDM_MAX_DIMS], of_y[TDM_MAX_DIMS], rows = 1;
        for (int k = 0; k < ndim; k++) {
            shape[k] = random_integer(1, ndim == 1 ? 3000 : ndim == 2 ? 70 : 6);
            of_y[k] = k < ndim - 1 ? shape[k] : 1;
            rows *= of_y[k];
        }
        const bool mixed = random_bits() & 1, keeps = ndim == 1 || (random_bits() & 1);
        const int64_t cols = shape[ndim - 1];
        array *a = array_any_strides(mixed ? TDM_I8 : TDM_F32, ndim, shape, true);
        array *b = array_any_strides(mixed ? TDM_F16 : TDM_F32, ndim, shape, true);
        array *y = array_any_strides(TDM_F32, keeps ? ndim : ndim - 1, of_y, false);
        array_integers(a, -20, 20);
        array_integers(b, -20, 20);
        double *want = numbers(rows);
        for (int64_t e = 0; e < rows * cols; e++)
            want[e / cols] += (a->v[e] > b->v[e] ? a->v[e] : b->v[e]) * 0.5 + (double)(e % cols);
        for (int64_t e = 0; e < rows; e++)
            want[e] = want[e] * 2 - (double)cols;
        check_case("%d dimensions %lldx%lldx%lld, %s", ndim, (long long)shape[0],
                   ndim > 1 ? (long long)shape[1] : 0, ndim > 2 ? (long long)shape[2] : 0,
                   mixed ? "mixed" : "f32");
        array *const arrays[] = {a, b, y};
        const tdm_row_kernel texts =
            TDM_ROW_KERNEL(.map = "t = max(a, b); t * s + column", .finish = "r * k - n");
        const bool right = run_rows(&texts, arrays, "aby", 0.5, 2) && ARRAY_CHECK(y, want, NULL) &&
                           ARRAY_SAME(a) && ARRAY_SAME(b);
        array_free_all();
        if (!right) break;
    }
}

/* A vector of columns, a column of rows and one element are broadcast. */
Test(row_kernels, broadcasting, TAGS("lanes")) {
    enum { B = 2, R = 5, C = 130 };
    const int64_t row[] = {C}, column[] = {R, 1}, batch[] = {B, 1, C}, one[] = {1}, out[] = {B, R};
    for (int d = 0; d < 2; d++) {
        const tdm_dtype dtype = d ? TDM_F16 : TDM_F32;
        array *a = array_new(dtype, 1, row, NULL), *b = array_new(dtype, 2, column, NULL);
        array *c = array_new(dtype, 3, batch, NULL), *e = array_new(dtype, 1, one, NULL);
        array *y = array_new(TDM_F32, 2, out, NULL);
        double want[B * R];
        array_integers(a, -9, 9);
        array_integers(b, -9, 9);
        array_integers(c, -9, 9);
        array_integers(e, -9, 9);
        for (int i = 0; i < B * R; i++) {
            want[i] = -1e9;
            for (int j = 0; j < C; j++)
                want[i] = fmax(want[i], a->v[j] * b->v[i % R] + c->v[i / R * C + j] - e->v[0]);
        }
        const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "a * b + c - e", .combine = TDM_MAX);
        array *const arrays[] = {a, b, c, e, y};
        check_case("[130], [5, 1], [2, 1, 130] and [1] of %s", tdm_dtype_name(dtype));
        if (run_rows(&texts, arrays, "abcey", NO_NUMBER, 0)) ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}

/* Rows of no elements give the initial value; no rows give nothing. */
Test(row_kernels, empty_rows, TAGS("compiled")) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("b"), TDM_TENSOR("y")};
    for (int c = 0; c < TDM_COMBINE_COUNT; c++) {
        array *x = array_2d(TDM_F32, 4, 0, 0), *y = array_1d(TDM_F32, 4),
              *b = array_2d(TDM_F32, 4, 1, 1);
        array *none = array_2d(TDM_F32, 0, 7, 7), *nothing = array_1d(TDM_F32, 0),
              *one = array_2d(TDM_F32, 1, 1, 1);
        array_constant(b, 1);
        array_constant(one, 1);
        const double start = start_of((tdm_combine)c);
        const double want[4] = {start, start, start, start};
        const tdm_row_kernel texts =
            TDM_ROW_KERNEL(.map = "x + b * exp(2.0)", .combine = (tdm_combine)c,
                           .finish = "r + exp(2.0) - exp(2.0) + n");
        tdm_kernel *kernel;
        tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &x->t), TDM_WITH_TENSOR("b", &b->t),
                                    TDM_WITH_TENSOR("y", &y->t)};
        check_case("%s of no elements", combines[c]);
        if (!OK(tdm_kernel_rows(device, &texts, parameters, 3, &kernel))) return;
        const double bound[4] = {1e-6, 1e-6, 1e-6, 1e-6};
        if (OK(tdm_kernel_run(queue, kernel, arguments, 3)))
            ARRAY_CHECK(y, want, isinf(start) ? NULL : bound);
        arguments[0].tensor = &none->t;
        arguments[1].tensor = &one->t;
        arguments[2].tensor = &nothing->t;
        OK(tdm_kernel_run(queue, kernel, arguments, 3));
        ARRAY_SAME(nothing);
        tdm_kernel_release(kernel);
        array_free_all();
    }
}

/* ---- texts ---- */

/* index, row and column count in the rows' shape; finish and map have n; conversions of types. */
Test(row_kernels, texts, TAGS("texts")) {
    enum { R = 4, C = 50 };
    static const struct {
        tdm_row_kernel texts;
        tdm_dtype x, y;
        double of[R]; /* x is its row's number + 1 everywhere */
    } cases[] = {
        {{sizeof(tdm_row_kernel), "x == x ? column : 0", TDM_MAX, NULL, NULL},
         TDM_F32,
         TDM_I64,
         {49, 49, 49, 49}},
        {{sizeof(tdm_row_kernel), "index + 0 * x", TDM_MIN, NULL, NULL},
         TDM_I32,
         TDM_I64,
         {0, 50, 100, 150}},
        {{sizeof(tdm_row_kernel), "x * (row + 1)", TDM_MAX, "r / 2", NULL},
         TDM_I32,
         TDM_I64,
         {0, 2, 4, 8}},
        {{sizeof(tdm_row_kernel), "x / n", TDM_SUM, NULL, NULL}, TDM_F32, TDM_F32, {1, 2, 3, 4}},
        {{sizeof(tdm_row_kernel), "x", TDM_SUM, "r / n", NULL}, TDM_I32, TDM_F32, {1, 2, 3, 4}},
        {{sizeof(tdm_row_kernel), "x > 2", TDM_SUM, "r * 1.5", NULL},
         TDM_F32,
         TDM_F32,
         {0, 0, 75, 75}},
        {{sizeof(tdm_row_kernel), "x > 2", TDM_MAX, "r != 0", NULL},
         TDM_U8,
         TDM_BOOL,
         {0, 0, 1, 1}},
        {{sizeof(tdm_row_kernel), "t = x * 2 // twice\nu = t + 1; u - t / 2", TDM_SUM,
          "m = r / n\n m - 1\n", NULL},
         TDM_F32,
         TDM_F32,
         {1, 2, 3, 4}},
        {{sizeof(tdm_row_kernel), "1 + 0 * x", TDM_SUM, "n - r", NULL},
         TDM_F32,
         TDM_F32,
         {0, 0, 0, 0}},
        {{sizeof(tdm_row_kernel), "x", TDM_SUM, "7", NULL}, TDM_F32, TDM_I32, {7, 7, 7, 7}},
        {{sizeof(tdm_row_kernel), "x", TDM_SUM, "r > 120", NULL}, TDM_F16, TDM_BOOL, {0, 0, 1, 1}},
        {{sizeof(tdm_row_kernel), "t = x; 3", TDM_SUM, "r / 3", NULL},
         TDM_F32,
         TDM_F32,
         {50, 50, 50, 50}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        array *x = array_2d(cases[i].x, R, C, C), *y = array_1d(cases[i].y, R);
        double *values = numbers(R * C);
        for (int k = 0; k < R * C; k++)
            values[k] = k / C + 1;
        array_set(x, values);
        array *const arrays[] = {x, y};
        const double bound[R] = {1e-5, 1e-5, 1e-5, 1e-5};
        check_case("%s: %s, %s", combines[cases[i].texts.combine], cases[i].texts.map,
                   cases[i].texts.finish ? cases[i].texts.finish : "r");
        if (run_rows(&cases[i].texts, arrays, "xy", NO_NUMBER, 0))
            ARRAY_CHECK(y, cases[i].of, bound);
        array_free_all();
    }
}

/* A recorded kernel, whose rows are cut, runs with each replay. */
Test(row_kernels, recorded, TAGS("compiled")) {
    const int64_t cols = 50000;
    array *x = array_2d(TDM_F32, 2, cols, cols), *y = array_1d(TDM_F32, 2);
    array_integers(x, -3, 3);
    double want[2] = {0, 0};
    for (int64_t j = 0; j < 2 * cols; j++)
        want[j / cols] += x->v[j];
    tdm_graph *graph;
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM);
    array *const arrays[] = {x, y};
    check_case("a recorded sum");
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    run_rows(&texts, arrays, "xy", NO_NUMBER, 0);
    OK(tdm_graph_end(graph));
    for (int i = 0; i < 3; i++) {
        OK(tdm_graph_replay(graph));
        ARRAY_CHECK(y, want, NULL);
        array_constant(y, -1);
    }
    tdm_graph_destroy(graph);
    array_free_all();
}
