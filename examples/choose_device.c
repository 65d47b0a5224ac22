/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing a device: lists what there is, opens the first of some names that exists, and falls back
 * to the default device.
 *
 *     cc -std=c11 choose_device.c $(pkg-config --cflags --libs tandem) -o choose_device
 *     ./choose_device                 # tries gpu:0, then the default device
 *     ./choose_device cuda opencl:1   # tries these, then the default device */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "choose_device: %s\n", tdm_last_error());
    exit(1);
}

/* Listing opens nothing, so that it is cheap and takes no memory on a GPU. */
static void list_devices(void) {
    size_t count;
    check(tdm_get_device_count(&count));
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        check(tdm_get_listed_device(i, &info));
        printf("%s: %s, %d compute units, %.1f GiB, f64 %s", info->id, info->name,
               info->compute_units, (double)info->memory_total / (1 << 30),
               info->has_f64 ? "yes" : "no");
        if (info->same_as[0] != '\0') printf(", the same card as %s", info->same_as);
        printf("\n");
    }
}

/* Only a device that is not there is a reason to try the next one. A GPU that is there and does not
 * work should be noticed: such a failure ends the program. */
static tdm_device *open_first(int count, const char *const *names) {
    tdm_device *device;
    for (int i = 0; i < count; i++) {
        tdm_status status = tdm_device_open(names[i], &device);
        if (status == TDM_OK) return device;
        if (status != TDM_ERROR_NOT_FOUND && status != TDM_ERROR_UNAVAILABLE) check(status);
        printf("no %s: %s\n", names[i], tdm_status_text(status));
    }
    check(tdm_device_open(NULL, &device)); /* as TANDEM_DEVICE and TANDEM_BACKEND say */
    return device;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"gpu:0"};
    list_devices();
    tdm_device *device =
        argc > 1 ? open_first(argc - 1, (const char *const *)argv + 1) : open_first(1, usual);
    printf("chosen: %s\n", tdm_device_get_info(device)->id);

    /* It computes: the largest of some numbers. */
    const float numbers[] = {3, -7, 2, 6};
    float largest = 0;
    tdm_queue *queue;
    tdm_tensor x, norm;
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(4), &x));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(1), &norm));
    check(tdm_norm(queue, TDM_NORM_INF, &x, &norm));
    check(tdm_to_host(queue, &norm, &largest));
    printf("largest magnitude: %g\n", (double)largest);

    tdm_tensor_release(&x);
    tdm_tensor_release(&norm);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return largest == 7 ? 0 : 1;
}
