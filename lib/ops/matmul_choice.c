/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which provider would run a matmul, and why. */
#include <tandem/tune.h>

#include <stdio.h>

#include "matmul.h"
#include "matmul_builtin.h"
#include "matmul_trace.h"
#include "tensor_cores.h"

/* The choice for a product that multiplies; checked, if it falls to the builtin kernel. */
static tdm_status choose(const char *function, tdm_queue *queue, const tdmi_product *p,
                         tdmi_blas_choice *choice) {
    const tdmi_gemm gemm = tdmi_product_offered(p);
    TDMI_TRY(TDMI_ATTEMPT(tdmi_blas_choose(queue, &gemm, choice)));
    return choice->provider ? TDM_OK : tdmi_check_builtin(function, &gemm);
}

tdm_status tdm_matmul_provider(tdm_queue *queue, const tdm_matmul_options *options,
                               const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *c,
                               const char **provider) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, provider);
    tdmi_product p;
    TDMI_TRY(tdmi_describe_product(__func__, queue, options, a, b, c, &p));
    tdmi_blas_choice choice = {0};
    if (tdmi_product_multiplies(&p)) TDMI_TRY(choose(__func__, queue, &p, &choice));
    *provider = tdmi_blas_name(&choice);
    return TDM_OK;
}

static const char *format_time(double seconds, char text[32]) {
    if (seconds < 1e-3)
        snprintf(text, 32, "%.3g us", seconds * 1e6);
    else
        snprintf(text, 32, "%.3g ms", seconds * 1e3);
    return text;
}

static void explain_tuned(const tdmi_gemm *gemm, const tdmi_blas_choice *choice, char *text,
                          size_t size) {
    const tdmi_tuned *t = choice->tuned;
    const tdmi_gemm measured = {.dtype = gemm->dtype,
                                .m = t->product.m,
                                .n = t->product.n,
                                .k = t->product.k,
                                .batch = t->product.batch};
    char product[TDMI_PRODUCT_TEXT], time[32], usual[32], algorithm[48] = "", instead[96] = "";
    if (choice->algorithm > 0)
        snprintf(algorithm, sizeof algorithm, " with its algorithm %d", choice->algorithm);
    if (t->usual != t->provider || t->algorithm > 0)
        snprintf(instead, sizeof instead, "; %s, the usual choice, took %s",
                 tdmi_blas_name_of(t->usual), format_time(t->usual_seconds, usual));
    const bool same = t->product.m == gemm->m && t->product.n == gemm->n &&
                      t->product.k == gemm->k && t->product.batch == gemm->batch;
    snprintf(text, size, "%s%s, which was measured as the fastest for %s%s: %s%s",
             tdmi_blas_name(choice), algorithm, same ? "" : "the nearest product, ",
             tdmi_gemm_text(&measured, product), format_time(t->seconds, time), instead);
}

/* Why; of the builtin kernel what follows says more. */
static void explain(const tdmi_gemm *gemm, const tdmi_blas_choice *choice, char *text,
                    size_t size) {
    const char *name = tdmi_blas_name(choice);
    switch (choice->why) {
    case TDMI_WHY_TUNED:
        explain_tuned(gemm, choice, text, size);
        return;
    case TDMI_WHY_NAMED:
        snprintf(text, size, "%s, because TANDEM_BLAS is \"%s\"", name,
                 tdmi_env_values()->blas_text);
        return;
    case TDMI_WHY_TENSOR:
        snprintf(text, size, "%s, as the device's libraries have no tensor cores for it", name);
        return;
    case TDMI_WHY_PANELS:
        snprintf(text, size, "%s, as b is packed", name);
        return;
    case TDMI_WHY_TABLE:
        snprintf(text, size, "%s, which is usually the fastest for %s", name,
                 choice->provider ? "products of this size" : "so few rows or columns");
        return;
    case TDMI_WHY_FIRST:
        snprintf(text, size, "%s, the first of the device's libraries that has this product", name);
        return;
    case TDMI_WHY_LAST:
        snprintf(text, size, "%s, because no library of the device has this product", name);
        return;
    }
}

tdm_status tdm_matmul_explain(tdm_queue *queue, const tdm_matmul_options *options,
                              const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *c,
                              char *text, size_t size) {
    TDMI_UNCANCELLED();
    if (!text || size == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s", __func__,
                         text ? "size is 0" : "text is NULL");
    text[0] = '\0';
    tdmi_product p;
    TDMI_TRY(tdmi_describe_product(__func__, queue, options, a, b, c, &p));
    if (!tdmi_product_multiplies(&p)) {
        snprintf(text, size, "builtin, because nothing is multiplied");
        return TDM_OK;
    }
    tdmi_blas_choice choice;
    TDMI_TRY(choose(__func__, queue, &p, &choice));
    explain(&p.gemm, &choice, text, size);
    const size_t length = strlen(text);
    if (!choice.provider)
        snprintf(text + length, size - length, "%s", tdmi_tensor_text(queue->device, &p.gemm));
    return TDM_OK;
}
