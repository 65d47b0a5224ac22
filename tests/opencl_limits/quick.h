/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How pocl compiles the library's kernels in a fifth of the time: without optimization, and without the 18,000
 * lines of clang's opencl-c.h, which it reads twice for every program unless the header's guard is defined. */
#ifndef TEST_OPENCL_QUICK_H
#define TEST_OPENCL_QUICK_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void any_function(void);

/* The real loader's function. */
static inline any_function *find(const char *name) {
    any_function *function;
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "the OpenCL loader has no %s\n", name);
        abort();
    }
    memcpy(&function, &symbol, sizeof function);
    return function;
}
#define REAL(name) ((__typeof__(&name))find(#name))

/* The built-in functions that kernels call. */
static const char quick_declarations[] =
    "#define D __attribute__((overloadable, const))\n"
    "#define F1(V, name) D V name(V);\n"
    "#define F2(V, name) D V name(V, V);\n"
    "#define FLOATS(V) D V fma(V, V, V); F2(V, pow) F2(V, fmod) F2(V, atan2) F2(V, hypot) F1(V, "
    "sqrt) \\\n"
    " F1(V, fabs) F1(V, exp2) F1(V, expm1) F1(V, log) F1(V, log2) F1(V, log10) F1(V, log1p) \\\n"
    " F1(V, sin) F1(V, cos) F1(V, tan) F1(V, asin) F1(V, acos) F1(V, atan) F1(V, sinh) F1(V, "
    "asinh) \\\n"
    " F1(V, cosh) F1(V, acosh) F1(V, atanh) F1(V, erf) F1(V, erfc) F1(V, floor) F1(V, ceil) F1(V, "
    "rint) F1(V, trunc)\n"
    "D size_t get_group_id(uint); D size_t get_num_groups(uint); D size_t get_local_id(uint);\n"
    "__attribute__((overloadable, convergent)) void barrier(uint);\n"
    "__attribute__((overloadable, pure)) float vload_half(size_t, const __private half *);\n"
    "__attribute__((overloadable)) void vstore_half_rte(float, size_t, __private half *);\n"
    "FLOATS(float)\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "FLOATS(double)\n"
    "#endif\n"
    "#undef D\n#undef F1\n#undef F2\n#undef FLOATS\n#line 1\n";

/* The real function's program of `first`, then the texts, which end with a NUL each. */
static inline cl_program program_of(const char *first, cl_context context, cl_uint count,
                                    const char **texts, const size_t *lengths, cl_int *errcode) {
    cl_program (*create)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    any_function *const real = find("clCreateProgramWithSource");
    memcpy(&create, &real, sizeof create);
    const char *with[8] = {first};
    if (count >= sizeof with / sizeof *with || lengths) {
        if (errcode) *errcode = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    memcpy(with + 1, texts, count * sizeof *texts);
    return create(context, count + 1, with, NULL, errcode);
}

/* With TDM_TEXTS, a folder, the program's text goes there, after its options as a comment, for another compiler. */
static inline void keep_text(cl_program program, const char *options) {
    const char *folder = getenv("TDM_TEXTS");
    static char text[1 << 20], path[4096];
    if (!folder || REAL(clGetProgramInfo)(program, CL_PROGRAM_SOURCE, sizeof text, text, NULL))
        return;
    const size_t declared = strlen(quick_declarations);
    const char *own = strncmp(text, quick_declarations, declared) == 0 ? text + declared : text;
    snprintf(path, sizeof path, "%s/%d-%p.cl", folder, (int)getpid(), (void *)program);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "// %s\n%s", options, own) < 0 || fclose(file) != 0) abort();
}

static inline cl_int build_quickly(cl_program program, cl_uint count, const cl_device_id *devices,
                                   const char *options,
                                   void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
    char more[4096];
    keep_text(program, options);
    snprintf(more, sizeof more, "%s -cl-opt-disable -D_OPENCL_H_", options ? options : "");
    return REAL(clBuildProgram)(program, count, devices, more, notify, data);
}

/* A context of one device, which is kept, as pocl reads its library of built-in functions for each new one. */
static inline cl_context
kept_context(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
             cl_int *errcode) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cl_context kept[8];
    static cl_device_id of[8];
    int i = 0;
    if (count != 1 || notify)
        return REAL(clCreateContext)(properties, count, devices, notify, data, errcode);
    pthread_mutex_lock(&lock);
    /* a ninth device would take the place of the last one */
    while (i < 7 && kept[i] && of[i] != *devices)
        i++;
    if (errcode) *errcode = CL_SUCCESS;
    if (!kept[i] || of[i] != *devices) {
        kept[i] = REAL(clCreateContext)(properties, count, devices, notify, data, errcode);
        of[i] = *devices;
    }
    const cl_context context = kept[i];
    if (context) (void)REAL(clRetainContext)(context);
    pthread_mutex_unlock(&lock);
    return context;
}

#endif
