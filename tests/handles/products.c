/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products on the host's cores, which read and write buffers by address, in a program that calls OpenCL itself. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "support/check.h"

enum { N = 64, COUNT = N * N };

static tdm_device *device;
static tdm_queue *queue;
static cl_context context;

#define CL(call) CHECK((call) == CL_SUCCESS, "%s failed", #call)

static atomic_bool is_short;

/* In place of the system's, also for the library. */
__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment,
                                                          size_t size) {
    if (atomic_load(&is_short) && size >= 4096) return ENOMEM;
    *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return *memory ? 0 : ENOMEM;
}

static void begin(void) {
    OK(tdm_device_open("opencl:0", &device));
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_opencl_get_context(device, &context));
}

static void end(void) {
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

TestSuite(products, .init = begin, .fini = end);

static tdm_tensor filled(double value, int rows) {
    tdm_tensor x;
    OK(tdm_full(queue, value, TDM_F32, TDM_SHAPE(rows, N), &x));
    return x;
}

static void expect(const tdm_tensor *x, float value) {
    static float values[COUNT];
    const int count = (int)tdm_tensor_get_count(x);
    OK(tdm_to_host(queue, x, values));
    int wrong = 0;
    while (wrong < count && values[wrong] == value)
        wrong++;
    CHECK(wrong == count, "element %d is %g, not %g", wrong, (double)values[wrong % count],
          (double)value);
}

/* A part of the program's own memory, which products read and write in place. */
Test(products, sub_buffer) {
    enum { FIRST = 1024, ROWS = N / 2, PART = ROWS * N }; /* the last quarter is other memory */
    _Alignas(4096) static float host[COUNT];
    const cl_buffer_region region = {FIRST * sizeof *host, PART * sizeof *host};
    cl_int code;
    tdm_buffer *buffer = NULL;
    for (int i = 0; i < COUNT; i++)
        host[i] = 7.0f;
    cl_mem whole =
        clCreateBuffer(context, CL_MEM_USE_HOST_PTR, (FIRST + PART) * sizeof *host, host, &code);
    CHECK(code == CL_SUCCESS, "clCreateBuffer: %d", code);
    cl_mem part = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    CHECK(code == CL_SUCCESS, "clCreateSubBuffer: %d", code);
    OK(tdm_opencl_adopt_memory(device, part, region.size, NULL, NULL, &buffer));
    tdm_tensor x = tdm_tensor_2d(buffer, TDM_F32, ROWS, N);
    tdm_tensor ones = filled(1.0, N), few = filled(1.0, ROWS), y = filled(0.0, ROWS);
    OK(tdm_matmul(queue, NULL, &few, &ones, &x));
    expect(&x, 64.0f);
    OK(tdm_fill(queue, 2.0, &x));
    OK(tdm_matmul(queue, NULL, &x, &ones, &y));
    expect(&y, 128.0f);
    for (int i = 0; i < COUNT; i++)
        CHECK((i >= FIRST && i < FIRST + PART) || host[i] == 7.0f, "outside: element %d is %g", i,
              (double)host[i]);
    tdm_tensor_release(&y);
    tdm_tensor_release(&few);
    tdm_tensor_release(&ones);
    tdm_buffer_release(buffer);
    CL(clReleaseMemObject(part));
    CL(clReleaseMemObject(whole));
}

/* A queue's first product, and native kernels that a graph records, wait for no work of the program's. */
Test(products, after_a_gate) {
    cl_int code;
    tdm_graph *graph = NULL;
    tdm_tensor ones = filled(1.0, N), y = filled(0.0, N), x, z;
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(1, 16, 16), &x));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(1, 16, 16), &z));
    OK(tdm_queue_finish(queue));
    cl_event gate = clCreateUserEvent(context, &code);
    CHECK(code == CL_SUCCESS, "clCreateUserEvent: %d", code);
    OK(tdm_opencl_wait(queue, gate));
    OK(tdm_matmul(queue, NULL, &ones, &ones, &y));
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_attention(queue, NULL, &x, &x, &x, &z));
    OK(tdm_graph_end(graph));
    CL(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(tdm_graph_replay(graph));
    expect(&y, (float)N);
    expect(&z, 1.0f);
    tdm_graph_destroy(graph);
    CL(clReleaseEvent(gate));
    tdm_tensor_release(&z);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&ones);
}

/* A product that ran out of memory is reported by the wait for its queue, and by no other. */
Test(products, failure_of_its_queue) {
    enum { LARGE = 256 };
    const char *provider = "";
    tdm_queue *other = NULL, *third = NULL;
    OK(tdm_queue_create(device, 0, &other));
    OK(tdm_queue_create(device, 0, &third));
    tdm_tensor x, y, few = filled(1.0, N), small = filled(0.0, N);
    OK(tdm_ones(queue, TDM_F16, TDM_SHAPE(LARGE, LARGE), &x));
    OK(tdm_empty(queue, TDM_F16, TDM_SHAPE(LARGE, LARGE), &y));
    OK(tdm_matmul_provider(queue, NULL, &x, &x, &y, &provider));
    CHECK(strcmp(provider, "openblas") == 0, "%s", provider);
    OK(tdm_matmul(queue, NULL, &few, &few,
                  &small)); /* attaches the provider, and needs no memory */
    OK(tdm_queue_finish(queue));
    atomic_store(&is_short, true);
    OK(tdm_matmul(queue, NULL, &x, &x, &y));
    tdm_event *event;
    OK(tdm_event_create(device, &event));
    OK(tdm_queue_record_event(queue, event));
    OK(tdm_event_wait(event));
    atomic_store(&is_short, false);
    OK(tdm_queue_finish(other));
    tdm_queue_destroy(third);
    REFUSED(tdm_queue_finish(queue), TDM_ERROR_OUT_OF_MEMORY, "host memory|product");
    OK(tdm_matmul(queue, NULL, &x, &x, &y));
    OK(tdm_queue_finish(queue));
    tdm_event_destroy(event);
    tdm_queue_destroy(other);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&few);
    tdm_tensor_release(&small);
}
