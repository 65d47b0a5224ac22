/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the cpu backend: compiled with the library for several instruction sets, chosen once.
 */
#include <stdlib.h>

#include "args.h"
#include "cpu_backend.h"

typedef struct instruction_set {
    const char *name;
    bool (*present)(void);
    tdmi_cpu_table *kernels;
} instruction_set;

/* Whether the machine has what the kernels of a set use; a build may leave sets out. */
#if defined(__x86_64__)
__attribute__((unused)) static bool present_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

__attribute__((unused)) static bool present_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#endif

__attribute__((unused)) static bool present_baseline(void) { return true; }

/* Those that were built, the best first. */
static const instruction_set instruction_sets[] = {
#define X(isa) {#isa, present_##isa, &tdmi_cpu_kernels_##isa},
    TDMI_ISA_LIST
#undef X
};

static instruction_set best_instruction_set(void) {
    size_t i = 0;
    while (!instruction_sets[i].present())
        i++;
    return instruction_sets[i];
}

const char *tdmi_cpu_isa(void) { return best_instruction_set().name; }

enum {
#define KERNEL_NUMBER(ID, entry, buffers, args) KERNEL_##ID,
    TDM_KERNEL_LIST(KERNEL_NUMBER)
#undef KERNEL_NUMBER
};

tdmi_cpu_entry tdmi_cpu_copy_kernel(void) {
    return (*best_instruction_set().kernels)[KERNEL_CAST][TDM_U8];
}

tdm_status tdmi_cpu_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                  const tdmi_blob *binary, tdmi_bprogram *program,
                                  tdmi_blob *result) {
    (void)device;
    (void)binary;
    (void)result;
    tdmi_cpu_table *kernels = best_instruction_set().kernels;
    program->function = (*kernels)[source->variant.kernel][source->variant.t];
    program->variant = source->variant;
    program->buffers = source->buffers;
    if (!program->function)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "the cpu backend has no kernel %s for %s",
                         source->entry, tdm_dtype_name((tdm_dtype)source->variant.t));
    return TDM_OK;
}

void tdmi_cpu_program_deinit(tdmi_bprogram *program) { (void)program; }

static bool wants_scratch(const tdmi_variant *variant) {
    return variant->kernel == KERNEL_MATMUL || variant->kernel == KERNEL_MATMUL_NARROW;
}

/* A product's blocks are too large for a thread with a small stack. */
static tdm_status make_scratch(tdmi_bqueue *queue) {
    size_t size = (size_t)tdmi_worker_count() * TDMI_CPU_SCRATCH;
    queue->scratch = aligned_alloc(64, size);
    if (queue->scratch) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY,
                     "out of host memory for the %zu bytes of a product's "
                     "blocks",
                     size);
}

tdm_status tdmi_cpu_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel) {
    kernel->program = program;
    return wants_scratch(&program->variant) && !queue->scratch ? make_scratch(queue) : TDM_OK;
}

void tdmi_cpu_kernel_deinit(tdmi_bkernel *kernel) { (void)kernel; }

enum { MAX_BUFFERS = 8 };

typedef struct group_run {
    tdmi_cpu_entry function;
    tdm_group group;
    void *buffers[MAX_BUFFERS];
    const void *args;
    char *scratch;
} group_run;

static void run_group(void *context, uint32_t index) {
    const group_run *run = context;
    tdm_group group = run->group;
    group.index = index;
    if (run->scratch)
        group.scratch = run->scratch + (size_t)tdmi_worker_number() * TDMI_CPU_SCRATCH;
    run->function(&group, run->buffers, run->args);
}

/* Whether it rounds to bf16 by an instruction. */
static bool has_bf16(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

static tdm_group group_of(const tdmi_variant *variant, uint32_t count) {
    return (tdm_group){.count = count,
                       .op = variant->op,
                       .stream = variant->stream == TDMI_LARGE,
                       .ahead = variant->stream != TDMI_IN_CACHE,
                       .bf16 = has_bf16(),
                       .u = variant->u};
}

bool tdmi_cpu_run(const tdmi_variant *variant, void *const *buffers, const void *args) {
    tdm_group group = group_of(variant, 1);
    if (wants_scratch(variant)) {
        group.scratch = aligned_alloc(64, TDMI_CPU_SCRATCH);
        if (!group.scratch) return false;
    }
    (*best_instruction_set().kernels)[variant->kernel][variant->t](&group, buffers, args);
    free(group.scratch);
    return true;
}

tdm_status tdmi_cpu_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch) {
    const tdmi_bprogram *program = kernel->program;
    group_run run = {.function = program->function,
                     .group = group_of(&program->variant, launch->groups),
                     .args = launch->args,
                     .scratch = queue->scratch};
    for (int i = 0; i < program->buffers; i++)
        run.buffers[i] = launch->mems[i] ? launch->mems[i]->handle : NULL;
    if (launch->groups == 1)
        run_group(&run, 0);
    else
        tdmi_parallel(launch->groups, run_group, &run, TDMI_NEXT_LOOP);
    return TDM_OK;
}
