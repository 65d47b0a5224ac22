/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of expressions for blocks of elements, and blocks combined into one value, for kernels over rows.
 * Compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* after numeric.h */
#include "activation.h"
#include "convert.h"
#include "elementary.h"
/* after these */
#include "functions.h"

/* name(type): what it gives, from the type of its operands */
#define RESULT_SAME(type) tdm_element_##type
#define RESULT_BOOL(type) tdm_i32
#define RESULT_I32(type) tdm_i32
#define RESULT_U32(type) tdm_u32
#define RESULT_I64(type) tdm_i64
#define RESULT_U64(type) tdm_u64
#define RESULT_F32(type) float
#define RESULT_F64(type) double

/* The loop of a function, by the number of its operands; where's first is a bool. */
#define BLOCK(name, type, RESULT, call)                                                            \
    static void name##_##type(void *y, const void *const *operands, uint32_t n) {                  \
        RESULT(type) *const to = y;                                                                \
        const tdm_element_##type *const a = operands[0], *const b = operands[1],                   \
                                        *const c = operands[2];                                    \
        (void)a, (void)b, (void)c;                                                                 \
        TDM_SIMD for (uint32_t j = 0; j < n; j++) to[j] = call;                                    \
    }
#define BLOCK_1(name, type, RESULT) BLOCK(name, type, RESULT, tdm_fn_##name##_##type(a[j]))
#define BLOCK_2(name, type, RESULT) BLOCK(name, type, RESULT, tdm_fn_##name##_##type(a[j], b[j]))
#define BLOCK_3(name, type, RESULT)                                                                \
    BLOCK(name, type, RESULT, tdm_fn_##name##_##type(FIRST_##name, b[j], c[j]))
#define FIRST_fma a[j]
#define FIRST_mul_add a[j]
#define FIRST_mul_sub a[j]
#define FIRST_sub_mul a[j]
#define FIRST_where ((const tdm_i32 *)operands[0])[j]

#define BLOCKS(NAME, name, arity, class, result) TDM_TYPES_##class(BLOCKS_##arity##_##result, name)
#define BLOCKS_1_SAME(name, type) BLOCK_1(name, type, RESULT_SAME)
#define BLOCKS_1_BOOL(name, type) BLOCK_1(name, type, RESULT_BOOL)
#define BLOCKS_1_I32(name, type) BLOCK_1(name, type, RESULT_I32)
#define BLOCKS_1_U32(name, type) BLOCK_1(name, type, RESULT_U32)
#define BLOCKS_1_I64(name, type) BLOCK_1(name, type, RESULT_I64)
#define BLOCKS_1_U64(name, type) BLOCK_1(name, type, RESULT_U64)
#define BLOCKS_1_F32(name, type) BLOCK_1(name, type, RESULT_F32)
#define BLOCKS_1_F64(name, type) BLOCK_1(name, type, RESULT_F64)
#define BLOCKS_2_SAME(name, type) BLOCK_2(name, type, RESULT_SAME)
#define BLOCKS_2_BOOL(name, type) BLOCK_2(name, type, RESULT_BOOL)
#define BLOCKS_3_SAME(name, type) BLOCK_3(name, type, RESULT_SAME)

/* Where a block has far angles, one call for each element: a loop would compute both reductions, and be large. */
#define ONE_BY_ONE(name)                                                                           \
    APART float name##_of_any(float x) { return tdm_fn_##name##_f32(x); }
ONE_BY_ONE(sin)
ONE_BY_ONE(cos)
ONE_BY_ONE(tan)
#define tdm_fn_sin_f32 sin_of_any
#define tdm_fn_cos_f32 cos_of_any
#define tdm_fn_tan_f32 tan_of_any
#define sin_f32 any_sin_f32
#define cos_f32 any_cos_f32
#define tan_f32 any_tan_f32
TDM_FUNCTION_LIST(BLOCKS)
#undef sin_f32
#undef cos_f32
#undef tan_f32

/* Most blocks have no far angles, and are vectorised. */
static tdm_i32 are_near(const float *x, uint32_t n) {
    tdm_i32 far = 0;
    TDM_SIMD for (uint32_t j = 0; j < n; j++) far |= tdm_abs_f32(x[j]) > TDM_NEAR;
    return !far;
}

#define TURNING(name)                                                                              \
    BLOCK(near_##name, f32, RESULT_SAME, tdm_near_##name##_f32(a[j]))                              \
    static void name##_f32(void *y, const void *const *operands, uint32_t n) {                     \
        (are_near(operands[0], n) ? near_##name##_f32 : any_##name##_f32)(y, operands, n);         \
    }
TURNING(sin)
TURNING(cos)
TURNING(tan)

#define PLACE_truth TDM_TYPE_BOOL
#define PLACE_i32 TDM_TYPE_I32
#define PLACE_u32 TDM_TYPE_U32
#define PLACE_i64 TDM_TYPE_I64
#define PLACE_u64 TDM_TYPE_U64
#define PLACE_f32 TDM_TYPE_F32
#define PLACE_f64 TDM_TYPE_F64
#define SLOT(name, type) [PLACE_##type] = name##_##type,
#define ROW(NAME, name, arity, class, result) {TDM_TYPES_##class(SLOT, name)},
tdmi_cpu_functions TDM_CAT(tdmi_cpu_functions_, TDMI_ISA) = {TDM_FUNCTION_LIST(ROW)};

/* ---- folds ---- */

/* As many parts as reduce.h has: two of the widest registers, so that one operation need not wait for another. */
#define PARTS(V) (128 / (tdm_i32)sizeof(V))

#define FOLD(name, type)                                                                           \
    static void fold_##name##_##type(void *y, const void *values, uint32_t count) {                \
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

#define FOLD_SLOT(name, type) [PLACE_##type] = fold_##name##_##type,
tdmi_cpu_folds TDM_CAT(tdmi_cpu_folds_,
                       TDMI_ISA) = {[TDM_FUNCTION_ADD] = {TDM_TYPES_NUMBER(FOLD_SLOT, add)},
                                    [TDM_FUNCTION_MUL] = {TDM_TYPES_NUMBER(FOLD_SLOT, mul)},
                                    [TDM_FUNCTION_MIN] = {TDM_TYPES_NUMBER(FOLD_SLOT, min)},
                                    [TDM_FUNCTION_MAX] = {TDM_TYPES_NUMBER(FOLD_SLOT, max)}};
