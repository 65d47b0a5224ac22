/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rank 1 ends in the middle, by a signal where the argument is "signal": each other rank says what its call gave. With
 * "slow" each question to MPI takes as long as on a machine whose cores have other work, and the end must not wait for
 * hundreds of these. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/mpi.h>
#include <tandem/tandem.h>

#include "now.h"

static bool slow;

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    if (slow) (void)nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    return PMPI_Test(request, done, status);
}

int main(int argc, char **argv) {
    const int64_t shape[] = {100000};
    tdm_comm *comm;
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor x;
    MPI_Init(&argc, &argv);
    if (tdm_device_open("cpu:0", &device) != TDM_OK ||
        tdm_queue_create(device, 0, &queue) != TDM_OK ||
        tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm) != TDM_OK ||
        tdm_zeros(queue, TDM_F32, 1, shape, &x) != TDM_OK ||
        tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x) != TDM_OK ||
        tdm_queue_finish(queue) != TDM_OK || tdm_comm_set_timeout(comm, 1) != TDM_OK)
        return 1;
    if (tdm_comm_get_rank(comm) == 1) {
        if (argc > 1 && strcmp(argv[1], "signal") == 0) (void)raise(SIGKILL);
        _exit(0);
    }
    slow = argc > 1 && strcmp(argv[1], "slow") == 0;
    const double began = now();
    const tdm_status status = tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x);
    char said[700];
    (void)snprintf(said, sizeof said, "%s", tdm_last_error());
    tdm_comm_destroy(comm);
    const double took = now() - began;
    if (took <= (slow ? 8 : 30)) /* other processes may run, too */
        printf("in time: %s: %s\n", tdm_status_name(status), said);
    else
        printf("late: after %.1f s: %s\n", took, said);
    fflush(stdout);
    _exit(0);
}
