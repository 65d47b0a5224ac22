/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows multiplied by a panel of weights (panels.c). Compiled once per instruction set.
 *
 * A tile of C is held in registers: some rows by two vectors. Each step takes two vectors of the panel and one unit of
 * each row of A (Goto & van de Geijn 2008); a unit is an f32, or two bf16 that AVX512_BF16 multiplies and adds. An
 * element of C is one sum in the order of k, however many rows there are: so a row has the same bits in every batch. */
#include <string.h>

#include "kernels.h"

#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 14 };
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if defined(__AVX2__)
enum { LANES = 8, ROWS = 6 };
#else
enum { LANES = 4, ROWS = 6 };
#endif
#endif
/* Units of a step, bytes of a unit, and how many steps ahead the panel is fetched. */
enum { COLS = 2 * LANES, UNIT = 4, AHEAD = 8 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define BLOCKS JOIN(tdmi_cpu_blocks_, TDMI_ISA)

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4)));
typedef float line[COLS < 16 ? 16 : COLS] __attribute__((aligned(64))); /* whole cache lines */

static void load(const tdmi_cpu_strip *s, bool bf16, float *to, const void *from) {
    if (bf16)
        BLOCKS.load[TDM_BF16](to, from, s->cols);
    else
        memcpy(to, from, s->cols * sizeof(float));
}

/* C = alpha · sums + beta · C + bias, of some rows from `row` on. */
static void finish(const tdmi_cpu_strip *s, bool bf16, int64_t row, int rows, line *sums) {
    line bias = {0}, old = {0};
    if (s->bias) load(s, bf16, bias, s->bias);
    for (int i = 0; i < rows; i++) {
        void *const c = (char *)s->c + (row + i) * s->ldc * (bf16 ? 2 : 4);
        if (s->beta != 0) load(s, bf16, old, c);
        for (int j = 0; j < COLS; j++)
            sums[i][j] = s->alpha * sums[i][j] + s->beta * old[j] + bias[j];
        if (bf16)
            BLOCKS.store[TDM_BF16](c, sums[i], s->cols, false, true);
        else
            memcpy(c, sums[i], s->cols * sizeof(float));
    }
}

/* sum + b · the unit at a. */
ALWAYS_INLINE vector add(vector sum, vector b, const char *a, bool bf16) {
    float x;
    memcpy(&x, a, UNIT);
#if defined(__AVX512F__)
    if (bf16) {
        const vector pair = {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(b), "v"(pair));
        return sum;
    }
#endif
    (void)bf16;
    return sum + x * b;
}

ALWAYS_INLINE void step(vector sums[ROWS][2], int rows, const char *a, int64_t row_bytes,
                        const float *b, bool bf16) {
    const vector left = *(const vector *)b, right = *(const vector *)(b + LANES);
    for (int i = 0; i < COLS; i += 16)
        __builtin_prefetch(b + AHEAD * COLS + i);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        sums[i][0] = add(sums[i][0], left, a + i * row_bytes, bf16);
        sums[i][1] = add(sums[i][1], right, a + i * row_bytes, bf16);
    }
}

ALWAYS_INLINE void tile(const tdmi_cpu_strip *s, int64_t row, int rows, bool bf16) {
    vector sums[ROWS][2];
    const int64_t element = bf16 ? 2 : 4, units = s->k * element / UNIT;
    const char *a = (const char *)s->a + row * s->lda * element;
    const float *b = s->panel;
    for (int i = 0; i < rows; i++)
        sums[i][0] = sums[i][1] = (vector){0};
    for (int64_t l = 0; l < units; l++, a += UNIT, b += COLS)
        step(sums, rows, a, s->lda * element, b, bf16);
    if (bf16 && s->k % 2 != 0) { /* half a unit is left */
        char last[ROWS * UNIT] = {0};
        for (int i = 0; i < rows; i++)
            memcpy(last + i * UNIT, a + i * s->lda * element, 2);
        step(sums, rows, last, UNIT, b, bf16);
    }
    if (!bf16 && s->cols == COLS && s->beta == 0) {
        const vector none = {0}, *const bias = s->bias;
        const vector left = bias ? bias[0] : none, right = bias ? bias[1] : none;
        for (int i = 0; i < rows; i++) {
            vector *const c = (vector *)((float *)s->c + (row + i) * s->ldc);
            c[0] = s->alpha * sums[i][0] + left;
            c[1] = s->alpha * sums[i][1] + right;
        }
        return;
    }
    line out[ROWS];
    for (int i = 0; i < rows; i++) { /* no memcpy, so that gcc keeps the sums in registers */
        *(vector *)out[i] = sums[i][0];
        *(vector *)(out[i] + LANES) = sums[i][1];
    }
    finish(s, bf16, row, rows, out);
}

typedef void tile_function(const tdmi_cpu_strip *strip, int64_t row);

/* The rows are cut into tiles of nearly one height. */
static void strip(const tdmi_cpu_strip *s, tile_function *const *tiles) {
    const int64_t count = (s->m + ROWS - 1) / ROWS;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = s->m * i / count;
        tiles[s->m * (i + 1) / count - row - 1](s, row);
    }
}

#define F32_TILE(rows)                                                                             \
    static void f32_##rows(const tdmi_cpu_strip *s, int64_t row) { tile(s, row, rows, false); }
#define F32_NAME(rows) f32_##rows,
ROW_COUNTS(F32_TILE)
static void strip_f32(const tdmi_cpu_strip *s) {
    static tile_function *const tiles[] = {ROW_COUNTS(F32_NAME)};
    strip(s, tiles);
}

#if defined(__AVX512F__)
#define BF16_TILE(rows)                                                                            \
    static void bf16_##rows(const tdmi_cpu_strip *s, int64_t row) { tile(s, row, rows, true); }
#define BF16_NAME(rows) bf16_##rows,
ROW_COUNTS(BF16_TILE)
static void strip_bf16(const tdmi_cpu_strip *s) {
    static tile_function *const tiles[] = {ROW_COUNTS(BF16_NAME)};
    strip(s, tiles);
}
#define STRIP_BF16 strip_bf16
#else
#define STRIP_BF16 NULL
#endif

const tdmi_cpu_panels JOIN(tdmi_cpu_panels_, TDMI_ISA) = {
    .cols = COLS, .rows = ROWS, .f32 = strip_f32, .bf16 = STRIP_BF16};
