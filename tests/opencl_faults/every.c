/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every function of OpenCL that the backend calls, made to fail on two devices of pocl, as they are or, with
 * TDM_LIMITS, shown as GPUs, through the stand-in of tests/calls. tests/failing/failing.h says which calls, and what
 * must then be so; apart from that no command queue, memory, program or kernel is left, but those that could not be
 * given back.
 *
 * The kernels come from the cache, which a run without failures fills; with TDM_TEST_SOURCES they are built of their
 * sources every time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls/stand_in.h"
#include "failing/failing.h"
#include "failing/workout.h"

enum { OUT_OF_RESOURCES = -5, OUT_OF_HOST_MEMORY = -6, INVALID_CONTEXT = -34 };

static const failing_excuse of_all[] = {
    {"clGetPlatformIDs", "asked again at once, and by the next call", false},
    {"clGetPlatformInfo", "asked again at once, and by the next call", false},
    {"clGetDeviceIDs", "asked again at once, and by the next call", false},
    {"clGetDeviceInfo", "asked again at once, and by the next call", false},
    {"clCreateBuffer", "the pool gives back and tries again", true},
    {"clEnqueueMarkerWithWaitList", "an owner of memory is called after a wait, without it", true},
    {"clFlush", "of such a marker", true},
    {"clRetainEvent", "of such a marker", true},
    {"clGetEventInfo", "of such a marker", true},
    {"clFinish", "destroying a queue has no caller to report it to", true},
    {"clGetKernelWorkGroupInfo", "a kernel counts as fitting, and its launch says otherwise",
     false},
    {"clReleaseContext", "no caller to report it to", false},
    {"clReleaseCommandQueue", "no caller to report it to", false},
    {"clReleaseMemObject", "no caller to report it to", false},
    {"clReleaseEvent", "no caller to report it to", false},
    {"clReleaseProgram", "no caller to report it to", false},
    {"clReleaseKernel", "no caller to report it to", false}};
static const failing_excuse of_cpus[] = {
    {"clSetMemObjectDestructorCallback", "the pool gives back and tries again", true},
    {"clCreateCommandQueue", "of the library's own: OpenCL's kernels run instead", true},
    {"clEnqueueNativeKernel",
     "the first tries whether the driver has it; OpenCL's kernels run instead", true}};
static const failing_excuse of_gpus[] = {
    {"clEnqueueMigrateMemObjects", "a driver that cannot allocates at first use", true},
    {"clEnqueueMapBuffer", "of pinned memory: the host's own is used instead", true},
    {"clEnqueueUnmapMemObject", "of pinned memory: no caller to report it to", true}};
static const failing_excuse of_kept[] = {
    {"clCreateProgramWithBinary", "built of its source", false},
    {"clBuildProgram", "of a kept binary: built of its source", true}};
static const failing_excuse of_sources[] = {
    {"clGetProgramInfo", "what was built is not kept", false}};

static failing_excuse unseen[32]; /* those of this run */

static void excuse(const failing_excuse *added, size_t count) {
    size_t n = 0;
    while (unseen[n].function)
        n++;
    if (n + count >= sizeof unseen / sizeof *unseen) abort();
    memcpy(&unseen[n], added, count * sizeof *added);
}
#define EXCUSE(list) excuse(list, sizeof(list) / sizeof *(list))

/* Opened by a process that is about to work, not by the one that starts the others: it loads the ICD loader. */
static const stand_in *opencl(void) {
    static const stand_in *opened;
    if (!opened) opened = stand_in_open();
    return opened;
}

static const char *called(size_t index) {
    unsigned long calls;
    return opencl()->called(index, &calls);
}

static unsigned long calls(const char *function) {
    const char *name;
    unsigned long count;
    for (size_t i = 0; (name = opencl()->called(i, &count)); i++)
        if (strcmp(name, function) == 0) return count;
    return 0;
}

static unsigned long failures(void) { return opencl()->failed(NULL); }

static void fail(const char *function, unsigned long nth, bool onwards, int error) {
    opencl()->fail_nth(function, nth, onwards, error);
}

static void heal(void) { opencl()->reset(); }

static long done(const char *function) {
    return (long)(calls(function) - opencl()->failed(function));
}

static const char *left(const char *function) {
    static const struct {
        const char *what, *made[3], *freed;
    } kinds[] = {
        {"a command queue",
         {"clCreateCommandQueue", "clRetainCommandQueue"},
         "clReleaseCommandQueue"},
        {"memory", {"clCreateBuffer", "clRetainMemObject"}, "clReleaseMemObject"},
        {"a program",
         {"clCreateProgramWithSource", "clCreateProgramWithBinary"},
         "clReleaseProgram"},
        {"a kernel", {"clCreateKernel"}, "clReleaseKernel"},
        {"a context", {"clCreateContext", "clRetainContext"}, "clReleaseContext"},
    };
    static char text[96];
    /* A queue that could not be waited for is kept: its work may go on. */
    if (function && (strncmp(function, "clRelease", 9) == 0 || strcmp(function, "clFinish") == 0))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        long alive = -done(kinds[i].freed);
        for (int k = 0; k < 3 && kinds[i].made[k]; k++)
            alive += done(kinds[i].made[k]);
        if (alive == 0) continue;
        snprintf(text, sizeof text, "%s, %ld times", kinds[i].what, alive);
        return text;
    }
    return NULL;
}

static int errors_of(const char *function, int errors[4]) {
    if (strncmp(function, "clSVM", 5) == 0) return 0;
    errors[0] = OUT_OF_RESOURCES;
    errors[1] = OUT_OF_HOST_MEMORY;
    errors[2] = INVALID_CONTEXT;
    return 3;
}

/* Calls that find devices are made once more when they fail. */
static bool is_asked_again(const char *function) {
    return strcmp(function, "clGetPlatformIDs") == 0 ||
           strcmp(function, "clGetPlatformInfo") == 0 || strcmp(function, "clGetDeviceIDs") == 0 ||
           strcmp(function, "clGetDeviceInfo") == 0;
}

static bool may_fail_for_good(const char *function) {
    (void)function;
    return true;
}

static bool loses(const char *function, int error) {
    (void)function;
    (void)error;
    return false;
}

/* Before calls are counted. Whether it went well the frame finds out. */
static void fill_cache(void) {
    const pid_t child = fork();
    if (child == 0) _exit(workout(TDM_OPENCL) == TDM_OK ? 0 : 1);
    if (child > 0) (void)waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
    static const failing_driver driver = {.backend = TDM_OPENCL,
                                          .unseen = unseen,
                                          .fail = fail,
                                          .heal = heal,
                                          .failures = failures,
                                          .called = called,
                                          .calls = calls,
                                          .left = left,
                                          .errors_of = errors_of,
                                          .is_asked_again = is_asked_again,
                                          .may_fail_for_good = may_fail_for_good,
                                          .loses = loses};
    EXCUSE(of_all);
    if (getenv("TDM_LIMITS"))
        EXCUSE(of_gpus);
    else
        EXCUSE(of_cpus);
    if (getenv("TDM_TEST_SOURCES")) {
        setenv("TANDEM_CACHE_DIR", "/dev/null/none", 1);
        EXCUSE(of_sources);
    } else {
        EXCUSE(of_kept);
        fill_cache();
    }
    return failing_main(&driver, argc, argv);
}
