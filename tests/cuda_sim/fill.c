/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Fills of device memory, for the runtime's function and the driver's. */
#include <string.h>

#include "sim.h"

static void run_fill(void *payload) {
    const sim_fill *job = payload;
    for (size_t row = 0; row < job->rows; row++)
        for (size_t i = 0; i < job->count; i++)
            memcpy(job->start + row * job->pitch + i * job->width, &job->value, job->width);
}

int sim_enqueue_fill(const char *function, cudaStream_t stream, uintptr_t start, sim_fill job) {
    int error = sim_stream_check(stream, function);
    if (error || !job.count || !job.rows) return error;
    if (start % job.width || (job.rows > 1 && job.pitch < job.count * job.width)) {
        sim_report("%s: address or pitch do not suit the elements", function);
        return cudaErrorInvalidValue;
    }
    size_t size = (job.rows - 1) * job.pitch + job.count * job.width;
    sim_block *block = sim_find(sim_stream_device(stream), (const void *)start, size, function);
    if (!block) return cudaErrorInvalidValue;
    job.start = sim_bytes(block, (const void *)start);
    sim_work work = {.run = run_fill, .payload = &job, .size = sizeof job, .uses = {block}};
    return sim_enqueue(stream, &work);
}
