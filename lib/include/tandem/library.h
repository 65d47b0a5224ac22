/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For libraries over Tandem: to check tensors and to fail as Tandem's own operations do, and to report later what
 * became of work that they gave a device themselves. libtandem-comm stands on this and on the other headers.
 *
 * Threads: tdm_check_operands as the queue, the others from any thread. */
#ifndef TANDEM_LIBRARY_H
#define TANDEM_LIBRARY_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Sets what tdm_last_error returns: one sentence, without a full stop, which is copied; NULL for
 * tdm_status_text(status). Returns status. */
TDM_API tdm_status tdm_fail(tdm_status status, const char *sentence);

/** TDM_ERROR_FORKED in a forked child whose parent had used Tandem before, else TDM_OK. Tandem's own functions fail so
 * there; a library asks before it uses anything that child and parent share, such as a connection. */
TDM_API TDM_MUST_USE tdm_status tdm_check_fork(void);

/** The properties of an operand; none of these: a float, of the same dtype as the other such operands. */
enum {
    TDM_OPERAND_OUTPUT = 1u,    /**< written */
    TDM_OPERAND_ANY_DTYPE = 2u, /**< of any dtype, whatever the others are */
    TDM_OPERAND_OPTIONAL = 4u,  /**< may be NULL */
    TDM_OPERAND_MOVED = 8u,  /**< of any dtype, and only its bytes are moved: needs no arithmetic */
    TDM_OPERAND_PACKED = 16u /**< may be what tdm_pack_weight has made */
};

/** A tensor argument of an operation. Its layout is frozen. */
typedef struct tdm_operand {
    const char *name;         /**< its name in messages */
    const tdm_tensor *tensor; /**< NULL where that is allowed */
    unsigned flags;           /**< TDM_OPERAND_… */
    unsigned
        in_place; /**< of an output: bit i where it may be exactly the same view as operand i */
} tdm_operand;

/** Checks the queue and the operands of `function`, as every operation of Tandem does: each tensor lies in its buffer,
 * all are on the queue's device, dtypes are as the flags say, outputs are writable and overlap nothing but as in_place
 * says. The message of a failure begins with `function` and names the operand. A queue that records a graph is refused.
 *
 * Later work of the queue then comes after what may still use the memory of the operands' buffers from before they were
 * made: also work that the caller gives the queue's own handle (cuda.h, opencl.h). */
TDM_API TDM_MUST_USE tdm_status tdm_check_operands(const char *function, tdm_queue *queue,
                                                   const tdm_operand *operands, int count);

/** A place for the failure of work that a queue was given, shared by the queue and the library that watches the
 * work. */
typedef struct tdm_failure tdm_failure;

/** Takes a reference to the queue's place, for tdm_failure_release. *failure is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_failure_create(tdm_queue *queue, tdm_failure **failure);

/** The queue's next tdm_queue_finish returns this status, once, with the sentence in its message; of several failures
 * the first. NULL for tdm_status_text(status). TDM_OK is ignored, and so is a report after the queue was destroyed. */
TDM_API void tdm_failure_report(tdm_failure *failure, tdm_status status, const char *sentence);

/** Gives the reference back. NULL is allowed. */
TDM_API void tdm_failure_release(tdm_failure *failure);

#if defined(__cplusplus)
}
#endif
#endif
