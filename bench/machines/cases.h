/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cases that are measured over several ranks. */
#ifndef BENCH_MACHINES_CASES_H
#define BENCH_MACHINES_CASES_H

#include "group.h"

/* A case in words. */
typedef struct machines_case {
    const char *op, *shape;
    tdm_dtype dtype;
    const struct machines_kind *kind;
} machines_case;

/* The work of the process that takes the place of the ranks. */
typedef struct one_process_work {
    const char *op, *shape;
    tdm_dtype dtype;
    int calls;
} one_process_work;

/* How a kind of case is prepared on each rank: the rest of w is filled in, and its state, zero before, is destroyed in
 * any case. */
typedef struct machines_kind {
    const char *op; /* that `alone` is for, up to a '+'; NULL: none */
    size_t state_size;
    bool (*prepare)(group *g, work *w);
    tdm_status (*call)(void *state);
    bool (*check)(void *state, double *error, double *bound);
    void (*destroy)(void *state);
    /* Makes the operands, warms up and returns seconds of a call; negative on failure. */
    double (*alone)(tdm_queue *queue, const one_process_work *of);
} machines_kind;

extern const machines_kind machines_collectives, machines_products, machines_layers,
    machines_training;

/* The baseline's name in the rows of weak scaling, or of strong scaling. */
const char *one_process_name(bool weak);
/* The work in one process: on all cores that the ranks of this machine have, or, for weak scaling, on the first of
 * them. In the process itself, `run` is called with the words after --one-process, and prints the seconds of a call. */
double one_process_seconds(const group *g, const work *w, int calls);
int one_process_run(int argc, char **argv);
/* In that process: seconds of a call after one that warms up; negative on failure. */
double one_process_time(tdm_queue *queue, int calls,
                        tdm_status (*call)(tdm_queue *queue, void *state), void *state);

/* ---- elements.c ---- */

/* Element (i, j) of matrix `which`, 0 to 15: between -1 and 1. */
double machines_element(int which, int64_t i, int64_t j);
/* A block of it in host memory, that the caller frees: by columns, as Fortran has it, or by rows. NaN for
 * which < 0. */
void *machines_fill(tdm_dtype dtype, int which, const int64_t first[2], const int64_t shape[2],
                    bool by_columns);
/* The same as a tensor. */
bool machines_make(tdm_queue *queue, tdm_dtype dtype, int which, const int64_t first[2],
                   const int64_t shape[2], tdm_tensor *tensor);

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
