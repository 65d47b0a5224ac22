/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of communicators: one process, or thread, of several, each of which counts its failed checks. */
#ifndef TESTS_MPI_RANKS_H
#define TESTS_MPI_RANKS_H

#include <tandem/parallel.h>
#include <tandem/tandem.h>

extern _Thread_local int rank, ranks;
extern _Thread_local tdm_device *device;
extern _Thread_local tdm_queue *queue;
extern _Thread_local tdm_comm *comm;
extern _Thread_local long checks, failures;

/* Counts a check, and prints it where it fails. */
void check(int line, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define CHECK(...) check(__LINE__, __VA_ARGS__)
#define OK(expression)                                                                             \
    do {                                                                                           \
        const tdm_status status_ = (expression);                                                   \
        CHECK(status_ == TDM_OK, "%s: %s", #expression, tdm_last_error());                         \
    } while (0)

/* The tensor's elements as double; to be freed. */
double *values_of(const tdm_tensor *tensor);

/* Of `comm`, which goes on: collectives, layers that ranks share, and what splits it. */
void test_values(void);
void test_layers(void);
void test_splits(void);
void test_grids(void);

#endif
