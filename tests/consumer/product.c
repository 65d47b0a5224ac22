/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product of ones on the cpu, and the provider that ran it. Linked with -static. */
#include <stdio.h>
#include <stdlib.h>
#include <tandem/tandem.h>

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "%s\n", tdm_last_error());
    exit(1);
}

int main(void) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_tensor x = {0}, y = {0};
    static float results[8 * 8];
    const char *provider = "";
    check(tdm_device_open("cpu", &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_ones(queue, TDM_F32, 2, (const int64_t[]){8, 8}, &x));
    check(tdm_empty(queue, TDM_F32, 2, (const int64_t[]){8, 8}, &y));
    check(tdm_matmul(queue, NULL, &x, &x, &y));
    check(tdm_matmul_provider(queue, NULL, &x, &x, &y, &provider));
    check(tdm_to_host(queue, &y, results));
    printf("%g by %s\n", (double)results[63], provider);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
