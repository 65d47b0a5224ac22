/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What operations refuse, before anything is launched: dtypes, shapes, layouts, overlaps, NULLs. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(refusals, .init = device_open, .fini = device_close);

/* An operation of one input and one output of the same shape. */
typedef tdm_status unary(const tdm_tensor *x, tdm_tensor *y);
static tdm_status do_bias_add(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_bias_add(queue, x, NULL, TDM_ACTIVATION_RELU, NULL, y);
}
static tdm_status do_layer_norm(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_layer_norm(queue, x, NULL, NULL, 1e-5, y);
}
static tdm_status do_rms_norm(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_rms_norm(queue, x, NULL, NULL, 1e-5, NULL, y);
}
static tdm_status do_l2_normalize(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_l2_normalize(queue, x, 1e-5, y);
}
static tdm_status do_softmax(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_softmax(queue, x, y);
}
static tdm_status do_scale(const tdm_tensor *x, tdm_tensor *y) {
    return tdm_scale(queue, 2.0, x, y);
}
static tdm_status do_add(const tdm_tensor *x, tdm_tensor *y) { return tdm_add(queue, x, x, y); }
static tdm_status do_cast(const tdm_tensor *x, tdm_tensor *y) { return tdm_cast(queue, x, y); }
static const struct {
    const char *name;
    unary *call;
    bool in_place, rows, mixes_dtypes;
} operations[] = {{"bias_add", do_bias_add, true, true, false},
                  {"layer_norm", do_layer_norm, true, true, false},
                  {"rms_norm", do_rms_norm, true, true, false},
                  {"l2_normalize", do_l2_normalize, true, true, false},
                  {"softmax", do_softmax, true, true, false},
                  {"scale", do_scale, true, false, false},
                  {"add", do_add, true, false, false},
                  {"cast", do_cast, false, false, true}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* Dtypes: integers are storage only, a mixture is refused; the message names the argument. */
Test(refusals, dtypes) {
    const tdm_status no = TDM_ERROR_INVALID_DTYPE;
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        if (dtype_is_float((tdm_dtype)d)) continue;
        array *x = array_2d((tdm_dtype)d, 4, 4, 4), *y = array_2d((tdm_dtype)d, 4, 4, 4);
        for (int i = 0; i < OPERATIONS; i++) {
            check_case("%s of %s", operations[i].name, tdm_dtype_name((tdm_dtype)d));
            if (operations[i].mixes_dtypes) continue;
            REFUSED(operations[i].call(&x->t, &y->t), no, tdm_dtype_name((tdm_dtype)d));
        }
        REFUSED(tdm_matmul(queue, NULL, &x->t, &x->t, &y->t), no, tdm_dtype_name((tdm_dtype)d));
        REFUSED(tdm_norm(queue, TDM_NORM_L2, &x->t, &y->t), no, tdm_dtype_name((tdm_dtype)d));
        ARRAY_SAME(y);
        array_free_all();
    }
    array *x = array_2d(TDM_F32, 4, 4, 4), *y = array_2d(TDM_F16, 4, 4, 4);
    array *w = array_1d(TDM_F64, 4), *z = array_2d(TDM_F32, 4, 4, 4);
    for (int i = 0; i < OPERATIONS; i++) {
        check_case("%s of f32 into f16", operations[i].name);
        if (operations[i].mixes_dtypes) continue;
        REFUSED(operations[i].call(&x->t, &y->t), no, "y|f16|f32");
    }
    check_case("mixtures");
    REFUSED(tdm_matmul(queue, NULL, &x->t, &y->t, &z->t), no, "b|f16|f32");
    REFUSED(tdm_matmul(queue, NULL, &x->t, &z->t, &y->t), no, "c|f16|f32");
    REFUSED(tdm_bias_add(queue, &x->t, &w->t, TDM_ACTIVATION_NONE, NULL, &z->t), no, "bias|f64");
    REFUSED(tdm_layer_norm(queue, &x->t, &w->t, NULL, 1e-5, &z->t), no, "weight|f64");
    REFUSED(tdm_rms_norm(queue, &x->t, &y->t, NULL, 1e-5, NULL, &z->t), no, "residual|f16");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &y->t, NULL, NULL, 1e-5, NULL, &z->t), no,
            "tdm_layer_norm_residual|residual|f16");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, &w->t, 1e-5, NULL, &z->t), no,
            "bias|f64");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, NULL, 1e-5, &y->t, &z->t), no,
            "sum|f16");
    REFUSED(tdm_batch_norm(queue, &x->t, &w->t, &w->t, NULL, NULL, 1e-5, &z->t), no, "mean|f64");
    ARRAY_SAME(y);
    ARRAY_SAME(z);
}

/* Shapes that do not fit, and layouts that rows cannot have. */
Test(refusals, shapes_and_layouts) {
    const tdm_status shape = TDM_ERROR_INVALID_SHAPE;
    array *x = array_2d(TDM_F32, 4, 6, 6), *y = array_2d(TDM_F32, 4, 5, 5);
    array *flat = array_1d(TDM_F32, 24), *five = array_1d(TDM_F32, 5);
    array *good = array_2d(TDM_F32, 4, 6, 6), *square = array_2d(TDM_F32, 4, 4, 4);
    array *repeated = array_new(TDM_F32, 2, (int64_t[]){4, 6}, (int64_t[]){0, 1});
    array_uniform(x, -1, 1);
    for (int i = 0; i < OPERATIONS; i++) {
        check_case("%s", operations[i].name);
        REFUSED(operations[i].call(&x->t, &y->t), shape, "y");
        REFUSED(operations[i].call(&x->t, &flat->t), shape, "y");
        CHECK(operations[i].call(&x->t, &repeated->t) != TDM_OK,
              "an output whose rows are one and the same was accepted");
    }
    check_case("matmul");
    REFUSED(tdm_matmul(queue, NULL, &x->t, &x->t, &square->t), shape, "6|4");
    REFUSED(tdm_matmul(queue, NULL, &square->t, &x->t, &y->t), shape, "c");
    REFUSED(tdm_matmul(queue, NULL, &square->t, &flat->t, &good->t), shape, "b");
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.bias = &five->t;
    REFUSED(tdm_matmul(queue, &options, &square->t, &x->t, &good->t), shape, "bias|5|6");
    options.bias = NULL;
    options.activation = (tdm_activation)50;
    REFUSED(tdm_matmul(queue, &options, &square->t, &x->t, &good->t), TDM_ERROR_INVALID_ARGUMENT,
            "activation");
    array *batch2 = array_new(TDM_F32, 3, (int64_t[]){2, 4, 4}, NULL);
    array *batch3 = array_new(TDM_F32, 3, (int64_t[]){3, 4, 4}, NULL);
    array *batch4 = array_new(TDM_F32, 3, (int64_t[]){3, 4, 4}, NULL);
    REFUSED(tdm_matmul(queue, NULL, &batch2->t, &batch3->t, &batch4->t), shape, NULL);
    REFUSED(tdm_matmul(queue, NULL, &batch3->t, &batch4->t, &batch2->t), shape, "c");
    array *other = array_2d(TDM_F32, 4, 4, 4);
    array *neither = array_new(TDM_F32, 2, (int64_t[]){4, 4}, (int64_t[]){10, 2});
    REFUSED(tdm_matmul(queue, NULL, &neither->t, &square->t, &other->t), TDM_ERROR_UNSUPPORTED,
            "a");
    check_case("vectors of the wrong length");
    REFUSED(tdm_layer_norm(queue, &x->t, &five->t, NULL, 1e-5, &good->t), shape, "weight|5|6");
    REFUSED(tdm_layer_norm(queue, &x->t, NULL, &five->t, 1e-5, &good->t), shape, "bias|5|6");
    REFUSED(tdm_rms_norm(queue, &x->t, NULL, &five->t, 1e-5, NULL, &good->t), shape, "weight|5|6");
    REFUSED(tdm_rms_norm(queue, &x->t, &y->t, NULL, 1e-5, NULL, &good->t), shape, "residual");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &y->t, NULL, NULL, 1e-5, NULL, &good->t), shape,
            "residual");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, NULL, 1e-5, &y->t, &good->t), shape,
            "sum");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, &five->t, NULL, 1e-5, NULL, &good->t),
            shape, "weight|5|6");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, &five->t, 1e-5, NULL, &good->t),
            shape, "bias|5|6");
    REFUSED(tdm_batch_norm(queue, &x->t, &five->t, &five->t, NULL, NULL, 1e-5, &good->t), shape,
            "mean|5|6");
    REFUSED(tdm_add(queue, &x->t, &y->t, &good->t), shape, "b");
    check_case("epsilon");
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    REFUSED(tdm_layer_norm(queue, &x->t, NULL, NULL, -1e-5, &good->t), invalid, "epsilon");
    REFUSED(tdm_layer_norm(queue, &x->t, NULL, NULL, (double)NAN, &good->t), invalid, "epsilon");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, NULL, -1e-5, NULL, &good->t),
            invalid, "epsilon");
    REFUSED(tdm_l2_normalize(queue, &x->t, -1.0, &good->t), invalid, "epsilon");
    check_case("sum without a residual, and sum on y");
    array *sum = array_2d(TDM_F32, 4, 6, 6);
    REFUSED(tdm_rms_norm(queue, &x->t, NULL, NULL, 1e-5, &sum->t, &good->t), invalid, "residual");
    CHECK(tdm_rms_norm(queue, &x->t, &x->t, NULL, 1e-5, &good->t, &good->t) != TDM_OK, "sum is y");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, NULL, NULL, NULL, 1e-5, &sum->t, &good->t),
            invalid, "residual");
    REFUSED(tdm_layer_norm_residual(queue, &x->t, &x->t, NULL, NULL, 1e-5, &good->t, &good->t),
            TDM_ERROR_OVERLAP, "sum|y");
    check_case("rows that are not adjacent elements, or have no common stride");
    array *column = array_new(TDM_F32, 2, (int64_t[]){4, 6}, (int64_t[]){1, 4});
    array *uneven = array_new(TDM_F32, 3, (int64_t[]){2, 2, 6}, (int64_t[]){40, 6, 1});
    array *dense = array_new(TDM_F32, 3, (int64_t[]){2, 2, 6}, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
        if (!operations[i].rows) continue;
        check_case("%s", operations[i].name);
        REFUSED(operations[i].call(&column->t, &good->t), TDM_ERROR_UNSUPPORTED, "x");
        REFUSED(operations[i].call(&uneven->t, &dense->t), TDM_ERROR_UNSUPPORTED, "x");
    }
    ARRAY_SAME(good);
    ARRAY_SAME(dense);
    ARRAY_SAME(square);
    ARRAY_SAME(y);
}

/* NULL where a tensor or the queue is needed. */
Test(refusals, nulls) {
    array *x = array_2d(TDM_F32, 4, 4, 4);
    const tdm_status no = TDM_ERROR_INVALID_ARGUMENT;
    tdm_tensor *t = &x->t;
    for (int i = 0; i < OPERATIONS; i++) {
        check_case("%s", operations[i].name);
        REFUSED(operations[i].call(NULL, t), no, NULL);
        REFUSED(operations[i].call(t, NULL), no, "y");
    }
    check_case("others");
    REFUSED(tdm_matmul(NULL, NULL, t, t, t), no, "queue");
    REFUSED(tdm_matmul(queue, NULL, NULL, t, t), no, "a");
    REFUSED(tdm_matmul(queue, NULL, t, NULL, t), no, "b");
    REFUSED(tdm_matmul(queue, NULL, t, t, NULL), no, "c");
    REFUSED(tdm_add(NULL, t, t, t), no, "queue");
    REFUSED(tdm_add(queue, t, NULL, t), no, "b");
    REFUSED(tdm_axpy(queue, 1.0, t, NULL), no, "y");
    REFUSED(tdm_fill(queue, 1.0, NULL), no, "y");
    REFUSED(tdm_norm(queue, TDM_NORM_L1, t, NULL), no, "out");
    REFUSED(tdm_row_norm(queue, TDM_NORM_L1, NULL, t), no, "x");
    REFUSED(tdm_batch_norm(queue, t, NULL, t, NULL, NULL, 0.1, t), no, "mean");
    REFUSED(tdm_batch_norm(queue, t, t, NULL, NULL, NULL, 0.1, t), no, "variance");
    REFUSED(tdm_softmax(NULL, t, t), no, "queue");
    ARRAY_SAME(x);
}

/* A view of x's buffer of the same shape, `shift` elements later. */
static tdm_tensor shifted(const array *x, int64_t shift) {
    tdm_tensor t = x->t;
    t.offset += shift;
    return t;
}

/* Overlaps: refused unless exactly the same view where in place is allowed; views of one buffer
 * that interleave without a common element are fine. */
Test(refusals, overlaps) {
    const tdm_status no = TDM_ERROR_OVERLAP;
    for (int i = 0; i < OPERATIONS; i++) {
        array *x = array_2d(TDM_F32, 8, 8, 8);
        array_uniform(x, -1, 1);
        tdm_tensor half = x->t, late = shifted(x, 1), other;
        half.shape[0] = 4;
        other = half;
        check_case("%s, overlapping by a shift", operations[i].name);
        late.shape[0] = 4;
        REFUSED(operations[i].call(&half, &late), no, "y");
        other.offset += 31;
        REFUSED(operations[i].call(&half, &other), no, "y");
        other.offset += 1;
        ARRAY_SAME(x);
        check_case("%s, next to each other", operations[i].name);
        OK(operations[i].call(&half, &other));
        check_case("%s, the left columns into the right ones", operations[i].name);
        tdm_tensor left, right, middle;
        OK(tdm_tensor_slice(&x->t, 1, 0, 4, 1, &left));
        OK(tdm_tensor_slice(&x->t, 1, 4, 4, 1, &right));
        OK(tdm_tensor_slice(&x->t, 1, 3, 4, 1, &middle));
        OK(operations[i].call(&left, &right));
        REFUSED(operations[i].call(&left, &middle), no, "y");
        check_case("%s in place", operations[i].name);
        if (operations[i].in_place)
            OK(operations[i].call(&x->t, &x->t));
        else
            REFUSED(operations[i].call(&x->t, &x->t), no, "y");
        array_free_all();
    }
    check_case("matmul");
    array *m = array_2d(TDM_F32, 8, 8, 8), *c = array_2d(TDM_F32, 8, 8, 8);
    array_uniform(m, -1, 1);
    array_uniform(c, -1, 1);
    REFUSED(tdm_matmul(queue, NULL, &m->t, &c->t, &m->t), no, "c|a");
    REFUSED(tdm_matmul(queue, NULL, &c->t, &m->t, &m->t), no, "c|b");
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_tensor row = tdm_tensor_1d(c->t.buffer, TDM_F32, 8);
    row.offset = c->t.offset + 8;
    options.bias = &row;
    REFUSED(tdm_matmul(queue, &options, &m->t, &m->t, &c->t), no, "c|bias");
    ARRAY_SAME(m);
    ARRAY_SAME(c);
    check_case("transposed in place is not the same view");
    tdm_tensor turned;
    OK(tdm_tensor_transpose(&m->t, 0, 1, &turned));
    REFUSED(tdm_scale(queue, 2.0, &turned, &m->t), no, "y");
    REFUSED(tdm_add(queue, &m->t, &turned, &m->t), no, "y");
    check_case("even into odd elements");
    tdm_tensor even, odd;
    OK(tdm_tensor_slice(&m->t, 1, 0, 4, 2, &even));
    OK(tdm_tensor_slice(&m->t, 1, 1, 4, 2, &odd));
    OK(tdm_scale(queue, 2.0, &even, &odd));
    check_case("weight and bias under the output, out under x");
    REFUSED(tdm_layer_norm(queue, &m->t, &row, NULL, 1e-5, &c->t), no, "y|weight");
    REFUSED(tdm_bias_add(queue, &m->t, &row, TDM_ACTIVATION_NONE, NULL, &c->t), no, "y|bias");
    REFUSED(tdm_row_norm(queue, TDM_NORM_L1, &c->t, &row), no, "out");
    array *r = array_2d(TDM_F32, 8, 8, 8);
    tdm_tensor later = shifted(r, 1);
    later.shape[0] = 7, r->t.shape[0] = 7;
    tdm_tensor m7 = m->t;
    m7.shape[0] = 7;
    REFUSED(tdm_rms_norm(queue, &m7, &m7, NULL, 1e-5, &r->t, &later), no, "sum|y");
    REFUSED(tdm_layer_norm_residual(queue, &m7, &m7, NULL, NULL, 1e-5, &r->t, &later), no, "sum|y");
    REFUSED(tdm_layer_norm_residual(queue, &m7, &later, NULL, NULL, 1e-5, NULL, &r->t), no,
            "y|residual");
    REFUSED(tdm_layer_norm_residual(queue, &m7, &later, NULL, NULL, 1e-5, &r->t, &m7), no,
            "sum|residual");
    r->t.shape[0] = 8;
}
