/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libOpenCL.so.1 that counts the calls of every function that the library uses, and passes
 * them on to the real one, with which it is linked. A function here adds one and jumps on with all its
 * arguments where they are, so that none has to be written out; for x86-64 alone. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/api.h"

typedef void any_function(void);

#define COUNTED(name)                                                                              \
    extern unsigned long counted_##name;                                                           \
    extern any_function *passed_on_##name;                                                         \
    __attribute__((visibility("hidden"))) unsigned long counted_##name;                            \
    __attribute__((visibility("hidden"))) any_function *passed_on_##name;                          \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            "lock incq counted_" #name "(%rip)\n"                                                  \
            "jmp *passed_on_" #name "(%rip)\n"                                                     \
            ".size " #name ", . - " #name "\n");
TDMI_CL_FUNCTIONS(COUNTED)
TDMI_CL_LATER_FUNCTIONS(COUNTED)

static const struct {
    const char *name;
    unsigned long *calls;
    any_function **real;
} functions[] = {
#define ENTRY(name) {#name, &counted_##name, &passed_on_##name},
    TDMI_CL_FUNCTIONS(ENTRY) TDMI_CL_LATER_FUNCTIONS(ENTRY)};

enum { COUNT = sizeof functions / sizeof *functions };

__attribute__((constructor)) static void find_all(void) {
    for (size_t i = 0; i < COUNT; i++) {
        void *symbol = dlsym(RTLD_NEXT, functions[i].name);
        if (!symbol) abort();
        memcpy(functions[i].real, &symbol, sizeof symbol);
    }
}

void opencl_count_reset(void);
const char *opencl_count_called(size_t index, unsigned long *calls);

void opencl_count_reset(void) {
    for (size_t i = 0; i < COUNT; i++)
        __atomic_store_n(functions[i].calls, 0, __ATOMIC_RELAXED);
}

const char *opencl_count_called(size_t index, unsigned long *calls) {
    for (size_t i = 0; i < COUNT; i++) {
        *calls = __atomic_load_n(functions[i].calls, __ATOMIC_RELAXED);
        if (*calls > 0 && index-- == 0) return functions[i].name;
    }
    return NULL;
}
