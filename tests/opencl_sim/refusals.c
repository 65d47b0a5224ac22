/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of libOpenCL.so.1 that need a context. There never is one, so a call is a defect of
 * the caller, and ends the process. CL/cl.h is not included: here the names alone count. */
#include <stdio.h>
#include <stdlib.h>

enum { CALLED = 87 };

#define REFUSE(name)                                                                               \
    void name(void);                                                                               \
    void name(void) {                                                                              \
        fputs("simulated OpenCL: " #name " was called without a context\n", stderr);               \
        _Exit(CALLED);                                                                             \
    }

/* clang-format off */
REFUSE(clGetContextInfo)
REFUSE(clRetainContext)
REFUSE(clReleaseContext)
REFUSE(clCreateCommandQueue)
REFUSE(clGetCommandQueueInfo)
REFUSE(clRetainCommandQueue)
REFUSE(clReleaseCommandQueue)
REFUSE(clFlush)
REFUSE(clFinish)
REFUSE(clCreateBuffer)
REFUSE(clSetMemObjectDestructorCallback)
REFUSE(clGetMemObjectInfo)
REFUSE(clRetainMemObject)
REFUSE(clReleaseMemObject)
REFUSE(clEnqueueMigrateMemObjects)
REFUSE(clEnqueueReadBuffer)
REFUSE(clEnqueueWriteBuffer)
REFUSE(clEnqueueCopyBuffer)
REFUSE(clEnqueueFillBuffer)
REFUSE(clEnqueueMapBuffer)
REFUSE(clEnqueueUnmapMemObject)
REFUSE(clEnqueueMarkerWithWaitList)
REFUSE(clEnqueueBarrierWithWaitList)
REFUSE(clEnqueueNDRangeKernel)
REFUSE(clEnqueueNativeKernel)
REFUSE(clWaitForEvents)
REFUSE(clCreateUserEvent)
REFUSE(clSetUserEventStatus)
REFUSE(clGetEventInfo)
REFUSE(clGetEventProfilingInfo)
REFUSE(clRetainEvent)
REFUSE(clReleaseEvent)
REFUSE(clCreateProgramWithSource)
REFUSE(clCreateProgramWithBinary)
REFUSE(clBuildProgram)
REFUSE(clGetProgramInfo)
REFUSE(clGetProgramBuildInfo)
REFUSE(clReleaseProgram)
REFUSE(clCreateKernel)
REFUSE(clReleaseKernel)
REFUSE(clSetKernelArg)
REFUSE(clGetKernelWorkGroupInfo)
/* clang-format on */
