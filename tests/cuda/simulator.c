/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The simulated CUDA machine reports defects that a real driver would forgive: each is made on purpose, by
 * calls of the runtime and the driver. Without these tests a simulator that sees nothing would look the same. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "simulated.h"

enum { SIZE = 1024 };
static cudaStream_t stream;
static char *memory;
static char host[2 * SIZE];

static void begin(void) {
    cuda_sim_count_reports();
    FINE(cudaSetDevice(0));
    FINE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    FINE(cudaMalloc((void **)&memory, SIZE));
}

static void end(void) {
    (void)cudaFree(memory);
    (void)cudaStreamDestroy(stream);
}

TestSuite(simulator, .init = begin, .fini = end);

Test(simulator, leaks) {
    void *kept, *pinned;
    FINE(cudaMalloc(&kept, 10));
    FINE(cudaHostAlloc(&pinned, 10, cudaHostAllocPortable));
    REPORTS(CHECK(cuda_sim_report_leaks() == 4, "memory twice, a stream, pinned memory"),
            "leaked|2 x device memory|1 x pinned memory|1 x stream");
    (void)cudaFree(kept);
    (void)cudaFreeHost(pinned);
    CHECK(cuda_sim_alive(CUDA_SIM_MEMORY) == 1 && cuda_sim_alive(CUDA_SIM_PINNED) == 0, "books");
}

Test(simulator, freeing) {
    void *gone;
    FINE(cudaMalloc(&gone, SIZE));
    FINE(cudaFree(gone));
    REPORTS(CHECK(cudaFree(gone) != cudaSuccess, "a double free"), "cudaFree|was freed");
    REPORTS((void)cudaFree(memory + 8), "cudaFree|not the start");
    REPORTS((void)cudaFree(host), "cudaFree|no device address");
    REPORTS((void)cudaFreeHost(memory), "cudaFreeHost|another kind");
    REPORTS((void)cudaMemcpyAsync(host, gone, 8, cudaMemcpyDeviceToHost, stream), "was freed");
}

Test(simulator, copying) {
    REPORTS((void)cudaMemcpyAsync(memory, host, SIZE + 1, cudaMemcpyHostToDevice, stream),
            "1025 bytes|leave");
    REPORTS((void)cudaMemcpyAsync(host, memory + SIZE, 1, cudaMemcpyDeviceToHost, stream),
            "outside of every block");
    REPORTS((void)cudaMemcpyAsync(memory, memory + 8, 16, cudaMemcpyDeviceToDevice, stream),
            "overlap");
    REPORTS((void)cudaMemcpyAsync(host, host + SIZE, 8, cudaMemcpyDeviceToHost, stream),
            "no device address");
    REPORTS((void)cudaMemcpyAsync(memory, memory, 8, cudaMemcpyHostToDevice, stream),
            "device address where host memory belongs");
    REPORTS((void)cudaMemcpyAsync(memory, host, 8, cudaMemcpyDefault, stream), "kind");
    REPORTS((void)cudaMemsetAsync(memory + 1, 0, SIZE, stream), "leave");
    REPORTS((void)cudaMemsetAsync(host, 0, SIZE, stream), "no device address");
    void *pinned;
    (void)cudaHostAlloc(&pinned, SIZE, cudaHostAllocPortable);
    REPORTS((void)cudaMemsetAsync(pinned, 0, SIZE, stream), "host memory");
    (void)cudaFreeHost(pinned);
}

Test(simulator, devices) {
    char *other;
    cudaStream_t elsewhere;
    FINE(cudaSetDevice(1));
    FINE(cudaMalloc((void **)&other, SIZE));
    FINE(cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking));
    REPORTS((void)cudaStreamSynchronize(stream), "another context");
    REPORTS((void)cudaMemcpyAsync(memory, host, 8, cudaMemcpyHostToDevice, elsewhere),
            "another device");
    REPORTS((void)cudaFree(memory), "another kind or device");
    REPORTS((void)cudaMemcpyPeerAsync(other, 1, memory, 0, 8, elsewhere),
            "not of the source's device");
    REPORTS((void)cudaMemcpyPeerAsync(other, 0, other, 1, 8, elsewhere), "another device");
    (void)cudaFree(other);
    (void)cudaStreamDestroy(elsewhere);
    (void)cudaSetDevice(0);
}

Test(simulator, handles) {
    cudaStream_t gone;
    cudaEvent_t event, untimed;
    float milliseconds;
    FINE(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
    FINE(cudaStreamDestroy(gone));
    REPORTS((void)cudaStreamSynchronize(gone), "cudaStreamSynchronize|a destroyed stream");
    REPORTS((void)cudaStreamDestroy(gone), "a destroyed stream");
    REPORTS((void)cudaStreamSynchronize(NULL), "no stream");
    REPORTS((void)cudaStreamSynchronize((cudaStream_t)(void *)host), "no stream");
    (void)cudaEventCreateWithFlags(&event, cudaEventDefault);
    (void)cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    (void)cudaEventRecord(event, stream);
    (void)cudaEventRecord(untimed, stream);
    CHECK(cudaEventElapsedTime(&milliseconds, event, untimed) == cudaErrorInvalidResourceHandle,
          "no time");
    REPORTS((void)cudaEventRecord((cudaEvent_t)(void *)stream, stream), "no event");
    (void)cudaEventDestroy(event);
    (void)cudaEventDestroy(untimed);
    REPORTS((void)cudaEventSynchronize(event), "a destroyed event");
}

static void delay_a_little(void) {
    struct timespec time = {0, 2000000};
    nanosleep(&time, NULL);
}

/* Streams do run at the same time as the caller, and memory in use is not to be freed. */
Test(simulator, work_in_flight) {
    enum { LARGE = 64 << 20 };
    char *large;
    FINE(cudaMalloc((void **)&large, LARGE));
    FINE(cudaMemsetAsync(large, 1, LARGE, stream));
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady, "64 MiB were set at once");
    REPORTS((void)cudaFree(large), "in flight");
    cudaStream_t busy;
    (void)cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking);
    (void)cudaMalloc((void **)&large, LARGE);
    (void)cudaMemsetAsync(large, 1, LARGE, busy);
    REPORTS((void)cudaStreamDestroy(busy), "cudaStreamDestroy|in flight");
    CHECK(cudaStreamQuery(stream) == cudaSuccess ||
              (delay_a_little(), cudaStreamQuery(stream) == cudaSuccess),
          "the stream goes on");
}

/* --- captures -----------------------------------------------------------------------------------
 */

#define GIVES(wanted, call) CHECK((int)(call) == (int)(wanted), "%s does not give " #wanted, #call)

static cudaEvent_t outside, inside;

static void capture(void) {
    GIVES(0, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(0, cudaMemsetAsync(memory, 1, SIZE, stream));
    GIVES(0, cudaEventRecord(inside, stream));
    GIVES(0, cudaStreamWaitEvent(stream, inside, 0));
}

/* From then on work for the stream, and the end of the capture, fail. */
static void is_invalidated(void) {
    CUgraph graph = NULL;
    GIVES(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(memory, 1, SIZE, stream));
    GIVES(cudaErrorStreamCaptureInvalidated, cuStreamEndCapture(stream, &graph));
    GIVES(0, cudaMemsetAsync(memory, 1, SIZE, stream));
    CHECK(!graph, "a graph");
}

Test(simulator, captures) {
    float milliseconds;
    cudaStream_t other;
    cublasLtHandle_t lt;
    cublasHandle_t plain;
    GIVES(0, cuInit(0));
    GIVES(0, cudaEventCreateWithFlags(&outside, cudaEventDefault));
    GIVES(0, cudaEventCreateWithFlags(&inside, cudaEventDefault));
    GIVES(0, cudaEventRecord(outside, stream));
    GIVES(0, cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    GIVES(0, cublasLtCreate(&lt));
    GIVES(0, cublasCreate_v2(&plain));
#define INVALIDATES(wanted, call, words)                                                           \
    do {                                                                                           \
        check_case("%s", #call);                                                                   \
        capture();                                                                                 \
        REPORTS(GIVES(wanted, call), words "|invalidated");                                        \
        is_invalidated();                                                                          \
    } while (0)
    INVALIDATES(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream), "cudaStreamQuery");
    INVALIDATES(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream), "a wait");
    INVALIDATES(cudaErrorCapturedEvent, cudaEventQuery(inside), "cudaEventQuery");
    INVALIDATES(cudaErrorCapturedEvent, cudaEventSynchronize(inside), "a wait");
    INVALIDATES(cudaErrorCapturedEvent, cudaEventElapsedTime(&milliseconds, outside, inside),
                "the time");
    INVALIDATES(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, outside, 0),
                "from outside");
    INVALIDATES(cudaErrorNotSupported, cudaStreamWaitEvent(other, inside, 0), "joins");
    INVALIDATES(cudaErrorStreamCaptureUnsupported,
                cudaMemcpyAsync(memory, host, 8, cudaMemcpyHostToDevice, stream), "pageable");
    INVALIDATES(cudaErrorStreamCaptureUnsupported,
                cudaMemcpyAsync(host, memory, 8, cudaMemcpyDeviceToHost, stream), "pageable");
    INVALIDATES(CUBLAS_STATUS_SUCCESS, cublasLtDestroy(lt), "cublasLtDestroy");
    INVALIDATES(CUBLAS_STATUS_SUCCESS, cublasDestroy_v2(plain), "cublasDestroy");
#undef INVALIDATES
    check_case("what is allowed");
    const unsigned long reports = cuda_sim_reports();
    void *more;
    CUgraph graph;
    capture();
    GIVES(0, cudaMalloc(&more, 8));
    GIVES(0, cudaFree(more));
    GIVES(0, cudaStreamQuery(other));
    GIVES(0, cuStreamEndCapture(stream, &graph));
    GIVES(0, cuGraphDestroy(graph));
    GIVES(0, cudaEventRecord(inside, stream));
    GIVES(0, cudaEventSynchronize(inside));
    CHECK(cuda_sim_reports() == reports, "reported: %s", cuda_sim_last_report());
}

/* It forbids some calls in every thread that has not exchanged its mode. */
Test(simulator, captures_in_the_default_mode) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraph graph = NULL;
    void *more = NULL;
    GIVES(0, cuInit(0));
    GIVES(0, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REPORTS(GIVES(cudaErrorStreamCaptureUnsupported, cudaMalloc(&more, 8)), "cudaMalloc|forbids");
    GIVES(cudaErrorStreamCaptureInvalidated, cuStreamEndCapture(stream, &graph));
    GIVES(0, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    GIVES(0, cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL, "mode %d", (int)mode);
    GIVES(0, cudaMalloc(&more, 8));
    GIVES(0, cuThreadExchangeStreamCaptureMode(&mode));
    GIVES(0, cuStreamEndCapture(stream, &graph));
    GIVES(0, cudaFree(more));
    GIVES(0, cuGraphDestroy(graph));
}

/* A call that may wait for the device does so where the machine is one on which it does. */
static void begin_implicit(void) {
    setenv("TDM_CUDA_SIM", "implicit=1 lazy=1", 1);
    begin();
}

TestSuite(implicit, .init = begin_implicit, .fini = end);

Test(implicit, waits) {
    void *more;
    FINE(cudaMemsetAsync(memory, 1, SIZE, stream));
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady, "a lazy stream");
    FINE(cudaMalloc(&more, 8));
    FINE(cudaStreamQuery(stream));
    FINE(cudaMemsetAsync(memory, 1, SIZE, stream));
    FINE(cudaFree(more));
    FINE(cudaStreamQuery(stream));
}

/* --- programs -----------------------------------------------------------------------------------
 */

static const char source[] =
    "typedef struct tdm_scalar __syncthreads\nKERNEL1(fill, tdm_elementwise_args, T, y)\n";

static CUmodule load(CUfunction *kernel) {
    nvrtcProgram program;
    size_t size = 0;
    CUmodule module = NULL;
    CHECK(nvrtcCreateProgram(&program, source, "fill.cl", 0, NULL, NULL) == NVRTC_SUCCESS,
          "create");
    const int count = sizeof kernel_options / sizeof *kernel_options;
    CHECK(nvrtcCompileProgram(program, count, kernel_options) == NVRTC_SUCCESS, "compile");
    CHECK(nvrtcGetCUBINSize(program, &size) == NVRTC_SUCCESS && size > 64, "size %zu", size);
    char *image = malloc(size);
    CHECK(nvrtcGetCUBIN(program, image) == NVRTC_SUCCESS, "image");
    FINE(cuModuleLoadData(&module, image));
    FINE(cuModuleGetFunction(kernel, module, "tdm_fill"));
    free(image);
    nvrtcDestroyProgram(&program);
    return module;
}

static const tdm_elementwise_args sixteen_threes = {.rows = 1,
                                                    .cols = 16,
                                                    .chunk = 16,
                                                    .chunks = 1,
                                                    .unit_stride = 1,
                                                    .inner_stride = {1, 1, 1},
                                                    .bits = 0x40400000}; /* 3, in f32 */

static CUresult launch(CUfunction kernel, unsigned blocks, unsigned lanes, void **arguments) {
    return cuLaunchKernel(kernel, blocks, 1, 1, lanes, 1, 1, 0, stream, arguments, NULL);
}

/* A launch checks its arguments, and runs the kernel. */
Test(simulator, launching) {
    CUfunction kernel;
    CUmodule module = load(&kernel);
    tdm_elementwise_args args = sixteen_threes;
    void *none = host, *buffers[] = {&memory, &args}, *on_host[] = {&none, &args};
    FINE(launch(kernel, 1, 64, buffers));
    FINE(cudaMemcpyAsync(host, memory, 16 * sizeof(float), cudaMemcpyDeviceToHost, stream));
    float values[16];
    memcpy(values, host, sizeof values);
    CHECK(values[0] == 3 && values[15] == 3, "the kernel ran: %g", (double)values[0]);
    REPORTS((void)launch(kernel, 1, 32, buffers), "compiled for blocks of 64");
    REPORTS((void)launch(kernel, 0, 64, buffers), "0x1x1 blocks");
    REPORTS((void)cuLaunchKernel(kernel, 1, 2, 1, 64, 1, 1, 0, stream, buffers, NULL),
            "1x2x1 blocks");
    REPORTS((void)cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 16, stream, buffers, NULL), "16 bytes");
    REPORTS((void)cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, buffers, buffers), "extra");
    REPORTS((void)launch(kernel, 1, 64, on_host), "no device address");
    size_t offset, size = 0;
    CHECK(cuFuncGetParamInfo(kernel, 1, &offset, &size) == CUDA_SUCCESS && size == sizeof args,
          "%zu bytes", size);
    (void)cuModuleUnload(module);
    REPORTS((void)launch(kernel, 1, 64, buffers), "a destroyed kernel");
    REPORTS((void)cuModuleUnload(module), "a destroyed module");
}

/* A module is of the context in which it was loaded, and the driver takes no context for granted. */
Test(simulator, modules_of_other_contexts) {
    CUfunction kernel, other;
    CUmodule module = load(&kernel);
    CUcontext context = NULL;
    cudaStream_t elsewhere;
    void *buffers[2] = {NULL};
    FINE(cudaSetDevice(1));
    FINE(cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking));
    REPORTS((void)cuModuleGetFunction(&other, module, "tdm_fill"), "another context");
    REPORTS((void)cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, elsewhere, buffers, NULL),
            "another context");
    REPORTS((void)cuModuleUnload(module), "another context");
    (void)cudaStreamDestroy(elsewhere);
    CHECK(cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS, "pop");
    REPORTS((void)cuModuleLoadData(&module, host), "no context is current");
    (void)cudaSetDevice(0);
    (void)cuModuleUnload(module);
}

/* The runtime initialises the driver by itself; a program that calls the driver alone has to. */
TestSuite(uninitialised, .init = cuda_sim_count_reports);

Test(uninitialised, driver) {
    CUcontext context = NULL;
    REPORTS((void)cuCtxGetCurrent(&context), "cuCtxGetCurrent|cuInit was not called");
    CHECK(cuInit(0) == CUDA_SUCCESS && cuCtxGetCurrent(&context) == CUDA_SUCCESS, "cuInit");
}

#if !defined(__SANITIZE_ADDRESS__)
/* A kernel that writes past its block: with AddressSanitizer it ends the process instead. */
Test(simulator, writing_outside) {
    CUfunction kernel;
    CUmodule module = load(&kernel);
    char *small;
    FINE(cudaMalloc((void **)&small, 60));
    tdm_elementwise_args args = sixteen_threes;
    void *buffers[] = {&small, &args};
    FINE(launch(kernel, 1, 64, buffers));
    FINE(cudaStreamSynchronize(stream));
    REPORTS((void)cudaFree(small), "wrote outside");
    (void)cuModuleUnload(module);
}
#endif

/* --- errors on demand ---------------------------------------------------------------------------
 */

Test(simulator, failing) {
    void *one, *two;
    cuda_sim_fail("cudaMalloc", 2, false, cudaErrorMemoryAllocation);
    FINE(cudaMalloc(&one, 8));
    CHECK(cudaMalloc(&two, 8) == cudaErrorMemoryAllocation, "the second fails");
    CHECK(cuda_sim_failures() == 1 && cuda_sim_last_error() == cudaErrorMemoryAllocation,
          "and is counted");
    FINE(cudaMalloc(&two, 8));
    cuda_sim_fail("cudaMalloc", 1, true, cudaErrorUnknown);
    CHECK(cudaMalloc(&two, 8) == cudaErrorUnknown && cudaMalloc(&two, 8) == cudaErrorUnknown,
          "from then on");
    cuda_sim_heal();
    FINE(cudaMalloc(&two, 8));
    cuda_sim_limit(0, SIZE + 100);
    CHECK(cudaMalloc(&two, 100) == cudaErrorMemoryAllocation, "a limit");
}

/* A lost device gives its error at every call; the other one goes on. */
Test(simulator, losing) {
    cuda_sim_fail("kernel", 1, false, cudaErrorIllegalAddress);
    CUfunction kernel;
    CUmodule module = load(&kernel);
    tdm_elementwise_args args = {.rows = 1, .cols = 1, .chunk = 1, .chunks = 1, .unit_stride = 1};
    void *buffers[] = {&memory, &args};
    FINE(launch(kernel, 1, 64, buffers));
    CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress, "reported when waited for");
    CHECK(cudaMalloc((void **)&memory, 8) == cudaErrorIllegalAddress, "reported again");
    (void)cudaSetDevice(1);
    FINE(cudaMalloc((void **)&memory, 8));
    FINE(cudaFree(memory));
    (void)cudaSetDevice(0);
    (void)cuModuleUnload(module);
}

#if !defined(__SANITIZE_ADDRESS__)
/* Device addresses are nothing to the host. AddressSanitizer has its own end for that. */
Test(simulator, host_reads_device_memory, .signal = SIGSEGV) {
    volatile char *address = memory;
    (void)*address;
}
#endif
