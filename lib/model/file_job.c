/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The common part of reading and writing a file of tensors. */
#include "file_job.h"

enum {
    SWAPPED = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__,
    MOST_BYTES = 8, /* of an element */
    LEAST_BUDGET = 64 << 10,
    DEFAULT_BUDGET = 16 << 20,
    DIRECT_PIECE = 64 << 20 /* without staging: large enough for all workers to have shares */
};

tdm_status tdmi_file_job_check(const char *function, const tdm_queue *queue, const char *path,
                               const tdm_file_options *options, tdm_file_options *own) {
    TDMI_NOT_NULL(function, queue);
    TDMI_NOT_NULL(function, path);
    TDMI_TRY(tdmi_file_options_read(function, options, own));
    if (own->budget != 0 && own->budget < LEAST_BUDGET)
        return tdmi_fail(
            TDM_ERROR_INVALID_ARGUMENT,
            "%s: options->budget is %zu bytes; it must be at least %d, or 0 for the default",
            function, own->budget, LEAST_BUDGET);
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    return tdmi_device_usable(queue->device);
}

tdm_status tdmi_file_job_start(tdmi_file_job *job) {
    size_t budget = job->options->budget;
    tdm_device *device = job->queue->device;
    job->staging[0] = job->staging[1] = NULL;
    job->piece = budget ? budget / 2 : DIRECT_PIECE;
    if ((device->facts->host_memory && !SWAPPED) || job->total == 0) return TDM_OK;
    job->piece = (budget ? budget : DEFAULT_BUDGET) / 2 / MOST_BYTES * MOST_BYTES;
    if (job->total < job->piece) job->piece = (size_t)job->total;
    for (int i = 0; i < 2; i++) {
        if (i == 1 && job->total <= job->piece) break; /* all goes through the first */
        tdm_status status = tdm_host_alloc(device, job->piece, &job->staging[i]);
        if (status != TDM_OK) {
            tdm_host_free(device, job->staging[0]);
            job->staging[0] = NULL;
            return tdmi_fail_in(status, "%s: staging memory", job->path);
        }
    }
    return TDM_OK;
}

tdm_status tdmi_file_job_progress(const tdmi_file_job *job, uint64_t done) {
    if (!job->options->progress) return TDM_OK;
    tdm_status status = job->options->progress(done, job->total, job->options->user);
    if (status == TDM_OK) return TDM_OK;
    return tdmi_fail(status, "%s: cancelled by the progress function at %llu of %llu bytes",
                     job->path, (unsigned long long)done, (unsigned long long)job->total);
}

void tdmi_file_job_order(void *elements, size_t size, size_t element) {
    if (!SWAPPED || element == 1) return;
    unsigned char *bytes = elements;
    for (size_t at = 0; at < size; at += element) {
        for (size_t low = at, high = at + element - 1; low < high; low++, high--) {
            unsigned char byte = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = byte;
        }
    }
}

tdm_status tdmi_file_job_end(tdmi_file_job *job, tdm_status status) {
    tdm_device *device = job->queue->device;
    tdmi_outcome outcome = {0};
    tdmi_outcome_add(&outcome, status);
    /* Also after a failure: what is queued uses the staging. */
    tdmi_outcome_add(&outcome, tdm_queue_finish(job->queue));
    tdm_host_free(device, job->staging[0]);
    tdm_host_free(device, job->staging[1]);
    job->staging[0] = job->staging[1] = NULL;
    return tdmi_outcome_end(&outcome);
}
