/* A row of the benchmark, and the two reports made of rows. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include <stdio.h>

#include <jansson.h>

#include "case.h"
#include "stats.h"

/* Numbers that were not measured are NaN, and null in JSON. */
typedef struct bench_row {
    const tdm_device_info *device;
    const bench_case *c;
    bench_stats seconds;     /* of one call */
    double gflops;           /* NaN for memory-bound work, */
    double gbytes_per_s;     /* which has this instead: 1e9 bytes read and written */
    char baseline[48];       /* "" without one */
    double baseline_seconds; /* median */
    double ratio;            /* baseline_seconds / seconds.median */
    double first_call_seconds;
    double max_error, error_bound;
    bool verified;
    char problem[320]; /* why it is not verified, or why there is no baseline */
} bench_row;

/* Measures one case on an open device. *row is complete also when something failed. Returns false
 * when the device cannot run the case (no f64, not enough memory); row->problem says why, and there
 * is nothing to report. */
typedef struct bench_runner bench_runner;
bool bench_measure(const bench_runner *runner, const bench_case *c, bench_row *row);

/* What bench_measure needs beside the case. */
struct bench_runner {
    tdm_device *device;
    tdm_queue *queue;
    int same_before; /* see bench_request */
    uint64_t seed;
    double seconds; /* to spend on samples of one case */
    int max_pairs;  /* of samples */
};

/* The table: its head, and one line for a row. */
void bench_table_head(FILE *stream);
void bench_table_row(FILE *stream, const bench_row *row);

/* Writes {"machine": …, "rows": […]}. False with a message on stderr when it cannot. Takes over
 * `machine`. */
bool bench_write_json(const char *path, json_t *machine, const bench_row *rows, size_t count);

#endif
