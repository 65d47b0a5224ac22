/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The weights of a model of examples/sentences, as the reference in float64 takes them. Its test uses this, too. */
#include "cases/encoder_reference.h"

#include <stdio.h>
#include <stdlib.h>

#include "examples/sentences/common.h"
#include "reference/encoder.h"

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

static tdm_status no_memory(void) { return tdm_fail(TDM_ERROR_OUT_OF_MEMORY, "out of memory"); }

/* The tensor "<part>.<name>" as doubles, which the caller frees. */
static tdm_status get(tdm_queue *queue, const tdm_state_dict *dict, const char *part,
                      const char *name, double **numbers) {
    char whole[128];
    tdm_tensor x;
    snprintf(whole, sizeof whole, "%s.%s", part, name);
    TRY(tdm_state_dict_get(dict, whole, &x));
    const size_t count = (size_t)tdm_tensor_get_count(&x);
    float *const floats = malloc(count * sizeof *floats);
    *numbers = malloc(count * sizeof **numbers);
    const tdm_status status = floats && *numbers ? tdm_to_host(queue, &x, floats) : no_memory();
    for (size_t i = 0; status == TDM_OK && i < count; i++)
        (*numbers)[i] = (double)floats[i];
    free(floats);
    return status;
}

static tdm_status get_pair(tdm_queue *queue, const tdm_state_dict *dict, const char *part,
                           ref_pair *pair) {
    double *weight = NULL, *bias = NULL;
    tdm_status status = get(queue, dict, part, "weight", &weight);
    if (status == TDM_OK) status = get(queue, dict, part, "bias", &bias);
    *pair = (ref_pair){weight, bias};
    return status;
}

static void free_pair(const ref_pair *pair) {
    free((void *)pair->weight);
    free((void *)pair->bias);
}

/* first_norm: that of the embedded tokens. */
static tdm_status get_layers(tdm_queue *queue, const tdm_state_dict *dict, int64_t count,
                             ref_pair (*layers)[REF_ENCODER_PARTS], ref_pair *first_norm) {
    TRY(get_pair(queue, dict, "embeddings.LayerNorm", first_norm));
    for (int64_t i = 0; i < count; i++)
        for (int p = 0; p < REF_ENCODER_PARTS; p++) {
            char part[64];
            snprintf(part, sizeof part, "encoder.layer.%lld.%s", (long long)i, parts[p]);
            TRY(get_pair(queue, dict, part, &layers[i][p]));
        }
    return TDM_OK;
}

/* x, [tokens, hidden]: the sum of what each token, its place and type 0 are embedded as; the caller frees it. */
static tdm_status embed(tdm_queue *queue, const tdm_state_dict *dict, int64_t hidden,
                        const int32_t *ids, size_t tokens, double **x) {
    static const char *const names[] = {"embeddings.word_embeddings",
                                        "embeddings.position_embeddings",
                                        "embeddings.token_type_embeddings"};
    *x = calloc(tokens * (size_t)hidden, sizeof **x);
    tdm_status status = *x ? TDM_OK : no_memory();
    for (int table = 0; table < 3 && status == TDM_OK; table++) {
        double *rows = NULL;
        status = get(queue, dict, names[table], "weight", &rows);
        for (int64_t t = 0; t < (int64_t)tokens && status == TDM_OK; t++) {
            const int64_t row = table == 0 ? ids[t] : table == 1 ? t : 0;
            for (int64_t i = 0; i < hidden; i++)
                (*x)[t * hidden + i] += rows[row * hidden + i];
        }
        free(rows);
    }
    return status;
}

tdm_status encoder_reference(tdm_queue *queue, const tdm_state_dict *dict, const config *c,
                             const int32_t *ids, size_t tokens, double *embedding) {
    ref_pair(*const layers)[REF_ENCODER_PARTS] = calloc((size_t)c->layers, sizeof *layers);
    ref_encoder encoder = {.layers = c->layers,
                           .hidden = c->hidden,
                           .heads = c->heads,
                           .intermediate = c->intermediate,
                           .epsilon = c->epsilon,
                           .layer = (const ref_pair(*)[REF_ENCODER_PARTS])layers};
    double *x = NULL;
    tdm_status status =
        layers ? get_layers(queue, dict, c->layers, layers, &encoder.norm) : no_memory();
    if (status == TDM_OK) status = embed(queue, dict, c->hidden, ids, tokens, &x);
    if (status == TDM_OK && !ref_encode(&encoder, (int64_t)tokens, x, embedding))
        status = no_memory();
    free(x);
    free_pair(&encoder.norm);
    for (int64_t i = 0; layers && i < c->layers * REF_ENCODER_PARTS; i++)
        free_pair(&layers[0][i]);
    free(layers);
    return status;
}
