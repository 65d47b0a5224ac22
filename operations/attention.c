/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_attention: y = softmax(scale · q·kᵀ) · v of each head, over the keys that a query attends. */
#include <math.h>

#include "operations/formulas.h"
#include "reference/bounds.h"

/* The keys of query `row` of a batch: where they begin, and how many there are. */
static int64_t keys_of(const ref_attention *a, int64_t batch, int64_t row, int64_t *first) {
    int64_t keys = a->keys, last = row + a->keys - a->queries; /* the last one of a causal query */
    *first = 0;
    if (a->lengths && a->lengths[batch] < keys) keys = a->lengths[batch];
    if (a->offsets) {
        int64_t s = 0;
        while (s < a->sequences && !(a->offsets[s] <= row && row < a->offsets[s + 1]))
            s++;
        if (s == a->sequences) return 0;
        *first = a->offsets[s];
        keys = a->offsets[s + 1] - *first;
        last = row - *first;
    }
    if (a->causal && keys > last + 1) keys = last + 1;
    return keys < 0 ? 0 : keys;
}

/* A query's scores, -Inf for keys that are not attended, and what is rounded on the way to each; the largest. */
static double score(const ref_attention *a, const double *q, const double *k, const double *mask,
                    int64_t keys, double *scores, double *sizes) {
    double most = -(double)INFINITY;
    for (int64_t j = 0; j < keys; j++) {
        long double sum = 0.0L;
        double size = 0.0;
        for (int64_t d = 0; d < a->head_size; d++) {
            sum += (long double)q[d] * (long double)k[j * a->head_size + d];
            size += fabs(q[d] * k[j * a->head_size + d]);
        }
        scores[j] = mask && mask[j] == 0.0 ? -(double)INFINITY : (double)(sum * a->scale);
        sizes[j] = size * fabs(a->scale);
        if (isnan(scores[j]) || scores[j] > most) most = scores[j];
        if (isnan(most)) return most;
    }
    return most;
}

/* From the scores, in whose place come the weights. */
static void weigh(const ref_attention *a, const double *v, int64_t keys, double most,
                  double *scores, const double *sizes, double *errors, double *result,
                  double *bound) {
    const double eps = compute_eps(a->dtype);
    long double total = 0.0L;
    for (int64_t j = 0; j < keys; j++) {
        const double far = fmin(most - scores[j], 800.0);
        errors[j] = (0.5 * (double)a->head_size + 4.0) * sizes[j] + far + 0.5 * (double)keys + 8.0;
        if (scores[j] > -(double)INFINITY) total += expl((long double)scores[j] - most);
    }
    for (int64_t j = 0; j < keys; j++) /* -1: it does not count */
        scores[j] = scores[j] == -(double)INFINITY
                        ? -1.0
                        : (double)(expl((long double)scores[j] - most) / total);
    for (int64_t c = 0; c < a->value_size; c++) {
        long double sum = 0.0L;
        double error = 0.0, all = 0.0;
        for (int64_t j = 0; j < keys; j++) {
            const double x = v[j * a->value_size + c];
            if (scores[j] == -1.0) continue;
            sum += (long double)scores[j] * x;
            all += fabs(x);
        }
        for (int64_t j = 0; j < keys; j++)
            if (scores[j] != -1.0)
                error +=
                    scores[j] * (fabs(v[j * a->value_size + c]) + fabs((double)sum)) * errors[j];
        result[c] = isfinite(most) ? (double)sum : (double)NAN;
        error = eps * error +
                (eps > 1e-10 ? 0x1p-126 : 0x1p-1022) * all; /* weights below the normal numbers */
        bound[c] = stored(a->dtype, result[c], isfinite(error) ? error : 0.0);
    }
}

void ref_attend(const ref_attention *a, double *scratch, double *result, double *bound) {
    for (int64_t i = 0; i < a->batch * a->heads * a->queries; i++) {
        const int64_t matrix = i / a->queries, row = i % a->queries, batch = matrix / a->heads;
        const int64_t of_keys = batch * (a->heads / a->shared) + matrix % a->heads / a->shared;
        int64_t first;
        const int64_t keys = keys_of(a, batch, row, &first), at = of_keys * a->keys + first;
        double *const scores = scratch, *const sizes = scores + a->keys;
        double *const errors = sizes + a->keys;
        const double most =
            score(a, a->q + i * a->head_size, a->k + at * a->head_size,
                  a->mask ? a->mask + i * a->keys + first : NULL, keys, scores, sizes);
        double *const y = result + i * a->value_size, *const error = bound + i * a->value_size;
        if (most > -(double)INFINITY || isnan(most)) {
            weigh(a, a->v + at * a->value_size, keys, most, scores, sizes, errors, y, error);
            continue;
        }
        for (int64_t c = 0; c < a->value_size; c++)
            y[c] = error[c] = 0.0;
    }
}
