/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels that were compiled with the library for several instruction sets: which of them are used. */
#include "cpu_backend.h"

typedef struct instruction_set {
    const char *name;
    bool (*present)(void);
    tdmi_cpu_table *kernels;
    tdmi_cpu_row *applied;
    const tdmi_cpu_blocks *blocks;
    tdmi_cpu_functions *functions;
    tdmi_cpu_folds *folds;
    const tdmi_cpu_panels *panels;
} instruction_set;

/* Whether the machine has what the kernels of a set use; a build may leave sets out. */
#if defined(__x86_64__)
#include <cpuid.h>

/* Instructions that -march=x86-64-v3 has besides AVX2, and for which not all compilers have names: a virtual machine
 * may hide them. */
__attribute__((unused)) static bool has_level_3(void) {
    enum { LZCNT = 1 << 5 };
    unsigned a, b, c, d, a_more, b_more, c_more, d_more;
    return __get_cpuid(1, &a, &b, &c, &d) &&
           __get_cpuid(0x80000001, &a_more, &b_more, &c_more, &d_more) && (c & bit_F16C) != 0 &&
           (c & bit_MOVBE) != 0 && (c_more & LZCNT) != 0;
}

__attribute__((unused)) static bool present_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_level_3();
}

__attribute__((unused)) static bool present_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && present_avx2();
}
#endif

__attribute__((unused)) static bool present_baseline(void) { return true; }

/* Those that were built, the best first. */
static const instruction_set instruction_sets[] = {
#define X(isa)                                                                                     \
    {#isa,                                                                                         \
     present_##isa,                                                                                \
     &tdmi_cpu_kernels_##isa,                                                                      \
     &tdmi_cpu_applied_##isa,                                                                      \
     &tdmi_cpu_blocks_##isa,                                                                       \
     &tdmi_cpu_functions_##isa,                                                                    \
     &tdmi_cpu_folds_##isa,                                                                        \
     &tdmi_cpu_panels_##isa},
    TDMI_ISA_LIST
#undef X
};

static const instruction_set *best;

static void find_best(void) {
    best = instruction_sets;
    while (!best->present())
        best++;
}

/* Looked for once: a virtual machine takes microseconds for the processor's answer. */
static const instruction_set *best_instruction_set(void) {
    static tdmi_once once = TDMI_ONCE_INIT;
    tdmi_once_run(&once, find_best);
    return best;
}

const char *tdmi_cpu_isa(void) { return best_instruction_set()->name; }

tdmi_cpu_entry tdmi_cpu_kernel_of(uint8_t kernel, uint8_t t) {
    return (*best_instruction_set()->kernels)[kernel][t];
}

tdmi_cpu_entry tdmi_cpu_cast_kernel(tdm_dtype to) {
    return tdmi_cpu_kernel_of(TDMI_KERNEL_CAST, (uint8_t)to);
}

tdmi_cpu_entry tdmi_cpu_applied_kernel(uint8_t t) { return (*best_instruction_set()->applied)[t]; }

const tdmi_cpu_blocks *tdmi_cpu_block_ends(void) { return best_instruction_set()->blocks; }

tdmi_cpu_functions *tdmi_cpu_block_functions(void) { return best_instruction_set()->functions; }

tdmi_cpu_function *tdmi_cpu_function_of(uint8_t function, uint8_t type) {
    return (*tdmi_cpu_block_functions())[function][type];
}

tdmi_cpu_fold *tdmi_cpu_fold_of(uint8_t function, uint8_t type) {
    return (*best_instruction_set()->folds)[function][type];
}

const tdmi_cpu_panels *tdmi_cpu_panel_strips(void) { return best_instruction_set()->panels; }

bool tdmi_cpu_has_bf16(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool tdmi_cpu_is_wide(uint8_t type) {
    return type == TDM_TYPE_I64 || type == TDM_TYPE_U64 || type == TDM_TYPE_F64;
}
