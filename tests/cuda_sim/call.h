/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How every function of the stand-in for libcudart begins and ends. */
#ifndef CUDA_SIM_CALL_H
#define CUDA_SIM_CALL_H

#include "sim.h"

/* Counts the call, gives the error it is to give, and finds the context it works in. */
#define BEGIN(function)                                                                            \
    int error = sim_fault(function);                                                               \
    if (error) return (cudaError_t)sim_set_error(error)
#define BEGIN_IN_CONTEXT(function)                                                                 \
    BEGIN(function);                                                                               \
    CUcontext context = sim_context(&error);                                                       \
    if (!context) return (cudaError_t)sim_set_error(error)
#define END(result) return (cudaError_t)sim_set_error(result)

#endif
