/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* encoder: sentences to embeddings, by examples/sentences with random weights of all-MiniLM-L6-v2's shape, recorded
 * once and replayed; SENTENCES x TOKENS. Of "encoder+ragged" the shortest has a quarter of the tokens, and nothing is
 * padded. Compared with the same calls one by one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/encoder_reference.h"
#include "cases/task.h"
#include "examples/sentences/encode.h"
#include "reference/values.h"

typedef struct encoder {
    tdm_queue *queue;
    tdm_graph *graph;
    token_lists lists;
    model model;
    batch batch;
    tdm_tensor embeddings;
    double *want; /* the embeddings of the first sentence and of the last */
} encoder;

/* Sentences that get longer, and their tokens. peers_encoder.py has the same. */
static bool make_lists(const bench_shape *shape, bool ragged, token_lists *lists) {
    const int64_t count = shape->extent[0], most = shape->extent[1];
    const int64_t least = ragged ? (most + 3) / 4 : most, rest = count - 1;
    lists->count = (size_t)count;
    lists->starts = calloc((size_t)count + 1, sizeof *lists->starts);
    lists->ids = calloc((size_t)(count * most), sizeof *lists->ids);
    if (!lists->starts || !lists->ids) return false;
    for (int64_t i = 0; i < count; i++) {
        const int64_t more = rest ? ((most - least) * i + 3 * rest / 4) / rest : most - least;
        lists->starts[i + 1] = lists->starts[i] + (size_t)(least + more);
    }
    for (size_t t = 0; t < lists->starts[count]; t++)
        lists->ids[t] = (int32_t)((1000 + 7919 * t) % (size_t)config_minilm().vocabulary);
    return true;
}

/* Random weights, rounded to the dtype, and what float64 makes of two sentences with them. */
static bool make_model(bench_task_run *run) {
    encoder *const e = run->state;
    const token_lists *const lists = &e->lists;
    const tdm_dtype dtype = run->c->dtype;
    const config c = config_minilm();
    tdm_state_dict *dict;
    if (model_randomize(e->queue, &c, run->seed, &dict) != TDM_OK)
        return bench_task_failed(run, "weights");
    bool good = tdm_state_dict_cast(e->queue, dtype, dict) == TDM_OK &&
                model_init(e->queue, dict, "encoder", &c, dtype, &e->model) &&
                tdm_state_dict_cast(e->queue, TDM_F32, dict) == TDM_OK;
    for (size_t i = 0; i < 2 && good; i++) {
        const size_t *const start = lists->starts + i * (lists->count - 1);
        good = encoder_reference(e->queue, dict, &c, lists->ids + start[0], start[1] - start[0],
                                 e->want + i * (size_t)c.hidden) == TDM_OK;
    }
    tdm_state_dict_destroy(dict);
    return good ? true : bench_task_failed(run, "weights");
}

static bool make_batch(bench_task_run *run) {
    encoder *const e = run->state;
    const size_t count = e->lists.count;
    size_t *const order = calloc(count, sizeof *order);
    if (!order) return bench_row_fail(run->row, "inputs", "out of memory");
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    tdm_status status = batch_init(e->queue, &e->lists, order, count, &e->batch);
    free(order);
    if (status == TDM_OK)
        status = tdm_full(e->queue, (double)NAN, TDM_F32,
                          TDM_SHAPE(e->batch.sentences, e->model.config.hidden), &e->embeddings);
    return status == TDM_OK ? true : bench_task_failed(run, "inputs");
}

static tdm_status encode_sentences(encoder *e) {
    return encode_batch(e->queue, &e->model, &e->batch, &e->embeddings);
}

static bool record(encoder *e) {
    return tdm_graph_create(e->queue, &e->graph) == TDM_OK && tdm_graph_begin(e->graph) == TDM_OK &&
           encode_sentences(e) == TDM_OK && tdm_graph_end(e->graph) == TDM_OK;
}

static bool call_one_by_one(void *state, unsigned set) {
    encoder *const e = state;
    (void)set;
    return encode_sentences(e) == TDM_OK && tdm_queue_finish(e->queue) == TDM_OK;
}

static bool prepare_lengths(bench_task_run *run, bool ragged) {
    encoder *const e = run->state;
    const bench_shape *const shape = &run->c->shape;
    const config c = config_minilm();
    e->queue = run->on->queue;
    if (shape->extents != 2 || shape->extent[1] > c.positions)
        return bench_row_fail(run->row, "shape", "encoder wants SENTENCESxTOKENS");
    e->want = calloc(2 * (size_t)c.hidden, sizeof *e->want);
    if (!e->want || !make_lists(shape, ragged, &e->lists))
        return bench_row_fail(run->row, "inputs", "out of memory");
    if (!make_model(run) || !make_batch(run)) return false;
    if (!record(e)) return bench_task_failed(run, "recording");
    const double hidden = (double)c.hidden, inner = (double)c.intermediate;
    for (int64_t s = 0; s < e->batch.sentences; s++) {
        const double length = (double)(e->lists.starts[s + 1] - e->lists.starts[s]);
        run->row->flops +=
            (double)c.layers * hidden * length * (8.0 * hidden + 4.0 * inner + 4.0 * length);
    }
    run->baseline = (bench_baseline){.state = e, .call = call_one_by_one};
    snprintf(run->baseline.name, sizeof run->baseline.name, "the calls one by one");
    snprintf(run->row->note, sizeof run->row->note, "%lld tokens", (long long)e->batch.tokens);
    return true;
}

static bool prepare_equal(bench_task_run *run) { return prepare_lengths(run, false); }
static bool prepare_ragged(bench_task_run *run) { return prepare_lengths(run, true); }

static tdm_status call(bench_task_run *run) {
    encoder *const e = run->state;
    const tdm_status status = tdm_graph_replay(e->graph);
    return status == TDM_OK ? tdm_queue_finish(e->queue) : status;
}

/* How far an embedding is from what it should be, as vectors; from 0 where that is NULL. */
static double distance(const float *got, const double *want, int64_t hidden) {
    double square = 0.0;
    for (int64_t i = 0; i < hidden; i++) {
        const double error = (double)got[i] - (want ? want[i] : 0.0);
        square += error * error;
    }
    return sqrt(square);
}

/* All embeddings have the length 1; the first and the last are compared. A layer rounds eight results. */
static void check(bench_task_run *run, bench_verdict *verdict) {
    encoder *const e = run->state;
    const int64_t hidden = e->model.config.hidden, last = e->batch.sentences - 1;
    float *const got = malloc((size_t)((last + 1) * hidden) * sizeof *got);
    verdict->error_bound = 8.0 * (double)e->model.config.layers * half_ulp(run->c->dtype, 1.0);
    verdict->verified = got && tdm_to_host(e->queue, &e->embeddings, got) == TDM_OK;
    if (!verdict->verified)
        snprintf(verdict->problem, sizeof verdict->problem, "it cannot be read back");
    for (int64_t s = 0; s <= last && verdict->verified; s++) {
        const float *const row = got + s * hidden;
        double error = fabs(distance(row, NULL, hidden) - 1.0);
        if (s == 0) error = distance(row, e->want, hidden);
        if (s == last) error = fmax(error, distance(row, e->want + hidden, hidden));
        if (error > verdict->max_error) verdict->max_error = error;
        if (error <= verdict->error_bound) continue;
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem,
                 "sentence %lld is %.2g from its embedding, by more than %.2g", (long long)s, error,
                 verdict->error_bound);
    }
    free(got);
}

static void destroy(bench_task_run *run) {
    encoder *const e = run->state;
    tdm_graph_destroy(e->graph);
    tdm_tensor_release(&e->embeddings);
    batch_deinit(&e->batch);
    model_deinit(&e->model);
    free(e->lists.starts);
    free(e->lists.ids);
    free(e->want);
}

const bench_task bench_task_encoder = {false, sizeof(encoder), prepare_equal, call, check, destroy};
const bench_task bench_task_encoder_ragged = {false, sizeof(encoder), prepare_ragged,
                                              call,  check,           destroy};
