/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "gates.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* both below */
static bool holds;
static struct gate {
    cl_command_queue queue;
    cl_event event;
} gates[16];

/* Past the stand-in, which may have been set to make calls of these fail. */
static cl_int really(const char *name, cl_command_queue queue) {
    cl_int (*function)(cl_command_queue);
    void *const symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) abort();
    memcpy(&function, &symbol, sizeof symbol);
    return function(queue);
}

bool gates_open(cl_command_queue queue) {
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
    if (!queue) (void)really("clFinish", found.queue);
    (void)really("clReleaseCommandQueue", found.queue);
    return true;
}

void gates_hold(bool hold) {
    pthread_mutex_lock(&lock);
    holds = hold;
    pthread_mutex_unlock(&lock);
    while (!hold && gates_open(NULL))
        continue;
}

void gates_close(cl_command_queue queue) {
    struct gate *free_gate = NULL;
    pthread_mutex_lock(&lock);
    bool wanted = holds;
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
