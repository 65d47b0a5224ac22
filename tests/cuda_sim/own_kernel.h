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
} own_kernel;

/* False when it does not compile, which is reported with the compiler's words on stderr. */
bool own_kernel_open(const sim_image *image, own_kernel *kernel);
void own_kernel_close(own_kernel *kernel);

#endif
