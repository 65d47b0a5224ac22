/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranks that call something else, wrongly, or not at all: every rank fails in time, and the communicator afterwards at
 * once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/nccl.h>
#include <tandem/transport.h>

#include "now.h"
#include "test.h"

/* Seconds: what a failure may take where other processes run too, and what it would if a rank waited. */
enum { SOON = 30, LIMIT = 60 };
enum { OTHER_SHAPE, OTHER_DTYPE, OTHER_OP, OTHER_FUNCTION, OTHER_ROOT, REFUSED, LATE, FAULTS };

static tdm_status begin(tdm_comm *broken, int fault, bool wrong, tdm_tensor *x, tdm_tensor *other) {
    if (!wrong && fault == OTHER_ROOT) return tdm_comm_broadcast(broken, queue, 0, x);
    if (!wrong) return tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, x, x);
    if (fault == OTHER_OP) return tdm_comm_all_reduce(broken, queue, TDM_COMM_MAX, x, x);
    if (fault == OTHER_FUNCTION) return tdm_comm_broadcast(broken, queue, 0, x);
    if (fault == OTHER_ROOT) return tdm_comm_broadcast(broken, queue, 1, x);
    if (fault == REFUSED) return tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, x, NULL);
    return tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, other, other);
}

/* And what a call by NCCL leaves to the queue to report. */
static tdm_status call(tdm_comm *broken, int fault, bool wrong, tdm_tensor *x, tdm_tensor *other) {
    const tdm_status status = begin(broken, fault, wrong, x, other);
    return status == TDM_OK ? tdm_queue_finish(queue) : status;
}

/* How many times as long as here things may take: network.sh has links that are down for a second. */
static int slowness(void) { return getenv("TDM_TEST_NETWORK") ? 4 : 1; }

static void one(int fault, int64_t n) {
    const int wrong_rank = ranks - 1;
    const bool wrong = rank == wrong_rank;
    const int64_t shape[] = {n}, other_shape[] = {fault == OTHER_SHAPE ? n + 3 : n};
    tdm_tensor x = {0}, other = {0};
    tdm_comm *broken = NULL;
    char name[32];
    OK(connect_ranks(&broken));
    OK(tdm_zeros(queue, TDM_F32, 1, shape, &x));
    OK(tdm_zeros(queue, fault == OTHER_DTYPE ? TDM_I32 : TDM_F32, 1, other_shape, &other));
    OK(tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &x, &x));
    /* Where cores are few it may take longer than the limit. */
    OK(tdm_queue_finish(queue));
    OK(tdm_comm_set_timeout(broken, fault == LATE ? slowness() : LIMIT));
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now();
    if (fault == LATE && wrong) sleep(3 * (unsigned)slowness());
    const tdm_status status = call(broken, fault, wrong, &x, &other);
    const double took = now() - began;
    snprintf(name, sizeof name, "rank %d", wrong_rank);
    const bool fails = fault != LATE || !wrong; /* a late rank may find all that it waits for */
    CHECK(!fails || status != TDM_OK, "fault %d of %lld: it worked", fault, (long long)n);
    CHECK(took < SOON, "fault %d of %lld took %.1f s: %s", fault, (long long)n, took,
          tdm_last_error());
    CHECK(!fails || strstr(tdm_last_error(), name), "fault %d of %lld names no %s: %s", fault,
          (long long)n, name, tdm_last_error());
    if (fault == LATE && !wrong)
        CHECK(status == TDM_ERROR_RANK_LOST, "status %s", tdm_status_name(status));
    if (fault == OTHER_DTYPE)
        CHECK(status == TDM_ERROR_INVALID_DTYPE, "status %s: %s", tdm_status_name(status),
              tdm_last_error());
    OK(tdm_comm_set_timeout(broken, LIMIT));
    const double again = now();
    CHECK(tdm_comm_barrier(broken, queue) == TDM_ERROR_RANK_LOST, "it works again");
    CHECK(now() - again < SOON, "the second failure took %g s", now() - again);
    tdm_comm_destroy(broken);
    tdm_tensor_release(&x);
    tdm_tensor_release(&other);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Little more memory than the process has; or, later, as much as before. */
static void limit_memory(bool limited) {
    static struct rlimit before;
    char line[128];
    unsigned long kib = 0;
    if (!limited) {
        CHECK(setrlimit(RLIMIT_DATA, &before) == 0, "the limit stays");
        return;
    }
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "VmData: %lu", &kib) != 1)
        ;
    if (status) fclose(status);
    getrlimit(RLIMIT_DATA, &before);
    const struct rlimit little = {(rlim_t)((kib + (16 << 10)) * 1024), before.rlim_max};
    CHECK(kib > 0 && setrlimit(RLIMIT_DATA, &little) == 0, "no limit can be set");
}

static tdm_status call_for_memory(tdm_comm *broken, int which, tdm_tensor *x) {
    if (which == 0) return tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, x, x);
    if (which == 1) return tdm_comm_broadcast(broken, queue, 0, x);
    if (rank == 0) return tdm_comm_receive(broken, queue, ranks - 1, x);
    return rank == ranks - 1 ? tdm_comm_send(broken, queue, 0, x) : tdm_comm_barrier(broken, queue);
}

/* The last rank has no memory to pack a tensor with gaps: a sum, a broadcast, and one that it sends. */
static void no_memory(int which) {
    const int64_t shape[] = {4096, 4100};
    char name[32];
    tdm_tensor x = {0};
    tdm_comm *broken = NULL;
    OK(connect_ranks(&broken));
    OK(tdm_zeros(queue, TDM_F32, 2, shape, &x));
    x.shape[1] = 4096;
    OK(tdm_device_trim(device));
    if (rank == ranks - 1) limit_memory(true);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = now();
    tdm_status status = call_for_memory(broken, which, &x);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    snprintf(name, sizeof name, "rank %d: ", ranks - 1);
    CHECK(status == TDM_ERROR_OUT_OF_MEMORY && strstr(tdm_last_error(), name),
          "call %d without memory: %s: %s", which, tdm_status_name(status), tdm_last_error());
    CHECK(now() - began < SOON, "call %d without memory took %.1f s", which, now() - began);
    if (rank == ranks - 1) limit_memory(false);
    tdm_comm_destroy(broken);
    tdm_tensor_release(&x);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks alike: each has its own failure, and nothing is broken. */
static void wrong_alike(void) {
    tdm_tensor x = {0};
    const int64_t shape[] = {4};
    OK(tdm_zeros(queue, TDM_F32, 1, shape, &x));
    CHECK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, NULL) == TDM_ERROR_INVALID_ARGUMENT,
          "y is NULL");
    CHECK(tdm_comm_broadcast(comm, queue, ranks, &x) == TDM_ERROR_INVALID_ARGUMENT, "root");
    CHECK(tdm_comm_send(comm, queue, rank, &x) == TDM_ERROR_INVALID_ARGUMENT, "to itself");
    CHECK(tdm_comm_barrier(comm, NULL) == TDM_ERROR_INVALID_ARGUMENT, "no queue");
    CHECK(tdm_comm_barrier(NULL, queue) == TDM_ERROR_INVALID_ARGUMENT, "no communicator");
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x));
    tdm_tensor_release(&x);
}

/* One rank cannot make its communicator: none has one. */
static void no_device(void) {
    const bool cannot = rank == ranks - 1;
    tdm_comm *none = comm;
    const tdm_status status = tdm_comm_from_mpi(MPI_COMM_WORLD, cannot ? NULL : device, &none);
    CHECK(status == TDM_ERROR_INVALID_ARGUMENT && !none &&
              strstr(tdm_last_error(), cannot ? "device is NULL" : "another rank"),
          "no device: %s: %s", tdm_status_name(status), tdm_last_error());
}

/* The calls of a forked child: each fails at once, and its parent's transport gets no message. */
static int call_in_child(tdm_grid *grid, tdm_tensor *x) {
    tdm_comm *none = NULL;
    tdm_grid *no_grid = NULL;
    tdm_nccl_id id = {{0}};
    const tdm_transport transport = {.size = sizeof transport, .ranks = 1};
    const tdm_status all[] = {tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, x, x),
                              tdm_comm_send(comm, queue, (rank + 1) % ranks, x),
                              tdm_comm_split(comm, 0, 0, &none),
                              tdm_comm_use_nccl(comm),
                              tdm_comm_set_timeout(comm, 1),
                              tdm_comm_create(&transport, device, &none),
                              tdm_comm_from_mpi(MPI_COMM_WORLD, device, &none),
                              tdm_comm_from_nccl(&id, 0, 1, device, &none),
                              tdm_nccl_get_id(&id),
                              tdm_linear_row_parallel(comm, queue, x, x, NULL, 0, x),
                              tdm_grid_create(comm, 0, 0, &no_grid),
                              tdm_grid_matmul(grid, queue, NULL, 4, x, x, x)};
    int wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] == TDM_ERROR_FORKED) continue;
        fprintf(stderr, "call %zu of a child: %s\n", i, tdm_status_name(all[i]));
        wrong = 1;
    }
    tdm_grid_destroy(grid);
    tdm_comm_destroy(comm);
    return wrong;
}

static void forked(void) {
    tdm_tensor x = {0};
    tdm_grid *grid = NULL;
    int ended = -1;
    const int64_t shape[] = {4};
    OK(tdm_zeros(queue, TDM_F32, 1, shape, &x));
    OK(tdm_grid_create(comm, 0, 0, &grid));
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(SOON);
        _exit(call_in_child(grid, &x));
    }
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    CHECK(child > 0 && ended == 0, "a child ended with %d", ended);
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x)); /* it goes on */
    OK(tdm_queue_finish(queue));
    tdm_grid_destroy(grid);
    tdm_tensor_release(&x);
}

void test_faults(void) {
    wrong_alike();
    no_device();
    forked();
    if (ranks == 1) return;
    for (int fault = 0; fault < FAULTS; fault++) {
        one(fault, 5);
        if (fault != LATE) one(fault, 100000);
    }
    for (int which = 0; which < 3; which++)
        if (!getenv("TDM_TEST_DEVICE") && !getenv("TDM_TEST_CUDA")) no_memory(which);
}
