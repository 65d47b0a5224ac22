/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products for the stand-ins of cuBLAS and cuBLASLt, run in the thread of a stream.
 *
 * Blocks of op(A) and op(B) are copied, as f32 or f64, into scratch memory of the call, multiplied
 * there and copied back. The copying is plain code, so that the sanitizers see every element of a
 * device that is read and written, and no other; the multiplication touches scratch alone and is
 * let off, which keeps a build with sanitizers quick. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/values.h"
#include "sim.h"

enum {
    BLOCK = 256,
    COLUMNS = 4 /* multiplied at a time; a block has a multiple of it, the last ones zero */
};

#define SCRATCH_ONLY __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

/* --- types --------------------------------------------------------------------------------------
 */

size_t sim_type_size(cudaDataType type) {
    switch (type) {
    case CUDA_R_64F:
        return sizeof(double);
    case CUDA_R_32F:
        return sizeof(float);
    case CUDA_R_16F:
    case CUDA_R_16BF:
        return sizeof(uint16_t);
    default:
        return 0;
    }
}

size_t sim_matrix_extent(int64_t rows, int64_t cols, int64_t leading, int64_t stride,
                         int64_t batch) {
    if (rows <= 0 || cols <= 0 || batch <= 0) return 0;
    return (size_t)(batch - 1) * (size_t)stride + (size_t)(cols - 1) * (size_t)leading +
           (size_t)rows;
}

static tdm_dtype dtype_of(cudaDataType type) {
    switch (type) {
    case CUDA_R_64F:
        return TDM_F64;
    case CUDA_R_32F:
        return TDM_F32;
    case CUDA_R_16F:
        return TDM_F16;
    default:
        return TDM_BF16;
    }
}

static double load(cudaDataType type, const void *at) { return (double)decode(dtype_of(type), at); }

/* --- blocks -------------------------------------------------------------------------------------
 */

/* Where a block lies in op(A), op(B) or D. */
typedef struct block {
    int64_t row, col;
    int rows, cols;
} block;

/* At most BLOCK neighbouring elements, as f64 or f32. */
static void load_run(cudaDataType type, const char *from, int count, void *to) {
    const size_t size = sim_type_size(type);
    double values[BLOCK];
    if (size > sizeof(uint16_t)) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    decode_run(dtype_of(type), from, (ptrdiff_t)size, count, values);
    for (int i = 0; i < count; i++)
        ((float *)to)[i] = (float)values[i];
}

/* A line becomes row number `row` of a block of `rows` rows. */
static void spread(bool f64, const void *line, int count, void *out, int row, int rows) {
    if (f64)
        for (int j = 0; j < count; j++)
            ((double *)out)[row + j * rows] = ((const double *)line)[j];
    else
        for (int j = 0; j < count; j++)
            ((float *)out)[row + j * rows] = ((const float *)line)[j];
}

/* Copies a block of op(X) to scratch, column by column. */
static void pack(const sim_gemm *gemm, const char *x, bool transpose, int64_t leading, block at,
                 char *out) {
    double line[BLOCK];
    bool f64 = gemm->type == CUDA_R_64F;
    int64_t from = (int64_t)sim_type_size(gemm->type);
    size_t column = (size_t)at.rows * (f64 ? sizeof(double) : sizeof(float));
    for (int j = 0; !transpose && j < at.cols; j++)
        load_run(gemm->type, x + (at.row + (at.col + j) * leading) * from, at.rows,
                 out + (size_t)j * column);
    for (int i = 0; transpose && i < at.rows; i++) {
        load_run(gemm->type, x + (at.col + (at.row + i) * leading) * from, at.cols, line);
        spread(f64, line, at.cols, out, i, at.rows);
    }
    for (int j = at.cols; j % COLUMNS != 0; j++)
        memset(out + (size_t)j * column, 0, column);
}

/* sum += A B of packed blocks. The sums of a block are made apart, so that the rounding errors of a
 * long k stay small. */
#define DEFINE_MULTIPLY(name, real)                                                                \
    SCRATCH_ONLY static void name(int rows, int cols, int depth, const real *restrict a,           \
                                  const real *restrict b, real *restrict sum) {                    \
        real part[COLUMNS][BLOCK];                                                                 \
        for (int j = 0; j < cols; j += COLUMNS) {                                                  \
            memset(part, 0, sizeof part);                                                          \
            const real *b0 = b + j * depth, *b1 = b0 + depth, *b2 = b1 + depth, *b3 = b2 + depth;  \
            for (int p = 0; p < depth; p++) {                                                      \
                const real *column = a + p * rows;                                                 \
                real f0 = b0[p], f1 = b1[p], f2 = b2[p], f3 = b3[p];                               \
                for (int i = 0; i < rows; i++) {                                                   \
                    part[0][i] += column[i] * f0;                                                  \
                    part[1][i] += column[i] * f1;                                                  \
                    part[2][i] += column[i] * f2;                                                  \
                    part[3][i] += column[i] * f3;                                                  \
                }                                                                                  \
            }                                                                                      \
            for (int c = 0; c < COLUMNS; c++)                                                      \
                for (int i = 0; i < rows; i++)                                                     \
                    sum[(j + c) * rows + i] += part[c][i];                                         \
        }                                                                                          \
    }
DEFINE_MULTIPLY(multiply_f32, float)
DEFINE_MULTIPLY(multiply_f64, double)

/* --- the product --------------------------------------------------------------------------------
 */

static double gelu(double x) {
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

/* From the sums of a block to D. */
static void finish(const sim_gemm *gemm, char *d, block at, const void *sum) {
    int64_t size = (int64_t)sim_type_size(gemm->type);
    for (int j = 0; j < at.cols; j++) {
        char *column = d + (at.row + (at.col + j) * gemm->ldd) * size;
        for (int i = 0; i < at.rows; i++) {
            int place = j * at.rows + i;
            double value = gemm->type == CUDA_R_64F ? ((const double *)sum)[place]
                                                    : (double)((const float *)sum)[place];
            value = gemm->alpha == 0 ? 0 : gemm->alpha * value;
            if (gemm->beta != 0) value += gemm->beta * load(gemm->type, column + i * size);
            if (gemm->bias)
                value += load(gemm->type, (const char *)gemm->bias + (at.row + i) * size);
            encode(dtype_of(gemm->type), (long double)(gemm->gelu ? gelu(value) : value),
                   column + i * size);
        }
    }
}

typedef struct scratch {
    char *a, *b, *sum;
    size_t sum_size;
} scratch;

static void run_block(const sim_gemm *gemm, const scratch *room, const char *a, const char *b,
                      char *d, block at) {
    memset(room->sum, 0, room->sum_size);
    int64_t depth = gemm->alpha == 0 ? 0 : gemm->k; /* then A and B are not read */
    for (int64_t p = 0; p < depth; p += BLOCK) {
        int count = depth - p < BLOCK ? (int)(depth - p) : BLOCK;
        pack(gemm, a, gemm->transpose_a, gemm->lda, (block){at.row, p, at.rows, count}, room->a);
        pack(gemm, b, gemm->transpose_b, gemm->ldb, (block){p, at.col, count, at.cols}, room->b);
        if (gemm->type == CUDA_R_64F)
            multiply_f64(at.rows, at.cols, count, (double *)(void *)room->a,
                         (double *)(void *)room->b, (double *)(void *)room->sum);
        else
            multiply_f32(at.rows, at.cols, count, (float *)(void *)room->a,
                         (float *)(void *)room->b, (float *)(void *)room->sum);
    }
    finish(gemm, d, at, room->sum);
}

static void run_matrix(const sim_gemm *gemm, const scratch *room, const char *a, const char *b,
                       char *d) {
    for (int64_t col = 0; col < gemm->n; col += BLOCK)
        for (int64_t row = 0; row < gemm->m; row += BLOCK) {
            block at = {row, col, gemm->m - row < BLOCK ? (int)(gemm->m - row) : BLOCK,
                        gemm->n - col < BLOCK ? (int)(gemm->n - col) : BLOCK};
            run_block(gemm, room, a, b, d, at);
        }
}

static size_t block_length(int64_t length) {
    return length > BLOCK ? BLOCK : ((size_t)length + COLUMNS - 1) / COLUMNS * COLUMNS;
}

void sim_gemm_run(void *opaque) {
    const sim_gemm *gemm = opaque;
    size_t real = gemm->type == CUDA_R_64F ? sizeof(double) : sizeof(float);
    size_t m = block_length(gemm->m), n = block_length(gemm->n), k = block_length(gemm->k);
    char *memory = malloc((m * k + k * n + m * n) * real + 1);
    if (!memory) {
        fprintf(stderr, "the simulated CUDA machine: no memory for a product\n");
        abort();
    }
    scratch room = {.a = memory,
                    .b = memory + m * k * real,
                    .sum = memory + (m * k + k * n) * real,
                    .sum_size = m * n * real};
    int64_t size = (int64_t)sim_type_size(gemm->type);
    for (int64_t i = 0; i < gemm->batch; i++)
        run_matrix(gemm, &room, (const char *)gemm->a + i * gemm->a_stride * size,
                   (const char *)gemm->b + i * gemm->b_stride * size,
                   (char *)gemm->d + i * gemm->d_stride * size);
    free(memory);
}
