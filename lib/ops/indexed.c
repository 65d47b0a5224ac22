/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The common part of operations that find rows by indices. */
#include "indexed.h"

tdm_status tdmi_run_of(const char *function, const char *name, const tdm_tensor *tensor, int from,
                       int to, tdmi_run *run) {
    *run = (tdmi_run){1, 0};
    if (tdmi_collapse(tensor, from, to, &run->count, &run->stride) < 0) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: dimensions %d to %d of %s have no common stride; tdm_cast copies it into "
                     "a contiguous tensor",
                     function, from, to - 1, name);
}

tdm_status tdmi_elements_of(const char *function, const char *name, const tdm_tensor *tensor,
                            int from, int64_t *count) {
    tdmi_run run;
    TDMI_TRY(tdmi_run_of(function, name, tensor, from, tensor->ndim, &run));
    if (run.count > 1 && run.stride != 1)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the elements of a row of %s have stride %lld, it must be 1; tdm_cast "
                         "copies it into a contiguous tensor",
                         function, name, (long long)run.stride);
    if (run.count > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: a row of %s has %lld elements, allowed are fewer than 2^31", function,
                         name, (long long)run.count);
    *count = run.count;
    return TDM_OK;
}

tdm_status tdmi_check_indices(const char *function, const char *name, const tdm_tensor *indices) {
    if (indices->dtype == TDM_I32 || indices->dtype == TDM_I64) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of %s is %s, it must be i32 or i64",
                     function, name, tdm_dtype_name(indices->dtype));
}

tdm_status tdmi_check_joined_shape(const char *function, const char *name, const tdm_tensor *tensor,
                                   const tdm_tensor *a, const tdm_tensor *b, int b_from) {
    const int rest = b ? b->ndim - b_from : 0;
    tdm_tensor wanted = {.ndim = a->ndim + rest};
    if (wanted.ndim > TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: %s has %d dimensions, allowed are 1 to %d",
                         function, name, wanted.ndim, TDM_MAX_DIMS);
    for (int i = 0; i < wanted.ndim; i++)
        wanted.shape[i] = i < a->ndim ? a->shape[i] : b->shape[b_from + i - a->ndim];
    return tdmi_check_wanted_shape(function, name, tensor, &wanted);
}
