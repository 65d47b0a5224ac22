/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Layers and products that ranks share, against sums in double of the whole matrices, which every rank knows. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* Element (i, j) of matrix `which`: a multiple of 1/8, so that sums of products are exact in f32. */
static double element(int which, int64_t i, int64_t j) {
    uint64_t h =
        ((uint64_t)i * 1000003 + (uint64_t)j * 31 + (uint64_t)which + 7) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
    return (double)(h % 24) / 8 - 1.25;
}
enum { X, W, BIAS, OLD };

static double activated(tdm_activation activation, double x) {
    return activation == TDM_ACTIVATION_RELU ? fmax(x, 0) : x;
}

/* Rows [r0, r0 + rows) and columns [c0, c0 + cols) of a matrix, or NaN for which < 0: the first columns of a wider
 * tensor, whose other columns hold 99; stored by columns where `turned`. */
static tdm_tensor block(int which, tdm_dtype dtype, int64_t r0, int64_t rows, int64_t c0,
                        int64_t cols, bool turned, tdm_tensor *store) {
    const int64_t outer = turned ? cols : rows, inner = turned ? rows : cols, wide = inner + 3;
    double *values = malloc((size_t)(outer * wide + 1) * sizeof *values);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < wide; i++) {
            const int64_t row = r0 + (turned ? i : o), col = c0 + (turned ? o : i);
            values[o * wide + i] = i >= inner ? 99 : which < 0 ? NAN : element(which, row, col);
        }
    tdm_tensor host = {0}, view = {0};
    const int64_t shape[2] = {outer, wide};
    OK(tdm_empty(queue, TDM_F64, 2, shape, &host));
    if (outer) OK(tdm_buffer_write(queue, host.buffer, 0, values, (size_t)(outer * wide) * 8));
    OK(tdm_empty(queue, dtype, 2, shape, store));
    OK(tdm_cast(queue, &host, store));
    OK(tdm_tensor_slice(store, 1, 0, inner, 1, &view));
    if (turned) OK(tdm_tensor_transpose(&view, 0, 1, &view));
    tdm_tensor_release(&host);
    free(values);
    return view;
}

static tdm_tensor bias_of(tdm_dtype dtype, int64_t first, int64_t n) {
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = element(BIAS, 0, first + i);
    tdm_tensor host = {0}, bias = {0};
    OK(tdm_empty(queue, TDM_F64, TDM_SHAPE(n), &host));
    if (n) OK(tdm_buffer_write(queue, host.buffer, 0, values, (size_t)n * 8));
    OK(tdm_empty(queue, dtype, TDM_SHAPE(n), &bias));
    OK(tdm_cast(queue, &host, &bias));
    tdm_tensor_release(&host);
    free(values);
    return bias;
}

/* The expected block of activation(alpha X · W + beta OLD + bias); W is stored as [out, in] where `layer`. */
typedef struct wanted {
    const char *what;
    int64_t r0, c0, inner;
    double alpha, beta;
    bool layer, bias;
    tdm_activation activation;
} wanted;

static void expect(const wanted *w, const tdm_tensor *y, const tdm_tensor *store) {
    const int64_t rows = y->shape[0], cols = y->shape[1], wide = store->shape[1];
    double *values = malloc((size_t)(rows * wide + 1) * sizeof *values);
    tdm_tensor host = {0};
    const double unit = y->dtype == TDM_F16    ? 0x1p-11
                        : y->dtype == TDM_BF16 ? 0x1p-8
                        : y->dtype == TDM_F32  ? 0x1p-24
                                               : 0x1p-53;
    OK(tdm_empty(queue, TDM_F64, 2, store->shape, &host));
    OK(tdm_cast(queue, store, &host));
    OK(tdm_to_host(queue, &host, values));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < wide; j++) {
            const double got = values[i * wide + j];
            if (j >= cols) {
                if (got == 99) continue;
                CHECK(false, "%s wrote %g after row %lld", w->what, got, (long long)i);
                goto done;
            }
            double sum = 0, size = 0;
            for (int64_t k = 0; k < w->inner; k++) {
                const double b = w->layer ? element(W, w->c0 + j, k) : element(W, k, w->c0 + j);
                sum += element(X, w->r0 + i, k) * b;
                size += fabs(element(X, w->r0 + i, k) * b);
            }
            const double old = w->beta * element(OLD, w->r0 + i, w->c0 + j);
            const double bias = w->bias ? element(BIAS, 0, w->c0 + j) : 0;
            const double value = activated(w->activation, w->alpha * sum + old + bias);
            const double allowed =
                unit * (fabs(w->alpha) * size + fabs(old) + fabs(bias)) * (ranks + 4);
            if (fabs(got - value) <= allowed) continue;
            CHECK(false, "%s, %s: element %lld, %lld is %g, not %g", w->what,
                  tdm_dtype_name(y->dtype), (long long)i, (long long)j, got, value);
            goto done;
        }
done:
    CHECK(true, "%s", w->what);
    tdm_tensor_release(&host);
    free(values);
}

static void parts(void) {
    int64_t begin, count, end = 0;
    for (int i = 0; i < 7; i++) {
        OK(tdm_part(31, 7, i, &begin, &count));
        CHECK(begin == end && count == (i < 3 ? 5 : 4), "part %d of 31: %lld", i, (long long)count);
        end = begin + count;
    }
    CHECK(end == 31, "the parts end at %lld", (long long)end);
    CHECK(tdm_part(-1, 1, 0, &begin, &count) == TDM_ERROR_INVALID_ARGUMENT, "extent -1");
    CHECK(tdm_part(1, 0, 0, &begin, &count) == TDM_ERROR_INVALID_ARGUMENT, "no parts");
    CHECK(tdm_part(1, 2, 2, &begin, &count) == TDM_ERROR_INVALID_ARGUMENT, "part 2 of 2");
    CHECK(tdm_part(1, 2, 1, NULL, &count) == TDM_ERROR_INVALID_ARGUMENT, "begin NULL");
}

static void row_parallel(tdm_dtype dtype, int64_t rows, int64_t in, int64_t out, bool with_bias) {
    int64_t first, own;
    OK(tdm_part(in, ranks, rank, &first, &own));
    tdm_tensor stores[3], bias = bias_of(dtype, 0, out);
    tdm_tensor x = block(X, dtype, 0, rows, first, own, false, &stores[0]);
    tdm_tensor weight = block(W, dtype, 0, out, first, own, false, &stores[1]);
    tdm_tensor y = block(-1, dtype, 0, rows, 0, out, false, &stores[2]);
    const wanted w = {"row parallel", 0, 0, in, 1, 0, true, with_bias, TDM_ACTIVATION_RELU};
    OK(tdm_linear_row_parallel(comm, queue, &x, &weight, with_bias ? &bias : NULL, w.activation,
                               &y));
    expect(&w, &y, &stores[2]);
    for (int i = 0; i < 3; i++)
        tdm_tensor_release(&stores[i]);
    tdm_tensor_release(&bias);
}

static void column_parallel(tdm_dtype dtype, int64_t rows, int64_t in, int64_t out, bool equal) {
    int64_t first = 0, own = 0, extents[16];
    for (int i = 0; i < ranks; i++) {
        OK(tdm_part(out, ranks, i, &first, &extents[i]));
        if (!equal && ranks > 1) extents[i] = i == 0 ? 0 : i == 1 ? out - (ranks - 2) : 1;
    }
    first = 0;
    for (int i = 0; i < rank; i++)
        first += extents[i];
    own = extents[rank];
    tdm_tensor stores[3], bias = bias_of(dtype, first, own);
    tdm_tensor x = block(X, dtype, 0, rows, 0, in, false, &stores[0]);
    tdm_tensor weight = block(W, dtype, first, own, 0, in, false, &stores[1]);
    tdm_tensor y = block(-1, dtype, 0, rows, 0, out, false, &stores[2]);
    const wanted w = {"column parallel", 0, 0, in, 1, 0, true, true, TDM_ACTIVATION_RELU};
    OK(tdm_linear_column_parallel(comm, queue, &x, &weight, &bias,
                                  equal && out % ranks == 0 ? NULL : extents, w.activation, &y));
    expect(&w, &y, &stores[2]);
    for (int i = 0; i < 3; i++)
        tdm_tensor_release(&stores[i]);
    tdm_tensor_release(&bias);
}

/* A product over a grid; blocks of A or of B are stored by columns where `turned` says so. */
static void multiply(tdm_grid *grid, tdm_dtype dtype, int64_t m, int64_t k, int64_t n, double beta,
                     int turned) {
    int64_t a0[2], a1[2], b0[2], b1[2], c0[2], c1[2];
    OK(tdm_grid_block(grid, m, k, a0, a1));
    OK(tdm_grid_block(grid, k, n, b0, b1));
    OK(tdm_grid_block(grid, m, n, c0, c1));
    tdm_tensor stores[3], bias = bias_of(dtype, c0[1], c1[1]);
    tdm_tensor a = block(X, dtype, a0[0], a1[0], a0[1], a1[1], turned & 1, &stores[0]);
    tdm_tensor b = block(W, dtype, b0[0], b1[0], b0[1], b1[1], turned & 2, &stores[1]);
    tdm_tensor c =
        block(beta != 0 ? OLD : -1, dtype, c0[0], c1[0], c0[1], c1[1], false, &stores[2]);
    const wanted w = {"grid_matmul", c0[0], c0[1], k, 0.5, beta, false, true, TDM_ACTIVATION_RELU};
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.alpha = w.alpha;
    options.beta = beta;
    options.bias = &bias;
    options.activation = w.activation;
    OK(tdm_grid_matmul(grid, queue, &options, k, &a, &b, &c));
    expect(&w, &c, &stores[2]);
    for (int i = 0; i < 3; i++)
        tdm_tensor_release(&stores[i]);
    tdm_tensor_release(&bias);
}

static void grid_of(int rows, int columns) {
    tdm_grid *grid = NULL;
    OK(tdm_grid_create(comm, rows, columns, &grid));
    if (!grid) return;
    CHECK(tdm_grid_get_rows(grid) * tdm_grid_get_columns(grid) == ranks &&
              tdm_grid_get_row(grid) * tdm_grid_get_columns(grid) + tdm_grid_get_column(grid) ==
                  rank,
          "the grid's places");
    multiply(grid, TDM_F32, 37, 2300, 29, 0, 0);
    multiply(grid, TDM_F64, 18, 1030, 33, 1.5, 3);
    multiply(grid, TDM_F32, 3, 5, 2, 0, 1);
    multiply(grid, TDM_F32, 4, 0, 7, 1, 0);
    multiply(grid, TDM_F32, 1, 9, 1, 0, 2);
    multiply(grid, TDM_F16, 20, 60, 21, 0, 0);
    multiply(grid, TDM_BF16, 9, 40, 300, 0, 0);
    tdm_grid_destroy(grid);
}

/* One rank's mistake is an error on all, which names the rank. */
static void mistakes(void) {
    tdm_grid *grid = NULL;
    tdm_comm *own = NULL;
    tdm_tensor stores[3];
    CHECK(tdm_grid_create(comm, ranks + 1, 1, &grid) == TDM_ERROR_INVALID_ARGUMENT && !grid,
          "a grid of too many ranks: %s", tdm_last_error());
    OK(tdm_comm_split(comm, 0, rank, &own));
    if (own) OK(tdm_comm_set_timeout(own, 120));
    OK(tdm_grid_create(own, 1, ranks, &grid));
    tdm_tensor a = block(X, TDM_F32, 0, 4, 0, 2, false, &stores[0]);
    tdm_tensor b = block(W, TDM_F32, 0, 2 * ranks, 0, 3, false, &stores[1]);
    tdm_tensor c = block(-1, TDM_F32, 0, 4, 0, 3, false, &stores[2]);
    tdm_tensor flat_c = c;
    flat_c.ndim = 1;
    CHECK(tdm_grid_matmul(grid, queue, NULL, 2 * ranks, &a, &b, &flat_c) ==
                  TDM_ERROR_INVALID_SHAPE &&
              strstr(tdm_last_error(), "must be [m, n]"),
          "c of one dimension: %s", tdm_last_error());
    /* a rank that refuses the next call breaks the grid, also for ranks that are still in this one */
    OK(tdm_comm_barrier(comm, queue));
    const int64_t inner = 2 * ranks + (rank == ranks - 1 ? ranks : 0);
    const tdm_status status = tdm_grid_matmul(grid, queue, NULL, inner, &a, &b, &c);
    CHECK(status != TDM_OK, "another inner extent on rank %d was taken", ranks - 1);
    char name[24];
    snprintf(name, sizeof name, "rank %d", ranks - 1);
    CHECK(ranks == 1 || strstr(tdm_last_error(), name), "names no rank: %s", tdm_last_error());
    CHECK(ranks == 1 ||
              tdm_grid_matmul(grid, queue, NULL, 2 * ranks, &a, &b, &c) == TDM_ERROR_RANK_LOST,
          "a broken grid went on");
    tdm_grid_destroy(grid);
    tdm_comm_destroy(own);
    /* wrong alike on all ranks: refused, and the communicator goes on */
    CHECK(tdm_linear_row_parallel(comm, queue, &a, &b, NULL, TDM_ACTIVATION_NONE, &a) != TDM_OK,
          "y that is x was taken");
    CHECK(tdm_linear_column_parallel(comm, queue, &a, NULL, NULL, NULL, TDM_ACTIVATION_NONE, &c) ==
              TDM_ERROR_INVALID_ARGUMENT,
          "no weight: %s", tdm_last_error());
    OK(tdm_comm_barrier(comm, queue));
    CHECK(tdm_grid_get_rows(NULL) == -1 && tdm_grid_get_column(NULL) == -1, "sides of NULL");
    for (int i = 0; i < 3; i++)
        tdm_tensor_release(&stores[i]);
}

void test_layers(void) {
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    parts();
    for (int i = 0; i < 4; i++) {
        row_parallel(dtypes[i], 5, 24, 7, true);
        column_parallel(dtypes[i], 5, 6, 8 * ranks, true);
        column_parallel(dtypes[i], 3, 6, 7, false);
    }
    row_parallel(TDM_F32, 1, 4, 3, false);
    row_parallel(TDM_F32, 1501, 8, 400, true); /* in pieces */
    column_parallel(TDM_F32, 1501, 3, 400, false);
}

void test_grids(void) {
    for (int rows = 1; rows <= ranks; rows++)
        if (ranks % rows == 0) grid_of(rows, ranks / rows);
    grid_of(0, 0);
    mistakes();
}
