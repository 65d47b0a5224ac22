/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines of the cpu backend: CBLAS, moving bytes, and plain C functions for the smallest calls.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"

enum { SMALL = 64 };

typedef struct plain_call {
    void (*function)(struct plain_call *call);
    float x[SMALL], weight[SMALL], bias[SMALL], y[SMALL];
    int rows, cols, times;
} plain_call;

static void store_one(plain_call *call) { call->y[0] = 0.375f; }

static void layer_norm(plain_call *call) {
    for (int row = 0; row < call->rows; row++) {
        const float *x = call->x + row * call->cols;
        float *y = call->y + row * call->cols;
        float sum = 0.0f, squares = 0.0f;
        for (int i = 0; i < call->cols; i++)
            sum += x[i];
        const float mean = sum / (float)call->cols;
        for (int i = 0; i < call->cols; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        const float factor = 1.0f / sqrtf(squares / (float)call->cols + 1e-5f);
        for (int i = 0; i < call->cols; i++)
            y[i] = (x[i] - mean) * factor * call->weight[i] + call->bias[i];
    }
}

/* Calls through a pointer that the compiler must read each time, as a library's function is called. */
static bool call_plain(void *state, unsigned set) {
    (void)set;
    plain_call *call = state;
    void (*volatile function)(plain_call *) = call->function;
    for (int i = 0; i < call->times; i++)
        function(call);
    return true;
}

static bool create_plain(const bench_request *request, bench_baseline *baseline, char *why) {
    const bool norm = request->kind == BENCH_BASELINE_LAYER_NORM;
    plain_call *call = calloc(1, sizeof *call);
    if (!call) {
        snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
        return false;
    }
    call->function = norm ? layer_norm : store_one;
    call->times = request->kind == BENCH_BASELINE_GRAPH ? (int)request->shape.extent[0] : 1;
    if (norm) {
        call->rows = (int)request->shape.extent[0];
        call->cols = (int)request->shape.extent[1];
        memcpy(call->x, request->input[0], (size_t)(call->rows * call->cols) * sizeof(float));
        memcpy(call->weight, request->input[1], (size_t)call->cols * sizeof(float));
        memcpy(call->bias, request->input[2], (size_t)call->cols * sizeof(float));
    }
    *baseline = (bench_baseline){.state = call, .call = call_plain, .destroy = free};
    snprintf(baseline->name, sizeof baseline->name, "plain C call%s", call->times > 1 ? "s" : "");
    return true;
}

static bool create(const bench_request *request, bench_baseline *baseline, char *why) {
    switch (request->kind) {
    case BENCH_BASELINE_GEMM:
        return bench_host_gemm_create(request, baseline, why);
    case BENCH_BASELINE_EMPTY:
    case BENCH_BASELINE_EMPTY_FINISH:
    case BENCH_BASELINE_GRAPH:
    case BENCH_BASELINE_LAYER_NORM:
        return create_plain(request, baseline, why);
    default:
        return bench_host_move_create(request, baseline, why);
    }
}

extern const bench_vendor bench_vendor_cpu;
const bench_vendor bench_vendor_cpu = {TDM_CPU, create, bench_host_describe};
