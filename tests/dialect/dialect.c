/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tests every macro of the kernel dialect on one backend:
 *
 *   dialect c         the C dialect, without and with streaming stores
 *   dialect opencl    the first OpenCL device that the ICD loader lists: with 1 and 64 lanes if it is a CPU, else
 *                     with 32, 64 and 256
 *   dialect intel     the same as a GPU that has Intel's sub-groups
 *   dialect khronos   … or those of Khronos, in OpenCL 3.0
 *
 * Exit status 0: all right; 1: a failure, or no device. Built with -DTEST_KERNELS_DIR (kernels/)
 * and -DTEST_SOURCE_DIR (this folder), and with the kernels' compile flags for kernels_c.c. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "kernels_c.h"
#include "opencl_backend.h"

enum { ROWS = 5, GAP = 3, ALIGNED = 16, MAX_COLS = 1000 };
enum { CACHE_LINE = 64, MAX_SIZE = ROWS * (MAX_COLS + GAP + ALIGNED) + CACHE_LINE };

static const char *const names[TEST_KERNELS] = {
#define TEST_NAME(name) #name,
    TEST_KERNEL_LIST(TEST_NAME)};
static const int columns[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 300, MAX_COLS};
static const double epsilons[TEST_DTYPES] = {0x1p-23, 0x1p-52, 0x1p-10, 0x1p-7};
static const size_t sizes[TEST_DTYPES] = {4, 8, 2, 2};
static int failures;

/* One run: buffers as stored, whose first element, or with vectors so many as keep rows aligned, lie before
 * the arrays. */
typedef struct test_run {
    int kernel, dtype, cols, lanes, stream, op, groups;
    int vectors, bytes; /* for VECTORS, VECTOR_BYTES */
    bool holds, loose;  /* for HOLDS, LOOSE */
    tdm_rows_args args;
    void *buffers[3]; /* x y z */
} test_run;

typedef struct backend {
    bool (*launch)(struct backend *backend, const test_run *run);
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    tdmi_cl_compiler compiler; /* build options for it */
    cl_program program;        /* of the variant below */
    test_run built;            /* its variant */
    /* where all takes long: of kernels and lengths one in `parts`, of the dtypes every `step` from `first` on */
    int parts, step, first;
} backend;

static int shift_of(const test_run *run) { return run->vectors && !run->loose ? ALIGNED : 1; }

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* f16 by its definition, as numeric.h's own conversion is under test. */
static double get(const void *array, int dtype, int i) {
    switch (dtype) {
    case 0:
        return (double)((const float *)array)[i];
    case 1:
        return ((const double *)array)[i];
    case 2: {
        const unsigned bits = ((const uint16_t *)array)[i];
        const int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
        double v = exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024, exponent - 25);
        if (exponent == 31) v = mantissa ? NAN : INFINITY;
        return bits >> 15 ? -v : v;
    }
    default:
        return (double)float_of((uint32_t)((const uint16_t *)array)[i] << 16);
    }
}

/* Stores a value that the dtype holds exactly. */
static void put(void *array, int dtype, int i, double v) {
    if (dtype == 0) ((float *)array)[i] = (float)v;
    if (dtype == 1) ((double *)array)[i] = v;
    if (dtype == 2) {
        int exponent; /* v is 0 or a normal f16 */
        const double fraction = frexp(fabs(v), &exponent);
        const unsigned bits =
            v == 0 ? 0 : (unsigned)(exponent + 14) << 10 | ((unsigned)(fraction * 2048) - 1024);
        ((uint16_t *)array)[i] = (uint16_t)(bits | (v < 0 ? 0x8000u : 0u));
    }
    if (dtype == 3) {
        const float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        ((uint16_t *)array)[i] = (uint16_t)(bits >> 16);
    }
}

/* Small multiples of 1/8, exact in every dtype; sums of 1000 of them are exact in f32. */
static double input(int row, int j) { return (double)((row * 7 + j * 5) % 31 - 15) / 8; }

/* The instruction, where this processor has it, in half of the runs. */
static bool has_bf16(void) {
#if defined(__x86_64__)
    static bool wanted;
    wanted = !wanted;
    return wanted && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

static bool launch_c(backend *self, const test_run *run) {
    (void)self;
    static _Alignas(64) char scratch[TDMI_CPU_SCRATCH];
    void *at[3];
    for (int i = 0; i < 3; i++)
        at[i] = (char *)run->buffers[i] + (size_t)shift_of(run) * sizes[run->dtype];
    for (int g = 0; g < run->groups; g++) {
        const tdm_group group = {.index = (uint32_t)g,
                                 .count = (uint32_t)run->groups,
                                 .op = (uint32_t)run->op,
                                 .stream = (uint32_t)run->stream,
                                 .ahead = (uint32_t)run->stream,
                                 .bf16 = has_bf16(),
                                 .u = (uint32_t)run->dtype,
                                 .scratch = scratch};
        test_kernels_c[run->kernel][run->dtype](&group, at, &run->args);
    }
    return true;
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    char *text = calloc(1, 1 << 17);
    if (!text || fread(text, 1, (1 << 17) - 1, file) == 0) exit(1);
    fclose(file);
    return text;
}

static bool build(backend *self, const test_run *run) {
    static const char *const files[] = {
        TEST_KERNELS_DIR "/dialect_opencl.h", TEST_KERNELS_DIR "/args.h",
        TEST_KERNELS_DIR "/dtypes.h",         TEST_KERNELS_DIR "/numeric.h",
        TEST_KERNELS_DIR "/vectors.h",        TEST_KERNELS_DIR "/reduce.h",
        TEST_KERNELS_DIR "/random.h",         TEST_SOURCE_DIR "/macros.cl"};
    const test_run *built = &self->built;
    if (self->program && built->dtype == run->dtype && built->lanes == run->lanes &&
        built->stream == run->stream && built->op == run->op && built->vectors == run->vectors &&
        built->bytes == run->bytes && built->holds == run->holds && built->loose == run->loose)
        return true;
    if (self->program) clReleaseProgram(self->program);
    enum { FILES = sizeof files / sizeof files[0] };
    char *texts[FILES];
    for (int i = 0; i < FILES; i++)
        texts[i] = read_text(files[i]);
    cl_int status;
    self->program = clCreateProgramWithSource(self->context, FILES, (const char **)(void *)texts,
                                              NULL, &status);
    for (int i = 0; i < FILES; i++)
        free(texts[i]);
    char options[256];
    snprintf(options, sizeof options,
             "-cl-std=%s -DT_ID=%d -DU_ID=%d -DOP=%d -DLANES=%d -DSTREAM=%d -DVECTORS=%d "
             "-DVECTOR_BYTES=%d -DLOOSE=%d -DHOLDS=%d -DTEAMS=1%s",
             self->compiler.standard ? self->compiler.standard : "CL1.2", run->dtype, run->dtype,
             run->op, run->lanes, run->stream, run->vectors, run->bytes, run->loose, run->holds,
             self->compiler.options);
    status = clBuildProgram(self->program, 1, &self->device, options, NULL, NULL);
    self->built = *run;
    if (status == CL_SUCCESS) return true;
    char log[8192] = "";
    clGetProgramBuildInfo(self->program, self->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                          NULL);
    fprintf(stderr, "building with %s: %d\n%s\n", options, status, log);
    return false;
}

static bool launch_opencl(backend *self, const test_run *run) {
    if (!build(self, run)) return false;
    char entry[32];
    snprintf(entry, sizeof entry, "tdm_%s", names[run->kernel]);
    cl_int status;
    cl_kernel kernel = clCreateKernel(self->program, entry, &status);
    if (status != CL_SUCCESS) return false;
    /* the kernels take no offsets: the arrays begin with the buffers */
    const size_t skip = (size_t)shift_of(run) * sizes[run->dtype];
    const size_t bytes = MAX_SIZE * sizes[run->dtype] - skip;
    cl_mem mems[3];
    for (int i = 0; i < 3; i++) {
        const bool alias = i > 0 && run->buffers[i] == run->buffers[0];
        mems[i] = alias ? mems[0]
                        : clCreateBuffer(self->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                         bytes, (char *)run->buffers[i] + skip, &status);
        status |= clSetKernelArg(kernel, (cl_uint)i, sizeof mems[i], &mems[i]);
    }
    status |= clSetKernelArg(kernel, 3, sizeof run->args, &run->args);
    const size_t local = (size_t)run->lanes, global = local * (size_t)run->groups;
    status |= clEnqueueNDRangeKernel(self->queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        if (i > 0 && mems[i] == mems[0]) continue;
        status |= clEnqueueReadBuffer(self->queue, mems[i], CL_TRUE, 0, bytes,
                                      (char *)run->buffers[i] + skip, 0, NULL, NULL);
        clReleaseMemObject(mems[i]);
    }
    clReleaseKernel(kernel);
    return status == CL_SUCCESS;
}

/* What y and z must be at (row, j); NAN: untouched. */
static void expect(const test_run *run, int row, int j, double *y, double *z) {
    double sum = 0, squares = 0, magnitude = 0, largest = -INFINITY;
    for (int k = 0; k < run->cols; k++) {
        const double v = input(row, k);
        sum += v;
        squares += v * v;
        magnitude = fmax(magnitude, fabs(v));
        largest = fmax(largest, v);
    }
    const double v = input(row, j);
    *y = *z = NAN;
    switch (run->kernel) {
    case TEST_share:
        *y = j == 0 ? v : NAN;
        *z = j == 0 ? 1 : NAN;
        break;
    case TEST_dims:
        *y = j == 0 ? 1 : NAN;
        break;
    case TEST_lanes:
        *y = v + 1;
        break;
    case TEST_far:
        *y = 1;
        *z = run->cols;
        break;
    case TEST_sum:
        *y = sum;
        *z = squares + sum + run->cols;
        break;
    case TEST_carry:
        *y = j == 0 ? 1024 : NAN;
        break;
    case TEST_largest:
        *y = magnitude;
        *z = largest;
        break;
    case TEST_write:
        *y = v * 2;
        *z = 3;
        break;
    case TEST_write2:
        *y = v * 1.0625;
        *z = -*y;
        break;
    case TEST_local:
        *y = j == 0 ? run->lanes * (run->lanes + 1) / 2.0 : NAN;
        break;
    case TEST_number:
        *y = sqrt(fabs(v)) * exp(-fabs(v)) + 0.25;
        *z = 1;
        break;
    case TEST_hold:
        *y = v + sum;
        *z = v + 3 * sum;
        break;
    case TEST_square:
        *y = j == 0 ? 1 : NAN;
        break;
    case TEST_words:
        *y = *z = j == 0 ? 1 : NAN;
        break;
    default:
        *y = j == 0 ? (double)run->op : (double)NAN;
    }
}

static void compare(const test_run *run, const char *what, const void *array, int row, int j,
                    double want, double untouched) {
    const int i = shift_of(run) + row * (int)run->args.y_stride + j;
    const double got = get(array, run->dtype, i);
    if (isnan(want)) want = untouched;
    if (fabs(got - want) <= 2 * epsilons[run->dtype] * fabs(want)) return;
    if (++failures < 20)
        fprintf(stderr,
                "%s: dtype %d, %d lanes, stream %d, %d vectors of %d%s, cols %d: %s[%d][%d] is %g, "
                "not %g\n",
                names[run->kernel], run->dtype, run->lanes, run->stream, run->vectors, run->bytes,
                run->holds ? run->loose ? " held, loose" : " held" : "", run->cols, what, row, j,
                got, want);
}

static void test(backend *self, test_run *run, bool in_place) {
    const int padded = (run->cols + GAP + ALIGNED - 1) / ALIGNED * ALIGNED;
    const int stride = run->vectors && !run->loose ? padded : run->cols + GAP;
    for (int i = 0; i < MAX_SIZE; i++)
        for (int b = 0; b < 3; b++)
            put(run->buffers[b], run->dtype, i, b == 2 && run->kernel == TEST_share ? 0 : -7);
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < run->cols; j++)
            put(run->buffers[0], run->dtype, shift_of(run) + row * stride + j, input(row, j));
    run->args = (tdm_rows_args){.rows = ROWS,
                                .x_stride = stride,
                                .y_stride = stride,
                                .epsilon = {.f32 = 0.25f},
                                .cut = {.cols = (tdm_u32)run->cols}};
    const double quarter = 0.25;
    memcpy(&run->args.epsilon.f64_bits, &quarter, sizeof quarter);
    void *const y = run->buffers[1];
    if (in_place) run->buffers[1] = run->buffers[0];
    const bool launched = self->launch(self, run);
    const void *const result = run->buffers[1];
    run->buffers[1] = y;
    if (!launched) {
        fprintf(stderr, "%s: dtype %d, %d lanes: the launch failed\n", names[run->kernel],
                run->dtype, run->lanes);
        failures++;
        return;
    }
    const double blank = run->kernel == TEST_share ? 0 : -7;
    for (int row = 0; row < ROWS; row++) {
        for (int j = 0; j < stride; j++) { /* the gap must be untouched */
            double want_y = NAN, want_z = NAN;
            if (j < run->cols) expect(run, row, j, &want_y, &want_z);
            compare(run, "y", result, row, j, want_y, -7);
            compare(run, "z", run->buffers[2], row, j, want_z, blank);
        }
    }
}

/* Vectors change the loops over rows alone. */
static bool is_of_rows(int kernel) {
    return kernel == TEST_sum || kernel == TEST_largest || kernel == TEST_write ||
           kernel == TEST_write2 || kernel == TEST_hold;
}

/* What the launch promises: STREAM rows of a cache line at least, HOLDS rows that the lanes hold, and vectors of
 * whole elements. */
static bool is_promised(const test_run *run) {
    const int size = (int)sizes[run->dtype];
    if (run->holds && run->cols * size > run->lanes * run->vectors * run->bytes) return false;
    if (run->bytes < size) return false;
    return !run->stream || run->cols * size >= CACHE_LINE;
}

/* Each kernel has other lengths of rows than the one before it. */
static bool in_part(const backend *self, const test_run *run, size_t length) {
    return (run->dtype + run->kernel + run->op + (int)length) % self->parts == 0;
}

enum { HOLDING = 1, LOOSELY = 2 };

static void test_all(backend *self, int lanes, int stream, int vectors, int bytes, int how) {
    test_run run = {.lanes = lanes,
                    .stream = stream,
                    .vectors = vectors,
                    .bytes = bytes,
                    .holds = how & HOLDING,
                    .loose = how & LOOSELY};
    for (int b = 0; b < 3; b++) {
        /* lines of 64 bytes, so that the shift misaligns every row */
        run.buffers[b] =
            aligned_alloc(CACHE_LINE, MAX_SIZE * 8 / CACHE_LINE * CACHE_LINE + CACHE_LINE);
        if (!run.buffers[b]) exit(1);
    }
    for (run.dtype = self->first; run.dtype < TEST_DTYPES; run.dtype += self->step) {
        for (run.op = 0; run.op < 3; run.op++) {
            for (run.kernel = 0; run.kernel < TEST_KERNELS; run.kernel++) {
                if ((run.kernel == TEST_variant) != (run.op != 0)) continue;
                if (vectors && !is_of_rows(run.kernel)) continue;
                for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
                    run.cols = columns[c];
                    run.groups = 1 + (int)c % 7;
                    if (!is_promised(&run) || !in_part(self, &run, c)) continue;
                    test(self, &run, false);
                    const bool in_place = run.kernel == TEST_lanes || run.kernel == TEST_write ||
                                          run.kernel == TEST_hold;
                    if (!stream && in_place) test(self, &run, true);
                }
            }
        }
    }
    for (int b = 0; b < 3; b++)
        free(run.buffers[b]);
}

/* What the device is taken for: itself, or a GPU with such a version and extensions. */
typedef struct role {
    const char *name, *version, *extensions;
} role;

static const role roles[] = {
    {"opencl", NULL, NULL},
    {"intel", "OpenCL 1.2 ", "cl_intel_subgroups"},
    {"khronos", "OpenCL 3.0 ", "cl_khr_subgroups"},
};

static void test_opencl(const role *as) {
    const bool full = getenv("TDM_TEST_FULL");
    backend self = {.launch = launch_opencl, .compiler = {.options = ""}, .parts = 1, .step = 1};
    cl_platform_id platform;
    cl_device_type type = 0;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &self.device, NULL) != CL_SUCCESS) {
        fprintf(stderr, "no OpenCL device\n");
        exit(1);
    }
    clGetDeviceInfo(self.device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    self.context = clCreateContext(NULL, 1, &self.device, NULL, NULL, &status);
    self.queue = clCreateCommandQueue(self.context, self.device, 0, &status);
    const bool cpu = type & CL_DEVICE_TYPE_CPU && !(type & CL_DEVICE_TYPE_GPU);
    if (as->version) {
        const tdm_device_info gpu = {.type = TDM_DEVICE_GPU};
        self.compiler = tdmi_cl_compiler_of(&gpu, as->version, as->extensions);
        /* of one sub-group, and of several, each for half of the dtypes, as a compiler for CPUs takes long; the
         * other extension has the other halves */
        if (!strstr(self.compiler.options, "SUB_GROUPS")) failures++;
        self.step = full ? 1 : 2;
        self.first = !full && strcmp(as->name, "intel") == 0;
        test_all(&self, 16, 0, 0, 16, 0);
        self.first = !full && !self.first;
        test_all(&self, 128, 0, 0, 16, 0);
    } else if (cpu) {
        test_all(&self, 1, 0, 0, 16, 0);
        self.parts = full ? 1 : 2;
        test_all(&self, 64, 0, 4, 16, HOLDING);
        test_all(&self, 64, 0, 4, 16, HOLDING | LOOSELY);
    } else {
        self.parts = full ? 1 : 4; /* interpreted */
        test_all(&self, 32, 0, 0, 16, 0);
        test_all(&self, 64, 1, 0, 16, 0);
        test_all(&self, 256, 0, 0, 16, 0);
        test_all(&self, 32, 0, 2, 16, 0);
        test_all(&self, 64, 0, 4, 16, 0);
        test_all(&self, 32, 0, 4, 16, HOLDING);
        test_all(&self, 64, 0, 8, 16, HOLDING);
        test_all(&self, 32, 0, 4, 8, HOLDING);
        test_all(&self, 32, 0, 4, 4, HOLDING);
        test_all(&self, 64, 0, 4, 4, 0);
    }
    if (self.program) clReleaseProgram(self.program);
    clReleaseCommandQueue(self.queue);
    clReleaseContext(self.context);
}

int main(int argc, char **argv) {
    const char *name = argc == 2 ? argv[1] : "";
    const role *as = NULL;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(name, roles[i].name) == 0) as = &roles[i];
    if (strcmp(name, "c") == 0) {
        backend self = {.launch = launch_c, .parts = 1, .step = 1};
        test_all(&self, 1, 0, 0, 16, 0);
        test_all(&self, 1, 1, 0, 16, 0);
    } else if (as) {
        test_opencl(as);
    } else {
        fprintf(stderr, "usage: dialect c|opencl|intel|khronos\n");
        return 2;
    }
    printf("dialect %s: %d failures\n", name, failures);
    return failures != 0;
}
