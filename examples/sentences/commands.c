/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* embed, search and tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "program.h"

static void show_progress(size_t done, size_t count) {
    fprintf(stderr, "\r%zu of %zu sentences%s", done, count, done == count ? "\n" : "");
}

/* The embeddings of a corpus, which the caller releases; long ones with a line of progress on a terminal. */
static bool encode_corpus(session *s, const corpus *c, tdm_tensor *embeddings) {
    enum { LONG = 200 };
    const bool shown = c->count >= LONG && isatty(STDERR_FILENO);
    return ok(
        encode_all(s->queue, &s->model, &c->tokens, shown ? show_progress : NULL, embeddings));
}

static bool read_corpus(const options *o, const session *s, corpus *c) {
    return corpus_read(o->files[0], s->tokenizer, (size_t)s->config.most_tokens, c);
}

static tdm_status save(session *s, const tdm_tensor *embeddings, const char *path) {
    tdm_state_dict *dict;
    TRY(tdm_state_dict_create(&dict));
    tdm_status status = tdm_state_dict_set(dict, "embeddings", embeddings);
    if (status == TDM_OK) status = tdm_save(s->queue, dict, path, NULL);
    tdm_state_dict_destroy(dict);
    return status;
}

static bool print_rows(session *s, const tdm_tensor *x) {
    const int64_t rows = x->shape[0], cols = x->shape[1];
    float *const values = malloc((size_t)(rows * cols) * sizeof *values);
    if (!values) return fail("out of memory");
    const bool good = ok(tdm_to_host(s->queue, x, values));
    for (int64_t i = 0; good && i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            printf("%.7g%c", (double)values[i * cols + j], j + 1 < cols ? ' ' : '\n');
    free(values);
    return good;
}

bool run_embed(const options *o, session *s) {
    corpus c;
    tdm_tensor embeddings = {0};
    if (!read_corpus(o, s, &c)) return false;
    const double start = seconds_now();
    bool good = encode_corpus(s, &c, &embeddings) && ok(tdm_queue_finish(s->queue));
    const double seconds = seconds_now() - start;
    if (good) good = o->out ? ok(save(s, &embeddings, o->out)) : print_rows(s, &embeddings);
    if (good)
        fprintf(stderr, "%zu sentences, %zu tokens: %.2f s on %s\n", c.count,
                c.tokens.starts[c.count], seconds, tdm_device_get_info(s->device)->id);
    tdm_tensor_release(&embeddings);
    corpus_deinit(&c);
    return good;
}

/* The cosines of the angles between one query and all sentences, and of the largest ones where they are. */
static tdm_status find_nearest(session *s, const tdm_tensor *embeddings, const tdm_tensor *query,
                               int64_t count, float *scores, int64_t *indices) {
    tdm_matmul_options transposed = TDM_MATMUL_OPTIONS_DEFAULTS;
    transposed.transpose_b = true;
    tdm_tensor cosines = {0}, best = {0}, where = {0};
    tdm_status status = tdm_empty(s->queue, TDM_F32, TDM_SHAPE(1, embeddings->shape[0]), &cosines);
    if (status == TDM_OK) status = tdm_empty(s->queue, TDM_F32, TDM_SHAPE(1, count), &best);
    if (status == TDM_OK) status = tdm_empty(s->queue, TDM_I64, TDM_SHAPE(1, count), &where);
    if (status == TDM_OK) status = tdm_matmul(s->queue, &transposed, query, embeddings, &cosines);
    if (status == TDM_OK) status = tdm_top_k(s->queue, &cosines, &best, &where);
    if (status == TDM_OK) status = tdm_to_host(s->queue, &best, scores);
    if (status == TDM_OK) status = tdm_to_host(s->queue, &where, indices);
    tdm_tensor_release(&cosines);
    tdm_tensor_release(&best);
    tdm_tensor_release(&where);
    return status;
}

bool run_search(const options *o, session *s) {
    enum { TOP = 5 };
    corpus c = {0}, query = {0};
    tdm_tensor embeddings = {0}, wanted = {0};
    float scores[TOP];
    int64_t lines[TOP];
    bool good = corpus_of(o->files[1], strlen(o->files[1]), "the query", s->tokenizer,
                          (size_t)s->config.most_tokens, &query) &&
                read_corpus(o, s, &c) && encode_corpus(s, &c, &embeddings) &&
                encode_corpus(s, &query, &wanted);
    const int64_t count = c.count < TOP ? (int64_t)c.count : TOP;
    if (good) good = ok(find_nearest(s, &embeddings, &wanted, count, scores, lines));
    for (int64_t i = 0; good && i < count; i++)
        printf("%7.4f  line %lld: %.*s\n", (double)scores[i], (long long)lines[i] + 1,
               (int)c.lines[lines[i]].size, c.lines[lines[i]].text);
    tdm_tensor_release(&embeddings);
    tdm_tensor_release(&wanted);
    corpus_deinit(&c);
    corpus_deinit(&query);
    return good;
}

bool run_tokens(const options *o, session *s) {
    corpus c;
    if (!read_corpus(o, s, &c)) return false;
    for (size_t i = 0; i < c.count; i++)
        for (size_t j = c.tokens.starts[i]; j < c.tokens.starts[i + 1]; j++)
            printf("%d%c", c.tokens.ids[j], j + 1 < c.tokens.starts[i + 1] ? ' ' : '\n');
    corpus_deinit(&c);
    return true;
}
