/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The caller's contexts stay as they are: none is made on a device that was not opened, the current one
 * stays current, and the runtime's last error stays. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "control.h"
#include "cuda/declarations.h"
#include "failing/workout.h"
#include "small.h"
#include "support/check.h"
#include "traps.h"

enum { DEVICES = 4 };

static void begin(void) {
    setenv("TDM_CUDA_SIM", "devices=4", 1);
    traps_begin();
}

TestSuite(contexts, .init = begin, .fini = traps_end);

/* Devices that have a context, a bit each. */
static unsigned contexts(void) {
    unsigned made = 0;
    for (int i = 0; i < DEVICES; i++)
        made |= cuda_sim_has_context(i) ? 1u << i : 0;
    return made;
}

static CUcontext current(void) {
    CUcontext context = NULL;
    CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS, "cuCtxGetCurrent");
    return context;
}

/* Looking opens nothing, takes no device for this thread, and leaves no error. */
Test(contexts, none_by_looking) {
    size_t count = 0, index = 0, gpus = 0;
    const tdm_device_info *info = NULL;
    static tdm_device_usage usage = TDM_DEVICE_USAGE_DEFAULTS;
    OK(tdm_get_device_count(&count));
    CHECK(count >= DEVICES, "%zu devices", count);
    OK(tdm_get_gpu_count(&gpus));
    for (size_t i = 0; i < count; i++) {
        OK(tdm_get_listed_device(i, &info));
        OK(tdm_get_listed_device_usage(i, &usage));
    }
    OK(tdm_find_device("cuda:3", &index));
    OK(tdm_get_diagnostic_count(&count));
    CHECK(contexts() == 0, "contexts %#x", contexts());
    CHECK(!current(), "a context is current");
    CHECK(cuda_sim_last_error() == 0, "error %d", cuda_sim_last_error());
}

/* One is made where a device is opened, and nowhere else by work, copies and giving back. */
Test(contexts, only_where_opened) {
    small one, two;
    bool right = false;
    OK(small_open(&one, "cuda:1"));
    CHECK(contexts() == 2, "contexts %#x", contexts());
    OK(small_work(&one, 0, &right));
    CHECK(right && contexts() == 2, "contexts %#x", contexts());
    OK(small_open(&two, "cuda:2"));
    OK(tdm_buffer_copy(one.queue, one.buffers[0], 0, two.buffers[0], 0, SMALL_BYTES));
    OK(tdm_buffer_copy(one.queue, two.buffers[0], 0, one.buffers[1], 0, SMALL_BYTES));
    small_close(&two);
    OK(small_work(&one, 1, &right));
    CHECK(right && contexts() == 6, "contexts %#x", contexts());
    small_close(&one);
    CHECK(contexts() == 6 && !current(), "contexts %#x", contexts());
}

/* --- what is current stays current --------------------------------------------------------------
 */

static CUcontext wanted;

/* The call may fail; afterwards the caller's context is current, and the runtime keeps no error. */
#define STAYS(call)                                                                                \
    do {                                                                                           \
        (void)!(call);                                                                             \
        CHECK(current() == wanted, "%s left another context", #call);                              \
        CHECK(cuda_sim_last_error() == 0, "%s left error %d", #call, cuda_sim_last_error());       \
    } while (0)
#define STAYS_AFTER(call)                                                                          \
    do {                                                                                           \
        (call);                                                                                    \
        STAYS(TDM_OK);                                                                             \
    } while (0)

static void use_events(small *s, small *other) {
    tdm_event *events[2] = {NULL};
    bool done;
    double seconds;
    for (int i = 0; i < 2; i++) {
        STAYS(tdm_event_create(s->device, &events[i]));
        if (events[i]) STAYS(tdm_queue_record_event(s->queue, events[i]));
    }
    if (events[0] && events[1]) {
        STAYS(tdm_queue_wait_event(s->queue, events[0]));
        STAYS(tdm_queue_wait_event(other->queue, events[0]));
        STAYS(tdm_event_query(events[0], &done));
        STAYS(tdm_event_wait(events[0]));
        STAYS(tdm_event_elapsed(events[0], events[1], &seconds));
    }
    for (int i = 0; i < 2; i++)
        STAYS_AFTER(tdm_event_destroy(events[i]));
}

static void use_memory(small *s, small *other) {
    tdm_buffer *buffer = NULL;
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    void *pinned = NULL, *mapped = NULL;
    float host[SMALL_N];
    tdm_buffer *a = s->buffers[0], *b = s->buffers[1];
    STAYS(tdm_buffer_create(s->device, 1 << 20, &buffer));
    STAYS_AFTER(tdm_buffer_release(buffer));
    STAYS(tdm_device_get_memory_stats(s->device, &stats));
    STAYS(tdm_device_trim(s->device));
    STAYS(tdm_host_alloc(s->device, 100, &pinned));
    STAYS_AFTER(tdm_host_free(s->device, pinned));
    STAYS(tdm_buffer_fill(s->queue, a, 0, 64, "0123456789abcdef", 16));
    STAYS(tdm_buffer_fill(s->queue, a, 0, 64, "01", 2));
    STAYS(tdm_buffer_write(s->queue, a, 0, host, sizeof host));
    STAYS(tdm_buffer_read(s->queue, a, 0, host, sizeof host));
    STAYS(tdm_buffer_copy(s->queue, a, 0, b, 0, 64));
    STAYS(tdm_buffer_copy(s->queue, a, 0, other->buffers[0], 0, 64));
    STAYS(tdm_buffer_copy(s->queue, other->buffers[0], 0, a, 0, 64));
    STAYS(tdm_buffer_map(s->queue, a, 0, 64, TDM_MAP_READ | TDM_MAP_WRITE, &mapped));
    if (mapped) STAYS(tdm_buffer_unmap(s->queue, a, mapped));
}

static void use_all(const char *name, const char *other_name) {
    small s, other;
    bool right;
    tdm_queue *queue = NULL;
    STAYS(small_open(&other, other_name));
    STAYS(small_open(&s, name));
    STAYS(tdm_queue_create(s.device, 0, &queue));
    STAYS_AFTER(tdm_queue_destroy(queue));
    use_memory(&s, &other);
    use_events(&s, &other);
    STAYS(small_work(&s, 1, &right));
    STAYS(tdm_queue_flush(s.queue));
    STAYS(tdm_queue_finish(s.queue));
    STAYS_AFTER(small_close(&s));
    STAYS_AFTER(small_close(&other));
}

/* A thread on another device, which Tandem never opened. */
Test(contexts, of_another_device) {
    CHECK(cudaSetDevice(3) == cudaSuccess, "cudaSetDevice");
    wanted = current();
    use_all("cuda:0", "cuda:1");
    use_all("cuda:1", "cuda:0");
    STAYS(workout(TDM_CUDA));
    CHECK(!workout_is_wrong(), "%s", workout_is_wrong());
    CHECK(contexts() == 11, "contexts %#x", contexts());
}

/* As before CUDA 12: the thread's choice is no context yet, and holds for the program's next call. */
Test(contexts, of_a_device_without_context) {
    void *memory = NULL;
    cuda_sim_choose_late();
    CHECK(cudaSetDevice(3) == cudaSuccess, "cudaSetDevice");
    wanted = NULL;
    use_all("cuda:0", "cuda:1");
    CHECK(contexts() == 3, "contexts %#x", contexts());
    CHECK(cudaMalloc(&memory, 64) == cudaSuccess && cudaFree(memory) == cudaSuccess, "cudaMalloc");
    CHECK(contexts() == 11, "contexts %#x", contexts());
}

/* A thread that has used no device. */
Test(contexts, of_no_device) {
    wanted = NULL;
    use_all("cuda:1", "cuda:2");
    CHECK(contexts() == 6, "contexts %#x", contexts());
}

/* Tandem's own calls fail, one kind after the other. (A wait that fails is in faults.c: the work
 * that it would have waited for goes on.) */
Test(contexts, after_failures) {
    static const char *const functions[] = {
        "cudaMalloc",           "cudaHostAlloc",   "cudaMemcpyAsync",  "cudaMemcpyPeerAsync",
        "cuLaunchKernel",       "cudaStreamQuery", "cudaEventRecord",  "cudaEventQuery",
        "cudaEventSynchronize", "cublasLtMatmul",  "cuModuleLoadData", "cudaMemsetAsync"};
    CHECK(cudaSetDevice(3) == cudaSuccess, "cudaSetDevice");
    wanted = current();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        check_case("%s fails", functions[i]);
        cuda_sim_heal();
        cuda_sim_fail(functions[i], 2, true, cudaErrorUnknown);
        use_all("cuda:0", "cuda:1");
        use_all("cuda:1", "cuda:0");
        cuda_sim_heal();
    }
    check_case("a lost device");
    small s;
    OK(small_open(&s, "cuda:1"));
    cuda_sim_lose(1, cudaErrorIllegalAddress);
    small_close(&s);
    use_all("cuda:0", "cuda:1");
}

/* A pending error that the caller caused is still there after calls of ours that succeed. */
Test(contexts, the_callers_error) {
    small s;
    bool right = false;
    OK(small_open(&s, "cuda:1"));
    OK(small_work(&s, 0, &right));
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice, "a device 99");
    OK(small_work(&s, 1, &right));
    OK(tdm_queue_finish(s.queue));
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice, "the caller's error is gone");
    small_close(&s);
}
