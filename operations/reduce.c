/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reductions of reduce.h, of rows, of columns and of all elements, tdm_row_norm and tdm_norm; and its scans. */
#include <math.h>

#include "operations/formulas.h"
#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/sums.h"

enum { X, B, Y };

/* The larger of two, or NaN where one is. */
static double larger(double a, double b) {
    if (isnan(a) || isnan(b)) return (double)NAN;
    return a > b ? a : b;
}

static double variance(tdm_dtype dtype, int64_t n, const double *x, int64_t stride,
                       double correction, double *error) {
    const double eps = compute_eps(dtype);
    long_sum differences = {0}, of_squares = {0};
    *error = 0.0;
    if (n == 0) return (double)NAN;
    for (int64_t i = 0; i < n; i++) /* around the first, so that of equal elements it is exact */
        long_sum_add(&differences, (long double)x[i * stride] - (long double)x[0]);
    const long double mean = long_sum_of(differences) / (long double)n + (long double)x[0];
    for (int64_t i = 0; i < n; i++) {
        const long double d = (long double)x[i * stride] - mean;
        long_sum_add(&of_squares, d * d);
    }
    const long double squares = long_sum_of(of_squares);
    const double y = (double)(squares / ((long double)n - (long double)correction));
    /* differences from the first element are rounded */
    const double deviation = sqrt((double)(squares / (long double)n));
    const double far = fabs((double)((long double)x[0] - mean)) + deviation;
    const double larger_n = (double)n / ((double)n - correction);
    *error = eps * (2.0 * sum_factor(n) * y + 4.0 * larger_n * far * (deviation + eps * far)) +
             lost_products(dtype, n) / ((double)n - correction);
    return y;
}

/* The largest product of adjacent elements that end with this one, or 1. */
static double extended(double largest, double v) { return fmax(1.0, largest * fabs(v)); }

/* The error of a product of n elements in any order. A partial product that is subnormal is rounded by up to half of
 * the smallest subnormal number, and that error is multiplied by the elements before and after it; those on either
 * side have a product of at most `largest`. */
static double product_error(tdm_dtype dtype, int64_t n, double product, double largest) {
    return (double)n * compute_eps(dtype) * fabs(product) +
           lost_products(dtype, n) * largest * largest;
}

double ref_reduce(ref_reduction what, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
                  int64_t stride, double correction, double *bound) {
    const double eps = compute_eps(dtype), infinity = (double)INFINITY;
    long_sum of_x = {0}, of_sizes = {0}, of_squares = {0};
    long double product = 1.0L;
    double most = -infinity, least = infinity, magnitude = 0.0, adjacent = 1.0, largest = 1.0;
    bool any = false, all = true;
    int64_t nonzero = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = x[i * stride];
        long_sum_add(&of_x, (long double)v);
        long_sum_add(&of_sizes, fabsl((long double)v));
        long_sum_add(&of_squares, (long double)v * (long double)v);
        product *= (long double)v;
        adjacent = extended(adjacent, v);
        largest = larger(largest, adjacent);
        most = larger(most, v);
        least = -larger(-least, -v);
        magnitude = larger(magnitude, fabs(v));
        any = any || v != 0.0;
        nonzero += v != 0.0;
        all = all && v != 0.0;
    }
    const long double sum = long_sum_of(of_x), sizes = long_sum_of(of_sizes);
    double y, error = 0.0;
    switch (what) {
    case REF_SUM:
        y = (double)sum;
        error = sum_factor(n) * eps * (double)sizes;
        break;
    case REF_MEAN:
        y = (double)(sum / (long double)n);
        error = eps * (sum_factor(n) * (double)(sizes / (long double)n) + fabs(y));
        break;
    case REF_PRODUCT:
        y = (double)product;
        error = product_error(dtype, n, y, largest);
        break;
    case REF_VARIANCE:
        y = variance(dtype, n, x, stride, correction, &error);
        break;
    case REF_DEVIATION: /* an error larger than the variance may leave its root, or nothing */
        y = sqrt(variance(dtype, n, x, stride, correction, &error));
        error = fmin(y > 0 ? error / y : sqrt(error), sqrt(error)) + 4 * eps * y;
        break;
    case REF_L1:
        y = (double)sizes;
        error = sum_factor(n) * eps * y;
        break;
    case REF_L2:
        y = (double)sqrtl(long_sum_of(of_squares));
        error = sum_factor(n) * eps * y;
        break;
    default:
        *bound = 0.0;
        if (what == REF_COUNT) return (double)nonzero;
        if (what == REF_ANY || what == REF_ALL) return what == REF_ANY ? any : all;
        return what == REF_MAX ? most : what == REF_MIN ? least : magnitude;
    }
    *bound = dtype_is_float(dtype) ? stored(out, y, error) : 0.0;
    return y;
}

int64_t ref_place(bool smallest, int64_t n, const double *x, int64_t stride) {
    int64_t place = 0;
    for (int64_t i = 1; i < n && !isnan(x[place * stride]); i++) {
        const double v = x[i * stride], best = x[place * stride];
        if (isnan(v) || (smallest ? v < best : v > best)) place = i;
    }
    return place;
}

void ref_scan(bool products, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
              int64_t stride, double *y, double *bound) {
    long_sum sum = {0}, sizes = {0};
    long double product = 1.0L;
    double adjacent = 1.0, largest = 1.0;
    for (int64_t i = 0; i < n; i++) {
        long_sum_add(&sum, (long double)x[i * stride]);
        long_sum_add(&sizes, fabsl((long double)x[i * stride]));
        product *= (long double)x[i * stride];
        adjacent = extended(adjacent, x[i * stride]);
        largest = larger(largest, adjacent);
        const double error =
            products ? product_error(dtype, i + 1, (double)product, largest)
                     : compute_eps(dtype) * sum_factor(i + 1) * (double)long_sum_of(sizes);
        y[i * stride] = (double)(products ? product : long_sum_of(sum));
        bound[i * stride] = dtype_is_float(dtype) ? stored(out, y[i * stride], error) : 0.0;
    }
}

double ref_dot(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *a, const double *b,
               double *bound) {
    long_sum sum = {0}, sizes = {0};
    for (int64_t i = 0; i < n; i++) {
        long_sum_add(&sum, (long double)a[i] * (long double)b[i]);
        long_sum_add(&sizes, fabsl((long double)a[i] * (long double)b[i]));
    }
    const double y = (double)long_sum_of(sum);
    const double error = sum_factor(n) * compute_eps(dtype) * (double)long_sum_of(sizes);
    *bound = stored(out, y, error + lost_products(dtype, n));
    return y;
}

/* --- the pages: a variant is one of the formulas, or one of these ----------------------------- */

enum { PLACE = REF_REDUCTIONS, DOT, CUMSUM, CUMPROD };

tdm_status op_reduce_over(int what, tdm_queue *queue, const tdm_tensor *x, const int *dims,
                          size_t count, double correction, tdm_tensor *y) {
    switch (what) {
    case REF_SUM:
        return tdm_sum(queue, x, dims, count, y);
    case REF_MEAN:
        return tdm_mean(queue, x, dims, count, y);
    case REF_PRODUCT:
        return tdm_prod(queue, x, dims, count, y);
    case REF_VARIANCE:
        return tdm_variance(queue, x, dims, count, correction, y);
    case REF_DEVIATION:
        return tdm_standard_deviation(queue, x, dims, count, correction, y);
    case REF_COUNT:
        return tdm_count_nonzero(queue, x, dims, count, y);
    case REF_MAX:
        return tdm_max(queue, x, dims, count, y);
    case REF_MIN:
        return tdm_min(queue, x, dims, count, y);
    case REF_ANY:
        return tdm_any(queue, x, dims, count, y);
    case REF_ALL:
        return tdm_all(queue, x, dims, count, y);
    default:
        return tdm_norm_over(queue, (tdm_norm_kind)(what - REF_L1), x, dims, count, y);
    }
}

static tdm_status call(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    const int dim = c->op->unit == OP_BY_COLUMN ? 0 : c->ndim - 1, what = c->op->variant;
    const int *const dims = c->op->unit == OP_WHOLE ? 0 : &dim;
    if (what == PLACE) return tdm_argmax(queue, t[X], dim, t[Y]);
    if (what == DOT) return tdm_dot(queue, t[X], t[B], t[Y]);
    if (what == CUMPROD) return tdm_cumprod(queue, t[X], dim, t[Y]);
    if (what == CUMSUM) return tdm_cumsum(queue, t[X], dim, t[Y]);
    return op_reduce_over(what, queue, t[X], dims, dims ? 1 : 0, c->number, t[Y]);
}

static tdm_status norm_of_rows(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_row_norm(queue, (tdm_norm_kind)(c->op->variant - REF_L1), t[X], t[Y]);
}

static tdm_status norm_of_all(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    return tdm_norm(queue, (tdm_norm_kind)(c->op->variant - REF_L1), t[X], t[Y]);
}

static void refer(const op_part *p) {
    const op_case *c = p->c;
    const bool columns = c->op->unit == OP_BY_COLUMN;
    const int64_t lines = columns ? p->cols : p->rows, n = columns ? p->rows : p->cols;
    const int64_t step = columns ? p->cols : 1, next = columns ? 1 : p->cols;
    const tdm_dtype out = op_dtype_of(c, Y);
    for (int64_t i = 0; i < lines; i++) {
        const double *x = p->x[X] + i * next;
        if (c->op->variant >= CUMSUM)
            ref_scan(c->op->variant == CUMPROD, c->dtype, out, n, x, step, p->y[Y] + i * next,
                     p->bound[Y] + i * next);
        else if (c->op->variant == PLACE)
            p->y[Y][i] = (double)ref_place(false, n, x, step);
        else if (c->op->variant == DOT)
            p->y[Y][i] = ref_dot(c->dtype, out, n, x, p->x[B], &p->bound[Y][i]);
        else
            p->y[Y][i] = ref_reduce((ref_reduction)c->op->variant, c->dtype, out, n, x, step,
                                    c->number, &p->bound[Y][i]);
    }
}

/* Products of the first stay within every float. */
#define REDUCTION(title, of, what, left, part, type, ...)                                          \
    {                                                                                              \
        .name = title, .function = of, .variant = what,                                            \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = (int)(what) == REF_PRODUCT ? 0.999 : -4,     \
                           .high = (int)(what) == REF_PRODUCT ? 1.001 : 4},                        \
                    [Y] = {(int)(what) == PLACE ? "indices" : "y", OP_OUT, left, .dtype = type}},  \
        .layout = OP_ANY_STRIDES, .unit = part, .call = call, .reference = refer,                  \
        .long_rows = {.reads = (int)(what) != REF_VARIANCE && (int)(what) != REF_DEVIATION},       \
        __VA_ARGS__                                                                                \
    }
#define REDUCTIONS(title, of, what, type, ...)                                                     \
    REDUCTION(title, of, what, OP_ROWS, OP_BY_ROW, type, __VA_ARGS__),                             \
        REDUCTION(title "+columns", of, what, OP_COLS, OP_BY_COLUMN, type, __VA_ARGS__)
#define FLOATS .in_tensor_type = true

static const operation pages[] = {
    REDUCTIONS("sum", "tdm_sum", REF_SUM, OP_SAME, ),
    REDUCTION("sum+whole", "tdm_sum", REF_SUM, OP_ONE, OP_WHOLE, OP_SAME, ),
    REDUCTIONS("mean", "tdm_mean", REF_MEAN, OP_SAME, FLOATS),
    REDUCTIONS("prod", "tdm_prod", REF_PRODUCT, OP_SAME, .is_cold = true),
    REDUCTIONS("variance", "tdm_variance", REF_VARIANCE, OP_SAME, FLOATS, .is_cold = true,
               .number = {"correction", 0, false}, .contents = OP_MEANS),
    REDUCTION("variance+whole", "tdm_variance", REF_VARIANCE, OP_ONE, OP_WHOLE, OP_SAME, FLOATS,
              .is_cold = true, .number = {"correction", 0, false}, .contents = OP_MEANS),
    REDUCTION("standard_deviation", "tdm_standard_deviation", REF_DEVIATION, OP_ROWS, OP_BY_ROW,
              OP_SAME, FLOATS, .is_cold = true, .number = {"correction", 0, false},
              .contents = OP_MEANS),
    REDUCTIONS("max", "tdm_max", REF_MAX, OP_SAME, .of_nothing_fails = true, .takes_f64 = true),
    REDUCTIONS("min", "tdm_min", REF_MIN, OP_SAME, .of_nothing_fails = true, .takes_f64 = true),
    REDUCTIONS("any", "tdm_any", REF_ANY, OP_BOOL, .takes_f64 = true),
    REDUCTIONS("all", "tdm_all", REF_ALL, OP_BOOL, .takes_f64 = true),
    REDUCTIONS("argmax", "tdm_argmax", PLACE, OP_PLACE, .of_nothing_fails = true,
               .takes_f64 = true),
    {.name = "dot",
     .function = "tdm_dot",
     .variant = DOT,
     .operand = {[X] = {"a", OP_IN, OP_ALL, .low = -4, .high = 4},
                 [B] = {"b", OP_IN, OP_ALL, .low = -4, .high = 4},
                 [Y] = {"y", OP_OUT, OP_ONE, .dtype = OP_SAME}},
     .layout = OP_ANY_STRIDES,
     .unit = OP_WHOLE,
     FLOATS,
     .is_cold = true,
     .call = call,
     .reference = refer},
#define SCAN(title, of, what, part)                                                                \
    {                                                                                              \
        .name = title, .function = of, .variant = what,                                            \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = (what) == CUMSUM ? -4 : 0.999,               \
                           .high = (what) == CUMSUM ? 4 : 1.001},                                  \
                    [Y] = {"y", OP_OUT, OP_ALL, .over = OP_BIT(X)}},                               \
        .layout = OP_ANY_STRIDES, .unit = part, .depends_on_batch = true,                          \
        .is_cold = (what) != CUMSUM, .long_rows = {.reads = 2}, .cost = 2, .call = call,           \
        .reference = refer                                                                         \
    }
    SCAN("cumsum", "tdm_cumsum", CUMSUM, OP_BY_ROW),
    SCAN("cumsum+columns", "tdm_cumsum", CUMSUM, OP_BY_COLUMN),
    SCAN("cumprod", "tdm_cumprod", CUMPROD, OP_BY_ROW),
    SCAN("cumprod+columns", "tdm_cumprod", CUMPROD, OP_BY_COLUMN),
};
const op_list op_reduce = OP_LIST(pages);

#define NORM(title, of, what, name_of_y, left, part, type, how)                                    \
    {                                                                                              \
        .name = title, .function = of, .variant = what,                                            \
        .operand = {[X] = {"x", OP_IN, OP_ALL, .low = -2, .high = 2},                              \
                    [Y] = {name_of_y, OP_OUT, left, .dtype = type}},                               \
        .layout = OP_ANY_STRIDES, .unit = part, .contents = OP_SQUARES, FLOATS,                    \
        .is_cold = (what) != REF_L2 || (part) == OP_BY_COLUMN,                                     \
        .long_rows = {.reads = 1, .kept = (what) == REF_INF ? 1 : 3}, .call = how,                 \
        .reference = refer                                                                         \
    }
#define NORMS(title, what)                                                                         \
    NORM(title, "tdm_row_norm", what, "out", OP_ROWS, OP_BY_ROW, OP_WIDE, norm_of_rows),           \
        NORM(title "+whole", "tdm_norm", what, "out", OP_ONE, OP_WHOLE, OP_WIDE, norm_of_all)

static const operation norms[] = {
    NORMS("norm_l1", REF_L1),
    NORMS("norm_l2", REF_L2),
    NORMS("norm_inf", REF_INF),
    NORM("norm_over", "tdm_norm_over", REF_L2, "y", OP_ROWS, OP_BY_ROW, OP_SAME, call),
    NORM("norm_over+columns", "tdm_norm_over", REF_L2, "y", OP_COLS, OP_BY_COLUMN, OP_SAME, call),
};
const op_list op_norm = OP_LIST(norms);
