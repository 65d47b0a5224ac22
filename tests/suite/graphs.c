/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs: a replay gives, bit for bit, what the same calls give. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(graphs, .init = device_open, .fini = device_close, TAGS("device driver"));

enum {
    ROWS = 24,
    COLS = 96,
    WIDE = COLS * COLS,
    BUFFERS = 6,
    BYTES = ROWS * COLS * (int)sizeof(float)
};

/* The tensors of a small network, and one long row whose norm takes scratch memory. */
typedef struct network {
    tdm_buffer *buffers[BUFFERS];
    tdm_tensor x, weight, bias, y, norms, row;
    double alpha;
} network;

static bool network_open(network *n) {
    static const size_t sizes[BUFFERS] = {BYTES, COLS * COLS * sizeof(float), COLS * sizeof(float),
                                          BYTES, ROWS * sizeof(float),        WIDE * sizeof(float)};
    *n = (network){.alpha = 0.5};
    for (int i = 0; i < BUFFERS; i++)
        if (!OK(tdm_buffer_create(device, sizes[i], &n->buffers[i]))) return false;
    n->x = tdm_tensor_2d(n->buffers[0], TDM_F32, ROWS, COLS);
    n->weight = tdm_tensor_2d(n->buffers[1], TDM_F32, COLS, COLS);
    n->bias = tdm_tensor_1d(n->buffers[2], TDM_F32, COLS);
    n->y = tdm_tensor_2d(n->buffers[3], TDM_F32, ROWS, COLS);
    n->norms = tdm_tensor_1d(n->buffers[4], TDM_F32, ROWS);
    n->row = tdm_tensor_1d(n->buffers[5], TDM_F32, WIDE);
    return true;
}

static void network_close(network *n) {
    for (int i = 0; i < BUFFERS; i++)
        tdm_buffer_release(n->buffers[i]);
}

static void randomise(const tdm_tensor *t) {
    float values[WIDE];
    const int64_t count = tdm_tensor_get_count(t);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)random_uniform(-1, 1);
    OK(tdm_buffer_write(queue, t->buffer, 0, values, (size_t)count * sizeof(float)));
}

static void randomise_inputs(const network *n) {
    randomise(&n->x);
    randomise(&n->weight);
    randomise(&n->bias);
    randomise(&n->row);
}

/* Every kind of work that can be recorded. */
static bool network_run(network *n) {
    static const float pattern = 0.25f;
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_buffer *made = NULL;
    if (!OK(tdm_buffer_create(device, BYTES, &made))) return false;
    tdm_tensor hidden = tdm_tensor_2d(made, TDM_F32, ROWS, COLS);
    tdm_tensor whole = tdm_tensor_1d(n->buffers[4], TDM_F32, 1);
    tdm_tensor wide = tdm_tensor_2d(n->buffers[5], TDM_F32, 1, WIDE);
    options.bias = &n->bias;
    options.activation = TDM_ACTIVATION_GELU;
    bool fine = OK(tdm_buffer_fill_async(queue, n->buffers[4], 0, ROWS * sizeof(float), &pattern,
                                         sizeof pattern)) &&
                OK(tdm_matmul(queue, &options, &n->x, &n->weight, &hidden)) &&
                OK(tdm_layer_norm(queue, &hidden, &n->bias, NULL, 1e-5, &hidden)) &&
                OK(tdm_bias_add(queue, &hidden, &n->bias, TDM_ACTIVATION_SILU, &n->x, &n->y)) &&
                OK(tdm_buffer_copy_async(queue, n->buffers[3], 0, made, 0, BYTES / 2)) &&
                OK(tdm_axpy(queue, n->alpha, &hidden, &n->y)) &&
                OK(tdm_softmax(queue, &n->y, &n->y)) &&
                OK(tdm_row_norm(queue, TDM_NORM_L2, &n->y, &n->norms)) &&
                OK(tdm_row_norm(queue, TDM_NORM_L1, &wide, &whole));
    tdm_buffer_release(made);
    return fine;
}

typedef struct results {
    float y[ROWS * COLS], norms[ROWS];
} results;

static results *read_results(const network *n) {
    results *r = calloc(1, sizeof *r);
    if (!r) abort();
    OK(tdm_buffer_read(queue, n->y.buffer, 0, r->y, sizeof r->y));
    OK(tdm_buffer_read(queue, n->norms.buffer, 0, r->norms, sizeof r->norms));
    return r;
}

static void spoil(const network *n) {
    static const unsigned char nan = 0xff;
    OK(tdm_buffer_fill(queue, n->y.buffer, 0, BYTES, &nan, 1));
    OK(tdm_buffer_fill(queue, n->norms.buffer, 0, ROWS * sizeof(float), &nan, 1));
}

/* A replay does as the calls do, now, which are made first. */
static void compare(network *n, tdm_graph *graph) {
    if (!network_run(n)) return;
    results *want = read_results(n);
    CHECK(want->y[0] == want->y[0] && want->norms[0] > 0, "the calls give NaN");
    spoil(n);
    OK(tdm_graph_replay(graph));
    results *got = read_results(n);
    CHECK(memcmp(got, want, sizeof *got) == 0, "a replay gives something else than the calls");
    free(got);
    free(want);
}

static bool record(network *n, tdm_graph *graph) {
    return OK(tdm_graph_begin(graph)) && network_run(n) && OK(tdm_graph_end(graph));
}

Test(graphs, replays) {
    network n;
    tdm_graph *graph = NULL;
    if (!network_open(&n) || !OK(tdm_graph_create(queue, &graph))) return;
    CHECK(tdm_graph_get_length(graph) == 0, "an empty graph has a length");
    OK(tdm_graph_replay(graph));
    spoil(&n);
    randomise_inputs(&n);
    results *before = read_results(&n);
    if (!record(&n, graph)) return;
    results *after = read_results(&n);
    CHECK(memcmp(before, after, sizeof *before) == 0, "recording ran something");
    free(before);
    free(after);
    CHECK(tdm_graph_get_length(graph) >= 9, "%zu pieces of work", tdm_graph_get_length(graph));
    for (int turn = 0; turn < 4; turn++) {
        check_case("turn %d", turn);
        randomise_inputs(&n);
        compare(&n, graph);
    }
    check_case("the same again, after larger scratch memory was used");
    array *row = array_1d(TDM_F32, 1 << 20);
    array_integers(row, -1, 1);
    tdm_tensor whole = tdm_tensor_1d(n.buffers[4], TDM_F32, 1);
    OK(tdm_row_norm(queue, TDM_NORM_L1, &row->t, &whole));
    compare(&n, graph);

    check_case("recorded again, with another scalar");
    const size_t length = tdm_graph_get_length(graph);
    n.alpha = -2.0;
    if (!record(&n, graph)) return;
    CHECK(tdm_graph_get_length(graph) == length, "another length");
    for (int turn = 0; turn < 3; turn++)
        compare(&n, graph);

    check_case("recorded again, other work");
    OK(tdm_graph_begin(graph));
    OK(tdm_fill(queue, 3.0, &n.y));
    OK(tdm_graph_end(graph));
    CHECK(tdm_graph_get_length(graph) == 1, "%zu pieces", tdm_graph_get_length(graph));
    for (int turn = 0; turn < 3; turn++) {
        spoil(&n);
        OK(tdm_graph_replay(graph));
        results *r = read_results(&n);
        CHECK(r->y[0] == 3.0f && r->y[ROWS * COLS - 1] == 3.0f, "the old work ran");
        free(r);
    }
    tdm_graph_destroy(graph);
    network_close(&n);
}

/* Buffers in place of others, also twice, and what is refused. */
Test(graphs, exchanged_buffers) {
    network n;
    tdm_graph *graph = NULL;
    tdm_buffer *x = NULL, *y = NULL, *little = NULL;
    if (!network_open(&n) || !OK(tdm_graph_create(queue, &graph))) return;
    OK(tdm_buffer_create(device, BYTES, &x));
    OK(tdm_buffer_create(device, BYTES + 64, &y));
    OK(tdm_buffer_create(device, BYTES - 4, &little));
    randomise_inputs(&n);
    if (!record(&n, graph)) return;
    for (int turn = 0; turn < 3; turn++)
        compare(&n, graph);
    for (int turn = 0; turn < 2; turn++) {
        tdm_buffer *old_x = n.x.buffer, *old_y = n.y.buffer;
        check_case("exchange %d", turn);
        OK(tdm_graph_set_buffer(graph, old_x, x));
        OK(tdm_graph_set_buffer(graph, old_y, y));
        n.x.buffer = n.buffers[0] = x;
        n.y.buffer = n.buffers[3] = y;
        randomise_inputs(&n);
        for (int again = 0; again < 3; again++)
            compare(&n, graph);
        x = old_x;
        y = old_y;
        if (turn == 0) { /* back, but for y, which is smaller now */
            tdm_buffer *larger = NULL;
            OK(tdm_buffer_create(device, BYTES + 64, &larger));
            tdm_buffer_release(y);
            y = larger;
        }
    }
    check_case("refused");
    REFUSED(tdm_graph_set_buffer(graph, x, y), TDM_ERROR_INVALID_ARGUMENT, "does not use");
    REFUSED(tdm_graph_set_buffer(graph, n.x.buffer, n.y.buffer), TDM_ERROR_OVERLAP, "already");
    REFUSED(tdm_graph_set_buffer(graph, n.x.buffer, little), TDM_ERROR_OUT_OF_RANGE, "9212|9216");
    REFUSED(tdm_graph_set_buffer(graph, NULL, x), TDM_ERROR_INVALID_ARGUMENT, "buffer is NULL");
    REFUSED(tdm_graph_set_buffer(graph, x, NULL), TDM_ERROR_INVALID_ARGUMENT, "replacement");
    REFUSED(tdm_graph_set_buffer(NULL, x, y), TDM_ERROR_INVALID_ARGUMENT, "graph is NULL");
    tdm_buffer_freeze(y);
    REFUSED(tdm_graph_set_buffer(graph, n.y.buffer, y), TDM_ERROR_READ_ONLY, "freeze");
    tdm_buffer_freeze(n.x.buffer);
    OK(tdm_graph_replay(graph));
    tdm_buffer_freeze(n.y.buffer);
    REFUSED(tdm_graph_replay(graph), TDM_ERROR_READ_ONLY, "freeze");
    tdm_graph_destroy(graph);
    tdm_buffer_release(x);
    tdm_buffer_release(y);
    tdm_buffer_release(little);
    network_close(&n);
}

/* A call that cannot be recorded is refused and leaves nothing in the graph, and the queue is as before. */
Test(graphs, refused_while_recording) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    network n;
    tdm_graph *graph = NULL, *other = NULL;
    tdm_event *event = NULL;
    float values[ROWS];
    void *mapped = NULL;
    char text[64];
    if (!network_open(&n) || !OK(tdm_graph_create(queue, &graph)) ||
        !OK(tdm_graph_create(queue, &other)) || !OK(tdm_event_create(device, &event)))
        return;
    tdm_buffer *buffer = n.buffers[4];
    tdm_tensor truths = tdm_tensor_1d(n.buffers[5], TDM_BOOL, COLS - 1);
    tdm_tensor whole = tdm_tensor_1d(buffer, TDM_I64, 1);
    randomise_inputs(&n);
    OK(tdm_queue_record_event(queue, event));
    REFUSED(tdm_graph_end(graph), invalid, "not being recorded");
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_graph_begin(graph), invalid, "the graph is being recorded");
    REFUSED(tdm_graph_begin(other), invalid, "another graph");
    REFUSED(tdm_graph_end(other), invalid, "not being recorded");
    REFUSED(tdm_graph_replay(graph), invalid, "recording a graph");
    REFUSED(tdm_graph_replay(other), invalid, "recording a graph");
    REFUSED(tdm_queue_finish(queue), invalid, "tdm_queue_finish|tdm_graph_end");
    REFUSED(tdm_queue_record_event(queue, event), invalid, "recording a graph");
    REFUSED(tdm_queue_wait_event(queue, event), invalid, "recording a graph");
    REFUSED(tdm_buffer_write(queue, buffer, 0, values, 4), invalid, "recording a graph");
    REFUSED(tdm_buffer_write_async(queue, buffer, 0, values, 4), invalid, "recording a graph");
    REFUSED(tdm_buffer_read(queue, buffer, 0, values, 4), invalid, "recording a graph");
    REFUSED(tdm_buffer_fill(queue, buffer, 0, 4, values, 4), invalid, "recording a graph");
    REFUSED(tdm_buffer_copy(queue, buffer, 0, n.x.buffer, 0, 4), invalid, "recording a graph");
    REFUSED(tdm_buffer_map(queue, buffer, 0, 4, TDM_MAP_READ, &mapped), invalid, "recording a");
    REFUSED(tdm_to_host(queue, &n.norms, values), invalid, "recording a graph");
    REFUSED(tdm_format(queue, &n.norms, text, sizeof text, NULL), invalid, "recording a graph");
    REFUSED(tdm_softmax(queue, &n.x, &n.norms), TDM_ERROR_INVALID_SHAPE, "shape");
    REFUSED(tdm_count_nonzero(queue, &n.x, (int[]){7}, 1, &n.norms), TDM_ERROR_INVALID_DTYPE, "y");
    REFUSED(tdm_count_nonzero(queue, &n.x, (int[]){7}, 1, &whole), invalid, "dims[0]");
    tdm_softmax_options masked = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    masked.mask = &truths;
    REFUSED(tdm_softmax_scaled(queue, &masked, &n.x, &n.y), TDM_ERROR_INVALID_SHAPE, "mask");
    masked.scale = (double)NAN;
    truths.shape[0] = COLS;
    REFUSED(tdm_softmax_scaled(queue, &masked, &n.x, &n.y), invalid, "scale");
    REFUSED(tdm_graph_set_buffer(graph, buffer, buffer), invalid, "recording a graph");
    CHECK(tdm_graph_get_length(graph) == 0, "%zu pieces of refused calls",
          tdm_graph_get_length(graph));
    /* the buffers of refused calls are not the graph's, nor is one written that such a call would have written */
    tdm_buffer *unused = NULL;
    OK(tdm_buffer_create(device, BYTES, &unused));
    tdm_tensor wrong = tdm_tensor_1d(unused, TDM_F32, COLS);
    REFUSED(tdm_softmax(queue, &n.x, &wrong), TDM_ERROR_INVALID_SHAPE, "shape");
    REFUSED(tdm_softmax(queue, &wrong, &n.x), TDM_ERROR_INVALID_SHAPE, "shape");
    bool fine = network_run(&n);
    OK(tdm_graph_end(graph));
    if (fine) compare(&n, graph);
    REFUSED(tdm_graph_set_buffer(graph, unused, buffer), invalid, "does not use");
    tdm_buffer_freeze(n.x.buffer);
    OK(tdm_graph_replay(graph));
    OK(tdm_graph_set_buffer(graph, n.x.buffer, unused));
    tdm_buffer_release(unused);
    tdm_graph_destroy(other);
    tdm_graph_destroy(graph);

    check_case("no graph");
    REFUSED(tdm_graph_create(queue, NULL), invalid, "graph is NULL");
    REFUSED(tdm_graph_create(NULL, &graph), invalid, "queue is NULL");
    CHECK(!graph, "a pointer to no graph");
    REFUSED(tdm_graph_begin(NULL), invalid, "graph is NULL");
    REFUSED(tdm_graph_end(NULL), invalid, "graph is NULL");
    REFUSED(tdm_graph_replay(NULL), invalid, "graph is NULL");
    CHECK(tdm_graph_get_length(NULL) == 0, "NULL has a length");
    tdm_graph_destroy(NULL);
    tdm_event_destroy(event);
    network_close(&n);
}

/* A graph keeps its buffers; it may outlive its queue, and go while it is recorded. */
Test(graphs, lifetimes) {
    network n;
    tdm_queue *own = NULL, *usual = queue;
    tdm_graph *graph = NULL, *unfinished = NULL;
    if (!OK(tdm_queue_create(device, 0, &own)) || !network_open(&n)) return;
    randomise_inputs(&n);
    if (!network_run(&n)) return;
    results *want = read_results(&n);
    queue = own;
    OK(tdm_graph_create(queue, &graph));
    if (!record(&n, graph)) return;
    OK(tdm_graph_replay(graph));
    results *got = read_results(&n);
    CHECK(memcmp(got, want, sizeof *got) == 0, "a replay gives something else");
    tdm_tensor y = n.y;
    tdm_buffer_retain(y.buffer);
    for (int i = 0; i < 2; i++) { /* its memory is not used elsewhere */
        tdm_buffer *noise = NULL;
        if (i == 0) network_close(&n);
        OK(tdm_buffer_create(device, BYTES, &noise));
        OK(tdm_buffer_fill(usual, noise, 0, BYTES, "\xff", 1));
        OK(tdm_graph_replay(graph));
        tdm_buffer_release(noise);
    }
    OK(tdm_buffer_read(queue, y.buffer, 0, got->y, sizeof got->y));
    CHECK(memcmp(got->y, want->y, sizeof got->y) == 0, "the graph's memory was used by others");
    free(got);
    free(want);

    OK(tdm_graph_create(queue, &unfinished));
    OK(tdm_graph_begin(unfinished));
    OK(tdm_fill(queue, 1.0, &y));
    tdm_graph_destroy(unfinished);
    OK(tdm_queue_finish(queue));
    OK(tdm_graph_create(queue, &unfinished));
    OK(tdm_graph_begin(unfinished));
    OK(tdm_fill(queue, 1.0, &y));
    tdm_buffer_release(y.buffer);
    queue = usual;
    tdm_queue_destroy(own);
    REFUSED(tdm_graph_replay(graph), TDM_ERROR_INVALID_ARGUMENT, "queue was destroyed");
    REFUSED(tdm_graph_end(unfinished), TDM_ERROR_INVALID_ARGUMENT, "queue was destroyed");
    tdm_graph_destroy(graph);
    tdm_graph_destroy(unfinished);
}

/* The norm of rows with gaps has a temporary tensor between its launches: the graph holds it, so that a tensor made
 * after the recording is not overwritten. */
Test(graphs, what_is_between_launches) {
    enum { GAPS = 512 };
    const int64_t shape[] = {GAPS, 4}, strides[] = {8, 1};
    static float ones[GAPS * 8], kept[GAPS];
    tdm_buffer *source, *result;
    tdm_tensor x, out, later[8];
    tdm_graph *graph;
    for (int i = 0; i < GAPS * 8; i++)
        ones[i] = 1;
    OK(tdm_buffer_create(device, sizeof ones, &source));
    OK(tdm_buffer_create(device, sizeof(float), &result));
    OK(tdm_buffer_write(queue, source, 0, ones, sizeof ones));
    const tdm_tensor whole = tdm_tensor_1d(source, TDM_F32, GAPS * 8);
    OK(tdm_tensor_view(&whole, 2, shape, strides, 0, &x));
    out = tdm_tensor_1d(result, TDM_F32, 1);
    OK(tdm_norm(queue, TDM_NORM_L1, &x, &out)); /* compiled, and its memory back in the pool */
    OK(tdm_queue_finish(queue));
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_norm(queue, TDM_NORM_L1, &x, &out));
    OK(tdm_graph_end(graph));
    for (int i = 0; i < 8; i++) {
        OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(GAPS), &later[i]));
        OK(tdm_fill(queue, 7, &later[i]));
    }
    OK(tdm_graph_replay(graph));
    for (int i = 0; i < 8; i++) {
        OK(tdm_to_host(queue, &later[i], kept));
        for (int k = 0; k < GAPS; k++)
            CHECK(kept[k] == 7, "element %d of tensor %d is %g, not 7", k, i, (double)kept[k]);
        tdm_tensor_release(&later[i]);
    }
    float norm;
    OK(tdm_to_host(queue, &out, &norm));
    CHECK(norm == GAPS * 4, "the norm is %g", (double)norm);
    tdm_graph_destroy(graph);
    tdm_buffer_release(source);
    tdm_buffer_release(result);
}

/* The operands and outputs of operations of several launches: views with and without gaps. */
typedef struct operands {
    array *x, *across, *half, *indices, *row, *y, *y_across, *y_row, *y_half, *y_i64, *y_truths;
} operands;

enum { SIDE = 8 };

static array *square(tdm_dtype dtype, bool across) {
    const int64_t shape[] = {SIDE, SIDE}, strides[] = {1, SIDE};
    return array_new(dtype, 2, shape, across ? strides : NULL);
}

/* Makes the call of that number, and gives its output; NULL after the last. */
static const array *call_number(int number, const operands *o) {
    static const int first = 0, last = 1;
    static const int64_t shift = 3;
    tdm_tensor one = tdm_tensor_1d(o->y_row->t.buffer, TDM_F32, 1);
    const tdm_tensor *const x = &o->x->t, *const across = &o->across->t;
    const tdm_tensor column = tdm_tensor_1d(o->indices->t.buffer, TDM_I32, SIDE);
#define CALL(n, output, call)                                                                      \
    case n:                                                                                        \
        check_case(#call);                                                                         \
        return OK(call) ? o->output : NULL;
    switch (number) {
        CALL(0, y_across, tdm_take_along_axis(queue, x, &o->indices->t, 1, &o->y_across->t))
        CALL(1, y_across, tdm_take_along_axis(queue, across, &o->indices->t, 0, &o->y_across->t))
        CALL(2, y_across, tdm_cumsum(queue, x, 0, &o->y_across->t))
        CALL(3, y, tdm_cumprod(queue, across, 1, &o->y->t))
        CALL(4, y_across, tdm_diff(queue, x, 0, 0, &o->y_across->t))
        CALL(5, y_across, tdm_triu(queue, x, 0, &o->y_across->t))
        CALL(6, y_row, tdm_norm_over(queue, TDM_NORM_L1, across, &last, 1, &o->y_row->t))
        CALL(7, y_half, tdm_norm_over(queue, TDM_NORM_L2, &o->half->t, &last, 1, &o->y_half->t))
        CALL(8, y_i64, tdm_count_nonzero(queue, across, &last, 1, &o->y_i64->t))
        CALL(9, y_i64, tdm_argmax(queue, across, 1, &o->y_i64->t))
        CALL(10, y_across, tdm_matmul(queue, NULL, x, across, &o->y_across->t))
        CALL(11, y_truths, tdm_isin(queue, across, &o->row->t, &o->y_truths->t))
        CALL(12, y_across, tdm_roll(queue, x, &shift, &first, 1, &o->y_across->t))
        CALL(13, y_across, tdm_flip(queue, x, &first, 1, &o->y_across->t))
        CALL(14, y_across, tdm_concat(queue, &x, 1, 0, &o->y_across->t))
        CALL(15, y_across, tdm_repeat(queue, x, 0, &o->y_across->t))
        CALL(16, y, tdm_sort(queue, x, false, &o->y->t))
        CALL(17, y, tdm_top_k(queue, x, &o->y->t, NULL))
        CALL(18, y, tdm_scatter_add_rows(queue, x, &column, &o->y->t))
        CALL(19, y_row, tdm_dot(queue, x, across, &one))
        CALL(20, y_row, tdm_variance(queue, across, &first, 1, 0, &o->y_row->t))
        CALL(21, y_row, tdm_norm(queue, TDM_NORM_L2, across, &one))
        CALL(22, y_across, tdm_tile(queue, x, &o->y_across->t))
        CALL(23, y_row, tdm_norm_over(queue, TDM_NORM_INF, x, &first, 1, &o->y_row->t))
    }
#undef CALL
    return NULL;
}

/* A replay that would write into a frozen buffer is refused, whichever of an operation's launches writes. */
Test(graphs, frozen_outputs) {
    bool any = true;
    for (int number = 0; any; number++) {
        const operands o = {.x = square(TDM_F32, false),
                            .across = square(TDM_F32, true),
                            .half = square(TDM_F16, true),
                            .indices = square(TDM_I32, false),
                            .row = array_1d(TDM_F32, SIDE),
                            .y = square(TDM_F32, false),
                            .y_across = square(TDM_F32, true),
                            .y_row = array_1d(TDM_F32, SIDE),
                            .y_half = array_1d(TDM_F16, SIDE),
                            .y_i64 = array_1d(TDM_I64, SIDE),
                            .y_truths = square(TDM_BOOL, true)};
        tdm_graph *graph;
        array_uniform(o.x, -1, 1);
        array_uniform(o.across, -1, 1);
        array_uniform(o.half, -1, 1);
        array_uniform(o.row, -1, 1);
        array_integers(o.indices, 0, SIDE - 1);
        if (!OK(tdm_graph_create(queue, &graph)) || !OK(tdm_graph_begin(graph))) return;
        const array *const y = call_number(number, &o);
        any = y;
        OK(tdm_graph_end(graph));
        OK(tdm_graph_replay(graph));
        if (any) tdm_buffer_freeze(y->t.buffer);
        if (any) REFUSED(tdm_graph_replay(graph), TDM_ERROR_READ_ONLY, "freeze");
        tdm_graph_destroy(graph);
        array_free_all();
    }
}
