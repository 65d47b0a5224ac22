/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory shared through DLPack, without a copy: a tensor is given away and outlives the program's own name for it, and
 * is taken back as another library's would be. docs/dlpack.md shows the same with NumPy.
 *
 *     cc -std=c11 dlpack.c $(pkg-config --cflags --libs tandem) -o dlpack */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 3, COLS = 4 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "dlpack: %s\n", tdm_last_error());
    exit(1);
}

/* In the place of another library, which makes its own array of the tensor. */
static void take(tdm_device *device, struct DLManagedTensorVersioned *managed, tdm_tensor *tensor) {
    check(tdm_tensor_from_dlpack(device, managed, tensor));
}

int main(void) {
    float values[ROWS * COLS];
    struct DLManagedTensorVersioned *managed;
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor x, shared;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    for (int i = 0; i < ROWS * COLS; i++)
        values[i] = (float)i;
    check(tdm_from_host(queue, values, TDM_F32, TDM_SHAPE(ROWS, COLS), &x));

    check(tdm_tensor_to_dlpack(queue, &x, &managed)); /* finishes the queue: the data is there */
    take(device, managed, &shared);
    check(tdm_scale(queue, 2, &shared, &shared));
    check(tdm_to_host(queue, &x, values));
    printf("what the other wrote: %g %g %g\n", (double)values[1], (double)values[2],
           (double)values[ROWS * COLS - 1]);

    tdm_tensor_release(&x);
    check(tdm_to_host(queue, &shared, values));
    printf("after its owner let it go: %g, of %lld x %lld\n", (double)values[COLS],
           (long long)shared.shape[0], (long long)shared.shape[1]);
    tdm_tensor_release(&shared); /* the last one: now the deleter runs */

    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
