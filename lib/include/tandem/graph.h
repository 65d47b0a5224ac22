/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Graphs: operations that are recorded once and run again, all of them with one call.
 *
 * Between tdm_graph_begin and tdm_graph_end the graph's queue runs nothing: what it is given is checked
 * and recorded. Recorded are the operations of ops.h, functions.h, reduce.h, arrays.h and attention.h, kernels
 * (kernel.h), tdm_linear and tdm_linear_apply (layers.h), tdm_buffer_fill_async, and tdm_buffer_copy_async within the
 * device. Whatever waits, moves bytes from or to the host or another device,
 * or uses an event is refused meanwhile with TDM_ERROR_INVALID_ARGUMENT, and not recorded.
 *
 * A replay spares what an operation takes on the host: checking arguments, choosing kernels and
 * providers, handing over arguments. On CUDA devices the second replay makes a CUDA graph, which is
 * launched as a whole; elsewhere the graph is a list.
 *
 * A graph keeps shapes, strides, offsets, scalars and the positions of random generators as they were recorded, so that
 * each replay gives the same numbers. Buffers can be exchanged (tdm_graph_set_buffer); for anything else the graph is
 * recorded again, which takes over what can be used again of the driver's objects.
 *
 * Threads: a graph is used by the thread that uses its queue. */
#ifndef TANDEM_GRAPH_H
#define TANDEM_GRAPH_H

#include <tandem/buffer.h>
#include <tandem/queue.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Operations of a queue, recorded. */
typedef struct tdm_graph tdm_graph;

/** Makes an empty graph, which is recorded from this queue and replayed in it. *graph is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_graph_create(tdm_queue *queue, tdm_graph **graph);

/** Frees the graph and its references to buffers; replays under way go on. If the graph is being recorded, its queue
 * stops recording. The queue may be destroyed before or after it. NULL is allowed. */
TDM_API void tdm_graph_destroy(tdm_graph *graph);

/** Begins to record, in place of what the graph has recorded before. A queue records one graph at a
 * time. */
TDM_API TDM_MUST_USE tdm_status tdm_graph_begin(tdm_graph *graph);

/** Ends recording. The graph holds a reference to each buffer that was used. Fails with the first failure
 * of an operation that could not be recorded whole, as memory was short; the graph is then empty. */
TDM_API TDM_MUST_USE tdm_status tdm_graph_end(tdm_graph *graph);

/** Gives the queue all that was recorded, in order, as if it had been called again. Returns when the work is
 * queued. Nothing is run, and the status is TDM_ERROR_READ_ONLY, when a buffer that is written has become
 * read-only. */
TDM_API TDM_MUST_USE tdm_status tdm_graph_replay(tdm_graph *graph);

/** From the next replay on the operations use `replacement` wherever they use `buffer`: a buffer of the same
 * device (TDM_ERROR_DEVICE_MISMATCH) that is at least as large (TDM_ERROR_OUT_OF_RANGE), that the graph does not use
 * (TDM_ERROR_OVERLAP) and that is not read-only if the graph writes it (TDM_ERROR_READ_ONLY). A buffer that the graph
 * does not use is TDM_ERROR_INVALID_ARGUMENT. The graph then holds a reference to `replacement` instead of `buffer`. */
TDM_API TDM_MUST_USE tdm_status tdm_graph_set_buffer(tdm_graph *graph, const tdm_buffer *buffer,
                                                     tdm_buffer *replacement);

/** How many pieces of work a replay gives to the queue: an operation has one or more. 0 for NULL. */
TDM_API size_t tdm_graph_get_length(const tdm_graph *graph);

#if defined(__cplusplus)
}
#endif
#endif
