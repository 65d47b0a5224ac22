/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product of matrices that lie over a grid of ranks, compared with one process with as many cores, and with
 * ScaLAPACK's over the same ranks. +weak: each rank's block of C has the shape; compared with one process that computes
 * such a block on one core. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

typedef struct state {
    group *g;
    tdm_dtype dtype;
    int64_t k;
    tdm_grid *grid;
    tdm_tensor a, b, c;
    int64_t first[2]; /* of this rank's block of C */
    void *host[3];    /* ScaLAPACK's blocks */
    scalapack *peer;
    char plain_name[48];
} state;

enum { A, B, C = -1 }; /* as machines_element numbers them */

static double get(const void *at, tdm_dtype dtype, int64_t i) {
    return dtype == TDM_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static bool make(state *s, int which, int64_t rows, int64_t columns, tdm_tensor *tensor,
                 void **host) {
    int64_t first[2], shape[2];
    if (tdm_grid_block(s->grid, rows, columns, first, shape) != TDM_OK) return false;
    if (s->peer) *host = machines_fill(s->dtype, which, first, shape, true);
    return machines_make(s->g->queue, s->dtype, which, first, shape, tensor) && (!s->peer || *host);
}

static tdm_status call(void *of) {
    state *s = of;
    return tdm_grid_matmul(s->grid, s->g->queue, NULL, s->k, &s->a, &s->b, &s->c);
}

/* Some elements of the block against sums in double. */
static bool check(void *of, double *error, double *bound) {
    state *s = of;
    const int64_t rows = s->c.shape[0], columns = s->c.shape[1], k = s->k;
    const double unit = s->dtype == TDM_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    void *memory = malloc((size_t)(rows * columns + 1) * tdm_dtype_size(s->dtype));
    bool good = memory && tdm_to_host(s->g->queue, &s->c, memory) == TDM_OK;
    for (int64_t n = 0; good && n < 512 && rows * columns > 0; n++) {
        const int64_t at = (n * 1000003 + n * n) % (rows * columns), i = at / columns,
                      j = at % columns;
        double sum = 0, size = 0;
        for (int64_t l = 0; l < k; l++) {
            const double product =
                machines_element(A, s->first[0] + i, l) * machines_element(B, l, s->first[1] + j);
            sum += product;
            size += fabs(product);
        }
        const double off = fabs(get(memory, s->dtype, at) - sum),
                     allowed = unit * sqrt((double)k) * size;
        *error = fmax(*error, off);
        *bound = fmax(*bound, allowed);
        good = off <= allowed;
    }
    free(memory);
    return good && tdm_fill(s->g->queue, (double)NAN, &s->c) == TDM_OK;
}

static bool plain(void *of) {
    state *s = of;
    return scalapack_multiply(s->peer, s->host[0], s->host[1], s->host[2]);
}

static bool prepare(group *g, work *w) {
    const bench_shape shape = bench_parse_shape(w->shape);
    state *s = w->state;
    int64_t of_c[2];
    bool good = tdm_grid_create(g->comm, 0, 0, &s->grid) == TDM_OK;
    const int64_t m = shape.extent[0] * (w->weak && good ? tdm_grid_get_rows(s->grid) : 1);
    const int64_t n = shape.extent[1] * (w->weak && good ? tdm_grid_get_columns(s->grid) : 1);
    const int64_t k = shape.extent[2];
    s->g = g;
    s->dtype = w->dtype;
    s->k = k;
    const bool with_peer = strcmp(w->op, "grid_matmul+scalapack") == 0;
    if (with_peer && group_all(g, good))
        s->peer = scalapack_open(g, tdm_grid_get_rows(s->grid), tdm_grid_get_columns(s->grid),
                                 w->dtype, m, n, k);
    good = good && tdm_grid_block(s->grid, m, n, s->first, of_c) == TDM_OK &&
           make(s, A, m, k, &s->a, &s->host[0]) && make(s, B, k, n, &s->b, &s->host[1]) &&
           make(s, C, m, n, &s->c, &s->host[2]);
    w->flops = 2.0 * (double)m * (double)n * (double)k;
    if (with_peer) w->plain_name = NULL;
    if (with_peer && group_all(g, good && s->peer)) {
        scalapack_tune(s->peer, g, s->host[0], s->host[1], s->host[2]);
        snprintf(s->plain_name, sizeof s->plain_name, "p%cgemm (block %d)",
                 w->dtype == TDM_F64 ? 'd' : 's', scalapack_block(s->peer));
        w->plain_name = s->plain_name;
        w->plain = plain;
    }
    return good;
}

static void destroy(void *of) {
    state *s = of;
    tdm_tensor_release(&s->a);
    tdm_tensor_release(&s->b);
    tdm_tensor_release(&s->c);
    for (int i = 0; i < 3; i++)
        free(s->host[i]);
    scalapack_close(s->peer);
    tdm_grid_destroy(s->grid);
}

static tdm_status run_alone(tdm_queue *queue, void *of) {
    state *s = of;
    return tdm_matmul(queue, NULL, &s->a, &s->b, &s->c);
}

/* The same product in this process. */
static double product_alone(tdm_queue *queue, const one_process_work *of) {
    const bench_shape shape = bench_parse_shape(of->shape);
    const int64_t m = shape.extent[0], n = shape.extent[1], k = shape.extent[2], zero[2] = {0, 0};
    state s = {0};
    bool good = machines_make(queue, of->dtype, A, zero, (const int64_t[]){m, k}, &s.a) &&
                machines_make(queue, of->dtype, B, zero, (const int64_t[]){k, n}, &s.b) &&
                tdm_empty(queue, of->dtype, TDM_SHAPE(m, n), &s.c) == TDM_OK;
    const double seconds = good ? one_process_time(queue, of->calls, run_alone, &s) : -1;
    destroy(&s);
    return seconds;
}

const machines_kind machines_products = {"grid_matmul", sizeof(state), prepare,      call,
                                         check,         destroy,       product_alone};
