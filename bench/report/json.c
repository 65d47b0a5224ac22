/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The reports that programs read; bench/README.md and schema.json describe the keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/csv.h"
#include "report/file.h"
#include "report/report.h"

/* The build's commit; "" where it was not made from a repository. */
#ifndef BENCH_COMMIT
#define BENCH_COMMIT ""
#endif

enum { LINE = JSON_REAL_PRECISION(9) };

static void set_number(json_t *object, const char *key, double value) {
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_samples(json_t *object, const char *key, const double *seconds, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count && isfinite(seconds[i]); i++)
        json_array_append_new(list, json_real(seconds[i]));
    json_object_set_new(object, key, list);
}

/* All of a row but its samples. */
static json_t *json_figures(const bench_row *row) {
    json_t *object = json_object();
    json_object_set_new(object, "device", json_string(row->device->id));
    if (row->second) json_object_set_new(object, "second_device", json_string(row->second->id));
    json_object_set_new(object, "backend", json_string(tdm_backend_name(row->device->backend)));
    json_object_set_new(object, "op", json_string(row->op));
    json_object_set_new(object, "dtype", json_string(tdm_dtype_name(row->dtype)));
    json_object_set_new(object, "shape", json_string(row->shape.text));
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
    set_number(object, "baseline_seconds_iqr", row->baseline_iqr);
    set_number(object, "ratio", row->ratio);
    for (int i = 0; i < BENCH_PEERS; i++)
        if (!isnan(row->peer_seconds[i]))
            set_number(object, bench_peer_key((bench_peer)i), row->peer_seconds[i]);
    set_number(object, "first_call_seconds", row->first_call_seconds);
    set_number(object, "max_error", row->max_error);
    set_number(object, "error_bound", row->error_bound);
    json_object_set_new(object, "verified", json_boolean(row->verified));
    if (row->ranks) json_object_set_new(object, "ranks", json_integer(row->ranks));
    if (row->note[0]) json_object_set_new(object, "note", json_string(row->note));
    return object;
}

static json_t *json_row(const bench_row *row) {
    json_t *object = json_figures(row);
    set_samples(object, "seconds", row->samples, row->sample_count);
    set_samples(object, "baseline_seconds", row->baseline_samples, row->sample_count);
    return object;
}

static json_t *json_peak(const bench_peak *peak) {
    static const char *const kinds[] = {"copy", "read", "launch_latency", "launches", "products"};
    const char *whose, *unit;
    const double seconds = bench_peak_seconds(peak, &whose);
    const double value = bench_peak_value(peak, seconds, &unit);
    json_t *object = json_object();
    json_object_set_new(object, "device", json_string(peak->row.device->id));
    json_object_set_new(object, "kind", json_string(kinds[peak->kind]));
    json_object_set_new(object, "dtype", json_string(tdm_dtype_name(peak->row.dtype)));
    json_object_set_new(object, "shape", json_string(peak->row.shape.text));
    json_object_set_new(object, "value", isfinite(value) ? json_real(value) : json_null());
    json_object_set_new(object, "unit", json_string(unit));
    json_object_set_new(object, "by", isfinite(value) ? json_string(whose) : json_null());
    return object;
}

/* These three give the object back. The first prints element i of a list. */
static void print_element(FILE *stream, size_t i, json_t *object) {
    fputs(i > 0 ? ",\n  " : "\n  ", stream);
    json_dumpf(object, stream, LINE);
    json_decref(object);
}

/* A line that can be read alone: it has the schema, the version and the commit, too. */
static void print_jsonl(FILE *stream, json_t *rest) {
    json_t *object = json_pack("{s:i, s:s, s:s}", "schema", BENCH_SCHEMA, "version", tdm_version(),
                               "commit", BENCH_COMMIT);
    json_object_update(object, rest);
    json_dumpf(object, stream, LINE);
    fputc('\n', stream);
    json_decref(object);
    json_decref(rest);
}

/* The values of these keys; the keys themselves where the object is NULL. */
static void print_csv(FILE *stream, const char *const *keys, json_t *object) {
    for (int i = 0; keys[i]; i++) {
        if (i > 0) fputc(',', stream);
        if (object)
            csv_print_value(stream, json_object_get(object, keys[i]));
        else
            fputs(keys[i], stream);
    }
    fputc('\n', stream);
    json_decref(object);
}

/* A row is one line, so that files can be compared line by line. */
void bench_print_json(FILE *stream, const bench_results *results) {
    fprintf(stream, "{\n \"schema\": %d,\n \"version\": \"%s\",\n \"commit\": \"%s\",\n",
            BENCH_SCHEMA, tdm_version(), BENCH_COMMIT);
    fputs(" \"machine\": ", stream);
    json_dumpf(results->machine, stream, LINE);
    fputs(",\n \"peaks\": [", stream);
    for (size_t i = 0; i < results->peak_count; i++)
        print_element(stream, i, json_peak(&results->peaks[i]));
    fputs("\n ],\n \"rows\": [", stream);
    for (size_t i = 0; i < results->count; i++)
        print_element(stream, i, json_row(&results->rows[i]));
    fputs("\n ]\n}\n", stream);
}

bool bench_write_json(const char *path, const bench_results *results) {
    bench_file file;
    char why[256];
    bool written = bench_file_begin(&file, path, why);
    if (written) {
        bench_print_json(file.stream, results);
        written = bench_file_end(&file, true, why);
    }
    if (!written) fprintf(stderr, "tdm bench: %s cannot be written: %s\n", path, why);
    return written;
}

void bench_print_jsonl_row(FILE *stream, const bench_row *row) {
    print_jsonl(stream, json_row(row));
}

void bench_print_jsonl_peaks(FILE *stream, const bench_results *results) {
    for (size_t i = 0; i < results->peak_count; i++)
        print_jsonl(stream, json_peak(&results->peaks[i]));
}

void bench_print_csv_row(FILE *stream, const bench_row *row) {
    static const char *const keys[] = {"device",
                                       "second_device",
                                       "backend",
                                       "op",
                                       "dtype",
                                       "shape",
                                       "seconds_median",
                                       "seconds_min",
                                       "seconds_iqr",
                                       "gflops",
                                       "gbytes_per_s",
                                       "baseline",
                                       "baseline_seconds_median",
                                       "ratio",
                                       "pytorch_seconds_median",
                                       "first_call_seconds",
                                       "max_error",
                                       "error_bound",
                                       "verified",
                                       "note",
#define PEER_KEY(NAME, key, module, title) key,
                                       BENCH_LATER_PEER_LIST(PEER_KEY) "ranks",
                                       NULL};
    print_csv(stream, keys, row ? json_figures(row) : NULL);
}

void bench_print_csv_peaks(FILE *stream, const bench_results *results) {
    static const char *const keys[] = {"device", "kind", "dtype", "shape",
                                       "value",  "unit", "by",    NULL};
    print_csv(stream, keys, NULL);
    for (size_t i = 0; i < results->peak_count; i++)
        print_csv(stream, keys, json_peak(&results->peaks[i]));
}
