/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* TANDEM_TRACE and the log: the products of a program, one to a line, each once. */
#include "matmul_trace.h"

#include <errno.h>
#include <string.h>

#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"
#include "tuned.h"

const char *tdmi_gemm_text(const tdmi_gemm *gemm, char text[TDMI_PRODUCT_TEXT]) {
    const tdmi_product_words words = {.dtype = gemm->dtype,
                                      .batch = gemm->batch,
                                      .m = gemm->m,
                                      .n = gemm->n,
                                      .k = gemm->k,
                                      .transpose_a = gemm->transpose_a,
                                      .transpose_b = gemm->transpose_b,
                                      .tf32 = gemm->dtype == TDM_F32 && gemm->tf32,
                                      .bias = gemm->bias,
                                      .activation = gemm->activation};
    return tdmi_product_text(&words, text);
}

enum { MOST = 1024 }; /* products of a process: a program with more has no usual ones */

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static uint64_t seen[2 * MOST]; /* hashes, by open addressing; 0: free */
static int count;

static bool is_new(const tdmi_gemm *gemm) {
    const tdmi_tuned_product product = tdmi_tuned_product_of(gemm);
    const uint64_t hash = tdmi_hash_words(&product, sizeof product) | 1;
    size_t at = (size_t)(hash >> 1) % (2 * MOST);
    while (seen[at] && seen[at] != hash)
        at = (at + 1) % (2 * MOST);
    if (seen[at] || count == MOST) return false;
    seen[at] = hash;
    count++;
    return true;
}

void tdmi_trace_product(const tdmi_gemm *gemm, const char *provider) {
    const char *path = tdmi_env_values()->trace;
    static bool warned;
    char line[TDMI_PRODUCT_TEXT + 1];
    if (!path && !tdmi_logs(TDM_LOG_DEBUG)) return;
    TDMI_LOCKED(&lock);
    if (!is_new(gemm)) return;
    tdmi_gemm_text(gemm, line);
    tdmi_log(TDM_LOG_DEBUG, "products of %s are computed by %s", line, provider);
    strcat(line, "\n");
    if (path && !tdmi_output_append(path, line) && !warned) {
        warned = true;
        tdmi_log(TDM_LOG_WARNING, "TANDEM_TRACE: nothing can be written to %s: %s", path,
                 strerror(errno));
    }
}
