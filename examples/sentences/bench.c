/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How long a batch takes. */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "program.h"

/* Sentences of 8 to 32 tokens, of 648 in all. */
enum { RAGGED = 32 };
static const int ragged_lengths[RAGGED] = {8,  9,  10, 11, 12, 13, 14, 15, 15, 16, 17,
                                           18, 18, 19, 20, 20, 21, 22, 22, 23, 23, 24,
                                           24, 25, 26, 26, 27, 28, 29, 30, 31, 32};

static const struct row {
    int sentences, tokens; /* tokens 0: ragged */
} rows[] = {{1, 16},  {1, 32},  {1, 128},  {8, 16},    {8, 32},
            {8, 128}, {32, 32}, {32, 128}, {RAGGED, 0}};

/* Made-up sentences, in order of length. */
static bool make_lists(const struct row *row, int64_t vocabulary, token_lists *lists) {
    const size_t count = (size_t)row->sentences;
    lists->count = count;
    lists->starts = calloc(count + 1, sizeof *lists->starts);
    if (!lists->starts) return fail("out of memory");
    for (size_t i = 0; i < count; i++)
        lists->starts[i + 1] =
            lists->starts[i] + (size_t)(row->tokens ? row->tokens : ragged_lengths[i]);
    lists->ids = calloc(lists->starts[count], sizeof *lists->ids);
    if (!lists->ids) return fail("out of memory");
    for (size_t i = 0; i < lists->starts[count]; i++)
        lists->ids[i] = (int32_t)((1000 + 7919 * i) % (size_t)vocabulary);
    return true;
}

static int compare(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The median of about a third of a second; with a graph its replays. */
static tdm_status measure(session *s, const batch *b, tdm_graph *graph, tdm_tensor *embeddings,
                          double *seconds) {
    enum { MOST = 101, LEAST = 5 };
    double times[MOST];
    int count = -2; /* two runs to warm up */
    for (double end = seconds_now() + 0.3; count < LEAST || (count < MOST && seconds_now() < end);
         count++) {
        const double start = seconds_now();
        TRY(graph ? tdm_graph_replay(graph) : encode_batch(s->queue, &s->model, b, embeddings));
        TRY(tdm_queue_finish(s->queue));
        if (count >= 0) times[count] = seconds_now() - start;
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    *seconds = times[count / 2];
    return TDM_OK;
}

static tdm_status measure_both(session *s, const batch *b, double *by_calls, double *by_graph) {
    tdm_tensor embeddings;
    tdm_graph *graph = NULL;
    const int64_t hidden = s->config.hidden;
    TRY(tdm_empty(s->queue, TDM_F32, TDM_SHAPE(b->sentences, hidden), &embeddings));
    tdm_status status = measure(s, b, NULL, &embeddings, by_calls);
    if (status == TDM_OK) status = tdm_graph_create(s->queue, &graph);
    if (status == TDM_OK) status = tdm_graph_begin(graph);
    if (status == TDM_OK) status = encode_batch(s->queue, &s->model, b, &embeddings);
    if (status == TDM_OK) status = tdm_graph_end(graph);
    if (status == TDM_OK) status = measure(s, b, graph, &embeddings, by_graph);
    tdm_graph_destroy(graph);
    tdm_tensor_release(&embeddings);
    return status;
}

static bool run_row(session *s, const struct row *row) {
    token_lists lists = {0};
    size_t order[RAGGED];
    double by_calls = 0, by_graph = 0;
    bool good = make_lists(row, s->config.vocabulary, &lists);
    for (size_t i = 0; i < (size_t)row->sentences; i++)
        order[i] = i;
    if (good) {
        batch b;
        good = ok(batch_init(s->queue, &lists, order, lists.count, &b));
        if (good) {
            good = ok(measure_both(s, &b, &by_calls, &by_graph));
            batch_deinit(&b);
        }
    }
    char name[32];
    snprintf(name, sizeof name, row->tokens ? "%dx%d" : "%dx%d ragged", row->sentences,
             row->tokens ? row->tokens : ragged_lengths[RAGGED - 1]);
    if (good)
        printf("%-14s %7zu %10.2f %10.2f %12.0f\n", name, lists.starts[lists.count], 1e3 * by_calls,
               1e3 * by_graph, (double)lists.starts[lists.count] / by_graph);
    fflush(stdout);
    free(lists.starts);
    free(lists.ids);
    return good;
}

bool run_bench(const options *o, session *s) {
    printf("%s on %s, %s weights\n", tdm_dtype_name(o->dtype), tdm_device_get_info(s->device)->id,
           o->folder ? "the model's" : "random");
    printf("%-14s %7s %10s %10s %12s\n", "batch", "tokens", "ms", "ms, graph", "tokens/s");
    bool good = true;
    for (size_t i = 0; good && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].tokens <= s->config.most_tokens) good = run_row(s, &rows[i]);
    return good;
}
