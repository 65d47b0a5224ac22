/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libcudart: programs and launches. A launch runs the kernel that was compiled as
 * C from the same source, for the types and options that the stand-in for NVRTC found in its image.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "call.h"
#include "kernels.h"

static const struct {
    const char *name;
    int buffers;
    size_t args_size;
} kernel_list[] = {
#define ROW(ID, entry, buffers, args) {#entry, buffers, sizeof(args)},
    TDM_KERNEL_LIST(ROW)};
enum { KERNELS = sizeof kernel_list / sizeof *kernel_list, MAX_BUFFERS = 8, MAX_ARGS = 512 };

typedef struct simulated_library {
    sim_object object;
    sim_image image;
    struct simulated_kernel *kernels[SIM_MAX_ENTRIES];
} simulated_library;

typedef struct simulated_kernel {
    sim_object object;
    simulated_library *library;
    int number; /* in kernel_list */
} simulated_kernel;

/* --- libraries ----------------------------------------------------------------------------------
 */

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The image behind the text of simulated PTX; false for other text. */
static bool read_ptx(const char *text, sim_image *image) {
    size_t mark = strlen(SIM_PTX_MARK);
    if (strncmp(text, SIM_PTX_MARK, mark) != 0) return false;
    unsigned char *bytes = (unsigned char *)image;
    for (size_t i = 0; i < sizeof *image; i++) {
        int high = digit(text[mark + 2 * i]), low = high < 0 ? -1 : digit(text[mark + 2 * i + 1]);
        if (low < 0) return false;
        bytes[i] = (unsigned char)(16 * high + low);
    }
    return true;
}

/* A cubin runs on devices of its own major version from its minor one on, PTX on all later ones. */
static int read_image(const void *code, int capability, sim_image *image) {
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    bool cubin = memcmp(code, elf, sizeof elf) == 0;
    if (cubin)
        memcpy(image, code, sizeof *image);
    else if (!read_ptx(code, image))
        return cudaErrorInvalidKernelImage;
    if (strcmp(image->mark, SIM_IMAGE_MARK) != 0) return cudaErrorInvalidKernelImage;
    if (image->architecture > capability) return cudaErrorNoKernelImageForDevice;
    if (cubin && image->architecture / 10 != capability / 10)
        return cudaErrorNoKernelImageForDevice;
    return 0;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values,
                                unsigned jit_count, enum cudaLibraryOption *options, void **values,
                                unsigned count) {
    BEGIN_IN_CONTEXT("cudaLibraryLoadData");
    (void)jit_options;
    (void)jit_values;
    (void)options;
    (void)values;
    if (jit_count || count) sim_report("cudaLibraryLoadData: options are not simulated");
    sim_image image;
    error = read_image(code, context->device->capability, &image);
    if (error) END(error);
    simulated_library *made = sim_create(CUDA_SIM_LIBRARY, sizeof *made);
    if (!made) END(cudaErrorMemoryAllocation);
    made->image = image;
    *library = (cudaLibrary_t)made;
    return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    BEGIN("cudaLibraryUnload");
    simulated_library *ending = (simulated_library *)library;
    if (!sim_check(ending, CUDA_SIM_LIBRARY, "cudaLibraryUnload"))
        END(cudaErrorInvalidResourceHandle);
    for (int i = 0; i < SIM_MAX_ENTRIES; i++)
        if (ending->kernels[i]) sim_end(ending->kernels[i]);
    sim_end(ending);
    CUcontext context = sim_current();
    END(context ? sim_sticky(context) : 0);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    BEGIN("cudaLibraryGetKernel");
    simulated_library *of = (simulated_library *)library;
    if (!sim_check(of, CUDA_SIM_LIBRARY, "cudaLibraryGetKernel"))
        END(cudaErrorInvalidResourceHandle);
    for (int i = 0; i < of->image.entry_count && i < SIM_MAX_ENTRIES; i++) {
        if (strncmp(name, "tdm_", 4) != 0 || strcmp(name + 4, of->image.entries[i].name) != 0)
            continue;
        for (int k = 0; k < KERNELS && !of->kernels[i]; k++) {
            if (strcmp(kernel_list[k].name, name + 4) != 0) continue;
            of->kernels[i] = sim_create(CUDA_SIM_KERNEL, sizeof(simulated_kernel));
            if (!of->kernels[i]) END(cudaErrorMemoryAllocation);
            of->kernels[i]->library = of;
            of->kernels[i]->number = k;
        }
        *kernel = (cudaKernel_t)of->kernels[i];
        END(*kernel ? 0 : cudaErrorSymbolNotFound);
    }
    END(cudaErrorSymbolNotFound);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
    BEGIN_IN_CONTEXT("cudaFuncGetAttributes");
    const simulated_kernel *kernel = function;
    (void)context;
    if (!sim_check(kernel, CUDA_SIM_KERNEL, "cudaFuncGetAttributes"))
        END(cudaErrorInvalidDeviceFunction);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = sim_get()->kernel_threads;
    return cudaSuccess;
}

cudaError_t cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size) {
    BEGIN("cudaFuncGetParamInfo");
    const simulated_kernel *kernel = function;
    if (!sim_check(kernel, CUDA_SIM_KERNEL, "cudaFuncGetParamInfo"))
        END(cudaErrorInvalidDeviceFunction);
    size_t buffers = (size_t)kernel_list[kernel->number].buffers;
    if (index > buffers) END(cudaErrorInvalidValue);
    *offset = index * sizeof(void *);
    *size = index < buffers ? sizeof(void *)
                            : kernel_list[kernel->number].args_size + (size_t)sim_get()->skew;
    return cudaSuccess;
}

/* --- launches -----------------------------------------------------------------------------------
 */

typedef struct launch_job {
    tdmi_cpu_entry run;
    tdm_group group;
    void *buffers[MAX_BUFFERS];
    union {
        char bytes[MAX_ARGS];
        int64_t aligned;
    } args;
} launch_job;

static void run_launch(void *payload) {
    const launch_job *job = payload;
    tdm_group group = job->group;
    char *scratch = aligned_alloc(64, TDMI_CPU_SCRATCH);
    if (!scratch) abort();
    group.scratch = scratch;
    for (group.index = 0; group.index < group.count; group.index++)
        job->run(&group, job->buffers, job->args.bytes);
    free(scratch);
}

static bool check_shape(const sim_image *image, const char *name, dim3 grid, dim3 block,
                        size_t shared) {
    if (grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1 && !shared && grid.x > 0 &&
        grid.x <= INT32_MAX && block.x == (unsigned)image->lanes &&
        image->lanes <= sim_get()->kernel_threads)
        return true;
    sim_report("%s: launched as %ux%ux%u blocks of %ux%ux%u with %zu bytes; it was compiled for "
               "blocks of %d, and the device runs at most %d",
               name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, image->lanes,
               sim_get()->kernel_threads);
    return false;
}

static atomic_uint blocks;

unsigned cuda_sim_blocks(void) { return atomic_load(&blocks); }

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream) {
    BEGIN("cudaLaunchKernel");
    const simulated_kernel *kernel = function;
    if (!sim_check(kernel, CUDA_SIM_KERNEL, "cudaLaunchKernel"))
        END(cudaErrorInvalidDeviceFunction);
    error = sim_stream_check(stream, "cudaLaunchKernel");
    if (error) END(error);
    const sim_image *image = &kernel->library->image;
    const char *name = kernel_list[kernel->number].name;
    if (!check_shape(image, name, grid, block, shared)) END(cudaErrorInvalidConfiguration);
    atomic_store(&blocks, grid.x);
    launch_job job = {.run = tdmi_cpu_kernels_baseline[kernel->number][image->t],
                      .group = {.count = grid.x,
                                .op = (uint32_t)image->op,
                                .stream = (uint32_t)image->stream,
                                .u = (uint32_t)image->u}};
    sim_work work = {.run = run_launch, .payload = &job, .size = sizeof job, .is_kernel = true};
    int buffers = kernel_list[kernel->number].buffers;
    for (int i = 0; i < buffers; i++) {
        void *address;
        memcpy(&address, arguments[i], sizeof address);
        if (!address) continue;
        work.uses[i] = sim_find(sim_stream_device(stream), address, 1, name);
        if (!work.uses[i]) END(cudaErrorInvalidValue);
        job.buffers[i] = sim_bytes(work.uses[i], address);
    }
    memcpy(job.args.bytes, arguments[buffers], kernel_list[kernel->number].args_size);
    END(sim_enqueue(stream, &work));
}
