/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in C: how a kernel is called. */
#ifndef TDMI_DIALECT_C_GROUP_H
#define TDMI_DIALECT_C_GROUP_H

#include <stdint.h>

/* One group of a launch: group `index` of `count`, with the run-time parts of its variant. */
typedef struct tdm_group {
    uint32_t index, count;
    uint32_t op;        /* the variant's op, in range for the kernel */
    uint32_t stream;    /* 1: streaming stores for the outputs; rows of a cache line at least */
    uint32_t ahead;     /* 1: the data is larger than the cache: fetched ahead */
    uint32_t bf16;      /* 1: the processor has AVX512_BF16 */
    uint32_t u;         /* the variant's u, a tdm_dtype */
    void *scratch;      /* TDMI_CPU_SCRATCH bytes of this thread's, 64-byte aligned; NULL where the
                      * kernel has no SCRATCH_ARRAY */
    const void *bytecode; /* of a user's kernel: its tdmi_bytecode, which interpreter.c runs */
} tdm_group;
enum { TDMI_CPU_SCRATCH = 308 << 10 };

/* Runs one group. `buffers` are the kernel's buffers in order (NULL where the op has none), `args`
 * its argument struct. Groups may run in any order and in parallel. */
typedef void tdmi_cpu_kernel(const tdm_group *group, void *const *buffers, const void *args);
typedef tdmi_cpu_kernel *tdmi_cpu_entry;

#endif
