/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A piece of POSIX shared memory that the ranks of a simulated communicator share. Waits for another rank last until
 * the communicator is aborted, as those of NCCL's kernels do. */
#ifndef NCCL_SIM_EXCHANGE_H
#define NCCL_SIM_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SIM_MAX_RANKS = 8, SIM_SLOT = 256 << 10, SIM_MAIL = 64 << 10 };

/* Bytes on their way from one rank to another. */
typedef struct sim_mail {
    atomic_size_t full; /* how many; 0: none */
    char bytes[SIM_MAIL];
} sim_mail;

typedef struct sim_room {
    atomic_int ranks, left;
    atomic_int device[SIM_MAX_RANKS]; /* 1 + its number, 0: the rank has not come */
    atomic_ulong step[SIM_MAX_RANKS]; /* how often the rank has met the others */
    char slots[SIM_MAX_RANKS][SIM_SLOT];
    sim_mail mail[SIM_MAX_RANKS][SIM_MAX_RANKS]; /* [from][to] */
} sim_room;

typedef struct sim_ends {
    sim_room *room;
    int rank, ranks;
    unsigned long step;
    atomic_bool aborted;
} sim_ends;

/* The room of a name; made where it is not there. NULL: it cannot be. */
sim_room *exchange_open(const char *name);
void exchange_close(sim_room *room);

/* Returns when all ranks have come here; false: aborted. */
bool exchange_meet(sim_ends *ends);

/* A moment, for a thread that waits. */
void exchange_pause(void);

#endif
