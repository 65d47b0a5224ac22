/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Queues are streams that wait for no default stream; events are CUDA events. */
#include "cuda_backend.h"

tdm_status tdmi_cuda_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue) {
    TDMI_CUDA_BEGIN(device);
    cudaStream_t stream = NULL;
    TDMI_TRY(tdmi_cuda_check(tdmi_cudart.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                             "cudaStreamCreateWithFlags"));
    queue->device = device;
    queue->own = queue->stream = stream;
    queue->timing = (flags & TDM_QUEUE_TIMING) != 0;
    return TDM_OK;
}

void tdmi_cuda_queue_deinit(tdmi_bqueue *queue) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(queue->device, &calls) == TDM_OK) {
        if (queue->capturing)
            (void)tdmi_cuda_succeeds(tdmi_cudart.cudaStreamDestroy(queue->capturing));
        if (!queue->adopted) (void)tdmi_cuda_succeeds(tdmi_cudart.cudaStreamDestroy(queue->own));
        tdmi_cuda_end(&calls);
    }
    queue->own = queue->stream = queue->capturing = NULL;
}

/* CUDA starts work as it is given. */
tdm_status tdmi_cuda_queue_flush(tdmi_bqueue *queue) {
    (void)queue;
    return TDM_OK;
}

tdm_status tdmi_cuda_queue_finish(tdmi_bqueue *queue) {
    TDMI_CUDA_BEGIN(queue->device);
    return tdmi_cuda_check(tdmi_cudart.cudaStreamSynchronize(queue->own), "cudaStreamSynchronize");
}

tdm_status tdmi_cuda_event_init(tdmi_bdevice *device, tdmi_bevent *event) {
    *event = (tdmi_bevent){.device = device};
    if (!tdmi_mutex_init(&event->lock))
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot make the lock of an event");
    return TDM_OK;
}

void tdmi_cuda_event_deinit(tdmi_bevent *event) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(event->device, &calls) == TDM_OK) {
        for (int kind = 0; kind < 2; kind++)
            if (event->kinds[kind])
                (void)tdmi_cuda_succeeds(tdmi_cudart.cudaEventDestroy(event->kinds[kind]));
        tdmi_cuda_end(&calls);
    }
    tdmi_mutex_destroy(&event->lock);
    *event = (tdmi_bevent){0};
}

/* The kind recorded last. It lives as long as the event, so the driver is queried without the lock.
 */
static cudaEvent_t current(tdmi_bevent *event) {
    TDMI_LOCKED(&event->lock);
    return event->current;
}

static tdm_status record(tdmi_bevent *event, tdmi_bqueue *queue) {
    cudaEvent_t *kind = &event->kinds[queue->timing];
    if (!*kind) {
        unsigned flags = queue->timing ? cudaEventDefault : cudaEventDisableTiming;
        cudaEvent_t made = NULL;
        TDMI_TRY(tdmi_cuda_check(tdmi_cudart.cudaEventCreateWithFlags(&made, flags),
                                 "cudaEventCreateWithFlags"));
        *kind = made;
    }
    TDMI_TRY(tdmi_cuda_check(tdmi_cudart.cudaEventRecord(*kind, queue->own), "cudaEventRecord"));
    event->current = *kind;
    return TDM_OK;
}

tdm_status tdmi_cuda_event_record(tdmi_bevent *event, tdmi_bqueue *queue) {
    TDMI_CUDA_ENTER(queue->device);
    TDMI_LOCKED(&event->lock);
    return record(event, queue);
}

tdm_status tdmi_cuda_event_wait(tdmi_bevent *event) {
    TDMI_CUDA_BEGIN(event->device);
    return tdmi_cuda_check(tdmi_cudart.cudaEventSynchronize(current(event)),
                           "cudaEventSynchronize");
}

tdm_status tdmi_cuda_event_query(tdmi_bevent *event, bool *done) {
    TDMI_CUDA_BEGIN(event->device);
    cudaError_t error = tdmi_cudart.cudaEventQuery(current(event));
    *done = tdmi_cuda_succeeds(error);
    return *done || error == cudaErrorNotReady ? TDM_OK : tdmi_cuda_fail(error, "cudaEventQuery");
}

tdm_status tdmi_cuda_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds) {
    float milliseconds = 0;
    TDMI_CUDA_BEGIN(start->device);
    cudaError_t error =
        tdmi_cudart.cudaEventElapsedTime(&milliseconds, current(start), current(end));
    *seconds = (double)milliseconds * 1e-3;
    return tdmi_cuda_check(error, "cudaEventElapsedTime");
}

tdm_status tdmi_cuda_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event) {
    TDMI_CUDA_ENTER(queue->device);
    /* Also while the queue is captured, as a capture waits for nothing outside: its graph will run in this
     * stream. */
    return tdmi_cuda_check(tdmi_cudart.cudaStreamWaitEvent(queue->own, current(event), 0),
                           "cudaStreamWaitEvent");
}
