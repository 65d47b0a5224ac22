/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of communicators over NCCL alone. */
#ifndef TESTS_NCCL_TEST_H
#define TESTS_NCCL_TEST_H

#include <tandem/nccl.h>

#include "mpi/ranks.h"

/* Makes a communicator of `of` processes, of which this is `number`. */
void connect_some(int of, int number, tdm_comm **made);

/* The parts. */
void run_values(void);
void run_lost(void);
void run_refusals(void);
void run_missing(void); /* without a communicator */

#endif
