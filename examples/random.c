/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that can be repeated: a seed gives the same numbers on every device, bit for bit,
 * whether a tensor is filled at once or in parts.
 *
 *     cc -std=c11 random.c $(pkg-config --cflags --libs tandem) -lm -o random */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { COUNT = 100000 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "random: %s\n", tdm_last_error());
    exit(1);
}

/* Uniform numbers of a seed, made on a device in `parts` pieces. */
static void make(const char *name, int parts, float *numbers) {
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor x, piece;
    tdm_generator generator = {.seed = 42}; /* counts what it has given, in generator.next */
    check(tdm_device_open(name, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(COUNT), &x));
    for (int i = 0; i < parts; i++) {
        check(tdm_tensor_slice(&x, 0, COUNT / parts * i, COUNT / parts, 1, &piece));
        check(tdm_fill_uniform(queue, &generator, 0, 1, &piece));
    }
    check(tdm_to_host(queue, &x, numbers));
    tdm_tensor_release(&x);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

int main(void) {
    static float first[COUNT], numbers[COUNT];
    check(tdm_configure("TANDEM_CPU_DEVICES", "2")); /* so that there is something to compare */
    make(NULL, 1, first);
    printf("seed 42: %.6f %.6f %.6f %.6f\n", (double)first[0], (double)first[1], (double)first[2],
           (double)first[3]);

    size_t devices;
    int wrong = 0;
    check(tdm_get_device_count(&devices));
    for (size_t i = 0; i < devices; i++) {
        const tdm_device_info *info;
        check(tdm_get_listed_device(i, &info));
        make(info->id, 10, numbers);
        bool same = true;
        for (int j = 0; j < COUNT; j++)
            same = same && first[j] == numbers[j];
        printf("%s, in ten parts: %s\n", info->id, same ? "the same" : "different");
        wrong += !same;
    }

    /* Normal numbers: within a few units of the last digit the same everywhere. */
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor z;
    tdm_generator generator = {.seed = 7};
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(COUNT), &z));
    check(tdm_fill_normal(queue, &generator, 10, 2, &z));
    check(tdm_to_host(queue, &z, numbers));
    double mean = 0, variance = 0;
    for (int i = 0; i < COUNT; i++)
        mean += (double)numbers[i] / (double)COUNT;
    for (int i = 0; i < COUNT; i++)
        variance += pow((double)numbers[i] - mean, 2) / (double)COUNT;
    printf("normal: mean %.2f, deviation %.2f\n", mean, sqrt(variance));
    tdm_tensor_release(&z);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return wrong || fabs(mean - 10) > 0.05 || fabs(sqrt(variance) - 2) > 0.05 ? 1 : 0;
}
