/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs the tests as one rank of several. With TDM_TEST_MIXED odd ranks have an OpenCL device; with
 * TDM_TEST_NCCL tensors go by the simulated NCCL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/nccl.h>

#include "test.h"

/* The last rank lacks NCCL: tensors go as without it. */
static bool is_missing(void) {
    const char *how = getenv("TDM_TEST_NCCL");
    return how && strcmp(how, "missing") == 0;
}

tdm_status connect_ranks(tdm_comm **made) {
    tdm_status status = tdm_comm_from_mpi(MPI_COMM_WORLD, device, made);
    if (status != TDM_OK || !getenv("TDM_TEST_NCCL")) return status;
    status = tdm_comm_use_nccl(*made);
    if (!is_missing()) return status;
    char words[32];
    snprintf(words, sizeof words, "rank %d: NVIDIA's NCCL", ranks - 1);
    CHECK(status == TDM_ERROR_UNAVAILABLE && strstr(tdm_last_error(), words), "no NCCL: %s: %s",
          tdm_status_name(status), tdm_last_error());
    return TDM_OK;
}

/* TDM_TEST_CUDA: each rank has a separate simulated GPU. */
static const char *choose_device(void) {
    static char name[16];
    if (getenv("TDM_TEST_DEVICE")) return getenv("TDM_TEST_DEVICE");
    if (!getenv("TDM_TEST_CUDA"))
        return getenv("TDM_TEST_MIXED") && rank % 2 ? "opencl:0" : "cpu:0";
    snprintf(name, sizeof name, "cuda:%d", rank);
    return name;
}

int main(int argc, char **argv) {
    tdm_comm *none;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_missing() && rank == ranks - 1) setenv("TANDEM_NCCL_LIBRARY", "/nonexistent/nccl", 1);
    OK(tdm_device_open(choose_device(), &device));
    if (!device) MPI_Abort(MPI_COMM_WORLD, 1);
    OK(tdm_queue_create(device, 0, &queue));
    OK(connect_ranks(&comm));
    if (!comm) MPI_Abort(MPI_COMM_WORLD, 1);
    OK(tdm_comm_set_timeout(comm, 120));
    CHECK(tdm_comm_get_rank(comm) == rank && tdm_comm_get_size(comm) == ranks, "rank and size");
    CHECK(tdm_comm_get_device(comm) == device, "device");
    test_values();
    test_splits();
    if (!is_missing()) { /* which only differs in how the ranks are connected */
        test_bits();
        test_layers();
        test_grids();
        test_faults();
    }
    if (getenv("TDM_TEST_NCCL") && !is_missing()) test_nccl_refusals();
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
