/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs, kernels and launches. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "manifest.h"
#include "opencl_backend.h"

/* Nothing that trades accuracy for speed: backends agree. */
#define STANDARD_OPTION "-w -cl-std=" /* -w: some drivers print warnings to stderr */
#define USUAL_STANDARD "CL1.2"
#define EXACT_DIVISION_OPTION " -cl-fp32-correctly-rounded-divide-sqrt"

/* All options in one allocated text; NULL when memory is short. */
static char *join_options(const tdmi_bdevice *device, const char *const *options) {
    const char *exact = device->entry->exact_division ? EXACT_DIVISION_OPTION : "";
    const tdmi_cl_compiler *compiler = &device->entry->compiler;
    const char *standard = compiler->standard ? compiler->standard : USUAL_STANDARD;
    const char *driver = compiler->options;
    size_t size = sizeof STANDARD_OPTION + strlen(standard) + strlen(exact) + strlen(driver);
    for (const char *const *option = options; *option; option++)
        size += strlen(*option) + 1;
    char *text = tdmi_malloc(size);
    if (!text) return NULL;
    size_t length =
        (size_t)snprintf(text, size, "%s%s%s%s", STANDARD_OPTION, standard, exact, driver);
    for (const char *const *option = options; *option; option++)
        length += (size_t)snprintf(text + length, size - length, " %s", *option);
    return text;
}

/* Fails with the first lines of the driver's build log. */
static tdm_status build_failure(tdmi_bdevice *device, const tdmi_program_source *source,
                                cl_program program, cl_int code) {
    tdm_status status = tdmi_cl_status(code);
    if (status == TDM_ERROR_DEVICE_LOST || status == TDM_ERROR_OUT_OF_MEMORY)
        return tdmi_cl_fail(code, "clBuildProgram");
    cl_device_id id = device->entry->id;
    size_t size = 0;
    char *log = NULL;
    if (tdmi_cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) ==
        CL_SUCCESS)
        log = tdmi_calloc(size + 1, 1);
    if (log && size != 0)
        (void)tdmi_cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    const char *text = log ? log + strspn(log, " \r\n") : "";
    tdmi_keep_compile_log(text);
    int length = 0;
    for (int lines = 0; text[length] != '\0' && length < 1500; length++)
        if (text[length] == '\n' && ++lines == 12) break;
    status = tdmi_fail(TDM_ERROR_COMPILE, "%s: %s did not compile on %s: %s (%d)%s%.*s",
                       source->file, source->entry, device->entry->facts.info.name,
                       tdmi_cl_error_name(code), code, length > 0 ? "\n" : "", length, text);
    tdmi_free(log);
    return status;
}

/* The program from a binary that an earlier build gave. Some drivers abort on a damaged one, so the core gives only
 * what its cache has found whole. */
static tdm_status from_binary(tdmi_bdevice *device, const tdmi_program_source *source,
                              const tdmi_blob *binary, cl_program *program) {
    const unsigned char *content = binary->data;
    cl_int code, taken = CL_SUCCESS;
    *program = tdmi_cl.clCreateProgramWithBinary(device->context, 1, &device->entry->id,
                                                 &binary->size, &content, &taken, &code);
    if (code != CL_SUCCESS)
        return tdmi_fail(TDM_ERROR_COMPILE, "%s: the driver does not take the binary: %s (%d)",
                         source->file, tdmi_cl_error_name(code), code);
    if (taken != CL_SUCCESS) {
        (void)tdmi_cl.clReleaseProgram(*program);
        return tdmi_fail(TDM_ERROR_COMPILE, "%s: the driver does not take the binary: %s (%d)",
                         source->file, tdmi_cl_error_name(taken), taken);
    }
    return TDM_OK;
}

static tdm_status from_source(tdmi_bdevice *device, const tdmi_program_source *source,
                              cl_program *program) {
    const char *texts[] = {tdmi_dialect_opencl, source->text};
    cl_int code;
    *program = tdmi_cl.clCreateProgramWithSource(device->context, 2, texts, NULL, &code);
    return tdmi_cl_check(code, "clCreateProgramWithSource");
}

enum { MOST_DEVICES = 64 };

/* The place of a device among those of a program, which are those of its context; -1: unknown. */
static int place_of(const tdmi_bdevice *device, cl_program program, cl_uint *count) {
    cl_device_id ids[MOST_DEVICES];
    if (tdmi_cl.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof *count, count, NULL) !=
            CL_SUCCESS ||
        *count > MOST_DEVICES ||
        tdmi_cl.clGetProgramInfo(program, CL_PROGRAM_DEVICES, *count * sizeof *ids, ids, NULL) !=
            CL_SUCCESS)
        return -1;
    for (cl_uint i = 0; i < *count; i++)
        if (ids[i] == device->entry->id) return (int)i;
    return -1;
}

/* The driver's binary. A driver that gives none, or memory that is short, leaves the result empty: that costs time at
 * the next start, nothing else. */
static void keep_binary(const tdmi_bdevice *device, cl_program program, tdmi_blob *result) {
    size_t sizes[MOST_DEVICES] = {0};
    unsigned char *contents[MOST_DEVICES] = {NULL}; /* those of the other devices are passed over */
    cl_uint count;
    const int place = place_of(device, program, &count);
    if (place < 0 ||
        tdmi_cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof *sizes, sizes,
                                 NULL) != CL_SUCCESS ||
        sizes[place] == 0)
        return;
    unsigned char *data = contents[place] = tdmi_malloc(sizes[place]);
    if (!data) return;
    if (tdmi_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *contents, contents,
                                 NULL) == CL_SUCCESS)
        *result = (tdmi_blob){data, sizes[place]};
    else
        tdmi_free(data);
}

/* A kernel's own limits can be below the device's: its lanes share registers and local memory. */
static tdm_status check_limits(const tdmi_bdevice *device, const tdmi_program_source *source,
                               cl_program program) {
    cl_device_id id = device->entry->id;
    cl_int code;
    cl_kernel kernel = tdmi_cl.clCreateKernel(program, source->entry, &code);
    if (code != CL_SUCCESS) return tdmi_cl_fail(code, source->entry);
    size_t most = 0;
    cl_ulong local = 0;
    code = tdmi_cl.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                            &most, NULL);
    bool fits = code != CL_SUCCESS || most >= source->variant.lanes;
    code = tdmi_cl.clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                            &local, NULL);
    fits = fits && (code != CL_SUCCESS || local <= device->entry->local_memory);
    (void)tdmi_cl.clReleaseKernel(kernel);
    if (fits) return TDM_OK;
    return tdmi_fail(
        TDM_ERROR_UNSUPPORTED,
        "%s: with %u lanes, and %llu bytes of local memory; the device runs it with at "
        "most %zu lanes, and has %llu bytes",
        source->entry, (unsigned)source->variant.lanes, (unsigned long long)local, most,
        (unsigned long long)device->entry->local_memory);
}

/* Whether the kernel runs as C, in native kernels, and its text is not compiled: PoCL 3.1 takes minutes for one with so
 * many barriers. */
static bool is_native(const tdmi_bdevice *device, const tdmi_variant *variant) {
    return variant->kernel < TDMI_KERNEL_COUNT && tdm_kernel_entries[variant->kernel].native &&
           tdmi_cpu_run && tdmi_cl_is_native(device);
}

tdm_status tdmi_cl_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                 const tdmi_blob *binary, tdmi_bprogram *program,
                                 tdmi_blob *result) {
    if (result) *result = (tdmi_blob){NULL, 0};
    if (source->buffers > TDMI_CL_MAX_BUFFERS || source->args_size > TDMI_CL_MAX_ARGS ||
        strlen(source->entry) >= sizeof program->entry)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: %s has %d buffers and %zu bytes of arguments; at most %d and %d",
                         source->file, source->entry, source->buffers, source->args_size,
                         TDMI_CL_MAX_BUFFERS, TDMI_CL_MAX_ARGS);
    program->device = device;
    program->buffers = (cl_uint)source->buffers;
    program->args_size = source->args_size;
    program->variant = source->variant;
    if (is_native(device, &source->variant)) return TDM_OK;
    char *options = join_options(device, source->options);
    if (!options) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot join build options");
    cl_program built = NULL;
    tdm_status status =
        binary ? from_binary(device, source, binary, &built) : from_source(device, source, &built);
    if (status != TDM_OK) {
        tdmi_free(options);
        return status;
    }
    cl_int code = tdmi_cl.clBuildProgram(built, 1, &device->entry->id, options, NULL, NULL);
    tdmi_free(options);
    if (code != CL_SUCCESS) {
        status = build_failure(device, source, built, code);
        (void)tdmi_cl.clReleaseProgram(built);
        return status;
    }
    if (result && !binary) keep_binary(device, built, result);
    status = check_limits(device, source, built);
    if (status != TDM_OK) {
        (void)tdmi_cl.clReleaseProgram(built);
        return status;
    }
    program->program = built;
    strcpy(program->entry, source->entry);
    return TDM_OK;
}

void tdmi_cl_program_deinit(tdmi_bprogram *program) {
    if (program->program) (void)tdmi_cl.clReleaseProgram(program->program);
}

/* --- as C, in a native kernel ---------------------------------------------------------------------- */

/* The arguments that the driver copies, as far as there are any. */
typedef struct native_launch {
    tdmi_bqueue *queue; /* it lives until its work is over */
    tdmi_variant variant;
    uint32_t groups;
    void *buffers[TDMI_CL_MAX_BUFFERS];
    _Alignas(8) unsigned char args[TDMI_CL_MAX_ARGS];
} native_launch;

static void CL_CALLBACK run_native(void *argument) {
    const native_launch *launch = argument;
    if (!tdmi_cpu_run(&launch->variant, launch->groups, launch->buffers, launch->args))
        atomic_store(&launch->queue->product, TDM_ERROR_OUT_OF_MEMORY);
}

static tdm_status launch_native(tdmi_bqueue *queue, const tdmi_bkernel *kernel,
                                const tdmi_launch *launch) {
    native_launch native = {.queue = queue, .variant = kernel->variant, .groups = launch->groups};
    for (cl_uint i = 0; i < kernel->buffers; i++) {
        native.buffers[i] = launch->mems[i] ? launch->mems[i]->host : NULL;
        if (launch->mems[i] && !native.buffers[i])
            return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                             "a buffer is memory of the program's that only the driver finds");
    }
    memcpy(native.args, launch->args, kernel->args_size);
    return tdmi_cl_check(
        tdmi_cl.clEnqueueNativeKernel(queue->queue, run_native, &native,
                                      offsetof(native_launch, args) + kernel->args_size, 0, NULL,
                                      NULL, 0, NULL, NULL),
        "clEnqueueNativeKernel");
}

tdm_status tdmi_cl_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel) {
    (void)queue;
    kernel->buffers = program->buffers;
    kernel->args_size = program->args_size;
    kernel->variant = program->variant;
    if (!program->program) return tdmi_cl_runs_in_place(program->device);
    cl_int code;
    cl_kernel made = tdmi_cl.clCreateKernel(program->program, program->entry, &code);
    if (code != CL_SUCCESS) return tdmi_cl_fail(code, program->entry);
    kernel->kernel = made;
    return TDM_OK;
}

void tdmi_cl_kernel_deinit(tdmi_bkernel *kernel) {
    if (kernel->kernel) (void)tdmi_cl.clReleaseKernel(kernel->kernel);
}

static tdm_status bind(tdmi_bkernel *kernel, const tdmi_launch *launch, uint64_t generation) {
    bool fresh = !kernel->bound || kernel->generation != generation;
    kernel->bound = false; /* until everything below has worked */
    for (cl_uint i = 0; i < kernel->buffers; i++) {
        cl_mem mem = launch->mems[i] ? launch->mems[i]->handle : NULL;
        if (!fresh && kernel->mems[i] == mem) continue;
        TDMI_CL_TRY(tdmi_cl.clSetKernelArg(kernel->kernel, i, sizeof mem, &mem), "clSetKernelArg");
        kernel->mems[i] = mem;
    }
    if (fresh || memcmp(kernel->args, launch->args, kernel->args_size) != 0) {
        TDMI_CL_TRY(tdmi_cl.clSetKernelArg(kernel->kernel, kernel->buffers, kernel->args_size,
                                           launch->args),
                    "clSetKernelArg");
        memcpy(kernel->args, launch->args, kernel->args_size);
    }
    kernel->generation = generation;
    kernel->bound = true;
    return TDM_OK;
}

tdm_status tdmi_cl_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch) {
    if (!kernel->kernel) return launch_native(queue, kernel, launch);
    TDMI_TRY(bind(kernel, launch, atomic_load(&queue->device->generation)));
    const size_t local = kernel->variant.lanes;
    const size_t global = (size_t)launch->groups * local;
    return tdmi_cl_check(tdmi_cl.clEnqueueNDRangeKernel(queue->queue, kernel->kernel, 1, NULL,
                                                        &global, &local, 0, NULL, NULL),
                         "clEnqueueNDRangeKernel");
}
