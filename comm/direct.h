/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Collectives by a team, from device to device: what a call does once its arguments are checked and its header is on
 * its way (call.c), where the communicator has a team. All compare the headers first, because what a team has begun
 * cannot be taken back; and the tensors are checked. Where something fails on one rank alone, the communicator is
 * broken. */
#ifndef TDMI_DIRECT_H
#define TDMI_DIRECT_H

#include "comm.h"

enum { TDMI_TO_ALL = -1 };

/* ---- direct.c ---- */

tdm_status tdmi_direct_reduce(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op, int to,
                              const tdm_tensor *x, tdm_tensor *y) TDM_MUST_USE;
tdm_status tdmi_direct_reduce_scatter(tdm_comm *comm, tdm_queue *queue, tdm_comm_op op,
                                      const tdm_tensor *x, tdm_tensor *y) TDM_MUST_USE;

/* ---- direct_move.c ---- */

tdm_status tdmi_direct_broadcast(tdm_comm *comm, tdm_queue *queue, int root,
                                 tdm_tensor *x) TDM_MUST_USE;
tdm_status tdmi_direct_all_gather(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                  tdm_tensor *y) TDM_MUST_USE;
tdm_status tdmi_direct_all_to_all(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                  tdm_tensor *y) TDM_MUST_USE;
/* x to rank `to` while y comes from rank `from`; -1: nothing. */
tdm_status tdmi_direct_pass(tdm_comm *comm, tdm_queue *queue, int to, const tdm_tensor *x, int from,
                            tdm_tensor *y) TDM_MUST_USE;
tdm_status tdmi_direct_barrier(tdm_comm *comm, tdm_queue *queue) TDM_MUST_USE;

/* ---- direct_side.c ---- */

/* The elements in the result of tdmi_comm_pack_room become y's, and it is released. */
tdm_status tdmi_direct_give(tdm_queue *queue, const tdm_tensor *y, tdm_tensor *packed,
                            tdm_status status) TDM_MUST_USE;
/* The places of a piece: `x` from byte x_at on, and y, either of which may be NULL. The queue comes after what may
 * still use them. */
tdm_status tdmi_direct_set(const tdm_comm *comm, tdm_queue *queue, tdmi_piece *piece,
                           const tdm_tensor *x, size_t x_at, const tdm_tensor *y,
                           size_t y_at) TDM_MUST_USE;
tdm_status tdmi_direct_run(tdm_comm *comm, tdm_queue *queue, tdmi_piece piece, const tdm_tensor *x,
                           const tdm_tensor *y) TDM_MUST_USE;
/* The end of each: what failed on some ranks only leaves the others waiting. */
tdm_status tdmi_direct_leave(tdm_comm *comm, tdm_status status) TDM_MUST_USE;

#endif
