/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What collectives give over NCCL beside what they give over any transport: parts, places, and what NCCL promises
 * less of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* Host values of `rows` by 3 of rank r. */
static double value(int r, int64_t i) { return (double)((i * 7 + r * 13) % 50) - 10; }

static tdm_tensor make(tdm_dtype dtype, int64_t rows, int64_t first, int of) {
    const int64_t shape[] = {rows, 3};
    const size_t n = (size_t)rows * 3;
    double *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = of < 0 ? -1 : value(of, first + (int64_t)i);
    tdm_tensor wide = {0}, tensor = {0};
    OK(tdm_empty(queue, TDM_F64, 2, shape, &wide));
    if (n) OK(tdm_buffer_write(queue, wide.buffer, 0, values, n * sizeof *values));
    OK(tdm_empty(queue, dtype, 2, shape, &tensor));
    OK(tdm_cast(queue, &wide, &tensor));
    tdm_tensor_release(&wide);
    free(values);
    return tensor;
}

static double sum_of(int64_t i) {
    double sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value(r, i);
    return sum;
}

/* Rows [first, first + n) of a tensor. */
static tdm_tensor rows_of(const tdm_tensor *x, int64_t first, int64_t n) {
    tdm_tensor view = *x;
    view.offset += first * x->strides[0];
    view.shape[0] = n;
    return view;
}

/* Each rank has rank + 1 rows, or all have 2; the rank's part is its own place in the whole, or not. */
static void parts(tdm_dtype dtype, bool equal, bool in_place) {
    int64_t extents[8], starts[9] = {0};
    for (int i = 0; i < ranks; i++) {
        extents[i] = equal ? 2 : i;
        starts[i + 1] = starts[i] + extents[i];
    }
    const int64_t all = starts[ranks], own = extents[rank], first = starts[rank];
    const int64_t *given = equal ? NULL : extents;
    tdm_tensor whole = make(dtype, all, 0, rank), separate = make(dtype, own, 0, -1);
    tdm_tensor part = in_place ? rows_of(&whole, first, own) : separate;
    OK(tdm_comm_reduce_scatter(comm, queue, TDM_COMM_SUM, &whole, given, &part));
    double *values = values_of(&part);
    for (int64_t i = 0; i < own * 3; i++)
        CHECK(values[i] == sum_of(first * 3 + i), "reduce_scatter of %s: %lld is %g",
              tdm_dtype_name(dtype), (long long)i, values[i]);
    free(values);
    values = values_of(&whole);
    for (int64_t i = 0; i < all * 3; i++)
        CHECK((in_place && i / 3 >= first && i / 3 < first + own) || values[i] == value(rank, i),
              "reduce_scatter changed another part of x");
    free(values);
    tdm_tensor gathered = make(dtype, all, 0, -1), given_part = make(dtype, own, first * 3, rank);
    if (in_place) {
        tdm_tensor place = rows_of(&gathered, first, own);
        OK(tdm_cast(queue, &given_part, &place));
        OK(tdm_comm_all_gather(comm, queue, &place, given, &gathered));
    } else {
        OK(tdm_comm_all_gather(comm, queue, &given_part, given, &gathered));
    }
    values = values_of(&gathered);
    for (int r = 0; r < ranks; r++)
        for (int64_t i = starts[r] * 3; i < starts[r + 1] * 3; i++)
            CHECK(values[i] == value(r, i), "all_gather of %s: %lld is %g", tdm_dtype_name(dtype),
                  (long long)i, values[i]);
    free(values);
    tdm_tensor_release(&whole);
    tdm_tensor_release(&separate);
    tdm_tensor_release(&gathered);
    tdm_tensor_release(&given_part);
}

/* One rank has a NaN: it is the maximum, the minimum and the sum. */
static void not_numbers(tdm_dtype dtype) {
    static const int64_t shape[] = {5};
    for (int op = 0; op < TDM_COMM_OP_COUNT; op++)
        for (int root = -1; root < ranks; root += ranks) {
            tdm_tensor x = {0}, y = {0};
            OK(tdm_ones(queue, dtype, 1, shape, &x));
            OK(tdm_ones(queue, dtype, 1, shape, &y));
            tdm_tensor middle = x;
            middle.offset = 2;
            middle.shape[0] = 1;
            if (rank == ranks - 1) OK(tdm_fill(queue, NAN, &middle));
            if (root < 0) OK(tdm_comm_all_reduce(comm, queue, (tdm_comm_op)op, &x, &y));
            if (root >= 0) OK(tdm_comm_reduce(comm, queue, (tdm_comm_op)op, root, &x, &y));
            double *values = values_of(&y);
            CHECK(root >= 0 && root != rank ? values[2] == 1 : isnan(values[2]),
                  "op %d of %s with a NaN is %g", op, tdm_dtype_name(dtype), values[2]);
            CHECK(!isnan(values[1]) && !isnan(values[3]), "a NaN where none was");
            free(values);
            tdm_tensor_release(&x);
            tdm_tensor_release(&y);
        }
}

/* Sums are rounded to 16 bits once, and wrap; of more elements than are converted at a time. */
static void sixteen_bits(void) {
    const int64_t shape[] = {(16 << 20) / 4 + 1000};
    const double small = 0x1p-8, expected = ranks > 1 ? 1 + (ranks - 1) * small : 1;
    tdm_tensor x = {0}, y = {0}, one = {0};
    OK(tdm_empty(queue, TDM_BF16, 1, shape, &x));
    OK(tdm_fill(queue, rank == 0 ? 1 : small, &x));
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &x, &x));
    one = x;
    one.shape[0] = 1;
    one.offset = shape[0] - 1;
    double *values = values_of(&one);
    CHECK(fabs(values[0] - expected) <= 0x1p-8, "the last sum is %g", values[0]);
    if (ranks == 3) CHECK(values[0] == 1 + 2 * small, "rounded twice: %g", values[0]);
    free(values);
    const int64_t short_shape[] = {7};
    OK(tdm_empty(queue, TDM_I16, 1, short_shape, &y));
    OK(tdm_fill(queue, 30000, &y));
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_SUM, &y, &y));
    values = values_of(&y);
    CHECK(values[6] == (double)(int16_t)(uint16_t)(30000 * ranks), "an i16 sum is %g", values[6]);
    free(values);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

/* Every second element, of another tensor than the result. */
static void strided(void) {
    tdm_tensor whole = make(TDM_F32, 8, 0, rank), target = make(TDM_F32, 8, 0, -1);
    tdm_tensor x = whole, y = target;
    x.shape[0] = y.shape[0] = 4;
    x.strides[0] = y.strides[0] = 6;
    OK(tdm_comm_all_reduce(comm, queue, TDM_COMM_MAX, &x, &y));
    double *values = values_of(&target);
    for (int64_t i = 0; i < 24; i++) {
        double wanted = -1;
        if (i / 3 % 2 == 0) wanted = value(0, i);
        for (int r = 1; i / 3 % 2 == 0 && r < ranks; r++)
            wanted = fmax(wanted, value(r, i));
        CHECK(values[i] == wanted, "strided: %lld is %g, not %g", (long long)i, values[i], wanted);
    }
    free(values);
    tdm_tensor_release(&whole);
    tdm_tensor_release(&target);
}

void run_values(void) {
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_F64, TDM_F16, TDM_I32, TDM_I8, TDM_I16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (int kind = 0; kind < 4; kind++)
            parts(dtypes[i], kind % 2, kind / 2);
    static const tdm_dtype floats[] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    for (size_t i = 0; i < 4; i++)
        not_numbers(floats[i]);
    sixteen_bits();
    strided();
    test_values();
    test_layers();
    tdm_grid *grid = NULL;
    CHECK(tdm_grid_create(comm, 1, ranks, &grid) == TDM_ERROR_UNSUPPORTED && !grid,
          "a grid over NCCL alone: %s", tdm_last_error());
}
