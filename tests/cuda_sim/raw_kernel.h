/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels that the benchmark launches by itself, to compare Tandem with: a text in CUDA C, whose effect
 * the machine knows. */
#ifndef SIM_RAW_KERNEL_H
#define SIM_RAW_KERNEL_H

#include "kernels.h"
#include "sim.h"

typedef struct raw_kernel {
    const char *name;
    int buffers;
    size_t args_size; /* of the arguments after the buffers */
    tdmi_cpu_entry entry;
} raw_kernel;

/* How many lanes they are written for. */
enum { RAW_LANES = 32 };

/* The one of that name, or NULL. */
const raw_kernel *raw_kernel_find(const char *name, size_t length);

/* How a text has one: the name follows. */
#define RAW_DEFINITION "extern \"C\" __global__ void "

#endif
