/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "reference/encoder.h"

#include <math.h>
#include <stdlib.h>

/* The arrays of one sentence. */
typedef struct room {
    double *q, *k, *v, *context, *y; /* [tokens, hidden] */
    double *wide;                    /* [tokens, intermediate] */
    double *scores;                  /* [tokens] */
} room;

/* y = x · weightᵀ + bias, of [tokens, in] and [tokens, out] */
static void apply(const ref_pair *linear, const double *x, int64_t tokens, int64_t in, int64_t out,
                  double *y) {
    for (int64_t j = 0; j < out; j++)
        for (int64_t t = 0; t < tokens; t++) {
            double sum = linear->bias[j];
            for (int64_t i = 0; i < in; i++)
                sum += x[t * in + i] * linear->weight[j * in + i];
            y[t * out + j] = sum;
        }
}

static void norm_rows(const ref_pair *norm, double epsilon, int64_t rows, int64_t cols, double *x) {
    for (int64_t t = 0; t < rows; t++, x += cols) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < cols; i++)
            mean += x[i] / (double)cols;
        for (int64_t i = 0; i < cols; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)cols;
        for (int64_t i = 0; i < cols; i++)
            x[i] = (x[i] - mean) / sqrt(variance + epsilon) * norm->weight[i] + norm->bias[i];
    }
}

/* x = norm(x + y) */
static void add_and_norm(const ref_encoder *e, const ref_pair *norm, int64_t tokens,
                         const double *y, double *x) {
    for (int64_t i = 0; i < tokens * e->hidden; i++)
        x[i] += y[i];
    norm_rows(norm, e->epsilon, tokens, e->hidden, x);
}

/* One query of one head, from that column on: its context. */
static void attend(const ref_encoder *e, const room *r, int64_t tokens, int64_t query,
                   int64_t column) {
    const int64_t hidden = e->hidden, width = hidden / e->heads;
    const double *const q = r->q + query * hidden + column;
    double *const context = r->context + query * hidden + column;
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < tokens; t++) {
        r->scores[t] = 0;
        for (int64_t i = 0; i < width; i++)
            r->scores[t] += q[i] * r->k[t * hidden + column + i] / sqrt((double)width);
        most = fmax(most, r->scores[t]);
    }
    for (int64_t t = 0; t < tokens; t++)
        sum += r->scores[t] = exp(r->scores[t] - most);
    for (int64_t i = 0; i < width; i++) {
        context[i] = 0;
        for (int64_t t = 0; t < tokens; t++)
            context[i] += r->scores[t] / sum * r->v[t * hidden + column + i];
    }
}

static void run_layer(const ref_encoder *e, const ref_pair *part, int64_t tokens, const room *r,
                      double *x) {
    const int64_t hidden = e->hidden, wide = e->intermediate;
    apply(&part[REF_QUERY], x, tokens, hidden, hidden, r->q);
    apply(&part[REF_KEY], x, tokens, hidden, hidden, r->k);
    apply(&part[REF_VALUE], x, tokens, hidden, hidden, r->v);
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t at = 0; at < hidden; at += hidden / e->heads)
            attend(e, r, tokens, t, at);
    apply(&part[REF_ATTENDED], r->context, tokens, hidden, hidden, r->y);
    add_and_norm(e, &part[REF_ATTENDED_NORM], tokens, r->y, x);
    apply(&part[REF_UP], x, tokens, hidden, wide, r->wide);
    for (int64_t i = 0; i < tokens * wide; i++)
        r->wide[i] *= 0.5 * (1 + erf(r->wide[i] / sqrt(2)));
    apply(&part[REF_DOWN], r->wide, tokens, wide, hidden, r->y);
    add_and_norm(e, &part[REF_DOWN_NORM], tokens, r->y, x);
}

bool ref_encode(const ref_encoder *e, int64_t tokens, double *x, double *embedding) {
    const int64_t hidden = e->hidden, count = tokens * hidden;
    double *const block =
        malloc((size_t)(5 * count + tokens * (e->intermediate + 1)) * sizeof *block);
    if (!block) return false;
    const room r = {.q = block,
                    .k = block + count,
                    .v = block + 2 * count,
                    .context = block + 3 * count,
                    .y = block + 4 * count,
                    .wide = block + 5 * count,
                    .scores = block + 5 * count + tokens * e->intermediate};
    norm_rows(&e->norm, e->epsilon, tokens, hidden, x);
    for (int64_t i = 0; i < e->layers; i++)
        run_layer(e, e->layer[i], tokens, &r, x);
    free(block);
    double square = 0;
    for (int64_t i = 0; i < hidden; i++) {
        embedding[i] = 0;
        for (int64_t t = 0; t < tokens; t++)
            embedding[i] += x[t * hidden + i];
        square += embedding[i] * embedding[i];
    }
    for (int64_t i = 0; i < hidden; i++)
        embedding[i] /= sqrt(square);
    return true;
}
