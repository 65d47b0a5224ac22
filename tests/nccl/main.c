/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* nccl RANKS PART: runs a part of the tests in so many processes, each with a GPU of the simulated machine and the
 * simulated NCCL, and no other transport. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Shared by the processes. */
static struct shared {
    atomic_int ids; /* how many there are */
    tdm_nccl_id id[64];
} * shared;
static int ids_used;

void connect_some(int of, int number, tdm_comm **made) {
    const int slot = ids_used++;
    if (number == 0) {
        OK(tdm_nccl_get_id(&shared->id[slot]));
        atomic_store(&shared->ids, slot + 1);
    }
    while (atomic_load(&shared->ids) <= slot)
        usleep(1000);
    OK(tdm_comm_from_nccl(&shared->id[slot], number, of, device, made));
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"values", run_values},
             {"lost", run_lost},
             {"refusals", run_refusals},
             {"missing", run_missing}};

static int run(const struct part *part) {
    char name[16];
    alarm(500);
    snprintf(name, sizeof name, "cuda:%d", rank);
    OK(tdm_device_open(name, &device));
    if (!device) return 1;
    OK(tdm_queue_create(device, 0, &queue));
    if (part->run != run_missing) {
        connect_some(ranks, rank, &comm);
        if (!comm) return 1;
    }
    part->run();
    tdm_comm_destroy(comm);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    if (rank == 0)
        printf("%d ranks, %s: %ld checks, %ld failed\n", ranks, part->name, checks, failures);
    fflush(stdout);
    return checks == 0 || failures > 0;
}

int main(int argc, char **argv) {
    pid_t children[8];
    const struct part *part = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, argv[2]) == 0) part = &parts[i];
    ranks = argc == 3 ? atoi(argv[1]) : 0;
    if (!part || ranks < 1 || ranks > 8) return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    for (rank = 0; rank < ranks; rank++) {
        children[rank] = fork();
        if (children[rank] == 0) exit(run(part));
    }
    int failed = 0;
    for (int i = 0; i < ranks; i++) {
        int status = 0;
        (void)waitpid(children[i], &status, 0);
        if (status == 0) continue;
        fprintf(stderr, "rank %d ended with %d\n", i, status);
        failed = 1;
    }
    return failed;
}
