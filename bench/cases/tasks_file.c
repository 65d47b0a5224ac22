/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tasks of files: a layer's parameters from a device to a file and back, compared with plain write()
 * and read() of as many bytes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tandem/state_dict.h>

#include "cases/task.h"
#include "machine/machine.h"
#include "platform/folder.h"

enum { FOLDER_SIZE = 256, PATH_SIZE = FOLDER_SIZE + 32 };

static const char name[] = "weight";

typedef struct parameters {
    tdm_tensor tensor;
    size_t size;
    char folder[FOLDER_SIZE]; /* "" before it is made */
    char file[PATH_SIZE], plain[PATH_SIZE], temporary[PATH_SIZE];
    void *values;        /* the tensor's values */
    void *copy;          /* bytes that the baseline, or a check, read */
    tdm_state_dict *own; /* with the tensor */
    tdm_state_dict *loaded;
} parameters;

/* In the page cache where the system's temporary files are; the same folder for both sides. */
static bool make_folder(bench_task_run *run) {
    parameters *p = run->state;
    if (tdmi_folder_make_temporary(NULL, p->folder, FOLDER_SIZE)) {
        snprintf(p->file, PATH_SIZE, "%s/tandem.safetensors", p->folder);
        snprintf(p->plain, PATH_SIZE, "%s/plain", p->folder);
        snprintf(p->temporary, PATH_SIZE, "%s/plain.tmp", p->folder);
        return true;
    }
    p->folder[0] = '\0';
    return bench_row_fail(run->row, "temporary folder", strerror(errno));
}

static bool make_parameters(bench_task_run *run) {
    parameters *p = run->state;
    const int64_t count = run->c->shape.extent[0];
    const tdm_device_info *info = run->row->device;
    p->size = (size_t)count * tdm_dtype_size(run->c->dtype);
    run->row->bytes = 2.0 * (double)p->size;
    if (p->size > info->max_allocation ||
        (info->memory_total != TDM_UNKNOWN && 2 * p->size > info->memory_total / 2))
        return bench_task_skip(run, "the device has not enough memory");
    p->copy = bench_alloc(p->size);
    if (!p->copy) return bench_row_fail(run->row, "inputs", "out of memory");
    p->tensor = tdm_tensor_1d(NULL, run->c->dtype, count);
    if (!bench_task_random(run, run->seed, run->c->dtype, count, -1.0, 1.0, &p->values) ||
        !bench_task_buffer(run, run->on->queue, p->size, p->values, &p->tensor.buffer))
        return false;
    if (tdm_state_dict_create(&p->own) != TDM_OK ||
        tdm_state_dict_set(p->own, name, &p->tensor) != TDM_OK)
        return bench_task_failed(run, "state dict");
    return make_folder(run);
}

/* Writes a temporary file, syncs and renames it, as tdm_save promises to do. */
static bool write_plain(void *state, unsigned set) {
    const parameters *p = state;
    const char *what;
    (void)set;
    const tdmi_file file =
        tdmi_file_open(TDMI_HERE, p->temporary, TDMI_OPEN_WRITE | TDMI_OPEN_MAKE, NULL);
    if (file == TDMI_NO_FILE) return false;
    if (tdmi_file_write(file, p->values, p->size) == p->size)
        return tdmi_file_publish(file, p->temporary, p->plain, &what);
    (void)tdmi_file_close(file);
    return false;
}

static bool read_all(const char *path, uint64_t first, void *bytes, size_t size) {
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, NULL);
    if (file == TDMI_NO_FILE) return false;
    const bool whole = tdmi_file_read(file, first, bytes, size) == size;
    (void)tdmi_file_close(file);
    return whole;
}

static bool read_plain(void *state, unsigned set) {
    const parameters *p = state;
    (void)set;
    return read_all(p->plain, 0, p->copy, p->size);
}

static tdm_status save(bench_task_run *run) {
    const parameters *p = run->state;
    return tdm_save(run->on->queue, p->own, p->file, NULL);
}

static bool prepare_save(bench_task_run *run) {
    if (!make_parameters(run)) return false;
    run->baseline =
        (bench_baseline){.name = "write, fsync, rename", .state = run->state, .call = write_plain};
    return true;
}

static bool prepare_load(bench_task_run *run) {
    if (!make_parameters(run)) return false;
    const tdm_status status = save(run);
    if (status == TDM_ERROR_UNSUPPORTED) return bench_task_skip(run, tdm_last_error());
    if (status != TDM_OK) return bench_task_failed(run, "save");
    if (!write_plain(run->state, 0)) return bench_row_fail(run->row, "file", strerror(errno));
    run->baseline = (bench_baseline){.name = "read, warm", .state = run->state, .call = read_plain};
    return true;
}

static tdm_status load(bench_task_run *run) {
    parameters *p = run->state;
    tdm_state_dict_destroy(p->loaded);
    return tdm_load(run->on->queue, p->file, NULL, &p->loaded);
}

static void compare(const parameters *p, bool read, bench_verdict *verdict) {
    verdict->verified = read && memcmp(p->copy, p->values, p->size) == 0;
    if (!verdict->verified)
        snprintf(verdict->problem, sizeof verdict->problem, "%s",
                 read ? "the bytes differ" : "it cannot be read back");
}

/* The tensor's bytes are the last of the file. */
static void check_saved(bench_task_run *run, bench_verdict *verdict) {
    const parameters *p = run->state;
    tdmi_file_info facts;
    memset(p->copy, 0xff, p->size);
    const bool read = tdmi_file_look_up(TDMI_HERE, p->file, true, &facts) && facts.size > p->size &&
                      read_all(p->file, facts.size - p->size, p->copy, p->size);
    compare(p, read, verdict);
}

static void check_loaded(bench_task_run *run, bench_verdict *verdict) {
    const parameters *p = run->state;
    tdm_tensor tensor;
    memset(p->copy, 0xff, p->size);
    const bool read = tdm_state_dict_get(p->loaded, name, &tensor) == TDM_OK &&
                      tensor.dtype == p->tensor.dtype &&
                      tdm_tensor_get_count(&tensor) == tdm_tensor_get_count(&p->tensor) &&
                      tdm_buffer_read(run->on->queue, tensor.buffer,
                                      (size_t)tensor.offset * tdm_dtype_size(tensor.dtype), p->copy,
                                      p->size) == TDM_OK;
    compare(p, read, verdict);
}

static void destroy(bench_task_run *run) {
    parameters *p = run->state;
    tdm_state_dict_destroy(p->loaded);
    tdm_state_dict_destroy(p->own);
    tdm_buffer_release(p->tensor.buffer);
    bench_free(p->values);
    bench_free(p->copy);
    if (!p->folder[0]) return;
    (void)tdmi_file_remove(TDMI_HERE, p->file);
    (void)tdmi_file_remove(TDMI_HERE, p->plain);
    (void)tdmi_file_remove(TDMI_HERE, p->temporary);
    (void)tdmi_folder_remove(p->folder);
}

const bench_task bench_task_save = {false, sizeof(parameters), prepare_save,
                                    save,  check_saved,        destroy};
const bench_task bench_task_load = {false, sizeof(parameters), prepare_load,
                                    load,  check_loaded,       destroy};
