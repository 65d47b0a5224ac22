/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program's own OpenCL next to Tandem: its context, command queue and memory are shared, so that its kernels and
 * Tandem's operations work on the same bytes, in one order, without a copy and without a wait in between.
 *
 *     cc -std=c11 with_opencl.c $(pkg-config --cflags --libs tandem) -lOpenCL -lm -o with_opencl
 *     ./with_opencl       # or ./with_opencl 1, for the second device of the platform */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 256, COLS = 512, COUNT = ROWS * COLS, MOST_DEVICES = 16 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "with_opencl: %s\n", tdm_last_error());
    exit(1);
}

static void check_cl(cl_int code, const char *what) {
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "with_opencl: %s failed with %d\n", what, code);
    exit(1);
}

/* Two kernels of the program's: a sine wave that is longer in each row, and the square of each element. */
static const char text[] =
    "__kernel void wave(__global float *x, int cols) {"
    "    int i = get_global_id(0);"
    "    x[i] = 7.0f + 3.0f * sin((float)(i % cols) / (float)(1 + i / cols));"
    "}"
    "__kernel void square(__global float *x) {"
    "    int i = get_global_id(0);"
    "    x[i] = x[i] * x[i];"
    "}";

/* Called when neither Tandem nor work that it was given uses the memory any more. */
static void returned(void *context) { *(int *)context = 1; }

int main(int argc, char **argv) {
    const size_t bytes = COUNT * sizeof(float), items = COUNT;
    const unsigned long number = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const int cols = COLS;
    cl_int code;

    /* The program's own OpenCL. */
    cl_platform_id platform;
    cl_device_id ids[MOST_DEVICES];
    cl_uint devices;
    check_cl(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &devices),
             "clGetDeviceIDs");
    if (number >= devices || number >= MOST_DEVICES) {
        fprintf(stderr, "with_opencl: the platform has %u devices; their numbers begin with 0\n",
                devices);
        return 2;
    }
    cl_device_id id = ids[number];
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    check_cl(code, "clCreateContext");
    cl_command_queue commands = clCreateCommandQueue(context, id, 0, &code);
    check_cl(code, "clCreateCommandQueue");
    const char *source = text;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    check_cl(code, "clCreateProgramWithSource");
    check_cl(clBuildProgram(program, 1, &id, "", NULL, NULL), "clBuildProgram");
    cl_kernel wave = clCreateKernel(program, "wave", &code);
    cl_kernel square = clCreateKernel(program, "square", &code);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer");

    /* Tandem in it: a device, a queue and a buffer over what is there already. */
    tdm_device *device;
    tdm_queue *queue;
    tdm_buffer *buffer;
    int is_back = 0;
    check(tdm_opencl_adopt_device(context, id, &device));
    check(tdm_opencl_adopt_queue(device, commands, &queue));
    check(tdm_opencl_adopt_memory(device, memory, bytes, returned, &is_back, &buffer));
    tdm_tensor x = tdm_tensor_2d(buffer, TDM_F32, ROWS, COLS);
    printf("sharing a context with %s\n", tdm_device_get_info(device)->id);

    /* A kernel, LayerNorm and another kernel: the queue is in-order, whichever library submits the work. */
    check_cl(clSetKernelArg(wave, 0, sizeof memory, &memory), "clSetKernelArg");
    check_cl(clSetKernelArg(wave, 1, sizeof cols, &cols), "clSetKernelArg");
    check_cl(clSetKernelArg(square, 0, sizeof memory, &memory), "clSetKernelArg");
    check_cl(clEnqueueNDRangeKernel(commands, wave, 1, NULL, &items, NULL, 0, NULL, NULL), "wave");
    check(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &x));
    check_cl(clEnqueueNDRangeKernel(commands, square, 1, NULL, &items, NULL, 0, NULL, NULL),
             "square");

    /* Given back at once; Tandem holds the memory for as long as queued work needs it. */
    tdm_buffer_release(buffer);

    float *values = malloc(bytes);
    if (!values) return 1;
    check_cl(clEnqueueReadBuffer(commands, memory, CL_TRUE, 0, bytes, values, 0, NULL, NULL),
             "clEnqueueReadBuffer");
    double worst = 0; /* the squares of a row that LayerNorm has scaled have the mean 1 */
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++)
            sum += (double)values[i * COLS + j];
        if (fabs(sum / COLS - 1) > worst) worst = fabs(sum / COLS - 1);
    }
    printf("the variance of each row is 1: %s\n", worst < 1e-3 ? "yes" : "no");
    free(values);

    tdm_queue_destroy(queue); /* the program's queue and context stay as they are */
    tdm_device_release(device);
    printf("the memory came back: %s\n", is_back ? "yes" : "no");
    clReleaseMemObject(memory);
    clReleaseKernel(wave);
    clReleaseKernel(square);
    clReleaseProgram(program);
    clReleaseCommandQueue(commands);
    clReleaseContext(context);
    return worst < 1e-3 && is_back ? 0 : 1;
}
