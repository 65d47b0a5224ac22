/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Working without waiting: transfers and operations are queued, the host goes on, events tell when
 * the device is done and how long it took; a second queue takes over at an event.
 *
 *     cc -std=c11 async.c $(pkg-config --cflags --libs tandem) -o async */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 1 << 18, TURNS = 20 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "async: %s\n", tdm_last_error());
    exit(1);
}

int main(void) {
    tdm_device *device;
    tdm_queue *compute, *copies;
    tdm_event *start, *end;
    tdm_tensor x;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, TDM_QUEUE_TIMING, &compute)); /* for tdm_event_elapsed */
    check(tdm_queue_create(device, 0, &copies));
    check(tdm_event_create(device, &start));
    check(tdm_event_create(device, &end));
    check(tdm_empty(compute, TDM_F32, TDM_SHAPE(COUNT), &x));

    /* From memory that the device reads fastest. It is left alone until the queue has passed. */
    const size_t size = COUNT * sizeof(float);
    void *memory;
    check(tdm_host_alloc(device, size, &memory));
    float *numbers = memory;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)(i % 8);

    /* The first use of an operation may compile it, which is not what is to be timed. */
    check(tdm_fill(compute, 0, &x));
    check(tdm_scale(compute, 2, &x, &x));
    check(tdm_queue_finish(compute));

    /* Each of these calls returns at once, if the device works while the host does. */
    check(tdm_buffer_write_async(compute, x.buffer, 0, numbers, size));
    check(tdm_queue_record_event(compute, start));
    for (int turn = 0; turn < TURNS; turn++)
        check(tdm_scale(compute, 2, &x, &x));
    check(tdm_queue_record_event(compute, end));
    check(tdm_queue_flush(compute)); /* so that it begins now */

    /* The other queue reads the result, but not before it is there. */
    check(tdm_queue_wait_event(copies, end));
    check(tdm_buffer_read_async(copies, x.buffer, 0, numbers, size));

    /* The host's work in the meantime. */
    bool done;
    double wanted = 1;
    for (int turn = 0; turn < TURNS; turn++)
        wanted *= 2;
    check(tdm_event_query(end, &done));
    printf("when the host had its answer, the device was %s\n", done ? "done" : "still at it");

    check(tdm_queue_finish(copies)); /* reports failures on the way */
    double seconds;
    check(tdm_event_elapsed(start, end, &seconds));
    printf("%d turns took %.3f ms on %s\n", TURNS, 1e3 * seconds, tdm_device_get_info(device)->id);

    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += (double)numbers[i] != wanted * (i % 8);
    printf("2^%d = %.0f; wrong: %d of %d\n", TURNS, (double)numbers[1], wrong, COUNT);

    tdm_host_free(device, memory);
    tdm_tensor_release(&x);
    tdm_event_destroy(start);
    tdm_event_destroy(end);
    tdm_queue_destroy(compute);
    tdm_queue_destroy(copies);
    tdm_device_release(device);
    return wrong || seconds < 0 ? 1 : 0;
}
