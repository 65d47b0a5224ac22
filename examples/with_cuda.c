/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program's own CUDA next to Tandem: its memory is shared without a copy, and its stream and Tandem's queue
 * wait for each other by events, on the device. The program's kernels, compiled by nvcc, would be launched in
 * the stream.
 *
 *     cc -std=c11 with_cuda.c $(pkg-config --cflags --libs tandem) -lcudart -lm -o with_cuda */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 256, COLS = 512, COUNT = ROWS * COLS, BATCHES = 4 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "with_cuda: %s\n", tdm_last_error());
    exit(1);
}

static void check_cuda(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "with_cuda: %s failed: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* Called when neither Tandem nor work that it was given uses the memory any more: only now is it freed. */
static void give_back(void *memory) { check_cuda(cudaFree(memory), "cudaFree"); }

/* How far the means of the rows are from 0, and their variances from 1. */
static double error_of(const float *values) {
    double worst = 0;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, squares = 0;
        for (int j = 0; j < COLS; j++) {
            const double value = (double)values[i * COLS + j];
            sum += value;
            squares += value * value;
        }
        worst = fmax(worst, fmax(fabs(sum / COLS), fabs(squares / COLS - 1)));
    }
    return worst;
}

int main(void) {
    const size_t bytes = COUNT * sizeof(float);

    tdm_device *device;
    tdm_queue *queue;
    int ordinal;
    check(tdm_device_open("cuda", &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_cuda_get_ordinal(device, &ordinal));
    printf("sharing memory with %s\n", tdm_device_get_info(device)->id);

    /* The program's own CUDA. */
    cudaStream_t stream;
    cudaEvent_t uploaded, computed;
    void *memory = NULL;
    float *values = malloc(bytes);
    if (!values) return 1;
    check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    check_cuda(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming), "an event");
    check_cuda(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming), "an event");
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");

    tdm_buffer *buffer;
    check(tdm_cuda_adopt_memory(device, memory, bytes, give_back, memory, &buffer));
    tdm_tensor x = tdm_tensor_2d(buffer, TDM_F32, ROWS, COLS);

    double worst = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < COUNT; i++) {
            const int row = i / COLS, col = i % COLS;
            values[i] = 7 + 3 * sinf((float)col / (float)(1 + batch + row));
        }
        check_cuda(cudaMemcpyAsync(memory, values, bytes, cudaMemcpyHostToDevice, stream),
                   "a copy");
        check_cuda(cudaEventRecord(uploaded, stream), "cudaEventRecord");

        check(tdm_cuda_wait(queue, uploaded)); /* LayerNorm runs after the copy … */
        check(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &x));
        check(tdm_cuda_record(queue, computed));

        check_cuda(cudaStreamWaitEvent(stream, computed, 0),
                   "a wait"); /* … and this one after it */
        check_cuda(cudaMemcpyAsync(values, memory, bytes, cudaMemcpyDeviceToHost, stream),
                   "a copy");
        check_cuda(cudaStreamSynchronize(stream), "the stream");
        worst = fmax(worst, error_of(values));
    }
    printf("%d batches, mean 0 and variance 1 in each row: %s\n", BATCHES,
           worst < 1e-3 ? "yes" : "no");

    /* The last reference: Tandem calls give_back. */
    tdm_buffer_release(buffer);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    check_cuda(cudaEventDestroy(uploaded), "cudaEventDestroy");
    check_cuda(cudaEventDestroy(computed), "cudaEventDestroy");
    check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
    free(values);
    return worst < 1e-3 ? 0 : 1;
}
