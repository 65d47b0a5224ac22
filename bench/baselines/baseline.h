/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines: the same work by the machine or the vendor's libraries, without Tandem. */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tandem/tandem.h>

#include "rows/shape.h"
#include "rows/timing.h"

/* The work that a row's ratio is taken against. */
typedef enum bench_baseline_kind {
    BENCH_BASELINE_GEMM, /* the raw call to the vendor's BLAS */
    /* two such calls, each with B transposed; operands 0 to 2 are the first A, and both B */
    BENCH_BASELINE_TWO_GEMMS,
    BENCH_BASELINE_MOVE, /* as many bytes in and out, the fastest that the machine does */
    BENCH_BASELINE_H2D,  /* the raw copy of the API */
    BENCH_BASELINE_D2H,
    BENCH_BASELINE_D2D,
    BENCH_BASELINE_EMPTY, /* the raw call or enqueue of a kernel that stores one element */
    BENCH_BASELINE_EMPTY_FINISH,
    BENCH_BASELINE_GRAPH, /* as many of these as the shape says, as a graph where the API has such, and the wait */
    BENCH_BASELINE_LAYER_NORM /* the raw call or enqueue of an equivalent small kernel */
} bench_baseline_kind;

/* Neither a call nor a sample: there is none. */
typedef bench_timed bench_baseline;

#define BENCH_MAX_OPERANDS 10

/* The work of a case, without the case. */
typedef struct bench_request {
    bench_baseline_kind kind;
    const tdm_device_info *device;
    tdm_dtype dtype;
    bench_shape shape;
    bool transpose_b; /* of a product: B is [N, K] */
    int operands;
    size_t bytes[BENCH_MAX_OPERANDS];      /* of each operand */
    const void *input[BENCH_MAX_OPERANDS]; /* in host memory; NULL for outputs */
    size_t bytes_in, bytes_out;            /* all that a call reads, and writes */
    unsigned sets;                         /* how many sets of buffers to rotate over */
} bench_request;

#define BENCH_WHY_SIZE 256

/* A vendor's part of the baselines: one for each backend that was built. create returns false and
 * says why when there is no baseline; *baseline is then untouched. */
typedef struct bench_vendor {
    tdm_backend backend;
    bool (*create)(const bench_request *request, bench_baseline *baseline, char *why);
    void (*describe)(json_t *libraries); /* adds name: version of its libraries */
} bench_vendor;

/* The baseline of a request of any kind but the one below. */
bool bench_baseline_create(const bench_request *request, bench_baseline *baseline, char *why);

/* Of BENCH_BASELINE_TWO_GEMMS, on any device. */
bool bench_two_gemms_create(const bench_request *request, bench_baseline *baseline, char *why);

/* So many bytes of host memory for a copy to read: the first input's, as often as they fit, as a GPU moves zeros
 * faster than it moves numbers; zeros where there is no input. The caller frees them; NULL when memory is short. */
void *bench_make_source(const bench_request *request, size_t bytes);

/* Versions of the vendors' libraries, by name. */
json_t *bench_describe_libraries(void);

/* On the host, for devices that are the host's own cores: the raw call to the fastest BLAS library there
 * is, in a separate process; and moving bytes. */
bool bench_host_gemm_create(const bench_request *request, bench_baseline *baseline, char *why);
bool bench_host_move_create(const bench_request *request, bench_baseline *baseline, char *why);
void bench_host_describe(json_t *libraries);

#endif
