/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A graph's pieces of work: recording them, and giving them back. */
#include "record.h"

tdm_status tdmi_check_not_recording(const char *function, const tdm_queue *queue) {
    if (!queue || !queue->recording) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "%s: queue is recording a graph, which cannot include this call; make it "
                     "before tdm_graph_begin or after tdm_graph_end",
                     function);
}

/* ---- recording ---- */

static void fail(tdm_graph *graph, tdm_status status) { tdmi_outcome_add(&graph->outcome, status); }

/* The next piece of what was recorded before: it is likely to be the same. */
static tdmi_bkernel *take_former(tdm_graph *graph, uint64_t key) {
    tdmi_work *former = graph->former;
    if (!former) return NULL;
    graph->former = former->next;
    tdmi_bkernel *kernel = former->kernel;
    if (kernel && former->key != key) {
        tdmi_give_back_kernel(graph->device, kernel);
        kernel = NULL;
    }
    tdmi_free(former);
    return kernel;
}

tdmi_work *tdmi_record(tdm_queue *queue, tdm_status (*run)(tdm_queue *queue, void *context),
                       size_t size, const tdmi_variant *variant) {
    tdm_graph *graph = queue->recording;
    tdmi_work *work = tdmi_calloc(1, sizeof *work + size);
    if (!work) {
        fail(graph, tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a graph"));
        return NULL;
    }
    work->run = run;
    work->key = variant ? tdmi_variant_key(*variant) : 0;
    work->kernel = take_former(graph, work->key);
    const tdm_status status =
        variant && !work->kernel ? tdmi_queue_own_kernel(queue, *variant, &work->kernel) : TDM_OK;
    if (status != TDM_OK) {
        fail(graph, status);
        tdmi_free(work);
        return NULL;
    }
    *graph->last = work;
    graph->last = &work->next;
    graph->length++;
    return work;
}

void tdmi_record_place(tdm_graph *graph, tdmi_work *work, const tdmi_mem **place) {
    if (!*place) return;
    work->places[work->place_count++] = place;
    for (size_t i = 0; i < graph->held_count; i++) {
        tdmi_held *held = &graph->held[i];
        if (&held->buffer->block->mem != *place) continue;
        held->used = true;
        if (held->operation == graph->operations) held->written = held->written || held->is_output;
        return;
    }
}

void tdmi_graph_begin_operation(tdm_graph *graph) { graph->operations++; }

tdm_status tdmi_graph_hold(tdm_queue *queue, const tdm_buffer *buffer, bool written) {
    tdm_graph *graph = queue->recording;
    if (!buffer->block) return TDM_OK;
    for (size_t i = 0; i < graph->held_count; i++) {
        tdmi_held *held = &graph->held[i];
        if (held->buffer != buffer) continue;
        held->is_output = written || (held->is_output && held->operation == graph->operations);
        held->operation = graph->operations;
        return TDM_OK;
    }
    tdmi_held *grown = tdmi_grown(graph->held, graph->held_count, &graph->held_room, sizeof *grown);
    if (!grown) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a graph");
    graph->held = grown;
    tdm_buffer *held = tdm_buffer_retain((tdm_buffer *)buffer);
    graph->held[graph->held_count++] = (tdmi_held){held, graph->operations, written, false, false};
    return TDM_OK;
}

/* ---- giving back ---- */

void tdmi_graph_drop_unused(tdm_graph *graph) {
    size_t used = 0;
    for (size_t i = 0; i < graph->held_count; i++)
        if (graph->held[i].used)
            graph->held[used++] = graph->held[i];
        else
            tdm_buffer_release(graph->held[i].buffer);
    graph->held_count = used;
}

static void free_works(const tdm_graph *graph, tdmi_work *work) {
    while (work) {
        tdmi_work *next = work->next;
        tdmi_give_back_kernel(graph->device, work->kernel);
        tdmi_free(work);
        work = next;
    }
}

void tdmi_graph_drop_former(tdm_graph *graph) {
    free_works(graph, graph->former);
    graph->former = NULL;
}

void tdmi_graph_retire(tdm_graph *graph) {
    tdmi_graph_drop_former(graph);
    graph->former = graph->first;
    graph->first = NULL;
    graph->last = &graph->first;
    graph->length = 0;
    graph->state = TDMI_GRAPH_RECORDED;
    graph->failures = 0;
    for (size_t i = 0; i < graph->held_count; i++)
        tdm_buffer_release(graph->held[i].buffer);
    graph->held_count = 0;
    TDMI_LOCKED(&graph->device->lock);
    while (graph->scratch) {
        tdmi_block *block = graph->scratch;
        graph->scratch = block->next;
        tdmi_pool_give(graph->device, block, 0);
    }
}

void tdmi_graph_leave_queue(tdm_graph *graph) {
    tdm_queue *queue = graph->queue;
    if (!queue) return;
    if (queue->recording == graph) queue->recording = queue->lender = NULL;
    tdmi_graph_retire(graph);
    tdmi_graph_drop_former(graph);
    if (graph->capture) queue->device->backend->capture_deinit(graph->capture);
    tdmi_free(graph->capture);
    graph->capture = NULL;
    tdm_graph **at = &queue->graphs;
    while (*at != graph)
        at = &(*at)->next;
    *at = graph->next;
    graph->queue = NULL;
}

void tdmi_queue_leave_graphs(tdm_queue *queue) {
    while (queue->graphs)
        tdmi_graph_leave_queue(queue->graphs);
}
