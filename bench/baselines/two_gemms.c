/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The baseline of two linear layers, one after the other: the raw products of both, each measured alone. Its time
 * is the least that a program could take: its products do not disturb each other, and its other work takes no time. */
#include <stdio.h>
#include <stdlib.h>

#include "baselines/baseline.h"
#include "reference/random.h"

typedef struct two_gemms {
    bench_baseline part[2];
} two_gemms;

static double sample(void *state, int calls) {
    two_gemms *g = state;
    double sum = 0.0;
    for (int i = 0; i < 2; i++) {
        const double seconds = bench_sample(&g->part[i], calls);
        if (seconds < 0.0) return seconds;
        sum += seconds;
    }
    return sum;
}

static void destroy(void *state) {
    two_gemms *g = state;
    for (int i = 0; i < 2; i++)
        if (g->part[i].destroy) g->part[i].destroy(g->part[i].state);
    free(g);
}

/* X W1ᵀ of [rows, width] and [inner, width]; and its result, times W2ᵀ of [width, inner]. */
static void make_requests(const bench_request *request, const void *hidden, bench_request made[2]) {
    const int64_t *extent = request->shape.extent;
    const int64_t rows = extent[0], width = extent[1], inner = extent[2];
    const size_t size = tdm_dtype_size(request->dtype);
    const size_t outer = size * (size_t)(rows * width), between = size * (size_t)(rows * inner);
    const bench_request product = {.kind = BENCH_BASELINE_GEMM,
                                   .device = request->device,
                                   .dtype = request->dtype,
                                   .shape = {.batch = 1, .extents = 3},
                                   .transpose_b = true,
                                   .sets = request->sets};
    for (int i = 0; i < 2; i++) {
        made[i] = product;
        made[i].shape.extent[0] = rows;
        made[i].shape.extent[1] = i == 0 ? inner : width;
        made[i].shape.extent[2] = i == 0 ? width : inner;
        made[i].input[0] = i == 0 ? request->input[0] : hidden;
        made[i].input[1] = request->input[1 + i];
        made[i].bytes[0] = i == 0 ? outer : between;
        made[i].bytes[1] = request->bytes[1 + i];
        made[i].bytes[2] = i == 0 ? between : outer;
    }
}

bool bench_two_gemms_create(const bench_request *request, bench_baseline *baseline, char *why) {
    const int64_t elements = request->shape.extent[0] * request->shape.extent[2];
    two_gemms *g = calloc(1, sizeof *g);
    void *hidden = malloc((size_t)elements * tdm_dtype_size(request->dtype));
    bool good = g && hidden && random_fill(1, request->dtype, elements, -1.0, 1.0, hidden);
    if (!good) snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
    if (good) {
        bench_request made[2];
        make_requests(request, hidden, made);
        for (int i = 0; i < 2 && good; i++)
            good = bench_baseline_create(&made[i], &g->part[i], why);
    }
    free(hidden); /* a baseline that keeps inputs has copied them */
    if (!good) {
        if (g) destroy(g);
        return false;
    }
    *baseline =
        (bench_baseline){.state = g, .sample = sample, .sets = request->sets, .destroy = destroy};
    snprintf(baseline->name, sizeof baseline->name, "%.22s, %.22s", g->part[0].name,
             g->part[1].name);
    return true;
}
