/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libOpenCL.so.1 that shows the devices of the real one, with which it is linked, as
 * those of an unknown driver with OpenCL 1.2 and without f16, images and native kernels. With
 * TDM_LIMITS=large it is a GPU with groups of up to 1024 lanes, for which kernels compile without
 * optimization, as pocl takes seconds for the many lanes of one otherwise. Else it is a small device: groups of 256
 * lanes at most, and of 64 for some kernels, allocations of 64 MiB, 16 KiB of local memory, no f64. It refuses uses of
 * everything that it says it lacks. With TDM_LIMITS_TYPE=cpu it is a CPU, else a GPU, which has Intel's sub-groups with
 * TDM_LIMITS_SUB_GROUPS=intel and Khronos's with TDM_LIMITS_SUB_GROUPS=khronos. With TDM_LIMITS_NVIDIA it is one of
 * NVIDIA's that has tensor cores, whose compiler refuses their assembler (refuses), or takes it for something else
 * (wrong), or takes the plain code in its place, as nothing here runs PTX (plain), or which loses the device as that
 * runs (loses). With TDM_LIMITS_AMD it takes the text for AMD's compiler.
 *
 * A driver that lies has TDM_LIMITS_LIE: FROM=>TO, as its compiler takes the one text for the other, and several of
 * these with | between them; copies, as its buffers in the program's memory are copies of that; bytes, as it changes
 * one in large reads; callbacks, as it says that it calls functions of the program's and refuses to; slow; or markers,
 * as it is a GPU of Intel's, whose markers have the time at which they were enqueued. */
#include <stdbool.h>
#include <time.h>

#include "quick.h"

#include <CL/cl_ext.h>

enum { DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000, DEVICE_COMPUTE_CAPABILITY_MINOR_NV };
enum { LARGE = 1 << 20, MOST_LANES = 256, MOST_KERNEL_LANES = 64, MOST_LANES_OF_LARGE = 1024 };
/* OpenCL 1.2 guarantees so much local memory. */
static const cl_ulong most_allocation = 64u << 20, local_memory = 32u << 10;

static cl_int give(const void *value, size_t bytes, size_t size, void *out, size_t *got) {
    if (got) *got = bytes;
    if (out && size < bytes) return CL_INVALID_VALUE;
    if (out) memcpy(out, value, bytes);
    return CL_SUCCESS;
}

#define GIVE(type, value)                                                                          \
    do {                                                                                           \
        const type given = (value);                                                                \
        return give(&given, sizeof given, size, out, got);                                         \
    } while (0)
#define GIVE_TEXT(text) return give(text, sizeof text, size, out, got)

static cl_device_type type(void) {
    const char *word = getenv("TDM_LIMITS_TYPE");
    return word && strcmp(word, "cpu") == 0 ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
}

static bool is_large(void) {
    const char *word = getenv("TDM_LIMITS");
    return word && strcmp(word, "large") == 0;
}

static bool has_sub_groups(const char *whose) {
    const char *word = getenv("TDM_LIMITS_SUB_GROUPS");
    return word && strcmp(word, whose) == 0;
}

static bool is_nvidia(const char *how) {
    const char *word = getenv("TDM_LIMITS_NVIDIA");
    return word && (!how || strcmp(word, how) == 0);
}

static bool lies(const char *how) {
    const char *word = getenv("TDM_LIMITS_LIE");
    return word && strcmp(word, how) == 0;
}

static void take_time(long milliseconds) {
    const struct timespec time = {0, milliseconds * 1000000};
    if (lies("slow")) nanosleep(&time, NULL);
}

#define EXTENSIONS "cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics"

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *out,
                         size_t *got) {
    if (what == CL_PLATFORM_NAME) GIVE_TEXT("Unknown OpenCL");
    if (what == CL_PLATFORM_VERSION) GIVE_TEXT("OpenCL 1.2 small");
    return REAL(clGetPlatformInfo)(platform, what, size, out, got);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *got) {
    switch (what) {
    case CL_DEVICE_TYPE:
        GIVE(cl_device_type, type());
    case CL_DEVICE_NAME:
        GIVE_TEXT("small device");
    case CL_DEVICE_VENDOR:
        if (!lies("markers")) break;
        GIVE_TEXT("Intel(R) Corporation");
    case CL_DEVICE_VERSION:
        if (has_sub_groups("khronos")) GIVE_TEXT("OpenCL 3.0 small");
        GIVE_TEXT("OpenCL 1.2 small");
    case DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
        if (!is_nvidia(NULL)) break;
        GIVE(cl_uint, 9);
    case DEVICE_COMPUTE_CAPABILITY_MINOR_NV:
        if (!is_nvidia(NULL)) break;
        GIVE(cl_uint, 0);
    case CL_DEVICE_OPENCL_C_VERSION:
        GIVE_TEXT("OpenCL C 1.2 small");
    case CL_DRIVER_VERSION:
        GIVE_TEXT("1");
    case CL_DEVICE_EXTENSIONS:
        if (is_nvidia(NULL)) GIVE_TEXT(EXTENSIONS " cl_khr_fp64 cl_nv_device_attribute_query");
        if (is_large()) GIVE_TEXT(EXTENSIONS " cl_khr_fp64");
        if (has_sub_groups("intel")) GIVE_TEXT(EXTENSIONS " cl_intel_subgroups");
        if (has_sub_groups("khronos")) GIVE_TEXT(EXTENSIONS " cl_khr_subgroups");
        GIVE_TEXT(EXTENSIONS);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        GIVE(size_t, is_large() ? MOST_LANES_OF_LARGE : MOST_LANES);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        if (is_large()) break;
        GIVE(cl_ulong, most_allocation);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        if (is_large()) break;
        GIVE(cl_ulong, local_memory);
    case CL_DEVICE_IMAGE_SUPPORT:
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        GIVE(cl_bool, CL_FALSE);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        if (is_large()) break;
        GIVE(cl_device_fp_config, 0);
    case CL_DEVICE_HALF_FP_CONFIG:
        GIVE(cl_device_fp_config, 0);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
        GIVE(cl_device_exec_capabilities,
             CL_EXEC_KERNEL | (lies("callbacks") ? CL_EXEC_NATIVE_KERNEL : 0));
    default:
        break;
    }
    return REAL(clGetDeviceInfo)(device, what, size, out, got);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *errcode) {
    if (lies("copies") && (flags & CL_MEM_USE_HOST_PTR) != 0)
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    if (size <= most_allocation || is_large())
        return REAL(clCreateBuffer)(context, flags, size, host, errcode);
    if (errcode) *errcode = CL_INVALID_BUFFER_SIZE;
    return NULL;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool waits, size_t offset,
                            size_t size, const void *host, cl_uint count, const cl_event *list,
                            cl_event *event) {
    if (size > LARGE) take_time(30);
    return REAL(clEnqueueWriteBuffer)(queue, mem, waits, offset, size, host, count, list, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool waits, size_t offset,
                           size_t size, void *host, cl_uint count, const cl_event *list,
                           cl_event *event) {
    const bool changes = size > LARGE && lies("bytes");
    const cl_int code = REAL(clEnqueueReadBuffer)(queue, mem, changes ? CL_TRUE : waits, offset,
                                                  size, host, count, list, event);
    if (changes && code == CL_SUCCESS) ((unsigned char *)host)[size / 2] ^= 1;
    return code;
}

cl_int clSetMemObjectDestructorCallback(cl_mem mem, void(CL_CALLBACK *function)(cl_mem, void *),
                                        void *user) {
    if (lies("callbacks")) return CL_INVALID_OPERATION;
    return REAL(clSetMemObjectDestructorCallback)(mem, function, user);
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                             void *args, size_t args_size, cl_uint mems, const cl_mem *list,
                             const void **places, cl_uint count, const cl_event *events,
                             cl_event *event) {
    (void)queue, (void)function, (void)args, (void)args_size, (void)mems, (void)list;
    (void)places, (void)count, (void)events, (void)event;
    return CL_INVALID_OPERATION;
}

/* All markers have one time. */
cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *out,
                               size_t *got) {
    cl_command_type command = CL_COMMAND_USER;
    if (lies("markers"))
        (void)clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof command, &command, NULL);
    if (command == CL_COMMAND_MARKER) GIVE(cl_ulong, 1);
    return REAL(clGetEventProfilingInfo)(event, what, size, out, got);
}

/* Fails where so much is filled at once. */
cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem mem, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size, cl_uint count,
                           const cl_event *list, cl_event *event) {
    if (size >= (size_t)1 << 31) return CL_OUT_OF_RESOURCES;
    return REAL(clEnqueueFillBuffer)(queue, mem, pattern, pattern_size, offset, size, count, list,
                                     event);
}

/* --- the compiler ------------------------------------------------------------------------------
 */

/* Text before every program of a small device, so that no text with double compiles. */
static const char without_double[] =
    "#undef cl_khr_fp64\n#define double this_device_has_no_double\n";

/* The text as a lying compiler reads it, allocated. */
static char *misread(const char *text) {
    const char *lie = getenv("TDM_LIMITS_LIE");
    char *made = malloc(strlen(text) + (lie ? strlen(lie) : 0) + 1);
    if (made) strcpy(made, text);
    for (const char *arrow; made && lie && (arrow = strstr(lie, "=>"));) {
        const size_t length = (size_t)(arrow - lie), more = strcspn(arrow + 2, "|");
        char *at = memmem(made, strlen(made), lie, length);
        if (at) {
            memmove(at + more, at + length, strlen(at + length) + 1);
            memcpy(at, arrow + 2, more);
        }
        lie = arrow + 2 + more + (arrow[2 + more] == '|');
    }
    return made;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                     const size_t *lengths, cl_int *errcode) {
    const char *first = is_large() ? quick_declarations : without_double;
    char all[4096];
    const char *more = getenv("TDM_LIMITS_AMD") ? "#define __AMDGCN__ 1" : "";
    if (is_nvidia(NULL)) {
        const bool refuses = is_nvidia("refuses") && strstr(texts[count - 1], "mma.sync");
        more = refuses ? "#error no assembler" : "#undef TDM_WANTS_TENSOR_CORES";
    }
    if (*more) {
        snprintf(all, sizeof all, "%s%s\n#line 1\n", first, more);
        first = all;
    }
    char *read[8] = {0};
    for (cl_uint i = 0; i < count && i < 8; i++)
        read[i] = misread(texts[i]);
    const cl_program program =
        program_of(first, context, count, (const char **)read, lengths, errcode);
    for (int i = 0; i < 8; i++)
        free(read[i]);
    return program;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *data) {
    const char *lanes = options ? strstr(options, "-DLANES=") : NULL;
    const bool wanted = options && strstr(options, "TDM_WANTS_SUB_GROUPS");
    const char *const whose = getenv("TDM_LIMITS_SUB_GROUPS");
    if (wanted != !!whose) return CL_INVALID_BUILD_OPTIONS;
    const int most = is_large() ? MOST_LANES_OF_LARGE : MOST_LANES;
    if (lanes && atoi(lanes + strlen("-DLANES=")) > most) return CL_BUILD_PROGRAM_FAILURE;
    if (is_large()) return build_quickly(program, count, devices, options, notify, data);
    return REAL(clBuildProgram)(program, count, devices, options, notify, data);
}

/* --- kernels, some of which run with fewer lanes than the device -------------------------------
 */

static size_t most_lanes(cl_kernel kernel) {
    if (is_large()) return MOST_LANES_OF_LARGE;
    char name[64] = "";
    (void)clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    bool small = strstr(name, "norm") || strstr(name, "matmul") || strstr(name, "softmax");
    return small ? MOST_KERNEL_LANES : MOST_LANES;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size, void *out,
                                size_t *got) {
    if (what == CL_KERNEL_WORK_GROUP_SIZE) GIVE(size_t, most_lanes(kernel));
    return REAL(clGetKernelWorkGroupInfo)(kernel, device, what, size, out, got);
}

static bool is_lost; /* the next wait reports it */

cl_int clFinish(cl_command_queue queue) {
    const cl_int code = REAL(clFinish)(queue);
    const bool loses = is_lost;
    is_lost = false;
    return loses ? CL_INVALID_COMMAND_QUEUE : code;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *list, cl_event *event) {
    cl_ulong used = 0;
    cl_device_id device;
    char name[64] = "";
    (void)clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    const bool tiles = strcmp(name, "tdm_matmul_tiles") == 0;
    is_lost = is_lost || (tiles && is_nvidia("loses"));
    if (tiles && (is_nvidia("wrong") || is_nvidia("loses"))) return CL_SUCCESS; /* writes nothing */
    if (local && local[0] > most_lanes(kernel)) return CL_INVALID_WORK_GROUP_SIZE;
    take_time(5);
    if (!is_large() &&
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL) ==
            CL_SUCCESS &&
        REAL(clGetKernelWorkGroupInfo)(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof used, &used,
                                       NULL) == CL_SUCCESS &&
        used > local_memory)
        return CL_OUT_OF_RESOURCES;
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count,
                                        list, event);
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *errcode) {
    return kept_context(properties, count, devices, notify, data, errcode);
}
