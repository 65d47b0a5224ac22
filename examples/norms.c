/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms over the rows of a matrix: LayerNorm in place, RMSNorm of a sum that is kept, and the L2
 * norm of each row, compared with the same computed here in double.
 *
 *     cc -std=c11 norms.c $(pkg-config --cflags --libs tandem) -lm -o norms */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 3, COLS = 64 };
#define EPSILON 1e-5

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "norms: %s\n", tdm_last_error());
    exit(1);
}

/* The mean and the mean of squares of a row, less `around`. */
static double mean_of(const float *row, double around, int power) {
    double sum = 0;
    for (int j = 0; j < COLS; j++)
        sum += pow((double)row[j] - around, power);
    return sum / (double)COLS;
}

static double worst; /* the largest error so far */

static void compare(double got, double wanted) { worst = fmax(worst, fabs(got - wanted)); }

int main(void) {
    static float x[ROWS][COLS], twice[ROWS][COLS], got[ROWS][COLS], sums[ROWS][COLS];
    float lengths[ROWS];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            x[i][j] = (float)(100 * i + (7 * j) % 13);
            twice[i][j] = 2 * x[i][j];
        }
    }
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor a, b, y, length;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_from_host(queue, x, TDM_F32, TDM_SHAPE(ROWS, COLS), &a));
    check(tdm_from_host(queue, twice, TDM_F32, TDM_SHAPE(ROWS, COLS), &b));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &y));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(ROWS), &length));

    /* b = a + b, y = b / rms(b): what a transformer does between two blocks, in one pass. */
    check(tdm_rms_norm(queue, &a, NULL, EPSILON, &b, &b, &y));
    check(tdm_to_host(queue, &b, sums));
    check(tdm_to_host(queue, &y, got));
    for (int i = 0; i < ROWS; i++) {
        double rms = sqrt(mean_of(sums[i], 0, 2) + EPSILON);
        for (int j = 0; j < COLS; j++) {
            compare((double)sums[i][j], 3.0 * (double)x[i][j]);
            compare((double)got[i][j], (double)sums[i][j] / rms);
        }
    }
    printf("RMSNorm: the mean square of the last row is %.4f\n", mean_of(got[ROWS - 1], 0, 2));

    check(tdm_row_norm(queue, TDM_NORM_L2, &y, &length));
    check(tdm_to_host(queue, &length, lengths));
    printf("the L2 norms of the rows: %.3f %.3f %.3f\n", (double)lengths[0], (double)lengths[1],
           (double)lengths[2]);
    compare((double)lengths[0], sqrt(COLS)); /* mean square 1 */

    /* In place: the output is the input. Weight and bias may be left out. */
    check(tdm_layer_norm(queue, &a, NULL, NULL, EPSILON, &a));
    check(tdm_to_host(queue, &a, got));
    for (int i = 0; i < ROWS; i++) {
        double mean = mean_of(x[i], 0, 1), deviation = sqrt(mean_of(x[i], mean, 2) + EPSILON);
        for (int j = 0; j < COLS; j++)
            compare((double)got[i][j], ((double)x[i][j] - mean) / deviation);
    }
    printf("LayerNorm: mean %.4f, variance %.4f\n", fabs(mean_of(got[0], 0, 1)),
           mean_of(got[0], 0, 2));

    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&y);
    tdm_tensor_release(&length);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    printf("differs from double by at most 1e-4: %s\n", worst <= 1e-4 ? "yes" : "no");
    return worst <= 1e-4 ? 0 : 1;
}
