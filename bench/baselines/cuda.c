/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines of the cuda backend: cuBLAS, raw copies and raw launches, on a stream of our own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cuda/declarations.h"
#include "baselines/baseline.h"
#include "baselines/cuda_lt.h"
#include "baselines/library.h"
#include "platform/library.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "system_names.h"

#define RUNTIME_FUNCTIONS(X)                                                                       \
    X(cudaSetDevice)                                                                               \
    X(cudaStreamCreateWithFlags)                                                                   \
    X(cudaStreamDestroy)                                                                           \
    X(cudaStreamSynchronize)                                                                       \
    X(cudaMalloc)                                                                                  \
    X(cudaFree)                                                                                    \
    X(cudaHostAlloc)                                                                               \
    X(cudaFreeHost)                                                                                \
    X(cudaMemcpyAsync)                                                                             \
    X(cudaMemsetAsync)                                                                             \
    X(cudaRuntimeGetVersion)

/* Modules and launches: the runtime has its own only since CUDA 12.8. */
#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleGetFunction)                                                                         \
    X(cuModuleUnload)                                                                              \
    X(cuLaunchKernel)                                                                              \
    X(cuStreamBeginCapture_v2)                                                                     \
    X(cuStreamEndCapture)                                                                          \
    X(cuGraphInstantiateWithFlags)                                                                 \
    X(cuGraphLaunch)                                                                               \
    X(cuGraphDestroy)                                                                              \
    X(cuGraphExecDestroy)

#define BLAS_FUNCTIONS(X)                                                                          \
    X(cublasCreate_v2)                                                                             \
    X(cublasDestroy_v2)                                                                            \
    X(cublasSetStream_v2)                                                                          \
    X(cublasGetProperty)                                                                           \
    X(cublasGemmEx)                                                                                \
    X(cublasGemmStridedBatchedEx)

#define RTC_FUNCTIONS(X)                                                                           \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcDestroyProgram)

#define MEMBER(name) __typeof__(name) *name;
static struct {
    tdmi_once once;
    bool usable, blas_usable, lt_usable, rtc_usable;
    char why[BENCH_WHY_SIZE], blas_why[BENCH_WHY_SIZE], rtc_why[BENCH_WHY_SIZE];
    RUNTIME_FUNCTIONS(MEMBER)
    DRIVER_FUNCTIONS(MEMBER)
    BLAS_FUNCTIONS(MEMBER)
    RTC_FUNCTIONS(MEMBER)
} cu = {.once = TDMI_ONCE_INIT};
#undef MEMBER

static void *open_cuda(const char *name, char *why) {
    static const char *const folders[] = {TDMI_CUDA_FOLDERS, NULL};
    const char *const names[] = {name, NULL};
    return bench_open_library(names, folders, why);
}

/* The libraries of one version of CUDA. */
typedef struct library_names {
    const char *runtime, *nvrtc, *cublaslt, *cublas;
} library_names;

/* Of the version that Tandem has opened already, else the newest that is there. */
static void *open_runtime(const library_names **found) {
    static const library_names versions[] = {
#define ROW(major, runtime, nvrtc, cublaslt, cublas) {runtime, nvrtc, cublaslt, cublas},
        TDMI_CUDA_VERSIONS(ROW)};
#undef ROW
    const size_t count = sizeof versions / sizeof *versions;
    void *library = NULL;
    unsigned ignored;
    for (size_t i = 0; i < 2 * count && !library; i++) {
        *found = &versions[i % count];
        library = i < count
                      ? tdmi_library_load((*found)->runtime, TDMI_LOAD_LOADED, &ignored, NULL, 0)
                      : open_cuda((*found)->runtime, cu.why);
    }
    return library;
}

static void load(void) {
    const library_names *found = NULL;
    void *library = open_runtime(&found);
#define RESOLVE(name) &&bench_resolve(library, #name, &cu.name, cu.why)
    cu.usable = library RUNTIME_FUNCTIONS(RESOLVE);
#undef RESOLVE
    library = cu.usable ? open_cuda(found->cublas, cu.blas_why) : NULL;
#define RESOLVE(name) &&bench_resolve(library, #name, &cu.name, cu.blas_why)
    cu.blas_usable = library BLAS_FUNCTIONS(RESOLVE);
#undef RESOLVE
    char ignored[BENCH_WHY_SIZE];
    unsigned failure;
    cu.lt_usable = cu.blas_usable && bench_lt_load(open_cuda(found->cublaslt, ignored), ignored);
    library = cu.usable ? open_cuda(found->nvrtc, cu.rtc_why) : NULL;
    /* by name alone: the runtime has opened it, and there must not be another */
    void *driver = library ? tdmi_library_load(TDMI_NAMES_CUDA_DRIVER, TDMI_LOAD_SYSTEM, &failure,
                                               cu.rtc_why, sizeof cu.rtc_why)
                           : NULL;
#define RESOLVE(name) &&bench_resolve(library, #name, &cu.name, cu.rtc_why)
#define RESOLVE_DRIVER(name) &&bench_resolve(driver, #name, &cu.name, cu.rtc_why)
    cu.rtc_usable = driver RTC_FUNCTIONS(RESOLVE) DRIVER_FUNCTIONS(RESOLVE_DRIVER);
#undef RESOLVE_DRIVER
#undef RESOLVE
}

typedef struct raw {
    cudaStream_t stream;
    cublasHandle_t blas;
    CUmodule module;
    CUfunction kernel;
    CUgraphExec graph;
    char *memory[BENCH_MAX_OPERANDS]; /* all sets */
    size_t bytes[BENCH_MAX_OPERANDS]; /* from one set to the next */
    size_t size;                      /* of a copy */
    char *host;                       /* pinned, all sets */
    bench_baseline_kind kind;
    /* gemm */
    bench_lt_product product;
    bench_lt lt;
    int algorithm; /* of cuBLASLt; -1: cuBLAS's own choice */
    /* kernel */
    void *arguments[BENCH_MAX_OPERANDS + 1];
    int cols;
    unsigned groups;
} raw;

static void destroy(void *state) {
    raw *r = state;
    if (r->stream) cu.cudaStreamSynchronize(r->stream);
    if (r->blas) cu.cublasDestroy_v2(r->blas);
    if (cu.lt_usable) bench_lt_end(&r->lt);
    if (r->graph) cu.cuGraphExecDestroy(r->graph);
    if (r->module) cu.cuModuleUnload(r->module);
    for (int i = 0; i < BENCH_MAX_OPERANDS; i++)
        if (r->memory[i]) cu.cudaFree(r->memory[i]);
    if (r->host) cu.cudaFreeHost(r->host);
    if (r->stream) cu.cudaStreamDestroy(r->stream);
    free(r);
}

static bool finish(void *state) {
    const raw *r = state;
    return cu.cudaStreamSynchronize(r->stream) == cudaSuccess;
}

enum { ALIGNMENT = 256 };

static bool make_buffer(raw *r, int i, size_t size, unsigned sets, const void *data) {
    void *memory;
    /* each set is as aligned as the first */
    const size_t bytes = r->bytes[i] = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (cu.cudaMalloc(&memory, bytes * sets) != cudaSuccess) return false;
    r->memory[i] = memory;
    if (!data) return cu.cudaMemsetAsync(memory, 0, bytes * sets, r->stream) == cudaSuccess;
    for (unsigned set = 0; set < sets; set++)
        if (cu.cudaMemcpyAsync(r->memory[i] + set * bytes, data, size, cudaMemcpyHostToDevice,
                               r->stream) != cudaSuccess)
            return false;
    return finish(r);
}

enum { WORKSPACE = 3 }; /* after A, B and C */

/* Row-major C = A B is column-major Cᵀ = Bᵀ Aᵀ. */
static bool call_gemm(void *state, unsigned set) {
    const raw *r = state;
    const bench_lt_product *p = &r->product;
    const double one_f64 = 1.0, zero_f64 = 0.0;
    const float one_f32 = 1.0f, zero_f32 = 0.0f;
    const bool is_double = p->type == CUDA_R_64F;
    const void *one = is_double ? (const void *)&one_f64 : (const void *)&one_f32;
    const void *zero = is_double ? (const void *)&zero_f64 : (const void *)&zero_f32;
    const cublasOperation_t tb = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int ldb = p->transpose_b ? p->k : p->n;
    const void *a = r->memory[0] + set * r->bytes[0], *b = r->memory[1] + set * r->bytes[1];
    void *c = r->memory[2] + set * r->bytes[2];
    if (r->algorithm >= 0)
        return bench_lt_multiply(&r->lt, r->algorithm, one, zero, a, b, c, r->memory[WORKSPACE],
                                 r->stream);
    if (p->batch == 1)
        return cu.cublasGemmEx(r->blas, tb, CUBLAS_OP_N, p->n, p->m, p->k, one, b, p->type, ldb, a,
                               p->type, p->k, zero, c, p->type, p->n, p->compute,
                               CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
    return cu.cublasGemmStridedBatchedEx(r->blas, tb, CUBLAS_OP_N, p->n, p->m, p->k, one, b,
                                         p->type, ldb, (long long)p->k * p->n, a, p->type, p->k,
                                         (long long)p->m * p->k, zero, c, p->type, p->n,
                                         (long long)p->m * p->n, p->batch, p->compute,
                                         CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
}

static cudaDataType_t type_of(tdm_dtype dtype) {
    switch (dtype) {
    case TDM_F64:
        return CUDA_R_64F;
    case TDM_F16:
        return CUDA_R_16F;
    case TDM_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

/* Seconds of a call, of some milliseconds of them; a great many where it fails. */
static double try_gemm(raw *r, unsigned sets) {
    bench_timed timed = {.state = r, .call = call_gemm, .finish = finish, .sets = sets};
    double seconds = bench_sample(&timed, 1);
    if (seconds >= 0.0) seconds = bench_sample(&timed, 1);
    if (seconds >= 0.0 && seconds < 1e-3) seconds = bench_sample(&timed, (int)(2e-3 / seconds) + 1);
    return seconds < 0.0 ? 1e9 : seconds;
}

/* The fastest of cuBLAS's own choice and of the algorithms that cuBLASLt's heuristic names. */
static void choose_algorithm(raw *r, unsigned sets) {
    r->algorithm = -1;
    if (!cu.lt_usable || !make_buffer(r, WORKSPACE, BENCH_LT_WORKSPACE, 1, NULL) ||
        !bench_lt_begin(&r->lt, &r->product))
        return;
    double fastest = try_gemm(r, sets);
    int best = -1;
    for (r->algorithm = 0; r->algorithm < r->lt.count; r->algorithm++) {
        const double seconds = try_gemm(r, sets);
        if (seconds >= fastest) continue;
        fastest = seconds;
        best = r->algorithm;
    }
    r->algorithm = best;
}

static bool create_gemm(raw *r, const bench_request *request, bench_baseline *baseline, char *why) {
    const bench_shape *shape = &request->shape;
    if (!cu.blas_usable) {
        snprintf(why, BENCH_WHY_SIZE, "%s", cu.blas_why);
        return false;
    }
    const char *math = tdmi_environment_get("TANDEM_MATH");
    const bool tf32 = request->dtype == TDM_F32 && math && strcmp(math, "tf32") == 0;
    r->product = (bench_lt_product){.type = type_of(request->dtype),
                                    .compute = request->dtype == TDM_F64 ? CUBLAS_COMPUTE_64F
                                               : tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                      : CUBLAS_COMPUTE_32F,
                                    .m = (int)shape->extent[0],
                                    .n = (int)shape->extent[1],
                                    .k = (int)shape->extent[2],
                                    .batch = (int)shape->batch,
                                    .transpose_b = request->transpose_b};
    for (int i = 0; i < 3; i++)
        if (!make_buffer(r, i, request->bytes[i], request->sets, request->input[i])) return false;
    snprintf(why, BENCH_WHY_SIZE, "cublasCreate or cublasSetStream failed");
    if (cu.cublasCreate_v2(&r->blas) != CUBLAS_STATUS_SUCCESS ||
        cu.cublasSetStream_v2(r->blas, r->stream) != CUBLAS_STATUS_SUCCESS)
        return false;
    choose_algorithm(r, request->sets);
    baseline->call = call_gemm;
    snprintf(baseline->name, sizeof baseline->name, "%s%s",
             r->algorithm >= 0  ? "cublasLtMatmul"
             : shape->batch > 1 ? "cublasGemmStridedBatchedEx"
                                : "cublasGemmEx",
             tf32 ? " in TF32" : "");
    return true;
}

static bool call_copy(void *state, unsigned set) {
    const raw *r = state;
    const size_t bytes = r->size, stride = r->bytes[0];
    char *first = r->memory[0] + set * stride;
    cudaError_t status;
    if (r->kind == BENCH_BASELINE_H2D)
        status = cu.cudaMemcpyAsync(first, r->host + set * bytes, bytes, cudaMemcpyHostToDevice,
                                    r->stream);
    else if (r->kind == BENCH_BASELINE_D2H)
        status = cu.cudaMemcpyAsync(r->host + set * bytes, first, bytes, cudaMemcpyDeviceToHost,
                                    r->stream);
    else
        status = cu.cudaMemcpyAsync(r->memory[1] + set * stride, first, bytes,
                                    cudaMemcpyDeviceToDevice, r->stream);
    return status == cudaSuccess;
}

/* Copies of the API, and the stand-in for memory-bound work: half its bytes in and half out. */
static bool create_copy(raw *r, const bench_request *request, bench_baseline *baseline) {
    const size_t all = (request->bytes_in + request->bytes_out) / 2;
    const size_t bytes = all ? all : 1;
    const bool on_device = r->kind == BENCH_BASELINE_D2D || r->kind == BENCH_BASELINE_MOVE;
    r->size = bytes;
    void *host = NULL, *source = bench_make_source(request, bytes);
    const bool good = source && make_buffer(r, 0, bytes, request->sets, source) &&
                      (on_device ? make_buffer(r, 1, bytes, request->sets, NULL)
                                 : cu.cudaHostAlloc(&host, bytes * request->sets,
                                                    cudaHostAllocPortable) == cudaSuccess);
    r->host = host;
    for (unsigned set = 0; good && host && set < request->sets; set++)
        memcpy(r->host + set * bytes, source, bytes);
    free(source);
    if (!good) return false;
    baseline->call = call_copy;
    snprintf(baseline->name, sizeof baseline->name, "cudaMemcpyAsync %s",
             on_device                       ? "device to device"
             : r->kind == BENCH_BASELINE_H2D ? "host to device"
                                             : "device to host");
    return true;
}

static const char kernels[] =
    "extern \"C\" __global__ void store_one(float *y) { y[0] = 0.375f; }\n"
    "extern \"C\" __global__ void layer_norm(const float *x, const float *weight,\n"
    "                                      const float *bias, float *y, int cols) {\n"
    "    x += (size_t)blockIdx.x * cols;\n"
    "    y += (size_t)blockIdx.x * cols;\n"
    "    const int i = threadIdx.x;\n"
    "    const bool in = i < cols;\n"
    "    float sum = in ? x[i] : 0.0f;\n"
    "    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);\n"
    "    const float centred = in ? x[i] - sum / cols : 0.0f;\n"
    "    float squares = centred * centred;\n"
    "    for (int o = 16; o > 0; o /= 2) squares += __shfl_xor_sync(~0u, squares, o);\n"
    "    if (in) y[i] = centred * rsqrtf(squares / cols + 1e-5f) * weight[i] + bias[i];\n"
    "}\n";

static bool call_kernel(void *state, unsigned set) {
    (void)set;
    raw *r = state;
    return cu.cuLaunchKernel(r->kernel, r->groups, 1, 1, 32, 1, 1, 0, r->stream, r->arguments,
                             NULL) == CUDA_SUCCESS;
}

static bool call_kernel_finish(void *state, unsigned set) {
    return call_kernel(state, set) && finish(state);
}

static bool call_graph(void *state, unsigned set) {
    const raw *r = state;
    (void)set;
    return cu.cuGraphLaunch(r->graph, r->stream) == CUDA_SUCCESS && finish(state);
}

/* The launches of a stream that is captured. */
static bool make_graph(raw *r, int64_t nodes) {
    CUgraph graph = NULL;
    bool good =
        cu.cuStreamBeginCapture_v2(r->stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS;
    for (int64_t i = 0; i < nodes && good; i++)
        good = call_kernel(r, 0);
    good = cu.cuStreamEndCapture(r->stream, &graph) == CUDA_SUCCESS && good;
    good = good && cu.cuGraphInstantiateWithFlags(&r->graph, graph, 0) == CUDA_SUCCESS;
    if (graph) cu.cuGraphDestroy(graph);
    return good;
}

static bool build_kernel(raw *r, int capability, const char *name) {
    char option[48];
    snprintf(option, sizeof option, "--gpu-architecture=sm_%d", capability);
    const char *const options[] = {option};
    nvrtcProgram program;
    size_t size;
    if (cu.nvrtcCreateProgram(&program, kernels, "baseline.cu", 0, NULL, NULL) != NVRTC_SUCCESS)
        return false;
    char *cubin = NULL;
    bool good = cu.nvrtcCompileProgram(program, 1, options) == NVRTC_SUCCESS &&
                cu.nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS && (cubin = malloc(size)) &&
                cu.nvrtcGetCUBIN(program, cubin) == NVRTC_SUCCESS &&
                cu.cuModuleLoadData(&r->module, cubin) == CUDA_SUCCESS &&
                cu.cuModuleGetFunction(&r->kernel, r->module, name) == CUDA_SUCCESS;
    free(cubin);
    cu.nvrtcDestroyProgram(&program);
    return good;
}

static bool create_kernel(raw *r, const bench_request *request, bench_baseline *baseline,
                          char *why) {
    const bool norm = r->kind == BENCH_BASELINE_LAYER_NORM;
    if (!cu.rtc_usable) {
        snprintf(why, BENCH_WHY_SIZE, "%s", cu.rtc_why);
        return false;
    }
    snprintf(why, BENCH_WHY_SIZE, "the baseline's kernel cannot be built");
    if (!build_kernel(r, request->device->compute_capability, norm ? "layer_norm" : "store_one"))
        return false;
    const int buffers = request->operands;
    for (int i = 0; i < buffers; i++) {
        if (!make_buffer(r, i, request->bytes[i], 1, request->input[i])) return false;
        r->arguments[i] = &r->memory[i];
    }
    r->cols = (int)request->shape.extent[1];
    r->arguments[buffers] = &r->cols;
    r->groups = norm ? (unsigned)request->shape.extent[0] : 1;
    baseline->call = r->kind == BENCH_BASELINE_EMPTY_FINISH ? call_kernel_finish : call_kernel;
    snprintf(baseline->name, sizeof baseline->name, "raw launch%s",
             r->kind == BENCH_BASELINE_EMPTY_FINISH ? " + synchronise" : "");
    if (r->kind != BENCH_BASELINE_GRAPH) return true;
    baseline->call = call_graph;
    snprintf(baseline->name, sizeof baseline->name, "raw graph + synchronise");
    snprintf(why, BENCH_WHY_SIZE, "the baseline's graph cannot be made");
    return finish(r) && make_graph(r, request->shape.extent[0]);
}

static bool create_raw(raw *r, const bench_request *request, bench_baseline *baseline, char *why) {
    snprintf(why, BENCH_WHY_SIZE, "no memory or no stream for the baseline");
    if (cu.cudaSetDevice(request->device->index) != cudaSuccess ||
        cu.cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking) != cudaSuccess)
        return false;
    switch (r->kind) {
    case BENCH_BASELINE_GEMM:
        return create_gemm(r, request, baseline, why);
    case BENCH_BASELINE_EMPTY:
    case BENCH_BASELINE_EMPTY_FINISH:
    case BENCH_BASELINE_GRAPH:
    case BENCH_BASELINE_LAYER_NORM:
        return create_kernel(r, request, baseline, why);
    default:
        return create_copy(r, request, baseline);
    }
}

static bool create(const bench_request *request, bench_baseline *baseline, char *why) {
    tdmi_once_run(&cu.once, load);
    if (!cu.usable) {
        snprintf(why, BENCH_WHY_SIZE, "%s", cu.why);
        return false;
    }
    raw *r = calloc(1, sizeof *r);
    if (!r) return false;
    r->kind = request->kind;
    bench_baseline made = {.state = r, .finish = finish, .destroy = destroy};
    if (!create_raw(r, request, &made, why)) {
        destroy(r);
        return false;
    }
    *baseline = made;
    return true;
}

static void describe(json_t *libraries) {
    tdmi_once_run(&cu.once, load);
    int version = 0, major = 0, minor = 0;
    if (!cu.usable || cu.cudaRuntimeGetVersion(&version) != cudaSuccess) {
        json_object_set_new(libraries, "cuda", json_string(cu.why));
        return;
    }
    json_object_set_new(libraries, "cuda",
                        json_sprintf("%d.%d", version / 1000, version % 1000 / 10));
    if (cu.blas_usable && cu.cublasGetProperty(MAJOR_VERSION, &major) == CUBLAS_STATUS_SUCCESS &&
        cu.cublasGetProperty(MINOR_VERSION, &minor) == CUBLAS_STATUS_SUCCESS)
        json_object_set_new(libraries, "cublas", json_sprintf("%d.%d", major, minor));
    else
        json_object_set_new(libraries, "cublas", json_string(cu.blas_why));
}

extern const bench_vendor bench_vendor_cuda;
const bench_vendor bench_vendor_cuda = {TDM_CUDA, create, describe};
