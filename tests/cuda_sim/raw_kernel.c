/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "raw_kernel.h"

#include <math.h>
#include <string.h>

static void store_one(const tdm_group *group, void *const *buffers, const void *args) {
    (void)group;
    (void)args;
    *(float *)buffers[0] = 0.375f;
}

/* A row of x, weight, bias and y. */
static void layer_norm(const tdm_group *group, void *const *buffers, const void *args) {
    const int cols = *(const int *)args;
    const size_t start = (size_t)group->index * (size_t)cols;
    const float *x = (const float *)buffers[0] + start, *weight = buffers[1], *bias = buffers[2];
    float *y = (float *)buffers[3] + start, sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < cols; i++)
        sum += x[i];
    for (int i = 0; i < cols; i++)
        squares += (x[i] - sum / (float)cols) * (x[i] - sum / (float)cols);
    for (int i = 0; i < cols; i++)
        y[i] =
            (x[i] - sum / (float)cols) / sqrtf(squares / (float)cols + 1e-5f) * weight[i] + bias[i];
}

const raw_kernel *raw_kernel_find(const char *name, size_t length) {
    static const raw_kernel list[] = {{"store_one", 1, 0, store_one},
                                      {"layer_norm", 4, sizeof(int), layer_norm}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strlen(list[i].name) == length && strncmp(list[i].name, name, length) == 0)
            return &list[i];
    return NULL;
}
