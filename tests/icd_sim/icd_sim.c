/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* OpenCL drivers that misbehave, for the real ICD loader: one source, and BEHAVIOUR selects a
 * library's fault. A driver that comes so far has one platform with one GPU whose memory is the
 * host's, accepts every program, and runs no kernel. Written against the OpenCL
 * specification and cl_khr_icd. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum behaviour {
    SILENT, /* only as above, so its results are wrong */
    LIST_ABORT,
    LIST_SEGV,
    LIST_HANG,
    LIST_EXIT,
    LIST_ANSWER, /* writes to the pipe on which the program's child answers */
    LIST_FLOOD,  /* writes without end, to both streams */
    PLATFORMS_1E9,
    DEVICES_1E9,
    NAME_1E18, /* bytes */
    CONTROL,   /* bytes in every text */
    NO_PLATFORM,
    NO_DEVICE,
    BUILD_ABORT,
    BUILD_SEGV,
    BUILD_HANG,
    BUILD_EXIT,
    FINISH_HANG,
    END_SEGV
};
#ifndef BEHAVIOUR
#error BEHAVIOUR is one of the above
#endif

/* Every object begins with the table that the loader calls through. */
struct object {
    const cl_icd_dispatch *dispatch;
    size_t size; /* of a buffer */
    unsigned char *bytes;
};
static const cl_icd_dispatch table;
static struct object platform = {&table, 0, NULL}, device = {&table, 0, NULL};

static void hang(void) {
    for (;;)
        pause();
}

/* By the signal also where a sanitizer would turn it into a report. */
static void crash(void) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

/* The last line is the message; the lines before it reach only a reader of standard error. */
static void last_words(const char *words) {
    fprintf(stderr, "a first line\n\033[31m%s\a\n", words);
    fflush(stderr);
}

static void flood(void) {
    for (;;) {
        puts("garbage\033[2J\n\t\\");
        fputs("garbage without an end of the line ", stderr);
    }
}

/* --- listing ---------------------------------------------------------------------------------- */

static cl_int answer(const void *value, size_t value_size, size_t size, void *out, size_t *got) {
    if (out && size < value_size) return CL_INVALID_VALUE;
    if (out) memcpy(out, value, value_size);
    if (got) *got = value_size;
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t size, void *out, size_t *got) {
    char marked[128];
    snprintf(marked, sizeof marked, "%s%s", text,
             BEHAVIOUR == CONTROL ? "\033[31m\r\n\x9b\x7f\xc2\x9b\xff" : "");
    if (BEHAVIOUR == NAME_1E18 && !out && got) *got = (size_t)1000000000 * 1000000000;
    if (BEHAVIOUR == NAME_1E18 && !out) return CL_SUCCESS;
    return answer(marked, strlen(marked) + 1, size, out, got);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id id, cl_platform_info what,
                                                  size_t size, void *out, size_t *got) {
    (void)id;
    static const char extensions[] = "cl_khr_icd", suffix[] = "SIM";
    switch (what) {
    case CL_PLATFORM_NAME:
        return answer_text("simulated platform", size, out, got);
    case CL_PLATFORM_VERSION:
        return answer_text("OpenCL 1.2 simulated 7.1", size, out, got);
    case CL_PLATFORM_EXTENSIONS:
        return answer(extensions, sizeof extensions, size, out, got);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return answer(suffix, sizeof suffix, size, out, got);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id id, cl_device_type type, cl_uint room,
                                         cl_device_id *list, cl_uint *count) {
    (void)id;
    (void)type;
    if (BEHAVIOUR == NO_DEVICE) return CL_DEVICE_NOT_FOUND;
    if (count) *count = BEHAVIOUR == DEVICES_1E9 ? 1000000000u : 1u;
    if (list && room > 0) list[0] = (cl_device_id)(void *)&device;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t size,
                                          void *out, size_t *got) {
    static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    static const cl_bool yes = CL_TRUE;
    static const cl_uint units = 4, alignment = 1024;
    static const size_t group = 256;
    static const cl_ulong memory = 1u << 30;
    static const cl_bitfield none = 0;
    (void)id;
    switch (what) {
    case CL_DEVICE_TYPE:
        return answer(&gpu, sizeof gpu, size, out, got);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
        return answer(&yes, sizeof yes, size, out, got);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return answer(&units, sizeof units, size, out, got);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return answer(&alignment, sizeof alignment, size, out, got);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return answer(&group, sizeof group, size, out, got);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return answer(&memory, sizeof memory, size, out, got);
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
    case CL_DEVICE_EXECUTION_CAPABILITIES:
        return answer(&none, sizeof none, size, out, got);
    case CL_DEVICE_NAME:
        return answer_text("simulated device", size, out, got);
    case CL_DEVICE_VERSION:
        return answer("OpenCL 1.2", sizeof "OpenCL 1.2", size, out, got);
    case CL_DRIVER_VERSION:
        return answer_text("7.1", size, out, got);
    case CL_DEVICE_PROFILE:
        return answer("FULL_PROFILE", sizeof "FULL_PROFILE", size, out, got);
    case CL_DEVICE_VENDOR:
    case CL_DEVICE_EXTENSIONS:
        return answer("", 1, size, out, got);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL get_platform_ids(cl_uint room, cl_platform_id *list, cl_uint *count) {
    switch (BEHAVIOUR) {
    case LIST_ABORT:
        last_words("cannot open the topology");
        abort();
    case LIST_SEGV:
        crash();
        break;
    case LIST_HANG:
        hang();
        break;
    case LIST_EXIT:
        exit(0);
    case LIST_ANSWER:
        if (write(3, "end\n", 4) < 0) abort();
        break;
    case LIST_FLOOD:
        flood();
        break;
    case NO_PLATFORM:
        if (count) *count = 0;
        return CL_PLATFORM_NOT_FOUND_KHR;
    default:
        break;
    }
    if (count) *count = BEHAVIOUR == PLATFORMS_1E9 ? 1000000000u : 1u;
    if (list && room > 0) list[0] = (cl_platform_id)(void *)&platform;
    return CL_SUCCESS;
}

/* --- work ------------------------------------------------------------------------------------- */

static void *make(size_t size, cl_int *code) {
    struct object *made = calloc(1, sizeof *made);
    if (made) *made = (struct object){&table, size, calloc(size + 1, 1)};
    if (code) *code = made && made->bytes ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return made;
}

static cl_int unmake(void *object) {
    free(((struct object *)object)->bytes);
    free(object);
    return CL_SUCCESS;
}

static unsigned char *bytes_of(cl_mem mem) { return ((struct object *)(void *)mem)->bytes; }

static cl_int make_event(cl_event *event) {
    if (event) *event = make(0, NULL);
    return CL_SUCCESS;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *list,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *data, cl_int *code) {
    (void)properties, (void)count, (void)list, (void)notify, (void)data;
    return make(0, code);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id id,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code) {
    (void)context, (void)id, (void)properties;
    return make(0, code);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *code) {
    (void)context, (void)flags, (void)host;
    return make(size, code);
}

static cl_int CL_API_CALL release_context(cl_context object) { return unmake(object); }
static cl_int CL_API_CALL release_queue(cl_command_queue object) { return unmake(object); }
static cl_int CL_API_CALL release_mem(cl_mem object) { return unmake(object); }
static cl_int CL_API_CALL release_event(cl_event object) { return unmake(object); }
static cl_int CL_API_CALL release_program(cl_program object) { return unmake(object); }
static cl_int CL_API_CALL release_kernel(cl_kernel object) { return unmake(object); }

static cl_int CL_API_CALL flush(cl_command_queue queue) {
    (void)queue;
    return CL_SUCCESS;
}

static bool has_kernel; /* one was launched */

static cl_int CL_API_CALL finish(cl_command_queue queue) {
    (void)queue;
    if (BEHAVIOUR == FINISH_HANG && has_kernel) hang();
    return CL_SUCCESS;
}

static cl_int CL_API_CALL migrate(cl_command_queue queue, cl_uint count, const cl_mem *list,
                                  cl_mem_migration_flags flags, cl_uint waits,
                                  const cl_event *wait_list, cl_event *event) {
    (void)queue, (void)count, (void)list, (void)flags, (void)waits, (void)wait_list;
    return make_event(event);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                       size_t offset, size_t size, const void *source,
                                       cl_uint waits, const cl_event *wait_list, cl_event *event) {
    (void)queue, (void)blocking, (void)waits, (void)wait_list;
    memcpy(bytes_of(mem) + offset, source, size);
    return make_event(event);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                      size_t offset, size_t size, void *target, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event) {
    (void)queue, (void)blocking, (void)waits, (void)wait_list;
    memcpy(target, bytes_of(mem) + offset, size);
    return make_event(event);
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_list,
                                 cl_event *event) {
    (void)queue, (void)waits, (void)wait_list;
    return make_event(event);
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size, void *out,
                                         size_t *got) {
    static const cl_int complete = CL_COMPLETE;
    (void)event, (void)what;
    return answer(&complete, sizeof complete, size, out, got);
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *code) {
    (void)context, (void)count, (void)texts, (void)lengths;
    return make(0, code);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *list,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                void *data) {
    (void)program, (void)count, (void)list, (void)options, (void)notify, (void)data;
    if (BEHAVIOUR == BUILD_ABORT) {
        last_words("LLVM ERROR: inline asm");
        abort();
    }
    if (BEHAVIOUR == BUILD_SEGV) crash();
    if (BEHAVIOUR == BUILD_HANG) hang();
    if (BEHAVIOUR == BUILD_EXIT) exit(3);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info what, size_t size,
                                           void *out, size_t *got) {
    (void)program, (void)what, (void)size, (void)out, (void)got;
    return CL_INVALID_VALUE; /* no binary to be kept */
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id id,
                                         cl_program_build_info what, size_t size, void *out,
                                         size_t *got) {
    (void)program, (void)id, (void)what;
    return answer("", 1, size, out, got);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code) {
    (void)program, (void)name;
    return make(0, code);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size,
                                       const void *value) {
    (void)kernel, (void)index, (void)size, (void)value;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_group_info(cl_kernel kernel, cl_device_id id,
                                         cl_kernel_work_group_info what, size_t size, void *out,
                                         size_t *got) {
    static const size_t group = 256;
    (void)kernel, (void)id, (void)what;
    return answer(&group, sizeof group, size, out, got);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                 const size_t *offset, const size_t *global, const size_t *local,
                                 cl_uint waits, const cl_event *wait_list, cl_event *event) {
    (void)queue, (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local;
    (void)waits, (void)wait_list;
    has_kernel = true;
    return make_event(event);
}

__attribute__((destructor)) static void end(void) {
    if (BEHAVIOUR == END_SEGV) crash();
}

/* --- the table -------------------------------------------------------------------------------- */

static const cl_icd_dispatch table = {
    .clGetPlatformIDs = get_platform_ids,
    .clGetPlatformInfo = clGetPlatformInfo,
    .clGetDeviceIDs = get_device_ids,
    .clGetDeviceInfo = get_device_info,
    .clCreateContext = create_context,
    .clReleaseContext = release_context,
    .clCreateCommandQueue = create_queue,
    .clReleaseCommandQueue = release_queue,
    .clFlush = flush,
    .clFinish = finish,
    .clCreateBuffer = create_buffer,
    .clReleaseMemObject = release_mem,
    .clEnqueueMigrateMemObjects = migrate,
    .clEnqueueWriteBuffer = write_buffer,
    .clEnqueueReadBuffer = read_buffer,
    .clEnqueueMarkerWithWaitList = marker,
    .clGetEventInfo = get_event_info,
    .clReleaseEvent = release_event,
    .clCreateProgramWithSource = create_program,
    .clBuildProgram = build,
    .clGetProgramInfo = get_program_info,
    .clGetProgramBuildInfo = get_build_info,
    .clReleaseProgram = release_program,
    .clCreateKernel = create_kernel,
    .clReleaseKernel = release_kernel,
    .clSetKernelArg = set_argument,
    .clGetKernelWorkGroupInfo = get_group_info,
    .clEnqueueNDRangeKernel = launch,
};

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    cl_int(CL_API_CALL * function)(cl_uint, cl_platform_id *, cl_uint *) = get_platform_ids;
    void *address = NULL;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) memcpy(&address, &function, sizeof address);
    return address;
}
