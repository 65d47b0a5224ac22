/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: the calls of the driver for a replay, and the fate of a graph that the driver does not make. */
#include "traps.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <tandem/cuda.h>

#include "control.h"
#include "cuda/declarations.h"
#include "small.h"
#include "support/check.h"

enum {
    ALLOC_FAILED = 3,
    UNKNOWN = 999,
    INVALID = 1,
    INVALIDATED = 901,
    NOT_SUPPORTED = 15,
    EXECUTION_FAILED = 13
};

TestSuite(graphs, .init = traps_begin, .fini = traps_end);

/* y = 2 x x, by a product and a launch. */
static void record(small *s, tdm_graph *graph) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    OK(tdm_graph_begin(graph));
    OK(tdm_matmul(s->queue, &options, &s->x, &s->x, &s->y));
    OK(tdm_add(s->queue, &s->y, &s->y, &s->y));
    OK(tdm_graph_end(graph));
}

/* Replays with x of one value, and looks at y. */
static void replay(small *s, tdm_graph *graph, float value) {
    float got[SMALL_N * SMALL_N];
    OK(tdm_fill(s->queue, (double)value, &s->x));
    OK(tdm_fill(s->queue, -1.0, &s->y));
    OK(tdm_queue_finish(s->queue));
    cuda_sim_heal();
    OK(tdm_graph_replay(graph));
    OK(tdm_buffer_read(s->queue, s->y.buffer, 0, got, sizeof got));
    const float wanted = 2 * value * value * (float)SMALL_N;
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != wanted) {
            check_fail(__FILE__, __LINE__, "element %zu is %g, not %g", i, (double)got[i],
                       (double)wanted);
            return;
        }
}

static void expect(unsigned long launches, unsigned long graphs, unsigned long made,
                   unsigned long updated) {
    CHECK(cuda_sim_calls("cuLaunchKernel") == launches, "%lu launches, not %lu",
          cuda_sim_calls("cuLaunchKernel"), launches);
    CHECK(cuda_sim_calls("cuGraphLaunch") == graphs, "%lu launches of graphs, not %lu",
          cuda_sim_calls("cuGraphLaunch"), graphs);
    CHECK(cuda_sim_calls("cuGraphInstantiate") == made, "%lu graphs made, not %lu",
          cuda_sim_calls("cuGraphInstantiate"), made);
    CHECK(cuda_sim_calls("cuGraphExecUpdate") == updated, "%lu updates, not %lu",
          cuda_sim_calls("cuGraphExecUpdate"), updated);
}

/* From the second replay on it is one launch, also after changes. */
Test(graphs, one_launch) {
    small s;
    tdm_graph *graph = NULL;
    tdm_buffer *other = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_buffer_create(s.device, SMALL_BYTES, &other));
    OK(tdm_graph_create(s.queue, &graph));
    record(&s, graph);
    check_case("the first replay");
    replay(&s, graph, 1);
    expect(1, 0, 0, 0);
    check_case("the second replay");
    replay(&s, graph, 2);
    expect(1, 1, 1, 0); /* this launch is captured */
    for (int turn = 3; turn < 6; turn++) {
        check_case("replay %d", turn);
        replay(&s, graph, (float)turn);
        expect(0, 1, 0, 0);
        CHECK(cuda_sim_calls("cublasLtMatmul") == 0, "a product was requested");
    }
    check_case("another buffer");
    OK(tdm_graph_set_buffer(graph, s.buffers[1], other));
    s.y.buffer = other;
    replay(&s, graph, 3);
    expect(1, 1, 0, 1);
    replay(&s, graph, 5);
    expect(0, 1, 0, 0);
    check_case("recorded again");
    record(&s, graph);
    replay(&s, graph, 2);
    expect(1, 0, 0, 0);
    replay(&s, graph, 3);
    expect(1, 1, 0, 1);
    check_case("recorded again, of another shape");
    OK(tdm_graph_begin(graph));
    OK(tdm_fill(s.queue, 18.0 * SMALL_N, &s.y));
    OK(tdm_graph_end(graph));
    replay(&s, graph, 3);
    replay(&s, graph, 3);
    expect(1, 1, 1, 1);
    tdm_graph_destroy(graph);
    tdm_buffer_release(other);
    small_close(&s);
}

/* A graph that the driver refuses again and again stays a list. */
Test(graphs, stay_lists) {
    static const char *const functions[] = {"cuStreamBeginCapture", "cuStreamEndCapture",
                                            "cuGraphInstantiate"};
    small s;
    OK(small_open(&s, "cuda:0"));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        tdm_graph *graph = NULL;
        check_case("%s", functions[i]);
        OK(tdm_graph_create(s.queue, &graph));
        record(&s, graph);
        replay(&s, graph, 1);
        OK(tdm_fill(s.queue, 2.0, &s.x));
        cuda_sim_fail(functions[i], 1, true, UNKNOWN);
        for (int turn = 0; turn < 5; turn++)
            OK(tdm_graph_replay(graph));
        CHECK(cuda_sim_failures() == 3, "%lu captures failed, not 3", cuda_sim_failures());
        for (int turn = 2; turn < 4; turn++) {
            replay(&s, graph, (float)turn);
            expect(1, 0, 0, 0);
        }
        tdm_graph_destroy(graph);
    }
    check_case("an update");
    tdm_graph *graph = NULL;
    OK(tdm_graph_create(s.queue, &graph));
    record(&s, graph);
    replay(&s, graph, 1);
    replay(&s, graph, 2);
    record(&s, graph);
    replay(&s, graph, 3);
    OK(tdm_fill(s.queue, 2.0, &s.x));
    cuda_sim_fail("cuGraphExecUpdate", 1, false, INVALID);
    OK(tdm_graph_replay(graph));
    CHECK(cuda_sim_calls("cuGraphInstantiate") == 1, "no graph was made in its place");
    replay(&s, graph, 4);
    expect(0, 1, 0, 0);

    check_case("a replay that fails");
    cuda_sim_fail("cuGraphLaunch", 1, false, UNKNOWN);
    REFUSED(tdm_graph_replay(graph), TDM_ERROR_BACKEND, "cuGraphLaunch|999");
    replay(&s, graph, 1);
    tdm_graph_destroy(graph);
    small_close(&s);
}

/* A thread of the program's that waits for the device ends a capture: the next replay makes another. */
Test(graphs, captured_later) {
    small s;
    tdm_graph *graph = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_graph_create(s.queue, &graph));
    record(&s, graph);
    replay(&s, graph, 1);
    OK(tdm_fill(s.queue, 2.0, &s.x));
    cuda_sim_fail("cuStreamEndCapture", 1, false, INVALIDATED);
    OK(tdm_graph_replay(graph));
    CHECK(cuda_sim_failures() == 1, "nothing failed");
    replay(&s, graph, 3);
    expect(1, 1, 1, 0);
    tdm_graph_destroy(graph);
    small_close(&s);
}

/* A product that cuBLASLt cannot run after all goes to our own kernels, in the capture, too, which would not survive
 * a query of its stream. So does another failure, whose cause the queue's own stream knows. The queue waits outside of
 * the capture for scratch memory that another queue's work still uses. */
static void refuse_a_product(int failure) {
    enum { ROWS = 1024, K = 64, COLS = 8, SCRATCH = COLS * K * 4 };
    small s;
    tdm_queue *other = NULL;
    tdm_graph *graph = NULL;
    tdm_buffer *buffers[3] = {NULL}, *between = NULL;
    static float got[ROWS * COLS];
    setenv("TDM_CUDA_SIM", "lazy=1", 1);
    OK(small_open(&s, "cuda:0"));
    OK(tdm_queue_create(s.device, 0, &other));
    for (int i = 0; i < 3; i++)
        OK(tdm_buffer_create(s.device, ROWS * K * sizeof(float), &buffers[i]));
    tdm_tensor a = tdm_tensor_2d(buffers[0], TDM_F32, ROWS, K),
               b = tdm_tensor_2d(buffers[1], TDM_F32, K, COLS),
               c = tdm_tensor_2d(buffers[2], TDM_F32, ROWS, COLS);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    OK(tdm_fill(s.queue, 1.0, &a));
    OK(tdm_fill(s.queue, 2.0, &b));
    OK(tdm_graph_create(s.queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_matmul(s.queue, &options, &a, &b, &c));
    OK(tdm_graph_end(graph));
    OK(tdm_graph_replay(graph));
    OK(tdm_buffer_create(s.device, SCRATCH, &between));
    OK(tdm_buffer_fill_async(other, between, 0, SCRATCH, "x", 1));
    tdm_buffer_release(between);
    cuda_sim_heal();
    cuda_sim_fail("cublasLtMatmul", 1, false, failure);
    OK(tdm_graph_replay(graph));
    CHECK(cuda_sim_failures() == 1, "the product was not called");
    const bool captured = failure == NOT_SUPPORTED;
    CHECK(cuda_sim_calls("cuGraphLaunch") == captured, "%lu launches of graphs, not %d",
          cuda_sim_calls("cuGraphLaunch"), captured);
    CHECK(cuda_sim_calls("cudaStreamWaitEvent") == captured, "%lu waits, not %d",
          cuda_sim_calls("cudaStreamWaitEvent"), captured);
    OK(tdm_buffer_read(s.queue, buffers[2], 0, got, sizeof got));
    CHECK(got[0] == 2 * K && got[ROWS * COLS - 1] == 2 * K, "%g", (double)got[0]);
    tdm_graph_destroy(graph);
    tdm_queue_destroy(other);
    for (int i = 0; i < 3; i++)
        tdm_buffer_release(buffers[i]);
    small_close(&s);
}

Test(graphs, refused_products) { refuse_a_product(NOT_SUPPORTED); }

Test(graphs, failing_products) { refuse_a_product(EXECUTION_FAILED); }

/* The end of a queue that had products leaves the captures of other queues' graphs alone. */
static atomic_bool enough;

static void *make_and_end_queues(void *device) {
    while (!atomic_load(&enough)) {
        small s = {.device = device};
        bool right = false;
        OK(tdm_queue_create(device, 0, &s.queue));
        for (int i = 0; i < 2; i++)
            OK(tdm_buffer_create(device, SMALL_BYTES, &s.buffers[i]));
        s.x = tdm_tensor_2d(s.buffers[0], TDM_F32, SMALL_N, SMALL_N);
        s.y = tdm_tensor_2d(s.buffers[1], TDM_F32, SMALL_N, SMALL_N);
        OK(small_work(&s, 1, &right));
        tdm_device_retain(device);
        small_close(&s);
    }
    return NULL;
}

/* A program captures a stream in CUDA's default mode, as PyTorch does: neither is disturbed by the other,
 * nor by the first use of kernels and of libraries, nor by the end of a queue. */
Test(graphs, of_the_program) {
    small s;
    bool entered = false, done = false, right = false;
    tdm_queue *other = NULL;
    tdm_event *event = NULL;
    tdm_buffer *more = NULL;
    cudaStream_t stream = NULL;
    CUgraph graph = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_event_create(s.device, &event));
    OK(tdm_cuda_enter(s.device, &entered));
    CHECK(!cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream");
    CHECK(!cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "no capture");
    OK(small_work(&s, 1, &right));
    CHECK(right, "wrong results");
    OK(tdm_queue_record_event(s.queue, event));
    OK(tdm_event_query(event, &done));
    OK(tdm_event_wait(event));
    OK(tdm_buffer_create(s.device, 1 << 20, &more));
    tdm_buffer_release(more);
    OK(tdm_device_trim(s.device));
    for (int i = 0; i < 3; i++) {
        OK(tdm_queue_create(s.device, 0, &other));
        if (i == 1) cuda_sim_fail("cublasLtMatmul", 1, false, ALLOC_FAILED);
        if (i == 1) OK(tdm_buffer_create(s.device, 1 << 20, &more));
        if (i == 1) tdm_buffer_release(more);
        OK(tdm_matmul(other, NULL, &s.x, &s.x, &s.y));
        tdm_queue_destroy(other);
    }
    CHECK(cuda_sim_alive(CUDA_SIM_LT_HANDLE) == 2, "%zu handles for two queues at a time",
          cuda_sim_alive(CUDA_SIM_LT_HANDLE));
    CHECK(!cuStreamEndCapture(stream, &graph), "the capture failed");
    CHECK(!cuGraphDestroy(graph), "no graph");
    CHECK(!cudaStreamDestroy(stream), "no end of the stream");
    tdm_cuda_leave(s.device, entered);
    tdm_event_destroy(event);
    small_close(&s);
}

Test(graphs, queues_that_end_meanwhile) {
    enum { SLOW_K = 25, TURNS = 20 }; /* a product that takes 4 ms to give */
    small s;
    pthread_t thread;
    tdm_graph *graph = NULL;
    OK(small_open(&s, "cuda:0"));
    tdm_tensor a = tdm_tensor_2d(s.buffers[0], TDM_F32, 4, SLOW_K),
               b = tdm_tensor_2d(s.buffers[0], TDM_F32, SLOW_K, 4),
               c = tdm_tensor_2d(s.buffers[1], TDM_F32, 4, 4);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    OK(tdm_buffer_fill(s.queue, s.buffers[0], 0, SMALL_BYTES, "", 1));
    OK(tdm_graph_create(s.queue, &graph));
    CHECK(pthread_create(&thread, NULL, make_and_end_queues, s.device) == 0, "a thread");
    for (int turn = 0; turn < TURNS; turn++) {
        OK(tdm_graph_begin(graph));
        OK(tdm_matmul(s.queue, &options, &a, &b, &c));
        OK(tdm_graph_end(graph));
        OK(tdm_graph_replay(graph));
        OK(tdm_graph_replay(graph));
    }
    atomic_store(&enough, true);
    (void)pthread_join(thread, NULL);
    CHECK(cuda_sim_calls("cuGraphLaunch") == TURNS, "%lu of %d captures succeeded",
          cuda_sim_calls("cuGraphLaunch"), TURNS);
    tdm_graph_destroy(graph);
    small_close(&s);
}
