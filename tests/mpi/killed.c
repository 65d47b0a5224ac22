/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranks call one collective after the other until a signal that cannot be caught ends one of them, at a random moment,
 * or network.sh cuts off the one that it names. Each other one gets an error that names it, in time, and says so. With
 * TDM_TEST_ULFM MPI reports it, long before the time limit.
 *
 *     mpirun -n 3 killed SEED [RANK] */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <tandem/mpi.h>
#include <tandem/tandem.h>

#include "now.h"

enum { LONGEST = 300 * 1024, FUNCTIONS = 8 }; /* elements of a rank: some more than a round */
static const double slack = 8;                /* seconds; the machine may be busy */

static uint64_t state;
static int below(int n) { /* the same on all ranks */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void end_now(int signal) {
    (void)signal;
    (void)kill(getpid(), SIGKILL);
}

static void must(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "not begun: %s\n", tdm_last_error());
    exit(1);
}

/* x is as long as all parts together, `part` one of these. */
static tdm_status call(tdm_comm *comm, tdm_queue *queue, int function, tdm_tensor *x,
                       tdm_tensor *part, tdm_tensor *y) {
    const int ranks = tdm_comm_get_size(comm), rank = tdm_comm_get_rank(comm), root = below(ranks);
    switch (function) {
    case 0:
        return tdm_comm_all_reduce(comm, queue, TDM_COMM_MAX, x, y);
    case 1:
        return tdm_comm_reduce(comm, queue, TDM_COMM_MAX, root, x, y);
    case 2:
        return tdm_comm_broadcast(comm, queue, root, x);
    case 3:
        return tdm_comm_all_gather(comm, queue, part, NULL, y);
    case 4:
        return tdm_comm_reduce_scatter(comm, queue, TDM_COMM_MAX, x, NULL, part);
    case 5:
        return tdm_comm_all_to_all(comm, queue, x, y);
    case 6:
        return tdm_comm_send_receive(comm, queue, (rank + 1) % ranks, x, (rank + ranks - 1) % ranks,
                                     y);
    default:
        return tdm_comm_barrier(comm, queue);
    }
}

int main(int argc, char **argv) {
    tdm_comm *comm;
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor whole[3], x, part, y;
    if (argc != 2 && argc != 3) return 2;
    const bool reported = getenv("TDM_TEST_ULFM");
    const double limit = reported    ? 60
                         : argc == 3 ? 4
                                     : 1; /* 4: a network that loses some is slow */
    state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u;
    MPI_Init(&argc, &argv);
    must(tdm_device_open("cpu:0", &device));
    must(tdm_queue_create(device, 0, &queue));
    must(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm));
    must(tdm_comm_set_timeout(comm, limit));
    const int ranks = tdm_comm_get_size(comm), rank = tdm_comm_get_rank(comm);
    const int64_t longest[] = {(int64_t)LONGEST * ranks};
    for (int i = 0; i < 3; i++)
        must(tdm_zeros(queue, TDM_F32, 1, longest, &whole[i]));
    (void)below(2);
    const int victim = argc == 3 ? atoi(argv[2]) : below(ranks), microseconds = 1 + below(200000);
    char name[32];
    snprintf(name, sizeof name, "rank %d ended", victim);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 3) {
        printf("ready\n");
        fflush(stdout);
    } else if (rank == victim) {
        (void)signal(SIGALRM, end_now);
        const struct itimerval once = {.it_value = {.tv_usec = microseconds}};
        if (setitimer(ITIMER_REAL, &once, NULL) != 0) return 1;
    }
    for (long calls = 1;; calls++) {
        const int64_t length = below(2) ? 1 + below(LONGEST) : 1 + below(200);
        must(tdm_tensor_slice(&whole[0], 0, 0, length * ranks, 1, &x));
        must(tdm_tensor_slice(&whole[1], 0, 0, length, 1, &part));
        must(tdm_tensor_slice(&whole[2], 0, 0, length * ranks, 1, &y));
        const double began = now();
        const tdm_status status = call(comm, queue, below(FUNCTIONS), &x, &part, &y);
        if (status == TDM_OK) continue;
        const double took = now() - began;
        char said[700];
        snprintf(said, sizeof said, "%s", tdm_last_error());
        const bool named = status == TDM_ERROR_RANK_LOST && strstr(said, name);
        const bool again = tdm_comm_barrier(comm, queue) == TDM_ERROR_RANK_LOST;
        tdm_comm_destroy(comm);
        printf("%s: rank %d of %d, call %ld, after %.1f s: %s: %s\n",
               named && again && took < (reported ? 0 : limit) + slack ? "survived" : "wrong", rank,
               ranks, calls, took, tdm_status_name(status), said);
        fflush(stdout);
        _exit(0); /* MPI_Finalize would wait for the rank that is no more */
    }
}
