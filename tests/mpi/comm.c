/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Results of collectives, against sums in double of numbers that every rank can work out for all the others. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* Element i of rank r's input: an integer so small that i8 has the sum of all ranks', or for floats a fraction, too. */
static double input(int r, int64_t i, tdm_dtype dtype) {
    uint64_t h = ((uint64_t)i * 31 + (uint64_t)r + 1) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
    if (dtype == TDM_BOOL) return (double)(h & 1);
    const double value = (double)(h % (ranks > 5 ? 127u / (unsigned)ranks + 1 : 24));
    return tdm_dtype_is_float(dtype) ? value / 8 - 1.25 : value;
}

static double combined(tdm_comm_op op, int64_t i, tdm_dtype dtype) {
    double result = input(0, i, dtype);
    for (int r = 1; r < ranks; r++) {
        const double v = input(r, i, dtype);
        if (op == TDM_COMM_MAX)
            result = fmax(result, v);
        else if (op == TDM_COMM_MIN)
            result = fmin(result, v);
        else
            result += v;
    }
    return op == TDM_COMM_MEAN ? result / ranks : result;
}

/* An f64 tensor of `rows` rows of this rank's elements from `first` on, as dtype. */
static tdm_tensor make(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t first, int of) {
    const int64_t shape[] = {rows, cols};
    const size_t n = (size_t)(rows * cols);
    double *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = of < 0 ? NAN : input(of, first + (int64_t)i, dtype);
    tdm_tensor wide = {0}, tensor = {0};
    if (of < 0 && !tdm_dtype_is_float(dtype)) memset(values, 0, n * sizeof *values);
    OK(tdm_empty(queue, TDM_F64, 2, shape, &wide));
    if (n) OK(tdm_buffer_write(queue, wide.buffer, 0, values, n * sizeof *values));
    OK(tdm_empty(queue, dtype, 2, shape, &tensor));
    OK(tdm_cast(queue, &wide, &tensor));
    tdm_tensor_release(&wide);
    free(values);
    return tensor;
}

/* Whether y, from element `first` of the whole on, has the combined values: sums of these inputs are exact, means are
 * rounded once. */
static void expect(const char *what, tdm_comm_op op, const tdm_tensor *y, int64_t first) {
    double *values = values_of(y);
    const double unit = y->dtype == TDM_F16 ? 0x1p-11 : y->dtype == TDM_BF16 ? 0x1p-8 : 0x1p-24;
    for (int64_t i = 0; i < tdm_tensor_get_count(y); i++) {
        const double wanted = combined(op, first + i, y->dtype);
        const double allowed = tdm_dtype_is_float(y->dtype) ? fabs(wanted) * unit : 0;
        if (fabs(values[i] - wanted) <= allowed) continue;
        CHECK(false, "%s of %s, op %d: element %lld of %lld is %g, not %g", what,
              tdm_dtype_name(y->dtype), (int)op, (long long)i, (long long)tdm_tensor_get_count(y),
              values[i], wanted);
        break;
    }
    CHECK(true, "%s", what);
    free(values);
}

static bool has(tdm_comm_op op, tdm_dtype dtype) {
    if (op == TDM_COMM_MEAN) return tdm_dtype_is_float(dtype);
    return op != TDM_COMM_SUM || dtype != TDM_BOOL;
}

/* The rows of the ranks' parts: as many for each, or unequal ones, the last of which is empty. Returns how many there
 * are before this rank's. */
static int64_t divide(int64_t rows, bool equal, int64_t *extents, int64_t *all) {
    int64_t first = 0;
    *all = 0;
    for (int i = 0; i < ranks; i++) {
        extents[i] = equal || ranks == 1 ? rows : (i + 1) % ranks * rows / 2;
        if (i == rank) first = *all;
        *all += extents[i];
    }
    return first;
}

/* Into another tensor, and into this rank's own part of x, whose other parts stay as they are. */
static void scattered(tdm_dtype dtype, tdm_comm_op op, int64_t rows, int64_t cols, bool equal) {
    int64_t extents[16], all;
    const int64_t first = divide(rows, equal, extents, &all);
    const int64_t *const given = equal ? NULL : extents;
    tdm_tensor x = make(dtype, all, cols, 0, rank), part = {0};
    tdm_tensor y = make(dtype, extents[rank], cols, 0, -1);
    OK(tdm_comm_reduce_scatter(comm, queue, op, &x, given, &y));
    expect("reduce_scatter", op, &y, first * cols);
    tdm_tensor_release(&y);
    OK(tdm_tensor_slice(&x, 0, first, extents[rank], 1, &part));
    OK(tdm_comm_reduce_scatter(comm, queue, op, &x, given, &part));
    expect("reduce_scatter in place", op, &part, first * cols);
    double *values = values_of(&x);
    bool same = true;
    for (int64_t i = 0; i < all * cols; i++) {
        const bool own = i >= first * cols && i < (first + extents[rank]) * cols;
        same = same && (own || values[i] == input(rank, i, dtype));
    }
    CHECK(same, "reduce_scatter of %s changed another part", tdm_dtype_name(dtype));
    free(values);
    tdm_tensor_release(&x);
}

static void reductions(tdm_dtype dtype, tdm_comm_op op, int64_t rows, int64_t cols) {
    tdm_tensor x = make(dtype, rows, cols, 0, rank), y = make(dtype, rows, cols, 0, -1);
    OK(tdm_comm_all_reduce(comm, queue, op, &x, &y));
    expect("all_reduce", op, &y, 0);
    tdm_tensor_release(&y);
    y = make(dtype, rows, cols, 0, -1);
    const int root = ranks - 1;
    OK(tdm_comm_reduce(comm, queue, op, root, &x, rank == root ? &y : NULL));
    if (rank == root) expect("reduce", op, &y, 0);
    tdm_tensor_release(&y);
    OK(tdm_comm_all_reduce(comm, queue, op, &x, &x));
    expect("all_reduce in place", op, &x, 0);
    tdm_tensor_release(&x);
    scattered(dtype, op, rows, cols, false);
    scattered(dtype, op, rows, cols, true);
}

/* x is its own part of y. */
static void gathered_in_place(tdm_dtype dtype, int64_t rows, int64_t cols, bool equal) {
    int64_t extents[16], all;
    const int64_t first = divide(rows, equal, extents, &all);
    /* its own part is right, what lies before and after it is not */
    tdm_tensor y = make(dtype, all, cols, -first * cols, rank), place = {0};
    OK(tdm_tensor_slice(&y, 0, first, extents[rank], 1, &place));
    OK(tdm_comm_all_gather(comm, queue, &place, equal ? NULL : extents, &y));
    double *values = values_of(&y);
    bool same = true;
    for (int64_t r = 0, at = 0; r < ranks; r++)
        for (int64_t i = 0; i < extents[r] * cols; i++, at++)
            same = same && values[at] == input((int)r, i, dtype);
    CHECK(same, "all_gather in place of %s [%lld, %lld]", tdm_dtype_name(dtype), (long long)rows,
          (long long)cols);
    free(values);
    tdm_tensor_release(&y);
}

static void moves(tdm_dtype dtype, int64_t rows, int64_t cols) {
    gathered_in_place(dtype, rows, cols, false);
    gathered_in_place(dtype, rows, cols, true);
    tdm_tensor x = make(dtype, rows, cols, 0, rank), y = make(dtype, rows * ranks, cols, 0, -1);
    OK(tdm_comm_all_gather(comm, queue, &x, NULL, &y));
    double *values = values_of(&y);
    bool same = true;
    for (int64_t i = 0; i < tdm_tensor_get_count(&y); i++)
        same = same && values[i] == input((int)(i / (rows * cols)), i % (rows * cols), dtype);
    CHECK(same, "all_gather of %s [%lld, %lld]", tdm_dtype_name(dtype), (long long)rows,
          (long long)cols);
    free(values);
    tdm_tensor z = make(dtype, rows * ranks, cols, 0, -1),
               t = make(dtype, rows * ranks, cols, 0, rank);
    OK(tdm_comm_all_to_all(comm, queue, &t, &z));
    values = values_of(&z);
    same = true;
    for (int64_t i = 0; i < tdm_tensor_get_count(&z); i++)
        same = same && values[i] == input((int)(i / (rows * cols)),
                                          rank * rows * cols + i % (rows * cols), dtype);
    CHECK(same, "all_to_all of %s [%lld, %lld]", tdm_dtype_name(dtype), (long long)rows,
          (long long)cols);
    free(values);
    for (int root = 0; root < ranks; root++) {
        tdm_tensor b = make(dtype, rows, cols, 0, rank == root ? root : -1);
        OK(tdm_comm_broadcast(comm, queue, root, &b));
        values = values_of(&b);
        same = true;
        for (int64_t i = 0; i < rows * cols; i++)
            same = same && values[i] == input(root, i, dtype);
        CHECK(same, "broadcast of %s from %d", tdm_dtype_name(dtype), root);
        free(values);
        tdm_tensor_release(&b);
    }
    if (ranks > 1) {
        const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
        tdm_tensor got = make(dtype, rows, cols, 0, -1);
        OK(tdm_comm_send_receive(comm, queue, to, &x, from, &got));
        if (rank == 0) OK(tdm_comm_send(comm, queue, 1, &got));
        if (rank == 1) OK(tdm_comm_receive(comm, queue, 0, &got));
        values = values_of(&got);
        same = true;
        for (int64_t i = 0; i < rows * cols; i++)
            same = same && values[i] == input(rank == 1 ? ranks - 1 : from, i, dtype);
        CHECK(same, "send_receive, send and receive of %s", tdm_dtype_name(dtype));
        free(values);
        tdm_tensor_release(&got);
    }
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&z);
    tdm_tensor_release(&t);
}

/* Columns of a wider matrix, in place or into one with other gaps: packed, and the gaps stay as they are. */
static void strided(bool in_place) {
    tdm_tensor whole = make(TDM_F32, 5, 8, 0, rank), target = make(TDM_F32, 5, 10, 0, rank);
    tdm_tensor x = whole, y = in_place ? whole : target;
    const tdm_tensor *const result = in_place ? &whole : &target;
    const int64_t width = result->shape[1];
    x.shape[1] = y.shape[1] = 3;
    x.offset = y.offset = 2;
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &y));
    double *values = values_of(result);
    bool right = true;
    for (int64_t i = 0; i < 5 * width; i++) {
        const int64_t row = i / width, col = i % width;
        const bool is_of_y = col >= 2 && col < 5;
        right = right && values[i] == (is_of_y ? combined(TDM_COMM_SUM, row * 8 + col, TDM_F32)
                                               : input(rank, i, TDM_F32));
    }
    CHECK(right, "all_reduce of columns");
    free(values);
    tdm_tensor_release(&whole);
    tdm_tensor_release(&target);
}

void test_splits(void) {
    tdm_comm *part = NULL;
    OK(tdm_comm_split(comm, rank == 0 && ranks > 1 ? -1 : rank % 2, -rank, &part));
    CHECK(!part == (rank == 0 && ranks > 1), "who is in no part");
    if (!part) return;
    tdm_tensor x = make(TDM_F32, 1, 1, 0, rank);
    OK(tdm_fill(queue, rank, &x));
    OK(tdm_comm_all_reduce(part, queue, TDM_COMM_SUM, &x, &x));
    double *values = values_of(&x), wanted = 0;
    for (int r = ranks > 1 ? 1 : 0; r < ranks; r++)
        wanted += r % 2 == rank % 2 ? r : 0;
    CHECK(values[0] == wanted, "a part's sum is %g, not %g", values[0], wanted);
    free(values);
    tdm_tensor_release(&x);
    tdm_comm_destroy(part);
}

static void not_numbers(void) {
    const int64_t shape[] = {1, 3000};
    tdm_tensor x = {0};
    OK(tdm_empty(queue, TDM_F32, 2, shape, &x));
    OK(tdm_fill(queue, rank == ranks - 1 ? NAN : 1, &x));
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_MAX, &x, &x));
    double *values = values_of(&x);
    CHECK(isnan(values[0]) && isnan(values[2999]), "max of a NaN is %g", values[0]);
    free(values);
    tdm_tensor_release(&x);
}

void test_values(void) {
    static const int64_t shapes[][2] = {{3, 1}, {7, 11}, {40, 130}};
    for (int dtype = 0; dtype < TDM_DTYPE_COUNT; dtype++)
        for (int s = 0; s < 3; s++) {
            for (int op = 0; op < TDM_COMM_OP_COUNT; op++)
                if (has((tdm_comm_op)op, (tdm_dtype)dtype))
                    reductions((tdm_dtype)dtype, (tdm_comm_op)op, shapes[s][0], shapes[s][1]);
            moves((tdm_dtype)dtype, shapes[s][0], shapes[s][1]);
        }
    reductions(TDM_F32, TDM_COMM_SUM, 0, 5);
    moves(TDM_F32, 0, 5);
    reductions(TDM_F32, TDM_COMM_MEAN, 1003, 701); /* several rounds */
    reductions(TDM_BF16, TDM_COMM_SUM, 1003, 701);
    moves(TDM_U8, 1003, 701);
    if (!getenv("TDM_TEST_NETWORK"))
        moves(TDM_F64, 1503, 701); /* several rounds; long, where links are slow */
    strided(true);
    strided(false);
    not_numbers();
    OK(tdm_comm_barrier(comm, queue));
}
