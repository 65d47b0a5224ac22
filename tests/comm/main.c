/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* comm RANKS PART [DEVICE…]: runs a part of the tests in so many threads, each of which is a rank. The devices are
 * theirs in turn, cpu:0 if none is given. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"values", run_values}, {"order", run_order}, {"faults", run_faults}};

static struct {
    const struct part *part;
    char **devices;
    int device_count, ranks;
    local_group *group; /* of the communicator that is being made */
    pthread_mutex_t lock;
    pthread_cond_t met;
    int waiting;
    unsigned round; /* of meet() */
    long checks, failures;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .met = PTHREAD_COND_INITIALIZER};

/* macOS has no pthread_barrier_t. */
void meet(void) {
    pthread_mutex_lock(&shared.lock);
    const unsigned round = shared.round;
    if (++shared.waiting == shared.ranks) {
        shared.waiting = 0;
        shared.round++;
        pthread_cond_broadcast(&shared.met);
    }
    while (round == shared.round)
        pthread_cond_wait(&shared.met, &shared.lock);
    pthread_mutex_unlock(&shared.lock);
}

void connect_threads(double seconds, tdm_comm **made) {
    meet();
    if (rank == 0) shared.group = local_group_make(ranks, seconds, 1000);
    meet();
    const tdm_transport transport = local_transport(shared.group, rank);
    OK(tdm_comm_create(&transport, device, made));
    OK(tdm_comm_set_timeout(*made, 120)); /* kernels may be compiled first */
}

static void *run(void *context) {
    rank = (int)(intptr_t)context;
    ranks = shared.ranks;
    OK(tdm_device_open(shared.devices[rank % shared.device_count], &device));
    if (!device) exit(1);
    OK(tdm_queue_create(device, 0, &queue));
    shared.part->run();
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    pthread_mutex_lock(&shared.lock);
    shared.checks += checks;
    shared.failures += failures;
    pthread_mutex_unlock(&shared.lock);
    return NULL;
}

int main(int argc, char **argv) {
    static char host[] = "cpu:0";
    static char *hosts[] = {host};
    pthread_t threads[8];
    for (size_t i = 0; argc >= 3 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, argv[2]) == 0) shared.part = &parts[i];
    shared.ranks = argc >= 3 ? atoi(argv[1]) : 0;
    if (!shared.part || shared.ranks < 1 || shared.ranks > 8) return 2;
    shared.devices = argc > 3 ? argv + 3 : hosts;
    shared.device_count = argc > 3 ? argc - 3 : 1;
    for (int i = 0; i < shared.ranks; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i) != 0) return 2;
    for (int i = 0; i < shared.ranks; i++)
        (void)pthread_join(threads[i], NULL);
    printf("%d ranks, %s: %ld checks, %ld failed\n", shared.ranks, shared.part->name, shared.checks,
           shared.failures);
    return shared.checks == 0 || shared.failures > 0;
}
