/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs each operation on rows, once, and says before what its kernels have to load and store at least:
 * "== NAME LOADS STORES LAUNCHES", the first two in bytes; without a name what follows does not count. traffic.sh
 * compares that with what Oclgrind counts. */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

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
static tdm_tensor make(tdm_dtype dtype, int64_t rows, int64_t cols) {
    static float values[ROWS * MOST_COLS];
    unsigned state = 1;
    for (int64_t i = 0; i < rows * cols; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = 1.0f + (float)(state >> 8) / 16777216.0f;
    }
    tdm_tensor wide, tensor;
    check(tdm_from_host(queue, values, TDM_F32, TDM_SHAPE(rows, cols), &wide));
    if (dtype == TDM_F32) return wide;
    check(tdm_empty(device, dtype, TDM_SHAPE(rows, cols), &tensor));
    check(tdm_cast(queue, &wide, &tensor));
    check(tdm_queue_finish(queue));
    tdm_tensor_release(&wide);
    return tensor;
}

static void announce(const char *operation, tdm_dtype dtype, int64_t cols, int64_t loads,
                     int64_t stores, int64_t launches) {
    printf("== %s,%s,%lld %lld %lld %lld\n", operation, tdm_dtype_name(dtype), (long long)cols,
           (long long)loads, (long long)stores, (long long)launches);
}

static void finish(tdm_status status) {
    check(status);
    check(tdm_queue_finish(queue));
}

/* The lanes of a row, each of which reads an element for itself that all need. */
static int64_t lanes_of(int64_t bytes) {
    enum { LEAST = 32, MOST = 256, BYTES = 4 * 16 };
    int64_t lanes = LEAST;
    while (lanes < MOST && lanes * BYTES < bytes)
        lanes *= 2;
    return lanes;
}

/* Rows of so many columns that are read once, or, when they are too long to be held, twice: then they are cut,
 * each of two launches reads them, and the second one the states that the first left of chunks, one to a piece. */
static void run_rows(tdm_dtype dtype, int64_t cols, bool held) {
    const int64_t size = (int64_t)tdm_dtype_size(dtype), row = cols * size, all = ROWS * row;
    const int64_t passes = held ? 1 : 2, lanes = lanes_of(row), chunks = (row + CHUNK - 1) / CHUNK;
    const int64_t left = held ? 0 : ROWS * chunks * lanes * (int64_t)sizeof(float);
    const int64_t pivots = ROWS * chunks * lanes * 3 * size;
    printf("==\n"); /* what follows does not count */
    tdm_tensor x = make(dtype, ROWS, cols), y = make(dtype, ROWS, cols);
    tdm_tensor residual = make(dtype, ROWS, cols), sum = make(dtype, ROWS, cols);
    tdm_tensor weight_row = make(dtype, 1, cols), bias_row = make(dtype, 1, cols);
    tdm_tensor weight = tdm_tensor_1d(weight_row.buffer, dtype, cols);
    tdm_tensor bias = tdm_tensor_1d(bias_row.buffer, dtype, cols);
    tdm_tensor norms = make(TDM_F32, 1, ROWS);
    tdm_tensor norm = tdm_tensor_1d(norms.buffer, TDM_F32, ROWS);
    const int columns = 1;
    tdm_tensor all_rows = make(dtype, 1, ROWS);
    tdm_tensor of_rows = tdm_tensor_1d(all_rows.buffer, dtype, ROWS);
    tdm_tensor f32 = make(TDM_F32, ROWS, cols);

    /* three elements of each chunk more, the pivot's, or of a sum six */
    announce("layer_norm", dtype, cols, passes * all + 2 * all + pivots + chunks * left * 5, all,
             passes);
    finish(tdm_layer_norm(queue, &x, &weight, &bias, 1e-5, &y));
    announce("layer_norm_of_sum", dtype, cols,
             2 * passes * all + 2 * all + 2 * pivots + chunks * left * 5, 2 * all, passes);
    finish(tdm_layer_norm_residual(queue, &x, &residual, &weight, &bias, 1e-5, &sum, &y));
    announce("rms_norm", dtype, cols, passes * all + all + chunks * left * 2, all, passes);
    finish(tdm_rms_norm(queue, &x, NULL, &weight, 1e-5, NULL, &y));
    announce("rms_norm_of_sum", dtype, cols, 2 * passes * all + all + chunks * left * 2, 2 * all,
             passes);
    finish(tdm_rms_norm(queue, &x, &residual, &weight, 1e-5, &sum, &y));
    /* a chunk for its largest element and, from the cache, for its sum */
    announce("softmax", dtype, cols, (held ? 1 : 3) * all + chunks * left * 2, all, passes);
    finish(tdm_softmax(queue, &x, &y));
    announce("l2_normalize", dtype, cols, passes * all + chunks * left * 2, all, passes);
    finish(tdm_l2_normalize(queue, &x, 1e-12, &y));
    announce("row_norm", dtype, cols, all + left * 2, ROWS * (int64_t)sizeof(float), passes);
    finish(tdm_row_norm(queue, TDM_NORM_L2, &x, &norm));
    announce("sum", dtype, cols, all, ROWS * size, passes);
    finish(tdm_sum(queue, &x, &columns, 1, &of_rows));
    announce("max", dtype, cols, all, ROWS * size, passes);
    finish(tdm_max(queue, &x, &columns, 1, &of_rows));
    announce("bias_add", dtype, cols, 2 * all, all, 1);
    finish(tdm_bias_add(queue, &x, &bias, TDM_ACTIVATION_GELU, NULL, &y));
    announce("add", dtype, cols, 2 * all, all, 1);
    finish(tdm_add(queue, &x, &residual, &y));
    announce("scale", dtype, cols, all, all, 1);
    finish(tdm_scale(queue, 0.5, &x, &y));
    announce("fill", dtype, cols, 0, all, 1);
    finish(tdm_fill(queue, 1, &y));
    if (dtype != TDM_F32) {
        const int64_t wide = ROWS * cols * (int64_t)sizeof(float);
        announce("cast_to_f32", dtype, cols, all, wide, 1);
        finish(tdm_cast(queue, &x, &f32));
        announce("cast_from_f32", dtype, cols, wide, all, 1);
        finish(tdm_cast(queue, &f32, &y));
    }
    tdm_tensor *const made[] = {&x,        &y,     &residual, &sum, &weight_row,
                                &bias_row, &norms, &all_rows, &f32};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tdm_tensor_release(made[i]);
}

/* A transposed copy, in tiles that the matrix does not fill. */
static void run_transposed(tdm_dtype dtype) {
    enum { N = 100, M = 150 };
    const int64_t all = (int64_t)N * M * (int64_t)tdm_dtype_size(dtype);
    printf("==\n");
    tdm_tensor x, y;
    check(tdm_empty(device, dtype, TDM_SHAPE(N, M), &x));
    check(tdm_empty(device, dtype, TDM_SHAPE(M, N), &y));
    finish(tdm_fill(queue, 1, &x));
    tdm_tensor turned;
    check(tdm_tensor_transpose(&x, 0, 1, &turned));
    announce("transposed", dtype, N, all, all, 1);
    finish(tdm_cast(queue, &turned, &y));
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
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}
