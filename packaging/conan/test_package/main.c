/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Adds two vectors on the cpu backend, and opens what is not a model file. Calls libtandem-comm, too. */
#include <stdio.h>

#include <tandem/comm.h>
#include <tandem/tandem.h>

#define CHECK(call)                                                                                \
    if ((call) != TDM_OK) return fprintf(stderr, "%s\n", tdm_last_error()), 1

int main(void) {
    const float numbers[] = {1, 2, 3}, others[] = {10, 20, 30};
    float sums[3];
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor a, b, y;
    tdm_file *file;
    /* Reaches the JSON library, which a static Tandem needs. */
    if (tdm_file_open("/dev/null", &file) == TDM_OK)
        return fprintf(stderr, "/dev/null was read\n"), 1;
    if (tdm_comm_get_size(NULL) != -1) return fprintf(stderr, "a communicator of nothing\n"), 1;
    CHECK(tdm_device_open("cpu", &device));
    CHECK(tdm_queue_create(device, 0, &queue));
    CHECK(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(3), &a));
    CHECK(tdm_from_host(queue, others, TDM_F32, TDM_SHAPE(3), &b));
    CHECK(tdm_empty(queue, TDM_F32, TDM_SHAPE(3), &y));
    CHECK(tdm_add(queue, &a, &b, &y));
    CHECK(tdm_to_host(queue, &y, sums));
    printf("Tandem %s: %g %g %g\n", tdm_version(), (double)sums[0], (double)sums[1],
           (double)sums[2]);
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return sums[0] == 11 && sums[1] == 22 && sums[2] == 33 ? 0 : 1;
}
