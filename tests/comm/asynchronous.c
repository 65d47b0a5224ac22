/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls that return before they are done: their results, their order among other work of the queue, and what goes on
 * meanwhile. */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

void run_values(void) {
    connect_threads(0, true, &comm);
    test_values();
    test_splits();
    test_layers();
    test_grids();
    OK(tdm_comm_set_asynchronous(comm, false));
    test_splits();
    tdm_comm_destroy(comm);
}

/* ---- order ---- */

enum { N = 48, LAYERS = 6, ROUNDS = 5 };

/* Multiples of 1/4 that are small enough for sums of products to be exact. */
static float element(int which, int of, int64_t i) {
    uint64_t h = ((uint64_t)i * 31 + (uint64_t)which * 1009 + (uint64_t)of) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    return (float)(h % 5) / 4 - 0.5F;
}

static tdm_tensor matrix(tdm_queue *on, int which, int of) {
    float values[N * N];
    tdm_tensor made = {0};
    for (int64_t i = 0; i < (int64_t)N * N; i++)
        values[i] = element(which, of, i);
    OK(tdm_empty(device, TDM_F32, 2, (const int64_t[]){N, N}, &made));
    OK(tdm_buffer_write(on, made.buffer, 0, values, sizeof values));
    return made;
}

static double dot(int a, int a_of, int b, int b_of, int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t i = 0; i < N; i++)
        sum += (double)element(a, a_of, row * N + i) * (double)element(b, b_of, i * N + column);
    return sum;
}

/* The sum of the ranks' products of matrices 0 and `which`, at an element. */
static double summed(int which, int64_t row, int64_t column) {
    double sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += dot(0, r, which, r, row, column);
    return sum;
}

/* product → all-reduce in place → product, on one queue; tensors are released before any of it is waited for. */
static void in_one_queue(int round) {
    tdm_tensor a = matrix(queue, 0, rank), b = matrix(queue, 1 + round, rank),
               e = matrix(queue, 100, 0), c = {0}, d = {0};
    OK(tdm_empty(device, TDM_F32, 2, (const int64_t[]){N, N}, &c));
    OK(tdm_empty(device, TDM_F32, 2, (const int64_t[]){N, N}, &d));
    OK(tdm_matmul(queue, NULL, &a, &b, &c));
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &c, &c));
    OK(tdm_matmul(queue, NULL, &c, &e, &d));
    OK(tdm_add(queue, &d, &c, &d));
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&c);
    tdm_tensor_release(&e);
    double *values = values_of(&d);
    long wrong = 0;
    for (int64_t row = 0; row < N; row += 7)
        for (int64_t column = 0; column < N; column += 5) {
            double wanted = summed(1 + round, row, column);
            for (int64_t i = 0; i < N; i++)
                wanted += summed(1 + round, row, i) * (double)element(100, 0, i * N + column);
            wrong += values[row * N + column] != wanted;
        }
    CHECK(wrong == 0, "round %d: %ld elements behind an all-reduce are wrong", round, wrong);
    free(values);
    tdm_tensor_release(&d);
}

/* What a training step does: gradients are made on one queue and averaged on another, and the step waits for all. Of
 * columns, which are packed on the way. */
static void between_queues(void) {
    tdm_queue *network = NULL;
    tdm_event *made = NULL, *summed_up = NULL;
    tdm_tensor gradients[LAYERS], step = {0}, a = matrix(queue, 0, rank);
    OK(tdm_queue_create(device, 0, &network));
    OK(tdm_event_create(device, &made));
    OK(tdm_event_create(device, &summed_up));
    for (int layer = 0; layer < LAYERS; layer++) {
        tdm_tensor b = matrix(queue, 1 + layer, rank), wide = {0};
        OK(tdm_empty(device, TDM_F32, 2, (const int64_t[]){N, N + 3}, &wide));
        OK(tdm_tensor_slice(&wide, 1, 0, N, 1, &gradients[layer]));
        OK(tdm_matmul(queue, NULL, &a, &b, &gradients[layer]));
        OK(tdm_queue_record_event(queue, made));
        OK(tdm_queue_wait_event(network, made));
        OK(tdm_comm_all_reduce(comm, network, TDM_COMM_SUM, &gradients[layer], &gradients[layer]));
        tdm_tensor_release(&b);
    }
    OK(tdm_queue_record_event(network, summed_up));
    OK(tdm_queue_wait_event(queue, summed_up));
    OK(tdm_zeros(queue, TDM_F32, 2, (const int64_t[]){N, N}, &step));
    for (int layer = 0; layer < LAYERS; layer++) {
        OK(tdm_add(queue, &step, &gradients[layer], &step));
        tdm_tensor_release(&gradients[layer]);
    }
    double *values = values_of(&step);
    long wrong = 0;
    for (int64_t i = 0; i < (int64_t)N * N; i += 11) {
        double wanted = 0;
        for (int layer = 0; layer < LAYERS; layer++)
            wanted += summed(1 + layer, i / N, i % N);
        wrong += values[i] != wanted;
    }
    CHECK(wrong == 0, "%ld elements of a step are wrong", wrong);
    free(values);
    tdm_tensor_release(&step);
    tdm_tensor_release(&a);
    tdm_event_destroy(made);
    tdm_event_destroy(summed_up);
    OK(tdm_queue_finish(network));
    tdm_queue_destroy(network);
}

/* An event behind a collective is done when that is, and its time counts. */
static void events(void) {
    tdm_queue *timed = NULL;
    tdm_event *from = NULL, *to = NULL;
    tdm_comm *slow = NULL;
    bool done = true;
    double seconds = 0;
    tdm_tensor x = {0};
    connect_threads(0.2, true, &slow);
    OK(tdm_queue_create(device, TDM_QUEUE_TIMING, &timed));
    OK(tdm_event_create(device, &from));
    OK(tdm_event_create(device, &to));
    OK(tdm_zeros(timed, TDM_F32, 1, (const int64_t[]){1024}, &x));
    meet();
    OK(tdm_queue_record_event(timed, from));
    OK(tdm_comm_all_reduce(slow, timed, TDM_COMM_SUM, &x, &x));
    OK(tdm_queue_record_event(timed, to));
    OK(tdm_event_query(to, &done));
    CHECK(!done || ranks == 1, "an event is done before the all-reduce that it is behind");
    OK(tdm_event_elapsed(from, to, &seconds));
    CHECK(seconds >= 0.19 || ranks == 1, "an all-reduce of 0.2 s took %g s by events", seconds);
    OK(tdm_event_query(to, &done));
    CHECK(done, "an event that was waited for is not done");
    tdm_event_destroy(from);
    tdm_event_destroy(to);
    tdm_tensor_release(&x);
    tdm_queue_destroy(timed);
    tdm_comm_destroy(slow);
}

void run_order(void) {
    tdm_memory_stats before = TDM_MEMORY_STATS_DEFAULTS, after = TDM_MEMORY_STATS_DEFAULTS;
    connect_threads(0.002, true, &comm);
    meet();
    OK(tdm_device_get_memory_stats(device, &before));
    meet();
    for (int round = 0; round < ROUNDS; round++)
        in_one_queue(round);
    between_queues();
    OK(tdm_queue_finish(queue));
    meet();
    OK(tdm_device_get_memory_stats(device, &after));
    CHECK(after.in_use == before.in_use, "%llu bytes are in use, not %llu",
          (unsigned long long)after.in_use, (unsigned long long)before.in_use);
    meet();
    tdm_comm_destroy(comm);
    events();
}

/* ---- overlap ---- */

enum { CALLS = 2 };
static const double each = 0.1; /* seconds that an all-reduce takes */

/* Products on `on` for so long. */
static void compute(tdm_queue *on, double seconds) {
    tdm_tensor a = matrix(on, 0, rank), c = {0};
    OK(tdm_empty(device, TDM_F32, 2, (const int64_t[]){N, N}, &c));
    long products = 0;
    for (const double end = local_now() + seconds; local_now() < end; products++) {
        OK(tdm_matmul(on, NULL, &a, &a, &c));
        OK(tdm_queue_finish(on));
    }
    CHECK(products > 0, "no product");
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
}

/* Seconds of CALLS all-reduces, each on its queue and by its communicator, beside CALLS * each seconds of products. */
static double together(tdm_comm *const comms[CALLS], tdm_queue *const queues[CALLS],
                       tdm_queue *other, tdm_tensor *x, double *returned) {
    meet();
    const double began = local_now();
    for (int i = 0; i < CALLS; i++)
        OK(tdm_comm_all_reduce(comms[i], queues[i], TDM_COMM_SUM, &x[i], &x[i]));
    *returned = local_now() - began;
    compute(other, CALLS * each);
    for (int i = 0; i < CALLS; i++)
        OK(tdm_queue_finish(queues[i]));
    return local_now() - began;
}

void run_overlap(void) {
    tdm_comm *first = NULL, *second = NULL;
    tdm_queue *side[CALLS] = {NULL};
    tdm_tensor x[CALLS] = {{0}};
    double returned;
    connect_threads(each, false, &first);
    connect_threads(each, false, &second);
    for (int i = 0; i < CALLS; i++) {
        OK(tdm_queue_create(device, 0, &side[i]));
        OK(tdm_zeros(side[i], TDM_F32, 1, (const int64_t[]){1024}, &x[i]));
    }
    compute(queue, 0.01); /* which compiles */
    tdm_comm *const one[CALLS] = {first, first}, *const two[CALLS] = {first, second};
    tdm_queue *const same[CALLS] = {side[0], side[0]}, *const own[CALLS] = {side[0], side[1]};
    const double apart = together(one, same, queue, x, &returned);
    OK(tdm_comm_set_asynchronous(first, true));
    OK(tdm_comm_set_asynchronous(second, true));
    const double beside = together(one, same, queue, x, &returned);
    CHECK(ranks == 1 || apart >= 2 * CALLS * each, "%g s of exchange and work took %g s",
          2 * CALLS * each, apart);
    CHECK(beside < 0.8 * apart, "%g s beside work, and %g s one after the other", beside, apart);
    CHECK(returned < each, "the calls returned after %g s", returned);
    meet();
    const double began = local_now();
    for (int i = 0; i < CALLS; i++)
        OK(tdm_comm_all_reduce(two[i], own[i], TDM_COMM_SUM, &x[i], &x[i]));
    for (int i = 0; i < CALLS; i++)
        OK(tdm_queue_finish(own[i]));
    const double both = local_now() - began;
    CHECK(both < 0.9 * CALLS * each, "two communicators took %g s for %g s each", both, each);
    if (rank == 0)
        printf("one after the other %.3f s, beside each other %.3f s; two communicators %.3f s\n",
               apart, beside, both);
    for (int i = 0; i < CALLS; i++) {
        tdm_tensor_release(&x[i]);
        tdm_queue_destroy(side[i]);
    }
    tdm_comm_destroy(first);
    tdm_comm_destroy(second);
}
