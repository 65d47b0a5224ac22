/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* BERT (Devlin et al. 2019) as sentence-transformers uses it (Reimers & Gurevych 2019).
 *
 * A batch has no padding: norms and linear layers see one matrix of all its tokens, and attention gets the places where
 * sentences begin. */
#include "encode.h"

#include <stdlib.h>

#include "common.h"

/* The tensors of a batch. Each is released with the batch, or kept by a graph. */
typedef struct workspace {
    tdm_tensor x, y;    /* [tokens, hidden]: the residual stream, and what is added to it */
    tdm_tensor qkv;     /* [tokens, 3 hidden] */
    tdm_tensor context; /* [tokens, hidden] */
    tdm_tensor wide;    /* [tokens, intermediate] */
} workspace;

static void workspace_deinit(workspace *w) {
    tdm_tensor *const all[] = {&w->x, &w->y, &w->qkv, &w->context, &w->wide};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tdm_tensor_release(all[i]);
}

static tdm_status workspace_init(tdm_queue *queue, const model *m, const batch *b, workspace *w) {
    const config *const c = &m->config;
    const int64_t n = b->tokens;
    TRY(tdm_empty(queue, m->dtype, TDM_SHAPE(n, c->hidden), &w->x));
    TRY(tdm_empty(queue, m->dtype, TDM_SHAPE(n, c->hidden), &w->y));
    TRY(tdm_empty(queue, m->dtype, TDM_SHAPE(n, 3 * c->hidden), &w->qkv));
    TRY(tdm_empty(queue, m->dtype, TDM_SHAPE(n, c->hidden), &w->context));
    return tdm_empty(queue, m->dtype, TDM_SHAPE(n, c->intermediate), &w->wide);
}

/* The heads in a matrix of tokens, from that column on: [heads, tokens, width]. */
static tdm_status heads_of(const tdm_tensor *tokens, const config *c, int64_t column,
                           tdm_tensor *heads) {
    const int64_t width = c->hidden / c->heads, row = tokens->shape[1];
    return tdm_tensor_view(tokens, TDM_SHAPE(c->heads, tokens->shape[0], width),
                           (const int64_t[]){width, row, 1}, column, heads);
}

/* context = softmax(q kᵀ / √width) v, in each head of each sentence (Vaswani et al. 2017). */
static tdm_status attention(tdm_queue *queue, const config *c, const batch *b, workspace *w) {
    tdm_attention_options ragged = TDM_ATTENTION_OPTIONS_DEFAULTS;
    ragged.offsets = &b->offsets;
    tdm_tensor q, k, v, context;
    TRY(heads_of(&w->qkv, c, 0, &q));
    TRY(heads_of(&w->qkv, c, c->hidden, &k));
    TRY(heads_of(&w->qkv, c, 2 * c->hidden, &v));
    TRY(heads_of(&w->context, c, 0, &context));
    return tdm_attention(queue, &ragged, &q, &k, &v, &context);
}

/* y = activation(x · weightᵀ + bias) */
static tdm_status apply(tdm_queue *queue, const linear *l, const tdm_tensor *x,
                        tdm_activation activation, tdm_tensor *y) {
    return tdm_linear(queue, x, &l->weight, &l->bias, activation, y);
}

/* x = norm(x + y) */
static tdm_status add_and_norm(tdm_queue *queue, const model *m, const norm *n, const tdm_tensor *y,
                               tdm_tensor *x) {
    return tdm_layer_norm_residual(queue, y, &n->weight, &n->bias, m->config.epsilon, x, NULL, x);
}

static tdm_status run_layer(tdm_queue *queue, const model *m, const layer *l, const batch *b,
                            workspace *w) {
    TRY(apply(queue, &l->qkv, &w->x, TDM_ACTIVATION_NONE, &w->qkv));
    TRY(attention(queue, &m->config, b, w));
    TRY(apply(queue, &l->attention_out, &w->context, TDM_ACTIVATION_NONE, &w->y));
    TRY(add_and_norm(queue, m, &l->attention_norm, &w->y, &w->x));
    TRY(apply(queue, &l->up, &w->x, TDM_ACTIVATION_GELU, &w->wide));
    TRY(apply(queue, &l->down, &w->wide, TDM_ACTIVATION_NONE, &w->y));
    return add_and_norm(queue, m, &l->output_norm, &w->y, &w->x);
}

/* Each sentence's mean over its tokens, divided by its length as a vector. */
static tdm_status pool(tdm_queue *queue, const model *m, const batch *b, const tdm_tensor *x,
                       tdm_tensor *embeddings) {
    const int64_t hidden = m->config.hidden;
    for (size_t i = 0; i < b->group_count; i++) {
        const group *const g = &b->groups[i];
        const int tokens = 1;
        tdm_tensor from, to;
        TRY(tdm_tensor_view(x, TDM_SHAPE(g->count, g->length, hidden),
                            (const int64_t[]){g->length * hidden, hidden, 1},
                            g->first_token * hidden, &from));
        TRY(tdm_tensor_slice(embeddings, 0, g->first_sentence, g->count, 1, &to));
        TRY(tdm_mean(queue, &from, &tokens, 1, &to));
    }
    return tdm_l2_normalize(queue, embeddings, 1e-12, embeddings);
}

static tdm_status run(tdm_queue *queue, const model *m, const batch *b, workspace *w,
                      tdm_tensor *embeddings) {
    TRY(workspace_init(queue, m, b, w));
    TRY(tdm_gather_rows(queue, &m->words, &b->ids, &w->x));
    TRY(tdm_gather_rows(queue, &m->positions, &b->positions, &w->y));
    TRY(add_and_norm(queue, m, &m->embedding_norm, &w->y, &w->x));
    for (int64_t i = 0; i < m->config.layers; i++)
        TRY(run_layer(queue, m, &m->layers[i], b, w));
    return pool(queue, m, b, &w->x, embeddings);
}

tdm_status encode_batch(tdm_queue *queue, const model *m, const batch *b, tdm_tensor *embeddings) {
    workspace w = {0};
    const tdm_status status = run(queue, m, b, &w, embeddings);
    workspace_deinit(&w);
    return status;
}
