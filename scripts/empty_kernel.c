/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The least cost of a first call through OpenCL: compiles one empty kernel on the first device and
 * runs it. scripts/first-call.sh compares Tandem's examples with it. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

static int fail(const char *call, cl_int code) {
    fprintf(stderr, "empty_kernel: %s gives %d\n", call, code);
    return 1;
}

int main(void) {
    const char *text = "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                       "void empty(__global int *p) {}\n";
    const size_t one = 1;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    if (code != CL_SUCCESS) return fail("clGetPlatformIDs", code);
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (code != CL_SUCCESS) return fail("clGetDeviceIDs", code);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code != CL_SUCCESS) return fail("clCreateContext", code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    if (code != CL_SUCCESS) return fail("clCreateCommandQueue", code);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    if (code != CL_SUCCESS) return fail("clCreateProgramWithSource", code);
    code = clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
    if (code != CL_SUCCESS) return fail("clBuildProgram", code);
    cl_kernel kernel = clCreateKernel(program, "empty", &code);
    if (code != CL_SUCCESS) return fail("clCreateKernel", code);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &code);
    if (code != CL_SUCCESS) return fail("clCreateBuffer", code);
    code = clSetKernelArg(kernel, 0, sizeof memory, &memory);
    if (code != CL_SUCCESS) return fail("clSetKernelArg", code);
    code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (code != CL_SUCCESS) return fail("clEnqueueNDRangeKernel", code);
    code = clFinish(queue);
    if (code != CL_SUCCESS) return fail("clFinish", code);
    clReleaseMemObject(memory);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
