/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Many sentences in batches of similar length. */
#include <stdlib.h>

#include "common.h"
#include "encode.h"

/* A batch ends with the sentence that would go over one of these: rows for any device to be busy with. */
enum { MOST_TOKENS = 4096, MOST_SENTENCES = 256 };

static int64_t length_of(const token_lists *lists, size_t sentence) {
    return (int64_t)(lists->starts[sentence + 1] - lists->starts[sentence]);
}

static tdm_status upload(tdm_queue *queue, const token_lists *lists, const size_t *order,
                         int32_t *host, batch *b) {
    const int64_t n = b->tokens;
    int32_t *const offsets = host + 2 * n;
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < b->sentences; i++) {
        for (size_t j = lists->starts[order[i]]; j < lists->starts[order[i] + 1]; j++, at++) {
            host[at] = lists->ids[j];
            host[n + at] = (int32_t)(j - lists->starts[order[i]]);
        }
        offsets[i + 1] = (int32_t)at;
    }
    TRY(tdm_from_host(queue, host, TDM_I32, TDM_SHAPE(n), &b->ids));
    TRY(tdm_from_host(queue, host + n, TDM_I32, TDM_SHAPE(n), &b->positions));
    return tdm_from_host(queue, offsets, TDM_I32, TDM_SHAPE(b->sentences + 1), &b->offsets);
}

tdm_status batch_init(tdm_queue *queue, const token_lists *lists, const size_t *order, size_t count,
                      batch *b) {
    *b = (batch){.sentences = (int64_t)count};
    b->groups = malloc(count * sizeof *b->groups);
    for (size_t i = 0; b->groups && i < count; i++) {
        const int64_t length = length_of(lists, order[i]);
        if (b->group_count == 0 || b->groups[b->group_count - 1].length != length)
            b->groups[b->group_count++] = (group){0, length, (int64_t)i, b->tokens};
        b->groups[b->group_count - 1].count++;
        b->tokens += length;
    }
    int32_t *const host = malloc((2 * (size_t)b->tokens + count + 1) * sizeof *host);
    const tdm_status status =
        b->groups && host ? upload(queue, lists, order, host, b) : TDM_ERROR_OUT_OF_MEMORY;
    free(host);
    if (status != TDM_OK) batch_deinit(b);
    return status;
}

void batch_deinit(batch *b) {
    tdm_tensor_release(&b->ids);
    tdm_tensor_release(&b->positions);
    tdm_tensor_release(&b->offsets);
    free(b->groups);
    *b = (batch){0};
}

/* A sentence and its length, to be sorted: of equal ones the earlier first. */
typedef struct ranked {
    int64_t length;
    size_t sentence;
} ranked;

static int compare(const void *left, const void *right) {
    const ranked *const a = left, *const b = right;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return a->sentence < b->sentence ? -1 : a->sentence > b->sentence;
}

/* order: the sentences from the shortest on; rank[i]: where sentence i is in it. */
static bool sort(const token_lists *lists, size_t *order, int64_t *rank) {
    ranked *const list = malloc(lists->count * sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < lists->count; i++)
        list[i] = (ranked){length_of(lists, i), i};
    qsort(list, lists->count, sizeof *list, compare);
    for (size_t i = 0; i < lists->count; i++) {
        order[i] = list[i].sentence;
        rank[order[i]] = (int64_t)i;
    }
    free(list);
    return true;
}

/* sorted[i]: the embedding of the sentence order[i]. */
static tdm_status encode_sorted(tdm_queue *queue, const model *m, const token_lists *lists,
                                const size_t *order, encode_progress progress, tdm_tensor *sorted) {
    for (size_t first = 0, count; first < lists->count; first += count) {
        int64_t tokens = 0;
        for (count = 0; first + count < lists->count && count < MOST_SENTENCES; count++) {
            tokens += length_of(lists, order[first + count]);
            if (count > 0 && tokens > MOST_TOKENS) break;
        }
        batch b;
        tdm_tensor part;
        TRY(tdm_tensor_slice(sorted, 0, (int64_t)first, (int64_t)count, 1, &part));
        TRY(batch_init(queue, lists, order + first, count, &b));
        const tdm_status status = encode_batch(queue, m, &b, &part);
        batch_deinit(&b);
        TRY(status);
        if (progress) progress(first + count, lists->count);
    }
    return TDM_OK;
}

static tdm_status encode_in_order(tdm_queue *queue, const model *m, const token_lists *lists,
                                  size_t *order, int64_t *rank, encode_progress progress,
                                  tdm_tensor *embeddings) {
    const int64_t count = (int64_t)lists->count;
    tdm_tensor sorted = {0}, indices = {0};
    tdm_status status = tdm_empty(queue, TDM_F32, TDM_SHAPE(count, m->config.hidden), &sorted);
    if (status == TDM_OK) status = encode_sorted(queue, m, lists, order, progress, &sorted);
    if (status == TDM_OK) status = tdm_from_host(queue, rank, TDM_I64, TDM_SHAPE(count), &indices);
    if (status == TDM_OK) status = tdm_empty(queue, TDM_F32, 2, sorted.shape, embeddings);
    if (status == TDM_OK) status = tdm_gather_rows(queue, &sorted, &indices, embeddings);
    tdm_tensor_release(&sorted);
    tdm_tensor_release(&indices);
    return status;
}

tdm_status encode_all(tdm_queue *queue, const model *m, const token_lists *lists,
                      encode_progress progress, tdm_tensor *embeddings) {
    *embeddings = (tdm_tensor){0};
    size_t *const order = malloc(lists->count * sizeof *order);
    int64_t *const rank = malloc(lists->count * sizeof *rank);
    tdm_status status = TDM_ERROR_OUT_OF_MEMORY;
    if (order && rank && sort(lists, order, rank))
        status = encode_in_order(queue, m, lists, order, rank, progress, embeddings);
    free(order);
    free(rank);
    if (status != TDM_OK) tdm_tensor_release(embeddings);
    return status;
}
