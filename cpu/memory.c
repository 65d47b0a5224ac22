/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Host memory: allocation, and transfers spread over the cores when they are large. */
#include <string.h>

#include "args.h"
#include "cpu_backend.h"
#include "platform/memory.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

tdm_status tdmi_cpu_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    (void)device;
    bool huge = size >= HUGE_PAGE;
    void *pointer = tdmi_aligned_alloc(huge ? HUGE_PAGE : PAGE, size);
    if (!pointer) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "the host has no %zu bytes left", size);
    if (huge) tdmi_prefer_large_pages(pointer, size);
    mem->handle = pointer;
    mem->host = pointer;
    return TDM_OK;
}

void tdmi_cpu_mem_free(tdmi_bdevice *device, tdmi_mem *mem) {
    (void)device;
    tdmi_aligned_free(mem->handle);
}

tdm_status tdmi_cpu_mem_adopt(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                              bool *read_only) {
    (void)device;
    (void)size;
    mem->handle = mem->host = handle;
    *read_only = false;
    return TDM_OK;
}

void tdmi_cpu_mem_disown(tdmi_bdevice *device, tdmi_mem *mem) {
    (void)device;
    mem->handle = mem->host = NULL;
}

/* ---- transfers ---- */

/* Bytes worth handing to another thread; bytes from which a copy goes past the cache, which would
 * hold little of it: memcpy does so only for what is large for the whole socket's cache. */
enum { SHARE = 1 << 20, STREAM_FROM = 32 << 20, STREAM_CHUNK = 1 << 20 };

typedef struct transfer {
    char *to;
    const char *from;
    size_t size;
    uint32_t parts;
    tdmi_cpu_entry stream; /* the cast of bytes, which copies past the cache; NULL: memcpy */
} transfer;

static void transfer_part(void *context, uint32_t part) {
    const transfer *all = context;
    size_t share = (all->size / all->parts + 63) / 64 * 64;
    size_t begin = share * part;
    if (begin >= all->size) return;
    size_t left = all->size - begin, size = part == all->parts - 1 || left < share ? left : share;
    if (!all->stream) {
        memcpy(all->to + begin, all->from + begin, size);
        return;
    }
    /* one row, in chunks of a cache line at least */
    size_t whole = size / STREAM_CHUNK * STREAM_CHUNK;
    const tdm_elementwise_args args = {.rows = 1,
                                       .inner_stride = {1, 1, 1},
                                       .cols = (tdm_u32)whole,
                                       .chunk = STREAM_CHUNK,
                                       .chunks = (tdm_u32)(whole / STREAM_CHUNK),
                                       .unit_stride = 1};
    const tdm_group group = {.count = 1, .stream = 1, .ahead = 1, .u = TDM_U8};
    void *const buffers[] = {all->to + begin, (void *)(uintptr_t)(all->from + begin)};
    all->stream(&group, buffers, &args);
    memcpy(all->to + begin + whole, all->from + begin + whole, size - whole);
}

static void transfer_bytes(void *to, const void *from, size_t size) {
    if (size < 2 * SHARE) {
        memcpy(to, from, size);
        return;
    }
    /* A share of more than cols can count is left to memcpy. */
    uint32_t parts = (uint32_t)tdmi_worker_count();
    bool streams = size >= STREAM_FROM && size / parts < UINT32_MAX / 2;
    transfer all = {to, from, size, parts, streams ? tdmi_cpu_cast_kernel(TDM_U8) : NULL};
    tdmi_parallel(parts, transfer_part, &all, TDMI_NEXT_LOOP);
}

tdm_status tdmi_cpu_write(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset,
                          const void *source, size_t size) {
    (void)queue;
    transfer_bytes((char *)mem->handle + offset, source, size);
    return TDM_OK;
}

tdm_status tdmi_cpu_read(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                         size_t size) {
    (void)queue;
    transfer_bytes(destination, (const char *)mem->handle + offset, size);
    return TDM_OK;
}

tdm_status tdmi_cpu_copy(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                         const tdmi_mem *destination, size_t destination_offset, size_t size) {
    (void)queue;
    transfer_bytes((char *)destination->handle + destination_offset,
                   (const char *)source->handle + source_offset, size);
    return TDM_OK;
}

tdm_status tdmi_cpu_copy_peer(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                              tdmi_bdevice *other, const tdmi_mem *destination,
                              size_t destination_offset, size_t size) {
    (void)other;
    return tdmi_cpu_copy(queue, source, source_offset, destination, destination_offset, size);
}

typedef struct filling {
    char *to;
    size_t size;
    uint32_t parts;
    char pattern[16]; /* repeated to 16 bytes */
} filling;

static void fill_part(void *context, uint32_t part) {
    const filling *all = context;
    size_t units = (all->size + 15) / 16;
    size_t begin = units * part / all->parts * 16, end = units * (part + 1) / all->parts * 16;
    if (end > all->size) end = all->size;
    size_t at = begin;
    for (; at + 16 <= end; at += 16)
        memcpy(all->to + at, all->pattern, 16);
    memcpy(all->to + at, all->pattern, end - at);
}

tdm_status tdmi_cpu_fill(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                         const void *pattern, size_t pattern_size) {
    (void)queue;
    filling all = {.to = (char *)mem->handle + offset, .size = size, .parts = 1};
    for (size_t i = 0; i < sizeof all.pattern; i += pattern_size)
        memcpy(all.pattern + i, pattern, pattern_size);
    if (size >= 2 * SHARE) all.parts = (uint32_t)tdmi_worker_count();
    tdmi_parallel(all.parts, fill_part, &all, TDMI_NEXT_LOOP);
    return TDM_OK;
}

tdm_status tdmi_cpu_map(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                        unsigned access, void **pointer) {
    (void)queue;
    (void)size;
    (void)access;
    *pointer = (char *)mem->handle + offset;
    return TDM_OK;
}

tdm_status tdmi_cpu_unmap(tdmi_bqueue *queue, const tdmi_mem *mem, void *pointer) {
    (void)queue;
    (void)mem;
    (void)pointer;
    return TDM_OK;
}
