/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices: transposed operands, bias and activation in the same call, adding to what
 * is there, and the library that does the work.
 *
 *     cc -std=c11 matmul.c $(pkg-config --cflags --libs tandem) -o matmul */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "matmul: %s\n", tdm_last_error());
    exit(1);
}

static tdm_queue *queue;

/* Prints a matrix of 2 x 3 and ends the program where it is not as it should be. */
static void expect(const char *name, const tdm_tensor *c, const float (*wanted)[3]) {
    float got[2][3];
    bool right = true;
    check(tdm_to_host(queue, c, got));
    printf("%s:", name);
    for (int i = 0; i < 6; i++) {
        printf("%s%g", i == 3 ? " / " : " ", (double)got[i / 3][i % 3]);
        right = right && got[i / 3][i % 3] == wanted[i / 3][i % 3];
    }
    printf("\n");
    if (right) return;
    fprintf(stderr, "matmul: %s is wrong\n", name);
    exit(1);
}

int main(void) {
    const float numbers[2][3] = {{1, 2, 3}, {4, 5, 6}};
    /* As layers keep them: a row for each output. So it is the transpose that x is multiplied by. */
    const float weights[3][3] = {{1, 0, -1}, {2, 1, 0}, {0, 0, 1}};
    const float biases[3] = {1, -1, 0.5F};
    tdm_device *device;
    tdm_tensor x, weight, bias, y;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_from_host(queue, numbers, TDM_F32, TDM_SHAPE(2, 3), &x));
    check(tdm_from_host(queue, weights, TDM_F32, TDM_SHAPE(3, 3), &weight));
    check(tdm_from_host(queue, biases, TDM_F32, TDM_SHAPE(3), &bias));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(2, 3), &y));

    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    const char *provider;
    check(tdm_matmul_provider(queue, &options, &x, &weight, &y, &provider));
    printf("%s multiplies by %s\n", tdm_device_get_info(device)->id, provider);
    check(tdm_matmul(queue, &options, &x, &weight, &y));
    expect("y = x W'", &y, (const float[2][3]){{-2, 4, 3}, {-2, 13, 6}});

    options.bias = &bias;
    options.activation = TDM_ACTIVATION_RELU;
    check(tdm_matmul(queue, &options, &x, &weight, &y));
    expect("y = relu(x W' + b)", &y, (const float[2][3]){{0, 3, 3.5F}, {0, 12, 6.5F}});

    /* The same transpose as a view, which moves no data; twice the product is added to y. */
    tdm_tensor transposed;
    check(tdm_tensor_transpose(&weight, 0, 1, &transposed));
    tdm_matmul_options add = TDM_MATMUL_OPTIONS_DEFAULTS;
    add.alpha = 2;
    add.beta = 1;
    check(tdm_matmul(queue, &add, &x, &transposed, &y));
    expect("y = 2 x W' + y", &y, (const float[2][3]){{-4, 11, 9.5F}, {-4, 38, 18.5F}});

    tdm_tensor_release(&x);
    tdm_tensor_release(&weight); /* `transposed` is a view of it and owns nothing */
    tdm_tensor_release(&bias);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
