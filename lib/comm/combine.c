/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elements of several ranks become one, by the functions that the cpu backend has for blocks. 16-bit floats are
 * added as f32 and rounded once; integers of fewer than 32 bits, and bools, are combined as i32, whose low bits are
 * kept. */
#include "comm.h"

#include "function_list.h"
#include "host/kernels.h"
#include "kernel_list.h"
#include "launch.h"

/* The type of function_list.h that a dtype is combined as, and the dtype that its blocks have. */
static uint8_t type_of(tdm_dtype dtype, tdm_dtype *as) {
    switch (dtype) {
    case TDM_F64:
        *as = TDM_F64;
        return TDM_TYPE_F64;
    case TDM_F32:
    case TDM_F16:
    case TDM_BF16:
        *as = TDM_F32;
        return TDM_TYPE_F32;
    case TDM_I64:
        *as = TDM_I64;
        return TDM_TYPE_I64;
    case TDM_U64:
        *as = TDM_U64;
        return TDM_TYPE_U64;
    case TDM_U32:
        *as = TDM_U32;
        return TDM_TYPE_U32;
    default:
        *as = TDM_I32;
        return TDM_TYPE_I32;
    }
}

static uint8_t function_of(tdm_comm_op op) {
    if (op == TDM_COMM_MAX) return TDM_FUNCTION_MAX;
    return op == TDM_COMM_MIN ? TDM_FUNCTION_MIN : TDM_FUNCTION_ADD;
}

static void convert(tdm_dtype to, void *y, tdm_dtype from, const void *x, uint32_t n) {
    if (tdm_dtype_is_float(to)) {
        tdmi_host_convert(1, n, (tdmi_host_matrix){from, x, n}, (tdmi_host_matrix){to, y, n});
        return;
    }
    const tdmi_variant variant = tdmi_cast_variant(to, from);
    const tdm_elementwise_args args = {
        .rows = 1, .inner_stride = {1, 1}, .cols = n, .chunk = n, .chunks = 1, .unit_stride = 1};
    void *const buffers[] = {y, (void *)(uintptr_t)x};
    (void)tdmi_cpu_run(&variant, buffers, &args); /* which needs no memory */
}

/* A block's worth of rows into `to`, the last step; scratch has three blocks. */
static void combine_block(tdm_dtype dtype, tdm_comm_op op, uint32_t n, size_t at,
                          const void *const *rows, int count, void *y, char *scratch) {
    tdm_dtype as;
    const uint8_t type = type_of(dtype, &as);
    const size_t size = tdm_dtype_size(dtype), block = (size_t)TDMI_COMBINE_BLOCK * 8;
    char *sum = scratch, *value = scratch + block, *divisor = scratch + 2 * block;
    const bool direct = as == dtype;
    const void *operands[2] = {NULL, NULL};
    for (int i = 0; i < count; i++) {
        const void *row = (const char *)rows[i] + at * size;
        if (!direct) {
            void *to = i == 0 ? sum : value;
            convert(as, to, dtype, row, n);
            row = to;
        }
        operands[i == 0 ? 0 : 1] = row;
        if (i == 0) continue;
        const bool last = i == count - 1 && direct && op != TDM_COMM_MEAN;
        void *to = last ? (char *)y + at * size : sum;
        tdmi_cpu_apply(function_of(op), type, to, operands, n);
        operands[0] = to;
    }
    if (op == TDM_COMM_MEAN) {
        operands[1] = divisor;
        void *to = direct ? (char *)y + at * size : sum;
        tdmi_cpu_apply(TDM_FUNCTION_DIV, type, to, operands, n);
        operands[0] = to;
    }
    char *result = (char *)y + at * size;
    if (!direct)
        convert(dtype, result, as, operands[0], n);
    else if (operands[0] != result)
        memmove(result, operands[0], n * size);
}

void tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                       int count, void *y, void *scratch) {
    if (op == TDM_COMM_MEAN)
        for (uint32_t i = 0; i < TDMI_COMBINE_BLOCK; i++) {
            char *divisor = (char *)scratch + (size_t)TDMI_COMBINE_BLOCK * 16;
            if (dtype == TDM_F64)
                ((double *)(void *)divisor)[i] = count;
            else
                ((float *)(void *)divisor)[i] = (float)count;
        }
    for (size_t at = 0; at < n; at += TDMI_COMBINE_BLOCK) {
        const size_t left = n - at;
        const uint32_t of_block = left < TDMI_COMBINE_BLOCK ? (uint32_t)left : TDMI_COMBINE_BLOCK;
        combine_block(dtype, op, of_block, at, rows, count, y, scratch);
    }
}
