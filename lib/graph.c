/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs: operations recorded once, and replayed. The list of what was recorded is the graph; a driver's own
 * graph is made of it by giving the queue that list once more while the driver captures it. */
#include <string.h>

#include "base/log.h"
#include "record.h"
#include "timeline.h"

tdm_status tdm_graph_create(tdm_queue *queue, tdm_graph **graph) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, graph);
    TDMI_NOT_NULL(__func__, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    tdm_graph *made = tdmi_calloc(1, sizeof *made);
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a graph");
    made->device = tdm_device_retain(queue->device);
    made->queue = queue;
    made->last = &made->first;
    made->next = queue->graphs;
    queue->graphs = made;
    *graph = made;
    return TDM_OK;
}

void tdm_graph_destroy(tdm_graph *graph) {
    TDMI_UNCANCELLED();
    if (!graph || tdmi_forked) return;
    tdmi_graph_leave_queue(graph);
    tdm_device_release(graph->device);
    tdmi_free(graph->held);
    tdmi_free(graph);
}

static tdm_status check(const char *function, const tdm_graph *graph) {
    TDMI_NOT_NULL(function, graph);
    TDMI_TRY(tdmi_device_usable(graph->device));
    if (graph->queue) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: the graph's queue was destroyed", function);
}

tdm_status tdm_graph_begin(tdm_graph *graph) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check("tdm_graph_begin", graph));
    tdm_queue *queue = graph->queue;
    if (queue->recording)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "tdm_graph_begin: %s is being recorded",
                         queue->recording == graph ? "the graph" : "another graph of its queue");
    tdmi_graph_retire(graph);
    graph->outcome = (tdmi_outcome){0};
    queue->recording = queue->lender = graph;
    return TDM_OK;
}

tdm_status tdm_graph_end(tdm_graph *graph) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL("tdm_graph_end", graph);
    tdm_queue *queue = graph->queue;
    if (!queue) return check("tdm_graph_end", graph);
    if (queue->recording != graph)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_graph_end: the graph is not being recorded");
    queue->recording = queue->lender = NULL;
    if (graph->outcome.status != TDM_OK) tdmi_graph_retire(graph);
    tdmi_graph_drop_former(graph);
    tdmi_graph_drop_unused(graph);
    /* Only now: the queue of a lost device is waited for, too. */
    TDMI_TRY(check("tdm_graph_end", graph));
    return tdmi_device_result(graph->device, tdmi_outcome_end(&graph->outcome));
}

size_t tdm_graph_get_length(const tdm_graph *graph) { return graph ? graph->length : 0; }

static tdm_status run_list(const tdm_graph *graph) {
    for (tdmi_work *work = graph->first; work; work = work->next)
        TDMI_TRY(work->run(graph->queue, work->context));
    return TDM_OK;
}

/* Has the driver make a graph of what was recorded. */
static tdm_status capture(tdm_graph *graph) {
    tdm_device *device = graph->device;
    const tdmi_backend *backend = device->backend;
    if (!graph->capture) graph->capture = tdmi_calloc(1, backend->capture_size);
    if (!graph->capture) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    TDMI_TRY(tdmi_device_result(device, backend->capture_begin(graph->queue->impl)));
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, run_list(graph));
    tdmi_outcome_add(
        &outcome,
        tdmi_device_result(device,
                           backend->capture_end(graph->queue->impl,
                                                outcome.status == TDM_OK ? graph->capture : NULL)));
    return tdmi_outcome_end(&outcome);
}

/* A capture that fails may have done so by accident: CUDA's ends when any thread waits for the whole device. */
enum { MOST_FAILURES = 3 };

static tdm_status try_capture(tdm_graph *graph) {
    const tdm_status status = capture(graph);
    if (status == TDM_OK) {
        graph->state = TDMI_GRAPH_CAPTURED;
        graph->failures = 0;
        return TDM_OK;
    }
    if (status == TDM_ERROR_DEVICE_LOST) return status;
    if (++graph->failures < MOST_FAILURES && status != TDM_ERROR_UNSUPPORTED) return TDM_OK;
    graph->state = TDMI_GRAPH_LIST;
    tdmi_log(TDM_LOG_INFO, "a graph of %s stays a list: %s", graph->device->facts->info.id,
             tdm_last_error());
    return TDM_OK;
}

/* The first replay runs the list: what is done at first use, such as loading a library's kernels, may not be
 * done while a driver captures. */
static tdm_status replay(tdm_graph *graph) {
    tdm_queue *queue = graph->queue;
    const tdmi_backend *backend = queue->device->backend;
    if (graph->state == TDMI_GRAPH_RAN && backend->capture_begin) TDMI_TRY(try_capture(graph));
    if (graph->state == TDMI_GRAPH_CAPTURED)
        return tdmi_queue_submitted(queue, backend->capture_run(queue->impl, graph->capture));
    const tdm_status status = run_list(graph);
    if (status == TDM_OK && graph->state == TDMI_GRAPH_RECORDED) graph->state = TDMI_GRAPH_RAN;
    return status;
}

tdm_status tdm_graph_replay(tdm_graph *graph) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check("tdm_graph_replay", graph));
    tdm_queue *queue = graph->queue;
    TDMI_TRY(tdmi_check_not_recording("tdm_graph_replay", queue));
    for (size_t i = 0; i < graph->held_count; i++) {
        const tdmi_held *held = &graph->held[i];
        if (held->written && atomic_load_explicit(&held->buffer->read_only, memory_order_relaxed))
            return tdmi_fail(TDM_ERROR_READ_ONLY,
                             "tdm_graph_replay: a buffer that the graph writes is read-only "
                             "(tdm_buffer_freeze)");
        TDMI_TRY(tdmi_order(queue, held->buffer, held->written));
    }
    TDMI_WORK_SPAN(queue, "graph", "graph", "\"length\":%zu," TDMI_PROFILE_QUEUE, graph->length,
                   TDMI_PROFILE_QUEUE_OF(queue));
    queue->lender = graph;
    const tdm_status status = TDMI_ATTEMPT(replay(graph));
    queue->lender = NULL;
    return status;
}

static tdmi_held *find_held(const tdm_graph *graph, const tdm_buffer *buffer) {
    for (size_t i = 0; i < graph->held_count; i++)
        if (graph->held[i].buffer == buffer) return &graph->held[i];
    return NULL;
}

static void exchange(const tdm_graph *graph, const tdmi_mem *from, const tdmi_mem *to) {
    for (tdmi_work *work = graph->first; work; work = work->next)
        for (int i = 0; i < work->place_count; i++)
            if (*work->places[i] == from) *work->places[i] = to;
}

tdm_status tdm_graph_set_buffer(tdm_graph *graph, const tdm_buffer *buffer,
                                tdm_buffer *replacement) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check(__func__, graph));
    TDMI_NOT_NULL(__func__, buffer);
    TDMI_NOT_NULL(__func__, replacement);
    TDMI_TRY(tdmi_check_not_recording(__func__, graph->queue));
    tdmi_held *held = find_held(graph, buffer);
    if (!held)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: the graph does not use buffer", __func__);
    if (replacement == buffer) return TDM_OK;
    if (replacement->device != graph->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "%s: replacement is on %s, but the graph is of %s", __func__,
                         replacement->device->facts->info.id, graph->device->facts->info.id);
    if (replacement->packing != buffer->packing ||
        memcmp(replacement->packed_shape, buffer->packed_shape, sizeof buffer->packed_shape) != 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: one of the buffers is packed, or both are, of different shapes "
                         "(tdm_pack_weight)",
                         __func__);
    if (replacement->size < buffer->size)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: replacement has %zu bytes, but buffer has %zu; it must be as large",
                         __func__, replacement->size, buffer->size);
    if (find_held(graph, replacement))
        return tdmi_fail(TDM_ERROR_OVERLAP, "%s: the graph uses replacement already", __func__);
    if (held->written && atomic_load(&replacement->read_only))
        return tdmi_fail(TDM_ERROR_READ_ONLY,
                         "%s: the graph writes buffer, but replacement is read-only "
                         "(tdm_buffer_freeze)",
                         __func__);
    if (atomic_load(&replacement->references) == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: replacement was released: it has no references left", __func__);
    exchange(graph, &buffer->block->mem, &replacement->block->mem);
    tdm_buffer *before = held->buffer;
    held->buffer = tdm_buffer_retain(replacement);
    tdm_buffer_release(before);
    if (graph->state == TDMI_GRAPH_CAPTURED) graph->state = TDMI_GRAPH_RAN;
    return TDM_OK;
}
