/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* encoder: sentences to embeddings by an encoder of all-MiniLM-L6-v2's shape with random weights, recorded once and
 * replayed; SENTENCES x TOKENS. Of "encoder+ragged" the shortest has a quarter of the tokens, and nothing is padded.
 * Compared with the same calls one by one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/task.h"
#include "machine/machine.h"
#include "reference/encoder.h"
#include "reference/random.h"
#include "reference/values.h"

enum { HIDDEN = 384, HEADS = 12, INNER = 1536, LAYERS = 6, VOCABULARY = 30522, POSITIONS = 512 };
static const double epsilon = 1e-12;

/* Weight and bias. */
typedef struct pair {
    tdm_tensor tensor[2];
    double *number[2]; /* the same on the host, until the references are there */
} pair;

enum { QKV, ATTENDED, ATTENDED_NORM, UP, DOWN, DOWN_NORM, PAIRS };
static const struct {
    int64_t out, in; /* in is 0 of a norm */
} extents[PAIRS] = {{3 * HIDDEN, HIDDEN}, {HIDDEN, HIDDEN}, {HIDDEN, 0},
                    {INNER, HIDDEN},      {HIDDEN, INNER},  {HIDDEN, 0}};

/* What a batch is computed from and in; X is the residual stream, and Y what is added to it. */
enum { IDS, PLACES, OFFSETS, X, Y, PROJECTED, CONTEXT, WIDE, EMBEDDINGS, TENSORS };

typedef struct encoder {
    tdm_queue *queue;
    tdm_graph *graph;
    int64_t sentences, tokens;
    int32_t *start; /* where each begins, and the number of tokens */
    uint64_t seed;
    pair tables; /* of words and of places */
    pair norm, layer[LAYERS][PAIRS];
    tdm_tensor tensor[TENSORS];
    double want[2][HIDDEN]; /* the embeddings of the first sentence and of the last */
} encoder;

static tdm_status apply(encoder *e, const pair *p, int x, tdm_activation activation, int y) {
    tdm_tensor *const t = e->tensor;
    return tdm_linear(e->queue, &t[x], &p->tensor[0], &p->tensor[1], activation, &t[y]);
}

static tdm_status add_and_norm(encoder *e, const pair *p) {
    tdm_tensor *const t = e->tensor;
    return tdm_layer_norm_residual(e->queue, &t[Y], &p->tensor[0], &p->tensor[1], epsilon, &t[X],
                                   NULL, &t[X]);
}

/* The heads in rows of `width` columns, from column `first` on. */
static tdm_tensor heads_of(const encoder *e, int which, int64_t width, int64_t first) {
    tdm_tensor heads = e->tensor[which];
    heads.ndim = 3;
    heads.shape[0] = HEADS;
    heads.shape[1] = e->tokens;
    heads.shape[2] = heads.strides[0] = HIDDEN / HEADS;
    heads.strides[1] = width;
    heads.strides[2] = 1;
    heads.offset += first;
    return heads;
}

static tdm_status attend(encoder *e) {
    tdm_attention_options ragged = TDM_ATTENTION_OPTIONS_DEFAULTS;
    const tdm_tensor q = heads_of(e, PROJECTED, 3 * HIDDEN, 0),
                     k = heads_of(e, PROJECTED, 3 * HIDDEN, HIDDEN),
                     v = heads_of(e, PROJECTED, 3 * HIDDEN, 2 * HIDDEN);
    tdm_tensor context = heads_of(e, CONTEXT, HIDDEN, 0);
    ragged.offsets = &e->tensor[OFFSETS];
    return tdm_attention(e->queue, &ragged, &q, &k, &v, &context);
}

static tdm_status run_layer(encoder *e, const pair *p) {
    tdm_status status = apply(e, &p[QKV], X, TDM_ACTIVATION_NONE, PROJECTED);
    if (status == TDM_OK) status = attend(e);
    if (status == TDM_OK) status = apply(e, &p[ATTENDED], CONTEXT, TDM_ACTIVATION_NONE, Y);
    if (status == TDM_OK) status = add_and_norm(e, &p[ATTENDED_NORM]);
    if (status == TDM_OK) status = apply(e, &p[UP], X, TDM_ACTIVATION_GELU, WIDE);
    if (status == TDM_OK) status = apply(e, &p[DOWN], WIDE, TDM_ACTIVATION_NONE, Y);
    return status == TDM_OK ? add_and_norm(e, &p[DOWN_NORM]) : status;
}

/* The mean of each sentence, by one call for neighbours of one length, divided by its length as a vector. */
static tdm_status pool(encoder *e) {
    tdm_tensor *const y = &e->tensor[EMBEDDINGS];
    const int32_t *const start = e->start;
    tdm_status status = TDM_OK;
    for (int64_t first = 0, last; first < e->sentences && status == TDM_OK; first = last) {
        const int64_t length = start[first + 1] - start[first], row = HIDDEN;
        const int dim = 1;
        for (last = first + 1; last < e->sentences && start[last + 1] - start[last] == length;)
            last++;
        tdm_tensor from, to;
        status =
            tdm_tensor_view(&e->tensor[X], TDM_SHAPE(last - first, length, HIDDEN),
                            (const int64_t[]){length * row, row, 1}, start[first] * row, &from);
        if (status == TDM_OK) status = tdm_tensor_slice(y, 0, first, last - first, 1, &to);
        if (status == TDM_OK) status = tdm_mean(e->queue, &from, &dim, 1, &to);
    }
    return status == TDM_OK ? tdm_l2_normalize(e->queue, y, epsilon, y) : status;
}

static tdm_status run_encoder(encoder *e) {
    tdm_tensor *const t = e->tensor;
    tdm_status status = tdm_gather_rows(e->queue, &e->tables.tensor[0], &t[IDS], &t[X]);
    if (status == TDM_OK)
        status = tdm_gather_rows(e->queue, &e->tables.tensor[1], &t[PLACES], &t[Y]);
    if (status == TDM_OK) status = add_and_norm(e, &e->norm);
    for (int i = 0; i < LAYERS && status == TDM_OK; i++)
        status = run_layer(e, e->layer[i]);
    return status == TDM_OK ? pool(e) : status;
}

/* Random numbers around `middle`. */
static bool make_weight(bench_task_run *run, pair *p, int which, int64_t rows, int64_t cols,
                        double middle, double reach) {
    encoder *e = run->state;
    const tdm_dtype dtype = run->c->dtype;
    const int64_t count = rows * cols;
    const size_t size = (size_t)count * tdm_dtype_size(dtype);
    tdm_tensor *const tensor = &p->tensor[which];
    void *const data = bench_alloc(size);
    p->number[which] = malloc((size_t)count * sizeof(double));
    const bool made = data && p->number[which] &&
                      random_fill(e->seed++, dtype, count, middle - reach, middle + reach, data);
    tdm_status status = TDM_OK;
    if (made) {
        decode_run(dtype, data, (ptrdiff_t)tdm_dtype_size(dtype), count, p->number[which]);
        status = rows > 1 ? tdm_from_host(e->queue, data, dtype, TDM_SHAPE(rows, cols), tensor)
                          : tdm_from_host(e->queue, data, dtype, TDM_SHAPE(cols), tensor);
    }
    bench_free(data, size);
    if (!made) return bench_row_fail(run->row, "weights", "out of memory");
    return status == TDM_OK ? true : bench_task_failed(run, "weights");
}

/* Weights with which numbers stay near 1 and attention is not even. */
static bool make_pair(bench_task_run *run, pair *p, int64_t out, int64_t in) {
    const encoder *e = run->state;
    tdm_tensor plain, packed;
    if (!make_weight(run, p, 0, in ? out : 1, in ? in : out, in ? 0.0 : 1.0, in ? 0.1 : 0.2) ||
        !make_weight(run, p, 1, 1, out, 0.0, 0.2))
        return false;
    if (!in) return true;
    plain = p->tensor[0];
    if (tdm_pack_weight(e->queue, &plain, &packed) != TDM_OK)
        return bench_task_failed(run, "packing");
    p->tensor[0] = packed;
    tdm_tensor_release(&plain);
    return true;
}

static bool make_weights(bench_task_run *run) {
    encoder *e = run->state;
    bool good = make_weight(run, &e->tables, 0, VOCABULARY, HIDDEN, 0.0, 1.7) &&
                make_weight(run, &e->tables, 1, POSITIONS, HIDDEN, 0.0, 0.7) &&
                make_pair(run, &e->norm, HIDDEN, 0);
    for (int i = 0; i < LAYERS * PAIRS && good; i++)
        good = make_pair(run, &e->layer[i / PAIRS][i % PAIRS], extents[i % PAIRS].out,
                         extents[i % PAIRS].in);
    return good;
}

static int32_t id_of(int64_t token) { return (int32_t)((1000 + 7919 * token) % VOCABULARY); }

/* Where sentences begin. peers_encoder.py has the same. */
static bool set_lengths(encoder *e, const bench_shape *shape, bool ragged) {
    const int64_t most = shape->extent[1], least = ragged ? (most + 3) / 4 : most;
    e->sentences = shape->extent[0];
    e->start = calloc((size_t)e->sentences + 1, sizeof *e->start);
    for (int64_t i = 0, rest = e->sentences - 1; e->start && i < e->sentences; i++)
        e->start[i + 1] =
            e->start[i] +
            (int32_t)(rest ? least + ((most - least) * i + 3 * rest / 4) / rest : most);
    if (e->start) e->tokens = e->start[e->sentences];
    return e->start;
}

static tdm_status upload(encoder *e, int32_t *numbers) {
    const int64_t n = e->tokens;
    for (int64_t s = 0; s < e->sentences; s++)
        for (int32_t t = e->start[s]; t < e->start[s + 1]; t++) {
            numbers[t] = id_of(t);
            numbers[n + t] = t - e->start[s];
        }
    tdm_tensor *const t = e->tensor;
    tdm_status status = tdm_from_host(e->queue, numbers, TDM_I32, TDM_SHAPE(n), &t[IDS]);
    if (status == TDM_OK)
        status = tdm_from_host(e->queue, numbers + n, TDM_I32, TDM_SHAPE(n), &t[PLACES]);
    if (status != TDM_OK) return status;
    return tdm_from_host(e->queue, e->start, TDM_I32, TDM_SHAPE(e->sentences + 1), &t[OFFSETS]);
}

static bool make_batch(bench_task_run *run) {
    static const int64_t widths[] = {HIDDEN, HIDDEN, 3 * HIDDEN, HIDDEN, INNER};
    encoder *e = run->state;
    int32_t *const numbers = calloc(2 * (size_t)e->tokens, sizeof *numbers);
    if (!numbers) return bench_row_fail(run->row, "inputs", "out of memory");
    tdm_status status = upload(e, numbers);
    free(numbers);
    for (int i = X; i <= WIDE && status == TDM_OK; i++)
        status =
            tdm_empty(e->queue, run->c->dtype, TDM_SHAPE(e->tokens, widths[i - X]), &e->tensor[i]);
    if (status == TDM_OK)
        status =
            tdm_empty(e->queue, TDM_F32, TDM_SHAPE(e->sentences, HIDDEN), &e->tensor[EMBEDDINGS]);
    if (status == TDM_OK) status = tdm_fill(e->queue, (double)NAN, &e->tensor[EMBEDDINGS]);
    return status == TDM_OK ? true : bench_task_failed(run, "inputs");
}

static ref_pair numbers_of(const pair *p) { return (ref_pair){p->number[0], p->number[1]}; }

static void refer_layer(const pair *layer, ref_pair *to) {
    static const int part_of[] = {[ATTENDED] = REF_ATTENDED,
                                  [ATTENDED_NORM] = REF_ATTENDED_NORM,
                                  [UP] = REF_UP,
                                  [DOWN] = REF_DOWN,
                                  [DOWN_NORM] = REF_DOWN_NORM};
    for (int i = 0; i < 3; i++)
        to[REF_QUERY + i] = (ref_pair){layer[QKV].number[0] + i * HIDDEN * HIDDEN,
                                       layer[QKV].number[1] + i * HIDDEN};
    for (int i = ATTENDED; i < PAIRS; i++)
        to[part_of[i]] = numbers_of(&layer[i]);
}

static bool refer(const encoder *e, int64_t sentence, double *embedding) {
    ref_pair layers[LAYERS][REF_ENCODER_PARTS];
    const ref_encoder reference = {.layers = LAYERS,
                                   .hidden = HIDDEN,
                                   .heads = HEADS,
                                   .intermediate = INNER,
                                   .epsilon = epsilon,
                                   .norm = numbers_of(&e->norm),
                                   .layer = (const ref_pair(*)[REF_ENCODER_PARTS])layers};
    const int32_t first = e->start[sentence], tokens = e->start[sentence + 1] - first;
    double *const x = malloc((size_t)tokens * HIDDEN * sizeof *x);
    for (int i = 0; i < LAYERS; i++)
        refer_layer(e->layer[i], layers[i]);
    for (int32_t t = 0; x && t < tokens; t++)
        for (int i = 0; i < HIDDEN; i++)
            x[t * HIDDEN + i] = e->tables.number[0][id_of(first + t) * (int64_t)HIDDEN + i] +
                                e->tables.number[1][t * HIDDEN + i];
    const bool good = x && ref_encode(&reference, tokens, x, embedding);
    free(x);
    return good;
}

static void free_numbers(pair *p, int count) {
    for (int i = 0; i < 2 * count; i++) {
        free(p[i / 2].number[i % 2]);
        p[i / 2].number[i % 2] = NULL;
    }
}

static void free_all_numbers(encoder *e) {
    free_numbers(&e->tables, 1);
    free_numbers(&e->norm, 1);
    free_numbers(e->layer[0], LAYERS * PAIRS);
}

static bool record(encoder *e) {
    return tdm_graph_create(e->queue, &e->graph) == TDM_OK && tdm_graph_begin(e->graph) == TDM_OK &&
           run_encoder(e) == TDM_OK && tdm_graph_end(e->graph) == TDM_OK;
}

static bool call_one_by_one(void *state, unsigned set) {
    encoder *e = state;
    (void)set;
    return run_encoder(e) == TDM_OK && tdm_queue_finish(e->queue) == TDM_OK;
}

static bool prepare_lengths(bench_task_run *run, bool ragged) {
    encoder *e = run->state;
    const bench_shape *const shape = &run->c->shape;
    e->queue = run->on->queue;
    e->seed = run->seed;
    if (shape->extents != 2 || shape->extent[1] > POSITIONS)
        return bench_row_fail(run->row, "shape", "encoder wants SENTENCESxTOKENS");
    if (!set_lengths(e, shape, ragged)) return bench_row_fail(run->row, "inputs", "out of memory");
    if (!make_weights(run) || !make_batch(run)) return false;
    for (int i = 0; i < 2; i++)
        if (!refer(e, i * (e->sentences - 1), e->want[i]))
            return bench_row_fail(run->row, "reference", "out of memory");
    free_all_numbers(e);
    if (!record(e)) return bench_task_failed(run, "recording");
    for (int64_t s = 0; s < e->sentences; s++) {
        const double length = e->start[s + 1] - e->start[s];
        run->row->flops += LAYERS * HIDDEN * length * (8.0 * HIDDEN + 4.0 * INNER + 4.0 * length);
    }
    run->baseline = (bench_baseline){.state = e, .call = call_one_by_one};
    snprintf(run->baseline.name, sizeof run->baseline.name, "the calls one by one");
    snprintf(run->row->note, sizeof run->row->note, "%lld tokens", (long long)e->tokens);
    return true;
}

static bool prepare_equal(bench_task_run *run) { return prepare_lengths(run, false); }
static bool prepare_ragged(bench_task_run *run) { return prepare_lengths(run, true); }

static tdm_status call(bench_task_run *run) {
    encoder *e = run->state;
    const tdm_status status = tdm_graph_replay(e->graph);
    return status == TDM_OK ? tdm_queue_finish(e->queue) : status;
}

/* How far an embedding is from what it should be, as vectors. */
static double distance(const float *got, const double *want) {
    double square = 0.0;
    for (int i = 0; i < HIDDEN; i++)
        square += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
    return sqrt(square);
}

/* All embeddings have the length 1; the first and the last are compared. A layer rounds eight results. */
static void check(bench_task_run *run, bench_verdict *verdict) {
    encoder *e = run->state;
    static const double zeros[HIDDEN] = {0};
    const size_t count = (size_t)e->sentences * HIDDEN;
    float *const got = malloc(count * sizeof *got);
    verdict->error_bound = 8.0 * LAYERS * half_ulp(run->c->dtype, 1.0);
    verdict->verified = got && tdm_to_host(e->queue, &e->tensor[EMBEDDINGS], got) == TDM_OK;
    if (!verdict->verified)
        snprintf(verdict->problem, sizeof verdict->problem, "it cannot be read back");
    for (int64_t s = 0; s < e->sentences && verdict->verified; s++) {
        const float *const row = got + s * HIDDEN;
        double error = fabs(distance(row, zeros) - 1.0);
        if (s == 0) error = distance(row, e->want[0]);
        if (s == e->sentences - 1) error = fmax(error, distance(row, e->want[1]));
        if (error > verdict->max_error) verdict->max_error = error;
        if (error <= verdict->error_bound) continue;
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem,
                 "sentence %lld is %.2g from its embedding, by more than %.2g", (long long)s, error,
                 verdict->error_bound);
    }
    free(got);
}

static void release(pair *p, int count) {
    for (int i = 0; i < 2 * count; i++)
        tdm_tensor_release(&p[i / 2].tensor[i % 2]);
}

static void destroy(bench_task_run *run) {
    encoder *e = run->state;
    tdm_graph_destroy(e->graph);
    for (int i = 0; i < TENSORS; i++)
        tdm_tensor_release(&e->tensor[i]);
    release(&e->tables, 1);
    release(&e->norm, 1);
    release(e->layer[0], LAYERS * PAIRS);
    free_all_numbers(e);
    free(e->start);
}

bool bench_case_is_encoder(const bench_case *c) { return c->op->task && c->op->task->call == call; }

const bench_task bench_task_encoder = {false, sizeof(encoder), prepare_equal, call, check, destroy};
const bench_task bench_task_encoder_ragged = {false, sizeof(encoder), prepare_ragged,
                                              call,  check,           destroy};
