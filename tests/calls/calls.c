/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts an operation's calls of the driver once it has run before: one for each piece of work, and none to
 * change contexts, to make or free anything, or to pass arguments that have not changed. Nor does it allocate host
 * memory, or take a lock that another queue's first call might hold. Prints a table. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "count.h"
#include "operations/list.h"

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

/* --- operations that have a page -------------------------------------------------------------------- */

/* A call that is counted. The last output is there twice, so that an operation can be given another one. */
typedef struct counted_call {
    char name[48];
    unsigned long pieces, arguments,
        locks; /* at most; arguments are those that are another output's */
    tdm_status (*run)(const struct counted_call *call, int to);
    op_case c;
    tdm_tensor operand[OP_OPERANDS], other;
    int output;
} counted_call;

static tdm_tensor make(tdm_dtype dtype, int ndim, const int64_t *shape) {
    tdm_tensor made;
    check(tdm_empty(queue, dtype, ndim, shape, &made), "tdm_empty");
    check(tdm_fill(queue, 1, &made), "tdm_fill");
    return made;
}

static tdm_status run_page(const counted_call *call, int to) {
    tdm_tensor *t[OP_OPERANDS] = {NULL}, copies[OP_OPERANDS];
    for (int i = 0; i < OP_OPERANDS; i++) {
        if (!call->c.op->operand[i].name) continue;
        copies[i] = to && i == call->output ? call->other : call->operand[i];
        t[i] = &copies[i];
    }
    return call->c.op->call(&call->c, queue, t);
}

static counted_call make_call(const operation *op, tdm_dtype dtype, int64_t rows, int64_t cols) {
    counted_call call = {.pieces = 1, .arguments = 1, .run = run_page};
    call.c = (op_case){.op = op,
                       .dtype = dtype,
                       .ndim = 2,
                       .shape = {rows, cols},
                       .given = op_all(op),
                       .number = op->number.usual};
    snprintf(call.name, sizeof call.name, "%s%s", op->name, rows == 1 ? ", long" : "");
    for (int i = 0; i < OP_OPERANDS; i++) {
        if (!op->operand[i].name) continue;
        int64_t shape[TDM_MAX_DIMS];
        const int ndim = op_shape(&call.c, i, shape);
        call.operand[i] = make(op_dtype_of(&call.c, i), ndim, shape);
        if (!(op->operand[i].role & OP_OUT)) continue;
        call.output = i;
        tdm_tensor_release(&call.other);
        call.other = make(op_dtype_of(&call.c, i), ndim, shape);
        if (op->operand[i].role & OP_IN) call.arguments = 2;
    }
    return call;
}

static void release_call(counted_call *call) {
    for (int i = 0; i < OP_OPERANDS; i++)
        tdm_tensor_release(&call->operand[i]);
    tdm_tensor_release(&call->other);
}

/* --- and others ------------------------------------------------------------------------------------- */

typedef struct place {
    tdm_tensor x, other, square, bias, indices;
    tdm_tensor y[2], norms[2], tall[2], order[2], top[2], product[2], narrow[2];
} place;

static place p;

static void make_place(tdm_dtype dtype) {
    p = (place){.x = make(dtype, TDM_SHAPE(ROWS, COLS)),
                .other = make(dtype, TDM_SHAPE(ROWS, COLS)),
                .square = make(dtype, TDM_SHAPE(COLS, COLS)),
                .bias = make(dtype, TDM_SHAPE(COLS)),
                .indices = make(TDM_I32, TDM_SHAPE(ROWS))};
    for (int i = 0; i < 2; i++) {
        p.y[i] = make(dtype, TDM_SHAPE(ROWS, COLS));
        p.norms[i] = make(TDM_F32, TDM_SHAPE(ROWS));
        p.tall[i] = make(dtype, TDM_SHAPE(2 * ROWS, COLS));
        p.order[i] = make(TDM_I32, TDM_SHAPE(ROWS, COLS));
        p.top[i] = make(TDM_I32, TDM_SHAPE(ROWS, 2));
        p.product[i] = make(dtype, TDM_SHAPE(COLS, COLS));
        p.narrow[i] = make(dtype, TDM_SHAPE(1, COLS));
    }
}

static void free_place(void) {
    tdm_tensor *const made[] = {&p.x, &p.other, &p.square, &p.bias, &p.indices};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tdm_tensor_release(made[i]);
    for (int i = 0; i < 2; i++) {
        tdm_tensor *const pairs[] = {&p.y[i],   &p.norms[i],   &p.tall[i],  &p.order[i],
                                     &p.top[i], &p.product[i], &p.narrow[i]};
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            tdm_tensor_release(pairs[k]);
    }
}

/* NAME, pieces of work at most, and with the builtin products, arguments that are another output's, CALL. */
#define OPERATIONS(X)                                                                              \
    X(gather_rows, 1, 1, 1, tdm_gather_rows(queue, &p.x, &p.indices, &p.y[to]))                    \
    X(one_hot, 1, 1, 1, tdm_one_hot(queue, &p.indices, &p.y[to]))                                  \
    X(argsort, 6, 6, 4, tdm_argsort(queue, &p.x, true, &p.order[to]))                              \
    X(top_k, 6, 6, 4, tdm_top_k(queue, &p.x, NULL, &p.top[to]))                                    \
    X(scatter_add_rows, 6, 6, 4, tdm_scatter_add_rows(queue, &p.x, &p.indices, &p.y[to]))          \
    X(attention, 1, 1, 1, attention(to))                                                           \
    X(flip, 1, 1, 1, tdm_flip(queue, &p.x, (const int[]){0, 1}, 2, &p.y[to]))                      \
    X(concat, 2, 2, 2, concat(to))                                                                 \
    X(mul_broadcast, 1, 1, 1, tdm_mul(queue, &p.x, &p.bias, &p.y[to]))                             \
    X(div_broadcast, 1, 1, 1, tdm_div(queue, &p.x, &p.bias, &p.y[to]))                             \
    X(clamp, 1, 1, 1, tdm_clamp(queue, &p.x, 0, 1, &p.y[to]))                                      \
    X(kernel_rows, 1, 1, 1, kernel_rows(to))                                                       \
    X(fill_range, 1, 1, 1, tdm_fill_range(queue, 0, 1, &p.y[to]))                                  \
    X(buffer_fill, 1, 1, 1, tdm_buffer_fill_async(queue, p.y[to].buffer, 0, 64, "abcd", 4))        \
    X(buffer_copy, 1, 1, 1, tdm_buffer_copy_async(queue, p.x.buffer, 0, p.y[to].buffer, 0, 64))    \
    X(matmul, 1, 1, 1, tdm_matmul(queue, NULL, &p.square, &p.square, &p.product[to]))              \
    X(matmul_narrow, 1, 3, 1,                                                                      \
      tdm_matmul(queue, NULL, &p.narrow[1 - to], &p.square, &p.narrow[to]))                        \
    X(linear, 2, 4, 1, tdm_linear(queue, &p.x, &p.square, &p.bias, TDM_ACTIVATION_SILU, &p.y[to]))

static tdm_kernel *own_kernel; /* over rows */

static tdm_status kernel_rows(int to) {
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &p.x),
                                      TDM_WITH_TENSOR("y", &p.norms[to])};
    return tdm_kernel_run(queue, own_kernel, arguments, 2);
}

/* Of one head, whose rows are those of x. */
static tdm_status attention(int to) {
    tdm_tensor heads[4] = {p.x, p.other, p.x, p.y[to]};
    const int64_t shape[] = {1, ROWS, COLS}, strides[] = {0, COLS, 1};
    for (int i = 0; i < 4; i++) {
        heads[i].ndim = 3;
        memcpy(heads[i].shape, shape, sizeof shape);
        memcpy(heads[i].strides, strides, sizeof strides);
    }
    return tdm_attention(queue, NULL, &heads[0], &heads[1], &heads[2], &heads[3]);
}

static tdm_status concat(int to) {
    const tdm_tensor *const tensors[] = {&p.x, &p.other};
    return tdm_concat(queue, tensors, 2, 0, &p.tall[to]);
}

#define FUNCTION(name, pieces, builtin, arguments, call)                                           \
    static tdm_status run_##name(const counted_call *counted, int to) {                            \
        (void)counted;                                                                             \
        return call;                                                                               \
    }
OPERATIONS(FUNCTION)

/* A product of oneDNN's is looked up under a lock that no thread holds while it makes one. */
static const struct {
    counted_call call;
    unsigned long builtin; /* pieces */
} others[] = {
#define ROW(title, count, with_builtin, handed_over, call)                                         \
    {{.name = #title, .pieces = count, .arguments = handed_over, .run = run_##title}, with_builtin},
    OPERATIONS(ROW)};

/* --- counting ------------------------------------------------------------------------------------- */

typedef struct counted {
    unsigned long work, arguments, allocations, locks;
    char others[256]; /* other calls */
} counted;

static counted count(const counted_call *call, int to) {
    counted c = {0};
    unsigned long calls = 0;
    check(tdm_queue_finish(queue), "tdm_queue_finish");
    atomic_store(&allocations, 0);
    count_reset();
    atomic_store(&locks, 0);
    check(call->run(call, to), call->name);
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

static void complain(const counted_call *call, const char *when, const char *what,
                     unsigned long number) {
    printf("FAILED: %s, %s: %lu %s\n", call->name, when, number, what);
    failures++;
}

static void look(const counted_call *call, const char *when, const counted *c,
                 unsigned long arguments) {
    if (c->work == 0 || c->work > call->pieces) complain(call, when, "pieces of work", c->work);
    if (c->arguments > arguments) complain(call, when, "arguments handed over", c->arguments);
    if (c->allocations > 0) complain(call, when, "pieces of memory", c->allocations);
    if (c->locks > call->locks) complain(call, when, "locks taken", c->locks);
    if (!c->others[0]) return;
    printf("FAILED: %s, %s: calls of%s\n", call->name, when, c->others);
    failures++;
}

static void count_call(const counted_call *call, tdm_dtype dtype) {
    for (int turn = 0; turn < 4; turn++)
        check(call->run(call, turn % 2), call->name);
    check(call->run(call, 0), call->name);
    const counted same = count(call, 0), other = count(call, 1);
    printf("%-20s %-5s pieces of work %lu, arguments %lu, with another output %lu\n", call->name,
           tdm_dtype_name(dtype), same.work, same.arguments, other.arguments);
    /* pieces of one operation may run one kernel, and change each other's arguments */
    look(call, "the same again", &same, call->pieces > 1 ? 6 : 0);
    look(call, "another output", &other, call->pieces > 1 ? 6 : call->arguments);
}

/* In rows that are held, and in one so long that it may be two pieces of work. Forms of one function, and expressions,
 * differ in nothing but the text of their kernels: of these some, in one dtype. */
static void run_pages(tdm_dtype dtype) {
    const operation *op, *last = NULL;
    for (size_t i = 0; (op = op_at(i)); last = op, i++) {
        const bool is_first = !last || strcmp(last->function, op->function) != 0;
        if (op->makes_kernel ? i % 12 != 0 : !is_first && dtype != TDM_F32) continue;
        counted_call call = make_call(op, dtype, ROWS, COLS);
        count_call(&call, dtype);
        release_call(&call);
        if (op->unit == OP_BY_ELEMENT || op->unit == OP_BY_COLUMN || !is_first || dtype != TDM_F32)
            continue;
        call = make_call(op, dtype, 1, LONG);
        call.pieces = 2;
        count_call(&call, dtype);
        release_call(&call);
    }
}

static void run_others(tdm_dtype dtype) {
    make_place(dtype);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        counted_call call = others[i].call;
        if (builtin) call.pieces = others[i].builtin;
        if (strstr(call.name, "matmul") || strstr(call.name, "linear")) call.locks = 1;
        count_call(&call, dtype);
    }
    free_place();
}

/* A mapping, through which each side sees the other's writes. */
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
    const tdm_dtype counted_dtypes[] = {TDM_F32, TDM_BF16};
    for (int d = 0; d < 2; d++) {
        if (!builtin) run_pages(counted_dtypes[d]); /* products are others */
        run_others(counted_dtypes[d]);
    }
    map();
    tdm_kernel_release(own_kernel);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    if (failures > 0) printf("%d failures\n", failures);
    return failures > 0;
}
