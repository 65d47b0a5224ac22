/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions of arrays over any dimensions, run and compared with the reference. */
#include "reduced.h"

#include <stdio.h>

#include "operations/list.h"

const char *const reduction_names[REF_REDUCTIONS] = {
    "sum",      "mean", "prod", "variance", "deviation", "norm l1", "norm l2",
    "norm inf", "max",  "min",  "any",      "all",       "count"};

tdm_dtype reduced_dtype(ref_reduction what, tdm_dtype dtype) {
    if (what == REF_ANY || what == REF_ALL) return TDM_BOOL;
    if (what == REF_COUNT) return TDM_I64;
    if (what == REF_MAX || what == REF_MIN || dtype_is_float(dtype)) return dtype;
    return dtype == TDM_U64 ? TDM_U64 : TDM_I64;
}

bool reduction_takes(ref_reduction what, tdm_dtype dtype) {
    return dtype_is_float(dtype) || what == REF_SUM || what == REF_PRODUCT || what >= REF_MAX;
}

array *array_cancelling(tdm_dtype dtype, bool in_columns, int64_t n) {
    array *x = in_columns ? array_2d(dtype, n, 2, 2) : array_2d(dtype, 2, n, n);
    array_uniform(x, 1.0, 2.0);
    for (int64_t g = 0; g < 2; g++)
        for (int64_t i = 0; i < n / 2; i++) {
            const int64_t from = in_columns ? i * 2 + g : g * n + i;
            x->v[in_columns ? (i + n / 2) * 2 + g : g * n + i + n / 2] = -x->v[from];
        }
    array_set(x, x->v);
    return x;
}

array *array_limits(tdm_dtype dtype) {
    enum { ROWS = 5, COLS = 77 };
    const bool is_signed = rounded(dtype, -1.0) < 0;
    array *x = array_2d(dtype, ROWS, COLS, COLS);
    array_integers(x, is_signed ? -100 : 0, 100);
    const double most = dtype_max(dtype), least = is_signed ? -most - 1 : 0;
    x->v[COLS + 3] = dtype == TDM_I64 ? 0x1p63 - 1024 : dtype == TDM_U64 ? 0x1p64 - 2048 : most;
    x->v[2 * COLS + 76] = least;
    array_set(x, x->v);
    return x;
}

double *gathered(const array *x, unsigned dims, int64_t *count, int64_t *n) {
    *count = *n = 1;
    for (int d = 0; d < x->t.ndim; d++)
        *(dims >> d & 1 ? n : count) *= x->t.shape[d];
    double *together = numbers(x->count);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t left = i, result = 0, element = 0, results = 1, elements = 1;
        for (int d = x->t.ndim - 1; d >= 0; d--) {
            const int64_t index = left % x->t.shape[d];
            left /= x->t.shape[d];
            if (dims >> d & 1) {
                element += index * elements;
                elements *= x->t.shape[d];
            } else {
                result += index * results;
                results *= x->t.shape[d];
            }
        }
        together[result * *n + element] = x->v[i];
    }
    return together;
}

array *reduced_array(const array *x, unsigned dims, tdm_dtype dtype, layout how) {
    int64_t shape[TDM_MAX_DIMS], strides[TDM_MAX_DIMS], step = how == WITH_GAPS ? 3 : 1;
    int ndim = 0;
    for (int d = 0; d < x->t.ndim; d++) {
        if ((dims >> d & 1) && how == WITH_DIMS) shape[ndim++] = 1;
        if (!(dims >> d & 1)) shape[ndim++] = x->t.shape[d];
    }
    if (ndim == 0) shape[ndim++] = 1;
    /* with gaps, and its first dimension last in memory */
    for (int d = 0; d < ndim; d++) {
        strides[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    return array_new(dtype, ndim, shape, how == WITH_GAPS ? strides : NULL);
}

static void describe_case(const char *name, const array *x, unsigned dims, tdm_dtype out,
                          layout how) {
    char shape[160];
    size_t length = 0;
    for (int d = 0; d < x->t.ndim; d++)
        length += (size_t)snprintf(shape + length, sizeof shape - length, " %lld%s(%lld)",
                                   (long long)x->t.shape[d], dims >> d & 1 ? "*" : "",
                                   (long long)x->t.strides[d]);
    check_case("%s of %s:%s to %s, layout %d", name, tdm_dtype_name(x->t.dtype), shape,
               tdm_dtype_name(out), (int)how);
}

bool reduce_case(ref_reduction what, const array *x, unsigned dims, tdm_dtype out, layout how,
                 double correction) {
    int64_t count, n;
    int list[TDM_MAX_DIMS], listed = 0;
    describe_case(reduction_names[what], x, dims, out, how);
    array *y = reduced_array(x, dims, out, how);
    const double *together = gathered(x, dims, &count, &n);
    double *want = numbers(count), *bound = numbers(count);
    for (int64_t i = 0; i < count; i++)
        want[i] = ref_reduce(what, x->t.dtype, out, n, together + i * n, 1, correction, &bound[i]);
    for (int d = x->t.ndim - 1; d >= 0; d--)
        if (dims >> d & 1) list[listed++] = d;
    return OK(op_reduce_over((int)what, queue, &x->t, list, (size_t)listed, correction, &y->t)) &&
           ARRAY_CHECK(y, want, bound) && ARRAY_SAME(x);
}

bool place_case(bool smallest, const array *x, int dim, tdm_dtype indices, layout how) {
    int64_t count, n;
    describe_case(smallest ? "argmin" : "argmax", x, 1u << dim, indices, how);
    array *y = reduced_array(x, 1u << dim, indices, how);
    const double *together = gathered(x, 1u << dim, &count, &n);
    double *want = numbers(count);
    for (int64_t i = 0; i < count; i++)
        want[i] = (double)ref_place(smallest, n, together + i * n, 1);
    return OK(smallest ? tdm_argmin(queue, &x->t, dim, &y->t)
                       : tdm_argmax(queue, &x->t, dim, &y->t)) &&
           ARRAY_CHECK(y, want, NULL) && ARRAY_SAME(x);
}
