/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The gradients of two linear layers with a ReLU between them, y = relu(x · w1ᵀ) · w2ᵀ, for the loss |y|² / 2
 * of a row, averaged over the rows: of a shape rows x width x inner, as in layers.c. Each rank has all weights and its
 * part of the rows, multiplies forward and backward, and the ranks' gradients are added up: five products and two
 * all-reduces of as many bytes as the weights have.
 *
 *     training        compared with one process that has all rows, on as many cores
 *     training+weak   the shape's rows are those of one rank; compared with one process that has them, on one core */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "cases.h"

enum { X, W1, W2, NOTHING = -1 }; /* as machines_element numbers them */
enum { CHECKED = 4 };             /* columns and rows of a gradient */

/* The part of one rank, or all of one process. */
typedef struct layers {
    int64_t rows, width, inner; /* rows: its own */
    int64_t all_rows;
    tdm_kernel *masked; /* the gradient before a ReLU */
    tdm_tensor x, w1, w2, hidden, y, slope, grad1, grad2;
} layers;

typedef struct state {
    group *g;
    int64_t first; /* of this rank's rows */
    layers own;
} state;

static bool make_layers(tdm_queue *queue, int64_t first, layers *l) {
    static const tdm_parameter parameters[] = {TDM_TENSOR("g"), TDM_TENSOR("h")};
    const int64_t zero[2] = {0, 0}, rows[2] = {first, 0};
    tdm_device *device = tdm_queue_get_device(queue);
    return machines_make(queue, TDM_F32, X, rows, (const int64_t[]){l->rows, l->width}, &l->x) &&
           machines_make(queue, TDM_F32, W1, zero, (const int64_t[]){l->inner, l->width}, &l->w1) &&
           machines_make(queue, TDM_F32, W2, zero, (const int64_t[]){l->width, l->inner}, &l->w2) &&
           tdm_empty(queue, TDM_F32, TDM_SHAPE(l->rows, l->inner), &l->hidden) == TDM_OK &&
           tdm_empty(queue, TDM_F32, TDM_SHAPE(l->rows, l->width), &l->y) == TDM_OK &&
           tdm_empty(queue, TDM_F32, TDM_SHAPE(l->rows, l->inner), &l->slope) == TDM_OK &&
           tdm_empty(queue, TDM_F32, TDM_SHAPE(l->inner, l->width), &l->grad1) == TDM_OK &&
           tdm_empty(queue, TDM_F32, TDM_SHAPE(l->width, l->inner), &l->grad2) == TDM_OK &&
           tdm_kernel_elementwise(device, "g = where(h > 0, g, 0)", parameters, 2, &l->masked) ==
               TDM_OK;
}

static void release_layers(layers *l) {
    tdm_tensor *tensors[] = {&l->x, &l->w1,    &l->w2,    &l->hidden,
                             &l->y, &l->slope, &l->grad1, &l->grad2};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
    tdm_kernel_release(l->masked);
}

/* The gradients of the rank's rows, which are divided by the number of all rows. */
static tdm_status run_layers(tdm_queue *queue, layers *l) {
    const tdm_argument mask[] = {TDM_WITH_TENSOR("g", &l->slope), TDM_WITH_TENSOR("h", &l->hidden)};
    tdm_matmul_options gradient = TDM_MATMUL_OPTIONS_DEFAULTS;
    gradient.transpose_a = true;
    gradient.alpha = 1.0 / (double)l->all_rows;
    tdm_status status = tdm_linear(queue, &l->x, &l->w1, NULL, TDM_ACTIVATION_RELU, &l->hidden);
    if (status == TDM_OK)
        status = tdm_linear(queue, &l->hidden, &l->w2, NULL, TDM_ACTIVATION_NONE, &l->y);
    if (status == TDM_OK) status = tdm_matmul(queue, &gradient, &l->y, &l->hidden, &l->grad2);
    if (status == TDM_OK) status = tdm_matmul(queue, NULL, &l->y, &l->w2, &l->slope);
    if (status == TDM_OK) status = tdm_kernel_run(queue, l->masked, mask, 2);
    if (status == TDM_OK) status = tdm_matmul(queue, &gradient, &l->slope, &l->x, &l->grad1);
    return status;
}

static tdm_status call(void *of) {
    state *s = of;
    layers *l = &s->own;
    tdm_status status = run_layers(s->g->queue, l);
    if (status == TDM_OK)
        status = tdm_comm_all_reduce(s->g->comm, s->g->queue, TDM_COMM_SUM, &l->grad2, &l->grad2);
    if (status == TDM_OK)
        status = tdm_comm_all_reduce(s->g->comm, s->g->queue, TDM_COMM_SUM, &l->grad1, &l->grad1);
    return status;
}

/* A row or column of a gradient that is checked, the first and the last of n among them. */
static int64_t place(int64_t n, int i) { return i * (n - 1) / (CHECKED - 1); }

/* Some elements of both gradients, and how far from them the library's may be, squared. */
typedef struct wanted {
    double of1[CHECKED][CHECKED], off1[CHECKED][CHECKED]; /* [inner, width] */
    double of2[CHECKED][CHECKED], off2[CHECKED][CHECKED]; /* [width, inner] */
} wanted;

static double dot(const double *a, const double *b, int64_t n, int64_t step) {
    double sum[4] = {0}; /* each addition waits for the one before it */
    for (int64_t i = 0; i < n; i++)
        sum[i % 4] += a[i] * b[i * step];
    return sum[0] + sum[1] + sum[2] + sum[3];
}
static double length(const double *a, int64_t n, int64_t step) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i * step] * a[i * step];
    return sqrt(sum);
}

static double square(double a) { return a * a; }

static double most(const double *a, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, a[i]);
    return largest;
}

/* The error of rounding k products to f32 and adding them up, of vectors of these lengths. The errors of several values
 * are taken to be independent, so that squares add up. */
static double rounded(int64_t k, double a, double b) {
    return (double)FLT_EPSILON * sqrt((double)k) * a * b;
}

/* The weights in double, and a row on its way. */
typedef struct in_double {
    double *x, *w1, *w2, *before, *hidden, *off_hidden, *y, *off_y; /* before: the ReLU */
    double *long1, *long2;                                          /* the lengths of their rows */
} in_double;

/* One row of y, forward. */
static void forward(const layers *l, in_double *d, int64_t row) {
    for (int64_t i = 0; i < l->width; i++)
        d->x[i] = machines_element(X, row, i);
    const double long_x = length(d->x, l->width, 1);
    for (int64_t k = 0; k < l->inner; k++) {
        d->before[k] = dot(d->x, d->w1 + k * l->width, l->width, 1);
        d->hidden[k] = fmax(d->before[k], 0);
        d->off_hidden[k] = rounded(l->width, long_x, d->long1[k]);
    }
    const double long_hidden = length(d->hidden, l->inner, 1),
                 off_hidden = most(d->off_hidden, l->inner);
    for (int64_t j = 0; j < l->width; j++) {
        d->y[j] = dot(d->hidden, d->w2 + j * l->inner, l->inner, 1);
        d->off_y[j] = rounded(l->inner, long_hidden, d->long2[j]) + off_hidden * d->long2[j];
    }
}

/* Adds the row's part to the elements. */
static void backward(const layers *l, const in_double *d, wanted *w) {
    const double rows = (double)l->all_rows, sum_off = (double)FLT_EPSILON * sqrt(rows);
    const double long_y = length(d->y, l->width, 1), off_y = most(d->off_y, l->width);
    for (int a = 0; a < CHECKED; a++) {
        const int64_t k = place(l->inner, a);
        const double *column = d->w2 + k, long_column = length(column, l->width, l->inner);
        const double full = dot(d->y, column, l->width, l->inner);
        const bool passes = d->hidden[k] > 0, unsure = fabs(d->before[k]) <= d->off_hidden[k];
        const double slope = passes ? full : 0;
        /* near 0 either side of the ReLU may have been taken */
        const double off =
            (passes || unsure ? rounded(l->width, long_y, long_column) + off_y * long_column : 0) +
            (unsure ? fabs(full) : 0);
        for (int b = 0; b < CHECKED; b++) {
            const int64_t i = place(l->width, b);
            w->of1[a][b] += slope * d->x[i] / rows;
            w->off1[a][b] += square((off + sum_off * fabs(slope)) * d->x[i] / rows);
            w->of2[b][a] += d->y[i] * d->hidden[k] / rows;
            w->off2[b][a] += square((fabs(d->y[i]) * d->off_hidden[k] + d->off_y[i] * d->hidden[k] +
                                     sum_off * fabs(d->y[i]) * d->hidden[k]) /
                                    rows);
        }
    }
}

static void free_doubles(in_double *d) {
    double *all[] = {d->x,          d->w1, d->w2,    d->before, d->hidden,
                     d->off_hidden, d->y,  d->off_y, d->long1,  d->long2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Each rank works out its own rows, and MPI adds them up. */
static bool work_out(const state *s, wanted *w) {
    const layers *l = &s->own;
    const int64_t zero[2] = {0, 0}, width = l->width, inner = l->inner;
    const size_t one = sizeof(double);
    in_double d = {.x = calloc((size_t)width, one),
                   .w1 = machines_fill(TDM_F64, W1, zero, (const int64_t[]){inner, width}, false),
                   .w2 = machines_fill(TDM_F64, W2, zero, (const int64_t[]){width, inner}, false),
                   .before = calloc((size_t)inner, one),
                   .hidden = calloc((size_t)inner, one),
                   .off_hidden = calloc((size_t)inner, one),
                   .y = calloc((size_t)width, one),
                   .off_y = calloc((size_t)width, one),
                   .long1 = calloc((size_t)inner, one),
                   .long2 = calloc((size_t)width, one)};
    const bool good = d.x && d.w1 && d.w2 && d.before && d.hidden && d.off_hidden && d.y &&
                      d.off_y && d.long1 && d.long2;
    wanted own = {0};
    for (int64_t k = 0; good && k < inner; k++)
        d.long1[k] = length(d.w1 + k * width, width, 1);
    for (int64_t j = 0; good && j < width; j++)
        d.long2[j] = length(d.w2 + j * inner, inner, 1);
    for (int64_t r = 0; good && r < l->rows; r++) {
        forward(l, &d, s->first + r);
        backward(l, &d, &own);
    }
    free_doubles(&d);
    MPI_Allreduce(&own, w, sizeof own / sizeof(double), MPI_DOUBLE, MPI_SUM, s->g->mpi);
    return good;
}

/* Elements of one gradient, and that all are finite. */
static bool check_one(tdm_queue *queue, tdm_tensor *gradient, double of[CHECKED][CHECKED],
                      double off[CHECKED][CHECKED], double *error, double *bound) {
    const int64_t rows = gradient->shape[0], columns = gradient->shape[1];
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    bool good = values && tdm_to_host(queue, gradient, values) == TDM_OK;
    for (int64_t i = 0; good && i < rows * columns; i++) /* NaN: never written */
        good = isfinite(values[i]);
    for (int a = 0; good && a < CHECKED; a++)
        for (int b = 0; good && b < CHECKED; b++) {
            const double value = (double)values[place(rows, a) * columns + place(columns, b)];
            const double allowed = sqrt(off[a][b]);
            *error = fmax(*error, fabs(value - of[a][b]));
            *bound = fmax(*bound, allowed);
            good = fabs(value - of[a][b]) <= allowed;
        }
    free(values);
    return good && tdm_fill(queue, (double)NAN, gradient) == TDM_OK; /* for the next check */
}

static bool check(void *of, double *error, double *bound) {
    state *s = of;
    layers *l = &s->own;
    wanted w = {0};
    return group_all(s->g, work_out(s, &w)) &&
           check_one(s->g->queue, &l->grad1, w.of1, w.off1, error, bound) &&
           check_one(s->g->queue, &l->grad2, w.of2, w.off2, error, bound);
}

static bool prepare(group *g, work *w) {
    const bench_shape shape = bench_parse_shape(w->shape);
    state *s = w->state;
    layers *l = &s->own;
    s->g = g;
    l->all_rows = shape.extent[0] * (w->weak ? g->size : 1);
    l->width = shape.extent[1];
    l->inner = shape.extent[2];
    w->flops = 10.0 * (double)l->all_rows * (double)l->width * (double)l->inner;
    return tdm_part(l->all_rows, g->size, g->rank, &s->first, &l->rows) == TDM_OK &&
           make_layers(g->queue, s->first, l);
}

static void destroy(void *of) {
    state *s = of;
    release_layers(&s->own);
}

static tdm_status run_alone(tdm_queue *queue, void *of) { return run_layers(queue, of); }

/* All rows in this process. */
static double training_alone(tdm_queue *queue, const one_process_work *of) {
    const bench_shape shape = bench_parse_shape(of->shape);
    layers l = {shape.extent[0], shape.extent[1], shape.extent[2], .all_rows = shape.extent[0]};
    bool good = make_layers(queue, 0, &l);
    const double seconds = good ? one_process_time(queue, of->calls, run_alone, &l) : -1;
    release_layers(&l);
    return seconds;
}

const machines_kind machines_training = {"training", sizeof(state), prepare,       call,
                                         check,      destroy,       training_alone};
