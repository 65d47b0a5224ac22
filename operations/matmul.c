/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_matmul: C = activation(alpha · op(A) · op(B) + beta · C + bias). */
#include <math.h>

#include "operations/formulas.h"
#include "reference/bounds.h"

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
            const bool active = g->activation != TDM_ACTIVATION_NONE;
            double error = fmin(0.5 * (double)(g->k + 2), 16.0) * eps * magnitude +
                           lost_products(g->dtype, g->k) * fmax(fabs(g->alpha), 1.0);
            if (g->bias || active) {
                error += 2.0 * eps * (fabs(product) + fabs((double)y));
                /* a 16-bit C may have been rounded once before: in f16 with the bias, in bf16 with or without it */
                const bool with_bias = g->dtype == TDM_F16 && g->beta == 0.0;
                const double of_product = with_bias ? 0.0 : half_ulp(g->dtype, product);
                const double of_sum = active ? half_ulp(g->dtype, (double)y) : 0.0;
                if (eps != dtype_eps(g->dtype)) error += fmax(of_product, of_sum);
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
