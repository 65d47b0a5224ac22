/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for an MPI that takes addresses in the memory of CUDA devices, over one that does not, on the simulated
 * machine. It reports what such an MPI leaves undefined: memory that the device still uses, another current device. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cuda_sim/sim.h"

static atomic_ulong given; /* addresses of devices */

static void *find(const char *function, const void *bytes) {
    int ordinal;
    sim_block *block = sim_is_device_address(bytes) ? sim_known(bytes, &ordinal) : NULL;
    if (!block) return (void *)(uintptr_t)bytes;
    atomic_fetch_add(&given, 1);
    if (__atomic_load_n(&block->pending, __ATOMIC_ACQUIRE) > 0)
        sim_report("%s: the device has yet to use %p", function, bytes);
    if (!sim_current() || sim_current()->device != block->device)
        sim_report("%s: %p is not of the current device", function, bytes);
    return sim_bytes(block, bytes);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    return PMPI_Isend(find("MPI_Isend", bytes), count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
    return PMPI_Irecv(find("MPI_Irecv", bytes), count, type, from, tag, comm, request);
}

int MPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *found) {
    if (strcmp(key, "mpi_memory_alloc_kinds") != 0)
        return PMPI_Info_get(info, key, length, value, found);
    snprintf(value, (size_t)length + 1, "system,mpi,cuda:host,cuda:device");
    *found = 1;
    return MPI_SUCCESS;
}

int MPI_Finalize(void) {
    int ranks = 0;
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 1 && atomic_load(&given) == 0)
        sim_report("no address of a device was given to MPI");
    return PMPI_Finalize();
}
