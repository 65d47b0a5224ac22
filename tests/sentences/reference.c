/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The weights of a file, as the reference in float64 takes them. */
#include "reference.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "reference/encoder.h"

enum { MOST_LAYERS = 8 };
static const char *const parts[REF_ENCODER_PARTS] = {
    [REF_QUERY] = "attention.self.query",
    [REF_KEY] = "attention.self.key",
    [REF_VALUE] = "attention.self.value",
    [REF_ATTENDED] = "attention.output.dense",
    [REF_ATTENDED_NORM] = "attention.output.LayerNorm",
    [REF_UP] = "intermediate.dense",
    [REF_DOWN] = "output.dense",
    [REF_DOWN_NORM] = "output.LayerNorm",
};

static void *or_abort(void *memory) {
    if (!memory) abort();
    return memory;
}

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
    double *const doubles = or_abort(malloc((size_t)count * sizeof *doubles));
    for (int64_t i = 0; i < count; i++)
        doubles[i] = (double)values[i];
    free(values);
    return doubles;
}

static void free_pair(const ref_pair *pair) {
    free((void *)pair->weight);
    free((void *)pair->bias);
}

/* [tokens, hidden]; the caller frees it. */
static double *embed(tdm_queue *queue, const tdm_state_dict *dict, int64_t hidden,
                     const int32_t *ids, int64_t tokens) {
    double *const words = get(queue, dict, "embeddings.word_embeddings.weight");
    double *const positions = get(queue, dict, "embeddings.position_embeddings.weight");
    double *const types = get(queue, dict, "embeddings.token_type_embeddings.weight");
    double *const x = or_abort(malloc((size_t)(tokens * hidden) * sizeof *x));
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t i = 0; i < hidden; i++)
            x[t * hidden + i] = words[ids[t] * hidden + i] + positions[t * hidden + i] + types[i];
    free(words);
    free(positions);
    free(types);
    return x;
}

void reference_encode(tdm_queue *queue, const tdm_state_dict *dict, const config *c,
                      const int32_t *ids, int64_t tokens, double *embedding) {
    ref_pair layers[MOST_LAYERS][REF_ENCODER_PARTS];
    const ref_encoder encoder = {.layers = c->layers,
                                 .hidden = c->hidden,
                                 .heads = c->heads,
                                 .intermediate = c->intermediate,
                                 .epsilon = c->epsilon,
                                 .norm = {get(queue, dict, "embeddings.LayerNorm.weight"),
                                          get(queue, dict, "embeddings.LayerNorm.bias")},
                                 .layer = (const ref_pair(*)[REF_ENCODER_PARTS])layers};
    if (c->layers > MOST_LAYERS) abort();
    for (int64_t i = 0; i < c->layers; i++)
        for (int p = 0; p < REF_ENCODER_PARTS; p++) {
            const char *const part = parts[p];
            layers[i][p] =
                (ref_pair){get(queue, dict, "encoder.layer.%lld.%s.weight", (long long)i, part),
                           get(queue, dict, "encoder.layer.%lld.%s.bias", (long long)i, part)};
        }
    double *const x = embed(queue, dict, c->hidden, ids, tokens);
    if (!ref_encode(&encoder, tokens, x, embedding)) abort();
    free(x);
    free_pair(&encoder.norm);
    for (int64_t i = 0; i < c->layers; i++)
        for (int p = 0; p < REF_ENCODER_PARTS; p++)
            free_pair(&layers[i][p]);
}
