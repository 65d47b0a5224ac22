/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The way of operations to the backend. A recording holds the same call, with copies of its arguments. */
#include "submit.h"

#include "record.h"
#include "timeline.h"

static tdm_status not_recorded(const tdm_queue *queue) {
    return tdmi_outcome_end(&queue->recording->outcome);
}

/* ---- launches ---- */

typedef struct launch_work {
    tdmi_bkernel *kernel;
    tdmi_launch launch;
    const tdmi_mem *mems[TDMI_MOST_PLACES];
    _Alignas(max_align_t) char args[];
} launch_work;

static tdm_status run_launch(tdm_queue *queue, void *context) {
    launch_work *self = context;
    return tdmi_queue_submitted(
        queue, queue->device->backend->launch(queue->impl, self->kernel, &self->launch));
}

static tdm_status record_launch(tdm_queue *queue, tdmi_variant variant, uint32_t groups,
                                const tdmi_mem *const *mems, const void *args) {
    int buffers;
    size_t args_size;
    tdmi_kernel_takes(queue->device, variant, &buffers, &args_size);
    tdmi_work *work = tdmi_record(queue, run_launch, sizeof(launch_work) + args_size, &variant);
    if (!work) return not_recorded(queue);
    launch_work *self = (launch_work *)(void *)work->context;
    self->kernel = work->kernel;
    self->launch = (tdmi_launch){
        .groups = groups, .mems = self->mems, .args = self->args, .stream = variant.stream};
    memcpy(self->args, args, args_size);
    for (int i = 0; i < buffers; i++) {
        self->mems[i] = mems[i];
        tdmi_record_place(queue->recording, work, &self->mems[i]);
    }
    return TDM_OK;
}

tdm_status tdmi_submit_launch(tdm_queue *queue, tdmi_variant variant, uint32_t groups,
                              const tdmi_mem *const *mems, const void *args) {
    if (queue->recording) return record_launch(queue, variant, groups, mems, args);
    tdmi_bkernel *kernel;
    TDMI_TRY(tdmi_queue_kernel(queue, variant, &kernel));
    const tdmi_launch launch = {
        .groups = groups, .mems = mems, .args = args, .stream = variant.stream};
    TDMI_WORK_SPAN(queue, "launch", tdmi_kernel_entry(queue->device, variant),
                   "\"dtype\":\"%s\",\"groups\":%u," TDMI_PROFILE_QUEUE,
                   tdm_dtype_name((tdm_dtype)variant.t), groups, TDMI_PROFILE_QUEUE_OF(queue));
    return tdmi_queue_submitted(queue,
                                queue->device->backend->launch(queue->impl, kernel, &launch));
}

/* ---- fills ---- */

typedef struct fill_work {
    const tdmi_mem *mem;
    size_t offset, size, pattern_size;
    unsigned char pattern[16];
} fill_work;

static tdm_status run_fill(tdm_queue *queue, void *context) {
    const fill_work *self = context;
    return tdmi_queue_submitted(
        queue, queue->device->backend->fill(queue->impl, self->mem, self->offset, self->size,
                                            self->pattern, self->pattern_size));
}

tdm_status tdmi_submit_fill(tdm_queue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                            const void *pattern, size_t pattern_size) {
    fill_work fill = {mem, offset, size, pattern_size, {0}};
    memcpy(fill.pattern, pattern, pattern_size);
    if (!queue->recording) return run_fill(queue, &fill);
    tdmi_work *work = tdmi_record(queue, run_fill, sizeof fill, NULL);
    if (!work) return not_recorded(queue);
    fill_work *self = (fill_work *)(void *)work->context;
    *self = fill;
    tdmi_record_place(queue->recording, work, &self->mem);
    return TDM_OK;
}

/* ---- copies ---- */

typedef struct copy_work {
    const tdmi_mem *source, *destination;
    size_t source_offset, destination_offset, size;
} copy_work;

static tdm_status run_copy(tdm_queue *queue, void *context) {
    const copy_work *self = context;
    return tdmi_queue_submitted(queue,
                                queue->device->backend->copy(queue->impl, self->source,
                                                             self->source_offset, self->destination,
                                                             self->destination_offset, self->size));
}

tdm_status tdmi_submit_copy(tdm_queue *queue, const tdmi_mem *source, size_t source_offset,
                            const tdmi_mem *destination, size_t destination_offset, size_t size) {
    copy_work copy = {source, destination, source_offset, destination_offset, size};
    if (!queue->recording) return run_copy(queue, &copy);
    tdmi_work *work = tdmi_record(queue, run_copy, sizeof copy, NULL);
    if (!work) return not_recorded(queue);
    copy_work *self = (copy_work *)(void *)work->context;
    *self = copy;
    tdmi_record_place(queue->recording, work, &self->source);
    tdmi_record_place(queue->recording, work, &self->destination);
    return TDM_OK;
}
