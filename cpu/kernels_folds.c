/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Blocks of values combined into one, for users' kernels over rows. Compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* after numeric.h */
#include "activation.h"
#include "convert.h"
#include "elementary.h"
/* after these */
#include "functions.h"

/* As many parts as reduce.h has: two of the widest registers, so that one operation need not wait for another. */
#define PARTS(V) (128 / (tdm_i32)sizeof(V))

#define FOLD(name, type)                                                                           \
    static void name##_##type(void *y, const void *values, uint32_t count) {                       \
        enum { N = PARTS(tdm_element_##type) };                                                    \
        const tdm_element_##type *const a = values;                                                \
        const tdm_i32 n = (tdm_i32)count;                                                          \
        PRIVATE_ARRAY(tdm_element_##type, parts, N);                                               \
        tdm_element_##type all = a[0];                                                             \
        tdm_i32 from = 1;                                                                          \
        if (n >= N) {                                                                              \
            TDM_SIMD for (tdm_i32 k = 0; k < N; k++) parts[k] = a[k];                              \
            for (from = N; from <= n - N; from += N)                                               \
                TDM_SIMD for (tdm_i32 k = 0; k < N; k++) parts[k] =                                \
                    tdm_fn_##name##_##type(parts[k], a[from + k]);                                 \
            TDM_SIMD for (tdm_i32 k = 0; k < N / 2; k++) parts[k] =                                \
                tdm_fn_##name##_##type(parts[k], parts[k + N / 2]);                                \
            TDM_SIMD for (tdm_i32 k = 0; k < N / 4; k++) parts[k] =                                \
                tdm_fn_##name##_##type(parts[k], parts[k + N / 4]);                                \
            all = parts[0];                                                                        \
            UNROLL for (tdm_i32 k = 1; k < N / 4; k++) all =                                       \
                tdm_fn_##name##_##type(all, parts[k]);                                             \
        }                                                                                          \
        for (; from < n; from++)                                                                   \
            all = tdm_fn_##name##_##type(all, a[from]);                                            \
        *(tdm_element_##type *)y = all;                                                            \
    }
TDM_TYPES_NUMBER(FOLD, add)
TDM_TYPES_NUMBER(FOLD, mul)
TDM_TYPES_NUMBER(FOLD, max)
TDM_TYPES_NUMBER(FOLD, min)

#define PLACE_i32 TDM_TYPE_I32
#define PLACE_u32 TDM_TYPE_U32
#define PLACE_i64 TDM_TYPE_I64
#define PLACE_u64 TDM_TYPE_U64
#define PLACE_f32 TDM_TYPE_F32
#define PLACE_f64 TDM_TYPE_F64
#define SLOT(name, type) [PLACE_##type] = name##_##type,
tdmi_cpu_folds TDM_CAT(tdmi_cpu_folds_,
                       TDMI_ISA) = {[TDM_FUNCTION_ADD] = {TDM_TYPES_NUMBER(SLOT, add)},
                                    [TDM_FUNCTION_MUL] = {TDM_TYPES_NUMBER(SLOT, mul)},
                                    [TDM_FUNCTION_MIN] = {TDM_TYPES_NUMBER(SLOT, min)},
                                    [TDM_FUNCTION_MAX] = {TDM_TYPES_NUMBER(SLOT, max)}};
