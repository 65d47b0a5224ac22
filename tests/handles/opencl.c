/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program that calls OpenCL itself, along with Tandem, on the same device: its memory, kernels and events with
 * Tandem's, in a context of Tandem's. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <tandem/tandem.h>

#include "support/check.h"

enum { COUNT = 4096, BYTES = COUNT * (int)sizeof(float) };

static tdm_device *device;
static tdm_queue *queue;
static cl_context context;
static cl_device_id id;
static cl_command_queue commands; /* the program's own, in the borrowed context */

#define CL(call) CHECK((call) == CL_SUCCESS, "%s failed", #call)

static void begin(void) {
    cl_int code;
    OK(tdm_device_open("opencl:0", &device));
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_opencl_get_context(device, &context));
    OK(tdm_opencl_get_device_id(device, &id));
    commands = clCreateCommandQueue(context, id, 0, &code);
    CHECK(code == CL_SUCCESS, "clCreateCommandQueue");
}

static void end(void) {
    tdm_queue_destroy(queue);
    CL(clReleaseCommandQueue(commands));
    tdm_device_release(device);
}

TestSuite(handles, .init = begin, .fini = end);

static void count(void *counter) { __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST); }

static cl_mem memory_of(cl_context of, cl_mem_flags flags, size_t size, void *host) {
    cl_int code;
    cl_mem made = clCreateBuffer(of, flags, size, host, &code);
    CHECK(code == CL_SUCCESS, "clCreateBuffer: %d", code);
    return made;
}

static cl_uint references(cl_mem memory) {
    cl_uint found = 0;
    CL(clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof found, &found, NULL));
    return found;
}

/* A driver releases a finished command, and its memory, in another thread, a moment later. */
static bool is_left_alone(cl_mem memory) {
    const struct timespec moment = {0, 2000000};
    for (int i = 0; i < 1000 && references(memory) != 1; i++)
        nanosleep(&moment, NULL);
    return references(memory) == 1;
}

/* A kernel of the program's: x = x * 2 + i. */
static cl_kernel own_kernel(void) {
    const char *text = "__kernel void own(__global float *x) {"
                       "    size_t i = get_global_id(0);"
                       "    x[i] = x[i] * 2.0f + (float)i;"
                       "}";
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    CL(clBuildProgram(program, 1, &id, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "own", &code);
    CHECK(code == CL_SUCCESS, "clCreateKernel: %d", code);
    CL(clReleaseProgram(program));
    return kernel;
}

static void run_own(cl_command_queue where, cl_kernel kernel, cl_mem memory) {
    const size_t items = COUNT;
    CL(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    CL(clEnqueueNDRangeKernel(where, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static float values[COUNT];

/* x[i] is a * i + b */
static void expect(float a, float b) {
    int wrong = 0;
    while (wrong < COUNT && values[wrong] == a * (float)wrong + b)
        wrong++;
    CHECK(wrong == COUNT, "element %d is %g", wrong, (double)values[wrong % COUNT]);
}

/* The program's kernels in Tandem's queue, on Tandem's buffer, between Tandem's operations. */
Test(handles, borrowed_queue) {
    cl_command_queue borrowed;
    cl_context its;
    cl_device_id on;
    cl_mem memory;
    tdm_buffer *buffer = NULL;
    cl_kernel kernel = own_kernel();
    OK(tdm_opencl_get_queue(queue, &borrowed));
    CL(clGetCommandQueueInfo(borrowed, CL_QUEUE_CONTEXT, sizeof its, &its, NULL));
    CL(clGetCommandQueueInfo(borrowed, CL_QUEUE_DEVICE, sizeof on, &on, NULL));
    CHECK(its == context && on == id, "another context, or device");
    OK(tdm_buffer_create(device, BYTES, &buffer));
    OK(tdm_opencl_get_memory(buffer, &memory));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    OK(tdm_fill(queue, 3.0, &x));
    run_own(borrowed, kernel, memory);
    OK(tdm_add(queue, &x, &x, &x));
    OK(tdm_buffer_read(queue, buffer, 0, values, BYTES));
    expect(2.0f, 12.0f);
    tdm_buffer_release(buffer);
    CL(clReleaseKernel(kernel));
}

/* A buffer that a queue with pending work has left is not given to the program before that is over. */
Test(handles, borrowed_memory_is_free) {
    cl_mem first, second;
    cl_int code;
    tdm_buffer *one = NULL, *two = NULL;
    OK(tdm_buffer_create(device, BYTES, &one));
    OK(tdm_opencl_get_memory(one, &first));
    tdm_tensor x = tdm_tensor_1d(one, TDM_F32, COUNT);
    for (int i = 0; i < 200; i++)
        OK(tdm_fill(queue, 1.0, &x));
    tdm_buffer_release(one);
    OK(tdm_buffer_create(device, BYTES, &two));
    OK(tdm_opencl_get_memory(two, &second));
    CHECK(first == second, "the pool did not hand out the block again: nothing was tested");
    const float fifty = 50.0f;
    code = clEnqueueFillBuffer(commands, second, &fifty, sizeof fifty, 0, BYTES, 0, NULL, NULL);
    CHECK(code == CL_SUCCESS, "clEnqueueFillBuffer");
    CL(clFinish(commands));
    OK(tdm_queue_finish(queue));
    CL(clEnqueueReadBuffer(commands, second, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    expect(0.0f, 50.0f);
    tdm_buffer_release(two);
}

/* Memory of the program's, with order between its queue and ours, both ways. */
Test(handles, events) {
    int notified = 0;
    cl_event event;
    tdm_buffer *buffer = NULL;
    cl_kernel kernel = own_kernel();
    cl_mem memory = memory_of(context, CL_MEM_READ_WRITE, BYTES, NULL);
    const float one = 1.0f;
    OK(tdm_opencl_adopt_memory(device, memory, BYTES, count, &notified, &buffer));
    CHECK(references(memory) == 2, "%u references", references(memory));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    for (int turn = 0; turn < 3; turn++) {
        CL(clEnqueueFillBuffer(commands, memory, &one, sizeof one, 0, BYTES, 0, NULL, NULL));
        run_own(commands, kernel, memory);
        CL(clEnqueueMarkerWithWaitList(commands, 0, NULL, &event));
        CL(clFlush(commands));
        OK(tdm_opencl_wait(queue, event)); /* ours after theirs */
        CL(clReleaseEvent(event));
        OK(tdm_add(queue, &x, &x, &x));
        OK(tdm_opencl_record(queue, &event)); /* theirs after ours */
        CL(clEnqueueBarrierWithWaitList(commands, 1, &event, NULL));
        CL(clReleaseEvent(event));
        run_own(commands, kernel, memory);
        CL(clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
        expect(5.0f, 8.0f);
    }
    CL(clReleaseMemObject(memory)); /* the library holds it */
    CHECK(notified == 0, "notified while the buffer lives");
    OK(tdm_fill(queue, 2.0, &x));
    OK(tdm_buffer_read(queue, buffer, 0, values, BYTES));
    expect(0.0f, 2.0f);
    CL(clRetainMemObject(memory));
    tdm_buffer_release(buffer);
    CHECK(notified == 1 && is_left_alone(memory), "notified %d times, %u references", notified,
          references(memory));
    CL(clReleaseMemObject(memory));
    CL(clReleaseKernel(kernel));
}

/* Any later call notifies the owner when work is over that was pending at the release, without a wait for the queue.
 * Work is held up by an event of the program's. */
Test(handles, notified_when_over) {
    int notified = 0;
    cl_int code;
    cl_event gate = clCreateUserEvent(context, &code), event;
    tdm_buffer *buffer = NULL, *other = NULL;
    cl_mem memory = memory_of(context, CL_MEM_READ_WRITE, BYTES, NULL);
    CHECK(code == CL_SUCCESS, "clCreateUserEvent");
    OK(tdm_opencl_adopt_memory(device, memory, BYTES, count, &notified, &buffer));
    OK(tdm_opencl_wait(queue, gate));
    OK(tdm_buffer_fill_async(queue, buffer, 0, BYTES, "abcd", 4));
    tdm_buffer_release(buffer);
    OK(tdm_buffer_create(device, 16, &other));
    CHECK(notified == 0, "notified while work is pending");
    OK(tdm_opencl_record(queue, &event));
    CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CL(clWaitForEvents(1, &event));
    tdm_buffer_release(other);
    OK(tdm_buffer_create(device, 16, &other));
    CHECK(notified == 1 && is_left_alone(memory), "notified %d times, %u references", notified,
          references(memory));
    tdm_buffer_release(other);
    OK(tdm_queue_finish(queue));
    CHECK(notified == 1, "notified %d times", notified);
    CL(clReleaseEvent(event));
    CL(clReleaseEvent(gate));
    CL(clReleaseMemObject(memory));
}

/* Memory that a slow queue uses holds back no other: neither unused memory nor that of a queue that the program waits
 * for. */
Test(handles, slow_queue) {
    int notified[3] = {0};
    cl_int code;
    cl_event gate = clCreateUserEvent(context, &code);
    tdm_queue *other = NULL;
    tdm_buffer *buffers[3];
    cl_mem memory[3];
    CHECK(code == CL_SUCCESS, "clCreateUserEvent");
    OK(tdm_queue_create(device, 0, &other));
    for (int i = 0; i < 3; i++) {
        memory[i] = memory_of(context, CL_MEM_READ_WRITE, BYTES, NULL);
        OK(tdm_opencl_adopt_memory(device, memory[i], BYTES, count, &notified[i], &buffers[i]));
    }
    OK(tdm_opencl_wait(queue, gate));
    OK(tdm_buffer_fill_async(queue, buffers[0], 0, BYTES, "abcd", 4));
    OK(tdm_buffer_fill_async(other, buffers[1], 0, BYTES, "abcd", 4));
    for (int i = 0; i < 3; i++)
        tdm_buffer_release(buffers[i]);
    CHECK(notified[2] == 1, "the owner of unused memory was not notified at once");
    OK(tdm_queue_finish(other));
    CHECK(notified[0] == 0 && notified[1] == 1, "notified %d and %d times", notified[0],
          notified[1]);
    CL(clSetUserEventStatus(gate, CL_COMPLETE));
    tdm_queue_destroy(other);
    OK(tdm_queue_finish(queue));
    CHECK(notified[0] == 1 && notified[1] == 1 && notified[2] == 1, "notified %d, %d and %d times",
          notified[0], notified[1], notified[2]);
    for (int i = 0; i < 3; i++)
        CL(clReleaseMemObject(memory[i]));
    CL(clReleaseEvent(gate));
}

/* --- waits for a queue whose work waits for an event of the program's ------------------------------- */

/* More than the pool keeps back of what several queues have used. */
enum { CROWD = 300 };

static tdm_queue *later[2];
static tdm_buffer *left, *crowd[CROWD];
static atomic_bool went_on, returned;

static tdm_status trim(void) { return tdm_device_trim(device); }

/* Memory that `queue` has used before, for the program, and for work of a third queue after that of a second. */
static tdm_status take_over(void) {
    cl_mem memory;
    return tdm_opencl_get_memory(left, &memory);
}

static tdm_status use_after(void) {
    return tdm_buffer_fill_async(later[1], left, 0, BYTES, "abcd", 4);
}

static tdm_status make_one_more(void) {
    tdm_buffer *made = NULL;
    const tdm_status status = tdm_buffer_create(device, 16, &made);
    tdm_buffer_release(made);
    return status;
}

static void *wait_for_queue(void *call) {
    const tdm_status status = (*(tdm_status(**)(void))call)();
    atomic_store(&returned, true);
    return status == TDM_OK ? call : NULL;
}

static void *ask(void *unused) {
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    const bool known = tdm_device_get_memory_stats(device, &stats) == TDM_OK;
    atomic_store(&went_on, known);
    return unused;
}

/* Gives work that waits for the gate to queues, such that the call has to wait for `queue`. */
static void prepare(cl_event gate, int which) {
    OK(tdm_opencl_wait(queue, gate));
    OK(tdm_buffer_create(device, BYTES, &left));
    OK(tdm_buffer_fill_async(queue, left, 0, BYTES, "abcd", 4));
    if (which == 1 || which == 2) {
        tdm_buffer_release(left);
        OK(tdm_buffer_create(device, BYTES, &left));
    }
    if (which == 2) OK(tdm_buffer_fill_async(later[0], left, 0, BYTES, "abcd", 4));
    for (int i = 0; which == 3 && i < CROWD; i++) {
        OK(tdm_buffer_create(device, 16, &crowd[i]));
        OK(tdm_buffer_fill_async(queue, crowd[i], 0, 16, "abcd", 4));
        OK(tdm_buffer_fill_async(later[0], crowd[i], 0, 16, "abcd", 4));
    }
    for (int i = 0; which == 3 && i < CROWD; i++)
        tdm_buffer_release(crowd[i]);
    OK(tdm_queue_flush(queue));
}

/* Another thread, which may be the one that sets the event, is not held up meanwhile. */
Test(handles, waits_hold_no_lock) {
    static tdm_status (*calls[])(void) = {trim, take_over, use_after, make_one_more};
    const struct timespec moment = {0, 200000000}, tenth = {0, 100000000};
    OK(tdm_queue_create(device, 0, &later[0]));
    OK(tdm_queue_create(device, 0, &later[1]));
    for (int i = 0; i < 4; i++) {
        cl_int code;
        pthread_t waiting, asking;
        void *succeeded = NULL;
        cl_event gate = clCreateUserEvent(context, &code);
        check_case("call %d", i);
        CHECK(code == CL_SUCCESS, "clCreateUserEvent");
        prepare(gate, i);
        atomic_store(&went_on, false);
        atomic_store(&returned, false);
        if (pthread_create(&waiting, NULL, wait_for_queue, &calls[i]) != 0)
            cr_assert_fail("thread");
        nanosleep(&moment, NULL);
        if (pthread_create(&asking, NULL, ask, NULL) != 0) cr_assert_fail("thread");
        for (int k = 0; k < 50 && !atomic_load(&went_on); k++)
            nanosleep(&tenth, NULL);
        CHECK(atomic_load(&went_on), "a call that waits for a queue holds the device's lock");
        CHECK(!atomic_load(&returned), "the call did not wait: nothing was tested");
        CL(clSetUserEventStatus(gate, CL_COMPLETE));
        pthread_join(waiting, &succeeded);
        pthread_join(asking, NULL);
        CHECK(succeeded, "the call failed");
        tdm_buffer_release(left);
        OK(tdm_queue_finish(queue));
        OK(tdm_device_trim(device));
        CL(clReleaseEvent(gate));
    }
    tdm_queue_destroy(later[0]);
    tdm_queue_destroy(later[1]);
}

/* The accesses that a cl_mem's flags allow. */
Test(handles, flags) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    _Alignas(64) static float host[COUNT + 16];
    tdm_buffer *buffer = NULL;
    static const cl_mem_flags usual[] = {CL_MEM_READ_WRITE,      CL_MEM_ALLOC_HOST_PTR,
                                         CL_MEM_USE_HOST_PTR,    CL_MEM_HOST_READ_ONLY,
                                         CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        check_case("flags %#lx", (unsigned long)usual[i]);
        cl_mem memory =
            memory_of(context, usual[i], BYTES, usual[i] & CL_MEM_USE_HOST_PTR ? host : NULL);
        cl_mem plain = memory_of(context, CL_MEM_READ_WRITE, BYTES, NULL);
        tdm_buffer *to = NULL;
        OK(tdm_opencl_adopt_memory(device, memory, BYTES, NULL, NULL, &buffer));
        OK(tdm_opencl_adopt_memory(device, plain, BYTES, NULL, NULL, &to));
        tdm_tensor x = tdm_tensor_2d(buffer, TDM_F32, 64, 64),
                   y = tdm_tensor_2d(to, TDM_F32, 64, 64);
        OK(tdm_fill(queue, 0.5, &x));
        OK(tdm_matmul(queue, NULL, &x, &x, &y));
        OK(tdm_buffer_read(queue, to, 0, values, BYTES));
        expect(0.0f, 16.0f);
        tdm_buffer_release(buffer);
        tdm_buffer_release(to);
        CL(clReleaseMemObject(memory));
        CL(clReleaseMemObject(plain));
    }
    check_case("kernels may not write");
    cl_mem memory = memory_of(context, CL_MEM_READ_ONLY, BYTES, NULL);
    OK(tdm_opencl_adopt_memory(device, memory, BYTES, NULL, NULL, &buffer));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    REFUSED(tdm_fill(queue, 0.0, &x), TDM_ERROR_READ_ONLY, "read-only");
    tdm_buffer_release(buffer);
    CL(clReleaseMemObject(memory));

    check_case("kernels may not read");
    memory = memory_of(context, CL_MEM_WRITE_ONLY, BYTES, NULL);
    REFUSED(tdm_opencl_adopt_memory(device, memory, BYTES, NULL, NULL, &buffer), invalid,
            "tdm_opencl_adopt_memory|CL_MEM_WRITE_ONLY");
    CHECK(!buffer && references(memory) == 1, "a failure left something");
    CL(clReleaseMemObject(memory));

    check_case("the host's memory, not aligned");
    memory = memory_of(context, CL_MEM_USE_HOST_PTR, BYTES, (char *)host + 4);
    REFUSED(tdm_opencl_adopt_memory(device, memory, BYTES, NULL, NULL, &buffer), invalid,
            "tdm_opencl_adopt_memory|multiple of 16");
    CL(clReleaseMemObject(memory));
}

/* More than the device gives at once, which is 64 MiB where pocl is shown as a small GPU. */
Test(handles, too_large) {
    const size_t size = (size_t)tdm_device_get_info(device)->max_allocation + 16;
    cl_mem memory = size >> 30 ? NULL : memory_of(context, CL_MEM_READ_WRITE, size, NULL);
    if (!memory) return;
    REFUSED(tdm_opencl_adopt_memory(device, memory, size, NULL, NULL, &(tdm_buffer *){NULL}),
            TDM_ERROR_UNSUPPORTED, "tdm_opencl_adopt_memory|67108880|67108864 bytes at most");
    CL(clReleaseMemObject(memory));
}

/* A part of a larger piece. */
Test(handles, sub_buffer) {
    cl_int code;
    tdm_buffer *buffer = NULL;
    cl_mem whole = memory_of(context, CL_MEM_READ_WRITE, BYTES, NULL);
    const cl_buffer_region region = {1024, 2048};
    cl_mem part =
        clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    const float one = 1.0f;
    CHECK(code == CL_SUCCESS, "clCreateSubBuffer");
    CL(clEnqueueFillBuffer(commands, whole, &one, sizeof one, 0, BYTES, 0, NULL, NULL));
    CL(clFinish(commands));
    REFUSED(tdm_opencl_adopt_memory(device, part, 2049, NULL, NULL, &buffer),
            TDM_ERROR_OUT_OF_RANGE, "tdm_opencl_adopt_memory|2048|2049");
    OK(tdm_opencl_adopt_memory(device, part, 2048, NULL, NULL, &buffer));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, 512);
    OK(tdm_fill(queue, 7.0, &x));
    OK(tdm_queue_finish(queue));
    CL(clEnqueueReadBuffer(commands, whole, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == (i >= 256 && i < 768 ? 7.0f : 1.0f), "element %d is %g", i,
              (double)values[i]);
    tdm_buffer_release(buffer);
    CL(clReleaseMemObject(part));
    CL(clReleaseMemObject(whole));
}

/* Objects of another context are refused, and the device is not taken for lost. */
Test(handles, other_contexts) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    cl_int code;
    int notified = 0;
    tdm_buffer *buffer = NULL;
    cl_context other = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    CHECK(code == CL_SUCCESS, "clCreateContext");
    cl_mem memory = memory_of(other, CL_MEM_READ_WRITE, BYTES, NULL);
    cl_event event = clCreateUserEvent(other, &code);
    REFUSED(tdm_opencl_adopt_memory(device, memory, BYTES, count, &notified, &buffer), invalid,
            "tdm_opencl_adopt_memory|another context|opencl:0");
    REFUSED(tdm_opencl_wait(queue, event), invalid, "tdm_opencl_wait|another context|opencl:0");
    CHECK(!buffer && notified == 0 && references(memory) == 1, "a failure left something");
    CL(clSetUserEventStatus(event, CL_COMPLETE));

    tdm_device *second = NULL;
    cl_context of_second;
    OK(tdm_device_open("opencl:1", &second));
    OK(tdm_opencl_get_context(second, &of_second));
    CHECK(of_second != context, "two devices have one context");
    cl_mem elsewhere = memory_of(of_second, CL_MEM_READ_WRITE, BYTES, NULL);
    REFUSED(tdm_opencl_adopt_memory(device, elsewhere, BYTES, count, &notified, &buffer), invalid,
            "another context");
    OK(tdm_opencl_adopt_memory(second, elsewhere, BYTES, count, &notified, &buffer));
    tdm_buffer_release(buffer);
    tdm_device_release(second);
    CHECK(notified == 1, "notified %d times", notified);
    CL(clReleaseMemObject(elsewhere));

    OK(tdm_buffer_create(device, BYTES, &buffer));
    OK(tdm_buffer_fill(queue, buffer, 0, BYTES, "1", 1));
    tdm_buffer_release(buffer);
    CL(clReleaseEvent(event));
    CL(clReleaseMemObject(memory));
    CL(clReleaseContext(other));
}

/* An image, which is no buffer, where the device has them. */
Test(handles, images) {
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc description = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16};
    cl_int code;
    tdm_buffer *buffer = NULL;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, &code);
    if (!image) check_skip("this driver has no images");
    REFUSED(tdm_opencl_adopt_memory(device, image, 16, NULL, NULL, &buffer),
            TDM_ERROR_INVALID_ARGUMENT, "tdm_opencl_adopt_memory|image");
    CL(clReleaseMemObject(image));
}

/* A graph takes the memory in, and waits and marks stay out of it. */
Test(handles, recording) {
    cl_event event = NULL, made;
    cl_int code;
    tdm_graph *graph = NULL;
    event = clCreateUserEvent(context, &code);
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_opencl_wait(queue, event), TDM_ERROR_INVALID_ARGUMENT, "tdm_opencl_wait|graph");
    REFUSED(tdm_opencl_record(queue, &made), TDM_ERROR_INVALID_ARGUMENT, "tdm_opencl_record|graph");
    CHECK(!made, "an event was made");
    OK(tdm_graph_end(graph));
    tdm_graph_destroy(graph);
    CL(clSetUserEventStatus(event, CL_COMPLETE));
    CL(clReleaseEvent(event));
}
