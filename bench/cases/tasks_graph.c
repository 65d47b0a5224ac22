/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* graph+nodes: as many fills of one element as the shape says, compared with as many kernels in a graph of the API's.
 * graph: twelve layers of a transformer's smaller operations, recorded once and replayed, compared with the same calls
 * one by one. Each operation has a separate case, which verifies it; here the replay has to leave the calls' bits. */
#include <stdio.h>
#include <string.h>

#include "cases/task.h"
#include "machine/machine.h"

enum { X, WEIGHT, BIAS, HIDDEN, Y, OPERANDS };
enum { LAYERS = 12, OPS = 5 };

typedef struct network network;
struct network {
    tdm_status (*run)(network *n, tdm_tensor *y); /* the recorded calls */
    int64_t nodes;
    tdm_queue *queue;
    tdm_graph *graph;
    tdm_tensor tensor[OPERANDS];
    tdm_tensor replayed; /* Y of the replay */
    size_t bytes;        /* of Y */
};

static tdm_status run_layer(network *n, tdm_tensor *y) {
    tdm_tensor *const t = n->tensor, *const hidden = &t[HIDDEN];
    tdm_queue *const queue = n->queue;
    tdm_status status = tdm_matmul(queue, NULL, &t[X], &t[WEIGHT], hidden);
    if (status == TDM_OK)
        status = tdm_bias_add(queue, hidden, &t[BIAS], TDM_ACTIVATION_GELU, NULL, hidden);
    if (status == TDM_OK) status = tdm_layer_norm(queue, hidden, &t[BIAS], NULL, 1e-5, hidden);
    if (status == TDM_OK) status = tdm_add(queue, hidden, &t[X], hidden);
    return status == TDM_OK ? tdm_softmax(queue, hidden, y) : status;
}

static tdm_status run_layers(network *n, tdm_tensor *y) {
    for (int i = 0; i < LAYERS; i++) {
        const tdm_status status = run_layer(n, y);
        if (status != TDM_OK) return status;
    }
    return TDM_OK;
}

static tdm_status run_nodes(network *n, tdm_tensor *y) {
    for (int64_t i = 0; i < n->nodes; i++) {
        const tdm_status status = tdm_fill(n->queue, 0.375, y);
        if (status != TDM_OK) return status;
    }
    return TDM_OK;
}

/* The baseline of layers. */
static bool call_one_by_one(void *state, unsigned set) {
    network *n = state;
    (void)set;
    return n->run(n, &n->tensor[Y]) == TDM_OK && tdm_queue_finish(n->queue) == TDM_OK;
}

static bool make_tensor(bench_task_run *run, int64_t rows, int64_t cols, uint64_t seed,
                        tdm_tensor *tensor) {
    network *n = run->state;
    const tdm_dtype dtype = run->c->dtype;
    const size_t size = (size_t)(rows * cols) * tdm_dtype_size(dtype);
    void *values = NULL;
    *tensor = rows > 1 ? tdm_tensor_2d(NULL, dtype, rows, cols) : tdm_tensor_1d(NULL, dtype, cols);
    const bool fine = bench_task_random(run, seed, dtype, rows * cols, -1.0, 1.0, &values) &&
                      bench_task_buffer(run, n->queue, size, values, &tensor->buffer);
    bench_free(values);
    return fine;
}

static bool record(network *n) {
    return tdm_graph_create(n->queue, &n->graph) == TDM_OK && tdm_graph_begin(n->graph) == TDM_OK &&
           n->run(n, &n->replayed) == TDM_OK && tdm_graph_end(n->graph) == TDM_OK;
}

static bool prepare_graph(bench_task_run *run) {
    network *n = run->state;
    const int64_t rows = run->c->shape.extent[0], cols = run->c->shape.extent[1];
    const struct {
        int64_t rows, cols;
    } extents[OPERANDS] = {{rows, cols}, {cols, cols}, {1, cols}, {rows, cols}, {rows, cols}};
    n->queue = run->on->queue;
    n->run = run_layers;
    if (rows < 2) return bench_row_fail(run->row, "shape", "graph wants two rows at least");
    for (int i = 0; i < OPERANDS; i++)
        if (!make_tensor(run, extents[i].rows, extents[i].cols, run->seed + (uint64_t)i,
                         &n->tensor[i]))
            return false;
    if (!make_tensor(run, rows, cols, run->seed, &n->replayed)) return false;
    n->bytes = (size_t)(rows * cols) * tdm_dtype_size(run->c->dtype);
    if (!record(n)) return bench_task_failed(run, "recording");
    run->row->flops = 2.0 * (double)rows * (double)cols * (double)cols * LAYERS;
    run->baseline = (bench_baseline){.state = n, .call = call_one_by_one};
    snprintf(run->baseline.name, sizeof run->baseline.name, "%d calls", LAYERS * OPS);
    snprintf(run->row->note, sizeof run->row->note, "%d operations", LAYERS * OPS);
    return true;
}

static bool prepare_nodes(bench_task_run *run) {
    network *n = run->state;
    char why[BENCH_WHY_SIZE] = "";
    n->queue = run->on->queue;
    n->run = run_nodes;
    n->nodes = run->c->shape.extent[0];
    if (!make_tensor(run, 1, 1, run->seed, &n->tensor[Y]) ||
        !make_tensor(run, 1, 1, run->seed, &n->replayed))
        return false;
    n->bytes = tdm_dtype_size(run->c->dtype);
    if (!record(n)) return bench_task_failed(run, "recording");
    run->row->bytes = (double)n->bytes * (double)n->nodes;
    snprintf(run->row->note, sizeof run->row->note, "%lld operations", (long long)n->nodes);
    const bench_request request = {.kind = BENCH_BASELINE_GRAPH,
                                   .device = run->row->device,
                                   .dtype = run->c->dtype,
                                   .shape = run->c->shape,
                                   .operands = 1,
                                   .bytes = {n->bytes},
                                   .bytes_out = n->bytes,
                                   .sets = 1};
    if (!bench_baseline_create(&request, &run->baseline, why))
        snprintf(run->row->problem, sizeof run->row->problem, "no baseline: %s", why);
    return true;
}

static tdm_status call_graph(bench_task_run *run) {
    network *n = run->state;
    const tdm_status status = tdm_graph_replay(n->graph);
    return status == TDM_OK ? tdm_queue_finish(n->queue) : status;
}

static void check_graph(bench_task_run *run, bench_verdict *verdict) {
    network *n = run->state;
    unsigned char *got = bench_alloc(n->bytes), *want = bench_alloc(n->bytes);
    verdict->verified = got && want && call_one_by_one(n, 0) &&
                        tdm_buffer_read(n->queue, n->replayed.buffer, 0, got, n->bytes) == TDM_OK &&
                        tdm_buffer_read(n->queue, n->tensor[Y].buffer, 0, want, n->bytes) == TDM_OK;
    if (!verdict->verified) {
        snprintf(verdict->problem, sizeof verdict->problem, "it cannot be read back");
    } else if (memcmp(got, want, n->bytes) != 0) {
        verdict->verified = false;
        snprintf(verdict->problem, sizeof verdict->problem, "it is not what the calls give");
    }
    bench_free(got);
    bench_free(want);
}

static void destroy_graph(bench_task_run *run) {
    network *n = run->state;
    tdm_graph_destroy(n->graph);
    for (int i = 0; i < OPERANDS; i++)
        tdm_buffer_release(n->tensor[i].buffer);
    tdm_buffer_release(n->replayed.buffer);
}

const bench_task bench_task_graph = {false,      sizeof(network), prepare_graph,
                                     call_graph, check_graph,     destroy_graph};
const bench_task bench_task_graph_nodes = {false,      sizeof(network), prepare_nodes,
                                           call_graph, check_graph,     destroy_graph};
