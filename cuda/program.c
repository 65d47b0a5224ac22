/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs by NVRTC: a cubin for exactly this device, or PTX where NVRTC is older than the device.
 */
#include "cuda_backend.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OPTIONS = 32 };

/* The target of NVRTC. */
typedef struct compile_target {
    int architecture;
    bool cubin; /* else PTX, which the driver compiles further */
} compile_target;

/* NVRTC's list is not promised to be sorted. */
static tdm_status choose_target(int capability, compile_target *target) {
    enum { MAX_ARCHITECTURES = 128 };
    int known[MAX_ARCHITECTURES], count = 0, oldest = 0, best = 0;
    if (tdmi_nvrtc.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0 ||
        count > MAX_ARCHITECTURES || tdmi_nvrtc.nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
        return tdmi_fail(TDM_ERROR_BACKEND,
                         "NVRTC does not report which architectures it compiles for");
    for (int i = 0; i < count; i++) {
        if (known[i] <= capability && known[i] > best) best = known[i];
        if (!oldest || known[i] < oldest) oldest = known[i];
    }
    if (!best)
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "NVRTC compiles for compute capability %d.%d and newer, the device has "
            "%d.%d: name the libraries of an older CUDA toolkit in TANDEM_LIBRARY_PATH",
            oldest / 10, oldest % 10, capability / 10, capability % 10);
    target->architecture = best;
    target->cubin = best == capability;
    return TDM_OK;
}

static tdm_status nvrtc_check(nvrtcResult result, const char *call, const char *file) {
    if (result == NVRTC_SUCCESS) return TDM_OK;
    return tdmi_fail(result == NVRTC_ERROR_OUT_OF_MEMORY ? TDM_ERROR_OUT_OF_MEMORY
                                                         : TDM_ERROR_BACKEND,
                     "%s: %s: %s", file, call, tdmi_nvrtc.nvrtcGetErrorString(result));
}

/* A failed compilation, with NVRTC's log in the message. */
static tdm_status compile_failure(nvrtcProgram program, nvrtcResult result, const char *file) {
    size_t size = 0;
    char *log = NULL;
    if (tdmi_nvrtc.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size)
        log = tdmi_calloc(size + 1, 1);
    if (log && tdmi_nvrtc.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS) log[0] = '\0';
    const char *text = log ? log : "";
    tdmi_keep_compile_log(text);
    const char *error = tdmi_nvrtc.nvrtcGetErrorString(result);
    tdm_status status;
    if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE || strstr(text, "nvrtc-builtins"))
        status =
            tdmi_fail(TDM_ERROR_UNAVAILABLE,
                      "%s: %s: NVRTC did not find its library libnvrtc-builtins.so, of the "
                      "same version: install it next to libnvrtc.so (it comes with NVRTC) or add "
                      "its directory to LD_LIBRARY_PATH; %s",
                      file, error, text);
    else if (result == NVRTC_ERROR_COMPILATION)
        status = tdmi_fail(TDM_ERROR_COMPILE, "%s does not compile: %s", file, text);
    else
        status = tdmi_fail(result == NVRTC_ERROR_OUT_OF_MEMORY ? TDM_ERROR_OUT_OF_MEMORY
                                                               : TDM_ERROR_COMPILE,
                           "%s: nvrtcCompileProgram: %s; %s", file, error, text);
    tdmi_free(log);
    return status;
}

static tdm_status take_image(nvrtcProgram program, const compile_target *target, const char *file,
                             tdmi_blob *image) {
    size_t size = 0;
    TDMI_TRY(nvrtc_check(target->cubin ? tdmi_nvrtc.nvrtcGetCUBINSize(program, &size)
                                       : tdmi_nvrtc.nvrtcGetPTXSize(program, &size),
                         "size of the result", file));
    char *data = tdmi_malloc(size ? size : 1);
    if (!data) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%zu bytes of compiled kernel", size);
    tdm_status status = nvrtc_check(target->cubin ? tdmi_nvrtc.nvrtcGetCUBIN(program, data)
                                                  : tdmi_nvrtc.nvrtcGetPTX(program, data),
                                    "result", file);
    if (status != TDM_OK)
        tdmi_free(data);
    else
        *image = (tdmi_blob){.data = data, .size = size};
    return status;
}

static tdm_status compile_text(const char *text, const tdmi_program_source *source,
                               const compile_target *target, tdmi_blob *image) {
    char architecture[40];
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d",
             target->cubin ? "sm" : "compute", target->architecture);
    const char *options[MAX_OPTIONS] = {
        architecture, "--std=c++17", "--device-as-default-execution-space", "--disable-warnings"};
    int count = 4;
    for (const char *const *option = source->options; option && *option; option++) {
        if (count == MAX_OPTIONS)
            return tdmi_fail(TDM_ERROR_COMPILE, "%s: more than %d options", source->file,
                             MAX_OPTIONS);
        options[count++] = *option;
    }
    nvrtcProgram program = NULL;
    TDMI_TRY(nvrtc_check(tdmi_nvrtc.nvrtcCreateProgram(&program, text, source->file, 0, NULL, NULL),
                         "nvrtcCreateProgram", source->file));
    nvrtcResult result = tdmi_nvrtc.nvrtcCompileProgram(program, count, options);
    tdm_status status = result == NVRTC_SUCCESS ? take_image(program, target, source->file, image)
                                                : compile_failure(program, result, source->file);
    (void)tdmi_nvrtc.nvrtcDestroyProgram(&program);
    return status;
}

static tdm_status compile(int capability, const tdmi_program_source *source, tdmi_blob *image) {
    compile_target target;
    TDMI_TRY(tdmi_nvrtc_open());
    tdmi_nvrtc_open_builtins();
    TDMI_TRY(choose_target(capability, &target));
    size_t dialect = strlen(tdmi_dialect_cuda), kernel = strlen(source->text);
    char *text = tdmi_malloc(dialect + kernel + 2);
    if (!text)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%zu bytes of kernel source",
                         dialect + kernel + 2);
    memcpy(text, tdmi_dialect_cuda, dialect);
    text[dialect] = '\n';
    memcpy(text + dialect + 1, source->text, kernel + 1);
    tdm_status status = compile_text(text, source, &target, image);
    tdmi_free(text);
    return status;
}

/* For Ampere: newer architectures compile all that it does. */
tdm_status tdmi_cuda_source_check(const tdmi_program_source *source) {
    enum { USUAL_CAPABILITY = 80 };
    tdmi_blob image = {0};
    const tdm_status status = compile(USUAL_CAPABILITY, source, &image);
    tdmi_free(image.data);
    return status;
}

/* CUDA C++ has functions called like some kernels (norm), so in the text every kernel's
 * name begins with "tdm_"; the entry may be given with or without it. */
static CUresult find_kernel(CUmodule module, const char *entry, CUfunction *function) {
    char prefixed[96];
    if (strncmp(entry, "tdm_", 4) == 0)
        return tdmi_cudrv.cuModuleGetFunction(function, module, entry);
    snprintf(prefixed, sizeof prefixed, "tdm_%s", entry);
    return tdmi_cudrv.cuModuleGetFunction(function, module, prefixed);
}

/* The last argument is a struct by value: host and device must see the same one. Drivers before
 * CUDA 12.4 cannot tell. */
static tdm_status check_struct(const tdmi_program_source *source, CUfunction function) {
    size_t offset = 0, size = 0;
    if (!tdmi_cudrv.cuFuncGetParamInfo) return TDM_OK;
    TDMI_TRY(tdmi_cuda_check((cudaError_t)tdmi_cudrv.cuFuncGetParamInfo(
                                 function, (size_t)source->buffers, &offset, &size),
                             "cuFuncGetParamInfo"));
    if (size == source->args_size) return TDM_OK;
    return tdmi_fail(TDM_ERROR_COMPILE,
                     "%s: its struct of arguments has %zu bytes on the host, %zu on the device",
                     source->entry, source->args_size, size);
}

/* Loads the image onto the device. A driver may put off the loading of kernels; asking for one and for
 * its attributes has it done now: errors and time belong here and not to the first launch. */
static tdm_status load_image(const tdmi_program_source *source, const tdmi_blob *image,
                             tdmi_bprogram *program) {
    CUmodule module = NULL;
    TDMI_TRY(tdmi_cuda_check((cudaError_t)tdmi_cudrv.cuModuleLoadData(&module, image->data),
                             source->file));
    CUfunction function = NULL;
    int most = 0;
    CUresult error = find_kernel(module, source->entry, &function);
    if (error == CUDA_SUCCESS)
        error =
            tdmi_cudrv.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    tdm_status status = tdmi_cuda_check((cudaError_t)error, source->entry);
    if (status == TDM_OK) status = check_struct(source, function);
    if (status == TDM_OK && most < (int)source->group_lanes)
        status = tdmi_fail(TDM_ERROR_UNSUPPORTED,
                           "%s: it needs %d lanes, but its registers allow %d on this device",
                           source->entry, (int)source->group_lanes, most);
    if (status != TDM_OK) {
        (void)tdmi_cudrv.cuModuleUnload(module);
        return status;
    }
    program->module = module;
    program->function = function;
    program->buffers = source->buffers;
    program->lanes = source->group_lanes;
    return TDM_OK;
}

/* The driver takes an image without its size and trusts the headers inside, so a file that was cut
 * short must not reach it: an ELF image has to hold the section table that its header speaks of. */
static bool is_whole(const tdmi_blob *binary) {
    static const unsigned char elf64[5] = {0x7f, 'E', 'L', 'F', 2};
    const unsigned char *bytes = binary->data;
    if (binary->size && bytes[0] != elf64[0]) return bytes[binary->size - 1] == '\0'; /* PTX */
    uint64_t sections, segments;
    uint16_t section_size, section_count, segment_size, segment_count;
    if (binary->size < 64 || memcmp(bytes, elf64, sizeof elf64) != 0) return false;
    memcpy(&segments, bytes + 32, sizeof segments);
    memcpy(&sections, bytes + 40, sizeof sections);
    memcpy(&segment_size, bytes + 54, sizeof segment_size);
    memcpy(&segment_count, bytes + 56, sizeof segment_count);
    memcpy(&section_size, bytes + 58, sizeof section_size);
    memcpy(&section_count, bytes + 60, sizeof section_count);
    return sections <= binary->size && segments <= binary->size &&
           (uint64_t)section_size * section_count <= binary->size - sections &&
           (uint64_t)segment_size * segment_count <= binary->size - segments;
}

static tdm_status load_binary(const tdmi_program_source *source, const tdmi_blob *binary,
                              tdmi_bprogram *program) {
    if (!is_whole(binary))
        return tdmi_fail(TDM_ERROR_COMPILE, "%s: the kept binary is incomplete", source->file);
    tdm_status status = load_image(source, binary, program);
    /* Building again may mend anything else that is wrong with a kept binary, but not too many lanes. */
    if (status == TDM_OK || status == TDM_ERROR_DEVICE_LOST || status == TDM_ERROR_OUT_OF_MEMORY ||
        status == TDM_ERROR_UNSUPPORTED)
        return status;
    return tdmi_fail(TDM_ERROR_COMPILE, "the kept binary does not fit: %s", tdm_last_error());
}

static tdm_status build(tdmi_bdevice *device, const tdmi_program_source *source,
                        const tdmi_blob *binary, tdmi_bprogram *program, tdmi_blob *result) {
    if (binary) return load_binary(source, binary, program);
    tdmi_blob image = {0};
    TDMI_TRY(compile(device->capability, source, &image));
    tdm_status status = load_image(source, &image, program);
    if ((status == TDM_OK || status == TDM_ERROR_UNSUPPORTED) && result)
        *result = image;
    else
        tdmi_free(image.data);
    return status;
}

tdm_status tdmi_cuda_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                   const tdmi_blob *binary, tdmi_bprogram *program,
                                   tdmi_blob *result) {
    if (result) *result = (tdmi_blob){0};
    if (source->buffers > TDMI_CUDA_MAX_BUFFERS)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s has %d buffers; at most %d are supported",
                         source->entry, source->buffers, TDMI_CUDA_MAX_BUFFERS);
    TDMI_CUDA_BEGIN(device);
    program->device = device;
    return build(device, source, binary, program, result);
}

void tdmi_cuda_program_deinit(tdmi_bprogram *program) {
    tdmi_cuda_calls calls;
    if (tdmi_cuda_begin(program->device, &calls) == TDM_OK) {
        (void)tdmi_cudrv.cuModuleUnload(program->module);
        tdmi_cuda_end(&calls);
    }
    program->module = NULL;
}

tdm_status tdmi_cuda_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel) {
    (void)queue;
    kernel->function = program->function;
    kernel->buffers = program->buffers;
    kernel->lanes = program->lanes;
    for (int i = 0; i < kernel->buffers; i++)
        kernel->arguments[i] = &kernel->handles[i];
    return TDM_OK;
}

void tdmi_cuda_kernel_deinit(tdmi_bkernel *kernel) { kernel->function = NULL; }

tdm_status tdmi_cuda_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch) {
    if (launch->groups > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "a launch of %u groups; CUDA takes %d at most",
                         launch->groups, INT32_MAX);
    for (int i = 0; i < kernel->buffers; i++)
        kernel->handles[i] = launch->mems[i] ? launch->mems[i]->handle : NULL;
    /* The launch copies the struct before it returns and does not write to it. */
    union {
        const void *in;
        void *out;
    } args = {.in = launch->args};
    kernel->arguments[kernel->buffers] = args.out;
    TDMI_CUDA_ENTER(queue->device);
    CUresult error =
        tdmi_cudrv.cuLaunchKernel(kernel->function, launch->groups, 1, 1, kernel->lanes, 1, 1, 0,
                                  queue->stream, kernel->arguments, NULL);
    return tdmi_cuda_check((cudaError_t)error, "cuLaunchKernel");
}
