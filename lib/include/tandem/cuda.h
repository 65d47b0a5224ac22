/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * CUDA's own objects, for programs that call CUDA themselves: those of Tandem's cuda devices, and the program's
 * memory and events in Tandem. docs/handles.md has a whole program.
 *
 * The types are those of cuda.h and cuda_runtime_api.h (CUstream and cudaStream_t are struct CUstream_st *), which need
 * not be included. A device, queue or buffer of another backend is refused with TDM_ERROR_INVALID_ARGUMENT,
 * as NULL is. Tandem works in the primary contexts of the devices, as CUDA's runtime does, and leaves the calling
 * thread's current context as it was.
 *
 * Ownership. The result of a tdm_cuda_get_… function is borrowed: it lives as long as the object it was asked of.
 * An object that the program hands over stays its own.
 *
 * Order. Work that the program gives to a borrowed stream runs in order with that of the tdm_queue. The library does
 * not know of it: a buffer that such work uses, or work in any stream of the program's, is released only when that
 * work is over. Queues are streams that do not wait for the default stream. Order between them and streams of the
 * program's is made by tdm_cuda_wait and tdm_cuda_record.
 *
 * Threads: as the object (buffer.h, queue.h). */
#ifndef TANDEM_CUDA_H
#define TANDEM_CUDA_H

#include <tandem/buffer.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;

/** The device's primary context, a CUcontext, borrowed. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_get_context(const tdm_device *device,
                                                     struct CUctx_st **context);

/** Makes the device's context current in the calling thread, for a library that the program calls; tdm_cuda_leave with
 * what *entered became, in the same thread, makes the one before current again. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_enter(const tdm_device *device, bool *entered);
TDM_API void tdm_cuda_leave(const tdm_device *device, bool entered); /**< see tdm_cuda_enter */

/** The device's number, as cudaSetDevice and cuDeviceGet take it. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_get_ordinal(const tdm_device *device, int *ordinal);

/** The queue's stream, borrowed. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_get_stream(const tdm_queue *queue,
                                                    struct CUstream_st **stream);

/** Where the buffer begins on the device, borrowed; NULL for a buffer of 0 bytes. Where work on memory that the buffer
 * was given may still be pending from before, this waits, unless the library was given work for the buffer or checked
 * it (tdm_check_operands) since: that comes after the former work. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_get_pointer(const tdm_buffer *buffer, void **pointer);

/** Makes a buffer of `size` bytes of device memory of the program's, without a copy. The memory is of this device, or
 * managed; `pointer` is a multiple of 16 and size is not 0. The program keeps the memory until it is called.
 *
 * release(user), if not NULL, is called once, when the last reference to the buffer is gone and work that the
 * library was given for it is over: in the call that releases it or, when work is pending then, in a later call that
 * makes or releases a buffer of the device, or waits (tdm_queue_finish, tdm_queue_destroy, tdm_device_trim), in that
 * call's thread. It may call the library. The bytes do not count in tdm_memory_stats.
 *
 * *buffer is NULL on failure; release is not called then. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_adopt_memory(tdm_device *device, void *pointer,
                                                      size_t size, tdm_release_function release,
                                                      void *user, tdm_buffer **buffer);

/** Makes a tdm_queue over a stream of the program's, which was made in the device's primary context. `flags` are those
 * of tdm_queue_create. The stream outlives the queue; tdm_queue_destroy waits for all that is in it, and leaves
 * it as it is. Program and library give it work in turn, on one thread at a time, and not while the program captures it
 * for a CUDA graph: tdm_graph is for that. Default streams (NULL, cudaStreamLegacy, cudaStreamPerThread) are refused:
 * order makes tdm_cuda_wait. *queue is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_adopt_stream(tdm_device *device,
                                                      struct CUstream_st *stream, unsigned flags,
                                                      tdm_queue **queue);

/** Later work of the queue runs after what an event of the program's, of any CUDA device, has recorded by now. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_wait(tdm_queue *queue, struct CUevent_st *event);

/** Records an event of the program's, which was made on the queue's device, at this point of the queue. */
TDM_API TDM_MUST_USE tdm_status tdm_cuda_record(tdm_queue *queue, struct CUevent_st *event);

#if defined(__cplusplus)
}
#endif
#endif
