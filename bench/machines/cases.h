/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What is measured over several ranks. */
#ifndef BENCH_MACHINES_CASES_H
#define BENCH_MACHINES_CASES_H

#include "group.h"

/* A case in words. */
typedef struct machines_case {
    const char *op, *shape;
    tdm_dtype dtype;
    const struct machines_kind *kind;
} machines_case;

/* How a kind of case is prepared on each rank: w is filled in, and destroyed in any case. False with a message on
 * stderr. */
typedef struct machines_kind {
    bool (*prepare)(group *g, const machines_case *c, work *w);
    void (*destroy)(work *w);
} machines_kind;

extern const machines_kind machines_collectives, machines_products;

/* The same work of a case in one process, on all cores that the ranks of this machine have. In the process itself,
 * `run` is called with the words behind --one-process, and prints the seconds of a call. */
double one_process_seconds(const group *g, const char *const *words, int calls);
int one_process_run(int argc, char **argv);

/* Makes the operands, warms up and returns seconds of a call; negative on failure. */
double product_alone(tdm_queue *queue, tdm_dtype dtype, const char *shape, int calls);

/* ScaLAPACK of the MPI that this program runs on, where it is installed. */
typedef struct scalapack scalapack;
scalapack *scalapack_open(const group *g, int rows, int columns, tdm_dtype dtype, int64_t m,
                          int64_t n, int64_t k);
/* Collective: finds the size of blocks with which it is fastest, and says how many rows they have. */
void scalapack_tune(scalapack *s, const group *g, const void *a, const void *b, void *c);
int scalapack_block(const scalapack *s);
bool scalapack_multiply(scalapack *s, const void *a, const void *b, void *c);
void scalapack_close(scalapack *s);

#endif
