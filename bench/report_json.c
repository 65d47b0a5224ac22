/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The report that programs read. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "row.h"

static void set_number(json_t *object, const char *key, double value) {
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static json_t *json_row(const bench_row *row) {
    json_t *object = json_object();
    json_object_set_new(object, "device", json_string(row->device->id));
    if (row->second) json_object_set_new(object, "second_device", json_string(row->second->id));
    json_object_set_new(object, "backend", json_string(tdm_backend_name(row->device->backend)));
    json_object_set_new(object, "op", json_string(row->c->op->name));
    json_object_set_new(object, "dtype", json_string(tdm_dtype_name(row->c->dtype)));
    json_object_set_new(object, "shape", json_string(row->c->shape));
    set_number(object, "seconds_median", row->seconds.median);
    set_number(object, "seconds_min", row->seconds.min);
    set_number(object, "seconds_iqr", row->seconds.iqr);
    if (row->flops > 0.0)
        set_number(object, "gflops", row->gflops);
    else
        set_number(object, "gbytes_per_s", row->gbytes_per_s);
    json_object_set_new(object, "baseline",
                        row->baseline[0] ? json_string(row->baseline) : json_null());
    set_number(object, "baseline_seconds_median", row->baseline_seconds);
    set_number(object, "ratio", row->ratio);
    if (!isnan(row->pytorch_seconds))
        set_number(object, "pytorch_seconds_median", row->pytorch_seconds);
    set_number(object, "first_call_seconds", row->first_call_seconds);
    set_number(object, "max_error", row->max_error);
    set_number(object, "error_bound", row->error_bound);
    json_object_set_new(object, "verified", json_boolean(row->verified));
    if (row->note[0]) json_object_set_new(object, "note", json_string(row->note));
    return object;
}

bool bench_write_json(const char *path, json_t *machine, const bench_row *rows, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_row(&rows[i]));
    json_t *root = json_object();
    json_object_set(root, "machine", machine);
    json_object_set_new(root, "rows", list);
    errno = 0;
    bool good = json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    if (!good)
        fprintf(stderr, "tdm bench: %s cannot be written: %s\n", path,
                errno ? strerror(errno) : "out of memory");
    json_decref(root);
    return good;
}
