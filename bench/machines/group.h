/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a run, and how they take samples together. Rank 0 leads: it chooses the call, and how often, and keeps
 * the rows; the others follow. */
#ifndef BENCH_MACHINES_GROUP_H
#define BENCH_MACHINES_GROUP_H

#include <sched.h>

#include <tandem/mpi.h>
#include <tandem/parallel.h>
#include <tandem/tandem.h>

#include "rows/row.h"

typedef struct group {
    MPI_Comm mpi;
    int rank, size, neighbours; /* of those on this rank's machine, with it */
    cpu_set_t cores;            /* that the ranks of this machine may run on */
    tdm_device *device;
    tdm_queue *queue;
    tdm_comm *comm;
    const char *program; /* this program, to start a process with */
} group;

/* One case at work on one rank. */
typedef struct work {
    const char *op;    /* "all_reduce" */
    const char *shape; /* as bench_parse_shape reads it */
    tdm_dtype dtype;
    bool weak; /* the shape is one rank's part */
    double flops,
        bytes; /* of one call, for the rate; flops 0: bytes. Of collectives the bytes are those of
                            nccl-tests' bus bandwidth. */
    void *state;
    tdm_status (*call)(void *state); /* queues it, or waits for it */
    bool (*check)(void *state, double *error,
                  double *bound); /* checks the last call's result, on this rank */
    const char *plain_name;       /* of what it is compared with; NULL: nothing */
    bool (*plain)(
        void *state); /* on all ranks, waited for; NULL: one process, while the ranks sleep */
} work;

/* Opens the device, by name or NULL, and the communicator. False with a message on stderr. */
bool group_open(group *g, const char *device, const char *program);
void group_close(group *g);

/* Collective over g: a group of its first `ranks` ranks, with their share of the cores. Its mpi is MPI_COMM_NULL on the
 * others, which take no part. False with a message on stderr, on all ranks of g. */
bool group_open_part(const group *g, int ranks, group *part);
void group_close_part(group *part);
/* Collective, without turning round and round: until all ranks have come. */
void group_meet(const group *g);

/* Verifies and times a case on all ranks; the row is complete on rank 0. False where it is not verified. */
bool group_measure(group *g, const work *w, bench_row *row);

/* Whether all ranks say so. */
bool group_all(const group *g, bool own);

#endif
