/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "small.h"

#include <stddef.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        tdm_status try_status = (call);                                                            \
        if (try_status != TDM_OK) return try_status;                                               \
    } while (0)

tdm_status small_open(small *s, const char *name) {
    *s = (small){0};
    TRY(tdm_device_open(name, &s->device));
    TRY(tdm_queue_create(s->device, TDM_QUEUE_TIMING, &s->queue));
    for (int i = 0; i < 2; i++)
        TRY(tdm_buffer_create(s->device, SMALL_BYTES, &s->buffers[i]));
    s->x = tdm_tensor_2d(s->buffers[0], TDM_F32, SMALL_N, SMALL_N);
    s->y = tdm_tensor_2d(s->buffers[1], TDM_F32, SMALL_N, SMALL_N);
    return TDM_OK;
}

void small_close(small *s) {
    tdm_queue_destroy(s->queue);
    for (int i = 0; i < 2; i++)
        tdm_buffer_release(s->buffers[i]);
    tdm_device_release(s->device);
    *s = (small){0};
}

tdm_status small_work(small *s, int turn, bool *right) {
    float got[SMALL_N * SMALL_N];
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    float value = (float)(turn % 7 + 1), wanted = 2 * value * value * (float)SMALL_N;
    *right = false;
    TRY(tdm_fill(s->queue, (double)value, &s->x));
    TRY(tdm_matmul(s->queue, &options, &s->x, &s->x, &s->y));
    TRY(tdm_add(s->queue, &s->y, &s->y, &s->y));
    TRY(tdm_buffer_read(s->queue, s->buffers[1], 0, got, sizeof got));
    *right = true;
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        *right = *right && got[i] == wanted;
    return TDM_OK;
}
