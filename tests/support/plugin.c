/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A plugin that the static library is linked into: a product by the workers of the device cpu. */
#include <tandem/tandem.h>

__attribute__((visibility("default"))) int multiply(void);

int multiply(void) {
    static const int64_t shape[] = {256, 256};
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_tensor x = {0}, y = {0};
    const int right = tdm_device_open("cpu", &device) == TDM_OK &&
                      tdm_queue_create(device, 0, &queue) == TDM_OK &&
                      tdm_full(queue, 0.5, TDM_F32, 2, shape, &x) == TDM_OK &&
                      tdm_zeros(queue, TDM_F32, 2, shape, &y) == TDM_OK &&
                      tdm_matmul(queue, NULL, &x, &x, &y) == TDM_OK &&
                      tdm_queue_finish(queue) == TDM_OK;
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return right;
}
