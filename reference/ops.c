/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* References of the operations and their error bounds. */
#include "reference/ops.h"

#include <math.h>

#include "reference/bounds.h"
#include "reference/values.h"

double ref_activation(tdm_activation activation, double x) {
    long double u = (long double)x;
    switch (activation) {
    case TDM_ACTIVATION_RELU:
        return isnan(x) ? x : (x > 0.0 ? x : 0.0);
    case TDM_ACTIVATION_GELU:
        /* x·Φ(x), with erfc so that the left tail keeps its digits. */
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        return (double)(0.5L * u * erfcl(-u / sqrtl(2.0L)));
    case TDM_ACTIVATION_GELU_TANH:
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        /* 1 + tanh w as 2 / (1 + exp(-2w)), for the left tail. */
        return (double)(u / (1.0L + expl(-2.0L * sqrtl(2.0L / acosl(-1.0L)) *
                                         (u + 0.044715L * u * u * u))));
    case TDM_ACTIVATION_SILU:
        if (isinf(x)) return x > 0.0 ? x : 0.0;
        return (double)(u / (1.0L + expl(-u)));
    case TDM_ACTIVATION_SIGMOID:
        return (double)(1.0L / (1.0L + expl(-u)));
    case TDM_ACTIVATION_TANH:
        return (double)tanhl(u);
    case TDM_ACTIVATION_NONE:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return x;
}

double ref_activation_bound(tdm_activation activation, double x, double dx, double eps) {
    double y = fabs(ref_activation(activation, x));
    switch (activation) {
    case TDM_ACTIVATION_NONE:
    case TDM_ACTIVATION_RELU:
        return dx;
    case TDM_ACTIVATION_GELU:
    case TDM_ACTIVATION_GELU_TANH:
    case TDM_ACTIVATION_SILU:
        /* Slopes are below 1.13; 1 + erf cancels on the left, which costs eps·|x|. */
        return 1.13 * dx + 4.0 * eps * (fabs(x) + y);
    case TDM_ACTIVATION_SIGMOID:
        return 0.25 * dx + 8.0 * eps * y * (1.0 + fmin(fabs(x), 1e4) * (1.0 - y));
    case TDM_ACTIVATION_TANH:
    case TDM_ACTIVATION_COUNT:
        break;
    }
    return dx + 8.0 * eps * y;
}

/* Columns of a product that are summed at the same time. */
enum { COLUMNS = 64 };

static void matmul_columns(const ref_gemm *g, int64_t first, int64_t count, double *result,
                           double *bound) {
    long double sum[COLUMNS];
    double size[COLUMNS];
    double eps = compute_eps(g->dtype);
    bool reads = g->alpha != 0.0;
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < count; j++) {
            sum[j] = 0.0L;
            size[j] = 0.0;
        }
        for (int64_t p = 0; reads && p < g->k; p++) {
            double a = g->transpose_a ? g->a[p * g->m + i] : g->a[i * g->k + p];
            for (int64_t j = 0; j < count; j++) {
                double b =
                    g->transpose_b ? g->b[(first + j) * g->k + p] : g->b[p * g->n + first + j];
                sum[j] += (long double)a * (long double)b;
                size[j] += fabs(a * b);
            }
        }
        for (int64_t j = 0; j < count; j++) {
            int64_t at = i * g->n + first + j;
            long double y = reads ? (long double)g->alpha * sum[j] : 0.0L;
            double magnitude = reads ? fabs(g->alpha) * size[j] : 0.0;
            if (g->beta != 0.0) {
                y += (long double)g->beta * (long double)g->c[at];
                magnitude += fabs(g->beta * g->c[at]);
            }
            double product = (double)y;
            if (g->bias) y += (long double)g->bias[first + j];
            double error = 16.0 * eps * magnitude;
            bool epilogue = g->bias || g->activation != TDM_ACTIVATION_NONE;
            if (epilogue) {
                /* The product may have been stored once before the epilogue read it. */
                error += 2.0 * eps * (fabs(product) + fabs((double)y)) +
                         (eps == dtype_eps(g->dtype) ? 0.0 : half_ulp(g->dtype, product));
            }
            result[at] = ref_activation(g->activation, (double)y);
            error = ref_activation_bound(g->activation, (double)y, error, eps);
            bound[at] = stored(g->dtype, result[at], error);
        }
    }
}

void ref_matmul(const ref_gemm *g, double *result, double *bound) {
    for (int64_t j = 0; j < g->n; j += COLUMNS)
        matmul_columns(g, j, g->n - j < COLUMNS ? g->n - j : COLUMNS, result, bound);
}

void ref_arithmetic(ref_arithmetic_kind kind, tdm_dtype dtype, int64_t count, double alpha,
                    const double *a, const double *b, double *y, double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t i = 0; i < count; i++) {
        double v = kind == REF_SCALE ? 0.0 : b[i];
        if (kind < REF_SCALE) {
            /* One operation, rounded once: exact. Through long double f64 would round twice. */
            long double u = (long double)a[i], w = (long double)v;
            long double r = kind == REF_ADD ? u + w : kind == REF_SUB ? u - w : u * w;
            double r64 = kind == REF_ADD ? a[i] + v : kind == REF_SUB ? a[i] - v : a[i] * v;
            y[i] = dtype == TDM_F64 ? r64 : rounded(dtype, (double)r);
            bound[i] = 0.0;
            continue;
        }
        /* alpha rounds to f32 first, axpy rounds twice. */
        long double scaled = (long double)a[i] * (long double)alpha;
        long double r = scaled + (long double)v;
        double error = 1.5 * eps * (fabs((double)scaled) + fabs(v));
        y[i] = (double)r;
        bound[i] = error + half_ulp(dtype, fabs((double)r) + error);
        if (!(error > 0.0)) { /* NaN is no bound */
            y[i] = rounded(dtype, (double)r);
            bound[i] = 0.0;
        }
    }
}

void ref_bias_add(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, const double *bias,
                  tdm_activation activation, const double *residual, double *y, double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t i = 0; i < rows * cols; i++) {
        double b = bias ? bias[i % cols] : 0.0, r = residual ? residual[i] : 0.0;
        double u = (double)((long double)x[i] + (long double)b);
        double act = ref_activation(activation, u);
        double error = ref_activation_bound(activation, u, eps * fabs(u), eps);
        y[i] = (double)((long double)act + (long double)r);
        bound[i] = stored(dtype, y[i], error + eps * (fabs(act) + fabs(y[i])));
    }
}

double ref_norm(tdm_dtype dtype, tdm_dtype out, tdm_norm_kind kind, int64_t count, const double *x,
                double *bound) {
    long double sum = 0.0L;
    double most = 0.0;
    for (int64_t i = 0; i < count; i++) {
        long double u = fabsl((long double)x[i]);
        if (!(fabs(x[i]) <= most)) most = isnan(most) ? most : fabs(x[i]);
        sum += kind == TDM_NORM_L2 ? u * u : u;
    }
    double y = kind == TDM_NORM_INF ? most : (double)(kind == TDM_NORM_L2 ? sqrtl(sum) : sum);
    double error = kind == TDM_NORM_INF ? 0.0 : sum_factor(count) * compute_eps(dtype) * y;
    *bound = kind == TDM_NORM_INF ? 0.0 : stored(out, y, error);
    return y;
}

void ref_layer_norm(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x,
                    const double *weight, const double *bias, double epsilon, double *y,
                    double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t r = 0; r < rows; r++) {
        const double *row = x + r * cols;
        long double mean = 0.0L, variance = 0.0L;
        double most = 0.0;
        for (int64_t c = 0; c < cols; c++) {
            mean += (long double)row[c];
            most = fmax(most, fabs(row[c]));
        }
        mean /= (long double)cols;
        for (int64_t c = 0; c < cols; c++) {
            long double d = (long double)row[c] - mean;
            variance += d * d;
        }
        variance /= (long double)cols;
        long double deviation = sqrtl(variance + (long double)epsilon);
        for (int64_t c = 0; c < cols; c++) {
            double w = weight ? weight[c] : 1.0, b = bias ? bias[c] : 0.0;
            double unit = (double)(((long double)row[c] - mean) / deviation);
            y[r * cols + c] = unit * w + b;
            /* The mean is right to a few eps of the largest element; the rest is relative. */
            double error = 8.0 * eps * most / (double)deviation * fabs(w) +
                           sum_factor(cols) * eps * fabs(unit * w) + 2.0 * eps * fabs(b);
            bound[r * cols + c] = stored(dtype, y[r * cols + c], error);
        }
    }
}

void ref_residual_sum(tdm_dtype dtype, int64_t count, const double *x, const double *residual,
                      double *sum) {
    for (int64_t i = 0; i < count; i++)
        sum[i] = residual ? rounded(dtype, x[i] + residual[i]) : x[i];
}

void ref_rms_norm(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x,
                  const double *residual, const double *weight, double epsilon, double *sum,
                  double *y, double *bound) {
    double eps = compute_eps(dtype);
    ref_residual_sum(dtype, rows * cols, x, residual, sum);
    for (int64_t r = 0; r < rows; r++) {
        long double squares = 0.0L;
        for (int64_t i = r * cols; i < (r + 1) * cols; i++)
            squares += (long double)sum[i] * (long double)sum[i];
        long double root = sqrtl(squares / (long double)cols + (long double)epsilon);
        for (int64_t c = 0; c < cols; c++) {
            int64_t i = r * cols + c;
            double w = weight ? weight[c] : 1.0;
            y[i] = (double)((long double)sum[i] / root * (long double)w);
            bound[i] = stored(dtype, y[i], sum_factor(cols) * eps * fabs(y[i]));
        }
    }
}

void ref_batch_norm(tdm_dtype dtype, int64_t n, int64_t c, int64_t s, const double *x,
                    const ref_channels *channels, double *y, double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t i = 0; i < n * c * s; i++) {
        int64_t ch = i / s % c;
        double w = channels->weight ? channels->weight[ch] : 1.0;
        double b = channels->bias ? channels->bias[ch] : 0.0;
        double mean = channels->mean[ch];
        double scale = w / sqrt(channels->variance[ch] + channels->epsilon);
        y[i] = (x[i] - mean) * scale + b;
        /* x·scale + shift is a right way to compute it, too. */
        double error = 8.0 * eps * ((fabs(x[i]) + fabs(mean)) * fabs(scale) + fabs(b));
        bound[i] = stored(dtype, y[i], error);
    }
}

void ref_l2_normalize(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, double epsilon,
                      double *y, double *bound) {
    for (int64_t r = 0; r < rows; r++) {
        long double squares = 0.0L;
        for (int64_t i = r * cols; i < (r + 1) * cols; i++)
            squares += (long double)x[i] * (long double)x[i];
        long double norm = sqrtl(squares);
        long double divisor =
            norm > (long double)epsilon || isnan(norm) ? norm : (long double)epsilon;
        for (int64_t i = r * cols; i < (r + 1) * cols; i++) {
            y[i] = (double)((long double)x[i] / divisor);
            bound[i] = stored(dtype, y[i], sum_factor(cols) * compute_eps(dtype) * fabs(y[i]));
        }
    }
}

void ref_softmax(tdm_dtype dtype, int64_t rows, int64_t cols, const double *x, double *y,
                 double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t r = 0; r < rows; r++) {
        const double *row = x + r * cols;
        double most = row[0];
        long double sum = 0.0L;
        for (int64_t c = 1; c < cols; c++) {
            if (isnan(row[c]) || row[c] > most) most = row[c];
            if (isnan(most)) break;
        }
        for (int64_t c = 0; c < cols; c++)
            sum += expl((long double)row[c] - (long double)most);
        for (int64_t c = 0; c < cols; c++) {
            int64_t i = r * cols + c;
            y[i] = (double)(expl((long double)row[c] - (long double)most) / sum);
            double error = eps * (sum_factor(cols) + fmin(fabs(row[c] - most), 800.0)) * y[i];
            bound[i] = stored(dtype, y[i], isfinite(error) ? error : 0.0);
        }
    }
}

/* How many columns of a row count. */
static int64_t counted(int64_t row, int64_t cols, int64_t causal_rows) {
    if (causal_rows == 0) return cols;
    int64_t n = row % causal_rows + 1 + cols - causal_rows;
    return n < 0 ? 0 : n;
}

void ref_softmax_scaled(tdm_dtype dtype, int64_t rows, int64_t cols, double scale, const double *x,
                        const double *mask, int64_t causal_rows, double *y, double *bound) {
    double eps = compute_eps(dtype);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t n = counted(r, cols, causal_rows), first = r * cols;
        long double most = -(long double)INFINITY, sum = 0.0L, size = 0.0L;
        for (int64_t i = first; i < first + n; i++) {
            const long double product = (long double)x[i] * scale, m = mask ? mask[i] : 0.0;
            if (isnan(product + m) || product + m > most) most = product + m;
            if (isnan(most)) break;
            if (isfinite(m)) size = fmaxl(size, fabsl(product) + fabsl(m));
        }
        for (int64_t i = first; i < first + n; i++)
            sum += expl((long double)x[i] * scale + (mask ? mask[i] : 0.0) - most);
        for (int64_t i = first; i < first + cols; i++) {
            const long double score = (long double)x[i] * scale + (mask ? mask[i] : 0.0);
            y[i] = i - first < n ? (double)(expl(score - most) / sum) : isnan(sum) ? NAN : 0.0;
            if (n == 0) y[i] = NAN;
            const double far = fmin((double)fabsl(score - most), 800.0);
            const double error = eps * (sum_factor(cols) + far + 4.0 * (double)size) * y[i];
            bound[i] = stored(dtype, y[i], isfinite(error) ? error : 0.0);
        }
    }
}
