/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of libOpenCL.so.1 that need a context. There never is one, so a call is a defect of
 * the caller, and ends the process. */
#include <stdio.h>
#include <stdlib.h>

#include "opencl/api.h"

enum { CALLED = 87 };

/* Weak, so that those of listing.c, which need no context, take precedence. */
#define REFUSE(name)                                                                               \
    __attribute__((weak)) void refuse_##name(void) __asm__(#name);                                 \
    void refuse_##name(void) {                                                                     \
        fputs("simulated OpenCL: " #name " was called without a context\n", stderr);               \
        _Exit(CALLED);                                                                             \
    }
TDMI_CL_FUNCTIONS(REFUSE)
