/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Ranks that cannot have NCCL: all learn which, and why, and the communicator goes on. */
#include <stdio.h>
#include <string.h>

#include <tandem/nccl.h>

#include "test.h"

/* The first rank's device is another one than its own. */
static void refused(const char *name, tdm_status wanted, const char *words) {
    tdm_device *other = NULL;
    tdm_comm *made = NULL;
    char own_name[16];
    snprintf(own_name, sizeof own_name, "cuda:%d", rank);
    OK(tdm_device_open(rank == 0 ? name : own_name, &other));
    OK(tdm_comm_from_mpi(MPI_COMM_WORLD, other, &made));
    const tdm_status status = tdm_comm_use_nccl(made);
    CHECK(status == wanted && strstr(tdm_last_error(), words), "%s: %s: %s", name,
          tdm_status_name(status), tdm_last_error());
    tdm_queue *its = NULL;
    OK(tdm_queue_create(other, 0, &its));
    const int64_t shape[] = {3};
    float values[3] = {0};
    tdm_tensor x = {0};
    OK(tdm_ones(its, TDM_F32, 1, shape, &x));
    OK(tdm_comm_all_reduce(made, its, TDM_COMM_SUM, &x, &x));
    OK(tdm_to_host(its, &x, values));
    CHECK(values[2] == (float)ranks, "afterwards the sum is %g", (double)values[2]);
    tdm_tensor_release(&x);
    tdm_comm_destroy(made);
    tdm_queue_destroy(its);
    tdm_device_release(other);
}

void test_nccl_refusals(void) {
    refused("cpu:0", TDM_ERROR_UNSUPPORTED, "rank 0: its device is cpu:0, no CUDA device");
    if (ranks > 1) refused("cuda:1", TDM_ERROR_INVALID_ARGUMENT, "ranks 0 and 1 have the same GPU");
}
