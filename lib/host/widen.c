/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of 16-bit matrices by a library that has them in f32. */
#include "host/widen.h"

#include "host/kernels.h"

/* The largest blocks. So few of k, that what was converted is in the cache yet when the library packs it;
 * enough rows and columns for packing to cost little compared with multiplying. */
enum { MOST_ROWS = 768, MOST_COLS = 768, MOST_OF_K = 384 };

bool tdmi_host_widens(const tdmi_host_blas *blas, const tdmi_gemm *gemm) {
    tdmi_gemm wide = *gemm;
    wide.dtype = TDM_F32;
    return (gemm->dtype == TDM_F16 || gemm->dtype == TDM_BF16) && tdmi_host_kernels() &&
           blas->supports(&wide);
}

typedef struct blocks {
    const tdmi_host_blas *blas;
    const tdmi_host_gemm *part;
    int64_t k; /* of a block */
    float *a, *b, *c, *bias;
} blocks;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* An extent cut into blocks of one size, `most` at most. */
static int64_t block_of(int64_t extent, int64_t most) {
    const int64_t count = (extent + most - 1) / most;
    return (extent + count - 1) / count;
}

/* The block of rows x cols at (row, col) of a 16-bit matrix, converted. */
static void load(const blocks *w, const void *from, int64_t ld, int64_t row, int64_t col,
                 int64_t rows, int64_t cols, float *to) {
    const tdm_dtype dtype = w->part->dtype;
    const char *data = (const char *)from + (row * ld + col) * (int64_t)tdm_dtype_size(dtype);
    tdmi_host_convert(rows, cols, (tdmi_host_matrix){dtype, data, ld},
                      (tdmi_host_matrix){TDM_F32, to, cols});
}

/* Bias and activation of a block of C, which is rounded once. */
static void store(const blocks *w, int64_t row, int64_t col, int64_t m, int64_t n) {
    const tdmi_host_gemm *part = w->part;
    const tdmi_host_matrix block = {TDM_F32, w->c, n};
    if (part->bias) load(w, part->bias, part->n, 0, col, 1, n, w->bias);
    if (part->bias || part->activation != TDM_ACTIVATION_NONE)
        tdmi_host_epilogue(m, n, block, part->bias ? w->bias : NULL, part->activation);
    char *c = (char *)part->c + (row * part->ldc + col) * (int64_t)tdm_dtype_size(part->dtype);
    tdmi_host_convert(m, n, block, (tdmi_host_matrix){part->dtype, c, part->ldc});
}

/* One block of C: the products of a row of A's blocks with a column of B's, summed in f32. */
static bool multiply_block(const blocks *w, int64_t row, int64_t col, int64_t m, int64_t n) {
    const tdmi_host_gemm *part = w->part;
    bool done = true;
    if (part->beta != 0) load(w, part->c, part->ldc, row, col, m, n, w->c);
    for (int64_t at = 0; at < part->k && done; at += w->k) {
        const int64_t k = least(w->k, part->k - at);
        if (part->transpose_a)
            load(w, part->a, part->lda, at, row, k, m, w->a);
        else
            load(w, part->a, part->lda, row, at, m, k, w->a);
        if (part->transpose_b)
            load(w, part->b, part->ldb, col, at, n, k, w->b);
        else
            load(w, part->b, part->ldb, at, col, k, n, w->b);
        const tdmi_host_gemm block = {
            .dtype = TDM_F32,
            .transpose_a = part->transpose_a,
            .transpose_b = part->transpose_b,
            .m = m,
            .n = n,
            .k = k,
            .alpha = part->alpha,
            .beta = at == 0 ? part->beta : 1,
            .a = w->a,
            .b = w->b,
            .c = w->c,
            .lda = part->transpose_a ? m : k,
            .ldb = part->transpose_b ? k : n,
            .ldc = n,
        };
        done = w->blas->product(&block, NULL);
    }
    if (done) store(w, row, col, m, n);
    return done;
}

bool tdmi_host_product_widened(const tdmi_host_blas *blas, const tdmi_host_gemm *part) {
    const int64_t m = block_of(part->m, MOST_ROWS), n = block_of(part->n, MOST_COLS);
    const int64_t k = block_of(part->k, MOST_OF_K);
    /* whole cache lines, so that each begins at one */
    const int64_t a = (m * k + 15) / 16 * 16, b = (k * n + 15) / 16 * 16;
    const int64_t c = (m * n + 15) / 16 * 16;
    size_t room;
    float *scratch = tdmi_host_scratch_take((size_t)(a + b + c + n) * sizeof *scratch, &room);
    if (!scratch) return false;
    const blocks w = {blas, part, k, scratch, scratch + a, scratch + a + b, scratch + a + b + c};
    bool done = true;
    for (int64_t col = 0; col < part->n && done; col += n)
        for (int64_t row = 0; row < part->m && done; row += m)
            done = multiply_block(&w, row, col, least(m, part->m - row), least(n, part->n - col));
    tdmi_host_scratch_give(scratch, room);
    return done;
}
