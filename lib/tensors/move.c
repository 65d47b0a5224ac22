/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors from device to device: in the calling thread, or in another. */
#include "move.h"

#include <string.h>

#include "check.h"
#include "create.h"
#include "device_copy.h"

static tdm_status check(const char *function, tdm_queue *queue, const tdm_tensor *x,
                        const tdm_device *device, tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0}};
    TDMI_NOT_NULL(function, y);
    if (x == y) /* the caller's reference of x would be lost */
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: y is x itself", function);
    memset(y, 0, sizeof *y);
    TDMI_NOT_NULL(function, device);
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    TDMI_TRY(tdmi_check_args(function, queue, args, 1));
    return tdmi_device_usable(device);
}

/* x itself, where it is. */
static void share(const tdm_tensor *x, tdm_tensor *y) {
    *y = *x;
    (void)tdm_buffer_retain(x->buffer);
}

/* x packed on its device, and room for it on the other one. */
static tdm_status prepare(const char *function, tdm_queue *queue, const tdm_tensor *x,
                          tdm_device *device, tdm_tensor *packed, tdm_tensor *y) {
    TDMI_TRY(tdmi_pack(queue, x, packed));
    tdm_status status = tdmi_empty(function, device, x->dtype, x->ndim, x->shape, y);
    if (status != TDM_OK) tdm_tensor_release(packed);
    return status;
}

static tdm_status carry(tdmi_route *route, const tdm_tensor *packed, const tdm_tensor *y) {
    size_t size = tdmi_bytes_of(y);
    if (size == 0) return TDM_OK;
    return tdmi_route_copy(route, packed->buffer,
                           (size_t)packed->offset * tdm_dtype_size(packed->dtype), y->buffer, 0,
                           size);
}

tdm_status tdmi_move(const char *function, tdm_queue *queue, size_t count, const tdm_tensor *x,
                     tdm_device *device, tdm_tensor *y) {
    memset(y, 0, count * sizeof *y);
    if (device == queue->device) {
        for (size_t i = 0; i < count; i++)
            share(&x[i], &y[i]);
        return TDM_OK;
    }
    tdm_tensor *packed = tdmi_calloc(count, sizeof *packed);
    if (!packed && count)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    tdmi_route route;
    tdm_status status = tdmi_route_open(&route, queue, queue->device, device, NULL);
    for (size_t i = 0; status == TDM_OK && i < count; i++) {
        status = prepare(function, queue, &x[i], device, &packed[i], &y[i]);
        if (status == TDM_OK) status = carry(&route, &packed[i], &y[i]);
    }
    status = tdmi_route_close(&route, status);
    /* Only now: a copy may be made by a queue that their device's pool knows nothing of. */
    for (size_t i = 0; packed && i < count; i++)
        tdm_tensor_release(&packed[i]);
    tdmi_free(packed);
    if (status == TDM_OK) return TDM_OK;
    for (size_t i = 0; i < count; i++)
        tdm_tensor_release(&y[i]);
    return tdmi_fail_in(status, "%s: to %s", function, device->facts->info.id);
}

tdm_status tdm_to(tdm_queue *queue, const tdm_tensor *x, tdm_device *device, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check(__func__, queue, x, device, y));
    return tdmi_move(__func__, queue, 1, x, device, y);
}

/* ---- in another thread ---- */

struct tdm_transfer {
    tdmi_thread thread;
    tdmi_mutex lock; /* of joined */
    bool started, joined;
    tdm_tensor from, to; /* each with its own reference */
    tdm_event *ready;    /* the source's earlier work; NULL on a synchronous device */
    uint64_t total;
    atomic_uint_fast64_t done;
    atomic_bool ended;
    tdmi_outcome outcome; /* once it has ended */
};

static tdm_status run(tdm_transfer *transfer) {
    tdm_device *source = transfer->from.buffer->device, *destination = transfer->to.buffer->device;
    if (transfer->ready) TDMI_TRY(tdm_event_wait(transfer->ready));
    tdmi_route route;
    TDMI_TRY(tdmi_route_open(&route, NULL, source, destination, &transfer->done));
    return tdmi_route_close(&route, carry(&route, &transfer->from, &transfer->to));
}

static void *transfer_thread(void *context) {
    tdm_transfer *transfer = context;
    tdmi_outcome_add(&transfer->outcome, run(transfer));
    atomic_store(&transfer->ended, true);
    return NULL;
}

static void destroy(tdm_transfer *transfer) {
    tdm_event_destroy(transfer->ready);
    tdm_tensor_release(&transfer->from);
    tdm_tensor_release(&transfer->to);
    tdmi_mutex_destroy(&transfer->lock);
    tdmi_free(transfer);
}

/* The transfer's tensors and the mark after the source's earlier work. */
static tdm_status start(tdm_transfer *transfer, tdm_queue *queue, const tdm_tensor *x,
                        tdm_device *device) {
    if (device == queue->device) {
        share(x, &transfer->from);
        share(x, &transfer->to);
        transfer->total = tdmi_bytes_of(x);
        atomic_store(&transfer->done, transfer->total);
        atomic_store(&transfer->ended, true);
        return TDM_OK;
    }
    TDMI_TRY(prepare("tdm_to_async", queue, x, device, &transfer->from, &transfer->to));
    transfer->total = tdmi_bytes_of(x);
    if (!queue->device->facts->synchronous) {
        TDMI_TRY(tdm_event_create(queue->device, &transfer->ready));
        TDMI_TRY(tdm_queue_record_event(queue, transfer->ready));
        TDMI_TRY(tdm_queue_flush(queue));
    }
    if (!tdmi_thread_start(&transfer->thread, transfer_thread, transfer))
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "no thread could be made");
    transfer->started = true;
    return TDM_OK;
}

tdm_status tdm_to_async(tdm_queue *queue, const tdm_tensor *x, tdm_device *device, tdm_tensor *y,
                        tdm_transfer **transfer) {
    TDMI_UNCANCELLED();
    if (transfer) *transfer = NULL;
    TDMI_TRY(check(__func__, queue, x, device, y));
    TDMI_NOT_NULL(__func__, transfer);
    tdm_transfer *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
    (void)tdmi_mutex_init(&made->lock);
    atomic_init(&made->done, 0);
    atomic_init(&made->ended, false);
    tdm_status status = start(made, queue, x, device);
    if (status != TDM_OK) {
        destroy(made);
        return tdmi_fail_in(status, "%s", __func__);
    }
    share(&made->to, y);
    *transfer = made;
    return TDM_OK;
}

void tdm_transfer_get_progress(const tdm_transfer *transfer, uint64_t *done, uint64_t *total) {
    if (done) *done = transfer ? atomic_load(&transfer->done) : 0;
    if (total) *total = transfer ? transfer->total : 0;
}

tdm_status tdm_transfer_query(const tdm_transfer *transfer, bool *done) {
    TDMI_NOT_NULL(__func__, transfer);
    TDMI_NOT_NULL(__func__, done);
    TDMI_NOT_FORKED();
    *done = atomic_load(&transfer->ended);
    return TDM_OK;
}

static void join(tdm_transfer *transfer) {
    TDMI_LOCKED(&transfer->lock);
    if (transfer->started && !transfer->joined) {
        tdmi_thread_join(transfer->thread);
        transfer->joined = true;
    }
}

tdm_status tdm_transfer_wait(tdm_transfer *transfer) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, transfer);
    TDMI_NOT_FORKED();
    join(transfer);
    tdm_status status = tdmi_outcome_end(&transfer->outcome);
    if (status == TDM_OK) return TDM_OK;
    return tdmi_fail_in(status, "tdm_to_async: to %s", transfer->to.buffer->device->facts->info.id);
}

void tdm_transfer_destroy(tdm_transfer *transfer) {
    TDMI_UNCANCELLED();
    if (!transfer || tdmi_forked) return;
    join(transfer);
    destroy(transfer);
}
