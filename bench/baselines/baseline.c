/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the vendor of a baseline. */
#include "baselines/baseline.h"

#include <stdio.h>

/* BENCH_BACKEND_LIST lists the vendors of the build: X(cuda) X(opencl) X(cpu). */
#define X(backend) extern const bench_vendor bench_vendor_##backend;
BENCH_BACKEND_LIST
#undef X

#define X(backend) &bench_vendor_##backend,
static const bench_vendor *const vendors[] = {BENCH_BACKEND_LIST};
#undef X
enum { VENDORS = sizeof vendors / sizeof *vendors };

bool bench_baseline_create(const bench_request *request, bench_baseline *baseline, char *why) {
    for (int i = 0; i < VENDORS; i++) {
        if (vendors[i]->backend != request->device->backend) continue;
        if (!vendors[i]->create(request, baseline, why)) return false;
        baseline->sets = request->sets;
        return true;
    }
    snprintf(why, BENCH_WHY_SIZE, "no baseline is built for this backend");
    return false;
}

json_t *bench_describe_libraries(void) {
    json_t *libraries = json_object();
    for (int i = 0; i < VENDORS; i++)
        vendors[i]->describe(libraries);
    return libraries;
}
