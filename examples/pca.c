/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Principal components of handwritten digits, by power iteration on the device: means, products, norms and divisions,
 * and nothing is read back before the end. The variances are compared with those that the same gives in double.
 *
 *     cc -std=c11 pca.c $(pkg-config --cflags --libs tandem) -lm -o pca */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { IMAGES = 360, PIXELS = 64, COMPONENTS = 3, ITERATIONS = 300 };

#ifndef DIGITS_DATA_DIR
#define DIGITS_DATA_DIR "digits"
#endif
#define IMAGES_FILE DIGITS_DATA_DIR "/test.safetensors"

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "pca: %s\n", tdm_last_error());
    exit(1);
}

/* x less the mean of each pixel, in a new tensor. */
static tdm_tensor centre(tdm_queue *queue, const tdm_tensor *images) {
    const int over_images = 0;
    tdm_tensor mean, x;
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(1, PIXELS), &mean));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(IMAGES, PIXELS), &x));
    check(tdm_mean(queue, images, &over_images, 1, &mean));
    check(tdm_sub(queue, images, &mean, &x));
    tdm_tensor_release(&mean);
    return x;
}

/* The direction v, [PIXELS, 1], in which x varies most: v = xᵀ x v, scaled to length 1, again and again. Takes
 * away from x what lies along it, and puts the variance there into `variance`, one element. */
static void find_component(tdm_queue *queue, tdm_tensor *x, tdm_tensor *variance) {
    tdm_matmul_options transposed = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_matmul_options taken_away = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_tensor v, along, norm;
    transposed.transpose_a = true;
    taken_away.transpose_b = true;
    taken_away.alpha = -1;
    taken_away.beta = 1;
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(PIXELS, 1), &v));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(IMAGES, 1), &along));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(1), &norm));
    for (int i = 0; i < ITERATIONS; i++) {
        check(tdm_matmul(queue, NULL, x, &v, &along));
        check(tdm_matmul(queue, &transposed, x, &along, &v));
        check(tdm_norm(queue, TDM_NORM_L2, &v, &norm));
        check(tdm_div(queue, &v, &norm, &v));
    }
    check(tdm_matmul(queue, NULL, x, &v, &along));
    check(tdm_dot(queue, &along, &along, variance));
    check(tdm_scale(queue, 1.0 / (IMAGES - 1), variance, variance));
    check(tdm_matmul(queue, &taken_away, &along, &v, x)); /* x = x - along vᵀ */
    tdm_tensor_release(&v);
    tdm_tensor_release(&along);
    tdm_tensor_release(&norm);
}

/* The same in double, on the host. */
static double find_plainly(double x[IMAGES][PIXELS]) {
    static double v[PIXELS], along[IMAGES];
    double variance = 0;
    for (int p = 0; p < PIXELS; p++)
        v[p] = 1;
    for (int i = 0; i <= ITERATIONS; i++) {
        double length = 0, next[PIXELS] = {0};
        for (int k = 0; k < IMAGES; k++) {
            along[k] = 0;
            for (int p = 0; p < PIXELS; p++)
                along[k] += x[k][p] * v[p];
            for (int p = 0; p < PIXELS; p++)
                next[p] += x[k][p] * along[k];
        }
        if (i == ITERATIONS) break;
        for (int p = 0; p < PIXELS; p++)
            length += next[p] * next[p];
        for (int p = 0; p < PIXELS; p++)
            v[p] = next[p] / sqrt(length);
    }
    for (int k = 0; k < IMAGES; k++) {
        variance += along[k] * along[k] / (IMAGES - 1);
        for (int p = 0; p < PIXELS; p++)
            x[k][p] -= along[k] * v[p];
    }
    return variance;
}

static void centre_plainly(const float *images, double x[IMAGES][PIXELS]) {
    for (int p = 0; p < PIXELS; p++) {
        double mean = 0;
        for (int k = 0; k < IMAGES; k++)
            mean += (double)images[k * PIXELS + p] / (double)IMAGES;
        for (int k = 0; k < IMAGES; k++)
            x[k][p] = (double)images[k * PIXELS + p] - mean;
    }
}

int main(void) {
    static float pixels[IMAGES * PIXELS];
    static double plain[IMAGES][PIXELS];
    float found[COMPONENTS];
    bool right = true;
    tdm_device *device;
    tdm_queue *queue;
    tdm_state_dict *file;
    tdm_tensor images, variances;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    if (tdm_load(queue, IMAGES_FILE, NULL, &file) != TDM_OK) {
        fprintf(stderr, "pca: %s\nrun it in the folder of Tandem's examples, which has %s\n",
                tdm_last_error(), IMAGES_FILE);
        return 1;
    }
    check(tdm_state_dict_get(file, "images", &images));

    tdm_tensor x = centre(queue, &images);
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(COMPONENTS), &variances));
    for (int i = 0; i < COMPONENTS; i++) {
        tdm_tensor variance;
        check(tdm_tensor_slice(&variances, 0, i, 1, 1, &variance));
        find_component(queue, &x, &variance);
    }
    check(tdm_to_host(queue, &variances, found));

    check(tdm_to_host(queue, &images, pixels));
    centre_plainly(pixels, plain);
    printf("the largest variances on %s:", tdm_device_get_info(device)->id);
    for (int i = 0; i < COMPONENTS; i++) {
        const double expected = find_plainly(plain);
        right = right && fabs((double)found[i] - expected) < 1e-4 * expected;
        printf(" %.3f", (double)found[i]);
    }
    printf("\nas in double: %s\n", right ? "yes" : "no");

    tdm_tensor_release(&variances);
    tdm_tensor_release(&x);
    tdm_state_dict_destroy(file);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return right ? 0 : 1;
}
