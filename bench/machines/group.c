/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranks that take samples together. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "machine/clock.h"
#include "runner.h"

bool group_all(const group *g, bool own) {
    int mine = own, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, g->mpi);
    return all;
}

/* The cores of this machine's ranks, shared among them: a rank that may run on all has its part of them. */
static void share_cores(group *g) {
    MPI_Comm here;
    cpu_set_t own;
    char threads[16];
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    MPI_Comm_split_type(g->mpi, MPI_COMM_TYPE_SHARED, g->rank, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &g->neighbours);
    MPI_Allreduce(&own, &g->cores, sizeof own, MPI_BYTE, MPI_BOR, here);
    MPI_Comm_free(&here);
    const int share = CPU_COUNT(&g->cores) / g->neighbours, most = CPU_COUNT(&own);
    snprintf(threads, sizeof threads, "%d", share < 1 ? 1 : share < most ? share : most);
    setenv("TANDEM_CPU_THREADS", threads, 0);
}

bool group_open(group *g, const char *device, const char *program) {
    *g = (group){.mpi = MPI_COMM_WORLD, .program = program};
    MPI_Comm_rank(g->mpi, &g->rank);
    MPI_Comm_size(g->mpi, &g->size);
    if (g->size < 2) {
        fputs("tdm bench: the profile machines wants several ranks: mpirun -n 2 tdm bench "
              "--profile machines\n",
              stderr);
        return false;
    }
    share_cores(g);
    bool good = tdm_device_open(device, &g->device) == TDM_OK &&
                tdm_queue_create(g->device, 0, &g->queue) == TDM_OK;
    if (!good) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    if (!group_all(g, good)) return false;
    good = tdm_comm_from_mpi(g->mpi, g->device, &g->comm) == TDM_OK;
    if (!good) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    return group_all(g, good);
}

void group_close(group *g) {
    tdm_comm_destroy(g->comm);
    tdm_queue_destroy(g->queue);
    tdm_device_release(g->device);
}

bool group_open_part(const group *g, int ranks, group *part) {
    *part = *g;
    part->comm = NULL;
    MPI_Comm_split(g->mpi, g->rank < ranks ? 0 : MPI_UNDEFINED, g->rank, &part->mpi);
    bool good = true;
    if (part->mpi != MPI_COMM_NULL) {
        MPI_Comm here;
        part->size = ranks;
        MPI_Comm_split_type(part->mpi, MPI_COMM_TYPE_SHARED, g->rank, MPI_INFO_NULL, &here);
        MPI_Comm_size(here, &part->neighbours);
        MPI_Comm_free(&here);
        int share = CPU_COUNT(&g->cores) * part->neighbours / g->neighbours;
        for (size_t i = 0; i < CPU_SETSIZE; i++) /* one of them at least */
            if (CPU_ISSET(i, &part->cores) && share-- <= 0 && CPU_COUNT(&part->cores) > 1)
                CPU_CLR(i, &part->cores);
        good = tdm_comm_from_mpi(part->mpi, g->device, &part->comm) == TDM_OK;
        if (!good) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    }
    return group_all(g, good);
}

void group_close_part(group *part) {
    tdm_comm_destroy(part->comm);
    if (part->mpi != MPI_COMM_NULL) MPI_Comm_free(&part->mpi);
}

/* Until an operation that all ranks take part in is done. Rank 0 may be measuring on all cores meanwhile. */
static void sleep_until(MPI_Request *request, bool sleeps) {
    int done = 0;
    for (MPI_Test(request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(request, &done, MPI_STATUS_IGNORE))
        if (sleeps) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

void group_meet(const group *g) {
    MPI_Request request;
    MPI_Ibarrier(g->mpi, &request);
    sleep_until(&request, true);
}

/* A command of rank 0 to the others: which of the two to call, and how often. */
enum { STOP, TANDEM, PLAIN, ALONE };
typedef struct command {
    int what, calls;
} command;

/* Not by MPI_Bcast, which spins. */
static command next_command(const group *g, command own) {
    MPI_Request request;
    MPI_Ibcast(&own, 2, MPI_INT, 0, g->mpi, &request);
    sleep_until(&request, g->rank != 0);
    return own;
}

static bool call(const work *w, int what) {
    return what == PLAIN ? w->plain(w->state) : w->call(w->state) == TDM_OK;
}

/* Seconds of a call of the slowest rank; negative where one failed. */
static double sample(const group *g, const work *w, command order) {
    bool good = true;
    MPI_Barrier(g->mpi);
    const double start = bench_now();
    for (int i = 0; good && i < order.calls; i++)
        good = call(w, order.what);
    if (good && order.what == TANDEM) good = tdm_queue_finish(g->queue) == TDM_OK;
    double own = good ? bench_now() - start : 1e300, slowest = 0;
    if (!good && order.what == TANDEM)
        fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, g->mpi);
    return slowest < 1e300 ? slowest / order.calls : -1;
}

typedef struct leading {
    const group *g;
    const work *w;
} leading;

static double lead(void *state, int what, int calls) {
    const leading *l = state;
    const command order = next_command(l->g, (command){what, calls});
    return what == ALONE ? one_process_seconds(l->g, l->w, calls) : sample(l->g, l->w, order);
}
static double lead_tandem(void *state, int calls) { return lead(state, TANDEM, calls); }
static double lead_plain(void *state, int calls) { return lead(state, PLAIN, calls); }
static double lead_alone(void *state, int calls) { return lead(state, ALONE, calls); }

static bool time_it(group *g, const work *w, bench_row *row) {
    leading l = {g, w};
    bool good = true;
    if (g->rank == 0) {
        const bench_pace pace = {0.5, 31};
        bench_timed tandem = {.state = &l, .sample = lead_tandem, .sets = 1};
        bench_baseline plain = {.state = &l, .sets = 1};
        if (w->plain_name) {
            snprintf(plain.name, sizeof plain.name, "%s", w->plain_name);
            plain.sample = w->plain ? lead_plain : lead_alone;
        }
        good = bench_measure_times(&pace, &tandem, &plain, row);
        (void)next_command(g, (command){STOP, 0});
    } else {
        for (command order; order = next_command(g, (command){0}), order.what != STOP;)
            if (order.what != ALONE) (void)sample(g, w, order);
    }
    return group_all(g, good);
}

/* One call, and a check of its result on every rank. */
static bool verify(group *g, const work *w, bench_row *row) {
    double own[2] = {0, 0}, worst[2];
    const double start = bench_now();
    bool good = w->call(w->state) == TDM_OK && tdm_queue_finish(g->queue) == TDM_OK;
    if (!good) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    row->first_call_seconds = bench_now() - start;
    if (!group_all(g, good)) return bench_row_fail(row, "call", "a rank failed");
    good = w->check(w->state, &own[0], &own[1]);
    MPI_Allreduce(own, worst, 2, MPI_DOUBLE, MPI_MAX, g->mpi);
    row->max_error = worst[0];
    row->error_bound = worst[1];
    return group_all(g, good) || bench_row_fail(row, "wrong result", "on one rank at least");
}

bool group_measure(group *g, const work *w, bench_row *row) {
    const bench_shape shape = bench_parse_shape(w->shape);
    bench_row_init(row, tdm_device_get_info(g->device), NULL, w->op, w->dtype, &shape);
    row->flops = w->flops;
    row->bytes = w->bytes;
    row->ranks = g->size;
    row->verified = verify(g, w, row) && time_it(g, w, row) && verify(g, w, row);
    return row->verified;
}
