/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Failures and limits of CUDA: memory runs out, a device is lost, several threads and
 * devices. On the simulated machine; each test is a separate process. */
#include "traps.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "small.h"
#include "support/check.h"

#include <tandem/layers.h>

enum { OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, MIB = 1 << 20 };

void traps_begin(void) { cuda_sim_count_reports(); }

void traps_end(void) {
    CHECK(cuda_sim_reports() == 0, "reported: %s", cuda_sim_last_report());
    CHECK(cuda_sim_report_leaks() == 0, "leaked: %s", cuda_sim_last_report());
    CHECK(cuda_sim_last_error() == 0, "error %d was left in the runtime", cuda_sim_last_error());
}

TestSuite(traps, .init = traps_begin, .fini = traps_end);

static void works(small *s) {
    static int turn;
    bool right = false;
    OK(small_work(s, turn++, &right));
    CHECK(right, "wrong numbers on %s", tdm_device_get_info(s->device)->id);
}

/* --- launches -----------------------------------------------------------------------------------
 */

/* A batch of few rows still has work for every multiprocessor: the rows are cut, whether a column
 * is a channel or a channel has several columns. */
Test(traps, batch_norm_of_few_rows_fills_the_device) {
    enum { CHANNELS = 1 << 20 };
    small s;
    tdm_buffer *statistics = NULL, *data = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_buffer_create(s.device, CHANNELS * sizeof(float), &statistics));
    OK(tdm_buffer_fill(s.queue, statistics, 0, CHANNELS * sizeof(float), "", 1));
    OK(tdm_buffer_create(s.device, 2 * CHANNELS * sizeof(float), &data));
    OK(tdm_buffer_fill(s.queue, data, 0, 2 * CHANNELS * sizeof(float), "", 1));
    tdm_tensor shapes[] = {tdm_tensor_2d(data, TDM_F32, 2, CHANNELS),
                           tdm_tensor_3d(data, TDM_F32, 2, CHANNELS / 4, 4),
                           tdm_tensor_3d(data, TDM_F32, 1, 2, CHANNELS)};
    const unsigned units = (unsigned)tdm_device_get_info(s.device)->compute_units, some = 3 * units;
    for (int i = 0; i < 3; i++) {
        tdm_tensor *x = &shapes[i], c = tdm_tensor_1d(statistics, TDM_F32, x->shape[1]);
        OK(tdm_batch_norm(s.queue, x, &c, &c, NULL, NULL, 1e-5, x));
        OK(tdm_queue_finish(s.queue));
        CHECK(units > 1 && cuda_sim_blocks() >= some, "%u blocks for %u multiprocessors, shape %d",
              cuda_sim_blocks(), units, i);
    }
    tdm_buffer_release(data);
    tdm_buffer_release(statistics);
    small_close(&s);
}

/* --- memory runs out ----------------------------------------------------------------------------
 */

/* All that the device has is taken, but for so many bytes. */
static void leave(int device, size_t bytes) {
    cuda_sim_limit(device, cuda_sim_memory(device) + bytes);
}

static uint64_t cached(tdm_device *device) {
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    OK(tdm_device_get_memory_stats(device, &stats));
    return stats.cached;
}

/* The message says how much was requested; requests that fit still work. With nothing kept there is
 * nothing to give back, so the driver is called once. */
Test(traps, out_of_memory) {
    small s;
    tdm_buffer *large = NULL, *fits = NULL;
    OK(small_open(&s, "cuda:0"));
    works(&s);
    leave(0, MIB);
    cuda_sim_heal();
    REFUSED(tdm_buffer_create(s.device, 64 * MIB, &large), TDM_ERROR_OUT_OF_MEMORY,
            "67108864 bytes on cuda:0|cudaMalloc|out of memory");
    CHECK(!large && cuda_sim_calls("cudaMalloc") == 1, "%lu calls", cuda_sim_calls("cudaMalloc"));
    CHECK(cuda_sim_last_error() == 0, "the runtime keeps error %d", cuda_sim_last_error());
    OK(tdm_buffer_create(s.device, MIB / 2, &fits));
    works(&s);
    tdm_buffer_release(fits);
    small_close(&s);
}

/* The pool waits for work in flight on the memory that it keeps, gives it back, and calls the driver
 * once more, but no more often when that does not help either. */
Test(traps, pool_gives_back) {
    setenv("TDM_CUDA_SIM", "delay=2000", 1);
    small s;
    tdm_buffer *halves[2] = {NULL}, *whole = NULL, *more = NULL;
    OK(small_open(&s, "cuda:0"));
    works(&s);
    leave(0, 8 * MIB);
    for (int i = 0; i < 2; i++) {
        OK(tdm_buffer_create(s.device, 4 * MIB, &halves[i]));
        for (int turn = 0; turn < 4; turn++)
            OK(tdm_buffer_fill_async(s.queue, halves[i], 0, 4 * MIB, "x", 1));
    }
    for (int i = 0; i < 2; i++)
        tdm_buffer_release(halves[i]);
    CHECK(cached(s.device) == 8 * MIB, "%llu bytes are kept", (unsigned long long)cached(s.device));
    cuda_sim_heal();
    OK(tdm_buffer_create(s.device, 8 * MIB, &whole));
    CHECK(cuda_sim_calls("cudaMalloc") == 2 && cuda_sim_calls("cudaFree") == 2, "%lu and %lu calls",
          cuda_sim_calls("cudaMalloc"), cuda_sim_calls("cudaFree"));
    CHECK(cached(s.device) == 0, "%llu bytes are kept", (unsigned long long)cached(s.device));
    tdm_buffer_release(whole);
    cuda_sim_heal();
    REFUSED(tdm_buffer_create(s.device, 16 * MIB, &more), TDM_ERROR_OUT_OF_MEMORY,
            "16777216 bytes");
    CHECK(cuda_sim_calls("cudaMalloc") == 2, "%lu calls", cuda_sim_calls("cudaMalloc"));
    works(&s);
    small_close(&s);
}

Test(traps, pinned_memory_runs_out) {
    small s;
    void *pinned = NULL;
    OK(small_open(&s, "cuda:0"));
    cuda_sim_fail("cudaHostAlloc", 1, false, OUT_OF_MEMORY);
    REFUSED(tdm_host_alloc(s.device, 1000000, &pinned), TDM_ERROR_OUT_OF_MEMORY,
            "1000000 bytes|cudaHostAlloc|out of memory");
    CHECK(!pinned && cuda_sim_last_error() == 0, "an error was left");
    OK(tdm_host_alloc(s.device, 1000000, &pinned));
    works(&s);
    tdm_host_free(s.device, pinned);
    small_close(&s);
}

/* cuBLASLt finds an algorithm once a shape, whatever order the products come in. */
Test(traps, a_plan_is_found_once_a_shape) {
    static const int64_t sizes[] = {32, 32, 48, 32, 48, 48, 32};
    small s;
    OK(small_open(&s, "cuda:0"));
    cuda_sim_heal();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tdm_tensor a, c;
        OK(tdm_ones(s.queue, TDM_F32, TDM_SHAPE(sizes[i], sizes[i]), &a));
        OK(tdm_empty(s.queue, TDM_F32, TDM_SHAPE(sizes[i], sizes[i]), &c));
        OK(tdm_matmul(s.queue, NULL, &a, &a, &c));
        tdm_tensor_release(&a);
        tdm_tensor_release(&c);
    }
    OK(tdm_queue_finish(s.queue));
    CHECK(cuda_sim_calls("cublasLtMatmulAlgoGetHeuristic") == 2, "%lu heuristics for two shapes",
          cuda_sim_calls("cublasLtMatmulAlgoGetHeuristic"));
    CHECK(cuda_sim_calls("cublasLtMatmulDescCreate") == 2, "%lu descriptions for two shapes",
          cuda_sim_calls("cublasLtMatmulDescCreate"));
    CHECK(cuda_sim_calls("cublasLtMatmul") == 7, "%lu products", cuda_sim_calls("cublasLtMatmul"));
    small_close(&s);
}

/* One long row's norm is found in pieces, which need scratch memory of the queue's own. */
Test(traps, scratch_runs_out) {
    small s;
    tdm_buffer *buffers[2] = {NULL}, *kept = NULL;
    float norm = 0;
    OK(small_open(&s, "cuda:0"));
    works(&s);
    OK(tdm_buffer_create(s.device, 4 * MIB, &buffers[0]));
    OK(tdm_buffer_create(s.device, sizeof norm, &buffers[1]));
    OK(tdm_buffer_create(s.device, MIB, &kept));
    tdm_tensor x = tdm_tensor_1d(buffers[0], TDM_F32, MIB);
    tdm_tensor out = tdm_tensor_1d(buffers[1], TDM_F32, 1);
    OK(tdm_fill(s.queue, 1.0, &x));
    leave(0, 0);
    cuda_sim_heal();
    REFUSED(tdm_row_norm(s.queue, TDM_NORM_L2, &x, &out), TDM_ERROR_OUT_OF_MEMORY,
            "cudaMalloc of 1536 bytes");
    CHECK(cuda_sim_calls("cudaMalloc") == 1, "%lu calls", cuda_sim_calls("cudaMalloc"));
    tdm_buffer_release(kept);
    OK(tdm_row_norm(s.queue, TDM_NORM_L2, &x, &out));
    OK(tdm_buffer_read(s.queue, buffers[1], 0, &norm, sizeof norm));
    CHECK(norm > 1023.99f && norm < 1024.01f, "norm %g", (double)norm);
    CHECK(cuda_sim_calls("cudaMalloc") == 3, "%lu calls", cuda_sim_calls("cudaMalloc"));
    for (int i = 0; i < 2; i++)
        tdm_buffer_release(buffers[i]);
    small_close(&s);
}

/* --- a lost device ------------------------------------------------------------------------------
 */

#define LOST(call) REFUSED(call, TDM_ERROR_DEVICE_LOST, "cuda:0")

static void check_transfers_lost(small *lost, small *other, void *host) {
    void *pointer = NULL;
    tdm_buffer *buffer = NULL;
    tdm_buffer *a = lost->buffers[0], *b = lost->buffers[1];
    LOST(tdm_buffer_create(lost->device, 64, &buffer));
    LOST(tdm_host_alloc(lost->device, 64, &pointer));
    LOST(tdm_buffer_write(lost->queue, a, 0, host, 64));
    LOST(tdm_buffer_write_async(lost->queue, a, 0, host, 64));
    LOST(tdm_buffer_read(lost->queue, a, 0, host, 64));
    LOST(tdm_buffer_read_async(lost->queue, a, 0, host, 64));
    LOST(tdm_buffer_fill(lost->queue, a, 0, 64, "x", 1));
    LOST(tdm_buffer_copy(lost->queue, a, 0, b, 0, 64));
    LOST(tdm_buffer_copy(lost->queue, a, 0, other->buffers[0], 0, 64));
    LOST(tdm_buffer_copy(other->queue, a, 0, other->buffers[0], 0, 64));
    LOST(tdm_buffer_copy(other->queue, other->buffers[0], 0, a, 0, 64));
    LOST(tdm_buffer_map(lost->queue, a, 0, 64, TDM_MAP_READ, &pointer));
}

static void check_work_lost(small *lost) {
    tdm_queue *queue = NULL;
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_tensor row = tdm_tensor_1d(lost->buffers[1], TDM_F32, SMALL_N);
    LOST(tdm_fill(lost->queue, 1.0, &lost->x));
    LOST(tdm_add(lost->queue, &lost->x, &lost->x, &lost->y));
    LOST(tdm_layer_norm(lost->queue, &lost->x, NULL, NULL, 0.0, &lost->x));
    LOST(tdm_row_norm(lost->queue, TDM_NORM_L2, &lost->x, &row));
    LOST(tdm_matmul(lost->queue, &options, &lost->x, &lost->x, &lost->y));
    LOST(tdm_queue_create(lost->device, 0, &queue));
    LOST(tdm_queue_flush(lost->queue));
    LOST(tdm_queue_finish(lost->queue));
    LOST(tdm_device_get_memory_stats(lost->device, &stats));
    LOST(tdm_device_trim(lost->device));
}

static void check_events_lost(small *lost, small *other, tdm_event *events[2]) {
    tdm_event *made = NULL;
    bool done = false;
    double seconds = 0;
    LOST(tdm_event_create(lost->device, &made));
    LOST(tdm_queue_record_event(lost->queue, events[0]));
    LOST(tdm_event_wait(events[0]));
    LOST(tdm_event_query(events[0], &done));
    LOST(tdm_event_elapsed(events[0], events[1], &seconds));
    LOST(tdm_queue_wait_event(lost->queue, events[0]));
    LOST(tdm_queue_wait_event(other->queue, events[0]));
}

/* The wait and every call from then on report a kernel's fault, with the device's name; the other
 * device goes on; all can be given back; and in this process the device stays lost. */
Test(traps, illegal_address) {
    small lost, other;
    tdm_device *again = NULL;
    tdm_event *events[2] = {NULL};
    void *host = NULL;
    OK(small_open(&lost, "cuda:0"));
    OK(small_open(&other, "cuda:1"));
    works(&lost);
    works(&other);
    OK(tdm_host_alloc(lost.device, 64, &host));
    for (int i = 0; i < 2; i++) {
        OK(tdm_event_create(lost.device, &events[i]));
        OK(tdm_queue_record_event(lost.queue, events[i]));
    }
    cuda_sim_fail("kernel", 1, false, ILLEGAL_ADDRESS);
    OK(tdm_fill(lost.queue, 1.0, &lost.x));
    REFUSED(tdm_queue_finish(lost.queue), TDM_ERROR_DEVICE_LOST,
            "cuda:0 is lost|illegal memory access|error 700|new process");
    works(&other);
    check_transfers_lost(&lost, &other, host);
    check_work_lost(&lost);
    check_events_lost(&lost, &other, events);
    LOST(tdm_device_open("cuda:0", &again));
    CHECK(!again, "a lost device was opened");
    works(&other);
    for (int i = 0; i < 2; i++)
        tdm_event_destroy(events[i]);
    tdm_host_free(lost.device, host);
    small_close(&lost);
    CHECK(cuda_sim_memory(0) == 0, "%zu bytes are kept", cuda_sim_memory(0));
    REFUSED(tdm_device_open("cuda:0", &again), TDM_ERROR_DEVICE_LOST,
            "opening cuda:0|illegal memory access|new process");
    CHECK(!again, "a lost device was opened");
    works(&other);
    small_close(&other);
}

/* A copy to a device that is lost, unknown until then: its own device is not taken for lost. */
Test(traps, copy_to_a_lost_device) {
    small from, to;
    bool right = false;
    OK(small_open(&from, "cuda:0"));
    OK(small_open(&to, "cuda:1"));
    works(&from);
    cuda_sim_lose(1, ILLEGAL_ADDRESS);
    REFUSED(tdm_buffer_copy(from.queue, from.buffers[0], 0, to.buffers[0], 0, SMALL_BYTES),
            TDM_ERROR_DEVICE_LOST, "cuda:1 is lost|illegal");
    works(&from);
    REFUSED(small_work(&to, 0, &right), TDM_ERROR_DEVICE_LOST, "cuda:1 was lost");
    small_close(&to);
    works(&from);
    small_close(&from);
}

Test(traps, copy_from_a_lost_device) {
    small from, to;
    OK(small_open(&from, "cuda:0"));
    OK(small_open(&to, "cuda:1"));
    cuda_sim_lose(0, ILLEGAL_ADDRESS);
    REFUSED(tdm_buffer_copy(to.queue, from.buffers[0], 0, to.buffers[0], 0, SMALL_BYTES),
            TDM_ERROR_DEVICE_LOST, "cuda:0 is lost|illegal");
    works(&to);
    small_close(&from);
    works(&to);
    small_close(&to);
}

/* --- a device is lost in a mirror's run ---------------------------------------------------------
 */

/* y = x w^T + b; with `lost` not negative that device is lost halfway. */
static tdm_status apply(const tdm_replica *replica, void *user) {
    const int *lost = user;
    tdm_status status = tdm_linear_apply(replica->queue, replica->parameters, "",
                                         &replica->inputs[0], TDM_ACTIVATION_NONE, replica->output);
    if (*lost >= 0 && replica->index == (size_t)*lost) cuda_sim_lose(*lost, ILLEGAL_ADDRESS);
    if (status == TDM_OK)
        status = tdm_add(replica->queue, replica->output, replica->output, replica->output);
    return status;
}

static uint64_t in_use(tdm_device *device) {
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    OK(tdm_device_get_memory_stats(device, &stats));
    return stats.in_use;
}

static void lose_in_mirror(int lost) {
    small s[2];
    tdm_mirror *mirror = NULL;
    tdm_state_dict *dict = NULL;
    tdm_generator generator = {1, 0};
    int which = -1;
    char words[64];
    OK(small_open(&s[0], "cuda:0"));
    OK(small_open(&s[1], "cuda:1"));
    tdm_device *devices[2] = {s[0].device, s[1].device};
    small *other = &s[1 - lost];
    OK(tdm_fill(s[0].queue, 1.0, &s[0].x));
    OK(tdm_state_dict_create(&dict));
    OK(tdm_linear_create(s[0].queue, &generator, "", SMALL_N, SMALL_N, true, TDM_F32, dict));
    OK(tdm_mirror_create(s[0].queue, dict, 2, devices, &mirror));
    OK(tdm_mirror_run(s[0].queue, mirror, apply, &which, 1, &s[0].x, &s[0].y));
    uint64_t before = in_use(other->device);
    which = lost;
    snprintf(words, sizeof words, "tdm_mirror_run|on cuda:%d|illegal memory access", lost);
    REFUSED(tdm_mirror_run(s[0].queue, mirror, apply, &which, 1, &s[0].x, &s[0].y),
            TDM_ERROR_DEVICE_LOST, words);
    CHECK(in_use(other->device) == before, "the other device keeps the replica's memory");
    works(other);
    snprintf(words, sizeof words, "cuda:%d was lost", lost);
    REFUSED(tdm_mirror_run(s[0].queue, mirror, apply, &which, 1, &s[0].x, &s[0].y),
            TDM_ERROR_DEVICE_LOST, words);
    works(other);
    tdm_mirror_destroy(mirror);
    tdm_state_dict_destroy(dict);
    for (int i = 0; i < 2; i++)
        small_close(&s[i]);
}

Test(traps, mirror_loses_the_first_device) { lose_in_mirror(0); }

Test(traps, mirror_loses_the_second_device) { lose_in_mirror(1); }

/* --- two threads, two devices -------------------------------------------------------------------
 */

enum { TURNS = 100 };

typedef struct worker {
    const char *names[2]; /* used in turn */
    tdm_status status;
    char message[256];
    int wrong, last_error;
} worker;

static void *use_devices(void *context) {
    worker *w = context;
    for (int turn = 0; turn < TURNS && w->status == TDM_OK; turn++) {
        small s;
        w->status = small_open(&s, w->names[turn % 2]);
        for (int i = 0; i < 4 && w->status == TDM_OK; i++) {
            bool right = false;
            w->status = small_work(&s, turn + i, &right);
            w->wrong += w->status == TDM_OK && !right;
        }
        if (w->status != TDM_OK) snprintf(w->message, sizeof w->message, "%s", tdm_last_error());
        small_close(&s);
    }
    w->last_error = cuda_sim_last_error();
    return NULL;
}

static void two_threads(worker workers[2]) {
    setenv("TDM_CUDA_SIM", "delay=20", 1);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, use_devices, &workers[i]) != 0) abort();
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].status == TDM_OK, "thread %d: %s", i, workers[i].message);
        CHECK(!workers[i].wrong, "thread %d: %d times wrong", i, workers[i].wrong);
        CHECK(!workers[i].last_error, "thread %d: error %d", i, workers[i].last_error);
    }
}

Test(traps, two_threads_with_a_device_each) {
    worker workers[2] = {{.names = {"cuda:0", "cuda:0"}}, {.names = {"cuda:1", "cuda:1"}}};
    two_threads(workers);
}

Test(traps, two_threads_with_both_devices) {
    worker workers[2] = {{.names = {"cuda:0", "cuda:1"}}, {.names = {"cuda:1", "cuda:0"}}};
    two_threads(workers);
}

/* --- two threads, one device's kernels ----------------------------------------------------------
 */

typedef struct warmth {
    tdm_device *device;
    tdm_status status;
    char message[256];
    size_t kernels;
} warmth;

static void *warm_device(void *context) {
    static const tdm_dtype f32 = TDM_F32;
    warmth *w = context;
    w->status = tdm_device_warm(w->device, &f32, 1, &w->kernels);
    snprintf(w->message, sizeof w->message, "%s", w->status == TDM_OK ? "" : tdm_last_error());
    return NULL;
}

/* Two threads at once, each with several threads. */
static void warm_twice(warmth both[2]) {
    tdm_device *device = both[0].device;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        both[i] = (warmth){.device = device};
        if (pthread_create(&threads[i], NULL, warm_device, &both[i]) != 0) abort();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* A thread that needs a kernel that another thread is compiling waits for it; a failed one is tried
 * again. */
Test(traps, two_threads_compile_each_kernel_once) {
    setenv("TDM_CUDA_SIM", "devices=1", 1);
    setenv("TANDEM_CACHE_DIR", "/dev/null/none", 1);
    setenv("TANDEM_CPU_THREADS", "3", 1);
    small s;
    OK(small_open(&s, "cuda:0"));
    warmth both[2] = {{.device = s.device}};
    cuda_sim_fail("nvrtcCompileProgram", 7, false, 6);
    warm_twice(both);
    CHECK(both[0].status == TDM_ERROR_COMPILE || both[1].status == TDM_ERROR_COMPILE, "%s, %s",
          tdm_status_name(both[0].status), tdm_status_name(both[1].status));
    const char *why = both[both[0].status == TDM_OK].message;
    CHECK(contains_words(why, "building|cuda:0"), "'%s'", why);
    unsigned long compiled = cuda_sim_calls("nvrtcCompileProgram") - 1;
    cuda_sim_heal();
    warm_twice(both);
    for (int i = 0; i < 2; i++)
        CHECK(both[i].status == TDM_OK && both[i].kernels > 20, "%zu kernels: %s", both[i].kernels,
              both[i].message);
    compiled += cuda_sim_calls("nvrtcCompileProgram");
    CHECK(both[0].kernels == both[1].kernels && compiled == both[0].kernels,
          "%lu were compiled for %zu and %zu kernels", compiled, both[0].kernels, both[1].kernels);
    cuda_sim_heal();
    works(&s);
    CHECK(cuda_sim_calls("nvrtcCompileProgram") == 0, "a usual kernel was not there");
    small_close(&s);
}
