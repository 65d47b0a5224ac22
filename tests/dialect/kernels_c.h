/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The test kernels of macros.cl: their names, and their entries in C. */
#ifndef TEST_DIALECT_KERNELS_C_H
#define TEST_DIALECT_KERNELS_C_H

#include "kernels.h"

#define TEST_KERNEL_LIST(X)                                                                        \
    X(share)                                                                                       \
    X(dims)                                                                                        \
    X(lanes)                                                                                       \
    X(far)                                                                                         \
    X(sum)                                                                                         \
    X(carry) X(largest) X(write) X(write2) X(local) X(number) X(words) X(hold) X(square) X(variant)

enum {
#define TEST_KERNEL_ENUM(name) TEST_##name,
    TEST_KERNEL_LIST(TEST_KERNEL_ENUM)
#undef TEST_KERNEL_ENUM
        TEST_KERNELS,
    TEST_DTYPES = 4
};

extern const tdmi_cpu_entry test_kernels_c[TEST_KERNELS][TEST_DTYPES];

#endif
