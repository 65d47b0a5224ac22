/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A row of the benchmark: its case in words, and the figures. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include <stdbool.h>

#include <tandem/tandem.h>

#include "rows/peer_list.h"
#include "rows/shape.h"
#include "rows/timing.h"

/* Numbers that were not measured are NaN, and null in JSON. */
typedef struct bench_row {
    const tdm_device_info *device;
    const tdm_device_info *second; /* the other device of a case of two; else NULL */
    int ranks;      /* processes that share the work, with a device each; 0: one alone */
    const char *op; /* "bias_add+gelu" */
    tdm_dtype dtype;
    bench_shape shape;
    bench_stats seconds; /* of one call */
    int sample_count;    /* in the order in which they were taken, seconds of one call: */
    double samples[BENCH_MAX_SAMPLES];
    double baseline_samples[BENCH_MAX_SAMPLES]; /* NaN without a baseline */
    double flops, bytes;                        /* of one call; flops is 0 for memory-bound work */
    double gflops;                              /* NaN for memory-bound work, */
    double gbytes_per_s;     /* which has this instead: 1e9 bytes read and written */
    unsigned sets;           /* of buffers, which calls took in turn */
    char baseline[48];       /* "" without one */
    double baseline_seconds; /* median */
    double baseline_iqr;     /* as of seconds */
    double ratio;            /* baseline_seconds / seconds.median */
    /* of the same work in other libraries, where these were requested and have it */
    double peer_seconds[BENCH_PEERS];
    double first_call_seconds;
    double max_error, error_bound;
    bool verified;
    char note[96];       /* a remark on the figure; "" mostly */
    bool not_applicable; /* there is no such work for the device */
    char problem[320];   /* why it is not verified, or why there is no baseline */
} bench_row;

/* A row of which no figure is known yet. */
void bench_row_init(bench_row *row, const tdm_device_info *device, const tdm_device_info *second,
                    const char *op, tdm_dtype dtype, const bench_shape *shape);

/* Not verified, and why: "WHAT: WHY". Returns false. */
bool bench_row_fail(bench_row *row, const char *what, const char *why);

/* Records why a case cannot run where it is: "skipped: WHY". Returns false. */
bool bench_row_skip(bench_row *row, const char *why);

/* Records why the device has no such work at all, which is no failure: "not applicable: WHY".
 * Returns false. */
bool bench_row_not_applicable(bench_row *row, const char *why);

/* A row is noisy, and marked as such, where the spread of its samples is more than this part of the median. */
#define BENCH_NOISY 0.2
bool bench_row_is_noisy(const bench_row *row);

/* "12 %", or "-": the spread of the samples, relative to their median. Returns `text`. */
const char *bench_format_spread(const bench_row *row, char text[16]);

/* Are two rows of the same operation in the same dtype? */
bool bench_row_is_like(const bench_row *row, const bench_row *other);

/* A device whose memory is the host's own. */
bool bench_is_host(const tdm_device_info *info);

/* "opencl:0", "opencl:0+cpu:0" for two devices, or "2 x cpu:0" for two ranks. Returns `text`. */
const char *bench_row_devices(const bench_row *row, char text[80]);

/* "PyTorch", and the key of the peer's figure in JSON and CSV. */
const char *bench_peer_title(bench_peer peer);
const char *bench_peer_key(bench_peer peer);

/* "12.3 us": four significant digits at most, the unit that fits; "-" for NaN. Returns `text`. */
const char *bench_format_seconds(double seconds, char text[16]);

/* "187.1 GFLOP/s" or "34.50 GB/s", or "20.00 MB/s" where it is little; "-" where neither is known. Returns `text`. */
const char *bench_format_rate(const bench_row *row, char text[24]);

/* The columns of tables of rows. */
typedef enum bench_column {
    BENCH_DEVICES,
    BENCH_OP,
    BENCH_DTYPE,
    BENCH_SHAPE,
    BENCH_VERIFIED,
    BENCH_MEDIAN,
    BENCH_SPREAD,
    BENCH_RATE,
    BENCH_RATIO,
    BENCH_BASELINE,
    BENCH_ITS_MEDIAN, /* the baseline's */
    BENCH_FIRST,
    BENCH_ERROR
} bench_column;

/* Its text, "-" where it is not known. Returns `text`. */
enum { BENCH_CELL_SIZE = 96 };
const char *bench_format_cell(const bench_row *row, bench_column column,
                              char text[BENCH_CELL_SIZE]);

#endif
