/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The baseline of a product on the host's cores is another process, made by fork(), which is stopped while Tandem is
 * measured. Windows has no such thing. */
#include <stdio.h>

#include "baselines/baseline.h"

bool bench_host_gemm_create(const bench_request *request, bench_baseline *baseline, char *why) {
    (void)request, (void)baseline;
    snprintf(why, BENCH_WHY_SIZE, "a BLAS library alone is not measured on Windows");
    return false;
}
