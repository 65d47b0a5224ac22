/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How every function of the stand-ins for libcudart and libcuda begins and ends. */
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
/* Of a call that may not be made during a capture in the default mode. */
#define BEGIN_UNCAPTURED(function)                                                                 \
    BEGIN(function);                                                                               \
    error = sim_check_captures(function);                                                          \
    if (error) return (cudaError_t)sim_set_error(error)
#define BEGIN_DRIVER(function)                                                                     \
    int error = sim_fault(function);                                                               \
    if (!error) error = sim_driver_error();                                                        \
    if (!error) error = sim_check_initialised(function);                                           \
    if (error) return (CUresult)error
#define BEGIN_DRIVER_IN_CONTEXT(function)                                                          \
    BEGIN_DRIVER(function);                                                                        \
    CUcontext context = sim_current();                                                             \
    if (!context) sim_report("%s: no context is current", function);                               \
    error = context ? sim_sticky(context) : CUDA_ERROR_INVALID_CONTEXT;                            \
    if (error) return (CUresult)error
#define END(result) return (cudaError_t)sim_set_error(result)

#endif
