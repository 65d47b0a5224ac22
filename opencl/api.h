/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of the OpenCL library, which is opened at run time (load.c), so that nothing is linked. */
#ifndef TDMI_OPENCL_API_H
#define TDMI_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <tandem/status.h>

/* The functions of libOpenCL.so.1 that this backend calls, all of OpenCL 1.2. */
#define TDMI_CL_FUNCTIONS(X)                                                                       \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clGetContextInfo)                                                                            \
    X(clRetainContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clGetCommandQueueInfo)                                                                       \
    X(clRetainCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clFlush)                                                                                     \
    X(clFinish)                                                                                    \
    X(clCreateBuffer)                                                                              \
    X(clSetMemObjectDestructorCallback)                                                            \
    X(clGetMemObjectInfo)                                                                          \
    X(clRetainMemObject)                                                                           \
    X(clReleaseMemObject)                                                                          \
    X(clEnqueueMigrateMemObjects)                                                                  \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueCopyBuffer)                                                                         \
    X(clEnqueueFillBuffer)                                                                         \
    X(clEnqueueMapBuffer)                                                                          \
    X(clEnqueueUnmapMemObject)                                                                     \
    X(clEnqueueMarkerWithWaitList)                                                                 \
    X(clEnqueueBarrierWithWaitList)                                                                \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueNativeKernel)                                                                       \
    X(clWaitForEvents)                                                                             \
    X(clCreateUserEvent)                                                                           \
    X(clSetUserEventStatus)                                                                        \
    X(clGetEventInfo)                                                                              \
    X(clGetEventProfilingInfo)                                                                     \
    X(clRetainEvent)                                                                               \
    X(clReleaseEvent)                                                                              \
    X(clCreateProgramWithSource)                                                                   \
    X(clCreateProgramWithBinary)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clGetProgramInfo)                                                                            \
    X(clGetProgramBuildInfo)                                                                       \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clSetKernelArg)                                                                              \
    X(clGetKernelWorkGroupInfo)

/* Those of OpenCL 2.0: NULL where the library has not got them. */
#define TDMI_CL_LATER_FUNCTIONS(X)                                                                 \
    X(clSVMAlloc)                                                                                  \
    X(clSVMFree)

/* The loaded functions: tdmi_cl.clFinish(queue). Valid after tdmi_cl_open succeeded. */
typedef struct tdmi_cl_functions {
#define TDMI_CL_MEMBER(name) __typeof__(&name) name;
    TDMI_CL_FUNCTIONS(TDMI_CL_MEMBER)
    TDMI_CL_LATER_FUNCTIONS(TDMI_CL_MEMBER)
#undef TDMI_CL_MEMBER
} tdmi_cl_functions;

extern tdmi_cl_functions tdmi_cl;

/* Opens libOpenCL.so.1 and fills in tdmi_cl, before any other thread uses tdmi_cl; called until it
 * succeeds. TDM_ERROR_UNAVAILABLE is final. */
tdm_status tdmi_cl_open(void) TDM_MUST_USE;

/* Refuses what the ICD loader would hang on: to be called before its first function. */
tdm_status tdmi_cl_check_vendors(void) TDM_MUST_USE;

/* Adds the diagnostic items of the ICD loader and of every ICD file of the vendors folder. */
void tdmi_cl_diagnose_drivers(void);

#endif
