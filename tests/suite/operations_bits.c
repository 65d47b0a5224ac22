/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A row has the same bits, whatever batch it is in and wherever it lies: operations on rows, and reductions along
 * them; and every operation repeats its result. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "operations/list.h"
#include "support/sample.h"

TestSuite(same_bits, .init = device_open, .fini = device_close);

/* Row kernels of a program's own, as operations: x into rows, and into an element for each. */
static tdm_kernel *centre, *rms;

static tdm_status run_kernel(tdm_queue *queue_of, tdm_kernel *kernel, tdm_tensor *const *t) {
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", t[0]), TDM_WITH_TENSOR("y", t[1])};
    return tdm_kernel_run(queue_of, kernel, arguments, 2);
}
static tdm_status call_centre(const op_case *c, tdm_queue *queue_of, tdm_tensor *const *t) {
    (void)c;
    return run_kernel(queue_of, centre, t);
}
static tdm_status call_rms(const op_case *c, tdm_queue *queue_of, tdm_tensor *const *t) {
    (void)c;
    return run_kernel(queue_of, rms, t);
}
static const operation kernels[] = {{.name = "a row kernel that writes rows",
                                     .function = "tdm_kernel_run",
                                     .operand = {{"x", OP_IN, OP_ALL, .low = -3, .high = 5},
                                                 {"y", .role = OP_OUT, .extent = OP_ALL}},
                                     .unit = OP_BY_ROW,
                                     .layout = OP_ADJACENT,
                                     .call = call_centre},
                                    {.name = "a row kernel",
                                     .function = "tdm_kernel_run",
                                     .operand = {{"x", OP_IN, OP_ALL, .low = -3, .high = 5},
                                                 {"y", .role = OP_OUT, .extent = OP_ROWS}},
                                     .unit = OP_BY_ROW,
                                     .layout = OP_ADJACENT,
                                     .call = call_rms}};

static void make_kernels(void) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_row_kernel texts[] = {
        TDM_ROW_KERNEL(.map = "x", .combine = TDM_SUM, .apply = "x - r / n"),
        TDM_ROW_KERNEL(.map = "x * x", .combine = TDM_SUM, .finish = "sqrt(r / n)")};
    OK(tdm_kernel_rows(device, &texts[0], parameters, 2, &centre));
    OK(tdm_kernel_rows(device, &texts[1], parameters, 2, &rms));
}

static void release_kernels(void) {
    tdm_kernel_release(rms);
    tdm_kernel_release(centre);
}

/* The last output for rows first to first + count - 1 of the sample, in separate arrays whose rows begin `offset`
 * elements further on; malloc'ed. */
static unsigned char *result_of(const sample *all, int64_t first, int64_t count, int64_t offset,
                                size_t *size) {
    const int64_t rows[] = {count, op_cols(&all->c)};
    sample s = sample_of(all->c.op, all->c.dtype, 2, rows);
    s.c.number = all->c.number;
    array *last = NULL;
    for (int i = 0; i < OP_OPERANDS; i++) {
        if (!(s.c.given & OP_BIT(i))) continue;
        int64_t shape[TDM_MAX_DIMS], extents[TDM_MAX_DIMS];
        const op_operand *const operand = &s.c.op->operand[i];
        const int ndim = op_shape(&s.c, i, shape);
        memcpy(extents, shape, sizeof extents);
        if (operand->extent == OP_ALL && (operand->role & OP_IN)) extents[1] += offset;
        array *a = array_new(op_dtype_of(&s.c, i), ndim, extents, NULL);
        if (operand->role & OP_OUT) last = a;
        s.operand[i] = a;
        if (!(operand->role & OP_IN)) continue;
        const array *from = all->operand[i];
        if (operand->extent != OP_ALL) {
            array_set(a, from->v);
            continue;
        }
        for (int64_t j = 0; j < a->count; j++) {
            const int64_t row = j / extents[1], col = j % extents[1] - offset;
            a->v[j] = col < 0 ? 0.0 : from->v[(first + row) * shape[1] + col];
        }
        array_set(a, a->v);
        a->t.shape[1] = shape[1];
        a->t.offset += offset;
    }
    *size = (size_t)last->count * tdm_dtype_size(last->t.dtype);
    unsigned char *bytes = malloc(*size);
    if (!bytes) abort();
    if (!OK(sample_call(&s)) || !OK(tdm_to_host(queue, &last->t, bytes))) memset(bytes, 0, *size);
    return bytes;
}

static bool check_rows(const sample *all, const unsigned char *want, int64_t first, int64_t count,
                       int64_t offset, const char *how) {
    size_t size;
    unsigned char *now = result_of(all, first, count, offset, &size);
    const bool same = memcmp(now, want + (size_t)first * (size / (size_t)count), size) == 0;
    CHECK(same, "%lld rows %s have other bits", (long long)count, how);
    free(now);
    return same;
}

static void check_operation(const operation *op, tdm_dtype dtype, const int64_t *extent) {
    sample all = sample_of(op, dtype, 2, extent);
    size_t size;
    if (!sample_runs_here(op, dtype)) return;
    all.gap = extent[2];
    sample_describe(&all);
    sample_make(&all);
    const int64_t rows = extent[0], row = random_integer(0, rows - 1);
    unsigned char *want = result_of(&all, 0, rows, 0, &size);
    const int64_t some[] = {rows, 1, 2, 3, rows / 2};
    bool right = true;
    for (int i = 0; i < 5 && right; i++)
        if (some[i] >= 1 && some[i] <= rows)
            right = check_rows(&all, want, random_integer(0, rows - some[i]), some[i], 0,
                               i ? "by themselves" : "again");
    for (int64_t offset = 0; offset < 9 && right; offset += small ? 3 : 1)
        right = check_rows(&all, want, row, 1, offset, "moved");
    free(want);
    array_free_all();
}

static bool is_of_rows(const operation *op) {
    return op->unit == OP_BY_ROW && !op->of_matrices && !op->depends_on_batch;
}

static void check_all(const int64_t extents[][3], size_t count) {
    const operation *op;
    make_kernels();
    int turn = (int)random_integer(0, 4);
    for (size_t o = 0; (op = o < 2 ? &kernels[o] : op_at(o - 2)); o++)
        for (int d = 0; d < float_dtype_count && is_of_rows(op); d++)
            for (size_t e = 0; e < count; e++, turn++)
                if (turn % (small ? 5 : 2) == 0 && in_turn(turn / (small ? 5 : 2)))
                    check_operation(op, float_dtypes[d], extents[e]);
    release_kernels();
}

/* rows, columns, and the gap between two rows */
Test(same_bits, short_rows) {
    static const int64_t extents[][3] = {{4096, 33, 0}, {37, 768, 1}, {9, 8192, 0}, {5, 8191, 0}};
    check_all(extents, sizeof extents / sizeof *extents);
}

Test(same_bits, long_rows) {
    static const int64_t extents[][3] = {
        {40, 16384, 0}, {5, 32768, 3}, {8, 66001, 0}, {2, 200003, 1}};
    check_all(extents, sizeof extents / sizeof *extents);
}

/* The same call twice gives the same bits, for every operation: there are no atomics on floats. */
Test(same_bits, repeats) {
    const operation *op;
    for (size_t o = 0; (op = op_at(o)); o++)
        for (int d = 0; d < float_dtype_count && !op->makes_kernel; d++) {
            if (!in_turn((int)o + d)) continue;
            sample s =
                sample_of(op, float_dtypes[d], 2, (const int64_t[]){13, small ? 500 : 20011});
            if (!sample_runs_here(op, float_dtypes[d])) continue;
            sample_describe(&s);
            sample_make(&s);
            for (int i = 0; i < OP_OPERANDS; i++) {
                array *y = s.operand[i];
                if (!y || op->operand[i].role != OP_OUT) continue;
                OK(sample_call(&s));
                const unsigned char *const first = array_bytes(y);
                OK(sample_call(&s));
                CHECK(memcmp(first, array_bytes(y), y->bytes) == 0, "other bits the second time");
            }
            array_free_all();
        }
}
