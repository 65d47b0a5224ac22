/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines of the opencl backend: CLBlast, raw copies and raw enqueues, in a context of our own on
 * the same device. A device that is the host's cores is compared with the host's CBLAS and copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>
#include <clblast_c.h>

#include "baselines/baseline.h"
#include "baselines/library.h"
#include "platform/threads.h"
#include "system_names.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

#define CL_FUNCTIONS(X)                                                                            \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateBuffer)                                                                              \
    X(clReleaseMemObject)                                                                          \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueCopyBuffer)                                                                         \
    X(clEnqueueMapBuffer)                                                                          \
    X(clFinish)                                                                                    \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clSetKernelArg)                                                                              \
    X(clEnqueueNDRangeKernel)

#define BLAS_FUNCTIONS(X)                                                                          \
    X(CLBlastSgemm)                                                                                \
    X(CLBlastDgemm)                                                                                \
    X(CLBlastHgemm)                                                                                \
    X(CLBlastSgemmStridedBatched)                                                                  \
    X(CLBlastDgemmStridedBatched)                                                                  \
    X(CLBlastHgemmStridedBatched)

#define MEMBER(name) __typeof__(name) *name;
static struct {
    tdmi_once once;
    bool usable, blas_usable;
    char why[BENCH_WHY_SIZE], blas_why[BENCH_WHY_SIZE];
    CL_FUNCTIONS(MEMBER)
    BLAS_FUNCTIONS(MEMBER)
} cl = {.once = TDMI_ONCE_INIT};
#undef MEMBER

static void load(void) {
    static const char *const names[] = {TDMI_NAMES_OPENCL, NULL};
    static const char *const blas_names[] = {TDMI_NAMES_CLBLAST, NULL};
    void *library = bench_open_library(names, NULL, cl.why);
#define RESOLVE(name) &&bench_resolve(library, #name, &cl.name, cl.why)
    cl.usable = library CL_FUNCTIONS(RESOLVE);
#undef RESOLVE
    library = cl.usable ? bench_open_library(blas_names, NULL, cl.blas_why) : NULL;
#define RESOLVE(name) &&bench_resolve(library, #name, &cl.name, cl.blas_why)
    cl.blas_usable = library BLAS_FUNCTIONS(RESOLVE);
#undef RESOLVE
}

/* How many devices with this platform and name Tandem lists before this one. */
static int count_same_before(const tdm_device_info *info) {
    size_t count;
    const tdm_device_info *other;
    int same = 0;
    if (tdm_get_device_count(&count) != TDM_OK) return 0;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_listed_device(i, &other) != TDM_OK || other == info) break;
        same += other->backend == info->backend && strcmp(other->name, info->name) == 0 &&
                strcmp(other->platform, info->platform) == 0;
    }
    return same;
}

/* The device of Tandem's info: the same platform and name, and as many such before it. */
static cl_device_id find_device(const bench_request *request) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint platform_count = 0;
    if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS) return NULL;
    if (platform_count > MAX_PLATFORMS) platform_count = MAX_PLATFORMS;
    int same = count_same_before(request->device);
    for (cl_uint p = 0; p < platform_count; p++) {
        char text[256] = "";
        cl.clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof text, text, NULL);
        if (strncmp(text, request->device->platform, sizeof request->device->platform - 1) != 0)
            continue;
        cl_device_id devices[MAX_DEVICES];
        cl_uint count = 0;
        if (cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count) !=
            CL_SUCCESS)
            continue;
        for (cl_uint d = 0; d < count && d < MAX_DEVICES; d++) {
            char name[256] = "";
            cl.clGetDeviceInfo(devices[d], CL_DEVICE_NAME, sizeof name, name, NULL);
            if (strncmp(name, request->device->name, sizeof request->device->name - 1) == 0 &&
                same-- == 0)
                return devices[d];
        }
    }
    return NULL;
}

/* A context, a queue, and the buffers and kernels of all kinds of baselines. */
typedef struct raw {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem *memory; /* [sets * per_set] */
    unsigned sets, per_set;
    cl_mem pinned; /* mapped at host */
    void *host;
    size_t bytes; /* of a copy */
    bench_baseline_kind kind;
    /* gemm */
    tdm_dtype dtype;
    size_t m, n, k, batch;
    bool transpose_b;
} raw;

static void destroy(void *state) {
    raw *r = state;
    if (r->queue) cl.clFinish(r->queue);
    if (r->kernel) cl.clReleaseKernel(r->kernel);
    if (r->program) cl.clReleaseProgram(r->program);
    for (unsigned i = 0; r->memory && i < r->sets * r->per_set; i++)
        if (r->memory[i]) cl.clReleaseMemObject(r->memory[i]);
    if (r->pinned) cl.clReleaseMemObject(r->pinned);
    if (r->queue) cl.clReleaseCommandQueue(r->queue);
    if (r->context) cl.clReleaseContext(r->context);
    free(r->memory);
    free(r);
}

static bool finish(void *state) {
    const raw *r = state;
    return cl.clFinish(r->queue) == CL_SUCCESS;
}

/* Buffers of `count` sizes, for each set; content from data where given, else zeros. */
static bool make_buffers(raw *r, unsigned count, const size_t *sizes, const void *const *data) {
    r->per_set = count;
    r->memory = calloc((size_t)r->sets * count, sizeof *r->memory);
    if (!r->memory) return false;
    for (unsigned i = 0; i < r->sets * count; i++) {
        const size_t size = sizes[i % count];
        void *zeros = data[i % count] ? NULL : calloc(1, size);
        cl_int status;
        r->memory[i] = cl.clCreateBuffer(r->context, CL_MEM_READ_WRITE, size, NULL, &status);
        const void *source = data[i % count] ? data[i % count] : zeros;
        bool good = r->memory[i] && source &&
                    cl.clEnqueueWriteBuffer(r->queue, r->memory[i], CL_TRUE, 0, size, source, 0,
                                            NULL, NULL) == CL_SUCCESS;
        free(zeros);
        if (!good) return false;
    }
    return true;
}

static bool call_gemm(void *state, unsigned set) {
    raw *r = state;
    const cl_mem a = r->memory[3 * set], b = r->memory[3 * set + 1], c = r->memory[3 * set + 2];
    const CLBlastTranspose tb = r->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = r->m, n = r->n, k = r->k, ldb = r->transpose_b ? k : n;
    const cl_half one = 0x3c00;
/* of the transposed matrices in columns, for which CLBlast needs no temporary as large as C */
#define GEMM(letter, alpha, beta)                                                                  \
    (r->batch == 1                                                                                 \
         ? cl.CLBlast##letter##gemm(CLBlastLayoutColMajor, tb, CLBlastTransposeNo, n, m, k, alpha, \
                                    b, 0, ldb, a, 0, k, beta, c, 0, n, &r->queue, NULL)            \
         : cl.CLBlast##letter##gemmStridedBatched(                                                 \
               CLBlastLayoutColMajor, tb, CLBlastTransposeNo, n, m, k, alpha, b, 0, ldb, k * n, a, \
               0, k, m * k, beta, c, 0, n, m * n, r->batch, &r->queue, NULL)) == CLBlastSuccess
    if (r->dtype == TDM_F64) return GEMM(D, 1.0, 0.0);
    if (r->dtype == TDM_F16) return GEMM(H, one, 0);
    return GEMM(S, 1.0f, 0.0f);
#undef GEMM
}

static bool create_gemm(raw *r, const bench_request *request, bench_baseline *baseline, char *why) {
    const bench_shape *shape = &request->shape;
    if (!cl.blas_usable || request->dtype == TDM_BF16 ||
        (request->dtype == TDM_F16 && !request->device->has_f16)) {
        snprintf(why, BENCH_WHY_SIZE, "%s",
                 cl.blas_usable ? "CLBlast has no product of this dtype on this device"
                                : cl.blas_why);
        return false;
    }
    r->dtype = request->dtype;
    r->batch = (size_t)shape->batch;
    r->m = (size_t)shape->extent[0];
    r->n = (size_t)shape->extent[1];
    r->k = (size_t)shape->extent[2];
    r->transpose_b = request->transpose_b;
    baseline->call = call_gemm;
    snprintf(baseline->name, sizeof baseline->name, "CLBlast %cgemm%s",
             request->dtype == TDM_F64   ? 'D'
             : request->dtype == TDM_F16 ? 'H'
                                         : 'S',
             shape->batch > 1 ? "StridedBatched" : "");
    snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
    return make_buffers(r, 3, request->bytes, request->input);
}

static bool call_copy(void *state, unsigned set) {
    const raw *r = state;
    const cl_mem first = r->memory[set * r->per_set];
    cl_int status;
    if (r->kind == BENCH_BASELINE_H2D)
        status = cl.clEnqueueWriteBuffer(r->queue, first, CL_FALSE, 0, r->bytes,
                                         (char *)r->host + set * r->bytes, 0, NULL, NULL);
    else if (r->kind == BENCH_BASELINE_D2H)
        status = cl.clEnqueueReadBuffer(r->queue, first, CL_FALSE, 0, r->bytes,
                                        (char *)r->host + set * r->bytes, 0, NULL, NULL);
    else
        status = cl.clEnqueueCopyBuffer(r->queue, first, r->memory[set * r->per_set + 1], 0, 0,
                                        r->bytes, 0, NULL, NULL);
    return status == CL_SUCCESS;
}

static bool make_copy(raw *r, bool on_device, const void *source) {
    const size_t sizes[2] = {r->bytes, r->bytes};
    const void *const data[2] = {source, NULL};
    if (!make_buffers(r, on_device ? 2 : 1, sizes, data)) return false;
    if (!on_device) {
        const size_t all = r->bytes * r->sets;
        cl_int status;
        r->pinned = cl.clCreateBuffer(r->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, all,
                                      NULL, &status);
        if (!r->pinned) return false;
        r->host = cl.clEnqueueMapBuffer(r->queue, r->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                        all, 0, NULL, NULL, &status);
        if (!r->host) return false;
        for (unsigned set = 0; set < r->sets; set++)
            memcpy((char *)r->host + set * r->bytes, source, r->bytes);
    }
    return true;
}

/* Copies of the API; on a GPU also the stand-in for memory-bound work: half its bytes in and out. */
static bool create_copy(raw *r, const bench_request *request, bench_baseline *baseline, char *why) {
    const size_t bytes = (request->bytes_in + request->bytes_out) / 2;
    const bool on_device = request->kind == BENCH_BASELINE_D2D || r->kind == BENCH_BASELINE_MOVE;
    r->bytes = bytes ? bytes : 1;
    snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
    void *source = bench_make_source(request, r->bytes);
    const bool good = source && make_copy(r, on_device, source);
    free(source);
    if (!good) return false;
    baseline->call = call_copy;
    snprintf(baseline->name, sizeof baseline->name, "%s",
             on_device                       ? "clEnqueueCopyBuffer"
             : r->kind == BENCH_BASELINE_H2D ? "clEnqueueWriteBuffer"
                                             : "clEnqueueReadBuffer");
    return true;
}

static const char kernels[] =
    "kernel void store_one(global float *y) { y[0] = 0.375f; }\n"
    "kernel void layer_norm(global const float *x, global const float *weight,\n"
    "                       global const float *bias, global float *y, int cols) {\n"
    "    size_t row = get_global_id(0);\n"
    "    x += row * cols;\n"
    "    y += row * cols;\n"
    "    float sum = 0.0f, squares = 0.0f;\n"
    "    for (int i = 0; i < cols; i++) sum += x[i];\n"
    "    float mean = sum / cols;\n"
    "    for (int i = 0; i < cols; i++) squares += (x[i] - mean) * (x[i] - mean);\n"
    "    float factor = 1.0f / sqrt(squares / cols + 1e-5f);\n"
    "    for (int i = 0; i < cols; i++) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];\n"
    "}\n";

/* The arguments are set once: a raw program that repeats a call need not set them again. */
static bool call_kernel(void *state, unsigned set) {
    (void)set;
    const raw *r = state;
    const size_t global = r->m, local = 1;
    return cl.clEnqueueNDRangeKernel(r->queue, r->kernel, 1, NULL, &global, &local, 0, NULL,
                                     NULL) == CL_SUCCESS;
}

static bool call_kernel_finish(void *state, unsigned set) {
    return call_kernel(state, set) && finish(state);
}

/* OpenCL itself has no graphs. */
static bool call_kernels(void *state, unsigned set) {
    const raw *r = state;
    bool good = true;
    for (size_t i = 0; i < r->n && good; i++)
        good = call_kernel(state, set);
    return good && finish(state);
}

static bool create_kernel(raw *r, const bench_request *request, bench_baseline *baseline,
                          cl_device_id device, char *why) {
    const bool norm = r->kind == BENCH_BASELINE_LAYER_NORM;
    const char *text = kernels;
    cl_int status;
    const unsigned buffers = (unsigned)request->operands;
    snprintf(why, BENCH_WHY_SIZE, "the baseline's kernel cannot be built");
    r->sets = 1;
    if (!make_buffers(r, buffers, request->bytes, request->input)) return false;
    r->program = cl.clCreateProgramWithSource(r->context, 1, &text, NULL, &status);
    if (!r->program || cl.clBuildProgram(r->program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return false;
    r->kernel = cl.clCreateKernel(r->program, norm ? "layer_norm" : "store_one", &status);
    if (!r->kernel) return false;
    const cl_int cols = (cl_int)request->shape.extent[1];
    for (unsigned i = 0; i < buffers; i++)
        if (cl.clSetKernelArg(r->kernel, i, sizeof(cl_mem), &r->memory[i]) != CL_SUCCESS)
            return false;
    if (norm && cl.clSetKernelArg(r->kernel, buffers, sizeof cols, &cols) != CL_SUCCESS)
        return false;
    r->m = norm ? (size_t)request->shape.extent[0] : 1;
    baseline->call = r->kind == BENCH_BASELINE_EMPTY_FINISH ? call_kernel_finish : call_kernel;
    snprintf(baseline->name, sizeof baseline->name, "raw enqueue%s",
             r->kind == BENCH_BASELINE_EMPTY_FINISH ? " + finish" : "");
    if (r->kind != BENCH_BASELINE_GRAPH) return true;
    r->n = (size_t)request->shape.extent[0];
    baseline->call = call_kernels;
    snprintf(baseline->name, sizeof baseline->name, "raw enqueues + finish");
    return true;
}

static bool create_raw(raw *r, const bench_request *request, bench_baseline *baseline, char *why) {
    cl_device_id device = find_device(request);
    cl_int status;
    snprintf(why, BENCH_WHY_SIZE, "the raw device cannot be opened");
    if (!device) return false;
    r->context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (!r->context) return false;
    r->queue = cl.clCreateCommandQueue(r->context, device, 0, &status);
    if (!r->queue) return false;
    switch (r->kind) {
    case BENCH_BASELINE_GEMM:
        return create_gemm(r, request, baseline, why);
    case BENCH_BASELINE_EMPTY:
    case BENCH_BASELINE_EMPTY_FINISH:
    case BENCH_BASELINE_GRAPH:
    case BENCH_BASELINE_LAYER_NORM:
        return create_kernel(r, request, baseline, device, why);
    default:
        return create_copy(r, request, baseline, why);
    }
}

static bool create(const bench_request *request, bench_baseline *baseline, char *why) {
    const bench_baseline_kind kind = request->kind;
    if (request->device->type == TDM_DEVICE_CPU) {
        if (kind == BENCH_BASELINE_GEMM) return bench_host_gemm_create(request, baseline, why);
        if (kind == BENCH_BASELINE_MOVE) return bench_host_move_create(request, baseline, why);
    }
    tdmi_once_run(&cl.once, load);
    if (!cl.usable) {
        snprintf(why, BENCH_WHY_SIZE, "%s", cl.why);
        return false;
    }
    raw *r = calloc(1, sizeof *r);
    if (!r) return false;
    r->kind = kind;
    r->sets = request->sets;
    bench_baseline made = {.state = r, .finish = finish, .destroy = destroy};
    if (!create_raw(r, request, &made, why)) {
        destroy(r);
        return false;
    }
    *baseline = made;
    return true;
}

static void describe(json_t *libraries) {
    tdmi_once_run(&cl.once, load);
    json_object_set_new(libraries, "opencl", json_string(cl.usable ? TDMI_NAMES_OPENCL : cl.why));
    json_object_set_new(libraries, "clblast",
                        json_string(cl.blas_usable ? TDMI_NAMES_CLBLAST : cl.blas_why));
}

extern const bench_vendor bench_vendor_opencl;
const bench_vendor bench_vendor_opencl = {TDM_OPENCL, create, describe};
