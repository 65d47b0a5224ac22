/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* softmax of scores, whose mask may be of truth values. */
#include "base/sized.h"
#include "softmax.h"
#include "temporary.h"
#include "user_kernels/kernel.h"

TDMI_SIZED(tdm_softmax_options, TDM_SOFTMAX_OPTIONS_DEFAULTS, causal)

/* The summands of a mask of truth values, their logarithms: 0 where an element counts, else -Inf. */
static tdm_status mask_of_truths(const char *function, tdm_queue *queue, const tdm_tensor *mask,
                                 tdm_dtype dtype, tdm_tensor *added) {
    TDMI_TRY(tdmi_temporary(queue, dtype, mask->ndim, mask->shape, added));
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", mask), TDM_WITH_TENSOR("y", added)};
    const tdm_status status = tdmi_call_texts(function, queue, TDM_FUNCTION_LOG,
                                              &(tdmi_texts){.statements = "y = log(x)"}, arguments,
                                              2, 0, TDM_PARAMETER_TENSOR);
    if (status != TDM_OK) tdm_tensor_release(added);
    return status;
}

tdm_status tdm_softmax_scaled(tdm_queue *queue, const tdm_softmax_options *options,
                              const tdm_tensor *x, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    tdm_softmax_options o = tdm_softmax_options_defaults;
    if (options)
        TDMI_TRY(tdmi_sized_read(__func__, "options", &tdm_softmax_options_sized, options, &o));
    if (!o.mask || o.mask->dtype != TDM_BOOL) return tdmi_softmax(__func__, queue, 0, &o, x, y);
    const tdmi_arg args[] = {{"x", x, 0, 0},
                             {"mask", o.mask, TDMI_ARG_ANY_DTYPE, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 1u << 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    const tdm_tensor *const mask = o.mask;
    tdm_tensor added = tdmi_tensor_contiguous(mask->buffer, mask->dtype, mask->ndim, mask->shape);
    o.mask = &added;
    TDMI_TRY(tdmi_check_softmax(__func__, &o, x, y));
    TDMI_TRY(mask_of_truths(__func__, queue, mask, x->dtype, &added));
    const tdm_status status = tdmi_softmax(__func__, queue, 0, &o, x, y);
    tdm_tensor_release(&added);
    return status;
}
