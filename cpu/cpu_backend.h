/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend: host memory, the calling thread and the worker threads. Synchronous. */
#ifndef TDMI_CPU_BACKEND_H
#define TDMI_CPU_BACKEND_H

#include <stdatomic.h>

#include "backend.h"

#include "kernels.h"

extern const tdmi_backend tdmi_backend_cpu;

struct tdmi_bdevice {
    size_t index;
};

struct tdmi_bqueue {
    tdmi_bdevice *device;
    char *scratch; /* TDMI_CPU_SCRATCH bytes for each worker; NULL until a kernel needs it */
};

struct tdmi_bevent {
    /* CLOCK_MONOTONIC when it was recorded: all work before it was done */
    atomic_int_least64_t nanoseconds;
};

struct tdmi_bprogram {
    tdmi_cpu_entry function;
    tdmi_variant variant;
    const tdmi_bytecode *bytecode; /* NULL but for a user's expression */
    void *library;                 /* NULL but for a user's kernel that was compiled */
    int buffers;
};

struct tdmi_bkernel {
    const tdmi_bprogram *program;
};

/* queue.c: the rest that a queue does when its work is done. */
tdm_status tdmi_cpu_queue_nothing(tdmi_bqueue *queue);

/* The dialect in C, as the build embedded it. */
extern const char tdmi_dialect_c[];

/* isa.c: the kernels of the best instruction set that the processor has. */
tdmi_cpu_entry tdmi_cpu_kernel_of(uint8_t kernel, uint8_t t);

/* The kernels that cast to a dtype, by the group's u; those that apply functions to rows of a float dtype, by its op
 * (kernels_apply.h); how blocks come and go; the functions of expressions for blocks, and one of them on a type; how
 * values are combined; whether a type's values have 8 bytes. */
tdmi_cpu_entry tdmi_cpu_cast_kernel(tdm_dtype to);
tdmi_cpu_entry tdmi_cpu_applied_kernel(uint8_t t);
const tdmi_cpu_blocks *tdmi_cpu_block_ends(void);
tdmi_cpu_functions *tdmi_cpu_block_functions(void);
tdmi_cpu_function *tdmi_cpu_function_of(uint8_t function, uint8_t type);
tdmi_cpu_fold *tdmi_cpu_fold_of(uint8_t function, uint8_t type);
bool tdmi_cpu_is_wide(uint8_t type);

/* The strips of panels; whether the processor has AVX512_BF16. */
const tdmi_cpu_panels *tdmi_cpu_panel_strips(void);
bool tdmi_cpu_has_bf16(void);

/* interpreter.c: a group of a user's kernel. */
void tdmi_cpu_interpret(const tdm_group *group, void *const *buffers, const void *args);

/* The name of the instruction set whose kernels are used: "baseline", "avx2" or "avx512". */
const char *tdmi_cpu_isa(void);

/* blas_host.c. NULL-terminated. */
extern const tdmi_blas *const tdmi_cpu_blas[];

/* The functions of the table. */
#define TDMI_CPU_TABLE(X, b) X(b, mem_disown) X(b, copy_peer) X(b, map) X(b, unmap) X(b, compiler)
TDMI_BACKEND_TABLE(TDMI_BACKEND_DECLARE, tdmi_cpu)
TDMI_CPU_TABLE(TDMI_BACKEND_DECLARE, tdmi_cpu)

#endif
