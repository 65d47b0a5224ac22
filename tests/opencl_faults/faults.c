/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libOpenCL.so.1 whose calls fail on demand and else go on to the real one, with
 * which it is linked: functions that are not here are found there. control.h has the functions for
 * tests. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

opencl_fail_function opencl_fail;
opencl_heal_function opencl_heal;
opencl_lazy_function opencl_lazy;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all below */
static char failing[64];                                 /* "": all functions */
static unsigned long first, last, calls, failures;       /* nothing fails when first is 0 */
static int failure;
static bool lazy;
static struct gate {
    cl_command_queue queue;
    cl_event event;
} gates[16]; /* of queues whose transfers wait */

void opencl_fail(const char *function, unsigned long nth, unsigned long until, int code) {
    pthread_mutex_lock(&lock);
    strncpy(failing, function ? function : "", sizeof failing - 1);
    first = nth;
    last = until;
    calls = failures = 0;
    failure = code;
    pthread_mutex_unlock(&lock);
}

unsigned long opencl_heal(void) {
    pthread_mutex_lock(&lock);
    unsigned long count = failures;
    first = 0;
    pthread_mutex_unlock(&lock);
    return count;
}

/* Counts a call; returns the code to give instead of doing its work, or CL_SUCCESS. */
static cl_int fault(const char *function) {
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (first > 0 && (!failing[0] || strstr(failing, function))) {
        calls++;
        if (calls >= first && calls <= last) {
            failures++;
            code = failure;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

typedef void any_function(void);

static any_function *real(const char *name) {
    any_function *function;
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) abort();
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* Fails, or goes on to the real function, which gives its code. */
#define PASS(name, ...)                                                                            \
    do {                                                                                           \
        cl_int code = fault(#name);                                                                \
        if (code != CL_SUCCESS) return code;                                                       \
        return ((__typeof__(&name))real(#name))(__VA_ARGS__);                                      \
    } while (0)

/* The same where the code goes to where errcode points. */
#define PASS_OBJECT(name, ...)                                                                     \
    do {                                                                                           \
        cl_int code = fault(#name);                                                                \
        if (code == CL_SUCCESS) return ((__typeof__(&name))real(#name))(__VA_ARGS__);              \
        if (errcode) *errcode = code;                                                              \
        return NULL;                                                                               \
    } while (0)

/* --- listing and opening ---------------------------------------------------------------------- */

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *list, cl_uint *count) {
    PASS(clGetPlatformIDs, room, list, count);
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *out,
                         size_t *got) {
    PASS(clGetPlatformInfo, platform, what, size, out, got);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room,
                      cl_device_id *list, cl_uint *count) {
    PASS(clGetDeviceIDs, platform, type, room, list, count);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *got) {
    PASS(clGetDeviceInfo, device, what, size, out, got);
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *list,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *errcode) {
    PASS_OBJECT(clCreateContext, properties, count, list, notify, data, errcode);
}

/* --- queues ----------------------------------------------------------------------------------- */

static cl_int really_finish(cl_command_queue queue) {
    return ((__typeof__(&clFinish))real("clFinish"))(queue);
}

/* Opens the gate of a queue, or with NULL any gate: whether there was one. */
static bool open_gate(cl_command_queue queue) {
    struct gate found = {0};
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof gates / sizeof gates[0] && !found.event; i++) {
        if (!gates[i].event || (queue && gates[i].queue != queue)) continue;
        found = gates[i];
        gates[i].event = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!found.event) return false;
    if (clSetUserEventStatus(found.event, CL_COMPLETE) != CL_SUCCESS) abort();
    (void)clReleaseEvent(found.event);
    if (!queue) (void)really_finish(found.queue);
    (void)((__typeof__(&clReleaseCommandQueue))real("clReleaseCommandQueue"))(found.queue);
    return true;
}

void opencl_lazy(bool on) {
    pthread_mutex_lock(&lock);
    lazy = on;
    pthread_mutex_unlock(&lock);
    while (!on && open_gate(NULL))
        continue;
}

/* Puts a gate before the next command, unless there is one. */
static void close_gate(cl_command_queue queue) {
    struct gate *free_gate = NULL;
    pthread_mutex_lock(&lock);
    bool wanted = lazy;
    for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
        if (!gates[i].event && !free_gate) free_gate = &gates[i];
        if (gates[i].event && gates[i].queue == queue) wanted = false;
    }
    if (wanted) {
        cl_context context;
        cl_int code =
            clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, NULL);
        if (code != CL_SUCCESS || !free_gate) abort();
        free_gate->queue = queue;
        (void)clRetainCommandQueue(queue);
        free_gate->event = clCreateUserEvent(context, &code);
        if (code != CL_SUCCESS ||
            clEnqueueBarrierWithWaitList(queue, 1, &free_gate->event, NULL) != CL_SUCCESS)
            abort();
    }
    pthread_mutex_unlock(&lock);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int *errcode) {
    PASS_OBJECT(clCreateCommandQueue, context, device, properties, errcode);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) { PASS(clReleaseCommandQueue, queue); }

cl_int clFinish(cl_command_queue queue) {
    cl_int code = fault("clFinish");
    if (code != CL_SUCCESS) return code;
    (void)open_gate(queue);
    return really_finish(queue);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void *to, cl_uint count, const cl_event *list,
                           cl_event *event) {
    close_gate(queue);
    PASS(clEnqueueReadBuffer, queue, buffer, blocking, offset, size, to, count, list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint count, const cl_event *list,
                            cl_event *event) {
    close_gate(queue);
    PASS(clEnqueueWriteBuffer, queue, buffer, blocking, offset, size, from, count, list, event);
}
