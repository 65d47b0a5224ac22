/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are not of the library: their text, as it was meant for NVRTC, compiled as C by the compiler that
 * built the tests, with the dialect in C before it. */
#ifndef SIM_OWN_KERNEL_H
#define SIM_OWN_KERNEL_H

#include "kernels.h"
#include "sim.h"

typedef struct own_kernel {
    void *library;
    tdmi_cpu_entry entry;
    int buffers;
    size_t args_size;
} own_kernel;

/* The beginning of such a text: an expression's, and that of a kernel in the dialect. */
#define OWN_EXPRESSION "#line 1 \"expression\"\n"
#define OWN_SOURCE "#line 1 \"parameters\"\n"

/* Whether a text in the dialect compiles; if not, the compiler's messages. */
bool own_kernel_check(const sim_image *image, char *log, size_t size);

/* False when it does not compile, which is reported with the compiler's words on stderr, or has no such entry, whose
 * name is without "tdm_". */
bool own_kernel_open(const sim_image *image, own_kernel *kernel);
bool own_kernel_find(const sim_image *image, const char *entry, own_kernel *kernel);
void own_kernel_close(own_kernel *kernel);

/* A fresh folder for temporary files, in TMPDIR or /tmp. */
bool sim_make_folder(char folder[512]);

#endif
