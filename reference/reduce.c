/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* References of the reductions and their error bounds. */
#include "reference/reduce.h"

#include "reference/bounds.h"

/* The larger of two, or NaN where one is. */
static double larger(double a, double b) {
    if (isnan(a) || isnan(b)) return (double)NAN;
    return a > b ? a : b;
}

static double variance(tdm_dtype dtype, int64_t n, const double *x, int64_t stride,
                       double correction, double *error) {
    const double eps = compute_eps(dtype);
    long double mean = 0.0L, squares = 0.0L;
    for (int64_t i = 0; i < n; i++) /* around the first, so that of equal elements it is exact */
        mean += (long double)x[i * stride] - (long double)x[0];
    mean = mean / (long double)n + (long double)x[0];
    for (int64_t i = 0; i < n; i++) {
        const long double d = (long double)x[i * stride] - mean;
        squares += d * d;
    }
    const double y = (double)(squares / ((long double)n - (long double)correction));
    /* differences from the first element are rounded */
    const double deviation = sqrt((double)(squares / (long double)n));
    const double far = fabs((double)((long double)x[0] - mean)) + deviation;
    const double larger_n = (double)n / ((double)n - correction);
    *error = eps * (2.0 * sum_factor(n) * y + 4.0 * larger_n * far * (deviation + eps * far));
    return y;
}

double ref_reduce(ref_reduction what, tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x,
                  int64_t stride, double correction, double *bound) {
    const double eps = compute_eps(dtype), infinity = (double)INFINITY;
    long double sum = 0.0L, sizes = 0.0L, squares = 0.0L, product = 1.0L;
    double most = -infinity, least = infinity, magnitude = 0.0;
    bool any = false, all = true;
    for (int64_t i = 0; i < n; i++) {
        const double v = x[i * stride];
        sum += (long double)v;
        sizes += fabsl((long double)v);
        squares += (long double)v * (long double)v;
        product *= (long double)v;
        most = larger(most, v);
        least = -larger(-least, -v);
        magnitude = larger(magnitude, fabs(v));
        any = any || v != 0.0;
        all = all && v != 0.0;
    }
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
        error = (double)n * eps * fabs(y);
        break;
    case REF_VARIANCE:
        y = variance(dtype, n, x, stride, correction, &error);
        break;
    case REF_L1:
        y = (double)sizes;
        error = sum_factor(n) * eps * y;
        break;
    case REF_L2:
        y = (double)sqrtl(squares);
        error = sum_factor(n) * eps * y;
        break;
    default:
        *bound = 0.0;
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

void ref_cumsum(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *x, int64_t stride,
                double *y, double *bound) {
    long double sum = 0.0L, sizes = 0.0L;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)x[i * stride];
        sizes += fabsl((long double)x[i * stride]);
        const double error = sum_factor(i + 1) * compute_eps(dtype) * (double)sizes;
        y[i * stride] = (double)sum;
        bound[i * stride] = dtype_is_float(dtype) ? stored(out, y[i * stride], error) : 0.0;
    }
}

double ref_dot(tdm_dtype dtype, tdm_dtype out, int64_t n, const double *a, const double *b,
               double *bound) {
    long double sum = 0.0L, sizes = 0.0L;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)a[i] * (long double)b[i];
        sizes += fabsl((long double)a[i] * (long double)b[i]);
    }
    *bound = stored(out, (double)sum, sum_factor(n) * compute_eps(dtype) * (double)sizes);
    return (double)sum;
}
