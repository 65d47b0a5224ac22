/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs the tests as one rank of several. With TDM_TEST_MIXED odd ranks have an OpenCL device. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

int rank, ranks;
tdm_device *device;
tdm_queue *queue;
tdm_comm *comm;
static long checks, failures;

void check(int line, bool ok, const char *format, ...) {
    checks++;
    if (ok) return;
    if (failures++ > 20) return;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "rank %d, line %d: %s\n", rank, line, text);
}

int main(int argc, char **argv) {
    tdm_comm *none;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool mixed = getenv("TDM_TEST_MIXED") && rank % 2;
    OK(tdm_device_open(mixed ? "opencl:0" : "cpu:0", &device));
    if (!device) MPI_Abort(MPI_COMM_WORLD, 1);
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm));
    if (!comm) MPI_Abort(MPI_COMM_WORLD, 1);
    OK(tdm_comm_set_timeout(comm, 20));
    CHECK(tdm_comm_rank(comm) == rank && tdm_comm_size(comm) == ranks, "rank and size");
    test_values();
    test_parallel();
    test_faults();
    tdm_comm_destroy(comm);
    CHECK(tdm_comm_from_mpi(MPI_COMM_NULL, device, &none) == TDM_ERROR_INVALID_ARGUMENT && !none,
          "MPI_COMM_NULL was taken");
    OK(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm));
    long mine[2] = {checks, failures}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    const bool late = tdm_comm_from_mpi(MPI_COMM_WORLD, device, &none) == TDM_ERROR_UNAVAILABLE;
    tdm_comm_destroy(comm);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    if (rank == 0) printf("%d ranks, %ld checks, %ld failed\n", ranks, all[0], all[1]);
    return all[1] > 0 || all[0] == 0 || !late;
}
