/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * OpenCL's own objects, for programs that call OpenCL themselves: those of Tandem's opencl devices, and the
 * program's memory and events in Tandem. docs/handles.md has a whole program.
 *
 * The types are those of CL/cl.h (cl_mem is struct _cl_mem *), which need not be included. A device, queue or buffer
 * of another backend is refused with TDM_ERROR_INVALID_ARGUMENT, as NULL is.
 *
 * Ownership. The result of a tdm_opencl_get_… function is borrowed: it lives as long as the object it was asked of,
 * and longer only if the program retains it. An object that the program hands over stays its own; the library retains
 * it for as long as it needs it.
 *
 * Order. Work that the program gives to a borrowed cl_command_queue runs in order with that of the tdm_queue. The
 * library does not know of it: a buffer that such work uses, or work in any queue of the program's, is released only
 * when that work is over. Between queues of Tandem's and of the program's, order is made by tdm_opencl_wait and
 * tdm_opencl_record.
 *
 * Threads: as the object (buffer.h, queue.h). */
#ifndef TANDEM_OPENCL_H
#define TANDEM_OPENCL_H

#include <tandem/buffer.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_event;

/** The device's context, a cl_context, borrowed. All of the device's queues and buffers are in it. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_get_context(const tdm_device *device,
                                                       struct _cl_context **context);

/** The cl_device_id of the device, borrowed. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_get_device_id(const tdm_device *device,
                                                         struct _cl_device_id **id);

/** The queue's cl_command_queue, borrowed. It is in-order. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_get_queue(const tdm_queue *queue,
                                                     struct _cl_command_queue **handle);

/** The buffer's cl_mem, borrowed; NULL for a buffer of 0 bytes. The buffer begins at its byte 0 and it may be
 * larger. Where work on memory that the buffer was given may still be pending from before, this waits, unless the
 * library was given work for the buffer or checked it (tdm_check_operands) since: that comes after the former work. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_get_memory(const tdm_buffer *buffer,
                                                      struct _cl_mem **memory);

/** Makes a buffer of the first `size` bytes of a cl_mem of the program's, without a copy. The cl_mem is a buffer or
 * sub-buffer in the device's context, of at least that size, which is not 0 and at most the device's max_allocation
 * (else TDM_ERROR_UNSUPPORTED). It is retained as long as the library uses it. One with CL_MEM_READ_ONLY becomes a
 * read-only buffer; one with CL_MEM_WRITE_ONLY is refused, and one over host memory (CL_MEM_USE_HOST_PTR) that does not
 * begin at a multiple of 16 bytes. Transfers of one with CL_MEM_HOST_NO_ACCESS and the like fail as OpenCL says,
 * operations do not.
 *
 * release(user), if not NULL, is called once, when the last reference to the buffer is gone and work that the
 * library was given for it is over: in the call that releases it or, when work is pending then, in a later call that
 * makes or releases a buffer of the device, or waits (tdm_queue_finish, tdm_queue_destroy, tdm_device_trim), in that
 * call's thread. It may call the library. The bytes do not count in tdm_memory_stats.
 *
 * *buffer is NULL on failure; release is not called then. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_adopt_memory(tdm_device *device, struct _cl_mem *memory,
                                                        size_t size, tdm_release_function release,
                                                        void *user, tdm_buffer **buffer);

/** Opens a device in a context of the program's, so that its memory, queues and events are Tandem's, too. `id` is a
 * device of that context, which may have others, and is listed by Tandem: TDM_ERROR_NOT_FOUND when it is not. Adopted
 * twice it is the same object, one more reference; tdm_device_open gives another one, in a context of Tandem's own. The
 * context is retained until the device's end. Release it with tdm_device_release. *device is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_adopt_device(struct _cl_context *context,
                                                        struct _cl_device_id *id,
                                                        tdm_device **device);

/** Makes a tdm_queue over a command queue of the program's, which is of the device and its context. One with
 * CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE is refused; one with CL_QUEUE_PROFILING_ENABLE is as one with
 * TDM_QUEUE_TIMING. It is retained until tdm_queue_destroy, which waits for all that is in it. Program and library
 * give it work in turn, on one thread at a time. *queue is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_adopt_queue(tdm_device *device,
                                                       struct _cl_command_queue *handle,
                                                       tdm_queue **queue);

/** Later work of the queue runs after an event of the program's, which is of the device's context and may be a user
 * event. The program flushes the queue that the event belongs to, and may release the event at once. The thread that
 * sets a user event must make no buffer or tensor on the device before that: where memory is short, this waits for its
 * queues. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_wait(tdm_queue *queue, struct _cl_event *event);

/** Marks this point of the queue by a new cl_event, for the program's own queues to wait for, and flushes the queue.
 * The caller releases the event (clReleaseEvent). *event is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_opencl_record(tdm_queue *queue, struct _cl_event **event);

#if defined(__cplusplus)
}
#endif
#endif
