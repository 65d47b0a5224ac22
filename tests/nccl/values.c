/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The promises of which NCCL has fewer than other transports; then results of collectives over any. */
#include <math.h>
#include <stdlib.h>

#include "test.h"

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

void run_values(void) {
    static const tdm_dtype floats[] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    for (size_t i = 0; i < 4; i++)
        not_numbers(floats[i]);
    sixteen_bits();
    test_values();
    test_layers();
    tdm_grid *grid = NULL;
    CHECK(tdm_grid_create(comm, 1, ranks, &grid) == TDM_ERROR_UNSUPPORTED && !grid,
          "a grid over NCCL alone: %s", tdm_last_error());
}
