/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Two devices: a tensor goes from one to the other, is worked on there and comes back; once waited
 * for, once while the host does something else; and an event keeps two queues in order.
 *
 *     cc -std=c11 two_devices.c $(pkg-config --cflags --libs tandem) -o two_devices */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 1 << 20 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "two_devices: %s\n", tdm_last_error());
    exit(1);
}

/* The default device and the one that is listed after it. */
static void open_two(tdm_device **first, tdm_device **second) {
    size_t chosen, count;
    const tdm_device_info *info;
    check(tdm_find_device(NULL, &chosen));
    check(tdm_get_device_count(&count));
    if (count < 2) {
        fprintf(stderr, "two_devices: there is one device only; add cpu to TANDEM_BACKEND\n");
        exit(1);
    }
    check(tdm_device_open(NULL, first));
    check(tdm_get_listed_device((chosen + 1) % count, &info));
    check(tdm_device_open(info->id, second));
    printf("from %s to %s and back\n", tdm_device_get_info(*first)->id, info->id);
}

int main(void) {
    /* Where there is only a CPU it plays both parts. Before anything else of the library. */
    check(tdm_configure("TANDEM_CPU_DEVICES", "2"));
    tdm_device *first, *second;
    tdm_queue *queue, *second_queue;
    open_two(&first, &second);
    check(tdm_queue_create(first, 0, &queue));
    check(tdm_queue_create(second, 0, &second_queue));

    tdm_tensor x, there, back;
    check(tdm_arange(queue, 0, COUNT, 1, TDM_F32, &x)); /* 0 1 2 ... */

    /* Nothing moves unless the program copies it: an operation refuses tensors of another device. */
    if (tdm_scale(second_queue, 2, &x, &x) != TDM_ERROR_DEVICE_MISMATCH) return 1;
    printf("refused: %s\n", tdm_last_error());

    check(tdm_to(queue, &x, second, &there)); /* has arrived when the call returns */
    check(tdm_scale(second_queue, 2, &there, &there));

    /* The same without waiting: `back` is not to be used until the transfer is done. */
    tdm_transfer *transfer;
    uint64_t done, total;
    check(tdm_to_async(second_queue, &there, first, &back, &transfer));
    check(tdm_transfer_wait(transfer));
    tdm_transfer_get_progress(transfer, &done, &total);
    tdm_transfer_destroy(transfer);
    printf("came back: %.0f of %.0f bytes\n", (double)done, (double)total);

    /* x = x + back on the first device; the copy in the second one's queue waits for that. */
    tdm_event *added;
    check(tdm_event_create(first, &added));
    check(tdm_add(queue, &x, &back, &x));
    check(tdm_queue_record_event(queue, added));
    check(tdm_queue_wait_event(second_queue, added));
    check(tdm_buffer_copy(second_queue, x.buffer, 0, there.buffer, 0, COUNT * sizeof(float)));

    static float result[COUNT];
    int wrong = 0;
    check(tdm_to_host(second_queue, &there, result));
    for (int i = 0; i < COUNT; i++)
        wrong += result[i] != 3 * (float)i;
    printf("the last of %d numbers: %.0f; wrong: %d\n", COUNT, (double)result[COUNT - 1], wrong);

    tdm_event_destroy(added);
    tdm_tensor_release(&x);
    tdm_tensor_release(&there);
    tdm_tensor_release(&back);
    tdm_queue_destroy(queue);
    tdm_queue_destroy(second_queue);
    tdm_device_release(first);
    tdm_device_release(second);
    return wrong ? 1 : 0;
}
