/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libcuda: modules and launches. A launch runs the kernel that was compiled as
 * C from the same source, for the types and options that the stand-in for NVRTC found in its image.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "kernels.h"
#include "own_kernel.h"
#include "raw_kernel.h"
#include "threads.h"

enum { MAX_BUFFERS = 12, MAX_ARGS = 1024 };

typedef struct simulated_module {
    sim_object object;
    CUcontext context;
    sim_image image;
    own_kernel own; /* of image.own */
    sim_text text;  /* likewise, of a shared object */
    struct simulated_kernel *kernels[SIM_MAX_ENTRIES];
} simulated_module;

typedef struct simulated_kernel {
    sim_object object;
    simulated_module *module;
    int number; /* in tdm_kernel_entries; OWN: the module's own; TEXT: of its shared object */
    const raw_kernel *raw; /* instead of these; or NULL */
    sim_text text;         /* of TEXT */
    const char *name;
} simulated_kernel;

enum { OWN = TDMI_KERNEL_COUNT, TEXT };

static int buffers_of(const simulated_kernel *kernel) {
    return kernel->raw              ? kernel->raw->buffers
           : kernel->number == TEXT ? kernel->text.kernel->buffers
           : kernel->number == OWN  ? kernel->module->own.buffers
                                    : tdm_kernel_entries[kernel->number].buffers;
}

static size_t args_size_of(const simulated_kernel *kernel) {
    return kernel->raw              ? kernel->raw->args_size
           : kernel->number == TEXT ? kernel->text.kernel->args_size
           : kernel->number == OWN  ? kernel->module->own.args_size
                                    : tdm_kernel_entries[kernel->number].args_size;
}

static tdmi_cpu_entry entry_of(const simulated_kernel *kernel) {
    return kernel->raw ? kernel->raw->entry
           : kernel->number == OWN
               ? kernel->module->own.entry
               : tdmi_cpu_kernels_baseline[kernel->number][kernel->module->image.t];
}

/* --- modules ------------------------------------------------------------------------------------
 */

static uint32_t own_stamp(void) {
#ifdef SIM_THREADS
    if (sim_get()->threads) return sim_text_stamp();
#endif
    return 0;
}

/* A cubin runs on devices of the same major version from its minor one on, PTX on all later ones. */
static int read_image(const void *code, int capability, sim_image *image) {
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    const bool cubin = memcmp(code, elf, sizeof elf) == 0;
    const char *at = code;
    if (!cubin) {
        if (strncmp(at, SIM_PTX_MARK, strlen(SIM_PTX_MARK)) != 0)
            return cudaErrorInvalidKernelImage;
        at += strlen(SIM_PTX_MARK);
    } else if (memcmp(at + offsetof(sim_image, mark), SIM_IMAGE_MARK, sizeof SIM_IMAGE_MARK) != 0) {
        /* a real one: where NVIDIA's NVRTC compiles as well, the image comes after it */
        if (!sim_get()->nvrtc_path[0]) return cudaErrorInvalidKernelImage;
        at += sim_elf_size(code);
    }
    memcpy(image, at, offsetof(sim_image, own));
    if (strcmp(image->mark, SIM_IMAGE_MARK) != 0) return cudaErrorInvalidKernelImage;
    memcpy(image->own, at + offsetof(sim_image, own), (size_t)image->own_size);
    if (image->stamp != own_stamp()) return cudaErrorInvalidKernelImage;
    if (image->architecture > capability) return cudaErrorNoKernelImageForDevice;
    if (cubin && image->architecture / 10 != capability / 10)
        return cudaErrorNoKernelImageForDevice;
    return 0;
}

static bool open_own(simulated_module *module) {
#ifdef SIM_THREADS
    if (module->image.stamp) return sim_text_open(&module->image, &module->text);
#endif
    return !module->image.own[0] || own_kernel_open(&module->image, &module->own);
}

CUresult cuModuleLoadData(CUmodule *module, const void *code) {
    BEGIN_DRIVER_IN_CONTEXT("cuModuleLoadData");
    if ((error = sim_check_captures("cuModuleLoadData")) != 0) return (CUresult)error;
    sim_implicit_wait(context);
    simulated_module *made = sim_create(CUDA_SIM_MODULE, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    error = read_image(code, context->device->capability, &made->image);
    if (!error && !open_own(made)) error = cudaErrorInvalidKernelImage;
    if (error) {
        sim_end(made);
        return (CUresult)error;
    }
    *module = (CUmodule)made;
    return CUDA_SUCCESS;
}

/* Whether a module is one, and of the current context. */
static bool check_module(const simulated_module *module, const char *function) {
    if (!sim_check(module, CUDA_SIM_MODULE, function)) return false;
    if (module->context == sim_current()) return true;
    sim_report("%s: the module is of another context than the current one", function);
    return false;
}

CUresult cuModuleUnload(CUmodule module) {
    BEGIN_DRIVER("cuModuleUnload");
    if ((error = sim_check_captures("cuModuleUnload")) != 0) return (CUresult)error;
    simulated_module *ending = (simulated_module *)module;
    if (!check_module(ending, "cuModuleUnload")) return CUDA_ERROR_INVALID_HANDLE;
    sim_implicit_wait(ending->context);
    for (int i = 0; i < SIM_MAX_ENTRIES; i++)
        if (ending->kernels[i]) sim_end(ending->kernels[i]);
    own_kernel_close(&ending->own);
#ifdef SIM_THREADS
    sim_text_close(&ending->text);
#endif
    sim_end(ending);
    return (CUresult)sim_sticky(ending->context);
}

/* One of raw_kernel.h, which the module's text has under its own name. */
static CUresult get_raw(simulated_module *of, int i, CUfunction *function) {
    const char *name = of->image.entries[i].name;
    if (!of->kernels[i]) of->kernels[i] = sim_create(CUDA_SIM_KERNEL, sizeof(simulated_kernel));
    if (!of->kernels[i]) return CUDA_ERROR_OUT_OF_MEMORY;
    of->kernels[i]->module = of;
    of->kernels[i]->name = name;
    of->kernels[i]->raw = raw_kernel_find(name, strlen(name));
    if (!of->kernels[i]->raw) sim_report("cuModuleGetFunction: %s is not simulated", name);
    *function = (CUfunction)of->kernels[i];
    return of->kernels[i]->raw ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The kernel of a name without "tdm_": its number, or -1. */
static int find_kernel(simulated_module *module, const char *name, sim_text *text) {
#ifdef SIM_THREADS
    *text = module->text;
    if (module->text.library) return sim_text_find(name, text) ? TEXT : -1;
#else
    (void)text;
#endif
    if (module->own.library) return own_kernel_find(&module->image, name, &module->own) ? OWN : -1;
    for (int k = 0; k < TDMI_KERNEL_COUNT; k++)
        if (strcmp(tdm_kernel_entries[k].name, name) == 0) return k;
    return -1;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    BEGIN_DRIVER_IN_CONTEXT("cuModuleGetFunction");
    simulated_module *of = (simulated_module *)module;
    if (!check_module(of, "cuModuleGetFunction")) return CUDA_ERROR_INVALID_HANDLE;
    for (int i = 0; i < of->image.entry_count && i < SIM_MAX_ENTRIES; i++) {
        if (of->image.raw && strcmp(name, of->image.entries[i].name) == 0)
            return get_raw(of, i, function);
        if (strncmp(name, "tdm_", 4) != 0 || strcmp(name + 4, of->image.entries[i].name) != 0)
            continue;
        sim_text text = {0};
        const int number = find_kernel(of, name + 4, &text);
        /* a kernel without a form in C runs only thread by thread */
        if (number < 0 || (number < OWN && !tdmi_cpu_kernels_baseline[number][of->image.t]))
            return CUDA_ERROR_NOT_FOUND;
        if (!of->kernels[i]) of->kernels[i] = sim_create(CUDA_SIM_KERNEL, sizeof(simulated_kernel));
        if (!of->kernels[i]) return CUDA_ERROR_OUT_OF_MEMORY;
        of->kernels[i]->module = of;
        of->kernels[i]->number = number;
        of->kernels[i]->text = text;
        of->kernels[i]->name = of->image.entries[i].name;
        *function = (CUfunction)of->kernels[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

#ifndef SIM_LAME_DRIVER
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    BEGIN_DRIVER_IN_CONTEXT("cuFuncGetAttribute");
    if (!sim_check(function, CUDA_SIM_KERNEL, "cuFuncGetAttribute"))
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        sim_report("cuFuncGetAttribute: attribute %d is not simulated", (int)attribute);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = sim_get()->kernel_threads;
    return CUDA_SUCCESS;
}
#endif

#ifndef SIM_OLD_DRIVER
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    BEGIN_DRIVER("cuFuncGetParamInfo");
    const simulated_kernel *kernel = (const simulated_kernel *)function;
    if (!sim_check(kernel, CUDA_SIM_KERNEL, "cuFuncGetParamInfo")) return CUDA_ERROR_INVALID_HANDLE;
    const size_t buffers = (size_t)buffers_of(kernel);
    if (index > buffers) return CUDA_ERROR_INVALID_VALUE;
    *offset = index * sizeof(void *);
    *size = index < buffers ? sizeof(void *) : args_size_of(kernel) + (size_t)sim_get()->skew;
    return CUDA_SUCCESS;
}
#endif

/* --- launches -----------------------------------------------------------------------------------
 */

typedef struct launch_job {
    const simulated_kernel *kernel;
    unsigned threads;
    sim_block *uses[SIM_MAX_USES];
    tdmi_cpu_entry run;
    tdm_group group;
    void *buffers[MAX_BUFFERS];
    union {
        char bytes[MAX_ARGS];
        int64_t aligned;
    } args;
} launch_job;

static void run_threads(launch_job *job) {
#ifdef SIM_THREADS
    void *arguments[MAX_BUFFERS + 1];
    const int buffers = buffers_of(job->kernel);
    for (int i = 0; i < buffers; i++)
        arguments[i] = &job->buffers[i];
    arguments[buffers] = job->args.bytes;
    sim_thread_run(&(sim_thread_launch){.text = job->kernel->text,
                                        .name = job->kernel->name,
                                        .blocks = job->group.count,
                                        .threads = job->threads,
                                        .arguments = arguments,
                                        .uses = job->uses});
#else
    (void)job;
#endif
}

static void run_launch(void *payload) {
    launch_job *job = payload;
    if (job->kernel->number == TEXT) {
        run_threads(job);
        return;
    }
    tdm_group group = job->group;
    char *scratch = aligned_alloc(64, TDMI_CPU_SCRATCH);
    if (!scratch) abort();
    group.scratch = scratch;
    for (group.index = 0; group.index < group.count; group.index++)
        job->run(&group, job->buffers, job->args.bytes);
    free(scratch);
}

/* Three numbers of blocks, or of threads in one. */
typedef struct extent {
    unsigned x, y, z;
} extent;

static bool check_shape(const sim_image *image, const char *name, extent grid, extent block,
                        unsigned shared) {
    if (grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1 && !shared && grid.x > 0 &&
        grid.x <= INT32_MAX && block.x == (unsigned)image->lanes &&
        image->lanes <= sim_get()->kernel_threads)
        return true;
    sim_report("%s: launched as %ux%ux%u blocks of %ux%ux%u with %u bytes; it was compiled for "
               "blocks of %d, and the device runs at most %d",
               name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, image->lanes,
               sim_get()->kernel_threads);
    return false;
}

static atomic_uint blocks;

unsigned cuda_sim_blocks(void) { return atomic_load(&blocks); }

static CUresult launch(const simulated_kernel *kernel, extent grid, extent block, unsigned shared,
                       CUstream stream, void **arguments) {
    int error = sim_stream_check(stream, "cuLaunchKernel");
    if (error) return (CUresult)error;
    if (!check_module(kernel->module, "cuLaunchKernel")) return CUDA_ERROR_INVALID_HANDLE;
    const sim_image *image = &kernel->module->image;
    const char *name = kernel->name;
    if (!check_shape(image, name, grid, block, shared)) return CUDA_ERROR_INVALID_VALUE;
    atomic_store(&blocks, grid.x);
    launch_job job = {.kernel = kernel,
                      .threads = block.x,
                      .run = kernel->number == TEXT ? NULL : entry_of(kernel),
                      .group = {.count = grid.x,
                                .op = (uint32_t)image->op,
                                .stream = (uint32_t)image->stream,
                                .u = (uint32_t)image->u}};
    sim_work work = {.run = run_launch, .payload = &job, .size = sizeof job, .is_kernel = true};
    const int buffers = buffers_of(kernel);
    for (int i = 0; i < buffers; i++) {
        void *address;
        memcpy(&address, arguments[i], sizeof address);
        if (!address) continue;
        work.uses[i] = sim_find(sim_stream_device(stream), address, 1, name);
        if (!work.uses[i]) return CUDA_ERROR_INVALID_VALUE;
        job.buffers[i] = sim_bytes(work.uses[i], address);
    }
    memcpy(job.uses, work.uses, sizeof job.uses);
    if (args_size_of(kernel)) memcpy(job.args.bytes, arguments[buffers], args_size_of(kernel));
    return (CUresult)sim_enqueue(stream, &work);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **arguments, void **extra) {
    BEGIN_DRIVER("cuLaunchKernel");
    if (extra) sim_report("cuLaunchKernel: extra options are not simulated");
    if (!sim_check(function, CUDA_SIM_KERNEL, "cuLaunchKernel")) return CUDA_ERROR_INVALID_HANDLE;
    return launch((const simulated_kernel *)function, (extent){grid_x, grid_y, grid_z},
                  (extent){block_x, block_y, block_z}, shared, stream, arguments);
}
