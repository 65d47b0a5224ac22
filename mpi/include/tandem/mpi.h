/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Communicators over MPI, in the library libtandem-mpi (pkg-config tandem-mpi; CMake tandem::mpi, by
 * find_package(tandem COMPONENTS mpi)). It is compiled against one MPI, which the program must use, too. tandem.h does
 * not include this header. */
#ifndef TANDEM_MPI_H
#define TANDEM_MPI_H

#include <mpi.h>
#include <tandem/comm.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Collective over mpi: a communicator of its processes, in their order, whose rank here has `device`. mpi is
 * duplicated and may be freed at once; its error handler is left alone, that of the duplicate is MPI_ERRORS_RETURN. MPI
 * is initialized, and not finalized before the communicator is destroyed: what was made of it fails with
 * TDM_ERROR_UNAVAILABLE afterwards.
 *
 * This call, and a part of tdm_comm_split, waits for all ranks as MPI does: without a time limit. So does MPI_Finalize:
 * after TDM_ERROR_RANK_LOST a process ends by MPI_Abort or _exit.
 *
 * Threads: with MPI_THREAD_MULTIPLE different communicators may be used by different threads at once. With less, MPI's
 * own rule holds: calls of this library that use a communicator count as calls of MPI.
 *
 * On failure *comm is NULL: TDM_ERROR_UNAVAILABLE where MPI is not initialized or already finalized,
 * TDM_ERROR_INVALID_ARGUMENT for MPI_COMM_NULL or an intercommunicator, TDM_ERROR_BACKEND with MPI's own text for what
 * else MPI refuses. Where a rank cannot make its communicator, the call fails on all ranks. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_from_mpi(MPI_Comm mpi, tdm_device *device,
                                                  tdm_comm **comm);

#if defined(__cplusplus)
}
#endif
#endif
