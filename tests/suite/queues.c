/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Queues and events: order, waiting, timing, threads. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"
#include "support/gate.h"

TestSuite(queues, .init = device_open, .fini = device_close, TAGS("device driver"));

/* Work runs in the order it was given: every step needs the one before. */
Test(queues, in_order) {
    enum { N = 1000 };
    int steps = small ? 20 : 1000;
    array *x = array_1d(TDM_F32, N), *one = array_1d(TDM_F32, N);
    array_constant(one, 1.0);
    OK(tdm_fill(queue, 0.0, &x->t));
    for (int i = 0; i < steps; i++)
        OK(tdm_add(queue, &x->t, &one->t, &x->t));
    ARRAY_CHECK(x, numbers_of(N, steps), NULL);
    OK(tdm_queue_flush(queue));
    OK(tdm_queue_finish(queue));
    OK(tdm_queue_finish(queue));
    CHECK(tdm_queue_get_device(queue) == device, "another device");
}

/* Events: never recorded, done, recorded again, timed, and what is refused. */
Test(queues, events) {
    tdm_event *event = NULL, *later = NULL;
    tdm_queue *timed = NULL;
    if (!OK(tdm_event_create(device, &event)) || !OK(tdm_event_create(device, &later)) ||
        !OK(tdm_queue_create(device, TDM_QUEUE_TIMING, &timed)))
        return;
    bool done = false;
    double seconds = -1.0;
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    REFUSED(tdm_event_wait(event), invalid, "record");
    REFUSED(tdm_event_query(event, &done), invalid, "record");
    REFUSED(tdm_event_elapsed(event, later, &seconds), invalid, "record");
    REFUSED(tdm_queue_wait_event(queue, event), invalid, "record");
    check_case("recorded in a queue without TDM_QUEUE_TIMING");
    OK(tdm_queue_record_event(queue, event));
    OK(tdm_queue_record_event(queue, later));
    OK(tdm_event_wait(event));
    OK(tdm_event_query(event, &done));
    CHECK(done, "waited for, but not done");
    REFUSED(tdm_event_elapsed(event, later, &seconds), invalid, "timing");
    check_case("timed");
    int64_t n = small ? 20000 : 2000000;
    array *x = array_1d(TDM_F32, n);
    OK(tdm_fill(timed, 1.0, &x->t));
    for (int round = 0; round < 3; round++) {
        OK(tdm_queue_record_event(timed, event));
        for (int i = 0; i < 5; i++)
            OK(tdm_scale(timed, 1.0, &x->t, &x->t));
        OK(tdm_queue_record_event(timed, later));
        OK(tdm_event_elapsed(event, later, &seconds));
        CHECK(seconds > 1e-7 && seconds < 120.0, "five passes took %g s", seconds);
        OK(tdm_event_elapsed(event, event, &seconds));
        CHECK(fabs(seconds) < 1e-3, "from an event to itself: %g s", seconds);
    }
    OK(tdm_event_query(later, &done));
    CHECK(done, "elapsed waits, but the event is not done");
    check_case("NULL");
    tdm_event *none = event;
    REFUSED(tdm_event_create(NULL, &none), invalid, "device");
    CHECK(!none, "a failed create left a pointer");
    REFUSED(tdm_queue_record_event(queue, NULL), invalid, "event");
    REFUSED(tdm_queue_record_event(NULL, event), invalid, "queue");
    REFUSED(tdm_event_wait(NULL), invalid, "event");
    REFUSED(tdm_event_query(event, NULL), invalid, "done");
    REFUSED(tdm_event_elapsed(event, later, NULL), invalid, "seconds");
    REFUSED(tdm_queue_wait_event(NULL, event), invalid, "queue");
    REFUSED(tdm_queue_finish(NULL), invalid, "queue");
    REFUSED(tdm_queue_flush(NULL), invalid, "queue");
    tdm_queue *no_queue = queue;
    REFUSED(tdm_queue_create(NULL, 0, &no_queue), invalid, "device");
    CHECK(!no_queue, "a failed create left a pointer");
    REFUSED(tdm_queue_create(device, 0x80u, &no_queue), invalid, "flags");
    OK(tdm_queue_finish(timed));
    tdm_event_destroy(event);
    tdm_event_destroy(later);
    tdm_event_destroy(NULL);
    tdm_queue_destroy(timed);
    tdm_queue_destroy(NULL);
}

/* A queue waits for an event of another queue of the device; the event may go at once. */
Test(queues, wait_for_another_queue) {
    enum { N = 50000 };
    tdm_queue *other = NULL;
    if (!OK(tdm_queue_create(device, 0, &other))) return;
    array *x = array_1d(TDM_F32, N), *y = array_1d(TDM_F32, N);
    for (int round = 0; round < (small ? 3 : 50); round++) {
        check_case("round %d", round);
        tdm_event *event = NULL;
        if (!OK(tdm_event_create(device, &event))) return;
        array_constant(x, 1.0);
        for (int i = 0; i < 4; i++)
            OK(tdm_scale(queue, 2.0, &x->t, &x->t));
        OK(tdm_queue_record_event(queue, event));
        OK(tdm_queue_wait_event(other, event));
        tdm_event_destroy(event);
        OK(tdm_scale(other, round, &x->t, &y->t));
        OK(tdm_queue_finish(other));
        if (!ARRAY_CHECK(y, numbers_of(N, 16.0 * round), NULL)) break;
    }
    tdm_queue_destroy(other);
}

/* A thread that waits for an event while another records it again and again. */
typedef struct waiter {
    tdm_event *event;
    tdm_queue *queue;
    atomic_bool end;
    atomic_int turns;
    tdm_status status;
    char message[256];
} waiter;

static tdm_status wait_once(waiter *w) {
    bool done = false;
    tdm_status status = tdm_event_wait(w->event);
    if (status == TDM_OK) status = tdm_event_query(w->event, &done);
    if (status == TDM_OK) status = tdm_queue_wait_event(w->queue, w->event);
    return status == TDM_OK ? tdm_queue_finish(w->queue) : status;
}

static void *wait_often(void *context) {
    waiter *w = context;
    while (!atomic_load(&w->end) && w->status == TDM_OK) {
        w->status = wait_once(w);
        atomic_fetch_add(&w->turns, 1);
    }
    if (w->status != TDM_OK) snprintf(w->message, sizeof w->message, "%s", tdm_last_error());
    return NULL;
}

/* One thread records an event again, in queues with and without times in turn, while another waits
 * for it: each recording counts for the thread that found it. ThreadSanitizer looks on. */
Test(queues, recorded_again_while_waited_for) {
    enum { TURNS = 200 };
    /* clWaitForEvents runs a queue in the waiting thread, while another adds to it: SIGSEGV
     * in 21.10. */
    if (simulator) check_skip("Oclgrind does not bear two threads at one queue");
    waiter w = {0};
    tdm_queue *queues[2] = {queue, NULL};
    tdmi_thread thread;
    array *x[2] = {array_1d(TDM_F32, 1000), array_1d(TDM_F32, 1000)};
    if (!OK(tdm_queue_create(device, TDM_QUEUE_TIMING, &queues[1])) ||
        !OK(tdm_queue_create(device, 0, &w.queue)) || !OK(tdm_event_create(device, &w.event)) ||
        !OK(tdm_queue_record_event(queue, w.event)) || !tdmi_thread_start(&thread, wait_often, &w))
        abort();
    for (int turn = 0; turn < TURNS || atomic_load(&w.turns) < 2; turn++) {
        tdm_queue *used = queues[turn % 2];
        OK(tdm_fill(used, 1.0, &x[turn % 2]->t));
        OK(tdm_queue_record_event(used, w.event));
        if (turn % 16 == 15) OK(tdm_queue_finish(used));
        if (turn > 1000 * TURNS) abort();
    }
    atomic_store(&w.end, true);
    tdmi_thread_join(thread);
    CHECK(w.status == TDM_OK, "the waiting thread: %s", w.message);
    OK(tdm_queue_finish(queue));
    tdm_event_destroy(w.event);
    tdm_queue_destroy(w.queue);
    tdm_queue_destroy(queues[1]);
}

/* Opening twice gives one object; the device lives as long as anything of it. */
Test(queues, device_references) {
    const tdm_device_info *info = tdm_device_get_info(device);
    tdm_device *again = NULL;
    if (!OK(tdm_device_open(info->id, &again))) return;
    CHECK(again == device, "opening twice gave two objects");
    CHECK(tdm_device_get_info(again) == info, "another info");
    CHECK(tdm_device_retain(again) == again, "retain");
    tdm_device_release(again);
    tdm_device_release(again);
    CHECK(!tdm_device_retain(NULL), "retain(NULL)");
    tdm_device_release(NULL);
    check_case("released while a queue and a buffer remain");
    tdm_buffer *buffer = NULL;
    OK(tdm_buffer_create(device, 64, &buffer));
    tdm_device_release(device);
    OK(tdm_buffer_fill(queue, buffer, 0, 64, "a", 1));
    char text[64] = "";
    OK(tdm_buffer_read(queue, buffer, 0, text, 64));
    CHECK(text[63] == 'a', "the buffer was lost");
    tdm_queue_destroy(queue);
    queue = NULL;
    tdm_buffer_release(buffer);
    device = NULL;
    check_case("opened again after the last reference went");
    if (!OK(tdm_device_open(info->id, &device)) || !OK(tdm_queue_create(device, 0, &queue))) return;
    array *x = array_1d(TDM_F32, 10);
    double *want = numbers(10);
    OK(tdm_fill(queue, 0.0, &x->t));
    ARRAY_CHECK(x, want, NULL);
}

enum { THREADS = 4 };

/* A thread that repeats its work, with its own queue and its own numbers. */
typedef struct worker {
    tdmi_thread thread;
    gate *start;
    int number, rounds;
    char failure[256];
} worker;

static bool worker_step(worker *w, tdm_queue *q, tdm_buffer *const *buffers, int round) {
    enum { N = 48 };
    static const char *const what[] = {"fill", "fill", "matmul", "bias_add", "row_norm", "read"};
    tdm_tensor a = tdm_tensor_2d(buffers[0], TDM_F32, N, N);
    tdm_tensor b = tdm_tensor_2d(buffers[1], TDM_F32, N, N);
    tdm_tensor c = tdm_tensor_2d(buffers[2], TDM_F32, N, N);
    tdm_tensor norms = tdm_tensor_1d(buffers[3], TDM_F32, N);
    float out[N];
    int mine = w->number + 1 + round % 3;
    tdm_status steps[6];
    steps[0] = tdm_fill(q, mine, &a);
    steps[1] = tdm_fill(q, 0.5, &b);
    steps[2] = tdm_matmul(q, NULL, &a, &b, &c);
    steps[3] = tdm_bias_add(q, &c, NULL, TDM_ACTIVATION_RELU, &a, &c);
    steps[4] = tdm_row_norm(q, TDM_NORM_INF, &c, &norms);
    steps[5] = tdm_buffer_read(q, buffers[3], 0, out, sizeof out);
    for (int i = 0; i < 6; i++) {
        if (steps[i] != TDM_OK) {
            snprintf(w->failure, sizeof w->failure, "%s: %s", what[i], tdm_last_error());
            return false;
        }
    }
    for (int i = 0; i < N; i++) {
        float want = (float)mine * 0.5f * (float)N + (float)mine;
        if (!(fabsf(out[i] - want) <= 0.0f)) {
            snprintf(w->failure, sizeof w->failure, "round %d, row %d: %g, not %g", round, i,
                     (double)out[i], (double)want);
            return false;
        }
    }
    return true;
}

static void *worker_run(void *argument) {
    worker *w = argument;
    tdm_queue *q = NULL;
    tdm_buffer *buffers[4] = {NULL};
    /* All threads make their first product at the same moment (CLBlast < 1.6.1 breaks there). */
    gate_pass(w->start, THREADS);
    bool ok = tdm_queue_create(device, 0, &q) == TDM_OK;
    for (int i = 0; i < 4 && ok; i++)
        ok = tdm_buffer_create(device, 48 * 48 * sizeof(float), &buffers[i]) == TDM_OK;
    if (!ok) snprintf(w->failure, sizeof w->failure, "%s", tdm_last_error());
    for (int round = 0; round < w->rounds && ok; round++) {
        ok = worker_step(w, q, buffers, round);
        if (round % 4 == 0) {
            tdm_device_retain(device);
            tdm_device_release(device);
        }
    }
    for (int i = 0; i < 4; i++)
        tdm_buffer_release(buffers[i]);
    tdm_queue_destroy(q);
    return NULL;
}

/* Several threads, a queue each, the same kernels with other arguments (a kernel's arguments are
 * not thread-safe in OpenCL), the first product of all at once. */
Test(queues, threads) {
    if (simulator) {
        check_skip("Oclgrind asserts that one kernel runs at a time (Context.cpp: "
                   "m_kernelInvocation == NULL)");
        return;
    }
    worker workers[THREADS] = {{0}};
    gate start = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i].start = &start;
        workers[i].number = i;
        workers[i].rounds = small ? 2 : 60;
        if (!tdmi_thread_start(&workers[i].thread, worker_run, &workers[i])) abort();
    }
    for (int i = 0; i < THREADS; i++)
        tdmi_thread_join(workers[i].thread);
    for (int i = 0; i < THREADS; i++)
        CHECK(!workers[i].failure[0], "thread %d: %s", i, workers[i].failure);
}

typedef struct elsewhere {
    char seen[64]; /* the message before the failure */
    tdm_status status;
} elsewhere;

static void *fail_elsewhere(void *context) {
    elsewhere *self = context;
    tdm_buffer *buffer = NULL;
    snprintf(self->seen, sizeof self->seen, "%s", tdm_last_error());
    self->status = tdm_buffer_create(NULL, 1, &buffer);
    return NULL;
}

/* The message belongs to the thread: "" before its first failure, and not disturbed by others. */
Test(queues, messages_are_per_thread) {
    tdm_buffer *buffer = NULL;
    REFUSED(tdm_buffer_create(device, SIZE_MAX, &buffer), TDM_ERROR_OUT_OF_MEMORY, NULL);
    char before[512];
    snprintf(before, sizeof before, "%s", tdm_last_error());
    tdmi_thread thread;
    elsewhere other = {"?", TDM_OK};
    if (!tdmi_thread_start(&thread, fail_elsewhere, &other)) abort();
    tdmi_thread_join(thread);
    CHECK(other.status != TDM_OK && !other.seen[0], "a new thread sees '%s'", other.seen);
    CHECK(strcmp(before, tdm_last_error()) == 0, "the message became '%s'", tdm_last_error());
    OK(tdm_queue_finish(queue));
    CHECK(strcmp(before, tdm_last_error()) == 0, "a success changed the message");
}
