/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program's own memory: a buffer that several tensors share, mapping it to write and read in place,
 * pinned host memory, and what the device's pool holds.
 *
 *     cc -std=c11 own_memory.c $(pkg-config --cflags --libs tandem) -o own_memory */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 1000 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "own_memory: %s\n", tdm_last_error());
    exit(1);
}

int main(void) {
    const size_t part = COUNT * sizeof(float);
    tdm_device *device;
    tdm_queue *queue;
    tdm_buffer *buffer;
    void *pointer;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));

    /* One buffer, two tensors in it. A tensor is a plain value that says how to read a buffer. */
    const int64_t shape[] = {COUNT};
    tdm_tensor x, y;
    check(tdm_buffer_create(device, 2 * part, &buffer));
    check(tdm_tensor_init(buffer, TDM_F32, 1, shape, 0, &x));
    check(tdm_tensor_init(buffer, TDM_F32, 1, shape, COUNT, &y));

    /* The host writes the first half in place, without a copy where the memory is shared. The
     * device leaves it alone until it is unmapped. */
    check(tdm_buffer_map(queue, buffer, 0, part, TDM_MAP_WRITE, &pointer));
    float *numbers = pointer;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    check(tdm_buffer_unmap(queue, buffer, pointer));

    const float one = 1;
    check(tdm_buffer_fill(queue, buffer, part, part, &one, sizeof one)); /* y = 1 */
    check(tdm_axpy(queue, 2, &x, &y));                                   /* y = 2 x + y */

    /* Into host memory that the device writes fastest. */
    void *pinned;
    double sum = 0;
    check(tdm_host_alloc(device, part, &pinned));
    check(tdm_buffer_read(queue, buffer, part, pinned, part));
    for (int i = 0; i < COUNT; i++)
        sum += (double)((const float *)pinned)[i];
    printf("the sum of the first %d odd numbers: %.0f\n", COUNT, sum);
    tdm_host_free(device, pinned);

    /* Tensors that are meant to stay as they are, weights for instance, can be protected. */
    tdm_buffer_freeze(buffer);
    bool refused = tdm_fill(queue, 0, &x) == TDM_ERROR_READ_ONLY;
    printf("a frozen buffer is read-only: %s\n", refused ? "yes" : "no");
    check(tdm_buffer_map(queue, buffer, 0, part, TDM_MAP_READ, &pointer));
    printf("and can be read: %g\n", (double)((const float *)pointer)[COUNT - 1]);
    check(tdm_buffer_unmap(queue, buffer, pointer));

    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS, after = TDM_MEMORY_STATS_DEFAULTS;
    check(tdm_device_get_memory_stats(device, &stats));
    tdm_buffer_release(buffer); /* its memory stays in the pool, for the next buffer */
    check(tdm_queue_finish(queue));
    check(tdm_device_trim(device)); /* and now goes back to the driver */
    check(tdm_device_get_memory_stats(device, &after));
    printf("in use: %.0f bytes, then %.0f\n", (double)stats.in_use, (double)after.in_use);

    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return sum == (double)COUNT * (double)COUNT && refused && stats.in_use == 2 * part &&
                   after.in_use == 0
               ? 0
               : 1;
}
