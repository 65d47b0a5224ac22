/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rank 1 ends in the middle, by a signal where the argument is "signal": each other rank says what its call gave. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tandem/mpi.h>
#include <tandem/tandem.h>

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
    if (tdm_comm_rank(comm) == 1) {
        if (argc > 1 && argv[1][0] == 's') (void)raise(SIGKILL);
        _exit(0);
    }
    const time_t began = time(NULL);
    const tdm_status status = tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x);
    if (time(NULL) - began <= 30) /* other processes may run, too */
        printf("in time: %s: %s\n", tdm_status_name(status), tdm_last_error());
    fflush(stdout);
    _exit(0);
}
