/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The encoder: tokens to embeddings. */
#ifndef SENTENCES_ENCODE_H
#define SENTENCES_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* Sentences as tokens: those of number i are ids[starts[i]] to ids[starts[i + 1] - 1]. */
typedef struct token_lists {
    size_t count;
    size_t *starts; /* count + 1 */
    int32_t *ids;
} token_lists;

/* Sentences of one length, adjacent in a batch. */
typedef struct group {
    int64_t count, length;
    int64_t first_sentence, first_token; /* in the batch */
} group;

/* Sentences that are encoded at once: their tokens one after the other, without padding. */
typedef struct batch {
    int64_t sentences, tokens;
    tdm_tensor ids, positions; /* [tokens], i32; position: which token of its sentence */
    tdm_tensor offsets; /* [sentences + 1], i32: where each begins, and the number of tokens */
    size_t group_count;
    group *groups;
} batch;

/* The batch of the sentences order[0] to order[count - 1], which are sorted by length; at least one. */
tdm_status batch_init(tdm_queue *queue, const token_lists *lists, const size_t *order, size_t count,
                      batch *b);
void batch_deinit(batch *b);

/* embeddings, f32 [sentences, hidden]: the mean of the last layer's tokens, of length 1. Waits for nothing, so that
 * it can be recorded in a graph. */
tdm_status encode_batch(tdm_queue *queue, const model *m, const batch *b, tdm_tensor *embeddings);

/* How far encode_all is. */
typedef void (*encode_progress)(size_t done, size_t count);

/* All sentences, at least one, in batches of similar length: *embeddings, f32 [count, hidden], in the order of the
 * lists, which the caller releases. progress may be NULL. */
tdm_status encode_all(tdm_queue *queue, const model *m, const token_lists *lists,
                      encode_progress progress, tdm_tensor *embeddings);

#endif
