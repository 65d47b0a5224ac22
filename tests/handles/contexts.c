/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tandem in contexts and queues of the program's, one of them with two devices: they are used like Tandem's own, and
 * stay the program's. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <criterion/criterion.h>
#include <time.h>

#include <tandem/tandem.h>

#include "support/check.h"

enum { N = 64, COUNT = N * N, BYTES = COUNT * (int)sizeof(float) };

static cl_device_id ids[2];
static cl_context context; /* of both devices */
static cl_command_queue commands;

#define CL(call) CHECK((call) == CL_SUCCESS, "%s failed", #call)

static cl_command_queue make_queue(cl_context of, cl_device_id id,
                                   cl_command_queue_properties how) {
    cl_int code;
    cl_command_queue made = clCreateCommandQueue(of, id, how, &code);
    CHECK(code == CL_SUCCESS, "clCreateCommandQueue: %d", code);
    return made;
}

static void begin(void) {
    cl_platform_id platform;
    cl_int code;
    cl_uint count = 0;
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, ids, &count));
    CHECK(count == 2, "%u devices", count);
    context = clCreateContext(NULL, 2, ids, NULL, NULL, &code);
    CHECK(code == CL_SUCCESS, "clCreateContext");
    commands = make_queue(context, ids[0], 0);
}

static void end(void) {
    CL(clReleaseCommandQueue(commands));
    CL(clReleaseContext(context));
}

TestSuite(contexts, .init = begin, .fini = end);

static cl_uint context_references(void) {
    cl_uint found = 0;
    CL(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof found, &found, NULL));
    return found;
}

static cl_uint queue_references(cl_command_queue queue) {
    cl_uint found = 0;
    CL(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof found, &found, NULL));
    return found;
}

/* A driver releases a finished command in another thread, a moment later. */
static bool are_left(cl_uint (*references)(void), cl_uint wanted) {
    const struct timespec moment = {0, 2000000};
    for (int i = 0; i < 1000 && references() != wanted; i++)
        nanosleep(&moment, NULL);
    return references() == wanted;
}

static cl_uint references_of_commands(void) { return queue_references(commands); }

/* y = layer norm of (x x), with x all ones: zeros, then plus 5. By kernels and by a BLAS. */
static void work(tdm_queue *queue, float plus) {
    float values[COUNT];
    tdm_tensor x, y, five;
    OK(tdm_full(queue, plus, TDM_F32, TDM_SHAPE(N, N), &five));
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(N, N), &x));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(N, N), &y));
    OK(tdm_matmul(queue, NULL, &x, &x, &y));
    OK(tdm_layer_norm(queue, &y, NULL, NULL, 1e-5, &y));
    OK(tdm_add(queue, &y, &five, &y));
    OK(tdm_to_host(queue, &y, values));
    int wrong = 0;
    while (wrong < COUNT && values[wrong] == plus)
        wrong++;
    CHECK(wrong == COUNT, "element %d is %g, not %g", wrong, (double)values[wrong % COUNT],
          (double)plus);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&five);
}

/* Both devices of the context, each twice, released in any order; the context is as it was. */
Test(contexts, of_two_devices) {
    tdm_device *devices[2] = {NULL}, *again[2] = {NULL}, *opened = NULL;
    tdm_queue *queues[2] = {NULL};
    cl_context its = NULL;
    cl_device_id id = NULL;
    const cl_uint before = context_references();
    for (int i = 0; i < 2; i++) {
        OK(tdm_opencl_adopt_device(context, ids[i], &devices[i]));
        OK(tdm_opencl_adopt_device(context, ids[i], &again[i]));
        CHECK(devices[i] == again[i], "adopted twice it is another object");
        OK(tdm_opencl_get_context(devices[i], &its));
        OK(tdm_opencl_get_device_id(devices[i], &id));
        CHECK(its == context && id == ids[i], "another context, or device");
        OK(tdm_queue_create(devices[i], 0, &queues[i]));
        work(queues[i], 5.0f);
    }
    CHECK(devices[0] != devices[1], "one object for two devices");
    CHECK(context_references() > before, "the context is not retained");
    OK(tdm_device_open(tdm_device_get_info(devices[0])->id, &opened));
    CHECK(opened != devices[0], "open gave the program's context");
    OK(tdm_opencl_get_context(opened, &its));
    CHECK(its != context, "open gave the program's context");

    tdm_device *mine = NULL;
    OK(tdm_opencl_adopt_device(its, ids[0], &mine));
    CHECK(mine == opened, "Tandem's own context, adopted, is another object");
    tdm_device_release(mine);

    tdm_device_release(devices[0]);
    tdm_device_release(opened);
    work(queues[0], 6.0f);
    tdm_device_release(again[1]);
    tdm_queue_destroy(queues[1]);
    tdm_device_release(again[0]);
    work(queues[0], 7.0f);
    tdm_queue_destroy(queues[0]);
    tdm_device_release(devices[1]);
    CHECK(are_left(context_references, before), "%u references, before %u", context_references(),
          before);

    OK(tdm_opencl_adopt_device(context, ids[1], &devices[1]));
    tdm_device_release(devices[1]);
}

/* Memory of the program's context, through its own queue and ours; between the two devices, too. */
Test(contexts, memory) {
    tdm_device *devices[2] = {NULL};
    tdm_queue *queues[2] = {NULL};
    tdm_buffer *buffer = NULL, *other = NULL;
    cl_int code;
    float values[COUNT];
    const float three = 3.0f;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    CHECK(code == CL_SUCCESS, "clCreateBuffer");
    for (int i = 0; i < 2; i++) {
        OK(tdm_opencl_adopt_device(context, ids[i], &devices[i]));
        OK(tdm_queue_create(devices[i], 0, &queues[i]));
    }
    CL(clEnqueueFillBuffer(commands, memory, &three, sizeof three, 0, BYTES, 0, NULL, NULL));
    CL(clFinish(commands));
    OK(tdm_opencl_adopt_memory(devices[0], memory, BYTES, NULL, NULL, &buffer));
    OK(tdm_buffer_create(devices[1], BYTES, &other));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    OK(tdm_add(queues[0], &x, &x, &x));
    OK(tdm_queue_finish(queues[0]));
    OK(tdm_buffer_copy(queues[1], buffer, 0, other, 0, BYTES));
    OK(tdm_buffer_read(queues[1], other, 0, values, BYTES));
    CHECK(values[0] == 6.0f && values[COUNT - 1] == 6.0f, "%g, not 6", (double)values[0]);
    tdm_buffer_release(other);
    tdm_buffer_release(buffer);
    for (int i = 0; i < 2; i++) {
        tdm_queue_destroy(queues[i]);
        tdm_device_release(devices[i]);
    }
    CL(clReleaseMemObject(memory));
}

/* The program's queue: its work and ours in one order. */
Test(contexts, queue) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_event *start = NULL, *stop = NULL;
    tdm_buffer *buffer = NULL;
    cl_mem memory;
    cl_command_queue its;
    double seconds = -1.0;
    float values[COUNT];
    const float two = 2.0f;
    OK(tdm_opencl_adopt_device(context, ids[0], &device));
    OK(tdm_opencl_adopt_queue(device, commands, &queue));
    OK(tdm_opencl_get_queue(queue, &its));
    CHECK(its == commands && queue_references(commands) == 2, "%u references",
          queue_references(commands));
    tdm_queue_destroy(queue); /* with no work, of which PoCL keeps references until later */
    CHECK(are_left(references_of_commands, 1), "%u references", queue_references(commands));
    OK(tdm_opencl_adopt_queue(device, commands, &queue));
    work(queue, 1.0f);
    OK(tdm_buffer_create(device, BYTES, &buffer));
    OK(tdm_opencl_get_memory(buffer, &memory));
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    CL(clEnqueueFillBuffer(commands, memory, &two, sizeof two, 0, BYTES, 0, NULL, NULL));
    OK(tdm_add(queue, &x, &x, &x));
    CL(clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
    CHECK(values[0] == 4.0f && values[COUNT - 1] == 4.0f, "%g, not 4", (double)values[0]);
    tdm_buffer_release(buffer);
    tdm_queue_destroy(queue);
    CL(clFinish(commands));

    check_case("with times");
    cl_command_queue timed = make_queue(context, ids[0], CL_QUEUE_PROFILING_ENABLE);
    OK(tdm_opencl_adopt_queue(device, timed, &queue));
    CL(clReleaseCommandQueue(timed)); /* the library holds it */
    OK(tdm_event_create(device, &start));
    OK(tdm_event_create(device, &stop));
    OK(tdm_queue_record_event(queue, start));
    work(queue, 2.0f);
    OK(tdm_queue_record_event(queue, stop));
    OK(tdm_event_elapsed(start, stop, &seconds));
    CHECK(seconds > 0.0, "%g seconds", seconds);
    tdm_event_destroy(start);
    tdm_event_destroy(stop);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

/* A tensor by DLPack, whose data is a cl_mem of the program's context. */
Test(contexts, dlpack) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    struct DLManagedTensor *given = NULL;
    tdm_tensor x, y;
    OK(tdm_opencl_adopt_device(context, ids[0], &device));
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(8), &x));
    OK(tdm_tensor_to_dlpack_legacy(queue, &x, &given));
    OK(tdm_tensor_from_dlpack_legacy(device, given, &y));
    cl_mem one, other;
    OK(tdm_opencl_get_memory(x.buffer, &one));
    OK(tdm_opencl_get_memory(y.buffer, &other));
    CHECK(one == other, "another cl_mem");
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

Test(contexts, refused) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    cl_int code;
    tdm_device *device = NULL, *got = NULL;
    tdm_queue *queue = NULL;
    cl_context single = clCreateContext(NULL, 1, &ids[1], NULL, NULL, &code);
    OK(tdm_opencl_adopt_device(context, ids[0], &device));
    REFUSED(tdm_opencl_adopt_device(NULL, ids[0], &got), invalid,
            "tdm_opencl_adopt_device|context is NULL");
    REFUSED(tdm_opencl_adopt_device(context, NULL, &got), invalid, "id is NULL");
    REFUSED(tdm_opencl_adopt_device(context, ids[0], NULL), invalid, "device is NULL");
    REFUSED(tdm_opencl_adopt_device(context, (cl_device_id)(void *)&code, &got),
            TDM_ERROR_NOT_FOUND, "tdm_opencl_adopt_device|no device that Tandem lists");
    REFUSED(tdm_opencl_adopt_device(single, ids[0], &got), invalid,
            "tdm_opencl_adopt_device|1 device|not this one");
    CHECK(!got, "a failure left a device");

    REFUSED(tdm_opencl_adopt_queue(NULL, commands, &queue), invalid, "device is NULL");
    REFUSED(tdm_opencl_adopt_queue(device, NULL, &queue), invalid, "handle is NULL");
    REFUSED(tdm_opencl_adopt_queue(device, commands, NULL), invalid, "queue is NULL");
    cl_command_queue others[] = {
        make_queue(context, ids[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
        make_queue(context, ids[1], 0), make_queue(single, ids[1], 0)};
    static const char *const words[] = {"tdm_opencl_adopt_queue|properties|order", "another device",
                                        "another context"};
    for (int i = 0; i < 3; i++) {
        REFUSED(tdm_opencl_adopt_queue(device, others[i], &queue), invalid, words[i]);
        CHECK(!queue && queue_references(others[i]) == 1, "a failure left something");
        CL(clReleaseCommandQueue(others[i]));
    }
    OK(tdm_device_open("cpu", &got));
    REFUSED(tdm_opencl_adopt_queue(got, commands, &queue), invalid, "cpu:0|opencl");
    tdm_device_release(got);
    tdm_device_release(device);
    CL(clReleaseContext(single));
}
