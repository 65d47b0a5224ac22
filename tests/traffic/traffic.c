/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs operations on rows, once each, and prints before each the least that its kernels have to load and store:
 * "== NAME LOADS STORES LAUNCHES", the first two in bytes; without a name the following work does not count.
 * traffic.sh compares that with what Oclgrind counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "operations/list.h"

/* A row has chunks of CHUNK bytes, and of several ones a norm and a reduction come to two launches. */
enum { ROWS = 3, MOST_COLS = 20000, CHUNK = 32 << 10 };

static tdm_device *device;
static tdm_queue *queue;

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "traffic: %s\n", tdm_last_error());
    exit(1);
}

/* Elements between 1 and 2: no squares vanish, and no row is gone through again. */
static tdm_tensor make(tdm_dtype dtype, int ndim, const int64_t *shape) {
    static float values[ROWS * MOST_COLS];
    unsigned state = 1;
    tdm_tensor wide, tensor;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = 1.0f + (float)(state >> 8) / 16777216.0f;
    }
    check(tdm_from_host(queue, values, TDM_F32, ndim, shape, &wide));
    if (dtype == TDM_F32) return wide;
    check(tdm_empty(queue, dtype, ndim, shape, &tensor));
    check(tdm_cast(queue, &wide, &tensor));
    check(tdm_queue_finish(queue));
    tdm_tensor_release(&wide);
    return tensor;
}

static void announce(const char *name, tdm_dtype dtype, int64_t cols, int64_t loads, int64_t stores,
                     int64_t launches) {
    printf("== %s,%s,%lld %lld %lld %lld\n", name, tdm_dtype_name(dtype), (long long)cols,
           (long long)loads, (long long)stores, (long long)launches);
}

/* The lanes of a row, each of which reads an element for itself that all need. */
static int64_t lanes_of(int64_t bytes) {
    enum { LEAST = 32, MOST = 256, BYTES = 4 * 16 };
    int64_t lanes = LEAST;
    while (lanes < MOST && lanes * BYTES < bytes)
        lanes *= 2;
    return lanes;
}

/* Bytes that a call loads, by its page. Rows that are too long to be held are cut: each of two launches may read them,
 * and the second one the numbers that lanes of the first kept of chunks, one of it for each result. Each lane reads the
 * centre of a row for itself. */
static int64_t loads_of(const op_case *c, bool held) {
    const int64_t size = (int64_t)tdm_dtype_size(c->dtype), row = op_cols(c) * size;
    const int64_t lanes = lanes_of(row), chunks = (row + CHUNK - 1) / CHUNK;
    const int64_t times = held || c->op->unit == OP_BY_ELEMENT ? 1 : c->op->long_rows.reads;
    bool leaves_rows = false;
    int64_t loads = 0;
    for (int i = 0; i < OP_OPERANDS; i++) {
        const op_operand *const operand = &c->op->operand[i];
        leaves_rows = leaves_rows || ((operand->role & OP_OUT) && operand->extent == OP_ALL);
        if (!(c->given & OP_BIT(i)) || !(operand->role & OP_IN)) continue;
        loads += ROWS * row * (operand->extent == OP_ALL ? times : 1);
        if (operand->extent == OP_ALL)
            loads += ROWS * chunks * lanes * c->op->long_rows.again * size;
    }
    if (held) return loads;
    const int64_t kept = ROWS * chunks * lanes * c->op->long_rows.kept * (int64_t)sizeof(float);
    return loads + kept * (leaves_rows ? chunks : 1);
}

static void run(const char *name, tdm_dtype dtype, int64_t cols, bool held) {
    const operation *const op = op_named(name);
    const op_case c = {.op = op,
                       .dtype = dtype,
                       .ndim = 2,
                       .shape = {ROWS, cols},
                       .given = op_usual(op),
                       .number = op->number.usual};
    tdm_tensor made[OP_OPERANDS] = {{0}}, *t[OP_OPERANDS] = {NULL};
    int64_t stores = 0;
    printf("==\n"); /* output after it does not count */
    for (int i = 0; i < OP_OPERANDS; i++) {
        if (!(c.given & OP_BIT(i))) continue;
        int64_t shape[TDM_MAX_DIMS];
        const int ndim = op_shape(&c, i, shape);
        made[i] = make(op_dtype_of(&c, i), ndim, shape);
        t[i] = &made[i];
        if (op->operand[i].role & OP_OUT)
            stores += tdm_tensor_get_count(t[i]) * (int64_t)tdm_dtype_size(made[i].dtype);
    }
    announce(name, dtype, cols, loads_of(&c, held), stores,
             held || op->unit == OP_BY_ELEMENT ? 1 : 2);
    check(op->call(&c, queue, t));
    check(tdm_queue_finish(queue));
    for (int i = 0; i < OP_OPERANDS; i++)
        tdm_tensor_release(&made[i]);
}

/* Rows of so many columns that are read once, or, when they are too long to be held, cut. Of the forms of one function,
 * which differ in the text of their kernels, the first. */
static void run_rows(tdm_dtype dtype, int64_t cols, bool held) {
    const operation *op, *last = NULL;
    for (size_t i = 0; (op = op_at(i)); last = op, i++) {
        const bool is_first = !last || strcmp(last->function, op->function) != 0;
        if (!is_first || op->makes_kernel || op->unit == OP_WHOLE) continue;
        if (op->long_rows.reads < (op->unit == OP_BY_ELEMENT ? 0 : 1)) continue;
        run(op->name, dtype, cols, held);
    }
}

/* A transposed copy, in tiles that the matrix does not fill. */
static void run_transposed(tdm_dtype dtype) {
    enum { N = 100, M = 150 };
    const int64_t all = (int64_t)N * M * (int64_t)tdm_dtype_size(dtype);
    printf("==\n");
    tdm_tensor x, y;
    check(tdm_empty(queue, dtype, TDM_SHAPE(N, M), &x));
    check(tdm_empty(queue, dtype, TDM_SHAPE(M, N), &y));
    check(tdm_fill(queue, 1, &x));
    check(tdm_queue_finish(queue));
    tdm_tensor turned;
    check(tdm_tensor_transpose(&x, 0, 1, &turned));
    announce("transposed", dtype, N, all, all, 1);
    check(tdm_cast(queue, &turned, &y));
    check(tdm_queue_finish(queue));
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

/* Attention of blocks of 64 queries and as many keys: a block reads its queries for each block of keys, and the keys
 * and values that one of its queries counts once. Scores are never in memory. */
static void run_attention(tdm_dtype dtype, bool causal) {
    enum { HEADS = 2, TOKENS = 150, COLS = 40, BLOCK = 64 };
    const int64_t row = COLS * (int64_t)tdm_dtype_size(dtype);
    tdm_attention_options o = TDM_ATTENTION_OPTIONS_DEFAULTS;
    int64_t loads = 0;
    o.causal = causal;
    for (int64_t first = 0; first < TOKENS; first += BLOCK) {
        const int64_t end = first + BLOCK < TOKENS ? first + BLOCK : TOKENS;
        const int64_t keys = causal ? end : TOKENS, times = (keys + BLOCK - 1) / BLOCK;
        loads += HEADS * row * (times * (end - first) + 2 * keys);
    }
    printf("==\n");
    tdm_tensor x = make(dtype, 3, (const int64_t[]){HEADS, TOKENS, COLS}), y;
    check(tdm_empty(queue, dtype, TDM_SHAPE(HEADS, TOKENS, COLS), &y));
    announce(causal ? "attention,causal" : "attention", dtype, COLS, loads, HEADS * TOKENS * row,
             1);
    check(tdm_attention(queue, &o, &x, &x, &x, &y));
    check(tdm_queue_finish(queue));
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(tdm_device_open("opencl", &device));
    check(tdm_queue_create(device, 0, &queue));
    run_rows(TDM_F32, 64, true);
    run_rows(TDM_F32, 772, true); /* vectors that not all lanes have */
    run_rows(TDM_F32, 8192, true);
    run_rows(TDM_F32, 12000, false);
    run_rows(TDM_F16, 1000, true);
    run_rows(TDM_F16, 16384, true);
    run_rows(TDM_BF16, 16384, true);
    run_rows(TDM_BF16, 20000, false);
    const tdm_dtype moved[] = {TDM_U8, TDM_F16, TDM_F32, TDM_F64};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        run_transposed(moved[i]);
    run_attention(TDM_F32, false);
    run_attention(TDM_F16, true);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
