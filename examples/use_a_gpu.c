/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The first lesson on GPUs, as in "Dive into Deep Learning", in C and on whatever there is: two
 * GPUs, a GPU and the CPU, or one CPU that plays both parts (TANDEM_CPU_DEVICES=2). docs/lesson.md
 * explains it, with the PyTorch and TensorFlow lines that each step replaces.
 *
 *     cc -std=c11 use_a_gpu.c $(pkg-config --cflags --libs tandem) \
 *         -o use_a_gpu */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tandem/tandem.h>

/* Ends the program when a call fails; the library has said why. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != TDM_OK) {                                                                    \
            fprintf(stderr, "use_a_gpu: %s\n", tdm_last_error());                                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The device that the lesson calls its GPU, and a second one: another device, or NULL. */
static tdm_device *first, *second;
static tdm_queue *queue, *second_queue;

static const char *id_of(const tdm_device *device) { return tdm_device_get_info(device)->id; }

static void print(const char *name, tdm_queue *of, const tdm_tensor *x) {
    char text[2048];
    CHECK(tdm_format(of, x, text, sizeof text, NULL));
    printf("%s:\n%s\n", name, text);
}

/* 1. nvidia-smi: which cards are there, and what are they doing? `tdm devices` shows more. */
static void look_at_the_card(void) {
    size_t count;
    CHECK(tdm_get_device_count(&count));
    printf("\n1. The devices\n");
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        tdm_device_usage usage = TDM_DEVICE_USAGE_DEFAULTS;
        CHECK(tdm_get_listed_device(i, &info));
        CHECK(tdm_get_listed_device_usage(i, &usage));
        printf("%s: %s, %.1f GiB", info->id, info->name, (double)usage.memory_total / (1 << 30));
        if (usage.memory_used != TDM_UNKNOWN)
            printf(", %.1f used", (double)usage.memory_used / (1 << 30));
        printf("\n");
    }
}

/* 2. cpu(), gpu(i), how many, and code that runs with and without a GPU. */
static void choose_devices(void) {
#define BACKEND(NAME, name, value) TDM_##NAME,
    static const tdm_backend backends[] = {TDM_BACKEND_LIST(BACKEND)};
    size_t gpus, opened;
    printf("\n2. Choosing\n");
    for (int i = 0; i < TDM_BACKEND_COUNT; i++) {
        size_t count;
        CHECK(tdm_get_backend_device_count(backends[i], &count));
        printf("%s devices: %zu\n", tdm_backend_name(backends[i]), count);
    }
    CHECK(tdm_get_gpu_count(&gpus));
    printf("physical GPUs: %zu\n", gpus);

    tdm_device *device, **all = calloc(gpus + 1, sizeof *all);
    if (!all) exit(1);
    if (tdm_device_open("gpu:10", &device) != TDM_OK) printf("gpu:10: %s\n", tdm_last_error());
    if (tdm_device_try_gpu(10, &device) == TDM_OK) {
        printf("try_gpu(10): %s\n", id_of(device));
        tdm_device_release(device);
    }
    if (tdm_device_try_all_gpus(gpus + 1, all, &opened) == TDM_OK) {
        printf("try_all_gpus():");
        for (size_t i = 0; i < opened; i++) {
            printf(" %s", id_of(all[i]));
            tdm_device_release(all[i]);
        }
        printf("\n");
    }
    free(all);

    /* From here on: the default device (TANDEM_DEVICE, TANDEM_BACKEND), and the next one. */
    size_t chosen, count;
    const tdm_device_info *info;
    CHECK(tdm_find_device(NULL, &chosen));
    CHECK(tdm_get_device_count(&count));
    CHECK(tdm_device_open(NULL, &first));
    CHECK(tdm_queue_create(first, 0, &queue));
    printf("first: %s\n", id_of(first));
    if (count < 2) {
        printf("second: none (TANDEM_CPU_DEVICES=2 makes one)\n");
        return;
    }
    CHECK(tdm_get_listed_device((chosen + 1) % count, &info));
    CHECK(tdm_device_open(info->id, &second));
    CHECK(tdm_queue_create(second, 0, &second_queue));
    printf("second: %s\n", id_of(second));
}

/* 3. Tensors live on a device; host arrays go in and out. */
static void make_tensors(tdm_generator *generator, tdm_tensor *x, tdm_tensor *y) {
    const float numbers[] = {1, 2, 3};
    float back[3];
    tdm_tensor v;
    printf("\n3. Tensors on a device\n");
    CHECK(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(3), &v));
    print("v", queue, &v);
    CHECK(tdm_to_host(queue, &v, back));
    printf("back on the host: %g %g %g\n", (double)back[0], (double)back[1], (double)back[2]);
    tdm_tensor_release(&v);

    CHECK(tdm_ones(queue, TDM_F32, TDM_SHAPE(2, 3), x));
    print("X", queue, x);
    /* The same seed gives the same numbers on every device. */
    CHECK(tdm_rand(second ? second_queue : queue, generator, TDM_F32, TDM_SHAPE(2, 3), y));
    print("Y", second ? second_queue : queue, y);
}

/* 4. Operands on two devices are never moved silently. */
static void copy_and_add(const tdm_tensor *x, const tdm_tensor *y) {
    tdm_queue *of_y = second ? second_queue : queue;
    tdm_tensor z, same, sum;
    printf("\n4. Copying\n");
    CHECK(tdm_empty(of_y, TDM_F32, TDM_SHAPE(2, 3), &sum));
    if (second && tdm_add(of_y, x, y, &sum) != TDM_OK) printf("X + Y: %s\n", tdm_last_error());
    CHECK(tdm_to(queue, x, tdm_tensor_get_device(y), &z));
    print("Z", of_y, &z);
    CHECK(tdm_add(of_y, y, &z, &sum));
    print("Y + Z", of_y, &sum);

    /* Where it is already: the same buffer, one more reference. */
    CHECK(tdm_to(of_y, &z, tdm_tensor_get_device(&z), &same));
    printf("Z moved to its own device is Z: %s\n", same.buffer == z.buffer ? "yes" : "no");
    tdm_tensor_release(&same);
    tdm_tensor_release(&z);
    tdm_tensor_release(&sum);
}

/* 5. A layer's parameters on a device, all moved at once, saved and loaded. */
static void use_a_layer(tdm_generator *generator, const tdm_tensor *x, const char *path) {
    tdm_state_dict *net, *moved, *loaded;
    tdm_tensor weight, y;
    printf("\n5. A layer\n");
    CHECK(tdm_state_dict_create(&net));
    CHECK(tdm_linear_create(queue, generator, "0.", 3, 1, true, TDM_F32, net));
    CHECK(tdm_state_dict_get(net, "0.weight", &weight));
    print("0.weight", queue, &weight);
    CHECK(tdm_empty(queue, TDM_F32, TDM_SHAPE(2, 1), &y));
    CHECK(tdm_linear_apply(queue, net, "0.", x, TDM_ACTIVATION_NONE, &y));
    print("net(X)", queue, &y);
    if (second) {
        CHECK(tdm_state_dict_to(queue, net, second, &moved));
        CHECK(tdm_state_dict_get(moved, "0.weight", &weight));
        printf("moved, 0.weight is on %s\n", id_of(tdm_tensor_get_device(&weight)));
        tdm_state_dict_destroy(moved);
    }

    CHECK(tdm_state_dict_set_metadata(net, "format", "pt"));
    CHECK(tdm_save(queue, net, path, NULL));
    CHECK(tdm_load(second ? second_queue : queue, path, NULL, &loaded));
    for (size_t i = 0; i < tdm_state_dict_get_count(loaded); i++) {
        const char *name;
        CHECK(tdm_state_dict_get_item(loaded, i, &name, &weight));
        print(name, second ? second_queue : queue, &weight);
    }
    tdm_state_dict_destroy(loaded);
    tdm_state_dict_destroy(net);
    tdm_tensor_release(&y);
}

static tdm_status forward(const tdm_replica *replica, void *user) {
    (void)user;
    return tdm_linear_apply(replica->queue, replica->parameters, "", &replica->inputs[0],
                            TDM_ACTIVATION_NONE, replica->output);
}

/* 6. The same layer on all devices at once, each with its part of the batch. */
static void mirror_a_layer(tdm_generator *generator) {
    tdm_device *devices[2] = {first, second};
    tdm_state_dict *net;
    tdm_mirror *mirror;
    tdm_tensor x, y;
    printf("\n6. Several devices\n");
    CHECK(tdm_state_dict_create(&net));
    CHECK(tdm_linear_create(queue, generator, "", 4, 2, true, TDM_F32, net));
    CHECK(tdm_rand(queue, generator, TDM_F32, TDM_SHAPE(5, 4), &x));
    CHECK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(5, 2), &y));
    CHECK(tdm_mirror_create(queue, net, second ? 2 : 1, devices, &mirror));
    CHECK(tdm_mirror_run(queue, mirror, forward, NULL, 1, &x, &y));
    print("a batch of 5", queue, &y);
    tdm_mirror_destroy(mirror);
    tdm_state_dict_destroy(net);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

static double seconds(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* 7. The cost of looking: products whose norms are read one at a time, or all at the end.
 * `tdm bench --profile lesson` measures it with care. */
static void keep_it_on_the_device(tdm_generator *generator) {
    enum { PRODUCTS = 200 };
    static float norms[PRODUCTS];
    tdm_tensor a, c, kept, one;
    printf("\n7. Logging\n");
    CHECK(tdm_randn(queue, generator, TDM_F32, TDM_SHAPE(100, 100), &a));
    CHECK(tdm_empty(queue, TDM_F32, TDM_SHAPE(100, 100), &c));
    CHECK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(PRODUCTS), &kept));
    double spent[2];
    for (int turn = 0; turn < 4; turn++) { /* the first of each warms up */
        double start = seconds();
        for (int i = 0; i < PRODUCTS; i++) {
            CHECK(tdm_tensor_slice(&kept, 0, i, 1, 1, &one));
            CHECK(tdm_matmul(queue, NULL, &a, &a, &c));
            CHECK(tdm_norm(queue, TDM_NORM_L2, &c, &one));
            if (turn % 2 == 0) CHECK(tdm_to_host(queue, &one, &norms[i]));
        }
        if (turn % 2 == 1) CHECK(tdm_to_host(queue, &kept, norms));
        spent[turn % 2] = seconds() - start;
    }
    printf("the norm of A A: %.1f\n", (double)norms[PRODUCTS - 1]);
    printf("time: read one at a time %.1f ms, read once %.1f ms\n", 1e3 * spent[0], 1e3 * spent[1]);
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
    tdm_tensor_release(&kept);
}

int main(int argc, char **argv) {
    tdm_generator generator = {.seed = 42};
    tdm_tensor x, y;
    look_at_the_card();
    choose_devices();
    make_tensors(&generator, &x, &y);
    copy_and_add(&x, &y);
    use_a_layer(&generator, &x, argc > 1 ? argv[1] : "layer.safetensors");
    mirror_a_layer(&generator);
    keep_it_on_the_device(&generator);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_queue_destroy(second_queue);
    tdm_device_release(first);
    tdm_device_release(second);
    return 0;
}
