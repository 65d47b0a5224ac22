/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of communicators over MPI. */
#ifndef TESTS_MPI_TEST_H
#define TESTS_MPI_TEST_H

#include <tandem/mpi.h>

#include "ranks.h"

/* A communicator of all ranks, as this run has them. */
tdm_status connect_ranks(tdm_comm **made);

void test_bits(void);
void test_faults(void);
void test_nccl_refusals(void);

#endif
