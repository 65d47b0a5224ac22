/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

sample sample_of(const operation *op, tdm_dtype dtype, int ndim, const int64_t *shape) {
    sample s = {.c = {.op = op,
                      .dtype = dtype,
                      .ndim = ndim,
                      .given = op_usual(op),
                      .number = op->number.usual}};
    memcpy(s.c.shape, shape, (size_t)ndim * sizeof *shape);
    for (int i = 0; i < OP_OPERANDS; i++)
        s.on[i] = -1;
    return s;
}

bool sample_runs_here(const operation *op, tdm_dtype dtype) {
    const op_case c = {.op = op, .dtype = dtype};
    for (int i = 0; i < OP_OPERANDS; i++) {
        const tdm_dtype of = op_dtype_of(&c, i);
        if (op->operand[i].name && dtype_is_float(of) && !computes_with(of)) return false;
    }
    return true;
}

/* --- ways to call it ---------------------------------------------------------------------------- */

/* Counts the ways; with `number` it stops at that one, which s has then. */
static int look_for_way(const operation *op, int number, sample *s) {
    int outputs[OP_OPERANDS], count = 0, ways = 0;
    for (int i = 0; i < OP_OPERANDS; i++)
        if (op->operand[i].role & OP_OUT) outputs[count++] = i;
    for (unsigned given = op_all(op);; given = (given - 1) & op_all(op)) {
        /* each output apart or on any operand: a number of digits */
        int most = 1;
        for (int k = 0; k < count; k++)
            most *= OP_OPERANDS + 1;
        for (int places = 0; places < most && op_allows(op, given); places++) {
            int on[OP_OPERANDS], rest = places;
            unsigned taken = 0;
            bool right = true;
            memset(on, -1, sizeof on);
            for (int k = 0; k < count; k++, rest /= OP_OPERANDS + 1) {
                const int place = rest % (OP_OPERANDS + 1) - 1, o = outputs[k];
                if (place < 0) continue;
                right = right && (given & OP_BIT(o)) &&
                        (given & op->operand[o].over & ~taken & OP_BIT(place));
                taken |= OP_BIT(place);
                on[o] = place;
            }
            if (!right) continue;
            if (s && ways == number) {
                s->c.given = given;
                memcpy(s->on, on, sizeof on);
                return ways;
            }
            ways++;
        }
        if (given == 0) return ways;
    }
}

int sample_ways(const operation *op) { return look_for_way(op, 0, NULL); }

void sample_set_way(sample *s, int number) { look_for_way(s->c.op, number, s); }

/* --- arrays --------------------------------------------------------------------------------------- */

static array *make_array(const sample *s, int i) {
    const op_operand *const operand = &s->c.op->operand[i];
    int64_t shape[TDM_MAX_DIMS], strides[TDM_MAX_DIMS];
    const int ndim = op_shape(&s->c, i, shape);
    if (operand->extent != OP_ALL) return array_new(op_dtype_of(&s->c, i), ndim, shape, NULL);
    if (s->gap < 0)
        return array_any_strides(op_dtype_of(&s->c, i), ndim, shape, !(operand->role & OP_OUT));
    /* another gap for each */
    int64_t next = shape[ndim - 1] + s->gap * (1 + i % 3);
    strides[ndim - 1] = 1;
    for (int d = ndim - 2; d >= 0; d--) {
        strides[d] = next;
        next *= shape[d];
    }
    return array_new(op_dtype_of(&s->c, i), ndim, shape, strides);
}

/* Every row has usual numbers but the last one, or, for operations by column, the last column; in the first two
 * operands, if they are of the case's shape. */
static void fill_array(const sample *s, int i) {
    const op_operand *const operand = &s->c.op->operand[i];
    array *a = s->operand[i];
    if (operand->whole)
        array_integers(a, (int64_t)operand->low, (int64_t)operand->high);
    else
        array_uniform(a, operand->low, operand->high);
    if (s->what == PLAIN || operand->extent != OP_ALL || a->count == 0 || i > 1) return;
    const bool columns = s->c.op->unit == OP_BY_COLUMN;
    const int64_t n = columns ? op_rows(&s->c) : op_cols(&s->c),
                  step = columns ? op_cols(&s->c) : 1;
    double *line = numbers(n);
    fill_row(s->c.dtype, s->what, operand->low, operand->high, n, line);
    for (int64_t j = 0; j < n; j++)
        a->v[a->count - 1 - (n - 1 - j) * step] = line[j];
    array_set(a, a->v);
}

void sample_make(sample *s) {
    for (int i = 0; i < OP_OPERANDS; i++) {
        s->operand[i] = NULL;
        if (!(s->c.given & OP_BIT(i)) || s->on[i] >= 0) continue;
        s->operand[i] = make_array(s, i);
        if (s->c.op->operand[i].role & OP_IN) fill_array(s, i);
    }
    for (int i = 0; i < OP_OPERANDS; i++)
        if (s->on[i] >= 0) s->operand[i] = s->operand[s->on[i]];
}

void sample_describe(const sample *s) {
    char text[320];
    size_t length = 0;
#define ADD(...)                                                                                   \
    do {                                                                                           \
        if (length < sizeof text)                                                                  \
            length += (size_t)snprintf(text + length, sizeof text - length, __VA_ARGS__);          \
    } while (0)
    ADD("%s %s", tdm_dtype_name(s->c.dtype), s->c.op->name);
    for (int d = 0; d < s->c.ndim; d++)
        ADD("%c%lld", d ? 'x' : ' ', (long long)s->c.shape[d]);
    if (s->gap < 0) ADD(" any strides");
    if (s->gap > 0) ADD(" gap %lld", (long long)s->gap);
    if (s->what != PLAIN) ADD(", %s", content_names[s->what]);
    if (s->c.op->number.name) ADD(", %s %g", s->c.op->number.name, s->c.number);
    for (int i = 0; i < OP_OPERANDS; i++) {
        const op_operand *const operand = &s->c.op->operand[i];
        if (operand->name && !(s->c.given & OP_BIT(i))) ADD(", no %s", operand->name);
        if (s->on[i] >= 0) ADD(", %s on %s", operand->name, s->c.op->operand[s->on[i]].name);
    }
#undef ADD
    check_case("%s", text);
}

/* --- calling and comparing ------------------------------------------------------------------------ */

void sample_tensors(const sample *s, tdm_tensor **t) {
    for (int i = 0; i < OP_OPERANDS; i++)
        t[i] = s->operand[i] ? &s->operand[i]->t : NULL;
}

tdm_status sample_call(const sample *s) {
    tdm_tensor *t[OP_OPERANDS];
    sample_tensors(s, t);
    return s->c.op->call(&s->c, queue, t);
}

void sample_refer(const sample *s, int output, double **want, double **bound) {
    const operation *const op = s->c.op;
    const int64_t count = s->operand[output]->count;
    op_part p = {.c = &s->c, .rows = op_rows(&s->c), .cols = op_cols(&s->c)};
    if (op->unit == OP_WHOLE) {
        p.cols *= p.rows;
        p.rows = 1;
    }
    for (int i = 0; i < OP_OPERANDS; i++)
        if (s->operand[i] && (op->operand[i].role & OP_IN)) p.x[i] = s->operand[i]->v;
    p.y[output] = *want = numbers(count);
    p.bound[output] = *bound = numbers(count);
    p.scratch = numbers(p.cols);
    op->reference(&p);
    const tdm_dtype dtype = op_dtype_of(&s->c, output);
    for (int64_t j = 0; j < count; j++) {
        double *const y = &(*want)[j], *const error = &(*bound)[j];
        if (isfinite(*y)) *error += s->least;
        const double nearest = fabs(*y) - *error;
        if (!dtype_is_float(dtype) || !(nearest > 0.0) || isfinite(rounded(dtype, nearest)))
            continue;
        *y = copysign((double)INFINITY, *y); /* it does not fit the dtype */
        *error = 0.0;
    }
}

bool sample_compare(sample *s) {
    double *want[OP_OPERANDS], *bound[OP_OPERANDS];
    unsigned written = 0;
    for (int i = 0; i < OP_OPERANDS; i++)
        if (s->operand[i] && (s->c.op->operand[i].role & OP_OUT)) {
            sample_refer(s, i, &want[i], &bound[i]);
            written |= OP_BIT(s->on[i] >= 0 ? s->on[i] : i);
        }
    bool right = OK(sample_call(s));
    for (int i = 0; i < OP_OPERANDS && right; i++) {
        if (!s->operand[i]) continue;
        if (s->c.op->operand[i].role & OP_OUT)
            right = ARRAY_CHECK(s->operand[i], want[i], bound[i]);
        else if (!(written & OP_BIT(i)))
            right = ARRAY_SAME(s->operand[i]);
    }
    return right;
}

bool sample_check(sample *s) {
    sample_describe(s);
    sample_make(s);
    const bool right = sample_compare(s);
    array_free_all();
    return right;
}
