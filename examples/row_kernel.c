/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* User kernels over rows: the standard deviation of each row, and a softmax of two kernels, of expressions
 * that run on whatever device there is.
 *
 *     cc -std=c11 row_kernel.c $(pkg-config --cflags --libs tandem) -lm -o row_kernel */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 1000, COLS = 1000 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "row_kernel: %s\n", tdm_last_error());
    exit(1);
}

/* Makes a kernel of x and y, runs it, and lets it go: work that was queued goes on. */
static void run(tdm_queue *queue, const tdm_row_kernel *texts, const tdm_tensor *x,
                const tdm_tensor *y) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", x), TDM_WITH_TENSOR("y", y)};
    tdm_kernel *kernel;
    check(tdm_kernel_rows(tdm_queue_get_device(queue), texts, parameters, 2, &kernel));
    check(tdm_kernel_run(queue, kernel, arguments, 2));
    tdm_kernel_release(kernel);
}

/* The mean of each row, and with that the standard deviation. */
static void deviations(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *y) {
    const tdm_row_kernel mean = TDM_ROW_KERNEL(.map = "x", .finish = "r / n");
    const tdm_row_kernel spread =
        TDM_ROW_KERNEL(.map = "t = x - mean; t * t", .finish = "sqrt(r / n)");
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("mean"), TDM_TENSOR("y")};
    tdm_tensor means;
    tdm_kernel *kernel;
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, 1), &means));
    run(queue, &mean, x, &means);
    check(tdm_kernel_rows(tdm_queue_get_device(queue), &spread, parameters, 3, &kernel));
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", x), TDM_WITH_TENSOR("mean", &means),
                                      TDM_WITH_TENSOR("y", y)};
    check(tdm_kernel_run(queue, kernel, arguments, 3));
    tdm_kernel_release(kernel);
    tdm_tensor_release(&means);
}

int main(void) {
    static float found[ROWS], sums[ROWS];
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor x, y, of_rows;
    tdm_generator generator = {.seed = 42};
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &x));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &y));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS), &of_rows));
    check(tdm_fill_normal(queue, &generator, 5, 2, &x));

    double mean = 0, worst = 0;
    deviations(queue, &x, &of_rows);
    check(tdm_to_host(queue, &of_rows, found));
    for (int i = 0; i < ROWS; i++)
        mean += found[i] / (float)ROWS;
    printf("the rows' standard deviation is %.1f on average\n", mean);

    const tdm_row_kernel exps =
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_MAX, .apply = "exp(x - r)");
    const tdm_row_kernel shares = TDM_ROW_KERNEL(.map = "x", .apply = "x / r");
    const tdm_row_kernel sum = TDM_ROW_KERNEL(.map = "x");
    run(queue, &exps, &x, &y);
    run(queue, &shares, &y, &y); /* in place */
    run(queue, &sum, &y, &of_rows);
    check(tdm_to_host(queue, &of_rows, sums));
    for (int i = 0; i < ROWS; i++)
        worst = fmax(worst, fabs((double)sums[i] - 1));
    printf("the rows of the softmax sum to 1 within 1e-6: %s\n", worst <= 1e-6 ? "yes" : "no");

    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&of_rows);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
