/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Included before mpi/transport.c. The library asks again and again whether a message is done, and each time is an
 * event of the simulation, of which a thousand ranks that wait have a million in a microsecond. Here the first question
 * waits. That takes as long: the library goes on when all messages of a group are done, and all of them were begun
 * before. */
#ifndef SIMULATION_BLOCKING_H
#define SIMULATION_BLOCKING_H

#include <mpi.h>

int simulated_test(MPI_Request *request, int *done, MPI_Status *status);
#undef MPI_Test
#define MPI_Test simulated_test

/* Without the receives that each rank has open for notes of faults, of which there are none: the simulation looks
 * through all of a rank's receives for each message. */
int simulated_receive(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                      MPI_Request *request);
#undef MPI_Irecv
#define MPI_Irecv simulated_receive

#endif
