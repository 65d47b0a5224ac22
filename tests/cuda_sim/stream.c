/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams, each a thread that runs its work in order, and events. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

typedef struct piece {
    struct piece *next;
    void (*run)(void *payload);
    sim_block *uses[SIM_MAX_USES];
    bool is_kernel, always;
    max_align_t payload[];
} piece;

struct CUstream_st {
    sim_object object;
    CUcontext context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    piece *first, *last;
    unsigned long submitted, done;
    unsigned waiters; /* a lazy stream works for them alone */
    bool ending;
    CUgraph capture;          /* new work goes there; or NULL. Any thread may end the capture: */
    bool invalidated;         /* new work is refused until the end; both atomically */
    struct CUstream_st *next; /* of all that there ever were */
};
static cudaStream_t all_streams;

/* The state of a recording, shared by events and by the streams that wait for it. */
typedef struct mark {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    double time; /* seconds */
    unsigned holders;
    cudaStream_t stream; /* which reaches it */
} mark;

struct CUevent_st {
    sim_object object;
    CUcontext context;
    bool timed;
    pthread_mutex_t lock;
    mark *recorded;        /* NULL before the first recording, and after one in a capture: */
    cudaStream_t capturer; /* the stream that was captured then, or NULL */
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the thread of a stream ---------------------------------------------------------------------
 */

/* Delays work now and then, so that a caller that does not wait for it is found out. */
static void hold_up(unsigned *random) {
    *random = *random * 1664525u + 1013904223u;
    if (sim_get()->delay && *random >> 30 == 0) usleep((useconds_t)sim_get()->delay);
}

static void run_piece(cudaStream_t stream, piece *work) {
    int error = sim_sticky(stream->context);
    if (!error && work->is_kernel) {
        error = sim_fault("kernel");
        if (error) sim_lose_context(stream->context, error);
    }
    const bool runs = !work->is_kernel || sim_get()->works;
    if ((!error && runs) || work->always) work->run(work->payload);
    for (int i = 0; i < SIM_MAX_USES; i++)
        if (work->uses[i]) sim_release(work->uses[i]);
}

static atomic_bool all_awake;

void sim_stream_wake_all(void) { atomic_store(&all_awake, true); }

/* Called, and returns, with the stream's lock held. */
static void laze(cudaStream_t stream) {
    while (sim_get()->lazy && !stream->waiters && !stream->ending && !atomic_load(&all_awake)) {
        pthread_mutex_unlock(&stream->lock);
        usleep(100);
        pthread_mutex_lock(&stream->lock);
    }
}

static void *work(void *argument) {
    cudaStream_t stream = argument;
    unsigned random = (unsigned)(uintptr_t)stream;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->first && !stream->ending)
            pthread_cond_wait(&stream->changed, &stream->lock);
        laze(stream);
        piece *next = stream->first;
        if (!next) break;
        stream->first = next->next;
        if (!stream->first) stream->last = NULL;
        pthread_mutex_unlock(&stream->lock);
        hold_up(&random);
        run_piece(stream, next);
        free(next);
        pthread_mutex_lock(&stream->lock);
        stream->done++;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* --- streams ------------------------------------------------------------------------------------
 */

int sim_stream_create(CUcontext context, unsigned flags, cudaStream_t *stream) {
    if (flags != cudaStreamNonBlocking) sim_report("a stream that waits for the default stream");
    cudaStream_t made = sim_create(CUDA_SIM_STREAM, sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    made->context = context;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    if (pthread_create(&made->thread, NULL, work, made) != 0) {
        sim_end(made);
        return cudaErrorMemoryAllocation;
    }
    made->next = __atomic_load_n(&all_streams, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_streams, &made->next, made, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
    *stream = made;
    return 0;
}

int sim_stream_destroy(cudaStream_t stream) {
    if (!sim_check(stream, CUDA_SIM_STREAM, "cudaStreamDestroy"))
        return cudaErrorInvalidResourceHandle;
    sim_end(stream);
    if (stream->capture) (void)sim_graph_destroy(stream->capture);
    __atomic_store_n(&stream->capture, NULL, __ATOMIC_RELAXED);
    pthread_mutex_lock(&stream->lock);
    bool busy = stream->done != stream->submitted && !sim_sticky(stream->context);
    stream->ending = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (busy) sim_report("cudaStreamDestroy: work is in flight, which the call does not wait for");
    pthread_join(stream->thread, NULL);
    return sim_sticky(stream->context);
}

int sim_stream_check(cudaStream_t stream, const char *function) {
    if (!sim_check(stream, CUDA_SIM_STREAM, function)) return cudaErrorInvalidResourceHandle;
    if (sim_current() != stream->context) {
        sim_report("%s: the stream is of another context than the current one", function);
        return cudaErrorInvalidResourceHandle;
    }
    return sim_sticky(stream->context);
}

/* --- captures -----------------------------------------------------------------------------------
 */

static CUgraph capture_of(cudaStream_t stream) {
    return __atomic_load_n(&stream->capture, __ATOMIC_RELAXED);
}

static bool is_invalidated(cudaStream_t stream) {
    return __atomic_load_n(&stream->invalidated, __ATOMIC_RELAXED);
}

/* A call that a capture does not allow also ends it: from then on work for the stream, and the end of
 * the capture, fail. */
static int refuse(cudaStream_t stream, int error, const char *what) {
    sim_report("%s: the capture is invalidated", what);
    if (capture_of(stream)) __atomic_store_n(&stream->invalidated, true, __ATOMIC_RELAXED);
    return error;
}

int sim_stream_begin_capture(cudaStream_t stream, CUstreamCaptureMode mode) {
    if (capture_of(stream)) {
        sim_report("cuStreamBeginCapture: the stream is captured already");
        return cudaErrorInvalidValue;
    }
    CUgraph graph = sim_graph_create(mode);
    __atomic_store_n(&stream->invalidated, false, __ATOMIC_RELAXED);
    __atomic_store_n(&stream->capture, graph, __ATOMIC_RELAXED);
    return graph ? 0 : cudaErrorMemoryAllocation;
}

int sim_stream_end_capture(cudaStream_t stream, CUgraph *graph) {
    *graph = capture_of(stream);
    if (!*graph) {
        sim_report("cuStreamEndCapture: the stream is not captured");
        return cudaErrorInvalidValue;
    }
    __atomic_store_n(&stream->capture, NULL, __ATOMIC_RELAXED);
    if (!sim_graph_end_capture(*graph) && !is_invalidated(stream)) return 0;
    (void)sim_graph_destroy(*graph);
    *graph = NULL;
    return cudaErrorStreamCaptureInvalidated;
}

int sim_stream_check_pageable(cudaStream_t stream) {
    return capture_of(stream) ? refuse(stream, cudaErrorStreamCaptureUnsupported,
                                       "a copy from or to pageable memory in a capture")
                              : 0;
}

/* --- waits --------------------------------------------------------------------------------------
 */

/* For what has been submitted by now. */
static void await_all(cudaStream_t stream) {
    pthread_mutex_lock(&stream->lock);
    const unsigned long submitted = stream->submitted;
    stream->waiters++;
    while (stream->done < submitted)
        pthread_cond_wait(&stream->changed, &stream->lock);
    stream->waiters--;
    pthread_mutex_unlock(&stream->lock);
}

int sim_stream_finish(cudaStream_t stream) {
    if (capture_of(stream))
        return refuse(stream, cudaErrorStreamCaptureUnsupported,
                      "a wait for a stream that is captured");
    await_all(stream);
    return sim_sticky(stream->context);
}

int sim_stream_query(cudaStream_t stream) {
    int error = sim_sticky(stream->context);
    if (error) return error;
    if (capture_of(stream))
        return refuse(stream, cudaErrorStreamCaptureUnsupported,
                      "cudaStreamQuery of a stream that is captured");
    pthread_mutex_lock(&stream->lock);
    bool idle = stream->done == stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    error = sim_sticky(stream->context);
    return error ? error : idle ? 0 : cudaErrorNotReady;
}

void sim_implicit_wait(CUcontext context) {
    if (!context || !sim_get()->implicit) return;
    cudaStream_t stream = __atomic_load_n(&all_streams, __ATOMIC_ACQUIRE);
    for (; stream; stream = stream->next)
        if (stream->context == context) await_all(stream);
}

void sim_device_wait(CUcontext context, const char *function) {
    cudaStream_t stream = __atomic_load_n(&all_streams, __ATOMIC_ACQUIRE);
    for (; stream; stream = stream->next) {
        if (stream->context != context || !capture_of(stream)) continue;
        (void)refuse(stream, 0, function);
        return;
    }
    sim_implicit_wait(context);
}

CUcontext sim_stream_context(cudaStream_t stream) {
    return sim_check(stream, CUDA_SIM_STREAM, "cuStreamGetCtx") ? stream->context : NULL;
}

sim_device *sim_stream_device(cudaStream_t stream) { return stream->context->device; }

int sim_enqueue(cudaStream_t stream, const sim_work *wanted) {
    CUgraph capture = capture_of(stream);
    if (capture && is_invalidated(stream)) return cudaErrorStreamCaptureInvalidated;
    if (capture && wanted->always) {
        sim_report("what waits on the device for others is not simulated in a capture");
        return cudaErrorNotSupported;
    }
    if (capture) return sim_graph_add(capture, wanted);
    piece *added = calloc(1, sizeof *added + wanted->size);
    if (!added) return cudaErrorMemoryAllocation;
    added->run = wanted->run;
    added->is_kernel = wanted->is_kernel;
    added->always = wanted->always;
    memcpy(added->uses, wanted->uses, sizeof added->uses);
    if (wanted->size) memcpy(added->payload, wanted->payload, wanted->size);
    for (int i = 0; i < SIM_MAX_USES; i++)
        if (added->uses[i]) sim_hold(added->uses[i]);
    pthread_mutex_lock(&stream->lock);
    if (stream->last)
        stream->last->next = added;
    else
        stream->first = added;
    stream->last = added;
    stream->submitted++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return 0;
}

/* --- events -------------------------------------------------------------------------------------
 */

static mark *make_mark(cudaStream_t stream, unsigned holders) {
    mark *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->holders = holders;
    made->stream = stream;
    return made;
}

static void drop_mark(mark *held) {
    if (!held) return;
    pthread_mutex_lock(&held->lock);
    bool last = --held->holders == 0;
    pthread_mutex_unlock(&held->lock);
    if (!last) return;
    pthread_mutex_destroy(&held->lock);
    pthread_cond_destroy(&held->changed);
    free(held);
}

static void reach_mark(void *payload) {
    mark *reached;
    memcpy(&reached, payload, sizeof(mark *));
    pthread_mutex_lock(&reached->lock);
    reached->done = true;
    reached->time = now();
    pthread_cond_broadcast(&reached->changed);
    pthread_mutex_unlock(&reached->lock);
    drop_mark(reached);
}

static void add_waiter(cudaStream_t stream, unsigned number) {
    pthread_mutex_lock(&stream->lock);
    stream->waiters += number;
    pthread_mutex_unlock(&stream->lock);
}

static void wait_for_mark(mark *awaited) {
    add_waiter(awaited->stream, 1);
    pthread_mutex_lock(&awaited->lock);
    while (!awaited->done)
        pthread_cond_wait(&awaited->changed, &awaited->lock);
    pthread_mutex_unlock(&awaited->lock);
    add_waiter(awaited->stream, 0u - 1u);
}

static void run_wait(void *payload) {
    mark *awaited;
    memcpy(&awaited, payload, sizeof(mark *));
    wait_for_mark(awaited);
    drop_mark(awaited);
}

/* The mark of an event's last recording, held once more; NULL when there is none. */
static mark *hold_recorded(cudaEvent_t event) {
    pthread_mutex_lock(&event->lock);
    mark *held = event->recorded;
    if (held) {
        pthread_mutex_lock(&held->lock);
        held->holders++;
        pthread_mutex_unlock(&held->lock);
    }
    pthread_mutex_unlock(&event->lock);
    return held;
}

/* The stream in whose capture the event was recorded last, or NULL. */
static cudaStream_t capturer_of(cudaEvent_t event) {
    pthread_mutex_lock(&event->lock);
    cudaStream_t capturer = event->capturer;
    pthread_mutex_unlock(&event->lock);
    return capturer;
}

/* An event recorded in a capture stands for no work that is ever done. */
static int check_not_captured(cudaEvent_t event, const char *what) {
    cudaStream_t capturer = capturer_of(event);
    return capturer ? refuse(capturer, cudaErrorCapturedEvent, what) : 0;
}

int sim_event_create(CUcontext context, unsigned flags, cudaEvent_t *event) {
    cudaEvent_t made = sim_create(CUDA_SIM_EVENT, sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    made->context = context;
    made->timed = !(flags & cudaEventDisableTiming);
    pthread_mutex_init(&made->lock, NULL);
    *event = made;
    return 0;
}

int sim_event_destroy(cudaEvent_t event) {
    if (!sim_check(event, CUDA_SIM_EVENT, "cudaEventDestroy"))
        return cudaErrorInvalidResourceHandle;
    sim_end(event);
    drop_mark(event->recorded);
    event->recorded = NULL;
    return sim_sticky(event->context);
}

int sim_event_record(cudaEvent_t event, cudaStream_t stream) {
    if (!sim_check(event, CUDA_SIM_EVENT, "cudaEventRecord")) return cudaErrorInvalidResourceHandle;
    if (event->context != stream->context) {
        sim_report("cudaEventRecord: event and stream are of two devices");
        return cudaErrorInvalidResourceHandle;
    }
    const bool captured = capture_of(stream);
    if (captured && is_invalidated(stream)) return cudaErrorStreamCaptureInvalidated;
    mark *made = captured ? NULL : make_mark(stream, 2);
    if (!made && !captured) return cudaErrorMemoryAllocation;
    sim_work reaching = {.run = reach_mark, .payload = &made, .size = sizeof made, .always = true};
    int error = captured ? 0 : sim_enqueue(stream, &reaching);
    if (error) {
        free(made);
        return error;
    }
    pthread_mutex_lock(&event->lock);
    mark *before = event->recorded;
    event->recorded = made;
    event->capturer = captured ? stream : NULL;
    pthread_mutex_unlock(&event->lock);
    drop_mark(before);
    return 0;
}

int sim_event_finish(cudaEvent_t event) {
    if (!sim_check(event, CUDA_SIM_EVENT, "cudaEventSynchronize"))
        return cudaErrorInvalidResourceHandle;
    int error = check_not_captured(event, "a wait for an event of a capture");
    if (error) return error;
    mark *held = hold_recorded(event);
    if (held) wait_for_mark(held);
    drop_mark(held);
    return sim_sticky(event->context);
}

int sim_event_query(cudaEvent_t event) {
    if (!sim_check(event, CUDA_SIM_EVENT, "cudaEventQuery")) return cudaErrorInvalidResourceHandle;
    int error = sim_sticky(event->context);
    if (!error) error = check_not_captured(event, "cudaEventQuery of an event of a capture");
    mark *held = error ? NULL : hold_recorded(event);
    if (!held) return error;
    pthread_mutex_lock(&held->lock);
    bool done = held->done;
    pthread_mutex_unlock(&held->lock);
    drop_mark(held);
    error = sim_sticky(event->context);
    return error ? error : done ? 0 : cudaErrorNotReady;
}

int sim_event_elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (!sim_check(start, CUDA_SIM_EVENT, "cudaEventElapsedTime") ||
        !sim_check(end, CUDA_SIM_EVENT, "cudaEventElapsedTime"))
        return cudaErrorInvalidResourceHandle;
    if (!start->timed || !end->timed || start->context != end->context)
        return cudaErrorInvalidResourceHandle;
    if (check_not_captured(start, "the time of an event of a capture") ||
        check_not_captured(end, "the time of an event of a capture"))
        return cudaErrorCapturedEvent;
    mark *from = hold_recorded(start), *to = hold_recorded(end);
    int error = from && to ? sim_sticky(start->context) : cudaErrorInvalidResourceHandle;
    if (!error && (sim_event_query(start) || sim_event_query(end))) error = cudaErrorNotReady;
    if (!error) *milliseconds = (float)((to->time - from->time) * 1e3);
    drop_mark(from);
    drop_mark(to);
    return error;
}

int sim_event_wait(cudaStream_t stream, cudaEvent_t event) {
    if (!sim_check(event, CUDA_SIM_EVENT, "cudaStreamWaitEvent"))
        return cudaErrorInvalidResourceHandle;
    cudaStream_t capturer = capturer_of(event);
    if (capturer && capturer == stream) return 0; /* in order */
    if (capturer)
        return refuse(capturer, cudaErrorNotSupported,
                      "a stream that joins another's capture is not simulated");
    mark *held = hold_recorded(event);
    if (!held) return 0;
    if (capture_of(stream)) {
        drop_mark(held);
        return refuse(stream, cudaErrorStreamCaptureIsolation,
                      "a wait in a capture for an event from outside");
    }
    sim_work waiting = {.run = run_wait, .payload = &held, .size = sizeof held, .always = true};
    int error = sim_enqueue(stream, &waiting);
    if (error) drop_mark(held);
    return error;
}
