/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Moving tensors to another device, of any backend.
 *
 * A peer copy within a backend that has it; one copy where one end is host memory (cpu) or both
 * are; otherwise chunks through pinned host memory, one being read while the last is written.
 *
 * Threads: as the queue; a tdm_transfer from any thread. */
#ifndef TANDEM_MOVE_H
#define TANDEM_MOVE_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** y = x on `device`. When x is there already, y is x with one more reference to its buffer: no
 * copy, no allocation. Otherwise y is contiguous, in a new buffer, and has arrived when the
 * call returns, for all queues of its device. `queue` is of x's device: its earlier work is seen.
 * The caller gives y back with tdm_tensor_release. On failure *y is all zero. */
TDM_API TDM_MUST_USE tdm_status tdm_to(tdm_queue *queue, const tdm_tensor *x, tdm_device *device,
                                       tdm_tensor *y);

/** A transfer between devices that may still be under way. */
typedef struct tdm_transfer tdm_transfer;

/** The same without waiting: *y is there at once, its content when the transfer is done. Until then
 * x's buffer must not be written and y not be used; x's buffer and both devices are kept alive. A
 * view with gaps is packed by the queue first. *transfer is NULL on failure, in which case *y is
 * all zero; the caller destroys it. */
TDM_API TDM_MUST_USE tdm_status tdm_to_async(tdm_queue *queue, const tdm_tensor *x,
                                             tdm_device *device, tdm_tensor *y,
                                             tdm_transfer **transfer);

/** Bytes that have arrived so far, and in all. Never waits; either pointer may be NULL. Equal when
 * the transfer succeeded. */
TDM_API void tdm_transfer_get_progress(const tdm_transfer *transfer, uint64_t *done,
                                       uint64_t *total);

/** *done says whether the transfer has ended, well or not, without waiting. */
TDM_API TDM_MUST_USE tdm_status tdm_transfer_query(const tdm_transfer *transfer, bool *done);

/** Waits for the transfer and reports what failed. May be called again. */
TDM_API TDM_MUST_USE tdm_status tdm_transfer_wait(tdm_transfer *transfer);

/** Waits, then frees it; y stays. NULL is allowed. */
TDM_API void tdm_transfer_destroy(tdm_transfer *transfer);

#if defined(__cplusplus)
}
#endif
#endif
