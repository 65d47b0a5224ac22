/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines: what the machine or the vendor does for the same work, without Tandem. */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include <jansson.h>

#include "case.h"

typedef struct bench_baseline {
    char name[48];
    void *state;
    bool (*call)(void *state, unsigned set); /* queues the work once */
    bool (*finish)(void *state);             /* waits for it; NULL: call has waited */
    void (*enter)(void *state);              /* before and after a sample; NULL: nothing to do */
    void (*leave)(void *state);
    void (*destroy)(void *state);
} bench_baseline;

typedef struct bench_request {
    const tdm_device_info *device;
    int same_before; /* devices listed before it with its platform and name */
    const bench_case *c;
    const bench_plan *plan;
    const void *const *input; /* by operand, in host memory */
    unsigned sets;            /* how many sets of buffers to rotate over */
} bench_request;

#define BENCH_WHY_SIZE 256

/* A vendor's part of the baselines: one for each backend that was built. create returns false and
 * says why when there is no baseline; *baseline is then untouched. */
typedef struct bench_vendor {
    tdm_backend backend;
    bool (*create)(const bench_request *request, bench_baseline *baseline, char *why);
    void (*describe)(json_t *libraries); /* adds name: version of what it has loaded */
} bench_vendor;

/* The baseline of a case on a device. */
bool bench_baseline_create(const bench_request *request, bench_baseline *baseline, char *why);

/* Versions of the vendors' libraries, by name. */
json_t *bench_describe_libraries(void);

/* On the host, for devices that are the host's own cores: the raw CBLAS call, and moving bytes. */
bool bench_host_gemm_create(const bench_request *request, bench_baseline *baseline, char *why);
bool bench_host_move_create(const bench_request *request, bench_baseline *baseline, char *why);
void bench_host_describe(json_t *libraries);

/* Opens the first library of a NULL-terminated list that can be opened; NULL and why otherwise. */
void *bench_open_library(const char *const *names, char *why);

/* Resolves a symbol into a function pointer; false and why when it is missing. */
bool bench_resolve(void *library, const char *symbol, void *function, char *why);

#endif
