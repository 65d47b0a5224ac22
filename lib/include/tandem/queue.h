/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * In-order queues and events.
 *
 * Work given to a queue runs in the order it was given. Functions named *_async and all operations
 * of ops.h return when the work is queued; on the cpu backend the work is then already done. A
 * failure of the device that comes later surfaces at the next call that waits.
 *
 * Threads: a queue is used by one thread at a time; different queues in parallel, also of one
 * device. Events may be waited for and queried from any thread once recorded. */
#ifndef TANDEM_QUEUE_H
#define TANDEM_QUEUE_H

#include <tandem/device.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** An in-order queue of work for one device. */
typedef struct tdm_queue tdm_queue;
/** A point in a queue that can be waited for. */
typedef struct tdm_event tdm_event;

/** Flags of tdm_queue_create. */
enum {
    TDM_QUEUE_TIMING = 1u /**< events recorded in this queue carry a time (OpenCL needs to know) */
};

/** Makes a queue on a device and takes a reference to the device. *queue is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_queue_create(tdm_device *device, unsigned flags,
                                                 tdm_queue **queue);

/** Waits for the queue's work, then frees it. Errors of that work are lost: call tdm_queue_finish
 * first to see them. When the wait fails the library keeps the queue, and what its work may use,
 * and tries again when another queue of the device is made or destroyed. NULL is allowed. */
TDM_API void tdm_queue_destroy(tdm_queue *queue);

/** Waits until all work given to the queue is done, and reports what failed since the last wait.
 * When the wait itself fails it is tried once more, and the first failure is reported; work may
 * then still be running until a later call succeeds. On a device that is lost the call waits, too,
 * before it returns TDM_ERROR_DEVICE_LOST, as a driver may report a loss while transfers go on. If an
 * OpenCL driver reports it for the wait itself, keep the memory that transfers use. */
TDM_API TDM_MUST_USE tdm_status tdm_queue_finish(tdm_queue *queue);

/** Hands all queued work to the device without waiting for it. */
TDM_API TDM_MUST_USE tdm_status tdm_queue_flush(tdm_queue *queue);

/** The queue's device, borrowed. */
TDM_API tdm_device *tdm_queue_get_device(const tdm_queue *queue);

/** Makes an event for queues of this device. *event is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_event_create(tdm_device *device, tdm_event **event);

/** Frees an event; a queue that waits for it is not disturbed. NULL is allowed. */
TDM_API void tdm_event_destroy(tdm_event *event);

/** Marks this point of the queue: the event completes when all earlier work has. Recording again
 * replaces the earlier mark. Queue and event are of one device. */
TDM_API TDM_MUST_USE tdm_status tdm_queue_record_event(tdm_queue *queue, tdm_event *event);

/** Waits for the event. TDM_ERROR_INVALID_ARGUMENT when it was never recorded. Only the queue's next call that waits,
 * such as tdm_queue_finish, is certain to report that earlier work failed. */
TDM_API TDM_MUST_USE tdm_status tdm_event_wait(tdm_event *event);

/** *done says whether the event has completed, without waiting. */
TDM_API TDM_MUST_USE tdm_status tdm_event_query(tdm_event *event, bool *done);

/** Seconds of device time from start to end, both recorded in TDM_QUEUE_TIMING queues of one
 * device. Waits for both. */
TDM_API TDM_MUST_USE tdm_status tdm_event_elapsed(tdm_event *start, tdm_event *end,
                                                  double *seconds);

/** Later work of the queue runs after the event, which may be of any device of any backend. The devices wait
 * for each other where both are CUDA's, or the same; else, and on cpu queues, the calling thread waits. */
TDM_API TDM_MUST_USE tdm_status tdm_queue_wait_event(tdm_queue *queue, tdm_event *event);

#if defined(__cplusplus)
}
#endif
#endif
