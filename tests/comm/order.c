/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Results, and the order of calls among other work of their queues. */
#include <stdlib.h>

#include "test.h"

void run_values(void) {
    connect_threads(0, &comm);
    test_values();
    test_splits();
    test_layers();
    test_grids();
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
    OK(tdm_empty(queue, TDM_F32, 2, (const int64_t[]){N, N}, &made));
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
    OK(tdm_empty(queue, TDM_F32, 2, (const int64_t[]){N, N}, &c));
    OK(tdm_empty(queue, TDM_F32, 2, (const int64_t[]){N, N}, &d));
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
    CHECK(wrong == 0, "round %d: %ld elements after an all-reduce are wrong", round, wrong);
    free(values);
    tdm_tensor_release(&d);
}

/* As in a training step, gradients are made on one queue and averaged on another, and the step waits for all. Of
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
        OK(tdm_empty(queue, TDM_F32, 2, (const int64_t[]){N, N + 3}, &wide));
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

void run_order(void) {
    tdm_memory_stats before = TDM_MEMORY_STATS_DEFAULTS, after = TDM_MEMORY_STATS_DEFAULTS;
    connect_threads(0.002, &comm);
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
}
