/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The pool and the memory statistics. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "support/array.h"

TestSuite(pool, .init = device_open, .fini = device_close, TAGS("device driver kinds"));

/* in_use, peak, cached, reserved and allocations count what happened; trim gives the cache back. */
Test(pool, statistics) {
    enum { SIZE = 3000000 };
    OK(tdm_device_trim(device));
    tdm_memory_stats start = memory_now(device);
    tdm_buffer *a = NULL, *b = NULL;
    if (!OK(tdm_buffer_create(device, SIZE, &a)) || !OK(tdm_buffer_create(device, SIZE, &b)))
        return;
    tdm_memory_stats two = memory_now(device);
    CHECK(two.in_use == start.in_use + 2 * SIZE, "in_use %llu", (unsigned long long)two.in_use);
    CHECK(two.peak >= two.in_use, "peak %llu", (unsigned long long)two.peak);
    CHECK(two.reserved >= two.in_use, "reserved %llu", (unsigned long long)two.reserved);
    CHECK(two.allocations > start.allocations, "no allocation was counted");
    tdm_buffer_retain(a);
    tdm_buffer_release(a);
    CHECK(memory_now(device).in_use == two.in_use, "a retained buffer was freed");
    tdm_buffer_release(a);
    tdm_buffer_release(b);
    OK(tdm_queue_finish(queue));
    tdm_memory_stats none = memory_now(device);
    CHECK(none.in_use == start.in_use, "in_use %llu", (unsigned long long)none.in_use);
    CHECK(none.peak == two.peak, "peak changed");
    CHECK(none.cached >= 2 * SIZE, "cached %llu", (unsigned long long)none.cached);

    check_case("recycling");
    for (int i = 0; i < 50; i++) {
        OK(tdm_buffer_create(device, SIZE, &a));
        OK(tdm_buffer_write(queue, a, 0, &i, sizeof i));
        tdm_buffer_release(a);
    }
    CHECK(memory_now(device).allocations == two.allocations,
          "%llu allocations for 50 recycled buffers",
          (unsigned long long)(memory_now(device).allocations - two.allocations));
    CHECK(memory_now(device).peak == two.peak, "peak changed");

    check_case("trim");
    OK(tdm_device_trim(device));
    tdm_memory_stats end = memory_now(device);
    CHECK(end.cached == 0, "cached %llu after trim", (unsigned long long)end.cached);
    CHECK(end.reserved >= end.in_use && end.reserved <= none.reserved - 2 * SIZE, "reserved %llu",
          (unsigned long long)end.reserved);
    /* "Unknown", never 0 (OpenCL cannot tell). */
    CHECK(end.device_free != 0, "device_free is 0");
    REFUSED(tdm_device_get_memory_stats(device, NULL), TDM_ERROR_INVALID_ARGUMENT, "stats");
    REFUSED(tdm_device_get_memory_stats(NULL, &end), TDM_ERROR_INVALID_ARGUMENT, "device");
    REFUSED(tdm_device_trim(NULL), TDM_ERROR_INVALID_ARGUMENT, "device");
}

/* The peak is of memory that users hold: a norm of one long row, found in pieces, takes scratch
 * memory that counts as reserved alone, also a graph's. */
Test(pool, scratch_is_no_peak) {
    enum { N = 1 << 20 };
    array *x = array_1d(TDM_F32, N);
    tdm_buffer *out = NULL, *top = NULL;
    array_integers(x, -1, 1);
    tdm_memory_stats before = memory_now(device);
    /* so that as much is held as never before, whatever ran earlier in this process */
    size_t missing = (size_t)(before.peak - before.in_use);
    if (!OK(tdm_buffer_create(device, 64, &out)) ||
        !OK(tdm_buffer_create(device, missing + 64, &top)))
        return;
    tdm_tensor norm = tdm_tensor_1d(out, TDM_F32, 1);
    tdm_memory_stats held = memory_now(device);
    CHECK(held.peak == held.in_use, "peak %llu, in_use %llu", (unsigned long long)held.peak,
          (unsigned long long)held.in_use);
    tdm_graph *graph;
    OK(tdm_row_norm(queue, TDM_NORM_L1, &x->t, &norm));
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_row_norm(queue, TDM_NORM_L1, &x->t, &norm));
    OK(tdm_graph_end(graph));
    OK(tdm_graph_replay(graph));
    OK(tdm_queue_finish(queue));
    tdm_graph_destroy(graph);
    tdm_memory_stats after = memory_now(device);
    CHECK(after.in_use == held.in_use, "in_use %llu", (unsigned long long)after.in_use);
    CHECK(after.peak == held.peak, "peak %llu, but %llu bytes were held at most",
          (unsigned long long)after.peak, (unsigned long long)held.peak);
    tdm_buffer_release(top);
    tdm_buffer_release(out);
}

/* Memory released while work on it is queued is not handed out before that work is done, also when
 * the next user is another queue. */
Test(pool, no_reuse_before_the_work_is_done) {
    enum { N = 20000, ROUNDS = 100 };
    tdm_queue *other = NULL;
    if (!OK(tdm_queue_create(device, 0, &other))) return;
    array *x = array_1d(TDM_F32, N), *y = array_1d(TDM_F32, N);
    array_integers(x, -100, 100);
    float *noise = malloc(N * sizeof *noise);
    if (!noise) abort();
    for (int i = 0; i < N; i++)
        noise[i] = -1e30f;
    for (int round = 0; round < (small ? 5 : ROUNDS); round++) {
        check_case("round %d", round);
        tdm_buffer *between = NULL, *next = NULL;
        if (!OK(tdm_buffer_create(device, N * sizeof(float), &between))) return;
        tdm_tensor t = tdm_tensor_1d(between, TDM_F32, N);
        OK(tdm_scale(queue, round + 1, &x->t, &t));
        OK(tdm_add(queue, &t, &x->t, &y->t));
        tdm_buffer_release(between);
        if (!OK(tdm_buffer_create(device, N * sizeof(float), &next))) return;
        OK(tdm_buffer_write(other, next, 0, noise, N * sizeof(float)));
        double *want = numbers(N);
        for (int i = 0; i < N; i++)
            want[i] = (round + 2) * x->v[i];
        bool right = ARRAY_CHECK(y, want, NULL);
        tdm_buffer_release(next);
        if (!right) break;
    }
    free(noise);
    tdm_queue_destroy(other);
}

/* Queues that take turns at random make sums by way of temporaries, which they release at once. Where one
 * reads another's results, an event is between them. */
Test(pool, queues_share_temporaries) {
    enum { N = 5000, QUEUES = 3, MOST = 600 };
    tdm_queue *queues[QUEUES] = {NULL};
    tdm_event *event = NULL;
    array *x = array_1d(TDM_F32, N), *sums[QUEUES];
    double total[QUEUES] = {0};
    const int rounds = small ? 30 : MOST;
    array_integers(x, -50, 50);
    OK(tdm_event_create(device, &event));
    for (int q = 0; q < QUEUES; q++) {
        if (!OK(tdm_queue_create(device, 0, &queues[q]))) return;
        sums[q] = array_1d(TDM_F32, N);
        OK(tdm_fill(queues[q], 0.0, &sums[q]->t));
    }
    OK(tdm_queue_finish(queue));
    for (int round = 0; round < rounds; round++) {
        const int q = (int)(random_bits() % QUEUES), other = (int)(random_bits() % QUEUES);
        const double factor = (double)(random_bits() % 5) - 2;
        tdm_buffer *made = NULL;
        if (!OK(tdm_buffer_create(device, N * sizeof(float), &made))) break;
        tdm_tensor t = tdm_tensor_1d(made, TDM_F32, N);
        OK(tdm_scale(queues[q], factor, &x->t, &t));
        if (other != q) {
            OK(tdm_queue_record_event(queues[q], event));
            OK(tdm_queue_wait_event(queues[other], event));
        }
        OK(tdm_add(queues[other], &t, &sums[other]->t, &sums[other]->t));
        total[other] += factor;
        tdm_buffer_release(made);
    }
    for (int q = 0; q < QUEUES; q++) {
        check_case("queue %d", q);
        OK(tdm_queue_finish(queues[q]));
        double *want = numbers(N);
        for (int i = 0; i < N; i++)
            want[i] = total[q] * x->v[i];
        (void)ARRAY_CHECK(sums[q], want, NULL);
        tdm_queue_destroy(queues[q]);
    }
    tdm_event_destroy(event);
}

/* More than the device has, or can give in one piece, is refused with the numbers; what was there
 * stays usable. */
Test(pool, too_much) {
    const tdm_device_info *info = tdm_device_get_info(device);
    tdm_memory_stats before = memory_now(device);
    size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2, (size_t)info->max_allocation + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_case("%zu bytes", sizes[i]);
        char number[32];
        snprintf(number, sizeof number, "%zu", sizes[i]);
        tdm_buffer *buffer = (tdm_buffer *)(void *)&before;
        REFUSED(tdm_buffer_create(device, sizes[i], &buffer), TDM_ERROR_OUT_OF_MEMORY, number);
        CHECK(!buffer, "the failed create left a pointer");
    }
    check_case("after the refusals");
    CHECK(memory_now(device).in_use == before.in_use, "a refused buffer is counted");
    tdm_buffer *buffer = NULL;
    if (OK(tdm_buffer_create(device, 1000, &buffer))) {
        OK(tdm_buffer_fill(queue, buffer, 0, 1000, "x", 1));
        tdm_buffer_release(buffer);
    }
    void *pointer = &before;
    REFUSED(tdm_host_alloc(device, SIZE_MAX, &pointer), TDM_ERROR_OUT_OF_MEMORY, NULL);
    CHECK(!pointer, "the failed host_alloc left a pointer");
}

#if !defined(_WIN32) /* which has no such limit */
/* Memory that the library keeps idle is given back where another kind of memory is short. */
Test(pool, idle_memory_of_either_kind) {
    enum { SIZE = 600 << 20, ROOM = 1000 << 20 };
    const tdm_device_info *info = tdm_device_get_info(device);
    struct rlimit limit;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    tdm_buffer *buffer = NULL;
    void *memory = NULL;
    OK(tdm_device_trim(device));
    if (file && fscanf(file, "%ld", &pages) != 1) pages = 0;
    if (file) (void)fclose(file);
    if (info->type != TDM_DEVICE_CPU) check_skip("the device's memory is not the process's");
    if (info->max_allocation < SIZE) check_skip("the device has no buffers of 600 MiB");
    if (pages == 0 || pages > (64L << 20) || getrlimit(RLIMIT_AS, &limit) != 0) /* a sanitizer's */
        check_skip("the process's memory cannot be limited");
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
    if (setrlimit(RLIMIT_AS, &limit) != 0) check_skip("the process's memory cannot be limited");
    for (int i = 0; i < 2; i++) {
        OK(tdm_host_alloc(device, SIZE, &memory));
        tdm_host_free(device, memory);
        OK(tdm_buffer_create(device, SIZE, &buffer));
        tdm_buffer_release(buffer);
    }
    limit.rlim_cur = before; /* other tests may share the process */
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    OK(tdm_device_trim(device));
}
#endif
