/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

/* The parts of a layer, each "<name>.weight" and "<name>.bias" of a file: what a linear layer makes of how many
 * numbers, in units of hidden or of intermediate; a norm has neither. */
enum { NONE, HIDDEN, INTERMEDIATE };
static const struct part {
    const char *name;
    int in, out;
} parts[] = {
    {"attention.self.query", HIDDEN, HIDDEN},     {"attention.self.key", HIDDEN, HIDDEN},
    {"attention.self.value", HIDDEN, HIDDEN},     {"attention.output.dense", HIDDEN, HIDDEN},
    {"attention.output.LayerNorm", NONE, HIDDEN}, {"intermediate.dense", HIDDEN, INTERMEDIATE},
    {"output.dense", INTERMEDIATE, HIDDEN},       {"output.LayerNorm", NONE, HIDDEN},
};
enum { QUERY, KEY, VALUE, ATTENTION_OUT, ATTENTION_NORM, UP, DOWN, OUTPUT_NORM, PARTS };

static int64_t extent(const config *c, int of) {
    return of == INTERMEDIATE ? c->intermediate : c->hidden;
}

/* A dict that tensors are taken from, and where what becomes of them goes. */
typedef struct source {
    tdm_queue *queue;
    const tdm_state_dict *dict;
    const char *path;
    const config *config;
    model *model;
} source;

/* The tensor of that name in the file, [rows, cols] or, with no rows, [cols]. */
static bool take(const source *s, const char *name, int64_t rows, int64_t cols, tdm_tensor *x) {
    if (tdm_state_dict_get(s->dict, name, x) != TDM_OK)
        return fail("%s: %s", s->path, tdm_last_error());
    const int64_t shape[] = {rows ? rows : cols, cols};
    const int ndim = rows ? 2 : 1;
    if (tdm_dtype_is_float(x->dtype) && x->ndim == ndim && x->shape[0] == shape[0] &&
        x->shape[ndim - 1] == cols)
        return true;
    return fail("%s: '%s' is not of the shape that config.json says", s->path, name);
}

/* y = x in the model's dtype, which the model's dict owns under that name. */
static tdm_status keep(const source *s, const char *name, const tdm_tensor *x, tdm_tensor *y) {
    *y = tdm_tensor_retain(x);
    tdm_status status = TDM_OK;
    if (x->dtype != s->model->dtype) {
        tdm_tensor_release(y);
        TRY(tdm_empty(s->queue, s->model->dtype, x->ndim, x->shape, y));
        status = tdm_cast(s->queue, x, y);
    }
    if (status == TDM_OK) status = tdm_state_dict_set(s->model->weights, name, y);
    tdm_buffer_freeze(y->buffer);
    tdm_buffer_release(y->buffer); /* the dict's reference stays */
    return status;
}

/* The same of the weight of a linear layer, packed for its products. */
static tdm_status keep_packed(const source *s, const char *name, const tdm_tensor *x,
                              tdm_tensor *y) {
    TRY(keep(s, name, x, y));
    TRY(tdm_pack_weight(s->queue, y, y));
    const tdm_status status = tdm_state_dict_set(s->model->weights, name, y);
    tdm_buffer_release(y->buffer);
    return status;
}

/* Parts of a layer, one after the other in one weight and one bias. */
static bool keep_parts(const source *s, int64_t index, int first, int count, tdm_tensor *weight,
                       tdm_tensor *bias) {
    tdm_tensor found[2][3];
    const tdm_tensor *list[2][3];
    char name[2][128];
    const int64_t out = extent(s->config, parts[first].out);
    const int64_t in = parts[first].in ? extent(s->config, parts[first].in) : 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < 2; j++) {
            snprintf(name[j], sizeof name[j], "encoder.layer.%lld.%s.%s", (long long)index,
                     parts[first + i].name, j == 0 ? "weight" : "bias");
            const bool matrix = j == 0 && in;
            if (!take(s, name[j], matrix ? out : 0, matrix ? in : out, &found[j][i])) return false;
            list[j][i] = &found[j][i];
        }
    tdm_tensor *const kept[] = {weight, bias};
    for (int j = 0; j < 2; j++) {
        tdm_tensor all = tdm_tensor_retain(&found[j][0]);
        tdm_status status = TDM_OK;
        if (count > 1) {
            int64_t shape[2] = {count * out, in};
            tdm_tensor_release(&all);
            status = tdm_empty(s->queue, found[j][0].dtype, found[j][0].ndim, shape, &all);
            if (status == TDM_OK) status = tdm_concat(s->queue, list[j], (size_t)count, 0, &all);
        }
        if (status == TDM_OK)
            status = (j == 0 && in ? keep_packed : keep)(s, name[j], &all, kept[j]);
        tdm_tensor_release(&all);
        if (!ok(status)) return false;
    }
    return true;
}

static bool keep_layer(const source *s, int64_t i, layer *l) {
    return keep_parts(s, i, QUERY, 3, &l->qkv.weight, &l->qkv.bias) &&
           keep_parts(s, i, ATTENTION_OUT, 1, &l->attention_out.weight, &l->attention_out.bias) &&
           keep_parts(s, i, ATTENTION_NORM, 1, &l->attention_norm.weight,
                      &l->attention_norm.bias) &&
           keep_parts(s, i, UP, 1, &l->up.weight, &l->up.bias) &&
           keep_parts(s, i, DOWN, 1, &l->down.weight, &l->down.bias) &&
           keep_parts(s, i, OUTPUT_NORM, 1, &l->output_norm.weight, &l->output_norm.bias);
}

static const char words_name[] = "embeddings.word_embeddings.weight";
static const char positions_name[] = "embeddings.position_embeddings.weight";
static const char types_name[] = "embeddings.token_type_embeddings.weight";
static const char norm_weight_name[] = "embeddings.LayerNorm.weight";
static const char norm_bias_name[] = "embeddings.LayerNorm.bias";
enum { TYPES = 2 };

/* Sentences are of token type 0 alone, whose vector is therefore added to those of the positions. */
static tdm_status keep_positions(const source *s, const tdm_tensor *positions,
                                 const tdm_tensor *types) {
    tdm_tensor type, sum;
    TRY(tdm_tensor_slice(types, 0, 0, 1, 1, &type));
    TRY(tdm_empty(s->queue, positions->dtype, 2, positions->shape, &sum));
    tdm_status status = tdm_add(s->queue, positions, &type, &sum);
    if (status == TDM_OK) status = keep(s, positions_name, &sum, &s->model->positions);
    tdm_tensor_release(&sum);
    return status;
}

static bool keep_embeddings(const source *s) {
    const config *const c = s->config;
    model *const m = s->model;
    tdm_tensor words, positions, types, weight, bias;
    return take(s, words_name, c->vocabulary, c->hidden, &words) &&
           take(s, positions_name, c->positions, c->hidden, &positions) &&
           take(s, types_name, TYPES, c->hidden, &types) &&
           take(s, norm_weight_name, 0, c->hidden, &weight) &&
           take(s, norm_bias_name, 0, c->hidden, &bias) &&
           ok(keep(s, words_name, &words, &m->words)) &&
           ok(keep_positions(s, &positions, &types)) &&
           ok(keep(s, norm_weight_name, &weight, &m->embedding_norm.weight)) &&
           ok(keep(s, norm_bias_name, &bias, &m->embedding_norm.bias));
}

bool model_init(tdm_queue *queue, const tdm_state_dict *dict, const char *path, const config *c,
                tdm_dtype dtype, model *m) {
    const source s = {queue, dict, path, c, m};
    *m = (model){.config = *c, .dtype = dtype};
    m->layers = calloc((size_t)c->layers, sizeof *m->layers);
    bool good = m->layers ? true : fail("out of memory");
    if (good) good = ok(tdm_state_dict_create(&m->weights)) && keep_embeddings(&s);
    for (int64_t i = 0; good && i < c->layers; i++)
        good = keep_layer(&s, i, &m->layers[i]);
    if (!good) model_deinit(m);
    return good;
}

void model_deinit(model *m) {
    tdm_state_dict_destroy(m->weights);
    free(m->layers);
    *m = (model){0};
}

bool model_load(tdm_queue *queue, const char *folder, const config *c, tdm_dtype dtype, model *m) {
    char path[4096];
    tdm_state_dict *dict;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!ok(tdm_load(queue, path, NULL, &dict))) return false;
    const bool good = model_init(queue, dict, path, c, dtype, m);
    tdm_state_dict_destroy(dict); /* the model's references stay */
    return good;
}

static tdm_status add_random(tdm_queue *queue, tdm_generator *generator, const char *name,
                             double mean, double deviation, int64_t rows, int64_t cols,
                             tdm_state_dict *dict) {
    tdm_tensor x;
    const int64_t shape[] = {rows ? rows : cols, cols};
    TRY(tdm_empty(queue, TDM_F32, rows ? 2 : 1, shape, &x));
    tdm_status status = tdm_fill_normal(queue, generator, mean, deviation, &x);
    if (status == TDM_OK) status = tdm_state_dict_set(dict, name, &x);
    tdm_tensor_release(&x);
    return status;
}

/* Weights with which numbers stay near 1 and attention is not even. */
static tdm_status randomize(tdm_queue *queue, const config *c, tdm_generator *g,
                            tdm_state_dict *dict) {
    TRY(add_random(queue, g, words_name, 0, 1, c->vocabulary, c->hidden, dict));
    TRY(add_random(queue, g, positions_name, 0, 0.3, c->positions, c->hidden, dict));
    TRY(add_random(queue, g, types_name, 0, 0.3, TYPES, c->hidden, dict));
    TRY(add_random(queue, g, norm_weight_name, 1, 0.1, 0, c->hidden, dict));
    TRY(add_random(queue, g, norm_bias_name, 0, 0.1, 0, c->hidden, dict));
    for (int64_t i = 0; i < c->layers; i++)
        for (int j = 0; j < PARTS; j++) {
            char name[128];
            const int64_t out = extent(c, parts[j].out);
            const int64_t in = parts[j].in ? extent(c, parts[j].in) : 0;
            const int length =
                snprintf(name, sizeof name, "encoder.layer.%lld.%s.", (long long)i, parts[j].name);
            strcpy(name + length, "weight");
            TRY(add_random(queue, g, name, in ? 0 : 1, in ? 0.06 : 0.1, in ? out : 0, in ? in : out,
                           dict));
            strcpy(name + length, "bias");
            TRY(add_random(queue, g, name, 0, 0.1, 0, out, dict));
        }
    return TDM_OK;
}

tdm_status model_randomize(tdm_queue *queue, const config *c, uint64_t seed,
                           tdm_state_dict **dict) {
    tdm_generator generator = {.seed = seed};
    TRY(tdm_state_dict_create(dict));
    const tdm_status status = randomize(queue, c, &generator, *dict);
    if (status != TDM_OK) {
        tdm_state_dict_destroy(*dict);
        *dict = NULL;
    }
    return status;
}
