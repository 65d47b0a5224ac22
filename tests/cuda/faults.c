/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every call that the cuda backend makes, made to fail: the first, the second, the third and the last one of each
 * function (with TDM_TEST_SMALL not the third, and each with every second error; with TDM_TEST_SHARE=2 every second of
 * these), on the simulated machine (tests/cuda_sim), each in a separate process; of cuBLAS, NVRTC and memory also every
 * call.
 *
 *     faults [FUNCTION [NTH ERROR]]       all functions, one, or one failure, told at length
 *
 * The workout uses the whole library on cuda:0 and cuda:1. When a call fails the workout gives an
 * error with a message, or right results; nothing is left (the runtime's last error, memory,
 * handles, a context that is not the caller's); and after the failure the same process can do the
 * workout again, unless the failure was of the kind that loses the device. Functions whose failure
 * may go unseen are listed with the reason, and a list that says too much fails too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "control.h"
#include "workout.h"

enum { SECONDS = 120, MAX_FUNCTIONS = 128 };

/* Errors of the four libraries that stand for their kind. */
enum {
    OUT_OF_MEMORY = 2,
    UNKNOWN = 999,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILURE = 719,
    CUBLAS_ALLOC_FAILED = 3,
    CUBLAS_ARCH_MISMATCH = 8,
    CUBLAS_EXECUTION_FAILED = 13,
    CUBLAS_NOT_SUPPORTED = 15,
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INTERNAL_ERROR = 11
};

/* Functions after whose failure a workout may yet be right, and why; `sometimes`: but not always.
 */
static const struct {
    const char *function, *reason;
    bool sometimes;
} unseen[] = {
    {"cudaRuntimeGetVersion", "asked again at once", true},
    {"cudaDriverGetVersion", "asked again at once; later calls are of the diagnostics", true},
    {"cudaGetDeviceCount", "asked again at once; later calls are of the diagnostics", true},
    {"cudaDeviceGetAttribute", "asked again at once, and by the next call", false},
    {"cuInit", "asked again at once", true},
    {"cuDeviceGet", "asked again at once; later calls make a context", true},
    {"cuDeviceGetName", "asked again at once, and by the next call", false},
    {"cuDeviceGetUuid", "asked again at once, and by the next call", false},
    {"cuDeviceTotalMem", "asked again at once, and by the next call", false},
    {"cudaMemGetInfo", "free memory is unknown", false},
    {"cuCtxGetCurrent", "free memory is unknown; a release has no caller to report it to", true},
    {"cuCtxPushCurrent", "a release has no caller to report it to", true},
    {"cuCtxPopCurrent", "no caller to report it to", false},
    {"cuPointerGetAttribute", "what is not known to be managed memory is taken for a device's",
     true},
    {"cudaDeviceCanAccessPeer", "the copy goes through host memory", false},
    {"cudaDeviceEnablePeerAccess", "the copy goes through host memory", false},
    {"cudaMalloc", "the pool gives back and tries again; a workspace may be missing", true},
    {"cudaFree", "no caller to report it to", false},
    {"cudaFreeHost", "no caller to report it to", false},
    {"cudaStreamSynchronize", "destroying a queue has no caller to report it to", true},
    {"cudaStreamDestroy", "no caller to report it to", false},
    {"cudaEventCreateWithFlags", "an owner of memory is called after a wait, without it", true},
    {"cudaEventRecord", "likewise", true},
    {"cudaEventQuery", "likewise", true},
    {"cudaEventDestroy", "no caller to report it to", false},
    {"cuModuleUnload", "no caller to report it to", false},
    {"cudaStreamCreateWithFlags", "of one that was to capture a graph, which stays a list", true},
    {"cuLaunchKernel", "captured: the graph stays a list", true},
    {"cuStreamBeginCapture", "the graph stays a list", true},
    {"cuStreamEndCapture", "the graph stays a list", true},
    {"cuGraphInstantiate", "the graph stays a list", true},
    {"cuGraphExecUpdate", "another graph is made", true},
    {"cuGraphExecDestroy", "no caller to report it to", true},
    {"cuGraphDestroy", "no caller to report it to", true},
    {"cublasLtCreate", "the builtin kernel runs instead", false},
    {"cublasLtDestroy", "no caller to report it to", false},
    {"cublasLtMatmulDescCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmulDescSetAttribute", "likewise", false},
    {"cublasLtMatmulDescDestroy", "no caller to report it to", false},
    {"cublasLtMatrixLayoutCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatrixLayoutSetAttribute", "likewise", false},
    {"cublasLtMatrixLayoutDestroy", "no caller to report it to", false},
    {"cublasLtMatmulPreferenceCreate", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmulPreferenceSetAttribute", "likewise", false},
    {"cublasLtMatmulPreferenceDestroy", "no caller to report it to", false},
    {"cublasLtMatmulAlgoGetHeuristic", "plain cuBLAS or the builtin kernel runs instead", false},
    {"cublasLtMatmul", "where it is not supported plain cuBLAS runs instead", true},
    {"cublasGemmStridedBatchedEx_64", "where it is not supported the builtin kernel runs instead",
     true},
    {"cublasCreate", "the builtin kernel runs instead", false},
    {"cublasDestroy", "no caller to report it to", false},
    {"cublasSetStream", "the builtin kernel runs instead", false},
    {"cublasSetWorkspace", "the builtin kernel runs instead", false},
    {"cublasSetMathMode", "the builtin kernel runs instead", false},
    {"nvrtcVersion", "asked again at once", true},
    {"nvrtcDestroyProgram", "no caller to report it to", false},
};
enum { UNSEEN = sizeof unseen / sizeof *unseen };

static int excuse_of(const char *function) {
    for (int i = 0; i < UNSEEN; i++)
        if (strcmp(unseen[i].function, function) == 0) return i;
    return -1;
}

/* Failures that leave something alive, because giving it back failed. */
static bool keeps_something(const char *function) {
    return strncmp(function, "cuCtx", 5) == 0 || strstr(function, "Destroy") ||
           strstr(function, "Free") || strstr(function, "Unload");
}

/* --- one failure, in a child --------------------------------------------------------------------
 */

typedef struct failure {
    const char *function;
    unsigned long nth;
    int error;
    bool twice;   /* the next call too */
    bool onwards; /* all later calls too */
} failure;

static int bad(const failure *f, const char *what, const char *more) {
    printf("FAILED: %s, call %lu, error %d: %s%s\n", f->function, f->nth, f->error, what, more);
    fflush(stdout);
    return 1;
}

/* 0 the failure was reported, 2 it went unseen and results were right, 1 a defect */
static int try_failure(const failure *f) {
    bool loses = f->error == ILLEGAL_ADDRESS || f->error == LAUNCH_FAILURE;
    alarm(SECONDS);
    cuda_sim_count_reports();
    cuda_sim_fail(f->function, f->nth, f->onwards, f->error);
    if (f->twice) cuda_sim_fail(f->function, f->nth + 1, false, f->error);
    tdm_status status = workout();
    if (!cuda_sim_failures()) return bad(f, "did not come", "");
    if (status == TDM_OK && excuse_of(f->function) < 0) return bad(f, "went unseen", "");
    if (status != TDM_OK && !tdm_last_error()[0]) return bad(f, "no message", "");
    if (workout_is_wrong()) return bad(f, "wrong results: ", workout_is_wrong());
    if (cuda_sim_last_error()) return bad(f, "left an error in the runtime", "");
    if (cuda_sim_reports()) return bad(f, "reported: ", cuda_sim_last_report());
    if (!keeps_something(f->function) && cuda_sim_report_leaks())
        return bad(f, "leaked: ", cuda_sim_last_report());
    cuda_sim_heal();
    tdm_status again = workout();
    if (workout_is_wrong()) return bad(f, "wrong results afterwards: ", workout_is_wrong());
    if (again != TDM_OK && !loses) return bad(f, "no recovery: ", tdm_last_error());
    return status == TDM_OK ? 2 : 0;
}

static int in_child(const failure *f) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(try_failure(f)); /* exit: AddressSanitizer looks for leaks there */
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child) return bad(f, "no process", "");
    if (WIFEXITED(how) && WEXITSTATUS(how) <= 2) return WEXITSTATUS(how);
    char text[64];
    snprintf(text, sizeof text, "ended with %s %d", WIFSIGNALED(how) ? "signal" : "status",
             WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    return bad(f, text, "");
}

/* --- all of them --------------------------------------------------------------------------------
 */

/* The calls of an undisturbed workout, which a child writes into shared memory. */
typedef struct call_list {
    size_t count;
    struct {
        char function[64];
        unsigned long calls;
    } called[MAX_FUNCTIONS];
    tdm_status status;
    char message[256];
} call_list;

static void list_calls(call_list *list) {
    list->status = workout();
    snprintf(list->message, sizeof list->message, "%s",
             workout_is_wrong() ? workout_is_wrong() : tdm_last_error());
    if (workout_is_wrong()) list->status = TDM_ERROR_BACKEND;
    for (; list->count < MAX_FUNCTIONS; list->count++) {
        const char *function = cuda_sim_called(list->count);
        if (!function) break;
        snprintf(list->called[list->count].function, sizeof list->called[0].function, "%s",
                 function);
        list->called[list->count].calls = cuda_sim_calls(function);
    }
    if (cuda_sim_report_leaks()) list->status = TDM_ERROR_BACKEND;
}

static call_list *undisturbed(void) {
    call_list *list =
        mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        list_calls(list);
        exit(0);
    }
    int how = 0;
    if (child > 0 && waitpid(child, &how, 0) == child && how == 0 && list->status == TDM_OK)
        return list;
    printf("FAILED: undisturbed: status %d, %s\n", how, list->message);
    exit(1);
}

static int errors_of(const char *function, int errors[4]) {
    if (strncmp(function, "nvrtc", 5) == 0) {
        errors[0] = NVRTC_OUT_OF_MEMORY;
        errors[1] = NVRTC_INTERNAL_ERROR;
        return 2;
    }
    if (strcmp(function, "kernel") == 0) {
        errors[0] = ILLEGAL_ADDRESS;
        errors[1] = LAUNCH_FAILURE;
        return 2;
    }
    if (strncmp(function, "cublas", 6) == 0) {
        errors[0] = CUBLAS_ALLOC_FAILED;
        errors[1] = CUBLAS_EXECUTION_FAILED;
        errors[2] = CUBLAS_NOT_SUPPORTED;
        errors[3] = CUBLAS_ARCH_MISMATCH;
        return 4;
    }
    errors[0] = OUT_OF_MEMORY;
    errors[1] = UNKNOWN;
    errors[2] = ILLEGAL_ADDRESS;
    return 3;
}

static bool few; /* of its failures */
static int share = 1, turn;

/* Which calls of a function are to fail, in ascending order; how many. */
static int choose_calls(unsigned long calls, unsigned long chosen[4]) {
    const unsigned long wanted[] = {1, 2, 3, calls};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (few && i == 2) continue;
        if (wanted[i] <= calls && (!count || wanted[i] > chosen[count - 1]))
            chosen[count++] = wanted[i];
    }
    return count;
}

/* Calls that find devices are made once more when they fail; failing twice, they leave something
 * unknown, which the next use asks for again. */
static bool is_asked_again(const char *function) {
    static const char *const functions[] = {"cudaRuntimeGetVersion",
                                            "cudaDriverGetVersion",
                                            "cudaGetDeviceCount",
                                            "cudaDeviceGetAttribute",
                                            "cuInit",
                                            "cuDeviceGetName",
                                            "cuDeviceGetUuid",
                                            "cuDeviceTotalMem",
                                            "nvrtcVersion"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i], function) == 0) return true;
    return false;
}

/* Calls that a library or a full memory can refuse every time; with others this would only test clean-up. */
static bool may_fail_for_good(const char *function) {
    return strncmp(function, "cublas", 6) == 0 || strncmp(function, "nvrtc", 5) == 0 ||
           strcmp(function, "cudaMalloc") == 0 || strcmp(function, "cudaHostAlloc") == 0;
}

static int try_function(const char *function, unsigned long calls) {
    unsigned long chosen[4];
    int errors[4], error_count = errors_of(function, errors), count = choose_calls(calls, chosen);
    int reported = 0, silent = 0, defects = 0;
    for (int i = 0; i < count * error_count; i++) {
        const bool left_out = (i / error_count + i % error_count) % 2 && !is_asked_again(function);
        if ((few && left_out) || turn++ % share != 0) continue;
        failure f = {function, chosen[i / error_count], errors[i % error_count], false, false};
        int outcome = in_child(&f);
        reported += outcome == 0;
        silent += outcome == 2;
        defects += outcome == 1;
        if (!is_asked_again(function)) continue;
        f.twice = true;
        outcome = in_child(&f);
        reported += outcome == 0;
        silent += outcome == 2;
        defects += outcome == 1;
    }
    for (int e = 0; e < error_count && may_fail_for_good(function); e++) {
        failure f = {function, 1, errors[e], false, true};
        defects += in_child(&f) == 1;
    }
    int excuse = excuse_of(function);
    printf("%-40s %5lu calls, %2d failures reported, %2d unseen%s%s\n", function, calls, reported,
           silent, silent ? ": " : "", silent && excuse >= 0 ? unseen[excuse].reason : "");
    if (share == 1 && excuse >= 0 && (!silent || (unseen[excuse].sometimes && !reported))) {
        printf("FAILED: %s: the excuse says too much\n", function);
        defects++;
    }
    return defects;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* No kernels from the disk: each is compiled, loaded and kept in memory. */
    setenv("TANDEM_CACHE_DIR", "/dev/null/none", 1);
    if (argc == 4) {
        failure f = {argv[1], strtoul(argv[2], NULL, 10), atoi(argv[3]), false, false};
        int outcome = in_child(&f);
        printf("outcome %d\n", outcome);
        return outcome == 1;
    }
    few = getenv("TDM_TEST_SMALL");
    const char *const wanted = getenv("TDM_TEST_SHARE");
    if (wanted && atoi(wanted) > 1) share = atoi(wanted);
    turn = getpid() % share;
    call_list *list = undisturbed();
    int defects = 0, tried = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *function = list->called[i].function;
        if (argc == 2 && strcmp(argv[1], function) != 0) continue;
        if (strcmp(function, "cublasLtGetVersion") == 0) continue; /* it has no error to give */
        defects += try_function(function, list->called[i].calls);
        tried++;
    }
    for (int i = 0; i < UNSEEN && argc == 1; i++) {
        bool called = false;
        for (size_t j = 0; j < list->count; j++)
            called = called || strcmp(unseen[i].function, list->called[j].function) == 0;
        if (!called) printf("FAILED: %s is excused, but never called\n", unseen[i].function);
        defects += !called;
    }
    printf("%d functions, %d defects\n", tried, defects);
    return defects || !tried ? 1 : 0;
}
