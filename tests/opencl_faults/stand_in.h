/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for libOpenCL.so.1 that TANDEM_LIBRARY_PATH leads to, as tests talk to it. */
#ifndef OPENCL_FAULTS_STAND_IN_H
#define OPENCL_FAULTS_STAND_IN_H

#include "control.h"

typedef struct stand_in {
    opencl_fail_function *fail;
    opencl_heal_function *heal;
    opencl_lazy_function *lazy;
} stand_in;

/* Opens it; ends the process when it is not there. */
stand_in stand_in_open(void);

#endif
