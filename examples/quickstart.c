/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The shortest whole program: y = gelu(a · b + bias) on the default device.
 *
 *     cc -std=c11 quickstart.c $(pkg-config --cflags --libs tandem) -o quickstart */
#include <stdio.h>

#include <tandem/tandem.h>

#define CHECK(call)                                                                                \
    if ((call) != TDM_OK) return fprintf(stderr, "%s\n", tdm_last_error()), 1

int main(void) {
    const float numbers[] = {1, 2, 3, 4, 5, 6}, weights[] = {1, 0, 0, 1, 1, 1}, biases[] = {-4, -5};
    float result[2][2];
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor a, b, bias, y;
    CHECK(tdm_device_open(NULL, &device)); /* or "cpu", "opencl:0", "cuda:0" */
    CHECK(tdm_queue_create(device, 0, &queue));
    CHECK(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(2, 3), &a));
    CHECK(tdm_from_host(queue, weights, TDM_F32, TDM_SHAPE(3, 2), &b));
    CHECK(tdm_from_host(queue, biases, TDM_F32, TDM_SHAPE(2), &bias));
    CHECK(tdm_empty(queue, TDM_F32, TDM_SHAPE(2, 2), &y));
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.bias = &bias;
    options.activation = TDM_ACTIVATION_GELU;
    CHECK(tdm_matmul(queue, &options, &a, &b, &y));
    CHECK(tdm_to_host(queue, &y, result));
    printf("%s: %.4f %.4f / %.4f %.4f\n", tdm_device_get_info(device)->name, (double)result[0][0],
           (double)result[0][1], (double)result[1][0], (double)result[1][1]);
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&bias);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
