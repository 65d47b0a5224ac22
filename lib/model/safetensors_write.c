/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Writing safetensors files. */

#include "check.h"
#include "file_job.h"
#include "new_file.h"
#include "safetensors.h"
#include "tensors/create.h"

typedef struct saving {
    tdmi_file_job job;
    tdmi_new_file *file;
    const tdmi_placed *placed;
    /* The tensor that the data is being taken from, and where it lies without gaps. */
    size_t current;
    size_t ordered;     /* the first tensor that is not yet in the order of files to its end */
    tdm_buffer *packed; /* a copy, when it has gaps; else NULL */
    const tdm_buffer *source;
    size_t at; /* of the tensor's first byte in source */
} saving;

/* ---- the stream of bytes ---- */

static void leave_tensor(saving *all) {
    tdm_buffer_release(all->packed);
    all->packed = NULL;
    all->source = NULL;
}

static tdm_status enter_tensor(saving *all) {
    const tdmi_placed *placed = &all->placed[all->current];
    const tdm_tensor *tensor = &placed->item->tensor;
    all->at = 0;
    if (tdm_tensor_is_contiguous(tensor)) {
        all->source = tensor->buffer;
        all->at = (size_t)tensor->offset * tdm_dtype_size(tensor->dtype);
        return TDM_OK;
    }
    tdm_tensor packed;
    tdm_status status = tdmi_pack(all->job.queue, tensor, &packed);
    all->packed = packed.buffer;
    if (status != TDM_OK)
        return tdmi_fail_in(status, "'%.200s' has gaps and is packed first",
                            placed->item->node.name);
    all->source = all->packed;
    return TDM_OK;
}

/* Calls take for each part of a tensor that lies in [begin, end) of the data, in order. */
static tdm_status each_part(saving *all, uint64_t begin, uint64_t end,
                            tdm_status (*take)(saving *all, size_t at, uint64_t begin, size_t size,
                                               void *piece),
                            void *piece) {
    uint64_t done = begin;
    while (done < end) {
        const tdmi_placed *placed = &all->placed[all->current];
        uint64_t past = placed->begin + placed->size;
        if (done == past) {
            leave_tensor(all);
            all->current++;
            continue;
        }
        if (!all->source) TDMI_TRY(enter_tensor(all));
        uint64_t next = past < end ? past : end;
        TDMI_TRY(take(all, all->at + (size_t)(done - placed->begin), done - begin,
                      (size_t)(next - done), piece));
        done = next;
    }
    return TDM_OK;
}

static tdm_status read_part(saving *all, size_t at, uint64_t begin, size_t size, void *piece) {
    return tdm_buffer_read_async(all->job.queue, all->source, at, (char *)piece + begin, size);
}

static tdm_status write_part(saving *all, size_t at, uint64_t begin, size_t size, void *unused) {
    (void)begin;
    (void)unused;
    return tdmi_new_file_write(all->file, (const char *)all->source->block->mem.handle + at, size);
}

/* Starts to fill a staging piece with what comes at `begin`; how much that is. */
static tdm_status fill_piece(saving *all, uint64_t begin, void *piece, size_t *size) {
    uint64_t left = all->job.total - begin;
    *size = left < all->job.piece ? (size_t)left : all->job.piece;
    if (*size == 0) return TDM_OK;
    TDMI_TRY(each_part(all, begin, begin + *size, read_part, piece));
    return tdm_queue_flush(all->job.queue);
}

/* A piece that came from the device, into the order of files. No element is cut: those of 8 bytes
 * come first in a file, then those of 4, 2 and 1, and a piece is a multiple of 8. */
static void order_piece(saving *all, uint64_t begin, char *piece, size_t size) {
    for (uint64_t done = begin; done < begin + size;) {
        const tdmi_placed *placed = &all->placed[all->ordered];
        uint64_t past = placed->begin + placed->size, next = begin + size;
        if (past < next) next = past;
        tdmi_file_job_order(piece + (done - begin), (size_t)(next - done),
                            tdm_dtype_size(placed->item->tensor.dtype));
        all->ordered += next == past;
        done = next;
    }
}

/* While one piece is written to the file the other is filled from the device. */
static tdm_status write_staged(saving *all) {
    tdmi_file_job *job = &all->job;
    size_t size, next;
    TDMI_TRY(fill_piece(all, 0, job->staging[0], &size));
    uint64_t done = 0;
    for (int turn = 0; done < job->total; turn ^= 1) {
        TDMI_TRY(tdm_queue_finish(job->queue));
        TDMI_TRY(fill_piece(all, done + size, job->staging[turn ^ 1], &next));
        order_piece(all, done, job->staging[turn], size);
        TDMI_TRY(tdmi_new_file_write(all->file, job->staging[turn], size));
        done += size;
        size = next;
        TDMI_TRY(tdmi_file_job_progress(job, done));
    }
    return TDM_OK;
}

static tdm_status write_direct(saving *all) {
    TDMI_TRY(tdm_queue_finish(all->job.queue));
    for (uint64_t done = 0; done < all->job.total;) {
        uint64_t left = all->job.total - done;
        uint64_t next = done + (left < all->job.piece ? left : all->job.piece);
        TDMI_TRY(each_part(all, done, next, write_part, NULL));
        done = next;
        TDMI_TRY(tdmi_file_job_progress(&all->job, done));
    }
    return TDM_OK;
}

static tdm_status write_data(saving *all) {
    TDMI_TRY(tdmi_file_job_start(&all->job));
    tdm_status status = all->job.staging[0] ? write_staged(all) : write_direct(all);
    status = tdmi_file_job_end(&all->job, status);
    leave_tensor(all);
    return status;
}

static tdm_status write_file(saving *all, const tdm_state_dict *dict) {
    char *text;
    size_t size;
    TDMI_TRY(tdmi_header_build(dict, all->placed, &text, &size));
    tdmi_new_file file;
    tdm_status status = tdmi_new_file_begin(all->job.path, &file);
    if (status == TDM_OK) {
        all->file = &file;
        status = tdmi_new_file_write(&file, text, size);
        if (status == TDM_OK) status = write_data(all);
        status = tdmi_new_file_end(&file, status);
    }
    tdmi_free(text);
    return status;
}

static tdm_status check_tensors(const char *function, tdm_queue *queue,
                                const tdm_state_dict *dict) {
    for (size_t i = 0; i < tdm_state_dict_get_count(dict); i++) {
        const tdmi_dict_item *item = tdmi_state_dict_at(dict, i);
        const tdm_device *device = item->tensor.buffer->device;
        if (device != queue->device)
            return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                             "%s: '%.200s' is on %s, but queue is of %s; tdm_state_dict_to moves a "
                             "dict",
                             function, item->node.name, device->facts->info.id,
                             queue->device->facts->info.id);
        TDMI_TRY(tdmi_tensor_check(function, item->node.name, &item->tensor));
    }
    return TDM_OK;
}

tdm_status tdm_save(tdm_queue *queue, const tdm_state_dict *dict, const char *path,
                    const tdm_file_options *options) {
    TDMI_UNCANCELLED();
    tdm_file_options own;
    TDMI_TRY(tdmi_file_job_check(__func__, queue, path, options, &own));
    TDMI_NOT_NULL(__func__, dict);
    TDMI_TRY(check_tensors(__func__, queue, dict));
    size_t count = tdm_state_dict_get_count(dict);
    tdmi_placed *placed = tdmi_calloc(count ? count : 1, sizeof *placed);
    if (!placed) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
    saving all = {.job = {.path = path, .queue = queue, .options = &own}, .placed = placed};
    tdm_status status = tdmi_place_tensors(dict, placed, &all.job.total);
    if (status == TDM_OK) status = write_file(&all, dict);
    tdmi_free(placed);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}
