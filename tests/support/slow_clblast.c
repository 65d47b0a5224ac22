/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast, whose products wait, and say so, for as long as its direct kernel has the parameters that it came with. A
 * search finds better ones with the first that are right, on a machine as noisy as any. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clblast_c.h>

static int has_others, products; /* since they were set */

/* With SLOW_CLBLAST_LUCK others are fast at a first look alone, which is a product to see that it is right and, as it
 * takes a quarter of a second, another one for its time. */
static void wait_as_it_came(void) {
    const int is_lucky = !!getenv("SLOW_CLBLAST_LUCK");
    if (has_others && !is_lucky) return;
    const int look = has_others ? products++ / 2 : -1;
    const struct timespec time = {.tv_nsec = look < 0    ? is_lucky ? 400000000 : 300000000
                                             : look == 0 ? 260000000
                                                         : 700000000};
    if (look < 0) fputs("slow_clblast: the parameters that it came with\n", stderr);
    if (look == 1) fputs("slow_clblast: a second look\n", stderr);
    (void)nanosleep(&time, NULL);
}

/* With SLOW_CLBLAST_REFUSES a product is that error of a driver, and the real library is not asked. */
static int refuses(void) { return !!getenv("SLOW_CLBLAST_REFUSES"); }

static CLBlastStatusCode refusal(void) {
    fputs("slow_clblast: refused\n", stderr);
    return (CLBlastStatusCode)atoi(getenv("SLOW_CLBLAST_REFUSES"));
}

/* The loader knows this library by its path, so the name gives CLBlast. */
static void (*real(const char *name))(void) {
    void *library = dlopen("libclblast.so.1", RTLD_NOW);
    void *address = library ? dlsym(library, name) : NULL;
    if (!address) {
        fprintf(stderr, "slow_clblast: %s: %s\n", name, dlerror());
        abort();
    }
    void (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function;
}

#define REAL(name) __typeof__(&name) own = (__typeof__(&name))real(#name)

CLBlastStatusCode CLBlastOverrideParameters(const cl_device_id device, const char *kernel,
                                            const CLBlastPrecision precision, const size_t count,
                                            const char **names, const size_t *values) {
    REAL(CLBlastOverrideParameters);
    const CLBlastStatusCode code = own(device, kernel, precision, count, names, values);
    if (strcmp(kernel, "Xgemm") == 0)
        fprintf(stderr, "slow_clblast: %s %zu\n", names[0], values[0]);
    if (code == CLBlastSuccess && strcmp(kernel, "XgemmDirect") == 0) {
        has_others = 1;
        products = 0;
    }
    return code;
}

/* The header's declaration is without a prototype. */
CLBlastStatusCode CLBlastClearCache(void);
CLBlastStatusCode CLBlastClearCache(void) {
    REAL(CLBlastClearCache);
    return own();
}

#define GEMM(NAME, TYPE)                                                                           \
    CLBlastStatusCode NAME(const CLBlastLayout layout, const CLBlastTranspose ta,                  \
                           const CLBlastTranspose tb, const size_t m, const size_t n,              \
                           const size_t k, const TYPE alpha, const cl_mem a, const size_t at_a,    \
                           const size_t lda, const cl_mem b, const size_t at_b, const size_t ldb,  \
                           const TYPE beta, cl_mem c, const size_t at_c, const size_t ldc,         \
                           cl_command_queue *queue, cl_event *event) {                             \
        if (refuses()) return refusal();                                                           \
        REAL(NAME);                                                                                \
        wait_as_it_came();                                                                         \
        return own(layout, ta, tb, m, n, k, alpha, a, at_a, lda, b, at_b, ldb, beta, c, at_c, ldc, \
                   queue, event);                                                                  \
    }
GEMM(CLBlastSgemm, float)
GEMM(CLBlastDgemm, double)

#define BATCHED(NAME, TYPE)                                                                        \
    CLBlastStatusCode NAME(                                                                        \
        const CLBlastLayout layout, const CLBlastTranspose ta, const CLBlastTranspose tb,          \
        const size_t m, const size_t n, const size_t k, const TYPE alpha, const cl_mem a,          \
        const size_t at_a, const size_t lda, const size_t step_a, const cl_mem b,                  \
        const size_t at_b, const size_t ldb, const size_t step_b, const TYPE beta, cl_mem c,       \
        const size_t at_c, const size_t ldc, const size_t step_c, const size_t count,              \
        cl_command_queue *queue, cl_event *event) {                                                \
        if (refuses()) return refusal();                                                           \
        REAL(NAME);                                                                                \
        return own(layout, ta, tb, m, n, k, alpha, a, at_a, lda, step_a, b, at_b, ldb, step_b,     \
                   beta, c, at_c, ldc, step_c, count, queue, event);                               \
    }
BATCHED(CLBlastSgemmStridedBatched, float)
BATCHED(CLBlastDgemmStridedBatched, double)
