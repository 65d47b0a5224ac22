/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program that calls CUDA itself, along with Tandem, on the same device: its memory, streams and events. Streams work
 * only while a call waits for them here, so nothing ends by chance. */
#include "traps.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "control.h"
#include "cuda/declarations.h"
#include "small.h"
#include "support/check.h"

#define CUDA(call) CHECK((call) == cudaSuccess, "%s failed", #call)

static small s;
static int notified;
static void *memory;

static void handles_begin(void) {
    setenv("TDM_CUDA_SIM", "lazy=1 devices=2", 1);
    traps_begin();
    OK(small_open(&s, "cuda:0"));
    CUDA(cudaMalloc(&memory, SMALL_BYTES));
}

static void handles_end(void) {
    small_close(&s);
    (void)cudaFree(memory); /* fails on a lost device */
    (void)cudaGetLastError();
    traps_end();
}

TestSuite(handles, .init = handles_begin, .fini = handles_end);

static void count(void *counter) { (*(int *)counter)++; }

static unsigned long host_waits(void) {
    return cuda_sim_calls("cudaStreamSynchronize") + cuda_sim_calls("cudaEventSynchronize");
}

static tdm_tensor adopted(void) {
    tdm_buffer *buffer = NULL;
    OK(tdm_cuda_adopt_memory(s.device, memory, SMALL_BYTES, count, &notified, &buffer));
    return tdm_tensor_2d(buffer, TDM_F32, SMALL_N, SMALL_N);
}

static void expect(float value) {
    static float got[SMALL_N * SMALL_N];
    cudaStream_t stream = NULL;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMemcpyAsync(got, memory, SMALL_BYTES, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    for (int i = 0; i < SMALL_N * SMALL_N; i++)
        if (got[i] != value) {
            CHECK(false, "element %d is %g, not %g", i, (double)got[i], (double)value);
            break;
        }
}

/* Borrowed handles are CUDA's. */
Test(handles, borrowed) {
    CUcontext context = NULL, current = NULL;
    cudaStream_t stream = NULL;
    void *pointer = NULL;
    int ordinal = -1;
    bool entered = false;
    small other;
    OK(small_open(&other, "cuda:1"));
    OK(tdm_cuda_get_ordinal(other.device, &ordinal));
    CHECK(ordinal == 1, "ordinal %d", ordinal);
    CUDA(cudaSetDevice(ordinal));
    CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS, "cuCtxGetCurrent");
    OK(tdm_cuda_get_context(other.device, &context));
    CHECK(context && context == current, "another context than the runtime's");
    CUDA(cudaSetDevice(0));
    OK(tdm_cuda_enter(other.device, &entered));
    CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS && context == current, "it is not entered");
    tdm_cuda_leave(other.device, entered);
    CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS && context != current, "it is not left");
    small_close(&other);

    OK(tdm_cuda_get_stream(s.queue, &stream));
    OK(tdm_cuda_get_pointer(s.buffers[0], &pointer));
    OK(tdm_fill(s.queue, 3.0, &s.x));
    CUDA(cudaMemcpyAsync(memory, pointer, SMALL_BYTES, cudaMemcpyDeviceToDevice, stream));
    OK(tdm_queue_finish(s.queue));
    expect(3.0f);
}

/* Memory of the pool that another queue's work may still use: a buffer that was checked for a queue gives its pointer
 * at once, as the queue comes after that work; another buffer waits. */
Test(handles, pointer_of_used_memory) {
    for (int checked = 1; checked >= 0; checked--) {
        tdm_queue *first = NULL;
        tdm_tensor used = {0}, x = {0};
        void *before = NULL, *pointer = NULL;
        OK(tdm_queue_create(s.device, 0, &first));
        OK(tdm_empty(s.queue, TDM_F32, TDM_SHAPE(100000), &used));
        OK(tdm_fill(first, 1.0, &used));
        OK(tdm_queue_finish(first));
        OK(tdm_cuda_get_pointer(used.buffer, &before));
        OK(tdm_fill(first, 2.0, &used));
        tdm_tensor_release(&used);
        OK(tdm_empty(s.queue, TDM_F32, TDM_SHAPE(100000), &x));
        const tdm_operand operand = {"x", &x, TDM_OPERAND_OUTPUT, 0};
        if (checked) OK(tdm_check_operands("a library", s.queue, &operand, 1));
        cuda_sim_heal();
        OK(tdm_cuda_get_pointer(x.buffer, &pointer));
        CHECK(pointer == before, "other memory: the test is blind");
        CHECK((host_waits() == 0) == (checked == 1), "checked %d: %lu waits", checked,
              host_waits());
        tdm_tensor_release(&x);
        tdm_queue_destroy(first);
    }
}

/* A release while work is pending waits for nothing; a later call notifies the owner, once that work is over. */
Test(handles, notified_when_over) {
    cudaEvent_t event = NULL;
    tdm_buffer *other = NULL;
    notified = 0;
    tdm_tensor x = adopted();
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(tdm_fill(s.queue, 2.0, &x));
    cuda_sim_heal();
    tdm_tensor_release(&x);
    CHECK(host_waits() == 0, "%lu waits", host_waits());
    OK(tdm_buffer_create(s.device, 16, &other));
    CHECK(notified == 0, "notified while work is pending");
    tdm_buffer_release(other);
    OK(tdm_cuda_record(s.queue, event));
    CUDA(cudaEventSynchronize(event));
    OK(tdm_buffer_create(s.device, 16, &other));
    CHECK(notified == 1, "notified %d times", notified);
    tdm_buffer_release(other);
    expect(2.0f);
    CUDA(cudaEventDestroy(event));
}

/* The same of memory that two queues use: it is not free when one of them is done. */
Test(handles, two_queues) {
    tdm_queue *second = NULL;
    tdm_tensor x = adopted(), tail = x;
    notified = 0;
    tail.shape[0] = SMALL_N / 2;
    tail.offset = SMALL_N / 2 * SMALL_N;
    OK(tdm_queue_create(s.device, 0, &second));
    OK(tdm_fill(s.queue, 4.0, &x));
    OK(tdm_queue_finish(s.queue));
    OK(tdm_fill(s.queue, 5.0, &x));
    OK(tdm_fill(second, 6.0, &tail));
    cuda_sim_heal();
    tdm_tensor_release(&x);
    CHECK(host_waits() == 0 && notified == 0, "%lu waits, notified %d times", host_waits(),
          notified);
    OK(tdm_queue_finish(second));
    CHECK(notified == 0, "notified while the other queue uses it");
    tdm_queue_destroy(s.queue);
    s.queue = NULL;
    CHECK(notified == 1, "notified %d times", notified);
    tdm_queue_destroy(second);
}

/* The program's stream and ours, one after the other by events. */
Test(handles, events) {
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    notified = 0;
    tdm_tensor x = adopted();
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaMemsetAsync(memory, 0, SMALL_BYTES, stream));
    CUDA(cudaEventRecord(event, stream));
    cuda_sim_heal();
    OK(tdm_cuda_wait(s.queue, event));
    OK(tdm_fill(s.queue, 1.0, &s.x));
    OK(tdm_axpy(s.queue, 1.0, &s.x, &x));
    OK(tdm_axpy(s.queue, 1.0, &s.x, &x));
    OK(tdm_cuda_record(s.queue, event));
    CUDA(cudaStreamWaitEvent(stream, event, 0));
    CHECK(host_waits() == 0, "%lu waits", host_waits());
    CUDA(cudaStreamSynchronize(stream));
    expect(2.0f);
    tdm_tensor_release(&x);
    CUDA(cudaEventDestroy(event));
    CUDA(cudaStreamDestroy(stream));
}

/* A stream of the program's as a queue: its work and ours in one order; it is left as it was. */
Test(handles, stream) {
    cudaStream_t stream = NULL, its = NULL;
    tdm_queue *queue = NULL;
    tdm_graph *graph = NULL;
    notified = 0;
    tdm_tensor x = adopted();
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(tdm_cuda_adopt_stream(s.device, stream, 0, &queue));
    OK(tdm_cuda_get_stream(queue, &its));
    CHECK(its == stream, "another stream");
    CUDA(cudaMemsetAsync(memory, 0, SMALL_BYTES, stream));
    OK(tdm_fill(s.queue, 1.0, &s.x));
    OK(tdm_queue_finish(s.queue));
    OK(tdm_axpy(queue, 1.0, &s.x, &x));
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_axpy(queue, 1.0, &s.x, &x));
    OK(tdm_graph_end(graph));
    for (int i = 0; i < 3; i++)
        OK(tdm_graph_replay(graph));
    tdm_graph_destroy(graph);
    CUDA(cudaStreamSynchronize(stream));
    expect(4.0f);
    tdm_tensor_release(&x);
    tdm_queue_destroy(queue);
    CHECK(notified == 1, "notified %d times", notified);
    CUDA(cudaMemsetAsync(memory, 0, SMALL_BYTES, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    expect(0.0f);
}

/* Streams that are refused stay the program's, too. */
Test(handles, refused_streams) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    cudaStream_t stream = NULL;
    tdm_queue *queue = NULL;
    small other;
    OK(small_open(&other, "cuda:1"));
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaSetDevice(0));
    REFUSED(tdm_cuda_adopt_stream(s.device, stream, 0, &queue), invalid,
            "tdm_cuda_adopt_stream|cuda:0|another device");
    REFUSED(tdm_cuda_adopt_stream(s.device, NULL, 0, &queue), invalid,
            "tdm_cuda_adopt_stream|stream is NULL");
    for (uintptr_t number = 1; number <= 2; number++) /* cudaStreamLegacy, cudaStreamPerThread */
        REFUSED(tdm_cuda_adopt_stream(s.device, (cudaStream_t)number, 0, &queue), invalid,
                "tdm_cuda_adopt_stream|cuda:0|a default stream");
    REFUSED(tdm_cuda_adopt_stream(NULL, stream, 0, &queue), invalid, "device is NULL");
    REFUSED(tdm_cuda_adopt_stream(s.device, stream, 0, NULL), invalid, "queue is NULL");
    REFUSED(tdm_cuda_adopt_stream(s.device, stream, 2, &queue), invalid, "flags is 0x2");
    CHECK(!queue, "a failure left a queue");
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaSetDevice(0));
    small_close(&other);
}

/* A buffer whose memory another queue may still use is given to the program when that is over. */
Test(handles, pointer_is_free) {
    tdm_buffer *one = NULL, *two = NULL;
    void *first = NULL, *second = NULL;
    OK(tdm_buffer_create(s.device, SMALL_BYTES, &one));
    OK(tdm_cuda_get_pointer(one, &first));
    OK(tdm_buffer_fill_async(s.queue, one, 0, SMALL_BYTES, "abcd", 4));
    tdm_buffer_release(one);
    OK(tdm_buffer_create(s.device, SMALL_BYTES, &two));
    cuda_sim_heal();
    OK(tdm_cuda_get_pointer(two, &second));
    CHECK(first == second, "the pool did not hand out the block again: nothing was tested");
    CHECK(host_waits() == 1, "%lu waits", host_waits());
    tdm_buffer_release(two);
}

/* The device is lost: the owner is notified all the same, as nothing runs there any more. */
Test(handles, lost) {
    notified = 0;
    tdm_tensor x = adopted();
    OK(tdm_fill(s.queue, 2.0, &x));
    cuda_sim_lose(0, cudaErrorIllegalAddress);
    (void)!tdm_queue_finish(s.queue);
    tdm_tensor_release(&x);
    CHECK(notified == 1, "notified %d times", notified);
}

Test(handles, refused) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    tdm_buffer *buffer = NULL;
    void *pinned = NULL, *elsewhere = NULL;
    small other;
    notified = 0;
#define ADOPT(pointer, size)                                                                       \
    tdm_cuda_adopt_memory(s.device, pointer, size, count, &notified, &buffer)
    REFUSED(ADOPT(NULL, 4), invalid, "tdm_cuda_adopt_memory|pointer is NULL");
    REFUSED(ADOPT(memory, 0), invalid, "tdm_cuda_adopt_memory|size is 0");
    REFUSED(ADOPT((char *)memory + 8, 16), invalid, "tdm_cuda_adopt_memory|cuda:0|multiple of 16");
    REFUSED(ADOPT(memory, SMALL_BYTES + 1), invalid, "tdm_cuda_adopt_memory|not memory that CUDA");
    REFUSED(ADOPT(memory, SIZE_MAX), TDM_ERROR_OUT_OF_RANGE,
            "tdm_cuda_adopt_memory|the end of all addresses");
    _Alignas(16) static char plain[64];
    REFUSED(ADOPT(plain, 64), invalid, "not memory that CUDA knows");
    CUDA(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable));
    REFUSED(ADOPT(pinned, 64), invalid, "host memory");
    CUDA(cudaFreeHost(pinned));
    OK(small_open(&other, "cuda:1"));
    OK(tdm_cuda_get_pointer(other.buffers[0], &elsewhere));
    REFUSED(ADOPT(elsewhere, 64), invalid, "CUDA device 1, not 0");
    small_close(&other);
    CHECK(!buffer && notified == 0, "a failure left something");
}
