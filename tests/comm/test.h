/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of communicators between threads. */
#ifndef TESTS_COMM_TEST_H
#define TESTS_COMM_TEST_H

#include "local.h"
#include "mpi/ranks.h"

/* Collective: a communicator of all threads, whose messages of more than 1000 bytes take so many seconds. */
void connect_threads(double seconds, tdm_comm **made);

/* Waits for all threads. */
void meet(void);

/* The parts. */
void run_values(void);
void run_order(void);
void run_faults(void);

#endif
