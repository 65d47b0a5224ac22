/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* In-order queues, transfers and events. */
#include "opencl_backend.h"

tdm_status tdmi_cl_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue) {
    queue->device = device;
    queue->timing = (flags & TDM_QUEUE_TIMING) != 0;
    cl_command_queue_properties properties = queue->timing ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int code;
    queue->queue =
        tdmi_cl.clCreateCommandQueue(device->context, device->entry->id, properties, &code);
    TDMI_CL_TRY(code, "clCreateCommandQueue");
    return tdmi_cl_queue_prepare(queue);
}

tdm_status tdmi_cl_queue_prepare(tdmi_bqueue *queue) {
    cl_int code = CL_SUCCESS;
    if (queue->timing && queue->device->entry->early_markers)
        queue->stamp = tdmi_cl.clCreateBuffer(queue->device->context, CL_MEM_READ_WRITE,
                                              sizeof(cl_uint), NULL, &code);
    if (code == CL_SUCCESS) return TDM_OK;
    (void)tdmi_cl.clReleaseCommandQueue(queue->queue);
    return tdmi_cl_fail(code, "clCreateBuffer");
}

void tdmi_cl_queue_deinit(tdmi_bqueue *queue) {
    (void)tdmi_cl.clFinish(queue->queue);
    if (queue->stamp) (void)tdmi_cl.clReleaseMemObject(queue->stamp);
    (void)tdmi_cl.clReleaseCommandQueue(queue->queue);
}

tdm_status tdmi_cl_queue_flush(tdmi_bqueue *queue) {
    return tdmi_cl_check(tdmi_cl.clFlush(queue->queue), "clFlush");
}

/* The outcome of a command that is over: its status is negative when it, or something that it had
 * to wait for, failed. */
static tdm_status outcome(cl_event event) {
    cl_int state = CL_COMPLETE;
    TDMI_CL_TRY(tdmi_cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                       &state, NULL),
                "clGetEventInfo");
    if (state < 0) return tdmi_cl_fail(state, "work queued earlier");
    return TDM_OK;
}

tdm_status tdmi_cl_queue_drain(tdmi_bqueue *queue) {
    return tdmi_cl_check(tdmi_cl.clFinish(queue->queue), "waiting for the queue");
}

/* The outcome of its native kernels, which no event knows. */
static tdm_status products_of(tdmi_bqueue *queue) {
    const tdm_status status = (tdm_status)atomic_exchange(&queue->product, TDM_OK);
    if (status == TDM_OK) return TDM_OK;
    return tdmi_fail(status, "out of host memory for a product queued earlier");
}

tdm_status tdmi_cl_queue_finish(tdmi_bqueue *queue) {
    /* On a CPU work fails by a signal or not at all, so a marker would only cost time (PoCL: a
     * fifth of a launch with a finish). */
    if (tdmi_cl_is_cpu(queue->device)) {
        TDMI_TRY(tdmi_cl_queue_drain(queue));
        return products_of(queue);
    }
    /* clFinish reports only its own failure; a marker at the end of an in-order queue inherits the
     * failure of what came before. */
    cl_event marker;
    TDMI_CL_TRY(tdmi_cl.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, &marker),
                "waiting for the queue");
    cl_int code = tdmi_cl.clFinish(queue->queue);
    tdm_status status =
        code == CL_SUCCESS ? outcome(marker) : tdmi_cl_fail(code, "waiting for the queue");
    (void)tdmi_cl.clReleaseEvent(marker);
    return status;
}

tdm_status tdmi_cl_event_init(tdmi_bdevice *device, tdmi_bevent *event) {
    (void)device;
    if (!tdmi_mutex_init(&event->lock))
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot make the lock of an event");
    return TDM_OK;
}

void tdmi_cl_event_deinit(tdmi_bevent *event) {
    if (event->event) (void)tdmi_cl.clReleaseEvent(event->event);
    tdmi_mutex_destroy(&event->lock);
}

tdm_status tdmi_cl_marker(tdmi_bqueue *queue, cl_event *marker) {
    const cl_uint zero = 0;
    TDMI_CL_TRY(queue->stamp
                    ? tdmi_cl.clEnqueueFillBuffer(queue->queue, queue->stamp, &zero, sizeof zero, 0,
                                                  sizeof zero, 0, NULL, marker)
                    : tdmi_cl.clEnqueueMarkerWithWaitList(queue->queue, 0, NULL, marker),
                "recording an event");
    /* Another queue, or a thread that only asks, may wait for the event: neither hands this queue's
     * work to the device. */
    cl_int code = tdmi_cl.clFlush(queue->queue);
    if (code == CL_SUCCESS) return TDM_OK;
    (void)tdmi_cl.clReleaseEvent(*marker);
    return tdmi_cl_fail(code, "clFlush");
}

tdm_status tdmi_cl_event_record(tdmi_bevent *event, tdmi_bqueue *queue) {
    cl_event marker;
    TDMI_TRY(tdmi_cl_marker(queue, &marker));
    tdmi_mutex_lock(&event->lock);
    cl_event old = event->event;
    event->event = marker;
    event->timing = queue->timing;
    tdmi_mutex_unlock(&event->lock);
    if (old) (void)tdmi_cl.clReleaseEvent(old);
    return TDM_OK;
}

/* The recorded event with another reference, so that recording again does not take it away. */
static tdm_status borrow(tdmi_bevent *event, cl_event *result) {
    tdmi_mutex_lock(&event->lock);
    *result = event->event;
    cl_int code = *result ? tdmi_cl.clRetainEvent(*result) : CL_SUCCESS;
    tdmi_mutex_unlock(&event->lock);
    if (!*result) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "event: has never been recorded");
    return tdmi_cl_check(code, "clRetainEvent");
}

tdm_status tdmi_cl_event_wait(tdmi_bevent *event) {
    cl_event recorded;
    TDMI_TRY(borrow(event, &recorded));
    cl_int code = tdmi_cl.clWaitForEvents(1, &recorded);
    /* This code only refers to the event's own status. */
    tdm_status status = code == CL_SUCCESS || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
                            ? outcome(recorded)
                            : tdmi_cl_fail(code, "waiting for an event");
    (void)tdmi_cl.clReleaseEvent(recorded);
    return status;
}

tdm_status tdmi_cl_event_query(tdmi_bevent *event, bool *done) {
    cl_event recorded;
    TDMI_TRY(borrow(event, &recorded));
    cl_int state = CL_COMPLETE;
    cl_int code = tdmi_cl.clGetEventInfo(recorded, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                         &state, NULL);
    (void)tdmi_cl.clReleaseEvent(recorded);
    if (code != CL_SUCCESS) return tdmi_cl_fail(code, "clGetEventInfo");
    if (state < 0) return tdmi_cl_fail(state, "work queued earlier");
    *done = state == CL_COMPLETE;
    return TDM_OK;
}

static tdm_status end_time(tdmi_bevent *event, cl_ulong *nanoseconds) {
    tdmi_mutex_lock(&event->lock);
    bool timing = event->timing || !event->event;
    tdmi_mutex_unlock(&event->lock);
    /* Checked before the driver, as some drivers report a time without having been set to measure it. */
    if (!timing)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "event: carries no time; record it in a queue made with TDM_QUEUE_TIMING");
    cl_event recorded;
    TDMI_TRY(borrow(event, &recorded));
    cl_int code = tdmi_cl.clGetEventProfilingInfo(recorded, CL_PROFILING_COMMAND_END,
                                                  sizeof *nanoseconds, nanoseconds, NULL);
    (void)tdmi_cl.clReleaseEvent(recorded);
    return tdmi_cl_check(code, "clGetEventProfilingInfo");
}

tdm_status tdmi_cl_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds) {
    cl_ulong from, to;
    TDMI_TRY(end_time(start, &from));
    TDMI_TRY(end_time(end, &to));
    *seconds = to >= from ? (double)(to - from) * 1e-9 : -((double)(from - to) * 1e-9);
    return TDM_OK;
}

tdm_status tdmi_cl_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event) {
    cl_event recorded;
    TDMI_TRY(borrow(event, &recorded));
    cl_int code = tdmi_cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &recorded, NULL);
    (void)tdmi_cl.clReleaseEvent(recorded);
    return tdmi_cl_check(code, "clEnqueueBarrierWithWaitList");
}
