/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A queue and two small matrices on one device, and work whose result is known. */
#ifndef TEST_CUDA_SMALL_H
#define TEST_CUDA_SMALL_H

#include <stdbool.h>

#include <tandem/tandem.h>

enum { SMALL_N = 32, SMALL_BYTES = SMALL_N * SMALL_N * (int)sizeof(float) };

typedef struct small {
    tdm_device *device;
    tdm_queue *queue;
    tdm_buffer *buffers[2];
    tdm_tensor x, y; /* the whole buffers, SMALL_N x SMALL_N, f32 */
} small;

/* After a failure small_close frees the objects that there are. */
tdm_status small_open(small *s, const char *name);
void small_close(small *s);

/* Kernels, a product and a transfer. *right: every number is as it should be. */
tdm_status small_work(small *s, int turn, bool *right);

#endif
