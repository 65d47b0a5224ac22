/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Softmax of scores that are scaled, masked and causal. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "operations/list.h"
#include "support/array.h"

TestSuite(softmax_scaled, .init = device_open, .fini = device_close, TAGS("lanes"));

/* Which dimensions of [batch, heads, rows, cols] the mask has, besides the columns. */
enum { OF_BATCH = 1, OF_HEADS = 2, OF_ROWS = 4, MASKS = 8 };

/* The summands of mask m, repeated to x's shape. */
static double *repeated(const array *m, const array *x) {
    double *all = array_repeated(m, 4, x->t.shape);
    for (int64_t i = 0; m->t.dtype == TDM_BOOL && i < x->count; i++)
        all[i] = all[i] != 0 ? 0.0 : -(double)INFINITY;
    return all;
}

static array *make_mask(const array *x, tdm_dtype dtype, int dims, int64_t gap) {
    int64_t shape[4], strides[4], step = x->t.shape[3] + gap;
    for (int d = 2; d >= 0; d--) {
        shape[d] = dims & 1 << d ? x->t.shape[d] : 1;
        strides[d] = step;
        step *= shape[d];
    }
    shape[3] = x->t.shape[3];
    strides[3] = 1;
    return array_new(dtype, 4, shape, strides);
}

/* Some of the elements do not count: those of whole rows, too, one in eight. */
static void set_mask(array *m, int64_t cols) {
    bool whole = false;
    for (int64_t i = 0; i < m->count; i++) {
        if (i % cols == 0) whole = random_integer(0, 7) == 0;
        const bool out = whole || random_integer(0, 2) == 0;
        m->v[i] = m->t.dtype == TDM_BOOL ? !out
                  : out                  ? -(double)INFINITY
                                         : random_uniform(-2.0, 2.0);
    }
    array_set(m, m->v);
}

/* The reference, row by row, as each has a mask: rows x cols, or NULL. causal_rows: of each matrix, or 0. */
static void refer(tdm_dtype dtype, int64_t rows, int64_t cols, double scale, const double *x,
                  const double *mask, int64_t causal_rows, double *y, double *bound) {
    enum { X, MASK, Y };
    const op_case c = {.op = op_named(causal_rows ? "scaled_softmax+causal" : "scaled_softmax"),
                       .dtype = dtype,
                       .ndim = 2,
                       .shape = {causal_rows ? causal_rows : rows, cols},
                       .number = scale};
    for (int64_t r = 0; r < rows; r++) {
        op_part p = {.c = &c, .row = r, .rows = 1, .cols = cols};
        p.x[X] = x + r * cols;
        p.x[MASK] = mask ? mask + r * cols : NULL;
        p.y[Y] = y + r * cols;
        p.bound[Y] = bound + r * cols;
        c.op->reference(&p);
    }
}

enum { NO_MASK, ADDED, TRUTHS };

static bool scaled_case(tdm_dtype dtype, const int64_t *shape, int dims, int masked, bool causal,
                        bool in_place, int64_t gap) {
    const int64_t cols = shape[3], strides[4] = {shape[1] * shape[2] * (cols + gap),
                                                 shape[2] * (cols + gap), cols + gap, 1};
    check_case("%s softmax_scaled %lldx%lldx%lldx%lld gap %lld mask %d%s causal %d in place %d",
               tdm_dtype_name(dtype), (long long)shape[0], (long long)shape[1], (long long)shape[2],
               (long long)cols, (long long)gap, masked ? dims : -1,
               masked == TRUTHS ? " (bool)" : "", causal, in_place);
    array *x = array_new(dtype, 4, shape, strides);
    array *y = in_place ? x : array_new(dtype, 4, shape, strides);
    array *m = masked ? make_mask(x, masked == TRUTHS ? TDM_BOOL : dtype, dims, gap) : NULL;
    array_uniform(x, -9.0, 9.0);
    if (m) set_mask(m, cols);
    tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    o.scale = random_integer(0, 1) ? 1.0 : random_uniform(-2.0, 2.0); /* or a mask alone */
    o.mask = m ? &m->t : NULL;
    o.causal = causal;
    const double scale = compute_eps(dtype) > 1e-10 ? (double)(float)o.scale : o.scale;
    double *want = numbers(x->count), *bound = numbers(x->count);
    refer(dtype, x->count / cols, cols, scale, x->v, m ? repeated(m, x) : NULL,
          causal ? shape[2] : 0, want, bound);
    bool right = OK(tdm_softmax_scaled(queue, &o, &x->t, &y->t)) && ARRAY_CHECK(y, want, bound);
    if (m) right = ARRAY_SAME(m) && right;
    if (!in_place) right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

/* Every mask, with gaps and without, in place, in matrices with fewer rows than columns, as many, and more:
 * the first rows of these count nothing. */
Test(softmax_scaled, masks) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1},   {2, 3, 5, 5},    {2, 2, 3, 64},
                                        {3, 2, 17, 9},  {1, 2, 40, 128}, {2, 1, 7, 257},
                                        {1, 1, 3, 5000}};
    for (int d = 0; d < float_dtype_count; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int k = 0; k < 3 * MASKS; k += small ? 5 : 1)
                if (!scaled_case(float_dtypes[d], shapes[i], k % MASKS,
                                 k == 3          ? NO_MASK
                                 : k < 2 * MASKS ? ADDED
                                                 : TRUTHS,
                                 k % 3 != 0, k % 4 == 1, k % 5 == 2 ? 3 : 0))
                    return;
}

/* Rows in chunks, where the mask hides the last chunks or all of them; a causal row may see no element. */
Test(softmax_scaled, rows_that_end_early) {
    const int64_t cols = small ? 20000 : 90000;
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        for (int k = 0; k < 3; k++) {
            if (!in_turn(d + k)) continue;
            array *x = array_2d(dtype, 2, cols, cols), *y = array_2d(dtype, 2, cols, cols);
            check_case("%s rows that end early, %d", tdm_dtype_name(dtype), k);
            array_uniform(x, -5.0, 5.0);
            array *m = array_1d(dtype, cols);
            for (int64_t j = 0; j < cols; j++)
                m->v[j] = j < cols * k / 3 ? 0.5 : -(double)INFINITY;
            array_set(m, m->v);
            double *all = numbers(2 * cols), *want = numbers(2 * cols), *bound = numbers(2 * cols);
            for (int64_t j = 0; j < 2 * cols; j++)
                all[j] = m->v[j % cols];
            tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
            o.mask = &m->t;
            o.causal = true;
            refer(dtype, 2, cols, 1.0, x->v, all, 2, want, bound);
            OK(tdm_softmax_scaled(queue, &o, &x->t, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* Columns that a causal row does not count have no effect, even NaN; NaN and Inf that it counts have. The plain form
 * is tdm_softmax's, bit for bit. */
Test(softmax_scaled, what_does_not_count) {
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const int64_t n = 70;
        check_case("%s NaN above the diagonal", tdm_dtype_name(dtype));
        array *x = array_2d(dtype, n, n, n), *y = array_2d(dtype, n, n, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                x->v[i * n + j] = j <= i ? random_uniform(-3.0, 3.0) : i % 2 ? NAN : INFINITY;
        x->v[40 * n + 7] = NAN;
        x->v[50 * n + 50] = INFINITY;
        array_set(x, x->v);
        tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
        o.causal = true;
        double *want = numbers(n * n), *bound = numbers(n * n);
        refer(dtype, n, n, 1.0, x->v, NULL, n, want, bound);
        OK(tdm_softmax_scaled(queue, &o, &x->t, &y->t));
        ARRAY_CHECK(y, want, bound);
        array_free_all();

        check_case("%s without options", tdm_dtype_name(dtype));
        x = array_2d(dtype, 5, 300, 300), y = array_2d(dtype, 5, 300, 300);
        array_uniform(x, -20.0, 20.0);
        OK(tdm_softmax(queue, &x->t, &y->t));
        const double *const plain = array_values(y);
        /* into the same place: another alignment may add up in another order */
        array_constant(y, 0.0);
        OK(tdm_softmax_scaled(queue, NULL, &x->t, &y->t));
        ARRAY_CHECK(y, plain, NULL);
        array_free_all();
    }
}

Test(softmax_scaled, refusals) {
    array *x = array_2d(TDM_F32, 4, 6, 6), *y = array_2d(TDM_F32, 4, 6, 6);
    array *row = array_1d(TDM_F32, 6), *other = array_1d(TDM_F32, 4), *f16 = array_1d(TDM_F16, 6);
    array *column = array_2d(TDM_F32, 4, 1, 1), *line = array_1d(TDM_F32, 6);
    array *truths = array_1d(TDM_BOOL, 4);
    array_uniform(x, -1, 1);
    tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    const tdm_status shape = TDM_ERROR_INVALID_SHAPE, argument = TDM_ERROR_INVALID_ARGUMENT;
    const char *const name = "tdm_softmax_scaled";
    o.scale = INFINITY;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), argument, "scale|inf|finite");
    o.scale = NAN;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), argument, "scale|nan");
    o.scale = 1e39;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), argument, "scale|1e+39|finite in f32");
    o.scale = 1;
    o.mask = &other->t;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), shape, "mask|[4]|[4, 6]");
    o.mask = &truths->t;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), shape,
            "tdm_softmax_scaled|mask|[4]|[4, 6]");
    o.mask = &f16->t;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), TDM_ERROR_INVALID_DTYPE, "mask|f16|f32");
    o.mask = &column->t;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), TDM_ERROR_UNSUPPORTED, "mask|last");
    o.mask = &y->t;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), TDM_ERROR_OVERLAP, "y|mask");
    o.mask = NULL;
    o.causal = true;
    REFUSED(tdm_softmax_scaled(queue, &o, &row->t, &line->t), shape, "causal|two");
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &row->t), shape, name);
    o.size = 4;
    REFUSED(tdm_softmax_scaled(queue, &o, &x->t, &y->t), argument, "tdm_softmax_options");
    ARRAY_SAME(y);
    tdm_softmax_options made;
    tdm_softmax_options_init(&made, sizeof made);
    CHECK(made.scale == 1 && !made.mask && !made.causal && made.size == sizeof made, "defaults");
    array_free_all();
}
