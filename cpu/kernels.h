/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels compiled in C: one table of entries per instruction set.
 *
 * kernels*.c and what cmake/KernelUnits.cmake makes are compiled once per instruction set with -DTDMI_ISA=<isa> and,
 * besides the project's own flags, always
 *   -O3 -fno-fast-math -ffp-contract=fast -fno-math-errno -fno-trapping-math -fopenmp-simd
 * with gcc -fno-thread-jumps -fno-split-paths as well: else it follows each clamp's two outcomes
 * to the end of the loop's body, and merges them under masks
 * and for the instruction set
 *   baseline  -march=x86-64 on x86-64, nothing elsewhere (elsewhere it is the only one)
 *   avx2      -march=x86-64-v3
 *   avx512    -march=x86-64-v4 -mprefer-vector-width=512
 * The conversions and the exponential function rely on IEEE order. */
#ifndef TDMI_CPU_KERNELS_H
#define TDMI_CPU_KERNELS_H

#ifdef __FAST_MATH__
#error "the kernels are wrong with fast-math options"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tensor.h>

#include "dialect_c_group.h"
#include "function_list.h"
#include "manifest.h"

/* [tdmi_kernel_id][T as a tdm_dtype]; NULL where there is no such kernel.
 * Only those that the build compiles are defined. */
typedef const tdmi_cpu_entry tdmi_cpu_table[TDMI_KERNEL_COUNT][TDM_DTYPE_COUNT];
extern tdmi_cpu_table tdmi_cpu_kernels_baseline, tdmi_cpu_kernels_avx2, tdmi_cpu_kernels_avx512;

/* X(NAME, name, arity): the functions of function_list.h that are also applied to whole rows of each float dtype, by
 * their number here: those that a compiler vectorises. */
#define TDMI_APPLIED_LIST(X)                                                                       \
    X(DIV, div, 2)                                                                                 \
    X(MIN, min, 2)                                                                                 \
    X(MAX, max, 2)                                                                                 \
    X(NEG, neg, 1)                                                                                 \
    X(ABS, abs, 1)                                                                                 \
    X(SIGN, sign, 1)                                                                               \
    X(RELU, relu, 1)                                                                               \
    X(SQRT, sqrt, 1)                                                                               \
    X(RSQRT, rsqrt, 1)                                                                             \
    X(EXP, exp, 1)                                                                                 \
    X(LOG, log, 1)                                                                                 \
    X(TANH, tanh, 1)                                                                               \
    X(GELU, gelu, 1)                                                                               \
    X(GELU_TANH, gelu_tanh, 1)                                                                     \
    X(SILU, silu, 1)                                                                               \
    X(SIGMOID, sigmoid, 1)
#define TDMI_APPLIED_NUMBER(NAME, name, arity) TDMI_APPLIED_##NAME,
enum { TDMI_APPLIED_LIST(TDMI_APPLIED_NUMBER) TDMI_APPLIED_COUNT };
typedef const tdmi_cpu_entry tdmi_cpu_row[TDM_DTYPE_COUNT];
extern tdmi_cpu_row tdmi_cpu_applied_baseline, tdmi_cpu_applied_avx2, tdmi_cpu_applied_avx512;

/* A function of function_list.h for n elements, whose operands each lie in a separate block or where y does.
 * [function][TDM_TYPE_… of the operands]; NULL where there is no such function. */
typedef void tdmi_cpu_function(void *y, const void *const *operands, uint32_t n);
typedef tdmi_cpu_function *const tdmi_cpu_functions[TDM_FUNCTION_COUNT][TDM_TYPE_COUNT];
extern tdmi_cpu_functions tdmi_cpu_functions_baseline, tdmi_cpu_functions_avx2,
    tdmi_cpu_functions_avx512;

/* Elements that lie side by side, in memory and in a block that begins on a cache line and has room for whole lines of
 * them. load and store: of 16-bit floats, by dtype, which are f32 in a block; others have none. copy: `bytes` as they
 * are. stream: past the cache, where the row begins on a line, too; fence orders these with what comes after. bf16:
 * the processor has AVX512_BF16. */
typedef void tdmi_cpu_block_load(float *block, const void *row, uint32_t n);
typedef void tdmi_cpu_block_store(void *row, const float *block, uint32_t n, bool stream,
                                  bool bf16);
typedef struct tdmi_cpu_blocks {
    tdmi_cpu_block_load *load[TDM_DTYPE_COUNT];
    tdmi_cpu_block_store *store[TDM_DTYPE_COUNT];
    void (*copy)(void *row, const void *block, size_t bytes, bool stream);
    void (*fence)(void);
} tdmi_cpu_blocks;
extern const tdmi_cpu_blocks tdmi_cpu_blocks_baseline, tdmi_cpu_blocks_avx2, tdmi_cpu_blocks_avx512;

/* n values, one at least, combined by a function: ADD, MUL, MIN or MAX of numbers. */
typedef void tdmi_cpu_fold(void *y, const void *values, uint32_t n);
typedef tdmi_cpu_fold *const tdmi_cpu_folds[TDM_FUNCTION_MAX + 1][TDM_TYPE_COUNT];
extern tdmi_cpu_folds tdmi_cpu_folds_baseline, tdmi_cpu_folds_avx2, tdmi_cpu_folds_avx512;

/* Rows by a panel of weights, `cols` of its columns (kernels_panels.c): a of m rows of k, c = alpha · a · panel +
 * beta · c + bias, of elements of a and c; bias may be NULL. */
typedef struct tdmi_cpu_strip {
    int64_t m, k, lda, ldc;
    const void *a, *panel, *bias;
    void *c;
    float alpha, beta;
    uint32_t cols;
} tdmi_cpu_strip;

/* Columns of a panel; rows of a whole tile; and the strips of f32, and of bf16 for processors with AVX512_BF16 or
 * NULL. */
typedef struct tdmi_cpu_panels {
    uint32_t cols, rows;
    void (*f32)(const tdmi_cpu_strip *strip);
    void (*bf16)(const tdmi_cpu_strip *strip);
} tdmi_cpu_panels;
extern const tdmi_cpu_panels tdmi_cpu_panels_baseline, tdmi_cpu_panels_avx2, tdmi_cpu_panels_avx512;

#endif
