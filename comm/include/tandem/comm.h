/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Communicators: a group of processes with one device each, of any backends, which exchange tensors. In the library
 * libtandem-comm (pkg-config tandem-comm; CMake tandem::comm, by find_package(tandem COMPONENTS comm)), with
 * parallel.h, transport.h and nccl.h. tandem.h includes none of these.
 *
 * The processes of a communicator have ranks from 0 to size - 1. A communicator is made over MPI by
 * tdm_comm_from_mpi (tandem/mpi.h, in libtandem-mpi), or over a transport of the program's
 * (tandem/transport.h).
 *
 * Collective functions are called by all ranks in the same order, with the same dtype, operation and root, and with
 * shapes that fit together as each function says. A mismatch is found: the call then fails on every rank, with
 * a message that names the rank and what it requested, and the communicator is broken, as by a fault. Where all ranks
 * refuse their own arguments, nothing was done, and it goes on. Tensors are on the communicator's device, `queue` is
 * one of its queues, and earlier work of the queue is done before what it wrote is sent. With NCCL a function
 * may return before it is done: later work of the queue sees its result, and so does the host after tdm_queue_finish,
 * which reports what failed. Tensors may have any strides; those with gaps are packed. Extents
 * of 0 are right. Outputs overlap no input but where a function says that they may be the same view.
 *
 * Floats of 16 bits are added in f32 and rounded once. A result has the same bits on every rank, and again in
 * every run of as many ranks: the order of additions depends on shapes and ranks alone. Maxima and minima are NaN where
 * an element is, as in tdm_max.
 *
 * Faults. A rank that ends, or does not answer within the time limit (tdm_comm_set_timeout), makes the others'
 * calls fail with TDM_ERROR_RANK_LOST and a message that names it. Afterwards each function of this communicator, and
 * of those split from it, fails so at once. No call hangs, but
 * for what tdm_comm_split and tdm_comm_from_mpi leave to the transport. Other communicators, and devices, go on.
 *
 * Forks. In a forked child the communicators of the parent cannot be used: functions that return a status return
 * TDM_ERROR_FORKED and send nothing, and tdm_comm_destroy does nothing.
 *
 * Threads: a communicator is used by one thread at a time; different ones in parallel where the transport can
 * (tdm_comm_from_mpi: with MPI_THREAD_MULTIPLE). */
#ifndef TANDEM_COMM_H
#define TANDEM_COMM_H

#include <tandem/kernel.h>
#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** A group of processes, seen from one of them. */
typedef struct tdm_comm tdm_comm;

/** Waits for what the communicator has under way, frees it and gives its device back. Not collective. NULL
 * is allowed. Communicators split from it live on. */
TDM_API void tdm_comm_destroy(tdm_comm *comm);

/** This process's rank; -1 for NULL. */
TDM_API int tdm_comm_get_rank(const tdm_comm *comm);

/** The number of ranks; -1 for NULL. */
TDM_API int tdm_comm_get_size(const tdm_comm *comm);

/** This rank's device, borrowed. */
TDM_API tdm_device *tdm_comm_get_device(const tdm_comm *comm);

/** Collective: a communicator of those ranks that gave the same color, ordered by key and then by rank, on the same
 * device and with the same time limit. A negative color is in none: *part is NULL, and the call succeeds. Where a rank
 * cannot make its part, the call fails on all ranks. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_split(tdm_comm *comm, int color, int key, tdm_comm **part);

/** How long a rank may keep another waiting, in seconds: greater than 0, INFINITY for ever. At first it is 300. Each
 * rank has its own limit. The limit is on the time in which nothing arrives, not on the length of a call. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_set_timeout(tdm_comm *comm, double seconds);

/** How the elements of the ranks become one. */
typedef enum tdm_comm_op {
    TDM_COMM_SUM,  /**< any dtype but bool; integers modulo 2 to the power of their bits */
    TDM_COMM_MEAN, /**< the sum divided by the number of ranks, rounded once: floats */
    TDM_COMM_MAX,  /**< any dtype; of bool: any */
    TDM_COMM_MIN,  /**< any dtype; of bool: all */
    TDM_COMM_OP_COUNT
} tdm_comm_op;

/** y = the ranks' x, combined, on every rank. x and y have one shape and dtype, the same on all ranks; y may be x. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_all_reduce(tdm_comm *comm, tdm_queue *queue,
                                                    tdm_comm_op op, const tdm_tensor *x,
                                                    tdm_tensor *y);

/** The same on one rank, `root`. On the others y is not looked at and may be NULL. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op,
                                                int root, const tdm_tensor *x, tdm_tensor *y);

/** x of rank `root`, on all ranks. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_broadcast(tdm_comm *comm, tdm_queue *queue, int root,
                                                   tdm_tensor *x);

/** y = the ranks' x, one after the other along the first dimension, on every rank. x has at least one dimension; the
 * other extents are the same on all ranks. `extents` are the `size` ranks' first extents, the same array on all
 * ranks; NULL where they are equal. y's first extent is their sum. x may be its own part of y, in place. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_all_gather(tdm_comm *comm, tdm_queue *queue,
                                                    const tdm_tensor *x, const int64_t *extents,
                                                    tdm_tensor *y);

/** y = this rank's part of the ranks' x, combined: the parts lie one after the other along x's first
 * dimension, as in tdm_comm_all_gather. y may be its own part of x, in place: the other parts of x stay as they are. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_reduce_scatter(tdm_comm *comm, tdm_queue *queue,
                                                        tdm_comm_op op, const tdm_tensor *x,
                                                        const int64_t *extents, tdm_tensor *y);

/** Part i of y = part `rank` of rank i's x, for all ranks i: x and y are of one shape, the same on all ranks, whose
 * first extent is a multiple of size. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_all_to_all(tdm_comm *comm, tdm_queue *queue,
                                                    const tdm_tensor *x, tdm_tensor *y);

/** Sends x to another rank, which calls tdm_comm_receive for a tensor of the same shape and dtype. Messages from one
 * rank to another arrive in the order in which they were sent. To the rank itself is refused. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_send(tdm_comm *comm, tdm_queue *queue, int to,
                                              const tdm_tensor *x);

/** Receives y from another rank: see tdm_comm_send. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_receive(tdm_comm *comm, tdm_queue *queue, int from,
                                                 tdm_tensor *y);

/** Sends x to rank `to` while y is received from rank `from`: what a ring, or an exchange of borders, needs. Either
 * may be -1, for nothing; its tensor is then not looked at. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_send_receive(tdm_comm *comm, tdm_queue *queue, int to,
                                                      const tdm_tensor *x, int from, tdm_tensor *y);

/** Returns when every rank has called it and earlier work of the queue is done. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_barrier(tdm_comm *comm, tdm_queue *queue);

#if defined(__cplusplus)
}
#endif
#endif
