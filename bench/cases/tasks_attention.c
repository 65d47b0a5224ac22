/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* attention: of the heads of some sentences, views of one tensor [tokens, 3 · heads · columns] as one product leaves
 * them; SENTENCES*TOKENSxHEADSxCOLUMNS. Compared with a product, a softmax and a product. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/task.h"
#include "machine/machine.h"
#include "operations/formulas.h"
#include "reference/values.h"

enum { Q, K, V, SCORES, COMPOSED, Y, TENSORS };

typedef struct attended {
    tdm_queue *queue;
    int64_t sentences, tokens, heads, cols;
    void *input;
    size_t y_bytes;
    tdm_tensor tensor[TENSORS]; /* q, k and v lie in one buffer */
} attended;

/* Heads of rows of `width` columns, from column `first` on. */
static tdm_tensor heads_of(const attended *a, tdm_dtype dtype, int64_t width, int64_t first) {
    return (tdm_tensor){.dtype = dtype,
                        .ndim = 4,
                        .shape = {a->sentences, a->heads, a->tokens, a->cols},
                        .strides = {a->tokens * width, a->cols, width, 1},
                        .offset = first};
}

static bool make_tensors(bench_task_run *run) {
    attended *a = run->state;
    const tdm_dtype dtype = run->c->dtype;
    const int64_t width = a->heads * a->cols, tokens = a->sentences * a->tokens;
    tdm_tensor *const t = a->tensor;
    for (int i = Q; i <= V; i++)
        t[i] = heads_of(a, dtype, 3 * width, i * width);
    t[COMPOSED] = t[Y] = heads_of(a, dtype, width, 0);
    t[SCORES] = heads_of(a, dtype, 0, 0);
    const int64_t last = a->tokens, strides[] = {a->heads * last * last, last * last, last, 1};
    t[SCORES].shape[3] = last;
    memcpy(t[SCORES].strides, strides, sizeof strides);
    a->y_bytes = (size_t)(tokens * width) * tdm_dtype_size(dtype);
    const size_t score_bytes = (size_t)tdm_tensor_get_count(&t[SCORES]) * tdm_dtype_size(dtype);
    if (!bench_task_random(run, run->seed, dtype, 3 * tokens * width, -2.0, 2.0, &a->input) ||
        !bench_task_buffer(run, a->queue, 3 * a->y_bytes, a->input, &t[Q].buffer) ||
        !bench_task_buffer(run, a->queue, a->y_bytes, NULL, &t[Y].buffer) ||
        !bench_task_buffer(run, a->queue, a->y_bytes, NULL, &t[COMPOSED].buffer) ||
        !bench_task_buffer(run, a->queue, score_bytes, NULL, &t[SCORES].buffer))
        return false;
    t[K].buffer = t[V].buffer = t[Q].buffer;
    return true;
}

static bool call_composed(void *state, unsigned set) {
    attended *a = state;
    tdm_tensor *const t = a->tensor;
    tdm_matmul_options transposed = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_softmax_options scaled = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    transposed.transpose_b = true;
    scaled.scale = 1.0 / sqrt((double)a->cols);
    (void)set;
    return tdm_matmul(a->queue, &transposed, &t[Q], &t[K], &t[SCORES]) == TDM_OK &&
           tdm_softmax_scaled(a->queue, &scaled, &t[SCORES], &t[SCORES]) == TDM_OK &&
           tdm_matmul(a->queue, NULL, &t[SCORES], &t[V], &t[COMPOSED]) == TDM_OK &&
           tdm_queue_finish(a->queue) == TDM_OK;
}

static bool prepare(bench_task_run *run) {
    attended *a = run->state;
    const bench_shape *const shape = &run->c->shape;
    *a = (attended){.queue = run->on->queue,
                    .sentences = shape->batch,
                    .tokens = shape->extent[0],
                    .heads = shape->extent[1],
                    .cols = shape->extent[2]};
    if (shape->extents != 3)
        return bench_row_fail(run->row, "shape", "attention wants SENTENCES*TOKENSxHEADSxCOLUMNS");
    if (!make_tensors(run)) return false;
    run->row->flops = 4.0 * (double)tdm_tensor_get_count(&a->tensor[SCORES]) * (double)a->cols;
    run->baseline = (bench_baseline){.state = a, .call = call_composed};
    snprintf(run->baseline.name, sizeof run->baseline.name, "matmul, softmax, matmul");
    return true;
}

static tdm_status call(bench_task_run *run) {
    attended *a = run->state;
    tdm_tensor *const t = a->tensor;
    const tdm_status status = tdm_attention(a->queue, NULL, &t[Q], &t[K], &t[V], &t[Y]);
    return status == TDM_OK ? tdm_queue_finish(a->queue) : status;
}

/* One head of a sentence, in rows of numbers. */
static double *decode_head(const attended *a, const tdm_tensor *t, const void *data,
                           int64_t sentence, int64_t head, double *to) {
    const int64_t first = t->offset + sentence * t->strides[0] + head * t->strides[1];
    decode_rows(t->dtype, data, first, a->tokens, t->strides[2], a->cols, to);
    return to;
}

static void check_head(const attended *a, int64_t sentence, int64_t head, const void *got,
                       double *block, bench_verdict *verdict) {
    const int64_t count = a->tokens * a->cols;
    const tdm_tensor *const t = a->tensor;
    const double scale = 1.0 / sqrt((double)a->cols);
    const ref_attention reference = {
        .dtype = t[Q].dtype,
        .batch = 1,
        .heads = 1,
        .shared = 1,
        .queries = a->tokens,
        .keys = a->tokens,
        .head_size = a->cols,
        .value_size = a->cols,
        .scale = t[Q].dtype == TDM_F64 ? scale : (double)(float)scale,
        .q = decode_head(a, &t[Q], a->input, sentence, head, block),
        .k = decode_head(a, &t[K], a->input, sentence, head, block + count),
        .v = decode_head(a, &t[V], a->input, sentence, head, block + 2 * count)};
    double *const y = decode_head(a, &t[Y], got, sentence, head, block + 3 * count);
    double *const want = block + 4 * count, *const bound = block + 5 * count;
    ref_attend(&reference, block + 6 * count, want, bound);
    for (int64_t i = 0; i < count && verdict->verified; i++) {
        const double error = fabs(y[i] - want[i]);
        if (!(error <= bound[i])) {
            verdict->verified = false;
            snprintf(verdict->problem, sizeof verdict->problem,
                     "sentence %lld, head %lld: %g for %g, by more than %g", (long long)sentence,
                     (long long)head, y[i], want[i], bound[i]);
        }
        if (error * verdict->error_bound < verdict->max_error * bound[i]) continue;
        verdict->max_error = error;
        verdict->error_bound = bound[i];
    }
}

static void check(bench_task_run *run, bench_verdict *verdict) {
    const attended *a = run->state;
    const size_t room = (size_t)(6 * a->tokens * a->cols + 3 * a->tokens) * sizeof(double);
    void *const got = bench_alloc(a->y_bytes);
    double *const block = bench_alloc(room);
    verdict->verified =
        got && block &&
        tdm_buffer_read(a->queue, a->tensor[Y].buffer, 0, got, a->y_bytes) == TDM_OK;
    if (!verdict->verified)
        snprintf(verdict->problem, sizeof verdict->problem, "it cannot be read back");
    if (verdict->verified) check_head(a, 0, 0, got, block, verdict);
    if (verdict->verified) check_head(a, a->sentences - 1, a->heads - 1, got, block, verdict);
    bench_free(got);
    bench_free(block);
}

static void destroy(bench_task_run *run) {
    attended *a = run->state;
    for (int i = SCORES; i <= Y; i++)
        tdm_buffer_release(a->tensor[i].buffer);
    tdm_buffer_release(a->tensor[Q].buffer);
    bench_free(a->input);
}

const bench_task bench_task_attention = {false, sizeof(attended), prepare, call, check, destroy};
