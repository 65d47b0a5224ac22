/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* On the simulated CUDA machine, which counts by itself. */
#include <string.h>

#include "control.h"
#include "count.h"

const char count_device[] = "cuda:0";
const unsigned long count_mapping = 2;

void count_reset(void) { cuda_sim_heal(); }

const char *count_called(size_t index, unsigned long *calls) {
    const char *name = cuda_sim_called(index);
    if (name) *calls = cuda_sim_calls(name);
    return name;
}

static bool begins(const char *function, const char *with) {
    return strncmp(function, with, strlen(with)) == 0;
}

bool count_is_work(const char *function) {
    return strcmp(function, "cuLaunchKernel") == 0 || begins(function, "cudaMemcpy") ||
           begins(function, "cudaMemset") || begins(function, "cuMemset") ||
           strcmp(function, "cublasLtMatmul") == 0 || begins(function, "cublasGemm");
}

/* Variables of the thread: the current context, and the mode of captures, which products exchange. "kernel" is the work
 * itself, as it runs. */
bool count_is_free(const char *function) {
    return strcmp(function, "cuCtxGetCurrent") == 0 ||
           strcmp(function, "cuThreadExchangeStreamCaptureMode") == 0 ||
           strcmp(function, "kernel") == 0;
}

bool count_is_argument(const char *function) {
    (void)function;
    return false;
}
