/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Buffers: untyped device memory, and the ways to move bytes in, out and between devices.
 *
 * A function without _async returns when the bytes have arrived. With _async it returns when the
 * transfer is queued: host memory it reads or writes must stay valid and untouched until the queue
 * has passed that point. Offsets and sizes are in bytes; a range outside the buffer is
 * TDM_ERROR_OUT_OF_RANGE; size 0 is a no-op that succeeds, but for what is checked before: a write of 0 bytes into a
 * read-only buffer is TDM_ERROR_READ_ONLY.
 *
 * When a wait fails, queued work may still read and write the host memory it was given, of calls
 * without _async too: the caller's own must stay until tdm_queue_finish of that queue has succeeded
 * (queue.h). Memory of the library's (buffers, tdm_host_alloc, mappings) may be given back at any
 * time: it is kept until then.
 *
 * Threads: reference counts from any thread; transfers as their queue (see queue.h). */
#ifndef TANDEM_BUFFER_H
#define TANDEM_BUFFER_H

#include <tandem/queue.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Device memory. Counted: tdm_buffer_retain and tdm_buffer_release. */
typedef struct tdm_buffer tdm_buffer;

/** Makes a buffer of `size` bytes (0 is allowed), content undefined, from the device's pool. Takes a
 * reference to the device. TDM_ERROR_OUT_OF_MEMORY when larger than the device's max_allocation or
 * when memory is short, also after the pool gave back what it held. *buffer is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_create(tdm_device *device, size_t size,
                                                  tdm_buffer **buffer);

/** Called when an owner may have its memory back, see tdm_buffer_adopt_host: by any thread, once. */
typedef void (*tdm_release_function)(void *user);

/** Makes a buffer of a cpu device over host memory of the program's, without a copy: `size` bytes from
 * `pointer`, which is a multiple of 16 (what malloc gives is). size is not 0. Other devices refuse it with
 * TDM_ERROR_UNSUPPORTED; opencl.h and cuda.h have the like for theirs.
 *
 * release(user), if not NULL, is called once, when the last reference to the buffer is gone; work on a cpu
 * device is over by then. It may call the library. The bytes do not count in tdm_memory_stats.
 *
 * *buffer is NULL on failure; release is not called then. Any thread. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_adopt_host(tdm_device *device, void *pointer,
                                                      size_t size, tdm_release_function release,
                                                      void *user, tdm_buffer **buffer);

/** Where a buffer of a cpu device begins, borrowed; NULL for a buffer of 0 bytes. Work on a cpu device is over when its
 * call returns, so the host may read and write there between calls. Other devices are refused with
 * TDM_ERROR_INVALID_ARGUMENT: see tdm_buffer_map. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_get_host_pointer(const tdm_buffer *buffer,
                                                            void **pointer);

/** One more reference; returns its argument. NULL is allowed. */
TDM_API tdm_buffer *tdm_buffer_retain(tdm_buffer *buffer);

/** One reference less; the last one returns the memory to the pool, which hands it out again only
 * after the work queued on the device at that moment is done. Memory of another owner goes back to that
 * owner then. NULL is allowed. */
TDM_API void tdm_buffer_release(tdm_buffer *buffer);

/** The buffer's device, borrowed. */
TDM_API tdm_device *tdm_buffer_get_device(const tdm_buffer *buffer);

/** Size in bytes, as requested. */
TDM_API size_t tdm_buffer_get_size(const tdm_buffer *buffer);

/** From now on the buffer is read-only, permanently: writes and outputs into it are refused with
 * TDM_ERROR_READ_ONLY. For weights that several threads share. */
TDM_API void tdm_buffer_freeze(tdm_buffer *buffer);

/** Host memory to device. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_write(tdm_queue *queue, tdm_buffer *buffer,
                                                 size_t offset, const void *source, size_t size);
/** The same, but returns when the transfer is queued. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_write_async(tdm_queue *queue, tdm_buffer *buffer,
                                                       size_t offset, const void *source,
                                                       size_t size);

/** Device to host memory. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_read(tdm_queue *queue, const tdm_buffer *buffer,
                                                size_t offset, void *destination, size_t size);
/** The same, but returns when the transfer is queued. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_read_async(tdm_queue *queue, const tdm_buffer *buffer,
                                                      size_t offset, void *destination,
                                                      size_t size);

/** Buffer to buffer, between any two devices of any two backends; ranges of one buffer must not overlap
 * (TDM_ERROR_OVERLAP). The queue is of either device. Work on the other device must have been waited for (an event
 * through tdm_queue_wait_event, or a finish). Between devices the _async form waits too. The first copy between two
 * CUDA devices enables peer access permanently, where the cards have it. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_copy(tdm_queue *queue, const tdm_buffer *source,
                                                size_t source_offset, tdm_buffer *destination,
                                                size_t destination_offset, size_t size);
/** The same, but returns when the copy is queued, if both ranges are on one device. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_copy_async(tdm_queue *queue, const tdm_buffer *source,
                                                      size_t source_offset, tdm_buffer *destination,
                                                      size_t destination_offset, size_t size);

/** Repeats a pattern of 1, 2, 4, 8 or 16 bytes (read before the call returns). Offset and size are
 * multiples of pattern_size. Other numbers are TDM_ERROR_INVALID_ARGUMENT. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_fill(tdm_queue *queue, tdm_buffer *buffer, size_t offset,
                                                size_t size, const void *pattern,
                                                size_t pattern_size);
/** The same, but returns when the fill is queued. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_fill_async(tdm_queue *queue, tdm_buffer *buffer,
                                                      size_t offset, size_t size,
                                                      const void *pattern, size_t pattern_size);

/** Access of tdm_buffer_map; at least one, else TDM_ERROR_INVALID_ARGUMENT. WRITE without READ leaves the mapped bytes
 * undefined until they are written. */
enum { TDM_MAP_READ = 1u, TDM_MAP_WRITE = 2u };

/** Gives the host a pointer to a range; no copy where host and device share memory. Between map and
 * unmap the device must not use the range. The synchronous form returns a pointer ready for use;
 * the async form's pointer is valid once the queue has been waited for. Mapping a range of a
 * read-only buffer for writing is TDM_ERROR_READ_ONLY. On failure there is no mapping: nothing is
 * to be unmapped, and *pointer is NULL, as for size 0. (Of an async map the wait may fail later;
 * that mapping lasts until it is unmapped.) */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_map(tdm_queue *queue, tdm_buffer *buffer, size_t offset,
                                               size_t size, unsigned access, void **pointer);
/** The same, but the pointer is valid only once the queue has been waited for. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_map_async(tdm_queue *queue, tdm_buffer *buffer,
                                                     size_t offset, size_t size, unsigned access,
                                                     void **pointer);

/** Ends a mapping, by the pointer that map gave; its writes are seen by later work of the queue.
 * The buffer must outlive its mappings. A mapping that was found has ended also when the call
 * fails; whether its writes have arrived is then unknown. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_unmap(tdm_queue *queue, tdm_buffer *buffer,
                                                 void *pointer);
/** The same, but returns when the unmapping is queued. */
TDM_API TDM_MUST_USE tdm_status tdm_buffer_unmap_async(tdm_queue *queue, tdm_buffer *buffer,
                                                       void *pointer);

/** Host memory that the device transfers to and from fastest (pinned where the backend has it).
 * Page-aligned. size is not 0 (TDM_ERROR_INVALID_ARGUMENT). *pointer is NULL on failure. Where memory is short, the
 * function waits for the device's queues and gives back what the pool holds. Takes a reference to the device until
 * freed. */
TDM_API TDM_MUST_USE tdm_status tdm_host_alloc(tdm_device *device, size_t size, void **pointer);

/** Frees what tdm_host_alloc gave for this device. The queues that use it have been waited for;
 * where a wait failed it is kept until one succeeds. The device's driver has it back later: as pinning memory
 * takes long, up to 64 MiB of what was freed, and the last piece of any size, serve the next requests, until
 * tdm_device_trim or the device's end. NULL is allowed. */
TDM_API void tdm_host_free(tdm_device *device, void *pointer);

#if defined(__cplusplus)
}
#endif
#endif
