/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The common part of reading and writing a file of tensors: options, staging memory, progress. */
#ifndef TDMI_MODEL_FILE_JOB_H
#define TDMI_MODEL_FILE_JOB_H

#include "core.h"

typedef struct tdmi_file_job {
    const char *path;
    tdm_queue *queue;
    const tdm_file_options *options;
    uint64_t total; /* bytes to move */
    /* Two pieces of memory to transfer from and to, `piece` bytes each, a multiple of 8, where the
     * device's memory is not the host's, and where the bytes of elements are in another order than
     * in files; else NULL and what to move between two calls of progress. */
    void *staging[2];
    size_t piece;
} tdmi_file_job;

/* The caller's options, or the defaults for NULL. */
tdm_status tdmi_file_options_read(const char *function, const tdm_file_options *given,
                                  tdm_file_options *own) TDM_MUST_USE;

/* Checks queue, path and options of a call, and reads the options into *own. */
tdm_status tdmi_file_job_check(const char *function, const tdm_queue *queue, const char *path,
                               const tdm_file_options *options, tdm_file_options *own) TDM_MUST_USE;

/* Fills in staging and piece. */
tdm_status tdmi_file_job_start(tdmi_file_job *job) TDM_MUST_USE;

/* Calls the caller's progress function, which may want the call to end. */
tdm_status tdmi_file_job_progress(const tdmi_file_job *job, uint64_t done) TDM_MUST_USE;

/* Elements in the order of files, which is little-endian, from this machine's, or back. */
void tdmi_file_job_order(void *elements, size_t size, size_t element);

/* Waits for the queue, when staging memory may be in use, and frees it. Returns `status` or, when
 * that is TDM_OK, what the wait reported. */
tdm_status tdmi_file_job_end(tdmi_file_job *job, tdm_status status) TDM_MUST_USE;

#endif
