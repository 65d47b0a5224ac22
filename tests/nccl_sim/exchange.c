/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared memory between simulated ranks. */
#include "exchange.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

sim_room *exchange_open(const char *name) {
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0) return NULL;
    void *room = MAP_FAILED;
    if (ftruncate(file, sizeof(sim_room)) == 0)
        room = mmap(NULL, sizeof(sim_room), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return room == MAP_FAILED ? NULL : room;
}

void exchange_close(sim_room *room) { (void)munmap(room, sizeof *room); }

void exchange_pause(void) { (void)usleep(20); }

bool exchange_meet(sim_ends *ends) {
    atomic_store(&ends->room->step[ends->rank], ++ends->step);
    for (int i = 0; i < ends->ranks; i++)
        while (atomic_load(&ends->room->step[i]) < ends->step) {
            if (atomic_load(&ends->aborted)) return false;
            exchange_pause();
        }
    return !atomic_load(&ends->aborted);
}
