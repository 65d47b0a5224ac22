/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs, kernels and launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "cpu_backend.h"
#include "host/compiler.h"
#include "platform/library.h"
#include "platform/memory.h"
#include "system_names.h"

/* ---- users' kernels, by the machine's compiler ---- */

/* Named one by one: what a compiler calls a level of instructions, older ones do not know. */
#define AVX2 "-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c", "-mno-mmx"
static const struct {
    const char *isa, *options[16];
} instructions[] = {{"avx512",
                     {AVX2, "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl",
                      "-mprefer-vector-width=512"}},
                    {"avx2", {AVX2}},
                    {"baseline", {NULL}}};

/* The last ones are for compilers whose code would crash with others. */
static const char *compiler_isa(void) {
    return tdmi_host_compiler_aligns() ? tdmi_cpu_isa() : "baseline";
}

static const char *const *compiler_options(void) {
    size_t i = 0;
    while (strcmp(instructions[i].isa, compiler_isa()) != 0)
        i++;
    return instructions[i].options;
}

const char *tdmi_cpu_compiler(void) {
    static _Thread_local char text[1300]; /* made at each call: any thread may be the first */
    const char *found = tdmi_host_compiler();
    snprintf(
        text, sizeof text, "%s|%s|%016llx", found, compiler_isa(),
        (unsigned long long)tdmi_hash(TDMI_HASH_START, tdmi_dialect_c, strlen(tdmi_dialect_c)));
    return found[0] ? text : "";
}

enum { ENTRY = 192 };

/* As dialect_c.h names it. */
static void name_entry(const tdmi_program_source *source, char entry[ENTRY]) {
    snprintf(entry, ENTRY, "tdmi_%s_%d_%d_own", source->entry + strlen("tdm_"),
             (int)source->variant.t, (int)source->variant.u);
}

static tdm_status compile(const tdmi_program_source *source, tdmi_blob *library) {
    static const char begin[] =
        "#define TDM_ONE_TEXT 1\n#define TDM_USER_KERNEL 1\n#define TDMI_ISA own\n";
    char entry[ENTRY];
    name_entry(source, entry);
    const size_t size = sizeof begin + strlen(tdmi_dialect_c) + strlen(source->text) + 512;
    char *text = tdmi_malloc(size);
    if (!text) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%zu bytes of kernel source", size);
    snprintf(text, size,
             "%s#define T_ID %d\n#define U_ID %d\n%s\n" TDMI_COMPILER_EXPORT
             "void %s(const tdm_group *, void *const *, const void *);\n%s",
             begin, (int)source->variant.t, (int)source->variant.u, tdmi_dialect_c, entry,
             source->text);
    const tdm_status status = tdmi_host_compile(text, source->file, compiler_options(), library);
    tdmi_free(text);
    return status;
}

static tdm_status load(const tdmi_program_source *source, const tdmi_blob *library,
                       tdmi_bprogram *program) {
    char entry[ENTRY];
    name_entry(source, entry);
    TDMI_TRY(tdmi_host_load(library, source->file, &program->library));
    void *function = tdmi_library_symbol(program->library, entry);
    memcpy(&program->function, &function, sizeof function);
    if (function) return TDM_OK;
    tdmi_host_unload(program->library);
    program->library = NULL;
    return tdmi_fail(TDM_ERROR_COMPILE, "%s: what the C compiler made has no %s", source->file,
                     entry);
}

static tdm_status build_own(const tdmi_program_source *source, const tdmi_blob *binary,
                            tdmi_bprogram *program, tdmi_blob *result) {
    if (binary) return load(source, binary, program);
    tdmi_blob library;
    TDMI_TRY(compile(source, &library));
    const tdm_status status = load(source, &library, program);
    if (status == TDM_OK && result)
        *result = library;
    else
        tdmi_free(library.data);
    return status;
}

/* An expression has been checked before: when it does not compile, that is the machine's fault, and the interpreter
 * runs it. The choice stays as long as the program, so the same call gives the same bits. */
static tdm_status build_expression(const tdmi_program_source *source, const tdmi_blob *binary,
                                   tdmi_bprogram *program, tdmi_blob *result) {
    if (tdmi_cpu_compiler()[0] && !source->is_interpreted) {
        const tdm_status status = build_own(source, binary, program, result);
        if (status == TDM_OK || status == TDM_ERROR_OUT_OF_MEMORY) return status;
        if (binary && status == TDM_ERROR_COMPILE) return status; /* the core compiles it again */
        tdmi_log(TDM_LOG_WARNING, "an expression runs in blocks, as it was not compiled: %s",
                 tdm_last_error());
    }
    program->bytecode = source->bytecode;
    program->function = tdmi_cpu_interpret;
    return TDM_OK;
}

/* ---- programs ---- */

tdm_status tdmi_cpu_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                  const tdmi_blob *binary, tdmi_bprogram *program,
                                  tdmi_blob *result) {
    (void)device;
    program->variant = source->variant;
    program->buffers = source->buffers;
    if (source->bytecode) return build_expression(source, binary, program, result);
    if (source->variant.user) return build_own(source, binary, program, result);
    program->function = tdmi_cpu_kernel_of(source->variant.kernel, source->variant.t);
    if (!program->function)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "the cpu backend has no kernel %s for %s",
                         source->entry, tdm_dtype_name((tdm_dtype)source->variant.t));
    return TDM_OK;
}

void tdmi_cpu_program_deinit(tdmi_bprogram *program) {
    if (program->library) tdmi_host_unload(program->library);
}

static bool wants_scratch(const tdmi_variant *variant) {
    return variant->kernel < TDMI_KERNEL_COUNT &&
           tdm_has_op(tdm_kernel_entries[variant->kernel].scratch, variant->op);
}

/* A product's blocks are too large for a thread with a small stack. */
static tdm_status make_scratch(tdmi_bqueue *queue) {
    size_t size = (size_t)tdmi_worker_count() * TDMI_CPU_SCRATCH;
    queue->scratch = tdmi_aligned_alloc(64, size);
    if (queue->scratch) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY,
                     "out of host memory for the %zu bytes of a product's "
                     "blocks",
                     size);
}

tdm_status tdmi_cpu_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel) {
    kernel->program = program;
    const bool wants = program->bytecode || wants_scratch(&program->variant);
    return wants && !queue->scratch ? make_scratch(queue) : TDM_OK;
}

void tdmi_cpu_kernel_deinit(tdmi_bkernel *kernel) { (void)kernel; }

enum { MAX_BUFFERS = 12 };

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

static tdm_group group_of(const tdmi_variant *variant, uint8_t stream, uint32_t count) {
    return (tdm_group){.count = count,
                       .op = variant->op,
                       .stream = stream == TDMI_LARGE,
                       .ahead = stream != TDMI_IN_CACHE,
                       .bf16 = tdmi_cpu_has_bf16(),
                       .u = variant->u};
}

bool tdmi_cpu_run(const tdmi_variant *variant, uint32_t groups, void *const *buffers,
                  const void *args) {
    group_run run = {.function = tdmi_cpu_kernel_of(variant->kernel, variant->t),
                     .group = group_of(variant, variant->stream, groups),
                     .args = args};
    size_t room = 0;
    memcpy(run.buffers, buffers,
           (size_t)tdm_kernel_entries[variant->kernel].buffers * sizeof *buffers);
    if (wants_scratch(variant)) {
        const int threads = groups > 1 ? tdmi_worker_count() : 1;
        run.scratch = tdmi_host_scratch_take((size_t)threads * TDMI_CPU_SCRATCH, &room);
        if (!run.scratch) return false;
    }
    if (groups == 1) {
        run.group.scratch = run.scratch;
        run.function(&run.group, run.buffers, args);
    } else {
        tdmi_parallel(groups, run_group, &run, TDMI_NEXT_OTHERS);
    }
    if (run.scratch) tdmi_host_scratch_give(run.scratch, room);
    return true;
}

tdm_status tdmi_cpu_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch) {
    const tdmi_bprogram *program = kernel->program;
    group_run run = {.function = program->function,
                     .group = group_of(&program->variant, launch->stream, launch->groups),
                     .args = launch->args,
                     .scratch = queue->scratch};
    run.group.bytecode = program->bytecode;
    for (int i = 0; i < program->buffers; i++)
        run.buffers[i] = launch->mems[i] ? launch->mems[i]->handle : NULL;
    if (launch->groups == 1)
        run_group(&run, 0);
    else
        tdmi_parallel(launch->groups, run_group, &run, TDMI_NEXT_LOOP);
    return TDM_OK;
}
