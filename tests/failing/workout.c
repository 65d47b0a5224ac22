/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Each step asks for one thing that the backend does in its own way, and checks it. */
#include "workout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        tdm_status try_status = (call);                                                            \
        if (try_status != TDM_OK) return try_status;                                               \
    } while (0)

enum { N = 64, CELLS = N * N, BYTES = CELLS * (int)sizeof(float), BUFFERS = 4 };

typedef struct workplace {
    tdm_backend backend;
    tdm_device *devices[2];
    tdm_queue *queue, *timed, *borrowed;
    tdm_event *event, *start, *end;
    tdm_buffer *buffers[BUFFERS], *elsewhere, *adopted;
    int taken, notified; /* how often the owner of adopted memory was to be notified, and was */
    tdm_graph *graph;
    void *pinned;
    float host[CELLS];
} workplace;

static char wrong[128];

const char *workout_is_wrong(void) { return wrong[0] ? wrong : NULL; }

static void expect(bool right, const char *what) {
    if (!right && !wrong[0]) snprintf(wrong, sizeof wrong, "%s", what);
}

/* --- the steps ----------------------------------------------------------------------------------
 */

static tdm_status open_devices(workplace *w) {
    size_t count;
    const bool is_cuda = w->backend == TDM_CUDA;
    TRY(tdm_get_backend_device_count(w->backend, &count));
    TRY(tdm_device_open(is_cuda ? "cuda:0" : "opencl:0", &w->devices[0]));
    TRY(tdm_device_open(is_cuda ? "cuda:1" : "opencl:1", &w->devices[1]));
    TRY(tdm_get_diagnostic_count(&count));
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    TRY(tdm_device_get_memory_stats(w->devices[0], &stats));
    TRY(tdm_queue_create(w->devices[0], 0, &w->queue));
    TRY(tdm_queue_create(w->devices[0], TDM_QUEUE_TIMING, &w->timed));
    TRY(tdm_event_create(w->devices[0], &w->event));
    TRY(tdm_event_create(w->devices[0], &w->start));
    TRY(tdm_event_create(w->devices[0], &w->end));
    for (int i = 0; i < BUFFERS; i++)
        TRY(tdm_buffer_create(w->devices[0], BYTES, &w->buffers[i]));
    TRY(tdm_buffer_create(w->devices[1], BYTES, &w->elsewhere));
    return tdm_host_alloc(w->devices[0], BYTES, &w->pinned);
}

static bool all_are(const float *values, float value) {
    for (int i = 0; i < CELLS; i++)
        if (values[i] != value) return false;
    return true;
}

static tdm_status transfer(workplace *w) {
    float *pinned = w->pinned;
    for (int i = 0; i < CELLS; i++)
        pinned[i] = (float)i;
    TRY(tdm_buffer_write_async(w->queue, w->buffers[0], 0, pinned, BYTES));
    TRY(tdm_buffer_copy(w->queue, w->buffers[0], 0, w->elsewhere, 0, BYTES));
    TRY(tdm_buffer_copy(w->queue, w->elsewhere, 0, w->buffers[1], 0, BYTES));
    TRY(tdm_buffer_copy_async(w->queue, w->buffers[1], 0, w->buffers[2], 0, BYTES));
    TRY(tdm_buffer_read(w->queue, w->buffers[2], 0, w->host, BYTES));
    expect(memcmp(w->host, pinned, BYTES) == 0, "copies through two devices");
    void *mapped;
    TRY(tdm_buffer_map(w->queue, w->buffers[2], 0, BYTES, TDM_MAP_READ | TDM_MAP_WRITE, &mapped));
    expect(memcmp(mapped, pinned, BYTES) == 0, "a mapping");
    return tdm_buffer_unmap(w->queue, w->buffers[2], mapped);
}

static tdm_status fill(workplace *w) {
    unsigned char pattern[16];
    for (size_t width = 1; width <= sizeof pattern; width *= 2) {
        for (size_t i = 0; i < width; i++)
            pattern[i] = (unsigned char)(width + i);
        TRY(tdm_buffer_fill(w->queue, w->buffers[3], 0, BYTES, pattern, width));
        TRY(tdm_buffer_read(w->queue, w->buffers[3], 0, w->host, BYTES));
        for (size_t i = 0; i < BYTES; i++)
            expect(((unsigned char *)w->host)[i] == pattern[i % width], "a fill");
    }
    return TDM_OK;
}

static void notify(void *notified) { (*(int *)notified)++; }

static tdm_status adopt_of_cuda(workplace *w) {
    void *pointer;
    struct CUstream_st *stream;
    TRY(tdm_cuda_get_pointer(w->buffers[0], &pointer));
    TRY(tdm_cuda_adopt_memory(w->devices[0], pointer, BYTES, notify, &w->notified, &w->adopted));
    w->taken++;
    TRY(tdm_cuda_get_stream(w->queue, &stream));
    return tdm_cuda_adopt_stream(w->devices[0], stream, 0, &w->borrowed);
}

static tdm_status adopt_of_opencl(workplace *w) {
    struct _cl_mem *memory;
    struct _cl_command_queue *handle;
    TRY(tdm_opencl_get_memory(w->buffers[0], &memory));
    TRY(tdm_opencl_adopt_memory(w->devices[0], memory, BYTES, notify, &w->notified, &w->adopted));
    w->taken++;
    TRY(tdm_opencl_get_queue(w->queue, &handle));
    return tdm_opencl_adopt_queue(w->devices[0], handle, &w->borrowed);
}

/* Memory that is another buffer's, released while work is pending on it, and a stream that is another queue's. */
static tdm_status adopt(workplace *w) {
    const float value = 2.5f;
    TRY(w->backend == TDM_CUDA ? adopt_of_cuda(w) : adopt_of_opencl(w));
    TRY(tdm_buffer_fill_async(w->queue, w->adopted, 0, BYTES, "?", 1));
    TRY(tdm_buffer_fill_async(w->borrowed, w->adopted, 0, BYTES, &value, sizeof value));
    tdm_queue_destroy(w->borrowed);
    w->borrowed = NULL;
    TRY(tdm_buffer_fill_async(w->queue, w->adopted, 0, 4, &value, sizeof value));
    tdm_buffer_release(w->adopted);
    w->adopted = NULL;
    TRY(tdm_buffer_read(w->queue, w->buffers[0], 0, w->host, BYTES));
    expect(w->notified == 1, "the owner of adopted memory was not notified once");
    expect(all_are(w->host, value), "adopted memory");
    return TDM_OK;
}

static tdm_status record_events(workplace *w) {
    bool done = false;
    double seconds = -1;
    tdm_tensor y = tdm_tensor_1d(w->buffers[0], TDM_F32, CELLS);
    TRY(tdm_queue_record_event(w->timed, w->start));
    TRY(tdm_fill(w->timed, 2.0, &y));
    TRY(tdm_queue_record_event(w->timed, w->end));
    TRY(tdm_queue_wait_event(w->queue, w->end));
    TRY(tdm_buffer_read_async(w->queue, w->buffers[0], 0, w->pinned, BYTES));
    TRY(tdm_queue_record_event(w->queue, w->event));
    TRY(tdm_event_query(w->event, &done));
    TRY(tdm_event_wait(w->event));
    expect(all_are(w->pinned, 2.0f), "a queue that waited for another");
    TRY(tdm_event_elapsed(w->start, w->end, &seconds));
    expect(seconds >= 0, "the time between two events");
    return tdm_queue_flush(w->queue);
}

/* Rows of 1, -1, 1 …: the L2 norm of each is 8, and they are their own LayerNorm, and that of their double. */
static tdm_status run_kernels(workplace *w) {
    for (int i = 0; i < CELLS; i++)
        w->host[i] = i % 2 ? -1.0f : 1.0f;
    tdm_tensor x = tdm_tensor_2d(w->buffers[0], TDM_F32, N, N);
    tdm_tensor y = tdm_tensor_2d(w->buffers[1], TDM_F32, N, N);
    tdm_tensor norms = tdm_tensor_1d(w->buffers[2], TDM_F32, N);
    TRY(tdm_buffer_write(w->queue, w->buffers[0], 0, w->host, BYTES));
    TRY(tdm_layer_norm(w->queue, &x, NULL, NULL, 0.0, &y));
    TRY(tdm_layer_norm_residual(w->queue, &x, NULL, NULL, 0.0, &y, NULL, &y));
    TRY(tdm_row_norm(w->queue, TDM_NORM_L2, &y, &norms));
    TRY(tdm_buffer_read(w->queue, w->buffers[2], 0, w->host, N * sizeof(float)));
    for (int i = 0; i < N; i++)
        expect(w->host[i] == 8.0f, "row norms");
    return TDM_OK;
}

/* Operations of several launches, with temporary memory in between. Rows fall from 63 to 0, so that the order of their
 * elements is 63 to 0 as well, and adding rows at these indices gives the same rows again. */
static tdm_status sort_and_add(workplace *w) {
    enum { MOST = 3 };
    static const int whole[] = {0, 1};
    for (int i = 0; i < CELLS; i++)
        w->host[i] = (float)(N - 1 - i % N);
    tdm_tensor x = tdm_tensor_2d(w->buffers[0], TDM_F32, N, N);
    tdm_tensor order = tdm_tensor_2d(w->buffers[1], TDM_I32, N, N);
    const tdm_tensor first = tdm_tensor_1d(w->buffers[1], TDM_I32, N);
    tdm_tensor y = tdm_tensor_2d(w->buffers[2], TDM_F32, N, N);
    tdm_tensor largest = tdm_tensor_2d(w->buffers[3], TDM_F32, N, MOST);
    tdm_tensor sum = tdm_tensor_1d(w->buffers[3], TDM_F32, 1);
    TRY(tdm_buffer_write(w->queue, w->buffers[0], 0, w->host, BYTES));
    TRY(tdm_argsort(w->queue, &x, false, &order));
    TRY(tdm_fill(w->queue, 0.0, &y));
    TRY(tdm_scatter_add_rows(w->queue, &x, &first, &y));
    TRY(tdm_top_k(w->queue, &y, &largest, NULL));
    TRY(tdm_buffer_read(w->queue, w->buffers[3], 0, w->host, N * MOST * sizeof(float)));
    for (int i = 0; i < N * MOST; i++)
        expect(w->host[i] == (float)(N - 1 - i % MOST), "the largest of rows that were added");
    TRY(tdm_cumsum(w->queue, &y, 0, &x));
    TRY(tdm_sum(w->queue, &x, whole, 2, &sum));
    TRY(tdm_buffer_read(w->queue, w->buffers[3], 0, w->host, sizeof(float)));
    /* rows are added 64, 63, … 1 times, and have 2016 in all */
    expect(w->host[0] == 2016.0f * 2080.0f, "a sum of sums");
    return TDM_OK;
}

/* A matrix of ones times one of twos, plus a bias of -200. */
static tdm_status queue_product(workplace *w, int64_t m, int64_t n, int64_t k, int64_t batch,
                                bool bias) {
    tdm_tensor a = tdm_tensor_3d(w->buffers[0], TDM_F32, batch, m, k);
    tdm_tensor b = tdm_tensor_3d(w->buffers[1], TDM_F32, batch, k, n);
    tdm_tensor c = tdm_tensor_3d(w->buffers[2], TDM_F32, batch, m, n);
    tdm_tensor added = tdm_tensor_1d(w->buffers[3], TDM_F32, n);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.bias = bias ? &added : NULL;
    options.activation = bias ? TDM_ACTIVATION_RELU : TDM_ACTIVATION_NONE;
    TRY(tdm_fill(w->queue, 1.0, &a));
    TRY(tdm_fill(w->queue, 2.0, &b));
    TRY(tdm_fill(w->queue, NAN, &c));
    TRY(tdm_fill(w->queue, -200.0, &added));
    return tdm_matmul(w->queue, &options, &a, &b, &c);
}

/* It is k 2 - 200, or 0 after RELU. */
static tdm_status check_product(workplace *w, int64_t m, int64_t n, int64_t k, int64_t batch,
                                bool bias) {
    TRY(tdm_buffer_read(w->queue, w->buffers[2], 0, w->host,
                        (size_t)(batch * m * n) * sizeof(float)));
    float wanted = (float)(2 * k);
    if (bias) wanted = wanted > 200 ? wanted - 200 : 0;
    for (int i = 0; i < (int)(batch * m * n); i++)
        expect(w->host[i] == wanted, "a product");
    return TDM_OK;
}

static tdm_status multiply(workplace *w, int64_t m, int64_t n, int64_t k, int64_t batch,
                           bool bias) {
    TRY(queue_product(w, m, n, k, batch, bias));
    return check_product(w, m, n, k, batch, bias);
}

/* The third replay runs the graph that the second one captured. */
static tdm_status replay(workplace *w, int64_t m, int64_t n, int64_t k, bool bias) {
    if (!w->graph) TRY(tdm_graph_create(w->queue, &w->graph));
    TRY(tdm_graph_begin(w->graph));
    const tdm_status queued = queue_product(w, m, n, k, 1, bias);
    const tdm_status ended = tdm_graph_end(w->graph);
    if (queued != TDM_OK || ended != TDM_OK) return queued != TDM_OK ? queued : ended;
    for (int turn = 0; turn < 3; turn++) {
        TRY(tdm_buffer_fill(w->queue, w->buffers[2], 0, BYTES, "\xff", 1));
        TRY(tdm_graph_replay(w->graph));
        TRY(check_product(w, m, n, k, 1, bias));
    }
    return TDM_OK;
}

static tdm_status steps(workplace *w) {
    TRY(open_devices(w));
    TRY(transfer(w));
    TRY(fill(w));
    TRY(adopt(w));
    TRY(record_events(w));
    TRY(run_kernels(w));
    TRY(sort_and_add(w));
    TRY(multiply(w, N, N, N, 1, true));
    TRY(multiply(w, 8, 16, 24, 4, false));
    /* sizes with which the simulated cuBLASLt has trouble: see tests/cuda_sim/cublaslt_matmul.c */
    static const int64_t troubles[] = {7, 9, 21, 22, 23};
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        TRY(multiply(w, 8, 16, troubles[i], 2, false));
    TRY(multiply(w, 13, 16, 24, 1, false));
    TRY(multiply(w, 13, 16, 24, 1, true));
    TRY(multiply(w, 8, 11, 24, 1, true));
    TRY(replay(w, N, N, N, true));
    TRY(replay(w, 13, 16, 24, false));
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        TRY(replay(w, 8, 16, troubles[i], true));
    TRY(tdm_device_trim(w->devices[0]));
    return tdm_queue_finish(w->queue);
}

/* The queues first: their work uses the rest. */
static void clean_up(workplace *w) {
    tdm_graph_destroy(w->graph);
    tdm_buffer_release(w->adopted);
    tdm_queue_destroy(w->borrowed);
    tdm_queue_destroy(w->queue);
    tdm_queue_destroy(w->timed);
    tdm_event_destroy(w->event);
    tdm_event_destroy(w->start);
    tdm_event_destroy(w->end);
    for (int i = 0; i < BUFFERS; i++)
        tdm_buffer_release(w->buffers[i]);
    tdm_buffer_release(w->elsewhere);
    if (w->pinned) tdm_host_free(w->devices[0], w->pinned);
    tdm_device_release(w->devices[0]);
    tdm_device_release(w->devices[1]);
}

tdm_status workout(tdm_backend backend) {
    static workplace place;
    place = (workplace){.backend = backend};
    wrong[0] = '\0';
    tdm_status status = steps(&place);
    clean_up(&place);
    expect(place.notified <= place.taken, "the owner of adopted memory was notified twice");
    return status;
}
