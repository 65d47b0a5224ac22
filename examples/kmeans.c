/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* k-means (Lloyd 1982) that stays on the device from first to last: handwritten digits in ten clusters, by a product,
 * user kernels, argmin, rows added by indices and a sum. Nothing is read back before the end, where the
 * clusters are compared with those of a plain loop in double.
 *
 *     cc -std=c11 kmeans.c $(pkg-config --cflags --libs tandem) -lm -o kmeans */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { IMAGES = 360, PIXELS = 64, CLUSTERS = 10, ROUNDS = 20 };

#ifndef DIGITS_DATA_DIR
#define DIGITS_DATA_DIR "digits"
#endif
#define IMAGES_FILE DIGITS_DATA_DIR "/test.safetensors"

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "kmeans: %s\n", tdm_last_error());
    exit(1);
}

static tdm_kernel *make_kernel(tdm_device *device, const char *text,
                               const tdm_parameter *parameters, size_t count) {
    tdm_kernel *kernel;
    check(tdm_kernel_elementwise(device, text, parameters, count, &kernel));
    return kernel;
}

/* The objects of a round, made once. */
typedef struct rounds {
    tdm_queue *queue;
    tdm_kernel *square, *distance, *move;
    tdm_tensor images, centres; /* [IMAGES, PIXELS], [CLUSTERS, PIXELS] */
    tdm_tensor squares;         /* of the centres' lengths: [CLUSTERS] */
    tdm_tensor distances;       /* squared, but for the image's own length: [IMAGES, CLUSTERS] */
    tdm_tensor nearest;         /* [IMAGES], i32 */
    tdm_tensor sums, members;   /* [CLUSTERS, PIXELS], [IMAGES, CLUSTERS] */
    tdm_tensor counts;          /* [CLUSTERS] */
} rounds;

static rounds make_rounds(tdm_queue *queue, const tdm_tensor *images) {
    static const tdm_parameter of_square[] = {TDM_TENSOR("c"), TDM_TENSOR("squared")};
    static const tdm_parameter of_distance[] = {TDM_TENSOR("d"), TDM_TENSOR("squared")};
    static const tdm_parameter of_move[] = {TDM_TENSOR("c"), TDM_TENSOR("sum"),
                                            TDM_TENSOR("count")};
    tdm_device *device = tdm_queue_get_device(queue);
    rounds r = {.queue = queue, .images = *images};
    tdm_tensor first;
    const tdm_row_kernel square = TDM_ROW_KERNEL(.map = "c * c", .combine = TDM_SUM);
    check(tdm_kernel_rows(device, &square, of_square, 2, &r.square));
    r.distance = make_kernel(device, "d = squared - 2 * d", of_distance, 2);
    r.move = make_kernel(device, "c = where(count > 0, sum / count, c)", of_move, 3);
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(CLUSTERS, PIXELS), &r.centres));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(CLUSTERS), &r.squares));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(IMAGES, CLUSTERS), &r.distances));
    check(tdm_empty(queue, TDM_I32, TDM_SHAPE(IMAGES), &r.nearest));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(CLUSTERS, PIXELS), &r.sums));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(IMAGES, CLUSTERS), &r.members));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(CLUSTERS), &r.counts));
    check(tdm_tensor_slice(images, 0, 0, CLUSTERS, 1, &first)); /* the first ten images */
    check(tdm_cast(queue, &first, &r.centres));
    return r;
}

static void free_rounds(rounds *r) {
    tdm_tensor *tensors[] = {&r->centres, &r->squares, &r->distances, &r->nearest,
                             &r->sums,    &r->members, &r->counts};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
    tdm_kernel_release(r->square);
    tdm_kernel_release(r->distance);
    tdm_kernel_release(r->move);
}

/* Which centre is nearest to each image. */
static void assign(rounds *r) {
    tdm_matmul_options product = TDM_MATMUL_OPTIONS_DEFAULTS;
    product.transpose_b = true;
    const tdm_argument of_square[] = {TDM_WITH_TENSOR("c", &r->centres),
                                      TDM_WITH_TENSOR("squared", &r->squares)};
    const tdm_argument of_distance[] = {TDM_WITH_TENSOR("d", &r->distances),
                                        TDM_WITH_TENSOR("squared", &r->squares)};
    check(tdm_kernel_run(r->queue, r->square, of_square, 2));
    check(tdm_matmul(r->queue, &product, &r->images, &r->centres, &r->distances));
    check(tdm_kernel_run(r->queue, r->distance, of_distance, 2));
    check(tdm_argmin(r->queue, &r->distances, 1, &r->nearest));
}

/* Each centre to the mean of its images; one without images stays. */
static void move(rounds *r) {
    const int over_images = 0;
    tdm_tensor count;
    check(tdm_tensor_reshape(&r->counts, 2, (const int64_t[]){CLUSTERS, 1}, &count));
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("c", &r->centres),
                                      TDM_WITH_TENSOR("sum", &r->sums),
                                      TDM_WITH_TENSOR("count", &count)};
    check(tdm_fill(r->queue, 0, &r->sums));
    check(tdm_scatter_add_rows(r->queue, &r->images, &r->nearest, &r->sums));
    check(tdm_one_hot(r->queue, &r->nearest, &r->members));
    check(tdm_sum(r->queue, &r->members, &over_images, 1, &r->counts));
    check(tdm_kernel_run(r->queue, r->move, arguments, 3));
}

/* The sum of the squared distances of images to their centres. */
static double read_inertia(rounds *r) {
    const int over_clusters = 1;
    tdm_tensor least, total, length;
    float parts[2];
    check(tdm_empty(r->queue, TDM_F32, TDM_SHAPE(IMAGES), &least));
    check(tdm_empty(r->queue, TDM_F32, TDM_SHAPE(1), &total));
    check(tdm_empty(r->queue, TDM_F32, TDM_SHAPE(1), &length));
    check(tdm_min(r->queue, &r->distances, &over_clusters, 1, &least));
    check(tdm_sum(r->queue, &least, NULL, 0, &total));
    check(tdm_dot(r->queue, &r->images, &r->images, &length));
    check(tdm_to_host(r->queue, &total, &parts[0]));
    check(tdm_to_host(r->queue, &length, &parts[1]));
    tdm_tensor_release(&least);
    tdm_tensor_release(&total);
    tdm_tensor_release(&length);
    return (double)parts[0] + (double)parts[1];
}

/* The same in double, on the host. Returns the inertia. */
static double assign_plainly(const float *images, double centres[CLUSTERS][PIXELS], int *nearest) {
    double inertia = 0;
    for (int i = 0; i < IMAGES; i++) {
        double least = INFINITY;
        for (int c = 0; c < CLUSTERS; c++) {
            double distance = 0;
            for (int p = 0; p < PIXELS; p++)
                distance += pow((double)images[i * PIXELS + p] - centres[c][p], 2);
            if (distance < least) {
                least = distance;
                nearest[i] = c;
            }
        }
        inertia += least;
    }
    return inertia;
}

static void move_plainly(const float *images, double centres[CLUSTERS][PIXELS],
                         const int *nearest) {
    static double sums[CLUSTERS][PIXELS];
    int counts[CLUSTERS] = {0};
    for (int c = 0; c < CLUSTERS; c++)
        for (int p = 0; p < PIXELS; p++)
            sums[c][p] = 0;
    for (int i = 0; i < IMAGES; i++) {
        counts[nearest[i]]++;
        for (int p = 0; p < PIXELS; p++)
            sums[nearest[i]][p] += (double)images[i * PIXELS + p];
    }
    for (int c = 0; c < CLUSTERS; c++)
        for (int p = 0; p < PIXELS && counts[c] > 0; p++)
            centres[c][p] = sums[c][p] / counts[c];
}

static double cluster_plainly(const float *images, int *nearest) {
    static double centres[CLUSTERS][PIXELS];
    for (int i = 0; i < CLUSTERS * PIXELS; i++)
        centres[i / PIXELS][i % PIXELS] = (double)images[i];
    for (int round = 0; round < ROUNDS; round++) {
        assign_plainly(images, centres, nearest);
        move_plainly(images, centres, nearest);
    }
    return assign_plainly(images, centres, nearest);
}

int main(void) {
    static float pixels[IMAGES * PIXELS];
    static int32_t found[IMAGES];
    static int wanted[IMAGES];
    tdm_device *device;
    tdm_queue *queue;
    tdm_state_dict *file;
    tdm_tensor images;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    if (tdm_load(queue, IMAGES_FILE, NULL, &file) != TDM_OK) {
        fprintf(stderr, "kmeans: %s\nrun it in the folder of Tandem's examples, which has %s\n",
                tdm_last_error(), IMAGES_FILE);
        return 1;
    }
    check(tdm_state_dict_get(file, "images", &images));

    rounds r = make_rounds(queue, &images);
    for (int round = 0; round < ROUNDS; round++) {
        assign(&r);
        move(&r);
    }
    assign(&r);
    const double inertia = read_inertia(&r);
    check(tdm_to_host(queue, &r.nearest, found));

    check(tdm_to_host(queue, &images, pixels));
    const double expected = cluster_plainly(pixels, wanted);
    int same = 0;
    for (int i = 0; i < IMAGES; i++)
        same += found[i] == wanted[i];
    const bool right = same == IMAGES && fabs(inertia - expected) < 1e-4 * expected;
    printf("%d images in %d clusters on %s: inertia %.1f\n", IMAGES, CLUSTERS,
           tdm_device_get_info(device)->id, inertia);
    printf("the same clusters as in double: %s\n", right ? "yes" : "no");

    free_rounds(&r);
    tdm_state_dict_destroy(file);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return right ? 0 : 1;
}
