/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm and RMSNorm of x + residual: properties that the sum has and x has not, and the other way round; recorded;
 * and, with bias_add, residuals that lack x's first dimensions. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "operations/list.h"
#include "support/sample.h"

TestSuite(residual, .init = device_open, .fini = device_close);

/* In both operations' pages. */
enum { X, RESIDUAL, WEIGHT };

static const char *const names[] = {"layer_norm+residual", "rms_norm+residual"};
enum { OPERATIONS = 2 };

static const int64_t lengths[] = {100, 1000, 20000};
static int length_count(void) { return small ? 2 : 3; }

static bool takes(tdm_dtype dtype, double mean) {
    return is_chosen(dtype) && rounded(dtype, mean) == mean;
}

/* Rows to be filled by the caller, with or without the sum. */
static sample make(int which, tdm_dtype dtype, int64_t rows, int64_t cols) {
    sample s = sample_of(op_named(names[which]), dtype, 2, (const int64_t[]){rows, cols});
    if (random_bits() & 1) s.c.given &= ~OP_BIT(which ? 3 : 4);
    s.least = least_result();
    sample_describe(&s);
    sample_make(&s);
    return s;
}

static void check(sample *s) {
    array_set(s->operand[X], s->operand[X]->v);
    array_set(s->operand[RESIDUAL], s->operand[RESIDUAL]->v);
    sample_compare(s);
    array_free_all();
}

/* Special values that the sum has and x has not, or the other way round: elements far from all others, which the
 * residual takes away; a slope that it makes flat, of which LayerNorm gives exactly the bias; NaN and infinities of x,
 * of the residual, and of their sum alone, each of which spoils its row and no other; x twice. */
enum { CANCELS, FLAT, NO_NUMBERS, TWICE, KINDS };

static void fill(const sample *s, int kind, double most) {
    const int64_t cols = op_cols(&s->c), at = random_integer(0, cols - 1);
    double *const x = s->operand[X]->v, *const residual = s->operand[RESIDUAL]->v;
    for (int64_t j = 0; kind == FLAT && j < 6 * cols; j++) {
        x[j] = (double)(j % 50 - 25);
        residual[j] = 100.0 - x[j];
    }
    for (int64_t i = 0; kind == CANCELS && i < 6 * cols; i += cols)
        for (int k = 0; k < 3; k++) {
            const int64_t far[] = {cols / 8, cols / 8 * 3, cols - 1};
            x[i + far[k]] = 4096.0;
            residual[i + far[k]] = -4096.0;
        }
    if (kind != NO_NUMBERS) return;
    x[cols + at] = (double)NAN;
    residual[2 * cols + at] = (double)INFINITY;
    x[3 * cols + at] = (double)INFINITY; /* their sum is no number */
    residual[3 * cols + at] = -(double)INFINITY;
    x[4 * cols + at] = residual[4 * cols + at] = -most; /* its sum overflows */
}

Test(residual, sums) {
    for (int o = 0; o < OPERATIONS; o++)
        for (int d = 0; d < float_dtype_count; d++)
            for (int l = 0; l < length_count(); l++)
                for (int kind = 0; kind < KINDS; kind++) {
                    const tdm_dtype dtype = float_dtypes[d];
                    sample s = make(o, dtype, 6, lengths[l]);
                    fill(&s, kind, dtype_max(dtype) * 0.9);
                    if (kind == TWICE) s.operand[RESIDUAL] = s.operand[X];
                    check(&s);
                }
}

/* A mean that is large in terms of the deviation, in the sum alone; and sums whose rounding is as large as the
 * rest of a row without its mean: it is rounded before it is normalised, whether or not it is kept. */
Test(residual, large_means) {
    static const struct {
        tdm_dtype dtype;
        double mean, spread;
    } kinds[] = {{TDM_F64, 5e5, 5e-4}, {TDM_F64, -5e8, 0.5},   {TDM_F32, 5e3, 0.5},
                 {TDM_F32, -15e4, 5},  {TDM_F16, 500, 4},      {TDM_BF16, 50, 4},
                 {TDM_F16, 2048, 6},   {TDM_F32, 16777216, 6}, {TDM_BF16, 256, 6}};
    for (int o = 0; o < OPERATIONS; o++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (int l = 0; l < length_count(); l++) {
                if (!takes(kinds[k].dtype, kinds[k].mean)) continue;
                sample s = make(o, kinds[k].dtype, 2, lengths[l]);
                for (int64_t j = 0; j < 2 * lengths[l]; j++) {
                    s.operand[X]->v[j] =
                        kinds[k].mean + random_uniform(-kinds[k].spread, kinds[k].spread);
                    s.operand[RESIDUAL]->v[j] =
                        kinds[k].spread == 6
                            ? random_uniform(0, 6)
                            : kinds[k].mean + random_uniform(-kinds[k].spread, kinds[k].spread);
                }
                check(&s);
            }
}

/* A recorded call, of rows that are held and of one that may be cut, takes its operands' values at a replay. */
Test(residual, replayed) {
    static const int64_t extents[][2] = {{3, 300}, {1, 50000}};
    for (int i = 0; i < (small ? 1 : 2); i++) {
        sample s = make(0, TDM_F32, extents[i][0], extents[i][1]);
        array *const y = s.operand[5];
        tdm_graph *graph = NULL;
        if (!OK(tdm_graph_create(queue, &graph))) return;
        OK(tdm_graph_begin(graph));
        OK(sample_call(&s));
        OK(tdm_graph_end(graph));
        ARRAY_SAME(y);
        for (int turn = 0; turn < 3; turn++) {
            double *want, *bound;
            array_uniform(s.operand[X], -1.0, 4.0);
            array_uniform(s.operand[RESIDUAL], -3.0, 1.0);
            OK(tdm_graph_replay(graph));
            for (int output = 4; output <= 5; output++) {
                if (!s.operand[output]) continue;
                sample_refer(&s, output, &want, &bound);
                ARRAY_CHECK(s.operand[output], want, bound);
            }
        }
        tdm_graph_destroy(graph);
        array_free_all();
    }
}

/* The residual of a sample, or of another one. */
static int residual_of(const operation *op) {
    int i = 0;
    while (strcmp(op->operand[i].name ? op->operand[i].name : "", "residual") != 0)
        i++;
    return i;
}

/* Without its first dimensions, over which the reference repeats its elements; in memory NaN follows them. */
static void drop_dimensions(array *residual, int lacking) {
    tdm_tensor *const t = &residual->t;
    int64_t part = residual->count;
    for (int d = 0; d < lacking; d++)
        part /= t->shape[d];
    for (int64_t i = part; i < residual->count; i++)
        residual->v[i] = (double)NAN;
    array_set(residual, residual->v);
    for (int64_t i = part; i < residual->count; i++)
        residual->v[i] = residual->v[i - part];
    t->ndim -= lacking;
    memmove(t->shape, t->shape + lacking, (size_t)t->ndim * sizeof *t->shape);
    memmove(t->strides, t->strides + lacking, (size_t)t->ndim * sizeof *t->strides);
}

/* One that lacks first dimensions is repeated over them. */
Test(residual, repeated) {
    static const char *const repeating[] = {"layer_norm+residual", "rms_norm+residual",
                                            "bias_add+gelu"};
    for (int o = 0; o < 3; o++)
        for (int d = 0; d < float_dtype_count; d++)
            for (int k = 0; k < (small ? 3 : 6); k++) {
                const operation *const op = op_named(repeating[o]);
                const int64_t shape[] = {2, 3, 2, k < 3 ? 70 : 20000};
                const int lacking = k % 3 + 1, residual = residual_of(op);
                sample s = sample_of(op, float_dtypes[d], 4, shape);
                s.c.given |= OP_BIT(residual);
                s.least = least_result();
                sample_describe(&s);
                sample_make(&s);
                check_case("%s %s, %lld columns, %d dimensions less", op->name,
                           tdm_dtype_name(float_dtypes[d]), (long long)shape[3], lacking);
                drop_dimensions(s.operand[residual], lacking);
                sample_compare(&s);
                array_free_all();
            }
}

static tdm_status add(int which, const tdm_tensor *x, const tdm_tensor *residual, tdm_tensor *y) {
    if (which == 0) return tdm_layer_norm_residual(queue, x, NULL, NULL, 1e-5, residual, NULL, y);
    if (which == 1) return tdm_rms_norm(queue, x, NULL, 1e-5, residual, NULL, y);
    return tdm_bias_add(queue, x, NULL, TDM_ACTIVATION_GELU, residual, y);
}

/* First dimensions alone may lack, and a residual that is read again is not overwritten. */
Test(residual, that_does_not_fit) {
    static const int64_t shape[] = {1, 3, 3, 40}, rows[] = {2, 40};
    array *const x = array_new(TDM_F32, 3, shape + 1, NULL);
    array *const y = array_new(TDM_F32, 3, shape + 1, NULL);
    array *const wrong[] = {array_1d(TDM_F32, 3), array_new(TDM_F32, 2, rows, NULL),
                            array_new(TDM_F32, 4, shape, NULL)};
    tdm_tensor first;
    if (!OK(tdm_tensor_view(&y->t, 2, shape + 2, y->t.strides + 1, 0, &first))) return;
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < 3; i++)
            REFUSED(add(which, &x->t, &wrong[i]->t, &y->t), TDM_ERROR_INVALID_SHAPE, "x|residual");
        REFUSED(add(which, &x->t, &first, &y->t), TDM_ERROR_OVERLAP, "y|residual");
    }
    ARRAY_SAME(y);
    array_free_all();
}
