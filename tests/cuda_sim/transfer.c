/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libcudart: copies and fills of memory. */
#include <stdlib.h>
#include <string.h>

#include "call.h"

typedef struct copy_job {
    void *to;
    const void *from; /* NULL: bytes */
    size_t size;
    unsigned char bytes[];
} copy_job;

static void run_copy(void *payload) {
    const copy_job *job = payload;
    memcpy(job->to, job->from ? job->from : job->bytes, job->size);
}

static int enqueue_copy(cudaStream_t stream, sim_block *to_block, void *to, sim_block *from_block,
                        const void *from, size_t size) {
    copy_job job = {.to = to, .from = from, .size = size};
    sim_work work = {.run = run_copy,
                     .payload = &job,
                     .size = sizeof job,
                     .uses = {to_block, from_block == to_block ? NULL : from_block}};
    return sim_enqueue(stream, &work);
}

static bool is_host(const void *address, const char *function) {
    if (!sim_is_device_address(address)) return true;
    sim_report("%s: %p is a device address where host memory belongs", function, address);
    return false;
}

/* Host memory that is not pinned is read, as the driver promises, before the call returns. */
static int copy_in(cudaStream_t stream, void *to, const void *from, size_t size) {
    static const char function[] = "cudaMemcpyAsync to the device";
    sim_block *block = sim_find(sim_stream_device(stream), to, size, function);
    if (!block || !is_host(from, function)) return cudaErrorInvalidValue;
    sim_block *pinned = sim_find_pinned(from, size);
    if (pinned) return enqueue_copy(stream, block, sim_bytes(block, to), pinned, from, size);
    int error = sim_stream_check_pageable(stream);
    if (error) return error;
    if (sim_get()->implicit) (void)sim_stream_finish(stream);
    copy_job *job = malloc(sizeof *job + size);
    if (!job) return cudaErrorMemoryAllocation;
    *job = (copy_job){.to = sim_bytes(block, to), .size = size};
    memcpy(job->bytes, from, size);
    sim_work work = {.run = run_copy, .payload = job, .size = sizeof *job + size, .uses = {block}};
    error = sim_enqueue(stream, &work);
    free(job);
    return error;
}

/* To host memory that is not pinned: the call returns when it is done. */
static int copy_out(cudaStream_t stream, void *to, const void *from, size_t size) {
    static const char function[] = "cudaMemcpyAsync to the host";
    sim_block *block = sim_find(sim_stream_device(stream), from, size, function);
    if (!block || !is_host(to, function)) return cudaErrorInvalidValue;
    sim_block *pinned = sim_find_pinned(to, size);
    int error = pinned ? 0 : sim_stream_check_pageable(stream);
    if (error) return error;
    error = enqueue_copy(stream, pinned, to, block, sim_bytes(block, from), size);
    return error || pinned ? error : sim_stream_finish(stream);
}

static int copy_inside(cudaStream_t stream, void *to, const void *from, size_t size) {
    static const char function[] = "cudaMemcpyAsync on the device";
    sim_block *target = sim_find(sim_stream_device(stream), to, size, function);
    sim_block *source = sim_find(sim_stream_device(stream), from, size, function);
    if (!target || !source) return cudaErrorInvalidValue;
    if ((const char *)to < (const char *)from + size && (const char *)from < (char *)to + size)
        sim_report("%s: the ranges overlap", function);
    return enqueue_copy(stream, target, sim_bytes(target, to), source, sim_bytes(source, from),
                        size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    BEGIN("cudaMemcpyAsync");
    error = sim_stream_check(stream, "cudaMemcpyAsync");
    if (error || !size) END(error);
    if (kind == cudaMemcpyHostToDevice) END(copy_in(stream, to, from, size));
    if (kind == cudaMemcpyDeviceToHost) END(copy_out(stream, to, from, size));
    if (kind == cudaMemcpyDeviceToDevice) END(copy_inside(stream, to, from, size));
    sim_report("cudaMemcpyAsync: a copy of kind %d", (int)kind);
    END(cudaErrorInvalidMemcpyDirection);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_ordinal, const void *from, int from_ordinal,
                                size_t size, cudaStream_t stream) {
    BEGIN("cudaMemcpyPeerAsync");
    error = sim_stream_check(stream, "cudaMemcpyPeerAsync");
    if (error || !size) END(error);
    const sim_device *target = sim_device_of(to_ordinal, &error);
    const sim_device *source = target ? sim_device_of(from_ordinal, &error) : NULL;
    if (!source) END(error);
    if (source != sim_stream_device(stream))
        sim_report("cudaMemcpyPeerAsync: the stream is not of the source's device");
    sim_block *to_block = sim_find(target, to, size, "cudaMemcpyPeerAsync");
    sim_block *from_block = sim_find(source, from, size, "cudaMemcpyPeerAsync");
    if (!to_block || !from_block) END(cudaErrorInvalidValue);
    error = sim_sticky(&target->context);
    if (error) END(error);
    END(enqueue_copy(stream, to_block, sim_bytes(to_block, to), from_block,
                     sim_bytes(from_block, from), size));
}

cudaError_t cudaMemsetAsync(void *start, int value, size_t size, cudaStream_t stream) {
    BEGIN("cudaMemsetAsync");
    sim_fill fill = {.count = size, .rows = 1, .width = 1, .value = (unsigned char)value};
    END(sim_enqueue_fill("cudaMemsetAsync", stream, (uintptr_t)start, fill));
}
