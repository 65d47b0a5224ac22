/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Device memory, pinned host memory, and the transfers of a queue. */
#include "cuda_backend.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 4096 };

static tdm_status alloc_status(cudaError_t error, const char *call, size_t size) {
    if (error == cudaSuccess) return TDM_OK;
    char what[64];
    snprintf(what, sizeof what, "%s of %zu bytes", call, size);
    return tdmi_cuda_fail(error, what);
}

tdm_status tdmi_cuda_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    TDMI_CUDA_BEGIN(device);
    void *pointer = NULL;
    tdm_status status = alloc_status(tdmi_cudart.cudaMalloc(&pointer, size), "cudaMalloc", size);
    *mem = (tdmi_mem){.handle = status == TDM_OK ? pointer : NULL};
    return status;
}

void tdmi_cuda_mem_free(tdmi_bdevice *device, tdmi_mem *mem) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(device, &calls) == TDM_OK) {
        /* Fails only on a lost device, whose memory is gone with its context. */
        (void)tdmi_cuda_succeeds(tdmi_cudart.cudaFree(mem->handle));
        tdmi_cuda_end(&calls);
    }
    *mem = (tdmi_mem){0};
}

/* The runtime cuts small pieces out of one pinned page, so a page more is requested and the start
 * moved to a boundary; the handle keeps the address to free. */
tdm_status tdmi_cuda_host_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem) {
    *mem = (tdmi_mem){0};
    if (size > SIZE_MAX - PAGE)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%zu bytes of pinned host memory", size);
    TDMI_CUDA_BEGIN(device);
    void *base = NULL;
    tdm_status status =
        alloc_status(tdmi_cudart.cudaHostAlloc(&base, size + PAGE, cudaHostAllocPortable),
                     "cudaHostAlloc", size);
    if (status != TDM_OK) return status;
    size_t past = (uintptr_t)base % PAGE;
    mem->handle = base;
    mem->host = (char *)base + (past ? PAGE - past : 0);
    return TDM_OK;
}

void tdmi_cuda_host_free(tdmi_bdevice *device, tdmi_mem *mem) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(device, &calls) == TDM_OK) {
        (void)tdmi_cuda_succeeds(tdmi_cudart.cudaFreeHost(mem->handle));
        tdmi_cuda_end(&calls);
    }
    *mem = (tdmi_mem){0};
}

static tdm_status transfer(tdmi_bqueue *queue, void *destination, const void *source, size_t size,
                           enum cudaMemcpyKind kind, const char *what) {
    TDMI_CUDA_ENTER(queue->device);
    return tdmi_cuda_check(
        tdmi_cudart.cudaMemcpyAsync(destination, source, size, kind, queue->stream), what);
}

tdm_status tdmi_cuda_write(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset,
                           const void *source, size_t size) {
    return transfer(queue, (char *)mem->handle + offset, source, size, cudaMemcpyHostToDevice,
                    "cudaMemcpyAsync to the device");
}

tdm_status tdmi_cuda_read(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                          size_t size) {
    return transfer(queue, destination, (const char *)mem->handle + offset, size,
                    cudaMemcpyDeviceToHost, "cudaMemcpyAsync from the device");
}

tdm_status tdmi_cuda_copy(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                          const tdmi_mem *destination, size_t destination_offset, size_t size) {
    return transfer(queue, (char *)destination->handle + destination_offset,
                    (const char *)source->handle + source_offset, size, cudaMemcpyDeviceToDevice,
                    "cudaMemcpyAsync on the device");
}

/* Without access to the other's memory the runtime copies through the host's. It is requested at
 * the first copy, as it makes later allocations dearer, and a refusal does no harm. */
static void ask_for_access(tdmi_bdevice *device, const tdmi_bdevice *other) {
    if (atomic_exchange(&device->peers[other->ordinal], true)) return;
    int possible = 0;
    if (tdmi_cuda_succeeds(
            tdmi_cudart.cudaDeviceCanAccessPeer(&possible, device->ordinal, other->ordinal)) &&
        possible)
        (void)tdmi_cuda_succeeds(tdmi_cudart.cudaDeviceEnablePeerAccess(other->ordinal, 0));
}

tdm_status tdmi_cuda_copy_peer(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                               tdmi_bdevice *other, const tdmi_mem *destination,
                               size_t destination_offset, size_t size) {
    TDMI_CUDA_BEGIN(queue->device);
    ask_for_access(queue->device, other);
    return tdmi_cuda_check(tdmi_cudart.cudaMemcpyPeerAsync(
                               (char *)destination->handle + destination_offset, other->ordinal,
                               (const char *)source->handle + source_offset, queue->device->ordinal,
                               size, queue->stream),
                           "cudaMemcpyPeerAsync to another device");
}

/* The length of the shortest prefix of 1, 2, 4, 8 or 16 bytes that the pattern repeats. */
static size_t period(const unsigned char *pattern, size_t size) {
    size_t shortest = size;
    while (shortest > 1 && memcmp(pattern, pattern + shortest / 2, shortest / 2) == 0)
        shortest /= 2;
    return shortest;
}

/* Patterns of 8 and 16 bytes, which no call knows: the words of the first rows are set column by
 * column, then what is there doubles. Values travel inside the calls, so no host memory has to
 * outlive this one. */
static cudaError_t fill_wide(tdmi_bqueue *queue, char *start, size_t size,
                             const unsigned char *pattern, size_t width) {
    enum { SEED_ROWS = 4096 };
    size_t rows = size / width < SEED_ROWS ? size / width : SEED_ROWS;
    for (size_t at = 0; at < width; at += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, pattern + at, sizeof word);
        CUresult error = tdmi_cudrv.cuMemsetD2D32Async((CUdeviceptr)(uintptr_t)(start + at), width,
                                                       word, 1, rows, (CUstream)queue->stream);
        if (error != CUDA_SUCCESS) return (cudaError_t)error;
    }
    for (size_t done = rows * width; done < size;) {
        size_t piece = size - done < done ? size - done : done;
        cudaError_t error = tdmi_cudart.cudaMemcpyAsync(start + done, start, piece,
                                                        cudaMemcpyDeviceToDevice, queue->stream);
        if (error != cudaSuccess) return error;
        done += piece;
    }
    return cudaSuccess;
}

static cudaError_t fill_any(tdmi_bqueue *queue, char *start, size_t size,
                            const unsigned char *pattern, size_t width) {
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)start;
    CUstream stream = (CUstream)queue->stream;
    uint16_t half;
    uint32_t word;
    switch (width) {
    case 1:
        return tdmi_cudart.cudaMemsetAsync(start, pattern[0], size, queue->stream);
    case 2:
        memcpy(&half, pattern, sizeof half);
        return (cudaError_t)tdmi_cudrv.cuMemsetD16Async(address, half, size / 2, stream);
    case 4:
        memcpy(&word, pattern, sizeof word);
        return (cudaError_t)tdmi_cudrv.cuMemsetD32Async(address, word, size / 4, stream);
    default:
        return fill_wide(queue, start, size, pattern, width);
    }
}

tdm_status tdmi_cuda_fill(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                          const void *pattern, size_t pattern_size) {
    TDMI_CUDA_ENTER(queue->device);
    cudaError_t error =
        fill_any(queue, (char *)mem->handle + offset, size, pattern, period(pattern, pattern_size));
    return tdmi_cuda_check(error, "filling device memory");
}
