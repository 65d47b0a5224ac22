/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranks that end, errors that NCCL reports later, and arguments that are refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_sim/control.h"
#include "mpi/now.h"
#include "test.h"

/* Seconds: what a failure may take where other processes run too, and what it would if a rank waited. */
enum { SOON = 30, LIMIT = 60 };

static tdm_tensor ones(void) {
    static const int64_t shape[] = {1000};
    tdm_tensor x = {0};
    OK(tdm_ones(queue, TDM_F32, 1, shape, &x));
    return x;
}

static void expect(const char *what, tdm_status status, tdm_status wanted, const char *words) {
    CHECK(status == wanted && strstr(tdm_last_error(), words), "%s: %s: %s, not %s with '%s'", what,
          tdm_status_name(status), tdm_last_error(), tdm_status_name(wanted), words);
}

/* Afterwards nothing of the communicator works, and everything else does. */
static void check_broken(tdm_comm *broken, tdm_tensor *x, const char *words) {
    const double began = now();
    float values[1000];
    expect("finish", tdm_queue_finish(queue), TDM_ERROR_RANK_LOST, words);
    CHECK(now() - began < SOON, "finish took %g s", now() - began);
    OK(tdm_comm_set_timeout(broken, LIMIT));
    const double again = now();
    expect("next call", tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, x, x), TDM_ERROR_RANK_LOST,
           words);
    expect("third call", tdm_comm_barrier(broken, queue), TDM_ERROR_RANK_LOST, "is broken since");
    CHECK(now() - again < SOON, "two calls took %g s", now() - again);
    OK(tdm_fill(queue, 2, x));
    OK(tdm_to_host(queue, x, values));
    CHECK(values[999] == 2, "the queue does not go on");
}

/* NCCL's error, reported by its communicator while a collective waits for the last rank, which comes late. */
static void reported_later(void) {
    tdm_comm *other = NULL;
    connect_some(ranks, rank, &other);
    OK(tdm_comm_set_timeout(other, rank == ranks - 1 ? 1 : 60));
    tdm_tensor x = ones();
    if (rank == ranks - 1) {
        (void)sleep(2);
    } else {
        OK(tdm_comm_all_reduce(other, queue, TDM_COMM_SUM, &x, &x));
        cuda_sim_fail("nccl async error", 1, true, 6); /* not sooner: the call would report it */
        check_broken(other, &x, "remote process exited");
        cuda_sim_heal();
    }
    tdm_tensor_release(&x);
    tdm_comm_destroy(other);
}

/* NCCL's error, reported while a call is in NCCL, which frees the communicator when it is aborted. */
static void reported_inside(void) {
    tdm_comm *other = NULL;
    connect_some(ranks, rank, &other);
    OK(tdm_comm_set_timeout(other, LIMIT));
    tdm_tensor x = ones();
    cuda_sim_fail("nccl slow", 1, false, 200);
    cuda_sim_fail("nccl async error", 1, true, 6);
    expect("call", tdm_comm_all_reduce(other, queue, TDM_COMM_SUM, &x, &x), TDM_ERROR_RANK_LOST,
           "remote process exited");
    cuda_sim_heal();
    check_broken(other, &x, "remote process exited");
    tdm_tensor_release(&x);
    tdm_comm_destroy(other);
}

/* The file that TANDEM_NCCL_LIBRARY names is not there, or is another library: errors say so, and what to install. */
void run_missing(void) {
    const char *file = strrchr(getenv("TANDEM_NCCL_LIBRARY"), '/');
    tdm_nccl_id id = {0};
    expect("get_id", tdm_nccl_get_id(&id), TDM_ERROR_UNAVAILABLE, "NCCL was not found: ");
    CHECK(strstr(tdm_last_error(), file), "%s", tdm_last_error());
    expect("from_nccl", tdm_comm_from_nccl(&id, 0, 1, device, &comm), TDM_ERROR_UNAVAILABLE,
           "or its file in TANDEM_NCCL_LIBRARY");
    CHECK(!comm && strstr(tdm_last_error(), file), "%s", tdm_last_error());
}

/* Rank 1 ends in the middle. */
void run_lost(void) {
    tdm_tensor x = ones();
    reported_later();
    reported_inside();
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x)); /* waits for who is late */
    OK(tdm_queue_finish(queue));
    if (rank == 1) _exit(0);
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x));
    OK(tdm_comm_set_timeout(comm,
                            1)); /* now: the call itself may take a second on a busy machine */
    tdm_buffer *more =
        NULL; /* of a size that the pool has not: a driver may take its time over it */
    OK(tdm_buffer_create(device, 1 << 20, &more));
    tdm_buffer_release(more);
    OK(tdm_device_trim(device));
    check_broken(comm, &x, "a rank ended or did not answer within 1 s");
    if (ranks > 2) { /* the ranks that are left make another one */
        tdm_comm *rest = NULL;
        connect_some(ranks - 1, rank > 1 ? rank - 1 : rank, &rest);
        float values[1000];
        OK(tdm_fill(queue, 1, &x));
        OK(tdm_comm_all_reduce(rest, queue, TDM_COMM_SUM, &x, &x));
        OK(tdm_to_host(queue, &x, values));
        CHECK(values[0] == (float)(ranks - 1), "the rest's sum is %g", (double)values[0]);
        tdm_comm_destroy(rest);
    }
    tdm_tensor_release(&x);
}

void run_refusals(void) {
    tdm_comm *none = comm;
    tdm_device *cpu = NULL;
    tdm_nccl_id id;
    tdm_tensor x = ones(), y = x;
    OK(tdm_nccl_get_id(&id));
    OK(tdm_device_open("cpu:0", &cpu));
    expect("get_id", tdm_nccl_get_id(NULL), TDM_ERROR_INVALID_ARGUMENT, "id is NULL");
    expect("id", tdm_comm_from_nccl(NULL, 0, 1, device, &none), TDM_ERROR_INVALID_ARGUMENT,
           "id is NULL");
    CHECK(!none, "a communicator in spite of it");
    expect("comm", tdm_comm_from_nccl(&id, 0, 1, device, NULL), TDM_ERROR_INVALID_ARGUMENT,
           "comm is NULL");
    expect("rank", tdm_comm_from_nccl(&id, 2, 2, device, &none), TDM_ERROR_INVALID_ARGUMENT,
           "rank is 2, allowed are 0 to 1");
    expect("ranks", tdm_comm_from_nccl(&id, 0, 0, device, &none), TDM_ERROR_INVALID_ARGUMENT,
           "ranks is 0");
    expect("device", tdm_comm_from_nccl(&id, 0, 1, NULL, &none), TDM_ERROR_INVALID_ARGUMENT,
           "device is NULL");
    expect("cpu", tdm_comm_from_nccl(&id, 0, 1, cpu, &none), TDM_ERROR_UNSUPPORTED,
           "the device is cpu:0, but NCCL is for CUDA devices");
    expect("split", tdm_comm_split(comm, 0, 0, &none), TDM_ERROR_UNSUPPORTED, "over NCCL alone");
    y.shape[0] = 2;
    expect("overlap", tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &y), TDM_ERROR_OVERLAP,
           "y overlaps x");
    expect("op", tdm_comm_all_reduce(comm, queue, (tdm_comm_op)9, &x, &x),
           TDM_ERROR_INVALID_ARGUMENT, "op is 9");
    cuda_sim_fail("ncclCommInitRank", 1, false, 2);
    expect("init", tdm_comm_from_nccl(&id, 0, 1, device, &none), TDM_ERROR_BACKEND,
           "ncclCommInitRank: unhandled system error (error 2)");
    cuda_sim_heal();
    OK(tdm_comm_use_nccl(comm));
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x)); /* it goes on */
    OK(tdm_comm_barrier(comm, queue));
    cuda_sim_fail("ncclAllReduce", 1, false, 3);
    if (ranks == 1)
        expect("call", tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x), TDM_ERROR_BACKEND,
               "ncclAllReduce: internal error");
    cuda_sim_heal();
    tdm_tensor_release(&x);
    tdm_device_release(cpu);
}
