/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libOpenCL.so.1 that counts the calls of every function that the library uses, makes some fail on
 * demand, holds transfers up, and passes the others on to the real one, with which it is linked. No function has to be
 * written out; for x86-64 alone. */
#include "stand_in.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gates.h"
#include "opencl/api.h"
#include "passed_on.h"

typedef struct entry {
    any_function *real; /* the first: passed_on.h */
    unsigned long calls;
    const char *name;
    int errcode; /* which argument is errcode_ret; 0: the function returns its code, -1: it has none */
    int code; /* of the calls from `first` to `last`, counted as `calls`, which fail; no call when `first` is 0 */
    unsigned long first, last, failed;
    void (*before)(cl_command_queue queue); /* a call that does not fail, or NULL */
} entry;

static entry all; /* counts the calls of all functions */

outcome opencl_outcome(entry *of, const long *frame);

/* Counts a call: whether it is one of those that fail. */
static bool counted(entry *of) {
    const unsigned long nth = __atomic_add_fetch(&of->calls, 1, __ATOMIC_RELAXED);
    return of->first != 0 && nth >= of->first && nth <= of->last;
}

__attribute__((visibility("hidden"))) outcome opencl_outcome(entry *of, const long *frame) {
    const bool fails = counted(of), fails_of_all = counted(&all);
    const int code = fails ? of->code : all.code;
    if (!fails && !fails_of_all) {
        cl_command_queue queue;
        memcpy(&queue, &frame[-1], sizeof queue);
        if (of->before) of->before(queue);
        return (outcome){0, 0};
    }
    __atomic_add_fetch(&of->failed, 1, __ATOMIC_RELAXED);
    if (of->errcode == 0) return (outcome){code, code};
    if (of->errcode > 0) {
        const long argument = of->errcode <= 6 ? frame[-of->errcode] : frame[of->errcode - 5];
        cl_int *to;
        memcpy(&to, &argument, sizeof to);
        if (to) *to = code;
    }
    return (outcome){code, 0};
}

#define COUNTED(function)                                                                          \
    extern entry opencl_entry_##function;                                                          \
    __attribute__((visibility("hidden"))) entry opencl_entry_##function = {.name = #function};     \
    PASSED_ON(function, opencl_entry_##function, opencl_outcome)
TDMI_CL_FUNCTIONS(COUNTED)
TDMI_CL_LATER_FUNCTIONS(COUNTED)

static entry *const entries[] = {
#define ENTRY(name) &opencl_entry_##name,
    TDMI_CL_FUNCTIONS(ENTRY) TDMI_CL_LATER_FUNCTIONS(ENTRY)};

enum { COUNT = sizeof entries / sizeof *entries };

static entry *entry_of(const char *function) {
    if (!function) return &all;
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(entries[i]->name, function) == 0) return entries[i];
    abort();
}

static void open_gate(cl_command_queue queue) { (void)gates_open(queue); }

__attribute__((constructor)) static void find_all(void) {
    static const struct {
        const char *function;
        int errcode;
    } objects[] = {{"clCreateContext", 6},
                   {"clCreateCommandQueue", 4},
                   {"clCreateBuffer", 5},
                   {"clEnqueueMapBuffer", 10},
                   {"clCreateUserEvent", 2},
                   {"clCreateProgramWithSource", 5},
                   {"clCreateProgramWithBinary", 7},
                   {"clCreateKernel", 3},
                   {"clSVMAlloc", -1},
                   {"clSVMFree", -1}};
    for (size_t i = 0; i < COUNT; i++) {
        void *symbol = dlsym(RTLD_NEXT, entries[i]->name);
        if (!symbol) abort();
        memcpy(&entries[i]->real, &symbol, sizeof symbol);
    }
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        entry_of(objects[i].function)->errcode = objects[i].errcode;
    entry_of("clEnqueueReadBuffer")->before = gates_close;
    entry_of("clEnqueueWriteBuffer")->before = gates_close;
    entry_of("clFinish")->before = open_gate;
}

static void forget(entry *of) {
    __atomic_store_n(&of->calls, 0, __ATOMIC_RELAXED);
    of->first = of->failed = 0;
}

static void reset(void) {
    forget(&all);
    for (size_t i = 0; i < COUNT; i++)
        forget(entries[i]);
}

static const char *called(size_t index, unsigned long *calls) {
    for (size_t i = 0; i < COUNT; i++) {
        *calls = __atomic_load_n(&entries[i]->calls, __ATOMIC_RELAXED);
        if (*calls > 0 && index-- == 0) return entries[i]->name;
    }
    return NULL;
}

static unsigned long failed(const char *function) {
    unsigned long sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        if (!function || strcmp(entries[i]->name, function) == 0) sum += entries[i]->failed;
    return sum;
}

static void fail_nth(const char *function, unsigned long nth, bool onwards, int code) {
    entry *const of = entry_of(function);
    of->code = code;
    of->last = onwards ? ULONG_MAX : nth;
    if (of->first == 0) of->first = nth;
}

extern const stand_in opencl_stand_in;
const stand_in opencl_stand_in = {reset, called, failed, fail_nth, gates_hold};
