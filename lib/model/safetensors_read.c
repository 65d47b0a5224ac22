/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading safetensors files. By reading alone: a file that is cut short while it is read is an
 * error, where a mapping would be a signal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "file_job.h"
#include "new_file.h"
#include "platform/file.h"
#include "safetensors.h"
#include "transfer.h"

struct tdm_file {
    char *path;
    tdmi_file file;
    uint64_t size;
    tdmi_header header;
};

enum { SHARE = 1 << 20 }; /* bytes that are worth handing to another thread */

/* ---- bytes of the file ---- */

/* How far a read came, and why not further: errno, or 0 where the file ended. */
typedef struct outcome {
    size_t done;
    int error;
} outcome;

static outcome read_bytes(tdmi_file file, uint64_t offset, void *to, size_t size) {
    const size_t done = tdmi_file_read(file, offset, to, size);
    return (outcome){done, done < size ? errno : 0};
}

static tdm_status read_failed(const char *path, uint64_t at, int error, uint64_t expected) {
    if (error)
        return tdmi_fail(TDM_ERROR_IO, "%s: byte %llu could not be read: %s", path,
                         (unsigned long long)at, strerror(error));
    return tdmi_fail(TDM_ERROR_IO,
                     "%s: byte %llu could not be read: the file ends there, but had %llu bytes "
                     "when it was opened",
                     path, (unsigned long long)at, (unsigned long long)expected);
}

static tdm_status read_header(tdm_file *file) {
    unsigned char prefix[TDMI_HEADER_PREFIX];
    if (file->size < sizeof prefix)
        return tdmi_fail(
            TDM_ERROR_IO,
            "%s is not a safetensors file: these begin with 8 bytes of header length, this one "
            "has %llu bytes in all",
            file->path, (unsigned long long)file->size);
    outcome got = read_bytes(file->file, 0, prefix, sizeof prefix);
    if (got.done < sizeof prefix) return read_failed(file->path, got.done, got.error, file->size);
    uint64_t size = 0;
    TDMI_TRY(tdmi_header_size(file->path, prefix, file->size, &size));
    char *text = tdmi_malloc(size ? (size_t)size : 1);
    if (!text)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory for a header of %llu",
                         file->path, (unsigned long long)size);
    got = read_bytes(file->file, sizeof prefix, text, (size_t)size);
    tdm_status status =
        got.done < size
            ? read_failed(file->path, sizeof prefix + got.done, got.error, file->size)
            : tdmi_header_parse(file->path, text, (size_t)size, file->size, &file->header);
    tdmi_free(text);
    return status;
}

static tdm_status open_and_check(tdm_file *file) {
    tdmi_file_info info;
    file->file = tdmi_file_open(TDMI_HERE, file->path, TDMI_OPEN_READ, &info);
    if (file->file == TDMI_NO_FILE)
        return tdmi_fail(TDM_ERROR_IO, "%s: cannot be opened: %s", file->path, strerror(errno));
    if (info.kind != TDMI_FILE_REGULAR)
        return tdmi_fail(TDM_ERROR_IO, "%s: is not a regular file", file->path);
    file->size = info.size;
    return read_header(file);
}

/* ---- bytes of the file into buffers ---- */

/* Where a range of the file goes. The targets of a job are in the order of their bytes and adjoin.
 */
typedef struct target {
    uint64_t begin, size; /* in the file */
    size_t element;       /* bytes of one */
    tdm_buffer *buffer;
    size_t at; /* of the first byte, in the buffer */
} target;

typedef struct loading {
    tdmi_file_job job;
    const tdm_file *file;
    const target *targets;
    size_t count;
    /* Of the range that is being read in parallel. */
    uint64_t begin, end;
    tdmi_mutex lock;    /* of the two below */
    uint64_t failed_at; /* the first byte that could not be read; UINT64_MAX: all could */
    int error;
} loading;

/* The part of a target that lies in [begin, end) of the file. */
typedef struct overlap {
    uint64_t begin;
    size_t size, at; /* at: in the buffer */
} overlap;

static overlap overlap_of(const target *t, uint64_t begin, uint64_t end) {
    if (begin < t->begin) begin = t->begin;
    if (end > t->begin + t->size) end = t->begin + t->size;
    if (begin >= end) return (overlap){0};
    return (overlap){begin, (size_t)(end - begin), t->at + (size_t)(begin - t->begin)};
}

/* The first target that reaches past `begin`. */
static size_t first_target(const loading *all, uint64_t begin) {
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->targets[middle].begin + all->targets[middle].size <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index-th share of the range, straight into the buffers' memory. Runs on a worker, which has
 * no message to leave: what failed is noted, and of several failures the first in the file. */
static void read_share(void *context, uint32_t index) {
    loading *all = context;
    uint64_t begin = all->begin + (uint64_t)index * SHARE;
    uint64_t end = begin + SHARE < all->end ? begin + SHARE : all->end;
    for (size_t i = first_target(all, begin); i < all->count && all->targets[i].begin < end; i++) {
        const target *t = &all->targets[i];
        overlap part = overlap_of(t, begin, end);
        if (part.size == 0) continue;
        outcome got = read_bytes(all->file->file, part.begin,
                                 (char *)t->buffer->block->mem.handle + part.at, part.size);
        if (got.done == part.size) continue;
        tdmi_mutex_lock(&all->lock);
        if (part.begin + got.done < all->failed_at) {
            all->failed_at = part.begin + got.done;
            all->error = got.error;
        }
        tdmi_mutex_unlock(&all->lock);
        return;
    }
}

static tdm_status read_direct(loading *all, uint64_t begin, uint64_t end) {
    all->begin = begin;
    all->end = end;
    tdmi_parallel((uint32_t)((end - begin + SHARE - 1) / SHARE), read_share, all, TDMI_NEXT_LOOP);
    if (all->failed_at == UINT64_MAX) return TDM_OK;
    return read_failed(all->file->path, all->failed_at, all->error, all->file->size);
}

/* Through one staging piece. Its last write, two turns ago, is done; that of the turn before goes
 * on while the file is read. */
static tdm_status read_staged(loading *all, uint64_t begin, uint64_t end, char *piece) {
    tdm_queue *queue = all->job.queue;
    outcome got = read_bytes(all->file->file, begin, piece, (size_t)(end - begin));
    if (got.done < end - begin)
        return read_failed(all->file->path, begin + got.done, got.error, all->file->size);
    TDMI_TRY(tdm_queue_finish(queue));
    for (size_t i = first_target(all, begin); i < all->count && all->targets[i].begin < end; i++) {
        overlap part = overlap_of(&all->targets[i], begin, end);
        if (part.size == 0) continue;
        char *from = piece + (part.begin - begin);
        tdmi_file_job_order(from, part.size, all->targets[i].element);
        TDMI_TRY(tdm_buffer_write_async(queue, all->targets[i].buffer, part.at, from, part.size));
    }
    return tdm_queue_flush(queue);
}

/* As far as a piece reaches, but to no place inside of an element, which begin anywhere. */
static uint64_t end_of_piece(const loading *all, uint64_t begin, uint64_t end) {
    if (end - begin <= all->job.piece) return end;
    const uint64_t next = begin + all->job.piece;
    const target *cut = &all->targets[first_target(all, next)];
    return next - (next - cut->begin) % cut->element;
}

static tdm_status read_range(loading *all, uint64_t begin, uint64_t end) {
    uint64_t done = begin;
    for (int turn = 0; done < end; turn ^= 1) {
        uint64_t next = end_of_piece(all, done, end);
        TDMI_TRY(all->job.staging[0] ? read_staged(all, done, next, all->job.staging[turn])
                                     : read_direct(all, done, next));
        done = next;
        TDMI_TRY(tdmi_file_job_progress(&all->job, done - begin));
    }
    return TDM_OK;
}

/* Fills the targets, which cover the file from `begin` on. */
static tdm_status load_targets(const tdm_file *file, tdm_queue *queue,
                               const tdm_file_options *options, const target *targets,
                               size_t count) {
    if (count == 0) return TDM_OK;
    uint64_t begin = targets[0].begin, end = targets[count - 1].begin + targets[count - 1].size;
    loading all = {
        .job = {.path = file->path, .queue = queue, .options = options, .total = end - begin},
        .file = file,
        .targets = targets,
        .count = count,
        .failed_at = UINT64_MAX};
    TDMI_TRY(tdmi_file_job_start(&all.job));
    (void)tdmi_mutex_init(&all.lock);
    /* Reading past the queue, straight into memory, must not pass its earlier work. */
    tdm_status status = all.job.staging[0] ? TDM_OK : tdm_queue_finish(queue);
    if (status == TDM_OK) status = read_range(&all, begin, end);
    tdmi_mutex_destroy(&all.lock);
    return tdmi_file_job_end(&all.job, status);
}

/* ---- the file ---- */

void tdm_file_destroy(tdm_file *file) {
    TDMI_UNCANCELLED();
    if (!file) return;
    if (file->file != TDMI_NO_FILE) (void)tdmi_file_close(file->file);
    tdmi_header_free(&file->header);
    tdmi_free(file->path);
    tdmi_free(file);
}

static tdm_status open_file(const char *path, tdm_file **file) {
    tdm_file *made = tdmi_calloc(1, sizeof *made);
    char *copy = tdmi_strdup(path);
    if (!made || !copy) {
        tdmi_free(made);
        tdmi_free(copy);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    }
    made->path = copy;
    made->file = TDMI_NO_FILE;
    tdm_status status = open_and_check(made);
    tdmi_new_file_remove_left(path);
    if (status != TDM_OK) {
        tdm_file_destroy(made);
        return status;
    }
    *file = made;
    return TDM_OK;
}

tdm_status tdm_file_open(const char *path, tdm_file **file) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, file);
    TDMI_NOT_NULL(__func__, path);
    tdm_status status = open_file(path, file);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}

size_t tdm_file_get_count(const tdm_file *file) { return file ? file->header.count : 0; }

static tdm_status check_entry_call(const char *function, const tdm_file *file,
                                   const tdm_file_entry **entry) {
    TDMI_RESULT(function, entry);
    TDMI_NOT_NULL(function, file);
    return TDM_OK;
}

tdm_status tdm_file_get_item(const tdm_file *file, size_t index, const tdm_file_entry **entry) {
    TDMI_TRY(check_entry_call(__func__, file, entry));
    if (index >= file->header.count)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: index is %zu, but %s has %zu tensor%s",
                         __func__, index, file->path, file->header.count,
                         file->header.count == 1 ? "" : "s");
    *entry = &file->header.entries[index];
    return TDM_OK;
}

tdm_status tdm_file_find(const tdm_file *file, const char *name, const tdm_file_entry **entry) {
    TDMI_TRY(check_entry_call(__func__, file, entry));
    TDMI_NOT_NULL(__func__, name);
    const tdmi_header *header = &file->header;
    const void *key = &name;
    void **found = header->count ? bsearch(&key, header->by_name, header->count,
                                           sizeof *header->by_name, tdmi_compare_name_pointers)
                                 : NULL;
    if (!found)
        return tdmi_no_such_name(__func__, file->path, name, header->by_name, header->count);
    *entry = *found;
    return TDM_OK;
}

const char *tdm_file_get_metadata(const tdm_file *file, const char *key) {
    return file && key ? tdmi_header_metadata(&file->header, key) : NULL;
}

static tdm_status check_read(const char *function, const tdm_file *file,
                             const tdm_file_entry *entry, int64_t first, int64_t count,
                             tdm_queue *queue, const tdm_tensor *y) {
    const tdmi_header *header = &file->header;
    if (!entry || entry < header->entries || entry >= header->entries + header->count)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: entry does not belong to %s", function,
                         file->path);
    if (first < 0 || count < 0 || first > entry->count || count > entry->count - first)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: first %lld and count %lld lie outside '%.200s', which has %lld "
                         "elements",
                         function, (long long)first, (long long)count, entry->name,
                         (long long)entry->count);
    TDMI_TRY(tdmi_tensor_check(function, "y", y));
    if (y->buffer->device != queue->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH, "%s: y is on %s, but queue is of %s", function,
                         y->buffer->device->facts->info.id, queue->device->facts->info.id);
    if (y->dtype != entry->dtype)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                         "%s: the dtype of y is %s, but '%.200s' is %s in the file; read it as "
                         "that, tdm_cast converts",
                         function, tdm_dtype_name(y->dtype), entry->name,
                         tdm_dtype_name(entry->dtype));
    if (!tdm_tensor_is_contiguous(y))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: y is not contiguous", function);
    if (tdm_tensor_get_count(y) != count)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: y has %lld elements, but count is %lld",
                         function, (long long)tdm_tensor_get_count(y), (long long)count);
    return tdmi_check_writable(function, "y", y->buffer);
}

tdm_status tdm_file_read(tdm_queue *queue, tdm_file *file, const tdm_file_entry *entry,
                         int64_t first, int64_t count, const tdm_file_options *options,
                         tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, file);
    tdm_file_options own;
    TDMI_TRY(tdmi_file_job_check(__func__, queue, file->path, options, &own));
    TDMI_TRY(check_read(__func__, file, entry, first, count, queue, y));
    if (count == 0) return TDM_OK;
    const size_t element = tdm_dtype_size(y->dtype);
    const target all = {.begin = entry->offset + (uint64_t)first * element,
                        .size = (uint64_t)count * element,
                        .element = element,
                        .buffer = y->buffer,
                        .at = (size_t)y->offset * element};
    tdm_status status = load_targets(file, queue, &own, &all, 1);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s: '%.200s'", __func__, entry->name);
}

/* ---- whole files ---- */

/* A tensor for an entry, in the dict and among the targets. */
static tdm_status make_tensor(const tdm_file *file, const tdm_file_entry *entry, tdm_device *device,
                              tdm_state_dict *dict, target *into) {
    static const int64_t one[] = {1};
    uint64_t size = (uint64_t)entry->count * tdm_dtype_size(entry->dtype);
    if (size > PTRDIFF_MAX)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY,
                         "%s: '%.200s' has %llu bytes, more than %d bits address", file->path,
                         entry->name, (unsigned long long)size, (int)sizeof(void *) * 8);
    tdm_buffer *buffer;
    tdm_status status = tdm_buffer_create(device, (size_t)size, &buffer);
    if (status != TDM_OK) return tdmi_fail_in(status, "%s: '%.200s'", file->path, entry->name);
    tdm_tensor tensor;
    bool scalar = entry->ndim == 0;
    status = tdm_tensor_init(buffer, entry->dtype, scalar ? 1 : entry->ndim,
                             scalar ? one : entry->shape, 0, &tensor);
    if (status == TDM_OK) status = tdmi_state_dict_put(dict, entry->name, &tensor, scalar);
    /* The dict has its own reference. */
    tdm_buffer_release(buffer);
    *into = (target){.begin = entry->offset,
                     .size = size,
                     .element = tdm_dtype_size(entry->dtype),
                     .buffer = buffer};
    return status;
}

static tdm_status load_all(const tdm_file *file, tdm_queue *queue, const tdm_file_options *options,
                           tdm_state_dict *dict) {
    TDMI_TRY(tdmi_header_copy_metadata(&file->header, dict));
    size_t count = file->header.count;
    target *targets = tdmi_calloc(count ? count : 1, sizeof *targets);
    if (!targets) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < count && status == TDM_OK; i++)
        status = make_tensor(file, &file->header.entries[i], queue->device, dict, &targets[i]);
    if (status == TDM_OK) status = load_targets(file, queue, options, targets, count);
    tdmi_free(targets);
    return status;
}

tdm_status tdm_load(tdm_queue *queue, const char *path, const tdm_file_options *options,
                    tdm_state_dict **dict) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, dict);
    tdm_file_options own;
    TDMI_TRY(tdmi_file_job_check(__func__, queue, path, options, &own));
    tdm_file *file = NULL;
    tdm_state_dict *made = NULL;
    tdm_status status = open_file(path, &file);
    if (status == TDM_OK) status = tdm_state_dict_create(&made);
    if (status == TDM_OK) status = load_all(file, queue, &own, made);
    tdm_file_destroy(file);
    if (status != TDM_OK) {
        tdm_state_dict_destroy(made);
        return tdmi_fail_in(status, "%s", __func__);
    }
    *dict = made;
    return TDM_OK;
}
