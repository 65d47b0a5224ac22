/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

static void *or_abort(void *memory) {
    if (!memory) abort();
    return memory;
}

static double *zeros(int64_t count) { return or_abort(calloc((size_t)count, sizeof(double))); }

/* The tensor of a name of printf's, as doubles; the caller frees them. */
static double *get(tdm_queue *queue, const tdm_state_dict *dict, const char *format, ...) {
    char name[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    tdm_tensor x;
    if (!ok(tdm_state_dict_get(dict, name, &x))) abort();
    const int64_t count = tdm_tensor_get_count(&x);
    float *const values = or_abort(malloc((size_t)count * sizeof *values));
    if (!ok(tdm_to_host(queue, &x, values))) abort();
    double *const doubles = zeros(count);
    for (int64_t i = 0; i < count; i++)
        doubles[i] = (double)values[i];
    free(values);
    return doubles;
}

typedef struct source {
    tdm_queue *queue;
    const tdm_state_dict *dict;
    int64_t layer, tokens;
} source;

/* [tokens, in] to [tokens, out], which the caller frees. */
static double *linear_of(const source *s, const char *name, const double *x, int64_t in,
                         int64_t out) {
    double *const weight =
        get(s->queue, s->dict, "encoder.layer.%lld.%s.weight", (long long)s->layer, name);
    double *const bias =
        get(s->queue, s->dict, "encoder.layer.%lld.%s.bias", (long long)s->layer, name);
    double *const y = zeros(s->tokens * out);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t j = 0; j < out; j++) {
            double sum = bias[j];
            for (int64_t i = 0; i < in; i++)
                sum += x[t * in + i] * weight[j * in + i];
            y[t * out + j] = sum;
        }
    free(weight);
    free(bias);
    return y;
}

static void norm_rows(double *x, int64_t rows, int64_t cols, double epsilon, const double *weight,
                      const double *bias) {
    for (int64_t t = 0; t < rows; t++, x += cols) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < cols; i++)
            mean += x[i] / (double)cols;
        for (int64_t i = 0; i < cols; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)cols;
        for (int64_t i = 0; i < cols; i++)
            x[i] = (x[i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i];
    }
}

/* x = norm(x + y); frees y */
static void add_and_norm(const source *s, const config *c, const char *name, double *x, double *y) {
    double *const weight =
        get(s->queue, s->dict, "encoder.layer.%lld.%s.weight", (long long)s->layer, name);
    double *const bias =
        get(s->queue, s->dict, "encoder.layer.%lld.%s.bias", (long long)s->layer, name);
    for (int64_t i = 0; i < s->tokens * c->hidden; i++)
        x[i] += y[i];
    norm_rows(x, s->tokens, c->hidden, c->epsilon, weight, bias);
    free(y);
    free(weight);
    free(bias);
}

/* One query of one head: its context. */
static void attend(const double *query, const double *keys, const double *values, int64_t tokens,
                   int64_t width, int64_t stride, double *context) {
    double *const scores = zeros(tokens);
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < tokens; t++) {
        for (int64_t i = 0; i < width; i++)
            scores[t] += query[i] * keys[t * stride + i] / sqrt((double)width);
        most = fmax(most, scores[t]);
    }
    for (int64_t t = 0; t < tokens; t++)
        sum += scores[t] = exp(scores[t] - most);
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < width; i++)
            context[i] += scores[t] / sum * values[t * stride + i];
    free(scores);
}

static double *attention_of(const source *s, const config *c, const double *x) {
    const int64_t hidden = c->hidden, width = hidden / c->heads;
    double *const q = linear_of(s, "attention.self.query", x, hidden, hidden);
    double *const k = linear_of(s, "attention.self.key", x, hidden, hidden);
    double *const v = linear_of(s, "attention.self.value", x, hidden, hidden);
    double *const context = zeros(s->tokens * hidden);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t at = 0; at < hidden; at += width)
            attend(q + t * hidden + at, k + at, v + at, s->tokens, width, hidden,
                   context + t * hidden + at);
    double *const y = linear_of(s, "attention.output.dense", context, hidden, hidden);
    free(q);
    free(k);
    free(v);
    free(context);
    return y;
}

static double *embed(const source *s, const config *c, const int32_t *ids) {
    double *const words = get(s->queue, s->dict, "embeddings.word_embeddings.weight");
    double *const positions = get(s->queue, s->dict, "embeddings.position_embeddings.weight");
    double *const types = get(s->queue, s->dict, "embeddings.token_type_embeddings.weight");
    double *const weight = get(s->queue, s->dict, "embeddings.LayerNorm.weight");
    double *const bias = get(s->queue, s->dict, "embeddings.LayerNorm.bias");
    const int64_t hidden = c->hidden;
    double *const x = zeros(s->tokens * hidden);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t i = 0; i < hidden; i++)
            x[t * hidden + i] = words[ids[t] * hidden + i] + positions[t * hidden + i] + types[i];
    norm_rows(x, s->tokens, hidden, c->epsilon, weight, bias);
    free(words);
    free(positions);
    free(types);
    free(weight);
    free(bias);
    return x;
}

void reference_encode(tdm_queue *queue, const tdm_state_dict *dict, const config *c,
                      const int32_t *ids, int64_t tokens, double *embedding) {
    source s = {queue, dict, 0, tokens};
    double *const x = embed(&s, c, ids);
    for (; s.layer < c->layers; s.layer++) {
        add_and_norm(&s, c, "attention.output.LayerNorm", x, attention_of(&s, c, x));
        double *const wide = linear_of(&s, "intermediate.dense", x, c->hidden, c->intermediate);
        for (int64_t i = 0; i < tokens * c->intermediate; i++)
            wide[i] *= 0.5 * (1 + erf(wide[i] / sqrt(2)));
        add_and_norm(&s, c, "output.LayerNorm", x,
                     linear_of(&s, "output.dense", wide, c->intermediate, c->hidden));
        free(wide);
    }
    double square = 0;
    for (int64_t i = 0; i < c->hidden; i++) {
        embedding[i] = 0;
        for (int64_t t = 0; t < tokens; t++)
            embedding[i] += x[t * c->hidden + i];
        square += embedding[i] * embedding[i];
    }
    for (int64_t i = 0; i < c->hidden; i++)
        embedding[i] /= sqrt(square);
    free(x);
}
