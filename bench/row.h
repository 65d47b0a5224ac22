/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A row of the benchmark, and the reports made of rows. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include <stdio.h>

#include <jansson.h>

#include "baseline.h"
#include "case.h"
#include "timing.h"

/* Numbers that were not measured are NaN, and null in JSON. */
typedef struct bench_row {
    const tdm_device_info *device;
    const tdm_device_info *second; /* the other device of a case of two; else NULL */
    const bench_case *c;
    bench_stats seconds; /* of one call */
    int sample_count;    /* in the order in which they were taken, seconds of one call: */
    double samples[BENCH_MAX_SAMPLES];
    double baseline_samples[BENCH_MAX_SAMPLES]; /* NaN without a baseline */
    double flops, bytes;                        /* of one call; flops is 0 for memory-bound work */
    double gflops;                              /* NaN for memory-bound work, */
    double gbytes_per_s;     /* which has this instead: 1e9 bytes read and written */
    char baseline[48];       /* "" without one */
    double baseline_seconds; /* median */
    double ratio;            /* baseline_seconds / seconds.median */
    double pytorch_seconds;  /* of the same work, where it was asked for and has a PyTorch form */
    double first_call_seconds;
    double max_error, error_bound;
    bool verified;
    char note[96];       /* what to know about the figure; "" mostly */
    bool not_applicable; /* there is no such work for the device */
    char problem[320];   /* why it is not verified, or why there is no baseline */
} bench_row;

/* A row of which nothing is known yet. */
void bench_row_init(bench_row *row, const tdm_device_info *device, const tdm_device_info *second,
                    const bench_case *c);

/* Not verified, and why: "WHAT: WHY". Returns false. */
bool bench_row_fail(bench_row *row, const char *what, const char *why);

/* Tells why a case cannot run where it is: "skipped: WHY". Returns false. */
bool bench_row_skip(bench_row *row, const char *why);

/* Tells why there is no such work for the device at all, which is nobody's failure: "not
 * applicable: WHY". Returns false. */
bool bench_row_not_applicable(bench_row *row, const char *why);

/* What measuring needs beside the case. */
typedef struct bench_runner {
    tdm_device *device;
    tdm_queue *queue;
    tdm_device *second; /* for cases of two devices; else NULL */
    tdm_queue *second_queue;
    int same_before; /* see bench_request */
    uint64_t seed;
    bench_pace pace;
} bench_runner;

/* Measures one case on open devices. *row was begun by bench_row_init and is complete also when
 * something failed. Returns false when it cannot run there (no f64, not enough memory);
 * row->problem says why, and there is nothing to report. */
bool bench_measure(const bench_runner *runner, const bench_case *c, bench_row *row);

/* The parts of bench_measure for the two kinds of cases. */
bool bench_measure_op(const bench_runner *runner, const bench_case *c, bench_row *row);
bool bench_measure_task(const bench_runner *runner, const bench_case *c, bench_row *row);

/* Takes the samples and fills the row's figures from them. row->flops and bytes are set
 * before. False when a call failed. */
bool bench_measure_times(const bench_runner *runner, bench_timed *tandem, const bench_baseline *b,
                         unsigned baseline_sets, bench_row *row);

/* Of the JSON: rises when a key goes or changes its meaning, not when one comes. */
enum { BENCH_SCHEMA = 1 };

/* What a run has found, for the reports. */
typedef struct bench_results {
    const json_t *machine;
    const json_t *peaks; /* a list */
    const bench_row *rows;
    size_t count;
} bench_results;

/* The document that schema.json describes. bench_write_json: false with a message on stderr when
 * it cannot. */
void bench_print_json(FILE *stream, const bench_results *results);
bool bench_write_json(const char *path, const bench_results *results);

/* A row on a line of its own: as JSON that needs no head, and its figures between commas, where
 * NULL gives the names of the columns. */
void bench_print_jsonl_row(FILE *stream, const bench_row *row);
void bench_print_csv_row(FILE *stream, const bench_row *row);

/* The peaks in the same manner, where there are no rows. */
void bench_print_jsonl_peaks(FILE *stream, const json_t *peaks);
void bench_print_csv_peaks(FILE *stream, const json_t *peaks);

/* Writes the page: the machine, plots made by gnuplot, every row. Made beside `path` and renamed.
 * False with a message on stderr when it cannot. */
bool bench_write_html(const char *path, const json_t *machine, const bench_row *rows, size_t count);

/* "opencl:0", or "opencl:0+cpu:0" for two devices. Returns `text`. */
const char *bench_row_devices(const bench_row *row, char text[80]);

/* "12.3 us": four significant digits at most, the unit that fits; "-" for NaN. Returns `text`. */
const char *bench_format_seconds(double seconds, char text[16]);

/* "187.1 GFLOP/s" or "34.50 GB/s"; "-" where neither is known. Returns `text`. */
const char *bench_format_rate(const bench_row *row, char text[24]);

#endif
