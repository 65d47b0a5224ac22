/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Collectives compared with those of a plain MPI program, on its own host memory. The sizes and the bus bandwidth are
 * those of nccl-tests (doc/PERFORMANCE.md): of all-reduce 2 (n - 1) / n of the bytes, of gathering and scattering
 * (n - 1) / n, of others all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum {
    ALL_REDUCE,
    REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    SEND_RECEIVE,
    BARRIER,
    COUNT
};

static const struct {
    const char *op, *plain;
} names[COUNT] = {
    {"all_reduce", "MPI_Allreduce"},
    {"reduce", "MPI_Reduce"},
    {"broadcast", "MPI_Bcast"},
    {"all_gather", "MPI_Allgather"},
    {"reduce_scatter", "MPI_Reduce_scatter_block"},
    {"all_to_all", "MPI_Alltoall"},
    {"send_receive", "MPI_Sendrecv"},
    {"barrier", "MPI_Barrier"},
};

typedef struct state {
    group *g;
    int which, of_x, of_y; /* elements */
    tdm_tensor x, y;
    float *host_x, *host_y;
} state;

static float value(int rank, int i) { return (float)((i * 7 + rank * 3) % 16); }

static double sum(int size, int i) {
    double all = 0;
    for (int r = 0; r < size; r++)
        all += (double)value(r, i);
    return all;
}

static tdm_status call(void *of) {
    state *s = of;
    tdm_comm *comm = s->g->comm;
    tdm_queue *queue = s->g->queue;
    const int size = s->g->size, rank = s->g->rank;
    switch (s->which) {
    case ALL_REDUCE:
        return tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &s->x, &s->y);
    case REDUCE:
        return tdm_comm_reduce(comm, queue, TDM_COMM_SUM, 0, &s->x, rank == 0 ? &s->y : NULL);
    case BROADCAST:
        return tdm_comm_broadcast(comm, queue, 0, &s->y);
    case ALL_GATHER:
        return tdm_comm_all_gather(comm, queue, &s->x, NULL, &s->y);
    case REDUCE_SCATTER:
        return tdm_comm_reduce_scatter(comm, queue, TDM_COMM_SUM, &s->x, NULL, &s->y);
    case ALL_TO_ALL:
        return tdm_comm_all_to_all(comm, queue, &s->x, &s->y);
    case SEND_RECEIVE:
        return tdm_comm_send_receive(comm, queue, (rank + 1) % size, &s->x,
                                     (rank + size - 1) % size, &s->y);
    default:
        return tdm_comm_barrier(comm, queue);
    }
}

static bool plain(void *of) {
    state *s = of;
    const MPI_Comm mpi = s->g->mpi;
    const int size = s->g->size, rank = s->g->rank;
    switch (s->which) {
    case ALL_REDUCE:
        return MPI_Allreduce(s->host_x, s->host_y, s->of_x, MPI_FLOAT, MPI_SUM, mpi) == MPI_SUCCESS;
    case REDUCE:
        return MPI_Reduce(s->host_x, s->host_y, s->of_x, MPI_FLOAT, MPI_SUM, 0, mpi) == MPI_SUCCESS;
    case BROADCAST:
        return MPI_Bcast(s->host_y, s->of_y, MPI_FLOAT, 0, mpi) == MPI_SUCCESS;
    case ALL_GATHER:
        return MPI_Allgather(s->host_x, s->of_x, MPI_FLOAT, s->host_y, s->of_x, MPI_FLOAT, mpi) ==
               MPI_SUCCESS;
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(s->host_x, s->host_y, s->of_y, MPI_FLOAT, MPI_SUM, mpi) ==
               MPI_SUCCESS;
    case ALL_TO_ALL:
        return MPI_Alltoall(s->host_x, s->of_x / size, MPI_FLOAT, s->host_y, s->of_x / size,
                            MPI_FLOAT, mpi) == MPI_SUCCESS;
    case SEND_RECEIVE:
        return MPI_Sendrecv(s->host_x, s->of_x, MPI_FLOAT, (rank + 1) % size, 0, s->host_y, s->of_y,
                            MPI_FLOAT, (rank + size - 1) % size, 0, mpi,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS;
    default:
        return MPI_Barrier(mpi) == MPI_SUCCESS;
    }
}

/* Element i of this rank's result. */
static double wanted(const state *s, int i) {
    const int size = s->g->size, rank = s->g->rank, part = s->of_x / size;
    switch (s->which) {
    case ALL_REDUCE:
    case REDUCE:
        return sum(size, i);
    case BROADCAST:
        return (double)value(0, i);
    case ALL_GATHER:
        return (double)value(i / s->of_x, i % s->of_x);
    case REDUCE_SCATTER:
        return sum(size, rank * s->of_y + i);
    case ALL_TO_ALL:
        return (double)value(i / part, rank * part + i % part);
    default:
        return (double)value((rank + size - 1) % size, i);
    }
}

static bool check(void *of, double *error, double *bound) {
    state *s = of;
    *bound = 0; /* small whole numbers: exact */
    if (s->which == BARRIER || (s->which == REDUCE && s->g->rank != 0)) return true;
    if (tdm_to_host(s->g->queue, &s->y, s->host_y) != TDM_OK) return false;
    for (int i = 0; i < s->of_y; i++) {
        const double off = fabs((double)s->host_y[i] - wanted(s, i));
        *error = off > *error || isnan(off) ? off : *error;
    }
    /* for the next check */
    const bool input = s->which == BROADCAST && s->g->rank == 0;
    return *error == 0 && (input || tdm_fill(s->g->queue, (double)NAN, &s->y) == TDM_OK);
}

static double factor(int which, int size) {
    const double others = (double)(size - 1) / size;
    if (which == ALL_REDUCE) return 2 * others;
    return which == ALL_GATHER || which == REDUCE_SCATTER || which == ALL_TO_ALL ? others : 1;
}

static bool prepare(group *g, work *w) {
    state *s = w->state;
    s->g = g;
    while (strcmp(names[s->which].op, w->op) != 0)
        s->which++;
    int64_t n = bench_parse_shape(w->shape).extent[0];
    n = n < g->size ? g->size : n / g->size * g->size;
    s->of_x = (int)(s->which == ALL_GATHER ? n / g->size : n);
    s->of_y = (int)(s->which == REDUCE_SCATTER ? n / g->size : n);
    s->host_x = malloc((size_t)s->of_x * sizeof(float));
    s->host_y = malloc((size_t)s->of_y * sizeof(float));
    if (!s->host_x || !s->host_y) return false;
    for (int i = 0; i < s->of_x; i++)
        s->host_x[i] = value(g->rank, i);
    for (int i = 0; i < s->of_y; i++)
        s->host_y[i] = s->which == BROADCAST && g->rank == 0 ? value(0, i) : NAN;
    w->bytes = s->which == BARRIER ? 0 : (double)n * sizeof(float) * factor(s->which, g->size);
    w->plain_name = names[s->which].plain;
    w->plain = plain;
    return tdm_from_host(g->queue, s->host_x, TDM_F32, TDM_SHAPE(s->of_x), &s->x) == TDM_OK &&
           tdm_from_host(g->queue, s->host_y, TDM_F32, TDM_SHAPE(s->of_y), &s->y) == TDM_OK;
}

static void destroy(void *of) {
    state *s = of;
    tdm_tensor_release(&s->x);
    tdm_tensor_release(&s->y);
    free(s->host_x);
    free(s->host_y);
}

const machines_kind machines_collectives = {NULL,  sizeof(state), prepare, call,
                                            check, destroy,       NULL};
