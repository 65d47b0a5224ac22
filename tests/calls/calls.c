/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What an operation asks of the driver once it has run before: for each piece of work one call, and none to
 * change contexts, to make or free anything, or to hand over what has not changed; and of the host no memory,
 * and no lock, which another queue's first call might hold. Prints a table. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "count.h"

enum { ROWS = 6, COLS = 64, LONG = 1 << 16 };

static tdm_device *device;
static tdm_queue *queue;
static int failures;
static bool builtin; /* are the products */

static void check(tdm_status status, const char *what) {
    if (status == TDM_OK) return;
    fprintf(stderr, "calls: %s: %s\n", what, tdm_last_error());
    exit(1);
}

/* --- the library's own memory --------------------------------------------------------------------- */

static atomic_ulong allocations;

static void *allocate(size_t bytes, void *user) {
    (void)user;
    atomic_fetch_add(&allocations, 1);
    return malloc(bytes);
}

static void release(void *pointer, size_t bytes, void *user) {
    (void)bytes;
    (void)user;
    free(pointer);
}

/* --- the library's locks --------------------------------------------------------------------------- */

static atomic_ulong locks;
static pthread_t caller;

/* In place of the C library's for the whole process. Those that drivers take do not count, nor those of the
 * threads that do the work. */
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    Dl_info place;
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        memcpy(&real, &symbol, sizeof symbol);
    }
    if (pthread_equal(pthread_self(), caller) && dladdr(__builtin_return_address(0), &place) != 0 &&
        place.dli_fname && strstr(place.dli_fname, "libtandem"))
        atomic_fetch_add(&locks, 1);
    return real(mutex);
}

/* --- the operations ------------------------------------------------------------------------------- */

/* `y` and its like are there twice, so that an operation can be told another output. */
typedef struct place {
    tdm_tensor x, other, square, weight, bias, channels, row, wide, indices;
    tdm_tensor y[2], sum, norms[2], places[2], columns[2], whole[2], wide_y[2], tall[2], order[2],
        top[2], product[2], narrow[2], long_y[2];
    tdm_generator generator;
} place;

static tdm_tensor make(tdm_dtype dtype, int ndim, const int64_t *shape) {
    tdm_tensor made;
    check(tdm_empty(device, dtype, ndim, shape, &made), "tdm_empty");
    check(tdm_fill(queue, 1, &made), "tdm_fill");
    return made;
}

static place make_place(tdm_dtype dtype) {
    place p = {.x = make(dtype, TDM_SHAPE(ROWS, COLS)),
               .other = make(dtype, TDM_SHAPE(ROWS, COLS)),
               .square = make(dtype, TDM_SHAPE(COLS, COLS)),
               .weight = make(dtype, TDM_SHAPE(COLS)),
               .bias = make(dtype, TDM_SHAPE(COLS)),
               .channels = make(dtype, TDM_SHAPE(COLS)),
               .row = make(dtype, TDM_SHAPE(1, LONG)),
               .wide = make(TDM_F32, TDM_SHAPE(ROWS, COLS)),
               .sum = make(dtype, TDM_SHAPE(ROWS, COLS)),
               .indices = make(TDM_I32, TDM_SHAPE(ROWS)),
               .generator = {.seed = 1}};
    for (int i = 0; i < 2; i++) {
        p.y[i] = make(dtype, TDM_SHAPE(ROWS, COLS));
        p.norms[i] = make(TDM_F32, TDM_SHAPE(ROWS));
        p.whole[i] = make(TDM_F32, TDM_SHAPE(1));
        p.places[i] = make(TDM_I32, TDM_SHAPE(ROWS));
        p.columns[i] = make(dtype, TDM_SHAPE(COLS));
        p.wide_y[i] = make(dtype == TDM_F32 ? TDM_BF16 : TDM_F32, TDM_SHAPE(ROWS, COLS));
        p.tall[i] = make(dtype, TDM_SHAPE(2 * ROWS, COLS));
        p.order[i] = make(TDM_I32, TDM_SHAPE(ROWS, COLS));
        p.top[i] = make(TDM_I32, TDM_SHAPE(ROWS, 2));
        p.product[i] = make(dtype, TDM_SHAPE(COLS, COLS));
        p.narrow[i] = make(dtype, TDM_SHAPE(1, COLS));
        p.long_y[i] = make(dtype, TDM_SHAPE(1, LONG));
    }
    return p;
}

static void free_place(place *p) {
    tdm_tensor *const made[] = {
        &p->indices,   &p->order[0],   &p->order[1],   &p->top[0],     &p->top[1],
        &p->tall[0],   &p->tall[1],    &p->x,          &p->other,      &p->square,
        &p->weight,    &p->bias,       &p->channels,   &p->row,        &p->wide,
        &p->sum,       &p->y[0],       &p->y[1],       &p->norms[0],   &p->norms[1],
        &p->whole[0],  &p->whole[1],   &p->wide_y[0],  &p->wide_y[1],  &p->places[0],
        &p->places[1], &p->columns[0], &p->columns[1], &p->product[0], &p->product[1],
        &p->narrow[0], &p->narrow[1],  &p->long_y[0],  &p->long_y[1]};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tdm_tensor_release(made[i]);
}

/* NAME, pieces of work at most, and with the builtin products, arguments that are another output's, locks,
 * CALL. A product of oneDNN's is looked up under a lock that nobody holds while it makes one. */
#define OPERATIONS(X)                                                                              \
    X(layer_norm, 1, 1, 1, 0, tdm_layer_norm(queue, &p->x, &p->weight, &p->bias, 1e-5, &p->y[to])) \
    X(layer_norm_of_sum, 1, 1, 1, 0,                                                               \
      tdm_layer_norm_residual(queue, &p->x, &p->other, &p->weight, &p->bias, 1e-5, &p->sum,        \
                              &p->y[to]))                                                          \
    X(rms_norm, 1, 1, 1, 0, tdm_rms_norm(queue, &p->x, NULL, &p->weight, 1e-5, NULL, &p->y[to]))   \
    X(rms_norm_of_sum, 1, 1, 1, 0,                                                                 \
      tdm_rms_norm(queue, &p->x, &p->other, &p->weight, 1e-5, &p->sum, &p->y[to]))                 \
    X(batch_norm, 1, 1, 1, 0,                                                                      \
      tdm_batch_norm(queue, &p->x, &p->channels, &p->weight, NULL, NULL, 1e-5, &p->y[to]))         \
    X(softmax, 1, 1, 1, 0, tdm_softmax(queue, &p->x, &p->y[to]))                                   \
    X(softmax_scaled, 1, 1, 1, 0, softmax_scaled(p, to))                                           \
    X(gather_rows, 1, 1, 1, 0, tdm_gather_rows(queue, &p->x, &p->indices, &p->y[to]))              \
    X(one_hot, 1, 1, 1, 0, tdm_one_hot(queue, &p->indices, &p->y[to]))                             \
    X(argsort, 6, 6, 4, 0, tdm_argsort(queue, &p->x, true, &p->order[to]))                         \
    X(top_k, 6, 6, 4, 0, tdm_top_k(queue, &p->x, NULL, &p->top[to]))                               \
    X(scatter_add_rows, 6, 6, 4, 0, tdm_scatter_add_rows(queue, &p->x, &p->indices, &p->y[to]))    \
    X(flip, 1, 1, 1, 0, tdm_flip(queue, &p->x, (const int[]){0, 1}, 2, &p->y[to]))                 \
    X(concat, 2, 2, 2, 0, concat(p, to))                                                           \
    X(l2_normalize, 1, 1, 1, 0, tdm_l2_normalize(queue, &p->x, 1e-12, &p->y[to]))                  \
    X(row_norm, 1, 1, 1, 0, tdm_row_norm(queue, TDM_NORM_L2, &p->x, &p->norms[to]))                \
    X(norm_of_a_long_row, 2, 2, 1, 0, tdm_norm(queue, TDM_NORM_L1, &p->row, &p->whole[to]))        \
    X(sum, 1, 1, 1, 0, tdm_sum(queue, &p->x, (const int[]){1}, 1, &p->norms[to]))                  \
    X(variance_of_columns, 1, 1, 1, 0,                                                             \
      tdm_variance(queue, &p->x, (const int[]){0}, 1, 1, &p->columns[to]))                         \
    X(sum_of_a_long_row, 2, 2, 1, 0, tdm_sum(queue, &p->row, NULL, 0, &p->whole[to]))              \
    X(cumsum, 1, 1, 1, 0, tdm_cumsum(queue, &p->x, 1, &p->y[to]))                                  \
    X(cumsum_of_a_long_row, 2, 2, 1, 0, tdm_cumsum(queue, &p->row, 1, &p->long_y[to]))             \
    X(max, 1, 1, 1, 0, tdm_max(queue, &p->x, (const int[]){0}, 1, &p->columns[to]))                \
    X(argmax, 1, 1, 1, 0, tdm_argmax(queue, &p->x, 1, &p->places[to]))                             \
    X(bias_add, 1, 1, 1, 0,                                                                        \
      tdm_bias_add(queue, &p->x, &p->bias, TDM_ACTIVATION_GELU, &p->other, &p->y[to]))             \
    X(add, 1, 1, 1, 0, tdm_add(queue, &p->x, &p->other, &p->y[to]))                                \
    X(mul_broadcast, 1, 1, 1, 0, tdm_mul(queue, &p->x, &p->bias, &p->y[to]))                       \
    X(scale, 1, 1, 1, 0, tdm_scale(queue, 0.5, &p->x, &p->y[to]))                                  \
    X(axpy, 1, 1, 2, 0, tdm_axpy(queue, 0.5, &p->x, &p->y[to]))                                    \
    X(cast, 1, 1, 1, 0, tdm_cast(queue, &p->x, &p->wide_y[to]))                                    \
    X(exp, 1, 1, 1, 0, tdm_exp(queue, &p->x, &p->y[to]))                                           \
    X(div_broadcast, 1, 1, 1, 0, tdm_div(queue, &p->x, &p->bias, &p->y[to]))                       \
    X(clamp, 1, 1, 1, 0, tdm_clamp(queue, &p->x, 0, 1, &p->y[to]))                                 \
    X(kernel_rows, 1, 1, 1, 0, kernel_rows(p, to))                                                 \
    X(fill, 1, 1, 1, 0, tdm_fill(queue, 2, &p->y[to]))                                             \
    X(fill_range, 1, 1, 1, 0, tdm_fill_range(queue, 0, 1, &p->y[to]))                              \
    X(fill_uniform, 1, 1, 1, 0, uniform(p, to))                                                    \
    X(fill_normal, 1, 1, 1, 0, normal(p, to))                                                      \
    X(buffer_fill, 1, 1, 1, 0, tdm_buffer_fill_async(queue, p->y[to].buffer, 0, 64, "abcd", 4))    \
    X(buffer_copy, 1, 1, 1, 0,                                                                     \
      tdm_buffer_copy_async(queue, p->x.buffer, 0, p->y[to].buffer, 0, 64))                        \
    X(matmul, 1, 1, 1, 1, tdm_matmul(queue, NULL, &p->square, &p->square, &p->product[to]))        \
    X(matmul_narrow, 1, 3, 1, 1,                                                                   \
      tdm_matmul(queue, NULL, &p->narrow[1 - to], &p->square, &p->narrow[to]))                     \
    X(linear, 2, 3, 1, 1,                                                                          \
      tdm_linear(queue, &p->x, &p->square, &p->bias, TDM_ACTIVATION_SILU, &p->y[to]))

static tdm_status softmax_scaled(place *p, int to) {
    tdm_softmax_options options = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    options.scale = 0.5;
    options.mask = &p->bias;
    return tdm_softmax_scaled(queue, &options, &p->x, &p->y[to]);
}

static tdm_kernel *own_kernel; /* over rows */

static tdm_status kernel_rows(place *p, int to) {
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &p->x),
                                      TDM_WITH_TENSOR("y", &p->norms[to])};
    return tdm_kernel_run(queue, own_kernel, arguments, 2);
}

static tdm_status concat(place *p, int to) {
    const tdm_tensor *const tensors[] = {&p->x, &p->other};
    return tdm_concat(queue, tensors, 2, 0, &p->tall[to]);
}

/* Each call the same numbers. */
static tdm_status uniform(place *p, int to) {
    tdm_generator generator = p->generator;
    return tdm_fill_uniform(queue, &generator, 0, 1, &p->y[to]);
}

static tdm_status normal(place *p, int to) {
    tdm_generator generator = p->generator;
    return tdm_fill_normal(queue, &generator, 0, 1, &p->y[to]);
}

#define FUNCTION(name, pieces, builtin, arguments, locks, call)                                    \
    static tdm_status run_##name(place *p, int to) { return call; }
OPERATIONS(FUNCTION)

static const struct operation {
    const char *name;
    unsigned long pieces[2], arguments, locks; /* at most */
    tdm_status (*run)(place *p, int to);
} operations[] = {
#define ROW(name, pieces, builtin, arguments, locks, call)                                         \
    {#name, {pieces, builtin}, arguments, locks, run_##name},
    OPERATIONS(ROW)};

/* --- counting ------------------------------------------------------------------------------------- */

typedef struct counted {
    unsigned long work, arguments, allocations, locks;
    char others[256]; /* what else was called */
} counted;

static counted count(const struct operation *operation, place *p, int to) {
    counted c = {0};
    unsigned long calls = 0;
    check(tdm_queue_finish(queue), "tdm_queue_finish");
    atomic_store(&allocations, 0);
    count_reset();
    atomic_store(&locks, 0);
    check(operation->run(p, to), operation->name);
    c.allocations = atomic_load(&allocations);
    c.locks = atomic_load(&locks);
    for (size_t i = 0;; i++) {
        const char *function = count_called(i, &calls);
        if (!function) return c;
        const size_t length = strlen(c.others);
        if (count_is_work(function))
            c.work += calls;
        else if (count_is_argument(function))
            c.arguments += calls;
        else if (!count_is_free(function))
            snprintf(c.others + length, sizeof c.others - length, " %s", function);
    }
}

static void complain(const struct operation *operation, const char *when, const char *what,
                     unsigned long number) {
    printf("FAILED: %s, %s: %lu %s\n", operation->name, when, number, what);
    failures++;
}

static void look(const struct operation *operation, const char *when, const counted *c,
                 unsigned long pieces, unsigned long arguments) {
    if (c->work == 0 || c->work > pieces) complain(operation, when, "pieces of work", c->work);
    if (c->arguments > arguments) complain(operation, when, "arguments handed over", c->arguments);
    if (c->allocations > 0) complain(operation, when, "pieces of memory", c->allocations);
    if (c->locks > operation->locks) complain(operation, when, "locks taken", c->locks);
    if (!c->others[0]) return;
    printf("FAILED: %s, %s: calls of%s\n", operation->name, when, c->others);
    failures++;
}

static void run_all(tdm_dtype dtype) {
    place p = make_place(dtype);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const struct operation *const operation = &operations[i];
        for (int turn = 0; turn < 4; turn++)
            check(operation->run(&p, turn % 2), operation->name);
        check(operation->run(&p, 0), operation->name);
        const counted same = count(operation, &p, 0), other = count(operation, &p, 1);
        printf("%-20s %-5s pieces of work %lu, arguments %lu, with another output %lu\n",
               operation->name, tdm_dtype_name(dtype), same.work, same.arguments, other.arguments);
        const unsigned long pieces = operation->pieces[builtin];
        /* pieces of one operation may run one kernel, and change each other's arguments */
        look(operation, "the same again", &same, pieces, pieces > 1 ? 6 : 0);
        look(operation, "another output", &other, pieces, pieces > 1 ? 6 : operation->arguments);
    }
    free_place(&p);
}

/* A mapping, and that each side sees what the other wrote. */
static void map(void) {
    tdm_tensor x = make(TDM_F32, 1, (int64_t[]){COLS});
    float *mapped, now[COLS];
    unsigned long calls = 0, work = 0;
    check(tdm_fill(queue, 3, &x), "tdm_fill");
    check(tdm_queue_finish(queue), "tdm_queue_finish");
    count_reset();
    check(tdm_buffer_map(queue, x.buffer, 0, sizeof now, TDM_MAP_READ | TDM_MAP_WRITE,
                         (void **)&mapped),
          "tdm_buffer_map");
    int wrong = 0;
    for (int i = 0; i < COLS; i++) {
        wrong += mapped[i] != 3;
        mapped[i] = (float)i;
    }
    check(tdm_buffer_unmap(queue, x.buffer, mapped), "tdm_buffer_unmap");
    const char *function;
    for (size_t i = 0; (function = count_called(i, &calls)); i++)
        work += count_is_work(function) ? calls : 0;
    check(tdm_add(queue, &x, &x, &x), "tdm_add");
    check(tdm_buffer_read(queue, x.buffer, 0, now, sizeof now), "tdm_buffer_read");
    for (int i = 0; i < COLS; i++)
        wrong += now[i] != (float)(2 * i);
    printf("%-20s pieces of work %lu\n", "map and unmap", work);
    if (work > count_mapping || wrong > 0) {
        printf("FAILED: a mapping: %lu pieces of work, %d wrong elements\n", work, wrong);
        failures++;
    }
    tdm_tensor_release(&x);
}

int main(void) {
    caller = pthread_self();
    const char *blas = getenv("TANDEM_BLAS");
    builtin = blas && strcmp(blas, "builtin") == 0;
    const tdm_allocator counting = {sizeof counting, allocate, release, NULL};
    check(tdm_set_allocator(&counting), "tdm_set_allocator");
    check(tdm_device_open(count_device, &device), "tdm_device_open");
    check(tdm_queue_create(device, 0, &queue), "tdm_queue_create");
    unsigned long calls;
    if (atomic_load(&locks) == 0 || atomic_load(&allocations) == 0 || !count_called(0, &calls)) {
        printf("FAILED: what opening a device takes was not counted\n");
        failures++;
    }
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x * x", .finish = "sqrt(r / n)");
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    check(tdm_kernel_rows(device, &texts, parameters, 2, &own_kernel), "tdm_kernel_rows");
    run_all(TDM_F32);
    run_all(TDM_BF16);
    map();
    tdm_kernel_release(own_kernel);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    if (failures > 0) printf("%d failures\n", failures);
    return failures > 0;
}
