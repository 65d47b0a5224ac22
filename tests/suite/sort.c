/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sorted rows: sort, argsort and top_k. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/array.h"

TestSuite(sort, .init = device_open, .fini = device_close, TAGS("lanes"));

typedef struct element {
    double v;
    int64_t index;
} element;

/* NaN above all; then the index. */
static int by_value(double a, double b) {
    if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

static int rising(const void *p, const void *q) {
    const element *a = p, *b = q;
    const int order = by_value(a->v, b->v);
    return order != 0 ? order : a->index < b->index ? -1 : 1;
}

static int falling(const void *p, const void *q) {
    const int order = by_value(((const element *)q)->v, ((const element *)p)->v);
    return order != 0 ? order : rising(p, q);
}

/* The first k of each row, sorted by the C library. */
static bool sorted(const double *x, int64_t rows, int64_t cols, int64_t k, bool descending,
                   double *values, double *indices) {
    element *row = malloc((size_t)(cols + 1) * sizeof *row);
    for (int64_t r = 0; row && r < rows; r++) {
        for (int64_t j = 0; j < cols; j++)
            row[j] = (element){x[r * cols + j], j};
        qsort(row, (size_t)cols, sizeof *row, descending ? falling : rising);
        for (int64_t j = 0; j < k; j++) {
            values[r * k + j] = row[j].v;
            indices[r * k + j] = (double)row[j].index;
        }
    }
    CHECK(row, "out of memory");
    free(row);
    return row;
}

/* Numbers of the dtype's whole range, few different ones, rising or falling ones; of floats NaN, infinities and
 * both zeros. ALIKE: all the same, which of floats in every third row is NaN. */
enum { WIDE, FEW, RISING, FALLING, KINDS, ALIKE = KINDS };

static void set_values(array *x, int64_t cols, int kind) {
    const tdm_dtype dtype = x->t.dtype;
    const bool is_float = dtype_is_float(dtype), is_signed = rounded(dtype, -1.0) < 0;
    const double most = fmin(dtype_max(dtype), 0x1p62), few = dtype == TDM_BOOL ? 1.0 : 3.0;
    const double specials[] = {NAN, INFINITY, -(double)INFINITY, 0.0, -0.0, -1.0, 1.0};
    for (int64_t i = 0; i < x->count; i++) {
        double v = random_uniform(is_signed ? -most : 0, most);
        if (kind == FEW) v = (double)random_integer(is_signed ? -3 : 0, (int64_t)few);
        if (kind == RISING) v = (double)(i % cols % 120);
        if (kind == FALLING) v = (double)(120 - i % cols % 120);
        if (kind == ALIKE) v = is_float && i / cols % 3 == 2 ? NAN : 1;
        if (is_float && kind <= FEW && random_integer(0, 3) == 0)
            v = specials[random_integer(0, 6)];
        x->v[i] = v;
    }
    array_set(x, x->v);
}

static bool sort_case(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t gap, int kind,
                      bool descending, bool wide) {
    check_case("%s argsort %lldx%lld gap %lld kind %d descending %d into %s", tdm_dtype_name(dtype),
               (long long)rows, (long long)cols, (long long)gap, kind, descending,
               wide ? "i64" : "i32");
    array *x = array_2d(dtype, rows, cols, cols + gap);
    array *indices = array_2d(wide ? TDM_I64 : TDM_I32, rows, cols, cols + gap);
    set_values(x, cols, kind);
    double *values = numbers(x->count), *want = numbers(x->count);
    bool right = sorted(x->v, rows, cols, cols, descending, values, want) &&
                 OK(tdm_argsort(queue, &x->t, descending, &indices->t)) &&
                 ARRAY_CHECK(indices, want, NULL);
    array *y = array_2d(dtype, rows, cols, cols + gap);
    right = right && OK(tdm_sort(queue, &x->t, descending, &y->t)) && ARRAY_CHECK(y, values, NULL);
    right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

/* Every dtype, around the lengths at which runs begin, with ties, gaps and rows that are sorted already. */
Test(sort, argsort, TAGS("few")) {
    static const int64_t extents[][3] = {{1, 1, 0},    {3, 2, 1},    {2, 15, 0},
                                         {4, 16, 0},   {3, 17, 2},   {2, 33, 0},
                                         {40, 100, 1}, {2, 1000, 0}, {1, 5000, 0}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
            for (int k = (int)i % 2; k < KINDS; k += small ? 3 : 1)
                if (is_wanted((tdm_dtype)d) && in_turn(d + (int)i + k / 3) &&
                    !sort_case((tdm_dtype)d, extents[i][0], extents[i][1], extents[i][2], k,
                               (k + (int)i) % 2 == 1, (d + k) % 2 == 1))
                    return;
}

/* One long row, of several pieces in each pass; and so many rows that they are sorted some at a time. */
Test(sort, long_rows) {
    const int64_t cols = small ? 9000 : 300007;
    sort_case(TDM_F32, 1, cols, 0, WIDE, true, false);
    sort_case(TDM_I64, 1, cols, 0, WIDE, false, true);
    if (!small) sort_case(TDM_U8, 70000, 260, 0, WIDE, false, false);
}

static bool top_case(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t k, int kind,
                     int outputs) {
    check_case("%s top %lld of %lldx%lld kind %d outputs %d", tdm_dtype_name(dtype), (long long)k,
               (long long)rows, (long long)cols, kind, outputs);
    array *x = array_2d(dtype, rows, cols, cols + kind), *values = array_2d(dtype, rows, k, k + 1);
    array *indices = array_2d(outputs & 4 ? TDM_I64 : TDM_I32, rows, k, k + kind);
    set_values(x, cols, kind);
    double *want = numbers(rows * k), *want_indices = numbers(rows * k);
    bool right = sorted(x->v, rows, cols, k, true, want, want_indices);
    right = right && OK(tdm_top_k(queue, &x->t, outputs & 1 ? &values->t : NULL,
                                  outputs & 2 ? &indices->t : NULL));
    right = right && (outputs & 1 ? ARRAY_CHECK(values, want, NULL) : ARRAY_SAME(values));
    right = right && (outputs & 2 ? ARRAY_CHECK(indices, want_indices, NULL) : ARRAY_SAME(indices));
    right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

Test(sort, top_k) {
    static const int64_t extents[][3] = {/* rows, columns, k */
                                         {1, 1, 1},    {3, 10, 3},    {5, 64, 64},   {2, 100, 17},
                                         {4, 1000, 1}, {2, 3000, 40}, {3, 777, 500}, {2, 50, 0}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
            if (is_wanted((tdm_dtype)d) && in_turn(d + (int)i) &&
                !top_case((tdm_dtype)d, extents[i][0], extents[i][1], extents[i][2],
                          (int)(i + (size_t)d) % KINDS, i % 3 == 0 ? 7 : 1 + (int)i % 3))
                return;
}

/* Few of each row, which are selected: of rows that are whole or cut, fewer and more than one run has, ties where the
 * last one is kept, the first and the last elements. */
Test(sort, selected, TAGS("few")) {
    static const int64_t extents[][3] = {/* rows, columns, k */
                                         {70, 64, 4},     {3, 65, 16},    {5, 129, 1},
                                         {2, 4100, 256},  {3, 2000, 257}, {1, 9000, 3},
                                         {1, 40000, 700}, {2, 5000, 1100}};
    const int count = (int)(sizeof extents / sizeof *extents);
    int number = 0; /* counts the cases of wanted dtypes alone, so that every run has one of them */
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int i = 0; i < count; i++) {
            if (!is_wanted((tdm_dtype)d) || !in_long_turn(number++)) continue;
            for (int kind = small ? (i + d) % 3 : 0; kind <= ALIKE; kind += small ? 3 : 1)
                if (!top_case((tdm_dtype)d, extents[i][0], extents[i][1], extents[i][2], kind,
                              (i + kind) % 2 ? 3 : 7))
                    return;
        }
}

/* So many rows that they are selected some at a time, and a row that is longer than a chunk may be. */
Test(sort, many_selected) {
    if (small) return;
    top_case(TDM_F32, 70000, 260, 60, WIDE, 3);
    top_case(TDM_U16, 2, 2100000, 5, WIDE, 3);
    top_case(TDM_F64, 1, 2100000, 5, FEW, 3);
}

/* Recorded once and replayed on other values: each launch finds the words of the one before it. */
Test(sort, replayed) {
    const int64_t rows = 3, cols = 900, k = 20;
    const tdm_dtype dtype = TDM_I64;
    array *x = array_2d(dtype, rows, cols, cols), *indices = array_2d(TDM_I32, rows, cols, cols);
    array *top = array_2d(dtype, rows, k, k);
    tdm_graph *graph = NULL;
    check_case("argsort and top_k in a graph");
    if (!OK(tdm_graph_create(queue, &graph))) return;
    OK(tdm_graph_begin(graph));
    OK(tdm_argsort(queue, &x->t, false, &indices->t));
    OK(tdm_top_k(queue, &x->t, &top->t, NULL));
    OK(tdm_graph_end(graph));
    for (int turn = 0; turn < 3; turn++) {
        set_values(x, cols, turn == 1 ? FEW : WIDE);
        double *values = numbers(rows * cols), *order = numbers(rows * cols);
        double *best = numbers(rows * k), *unused = numbers(rows * k);
        sorted(x->v, rows, cols, cols, false, values, order);
        sorted(x->v, rows, cols, k, true, best, unused);
        OK(tdm_graph_replay(graph));
        ARRAY_CHECK(indices, order, NULL);
        ARRAY_CHECK(top, best, NULL);
    }
    tdm_graph_destroy(graph);
    array_free_all();
}

Test(sort, zero_dimensions) {
    array *x = array_2d(TDM_F32, 3, 0, 1), *indices = array_2d(TDM_I32, 3, 0, 1);
    array *none = array_2d(TDM_F32, 0, 4, 4), *none_indices = array_2d(TDM_I64, 0, 4, 4);
    OK(tdm_argsort(queue, &x->t, false, &indices->t));
    OK(tdm_argsort(queue, &none->t, false, &none_indices->t));
    OK(tdm_top_k(queue, &none->t, NULL, &none_indices->t));
    tdm_tensor across = array_2d(TDM_F32, 4, 3, 3)->t; /* rows with gaps, which are not read */
    OK(tdm_tensor_transpose(&across, 0, 1, &across));
    OK(tdm_top_k(queue, &across, NULL, &indices->t));
    ARRAY_SAME(indices);
    ARRAY_SAME(none_indices);
    array_free_all();
}

Test(sort, refusals) {
    array *x = array_2d(TDM_F32, 4, 6, 6), *floats = array_2d(TDM_F32, 4, 6, 6);
    array *indices = array_2d(TDM_I32, 4, 6, 6), *few = array_2d(TDM_I32, 4, 3, 3);
    array *many = array_2d(TDM_F32, 4, 7, 7), *half = array_2d(TDM_F16, 4, 3, 3);
    array *top = array_2d(TDM_F32, 4, 2, 2), *rows = array_2d(TDM_F32, 3, 3, 3);
    const tdm_status dtype = TDM_ERROR_INVALID_DTYPE, shape = TDM_ERROR_INVALID_SHAPE;
    array_uniform(x, -1, 1);
    REFUSED(tdm_argsort(queue, &x->t, false, &floats->t), dtype, "indices|f32|i32");
    REFUSED(tdm_argsort(queue, &x->t, false, &few->t), shape, "[4, 6]|[4, 3]");
    REFUSED(tdm_top_k(queue, &x->t, NULL, NULL), TDM_ERROR_INVALID_ARGUMENT, "values|indices|NULL");
    REFUSED(tdm_top_k(queue, &x->t, &half->t, NULL), dtype, "values|f16|f32");
    REFUSED(tdm_top_k(queue, &x->t, &many->t, NULL), shape, "values|7|6");
    REFUSED(tdm_top_k(queue, &x->t, &top->t, &few->t), shape, "indices|[4, 3]|[4, 2]");
    REFUSED(tdm_top_k(queue, &x->t, &rows->t, NULL), shape, "values|[3, 3]|[4, 3]");
    REFUSED(tdm_top_k(queue, &x->t, &x->t, NULL), TDM_ERROR_OVERLAP, "values|x");
    REFUSED(tdm_argsort(NULL, &x->t, false, &indices->t), TDM_ERROR_INVALID_ARGUMENT, "queue");
    tdm_tensor turned;
    OK(tdm_tensor_transpose(&x->t, 0, 1, &turned));
    array *turned_indices = array_2d(TDM_I32, 6, 4, 4);
    REFUSED(tdm_argsort(queue, &turned, false, &turned_indices->t), TDM_ERROR_UNSUPPORTED,
            "x|stride");
    ARRAY_SAME(indices);
    ARRAY_SAME(few);
    array_free_all();
}
