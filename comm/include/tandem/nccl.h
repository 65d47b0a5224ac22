/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Communicators of CUDA devices over NVIDIA's NCCL, which moves tensors from GPU to GPU. tandem.h does not include this
 * header.
 *
 * NCCL is opened at run time: libnccl.so.2, or the file that the environment variable TANDEM_NCCL_LIBRARY names, an
 * absolute path. Each process has one GPU, no two processes have the same. All functions of comm.h work, and
 * what comm.h promises holds, but for this:
 *
 * - Calls return once their work is on the queue. A later failure is reported by tdm_queue_finish, and by the
 *   communicator's next call.
 * - A result has the same bits on every rank. In which order NCCL adds depends on how the GPUs are connected, and on
 *   its version and settings: another machine may give other bits. Extremes, and data that only moves, are the same
 *   everywhere.
 * - The time limit is that of what has begun on the queue: work of NCCL's that does not end for so long is given up,
 *   and is TDM_ERROR_RANK_LOST. NCCL does not say which rank was lost. Results of aborted work are undefined.
 * - Making a communicator waits for all ranks as long as NCCL does, also where one of them fails before it begins.
 *   Giving up and tdm_comm_destroy wait for NCCL, which may wait for the other ranks on this machine to do the same.
 *
 * Threads: as comm.h says, but for this: communicators of one device are used by one thread, and in the same order on
 * all ranks, as NCCL's work may wait for all of its ranks on the device. A communicator has its own thread, which
 * watches over its work. */
#ifndef TANDEM_NCCL_H
#define TANDEM_NCCL_H

#include <tandem/comm.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** The name of a communicator that is to be made. Bytes without pointers, for the program to carry to the ranks. */
typedef struct tdm_nccl_id {
    unsigned char bytes[128]; /**< NCCL's */
} tdm_nccl_id;

/** Makes a name, on one rank, which waits there for the others until the communicator is made. TDM_ERROR_UNAVAILABLE
 * where NCCL cannot be opened. */
TDM_API TDM_MUST_USE tdm_status tdm_nccl_get_id(tdm_nccl_id *id);

/** Collective: a communicator over NCCL alone. All ranks give the same id, of tdm_nccl_get_id, and the same `ranks`.
 * device: a CUDA device, to which the communicator takes a reference.
 *
 * Without another transport the ranks' calls are not compared. The arguments that comm.h says have to be alike are then
 * not checked: where they are not, or where one rank refuses its arguments and the others do not, ranks wait until the
 * time limit, or get wrong results. tdm_comm_split is TDM_ERROR_UNSUPPORTED. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_from_nccl(const tdm_nccl_id *id, int rank, int ranks,
                                                   tdm_device *device, tdm_comm **comm);

/** Collective: from now on this communicator's tensors go by NCCL, and those of communicators that are split from it.
 * Calls are still compared over its transport, so that each waits on the host for the other ranks' calls, not for
 * their devices. A send waits so for its receive.
 *
 * On all ranks alike it fails, naming the first rank and why, where a rank's device is no CUDA device
 * (TDM_ERROR_UNSUPPORTED), two ranks have one GPU (TDM_ERROR_INVALID_ARGUMENT), NCCL cannot be opened
 * (TDM_ERROR_UNAVAILABLE), or does not start: the communicator goes on as before. One that has NCCL already stays as it
 * is. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_use_nccl(tdm_comm *comm);

#if defined(__cplusplus)
}
#endif
#endif
