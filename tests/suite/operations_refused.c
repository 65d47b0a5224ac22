/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations refuse wrong arguments before they launch anything, as their pages have it: dtypes, shapes, layouts,
 * overlaps, NULL, numbers. Every message names the function and the argument. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "operations/list.h"
#include "support/sample.h"

TestSuite(refused, .init = device_open, .fini = device_close, TAGS("device kinds"));

enum { ROWS = 4, COLS = 6 };
static const int64_t shape[] = {ROWS, COLS};

static const char *words(const sample *s, const char *more) {
    static char text[160];
    snprintf(text, sizeof text, "%s: |%s", s->c.op->function, more);
    return text;
}

/* Nothing that the call would have written, or read, has changed; and all arrays are freed. */
static void untouched(const sample *s) {
    for (int i = 0; i < OP_OPERANDS; i++)
        if (s->operand[i]) ARRAY_SAME(s->operand[i]);
    array_free_all();
}

/* With all operands, of which the caller changes one. */
static sample all_of(const operation *op) {
    sample s = sample_of(op, TDM_F32, 2, shape);
    s.c.given = op_all(op);
    sample_make(&s);
    return s;
}

/* Calls with another tensor for one operand. */
static tdm_status call_with(const sample *s, int operand, tdm_tensor *other) {
    tdm_tensor *t[OP_OPERANDS];
    sample_tensors(s, t);
    t[operand] = other;
    return s->c.op->call(&s->c, queue, t);
}

#define EACH_OPERATION(op)                                                                         \
    const operation *op;                                                                           \
    for (size_t number = 0; (op = op_at(number)); number++)                                        \
        if (sample_runs_here(op, TDM_F32))
#define EACH_OPERAND(op, i)                                                                        \
    for (int i = 0; i < OP_OPERANDS; i++)                                                          \
        if ((op)->operand[i].name)

Test(refused, nulls) {
    EACH_OPERATION(op) {
        sample s = all_of(op);
        sample_describe(&s);
        tdm_tensor *t[OP_OPERANDS];
        sample_tensors(&s, t);
        REFUSED(op->call(&s.c, NULL, t), TDM_ERROR_INVALID_ARGUMENT, words(&s, "queue"));
        EACH_OPERAND(op, i) {
            if (op->operand[i].role & OP_OPTIONAL) continue;
            REFUSED(call_with(&s, i, NULL), TDM_ERROR_INVALID_ARGUMENT,
                    words(&s, op->operand[i].name));
        }
        untouched(&s);
    }
}

/* Operands without the one that they need. */
Test(refused, incomplete) {
    EACH_OPERATION(op) EACH_OPERAND(op, i) {
        if (!op->operand[i].needs) continue;
        sample s = sample_of(op, TDM_F32, 2, shape);
        s.c.given = op_all(op) & ~op->operand[i].needs;
        sample_describe(&s);
        sample_make(&s);
        REFUSED(sample_call(&s), TDM_ERROR_INVALID_ARGUMENT, words(&s, op->operand[i].name));
        untouched(&s);
    }
}

/* An operand of another dtype than the others, and all of one that is no float. */
Test(refused, dtypes) {
    const tdm_status no = TDM_ERROR_INVALID_DTYPE;
    EACH_OPERATION(op) {
        if (!op->in_tensor_type) continue;
        for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
            if (dtype_is_float((tdm_dtype)d)) continue;
            sample s = sample_of(op, (tdm_dtype)d, 2, shape);
            sample_describe(&s);
            sample_make(&s);
            REFUSED(sample_call(&s), no, words(&s, tdm_dtype_name((tdm_dtype)d)));
            untouched(&s);
        }
        sample s = all_of(op);
        int first = 0;
        while (!op->operand[first].name)
            first++;
        EACH_OPERAND(op, i) {
            if (i == first) continue;
            array *other = array_new(TDM_BF16, s.operand[i]->t.ndim, s.operand[i]->t.shape, NULL);
            check_case("%s with %s of bf16", op->name, op->operand[i].name);
            char more[64];
            snprintf(more, sizeof more, "%s is bf16|f32", op->operand[i].name);
            REFUSED(call_with(&s, i, &other->t), no, words(&s, more));
            ARRAY_SAME(other);
        }
        untouched(&s);
    }
}

/* The dimension of an operand that its page ties to another operand's; -1: none. */
static int tied_dimension(const operation *op, int operand) {
    if (op->operand[operand].extent != OP_ALL)
        return op_shape(&(op_case){.op = op, .ndim = 2}, operand, (int64_t[TDM_MAX_DIMS]){0}) - 1;
    int whole = 0;
    EACH_OPERAND(op, i) whole += op->operand[i].extent == OP_ALL;
    if (whole > 1) return 1;
    return op->unit == OP_BY_ROW ? 0 : op->unit == OP_BY_COLUMN ? 1 : -1;
}

/* One element more in a dimension. */
Test(refused, shapes) {
    EACH_OPERATION(op) EACH_OPERAND(op, i) {
        const int d = tied_dimension(op, i);
        if (d < 0) continue;
        sample s = all_of(op);
        int64_t extents[TDM_MAX_DIMS];
        memcpy(extents, s.operand[i]->t.shape, sizeof extents);
        extents[d]++;
        array *other = array_new(s.operand[i]->t.dtype, s.operand[i]->t.ndim, extents, NULL);
        check_case("%s with another shape of %s", op->name, op->operand[i].name);
        REFUSED(call_with(&s, i, &other->t), TDM_ERROR_INVALID_SHAPE, words(&s, ""));
        ARRAY_SAME(other);
        untouched(&s);
    }
}

/* Rows that are not adjacent elements, or have no common stride; outputs with repeated elements. */
Test(refused, layouts) {
    EACH_OPERATION(op) EACH_OPERAND(op, i) {
        const op_operand *const operand = &op->operand[i];
        if (operand->extent != OP_ALL) continue;
        sample s = all_of(op);
        array *column = array_new(TDM_F32, 2, shape, (int64_t[]){1, ROWS});
        array *repeated = array_new(s.operand[i]->t.dtype, 2, shape, (int64_t[]){0, 1});
        check_case("%s with another layout of %s", op->name, operand->name);
        if (op->layout != OP_ANY_STRIDES)
            REFUSED(call_with(&s, i, &column->t), TDM_ERROR_UNSUPPORTED, words(&s, operand->name));
        if (operand->role & OP_OUT)
            CHECK(call_with(&s, i, &repeated->t) != TDM_OK, "rows that are one and the same");
        ARRAY_SAME(column);
        ARRAY_SAME(repeated);
        untouched(&s);
        if (op->layout != OP_ADJACENT || op->unit == OP_WHOLE) continue;
        static const int64_t batch[] = {2, 2, COLS};
        s = sample_of(op, TDM_F32, 3, batch);
        sample_make(&s);
        array *uneven = array_new(TDM_F32, 3, batch, (int64_t[]){40, COLS, 1});
        if (s.operand[i])
            REFUSED(call_with(&s, i, &uneven->t), TDM_ERROR_UNSUPPORTED, words(&s, operand->name));
        untouched(&s);
    }
}

/* An output may be an input where its page says so; it overlaps none otherwise, and no other output. */
Test(refused, overlaps) {
    EACH_OPERATION(op) EACH_OPERAND(op, o) {
        const op_operand *const output = &op->operand[o];
        if (!(output->role & OP_OUT) || output->dtype == OP_GIVEN) continue;
        EACH_OPERAND(op, i) {
            const op_operand *const other = &op->operand[i];
            if (i == o || output->extent != OP_ALL || output->dtype != OP_SAME) continue;
            sample s = all_of(op);
            check_case("%s, %s overlaps %s", op->name, output->name, other->name);
            /* all elements of the one are among those of the other, but for a shift */
            array *both = array_new(TDM_F32, 2, (int64_t[]){ROWS + 1, COLS}, NULL);
            tdm_tensor *t[OP_OPERANDS], early = both->t, late;
            sample_tensors(&s, t);
            early.shape[0] = ROWS;
            late = early;
            late.offset++;
            tdm_tensor part = s.operand[i]->t;
            part.buffer = both->t.buffer;
            part.offset = both->t.offset + 1;
            t[o] = &early;
            t[i] = other->extent == OP_ALL ? &late : &part;
            REFUSED(op->call(&s.c, queue, t), TDM_ERROR_OVERLAP, words(&s, output->name));
            if (other->extent == OP_ALL && !(output->over & OP_BIT(i))) {
                t[i] = &early;
                CHECK(op->call(&s.c, queue, t) != TDM_OK, "in place");
            }
            ARRAY_SAME(both);
            untouched(&s);
        }
    }
}

/* Without tags: these tests are of lib/check.c, which is the same for every backend. */
TestSuite(neighbours, .init = device_open, .fini = device_close);

/* Views of one buffer without a common element are as good as others: rows after rows, columns next to columns. */
Test(neighbours, of_one_buffer) {
    EACH_OPERATION(op) {
        int output = -1;
        EACH_OPERAND(op, i) if (op->operand[i].role & OP_OUT) output = i;
        if (op->operand[output].extent != OP_ALL || op->operand[output].dtype != OP_SAME ||
            !op->operand[0].name || op->layout == OP_CONTIGUOUS ||
            (op->makes_kernel && number % 6 != 0) || !in_turn((int)number))
            continue;
        for (int columns = 0; columns < 2; columns++) {
            sample s = sample_of(op, TDM_F32, 2, shape);
            sample_make(&s);
            check_case("%s between neighbouring %s", op->name, columns ? "columns" : "rows");
            array *both = columns ? array_2d(TDM_F32, ROWS, 2 * COLS, 2 * COLS)
                                  : array_2d(TDM_F32, 2 * ROWS, COLS, COLS);
            array_uniform(both, 1, 2);
            tdm_tensor *t[OP_OPERANDS], x, to;
            sample_tensors(&s, t);
            OK(tdm_tensor_slice(&both->t, columns, 0, shape[columns], 1, &x));
            OK(tdm_tensor_slice(&both->t, columns, shape[columns], shape[columns], 1, &to));
            t[0] = &x;
            t[output] = &to;
            OK(op->call(&s.c, queue, t));
            array_free_all();
        }
    }
}

/* Rows of one element: the stride of their only column does not count. */
Test(neighbours, one_column) {
    static const int64_t column[] = {ROWS, 1};
    EACH_OPERATION(op) {
        if (op->layout != OP_ADJACENT || !in_turn((int)number)) continue;
        sample s = sample_of(op, TDM_F32, 2, column);
        sample_make(&s);
        tdm_tensor *t[OP_OPERANDS];
        sample_tensors(&s, t);
        check_case("%s", op->name);
        EACH_OPERAND(op, i)
        if (s.operand[i] && op->operand[i].extent == OP_ALL)
            t[i] = &array_new(t[i]->dtype, 2, column, (int64_t[]){2, 5})->t;
        OK(op->call(&s.c, queue, t));
        array_free_all();
    }
}

/* An output whose buffer is read-only. */
Test(refused, read_only) {
    EACH_OPERATION(op) EACH_OPERAND(op, i) {
        if (!(op->operand[i].role & OP_OUT)) continue;
        sample s = all_of(op);
        check_case("%s with a frozen %s", op->name, op->operand[i].name);
        tdm_buffer_freeze(s.operand[i]->t.buffer);
        REFUSED(sample_call(&s), TDM_ERROR_READ_ONLY, words(&s, op->operand[i].name));
        untouched(&s);
    }
}

Test(refused, numbers) {
    EACH_OPERATION(op) {
        if (!op->number.name || !op->operand[0].name) continue;
        const double bad[] = {(double)NAN, -1.0, 1e39};
        const int count = strcmp(op->number.name, "epsilon") == 0 ? 3 : 2;
        for (int i = 0; i < (op->number.may_be_negative ? 0 : count); i++) {
            sample s = all_of(op);
            s.c.number = bad[i];
            sample_describe(&s);
            REFUSED(sample_call(&s), TDM_ERROR_INVALID_ARGUMENT, words(&s, op->number.name));
            untouched(&s);
        }
    }
}

/* On a device without f64 arithmetic every operation that would compute with it refuses it, naming the argument. */
Test(refused, f64) {
    if (computes_with(TDM_F64)) {
        check_skip("the device computes with f64");
        return;
    }
    EACH_OPERATION(op) {
        sample s = sample_of(op, TDM_F64, 2, shape);
        sample_describe(&s);
        sample_make(&s);
        if (op->takes_f64) {
            OK(sample_call(&s));
            array_free_all();
        } else {
            REFUSED(sample_call(&s), TDM_ERROR_UNSUPPORTED, words(&s, "f64"));
            untouched(&s);
        }
    }
}
