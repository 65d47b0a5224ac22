/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Two linear layers with a GELU between them, y = gelu(x · w1ᵀ + b1) · w2ᵀ + b2, that ranks share: of a shape
 * rows x width x inner, x and y are [rows, width], w1 [inner, width] and w2 [width, inner].
 *
 *     layers+data     each rank has all parameters and its part of the rows; the ranks' rows of y are gathered
 *     layers+tensor   each rank has its part of `inner`, and what they make of all rows is added up
 *     …+weak          the shape is one rank's part, of the rows or of `inner`; compared with one process on one core
 *
 * On every rank y is whole in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "operations/formulas.h"

enum { X, W1, B1, W2, B2, Y = -1 }; /* as machines_element numbers them */
enum { CHECKED = 4 };               /* rows */

/* The part of one rank, or all of one process. */
typedef struct block {
    tdm_tensor x, w1, b1, w2, b2, hidden;
} block;

typedef struct state {
    group *g;
    bool by_rows;
    int64_t rows, width, inner; /* of all ranks */
    block own;
    tdm_tensor y, own_y;
    int64_t *extents; /* the ranks' rows */
} state;

static bool make_vector(tdm_queue *queue, int which, int64_t first, int64_t n, tdm_tensor *tensor) {
    if (!machines_make(queue, TDM_F32, which, (const int64_t[]){0, first}, (const int64_t[]){1, n},
                       tensor))
        return false;
    const tdm_tensor row = *tensor;
    return tdm_tensor_view(&row, 1, &n, (const int64_t[]){1}, 0, tensor) == TDM_OK;
}

/* With rows [first[0], + count[0]) of x and [first[1], + count[1]) of the inner extent. */
static bool make_block(tdm_queue *queue, int64_t width, const int64_t first[2],
                       const int64_t count[2], block *b) {
    const int64_t row[2] = {first[0], 0}, above[2] = {first[1], 0}, columns[2] = {0, first[1]};
    return machines_make(queue, TDM_F32, X, row, (const int64_t[]){count[0], width}, &b->x) &&
           machines_make(queue, TDM_F32, W1, above, (const int64_t[]){count[1], width}, &b->w1) &&
           machines_make(queue, TDM_F32, W2, columns, (const int64_t[]){width, count[1]}, &b->w2) &&
           make_vector(queue, B1, first[1], count[1], &b->b1) &&
           make_vector(queue, B2, 0, width, &b->b2) &&
           tdm_empty(queue, TDM_F32, 2, count, &b->hidden) == TDM_OK;
}

static void release_block(block *b) {
    tdm_tensor *tensors[] = {&b->x, &b->w1, &b->b1, &b->w2, &b->b2, &b->hidden};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
}

static tdm_status run_block(tdm_queue *queue, block *b, tdm_tensor *y) {
    tdm_status status = tdm_linear(queue, &b->x, &b->w1, &b->b1, TDM_ACTIVATION_GELU, &b->hidden);
    if (status != TDM_OK) return status;
    return tdm_linear(queue, &b->hidden, &b->w2, &b->b2, TDM_ACTIVATION_NONE, y);
}

static tdm_status call(void *of) {
    state *s = of;
    block *b = &s->own;
    tdm_queue *queue = s->g->queue;
    if (!s->by_rows) {
        tdm_status status =
            tdm_linear(queue, &b->x, &b->w1, &b->b1, TDM_ACTIVATION_GELU, &b->hidden);
        if (status != TDM_OK) return status;
        return tdm_linear_row_parallel(s->g->comm, queue, &b->hidden, &b->w2, &b->b2,
                                       TDM_ACTIVATION_NONE, &s->y);
    }
    tdm_status status = run_block(queue, b, &s->own_y); /* where the others' rows will be, too */
    if (status != TDM_OK) return status;
    return tdm_comm_all_gather(s->g->comm, queue, &s->own_y, s->extents, &s->y);
}

/* Rows of both layers in double, and how far from them y may be. */
typedef struct wanted {
    double *x, *w1, *b1, *w2, *b2, *hidden, *off, *y, *bound;
} wanted;

static double *matrix(int which, int64_t rows, int64_t columns) {
    static const int64_t zero[2] = {0, 0};
    return machines_fill(TDM_F64, which, zero, (const int64_t[]){rows, columns}, false);
}

static void free_wanted(wanted *w) {
    double *all[] = {w->x, w->w1, w->b1, w->w2, w->b2, w->hidden, w->off, w->y, w->bound};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Row number i of those that are checked, the first and the last among them. */
static int64_t checked_row(const state *s, int i) { return i * (s->rows - 1) / (CHECKED - 1); }

static bool work_out(const state *s, wanted *w) {
    const int64_t width = s->width, inner = s->inner;
    *w = (wanted){.x = matrix(Y, CHECKED, width),
                  .w1 = matrix(W1, inner, width),
                  .b1 = matrix(B1, 1, inner),
                  .w2 = matrix(W2, width, inner),
                  .b2 = matrix(B2, 1, width),
                  .hidden = matrix(Y, CHECKED, inner),
                  .off = matrix(Y, CHECKED, inner),
                  .y = matrix(Y, CHECKED, width),
                  .bound = matrix(Y, CHECKED, width)};
    if (!w->x || !w->w1 || !w->b1 || !w->w2 || !w->b2 || !w->hidden || !w->off || !w->y ||
        !w->bound)
        return false;
    for (int i = 0; i < CHECKED; i++)
        for (int64_t j = 0; j < width; j++)
            w->x[i * width + j] = machines_element(X, checked_row(s, i), j);
    ref_gemm gemm = {.dtype = TDM_F32,
                     .m = CHECKED,
                     .n = inner,
                     .k = width,
                     .transpose_b = true,
                     .alpha = 1,
                     .a = w->x,
                     .b = w->w1,
                     .bias = w->b1,
                     .activation = TDM_ACTIVATION_GELU};
    ref_matmul(&gemm, w->hidden, w->off);
    gemm.n = width;
    gemm.k = inner;
    gemm.a = w->hidden;
    gemm.b = w->w2;
    gemm.bias = w->b2;
    gemm.activation = TDM_ACTIVATION_NONE;
    ref_matmul(&gemm, w->y, w->bound);
    for (int64_t i = 0; i < CHECKED; i++)
        for (int64_t j = 0; j < width; j++)
            for (int64_t k = 0; k < inner; k++)
                w->bound[i * width + j] += fabs(w->w2[j * inner + k]) * w->off[i * inner + k];
    return true;
}

static bool check(void *of, double *error, double *bound) {
    state *s = of;
    wanted w;
    const int64_t width = s->width;
    float *y = malloc((size_t)(s->rows * width) * sizeof *y);
    bool good = work_out(s, &w) && y && tdm_to_host(s->g->queue, &s->y, y) == TDM_OK;
    for (int64_t i = 0; good && i < s->rows * width; i++) /* NaN: never written */
        good = isfinite(y[i]);
    for (int i = 0; good && i < CHECKED; i++)
        for (int64_t j = 0; j < width; j++) {
            const double off = fabs((double)y[checked_row(s, i) * width + j] - w.y[i * width + j]);
            *error = fmax(*error, off);
            *bound = fmax(*bound, w.bound[i * width + j]);
            good = good && off <= w.bound[i * width + j];
        }
    free_wanted(&w);
    free(y);
    return good && tdm_fill(s->g->queue, (double)NAN, &s->y) == TDM_OK; /* for the next check */
}

static bool share(state *s, int64_t first[2], int64_t count[2]) {
    const int64_t all[2] = {s->rows, s->inner};
    const int shared = s->by_rows ? 0 : 1;
    first[1 - shared] = 0;
    count[1 - shared] = all[1 - shared];
    for (int i = 0; i < s->g->size; i++) {
        int64_t begin;
        if (tdm_part(all[shared], s->g->size, i, &begin, &s->extents[i]) != TDM_OK) return false;
        if (i == s->g->rank) first[shared] = begin;
    }
    count[shared] = s->extents[s->g->rank];
    return true;
}

static bool prepare(group *g, work *w) {
    const bench_shape shape = bench_parse_shape(w->shape);
    state *s = w->state;
    s->g = g;
    s->by_rows = strstr(w->op, "+data");
    s->rows = shape.extent[0];
    s->width = shape.extent[1];
    s->inner = shape.extent[2];
    if (w->weak) *(s->by_rows ? &s->rows : &s->inner) *= g->size;
    s->extents = calloc((size_t)g->size, sizeof *s->extents);
    int64_t first[2], count[2];
    const int64_t zero[2] = {0, 0};
    w->flops = 4.0 * (double)s->rows * (double)s->width * (double)s->inner;
    return s->extents && share(s, first, count) &&
           make_block(g->queue, s->width, first, count, &s->own) &&
           machines_make(g->queue, TDM_F32, Y, zero, (const int64_t[]){s->rows, s->width}, &s->y) &&
           tdm_tensor_slice(&s->y, 0, first[0], count[0], 1, &s->own_y) == TDM_OK;
}

static void destroy(void *of) {
    state *s = of;
    release_block(&s->own);
    tdm_tensor_release(&s->y);
    free(s->extents);
}

static tdm_status run_alone(tdm_queue *queue, void *of) {
    state *s = of;
    return run_block(queue, &s->own, &s->y);
}

/* All of a shape in this process. */
static double layers_alone(tdm_queue *queue, const one_process_work *of) {
    const bench_shape shape = bench_parse_shape(of->shape);
    const int64_t zero[2] = {0, 0}, count[2] = {shape.extent[0], shape.extent[2]};
    state s = {0};
    bool good =
        make_block(queue, shape.extent[1], zero, count, &s.own) &&
        tdm_empty(queue, TDM_F32, TDM_SHAPE(shape.extent[0], shape.extent[1]), &s.y) == TDM_OK;
    const double seconds = good ? one_process_time(queue, of->calls, run_alone, &s) : -1;
    destroy(&s);
    return seconds;
}

const machines_kind machines_layers = {"layers", sizeof(state), prepare,     call,
                                       check,    destroy,       layers_alone};
