/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A BERT encoder's sizes and weights. */
#ifndef SENTENCES_MODEL_H
#define SENTENCES_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tandem.h>

/* The sizes, as config.json names them. */
typedef struct config {
    int64_t hidden;       /* numbers per token */
    int64_t layers;       /* each attention and two linear layers */
    int64_t heads;        /* which divide hidden */
    int64_t intermediate; /* width inside the second half of a layer */
    int64_t vocabulary;   /* tokens */
    int64_t positions;    /* the longest text the weights are for */
    int64_t most_tokens;  /* where texts are cut */
    double epsilon;       /* of the norms */
} config;

typedef struct linear {
    tdm_tensor weight, bias; /* [out, in], [out] */
} linear;

typedef struct norm {
    tdm_tensor weight, bias; /* [hidden] each */
} norm;

typedef struct layer {
    linear qkv; /* query, key and value in one: [3 hidden, hidden] */
    linear attention_out;
    norm attention_norm;
    linear up, down; /* hidden to intermediate and back */
    norm output_norm;
} layer;

typedef struct model {
    config config;
    tdm_dtype dtype;
    tdm_tensor words;     /* [vocabulary, hidden] */
    tdm_tensor positions; /* [positions, hidden], with the vector of token type 0 added */
    norm embedding_norm;
    layer *layers;
    tdm_state_dict *weights; /* owns all of the above */
} model;

/* Reads config.json, and sentence_bert_config.json where there is one, of a folder. */
bool config_read(const char *folder, config *c);

/* all-MiniLM-L6-v2's sizes. */
config config_minilm(void);

/* The weights of model.safetensors in a folder, on the queue's device, converted to f32, f16 or bf16. */
bool model_load(tdm_queue *queue, const char *folder, const config *c, tdm_dtype dtype, model *m);

/* Random weights of those sizes under the names that a file has for them, f32. The caller destroys the dict. */
tdm_status model_randomize(tdm_queue *queue, const config *c, uint64_t seed, tdm_state_dict **dict);

/* The model of a dict's tensors. Of a wrong shape or name `path` is said to be wrong. */
bool model_init(tdm_queue *queue, const tdm_state_dict *dict, const char *path, const config *c,
                tdm_dtype dtype, model *m);

void model_deinit(model *m);

#endif
