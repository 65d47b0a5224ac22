/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The gradients of the weights in a data parallel training step: of a shape rows x width, each rank multiplies its
 * rows, dw = dyᵀ · x of [width, width] for each of some layers, and all ranks get the mean. Asynchronously, one layer's
 * gradient is averaged while the next one's is multiplied; beside it the same calls by a communicator that waits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "reference/ops.h"

enum { LAYERS = 6, CHECKED = 4 }; /* and rows of a gradient */

typedef struct state {
    group *g;
    tdm_comm *asynchronous;
    tdm_queue *network;
    tdm_event *made, *averaged;
    int64_t rows, width;
    tdm_tensor x, dy[LAYERS], dw[LAYERS];
} state;

enum { X = LAYERS, NOTHING = -1 }; /* as machines_element numbers them; dy are 0 to LAYERS - 1 */

static tdm_status step(state *s, tdm_comm *comm) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_queue *queue = s->g->queue;
    tdm_status status = TDM_OK;
    options.transpose_a = true;
    for (int i = LAYERS - 1; status == TDM_OK && i >= 0; i--) {
        status = tdm_matmul(queue, &options, &s->dy[i], &s->x, &s->dw[i]);
        if (status == TDM_OK) status = tdm_queue_record_event(queue, s->made);
        if (status == TDM_OK) status = tdm_queue_wait_event(s->network, s->made);
        if (status == TDM_OK)
            status = tdm_comm_all_reduce(comm, s->network, TDM_COMM_MEAN, &s->dw[i], &s->dw[i]);
    }
    if (status == TDM_OK) status = tdm_queue_record_event(s->network, s->averaged);
    return status == TDM_OK ? tdm_queue_wait_event(queue, s->averaged) : status;
}

static tdm_status call(void *of) {
    state *s = of;
    return step(s, s->asynchronous);
}

static bool plain(void *of) {
    state *s = of;
    return step(s, s->g->comm) == TDM_OK && tdm_queue_finish(s->g->queue) == TDM_OK;
}

/* Rows of a gradient in double, over the rows of all ranks. */
static bool check_layer(state *s, int layer, double *error, double *bound) {
    static const int64_t zero[2] = {0, 0};
    const int64_t all = s->rows * s->g->size, width = s->width;
    const int64_t whole[2] = {all, width}, some[2] = {CHECKED, width};
    double *x = machines_fill(TDM_F64, X, zero, whole, false),
           *dy = machines_fill(TDM_F64, layer, zero, (const int64_t[]){all, CHECKED}, false),
           *dw = machines_fill(TDM_F64, NOTHING, zero, some, false),
           *off = machines_fill(TDM_F64, NOTHING, zero, some, false);
    float *got = malloc((size_t)(width * width) * sizeof *got);
    bool good =
        x && dy && dw && off && got && tdm_to_host(s->g->queue, &s->dw[layer], got) == TDM_OK;
    const ref_gemm gemm = {.dtype = TDM_F32,
                           .m = CHECKED,
                           .n = width,
                           .k = all,
                           .transpose_a = true,
                           .alpha = 1,
                           .a = dy,
                           .b = x};
    if (good) ref_matmul(&gemm, dw, off);
    for (int64_t i = 0; good && i < CHECKED * width; i++) {
        const double wrong = fabs((double)got[i] - dw[i] / s->g->size);
        *error = fmax(*error, wrong);
        *bound = fmax(*bound, off[i] / s->g->size);
        good = wrong <= off[i] / s->g->size;
    }
    for (int64_t i = 0; good && i < width * width; i++) /* what nobody wrote */
        good = isfinite(got[i]);
    free(x);
    free(dy);
    free(dw);
    free(off);
    free(got);
    return good && tdm_fill(s->g->queue, (double)NAN, &s->dw[layer]) == TDM_OK;
}

static bool check(void *of, double *error, double *bound) {
    bool good = true;
    for (int i = 0; good && i < LAYERS; i++)
        good = check_layer(of, i, error, bound);
    return good;
}

static bool make(state *s) {
    group *g = s->g;
    const int64_t first[2] = {g->rank * s->rows, 0}, shape[2] = {s->rows, s->width},
                  zero[2] = {0, 0}, square[2] = {s->width, s->width};
    bool good = tdm_queue_create(g->device, 0, &s->network) == TDM_OK &&
                tdm_event_create(g->device, &s->made) == TDM_OK &&
                tdm_event_create(g->device, &s->averaged) == TDM_OK &&
                tdm_comm_from_mpi(g->mpi, g->device, &s->asynchronous) == TDM_OK &&
                tdm_comm_set_asynchronous(s->asynchronous, true) == TDM_OK &&
                machines_make(g->queue, TDM_F32, X, first, shape, &s->x);
    for (int i = 0; good && i < LAYERS; i++)
        good = machines_make(g->queue, TDM_F32, i, first, shape, &s->dy[i]) &&
               machines_make(g->queue, TDM_F32, NOTHING, zero, square, &s->dw[i]);
    return good;
}

static bool prepare(group *g, const machines_case *c, work *w) {
    const bench_shape shape = bench_parse_shape(c->shape);
    state *s = calloc(1, sizeof *s);
    if (!s) return false;
    w->state = s;
    *s = (state){.g = g, .rows = shape.extent[0], .width = shape.extent[1]};
    const bool good = make(s);
    if (!good) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    w->flops = 2.0 * LAYERS * (double)(s->rows * g->size) * (double)s->width * (double)s->width;
    w->call = call;
    w->check = check;
    w->plain_name = "calls that wait";
    w->plain = plain;
    return good;
}

static void destroy(work *w) {
    state *s = w->state;
    if (!s) return;
    tdm_comm_destroy(s->asynchronous);
    tdm_queue_destroy(s->network);
    tdm_event_destroy(s->made);
    tdm_event_destroy(s->averaged);
    tdm_tensor_release(&s->x);
    for (int i = 0; i < LAYERS; i++) {
        tdm_tensor_release(&s->dy[i]);
        tdm_tensor_release(&s->dw[i]);
    }
    free(s);
}

const machines_kind machines_gradients = {NULL, prepare, destroy, NULL};
