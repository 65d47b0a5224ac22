/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Refusals of products, and of operations where operations_refused.c does not have them from a page. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "support/array.h"

TestSuite(refusals, .init = device_open, .fini = device_close, TAGS("device"));

static const tdm_status shape = TDM_ERROR_INVALID_SHAPE, dtype = TDM_ERROR_INVALID_DTYPE,
                        argument = TDM_ERROR_INVALID_ARGUMENT, overlap = TDM_ERROR_OVERLAP;

Test(refusals, dtypes_of_products) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        if (dtype_is_float((tdm_dtype)d)) continue;
        array *x = array_2d((tdm_dtype)d, 4, 4, 4), *y = array_2d((tdm_dtype)d, 4, 4, 4);
        check_case("a product of %s", tdm_dtype_name((tdm_dtype)d));
        REFUSED(tdm_matmul(queue, NULL, &x->t, &x->t, &y->t), dtype, tdm_dtype_name((tdm_dtype)d));
        ARRAY_SAME(y);
        array_free_all();
    }
    array *x = array_2d(TDM_F32, 4, 4, 4), *y = array_2d(TDM_F16, 4, 4, 4);
    array *z = array_2d(TDM_F32, 4, 4, 4);
    check_case("mixtures");
    REFUSED(tdm_matmul(queue, NULL, &x->t, &y->t, &z->t), dtype, "b|f16|f32");
    REFUSED(tdm_matmul(queue, NULL, &x->t, &z->t, &y->t), dtype, "c|f16|f32");
    ARRAY_SAME(y);
    ARRAY_SAME(z);
}

Test(refusals, shapes_of_products) {
    array *x = array_2d(TDM_F32, 4, 6, 6), *y = array_2d(TDM_F32, 4, 5, 5);
    array *flat = array_1d(TDM_F32, 24), *five = array_1d(TDM_F32, 5);
    array *good = array_2d(TDM_F32, 4, 6, 6), *square = array_2d(TDM_F32, 4, 4, 4);
    REFUSED(tdm_matmul(queue, NULL, &x->t, &x->t, &square->t), shape,
            "a [4, 6], b [4, 6] and c [4, 4] do not fit: a has 6 columns and b 4 rows");
    REFUSED(tdm_matmul(queue, NULL, &square->t, &x->t, &y->t), shape, "c must end in [4, 6]");
    REFUSED(tdm_matmul(queue, NULL, &square->t, &flat->t, &good->t), shape, "b");
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.bias = &five->t;
    REFUSED(tdm_matmul(queue, &options, &square->t, &x->t, &good->t), shape, "bias|5|6");
    options.bias = NULL;
    options.activation = (tdm_activation)50;
    REFUSED(tdm_matmul(queue, &options, &square->t, &x->t, &good->t), argument, "activation");
    array *batch2 = array_new(TDM_F32, 3, (int64_t[]){2, 4, 4}, NULL);
    array *batch3 = array_new(TDM_F32, 3, (int64_t[]){3, 4, 4}, NULL);
    array *batch4 = array_new(TDM_F32, 3, (int64_t[]){3, 4, 4}, NULL);
    REFUSED(tdm_matmul(queue, NULL, &batch2->t, &batch3->t, &batch4->t), shape, NULL);
    REFUSED(tdm_matmul(queue, NULL, &batch3->t, &batch4->t, &batch2->t), shape, "c");
    array *other = array_2d(TDM_F32, 4, 4, 4);
    array *neither = array_new(TDM_F32, 2, (int64_t[]){4, 4}, (int64_t[]){10, 2});
    REFUSED(tdm_matmul(queue, NULL, &neither->t, &square->t, &other->t), TDM_ERROR_UNSUPPORTED,
            "a");
    ARRAY_SAME(good);
    ARRAY_SAME(square);
    ARRAY_SAME(y);
}

Test(refusals, operands_of_products) {
    array *m = array_2d(TDM_F32, 8, 8, 8), *c = array_2d(TDM_F32, 8, 8, 8);
    tdm_tensor *t = &m->t;
    REFUSED(tdm_matmul(NULL, NULL, t, t, &c->t), argument, "queue");
    REFUSED(tdm_matmul(queue, NULL, NULL, t, &c->t), argument, "a");
    REFUSED(tdm_matmul(queue, NULL, t, NULL, &c->t), argument, "b");
    REFUSED(tdm_matmul(queue, NULL, t, t, NULL), argument, "c");
    REFUSED(tdm_matmul(queue, NULL, &m->t, &c->t, &m->t), overlap, "c|a");
    REFUSED(tdm_matmul(queue, NULL, &c->t, &m->t, &m->t), overlap, "c|b");
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_tensor row = tdm_tensor_1d(c->t.buffer, TDM_F32, 8);
    row.offset = c->t.offset + 8;
    options.bias = &row;
    REFUSED(tdm_matmul(queue, &options, &m->t, &m->t, &c->t), overlap, "c|bias");
    ARRAY_SAME(m);
    ARRAY_SAME(c);
}

/* A transposed view in place is not the same view; even elements and odd ones, and blocks of columns, have none in
 * common, transposed or not. */
Test(refusals, views_of_one_matrix) {
    array *m = array_2d(TDM_F32, 8, 8, 8);
    tdm_tensor turned, even, odd, left, right, left_turned, right_turned;
    array_uniform(m, -1, 1);
    OK(tdm_tensor_transpose(&m->t, 0, 1, &turned));
    REFUSED(tdm_scale(queue, 2.0, &turned, &m->t), overlap, "y");
    REFUSED(tdm_add(queue, &m->t, &turned, &m->t), overlap, "y");
    ARRAY_SAME(m);
    OK(tdm_tensor_slice(&m->t, 1, 0, 4, 2, &even));
    OK(tdm_tensor_slice(&m->t, 1, 1, 4, 2, &odd));
    OK(tdm_scale(queue, 2.0, &even, &odd));
    OK(tdm_tensor_slice(&m->t, 1, 0, 4, 1, &left));
    OK(tdm_tensor_slice(&m->t, 1, 4, 4, 1, &right));
    OK(tdm_tensor_slice(&left, 0, 0, 4, 1, &left));
    OK(tdm_tensor_slice(&right, 0, 2, 4, 1, &right));
    OK(tdm_tensor_transpose(&left, 0, 1, &left_turned));
    OK(tdm_tensor_transpose(&right, 0, 1, &right_turned));
    OK(tdm_scale(queue, 2.0, &right_turned, &left));
    OK(tdm_scale(queue, 2.0, &right, &left_turned));
    OK(tdm_scale(queue, 2.0, &right_turned, &left_turned));
    OK(tdm_tensor_slice(&m->t, 1, 3, 4, 1, &right));
    OK(tdm_tensor_slice(&right, 0, 2, 4, 1, &right));
    OK(tdm_tensor_transpose(&right, 0, 1, &right_turned));
    REFUSED(tdm_scale(queue, 2.0, &right_turned, &left), overlap, "y");
}

/* Numbers of an enumeration that it does not have, and 16-bit norms of 16 bits. */
Test(refusals, kinds_and_norms) {
    array *x = array_2d(TDM_F32, 4, 5, 5), *four = array_1d(TDM_F32, 4);
    array *half = array_2d(TDM_F16, 4, 5, 5), *half_out = array_1d(TDM_F16, 4);
    array *y = array_2d(TDM_F32, 4, 5, 5);
    REFUSED(tdm_row_norm(queue, (tdm_norm_kind)7, &x->t, &four->t), argument, "kind|7");
    REFUSED(tdm_bias_add(queue, &x->t, NULL, (tdm_activation)99, NULL, &y->t), argument,
            "activation|99");
    ARRAY_SAME(four);
    ARRAY_SAME(y);
    check_case("an f16 norm of f16");
    array_constant(half, 2.0);
    const double tens[4] = {10.0, 10.0, 10.0, 10.0};
    OK(tdm_row_norm(queue, TDM_NORM_L1, &half->t, &half_out->t));
    ARRAY_CHECK(half_out, tens, NULL);
}

/* One element that strides of 0 repeat so often that a copy's size does not fit in 64 bits. */
Test(refusals, copies_past_64_bits) {
    array *one = array_1d(TDM_F32, 1), *y = array_1d(TDM_F32, 1);
    array *place = array_1d(TDM_I64, 1);
    tdm_tensor x, packed;
    const tdm_status range = TDM_ERROR_OUT_OF_RANGE;
    const bool verifies = getenv("TANDEM_VERIFY");
    const tdm_status status = verifies ? TDM_ERROR_OUT_OF_MEMORY : range;
    const char *const why = verifies ? "to verify" : "64 bits";
    array_constant(one, 1);
    array_integers(place, 0, 0);
    OK(tdm_tensor_view(&one->t, TDM_SHAPE(1 << 30, 1 << 30, 4), (int64_t[]){0, 0, 0}, 0, &x));
    REFUSED(tdm_sum(queue, &x, NULL, 0, &y->t), status, why);
    REFUSED(tdm_norm(queue, TDM_NORM_L2, &x, &y->t), status, why);
    REFUSED(tdm_dot(queue, &x, &x, &y->t), status, why);
    REFUSED(tdm_max(queue, &x, NULL, 0, &y->t), status, why);
    OK(tdm_tensor_view(&one->t, TDM_SHAPE(INT64_C(1) << 62), (int64_t[]){0}, 0, &x));
    REFUSED(tdm_take_along_axis(queue, &x, &place->t, 0, &y->t), range, "64 bits");
    OK(tdm_tensor_view(&one->t, TDM_SHAPE(1 << 30, INT64_C(1) << 32), (int64_t[]){0, 0}, 0, &x));
    REFUSED(tdm_pack_weight(queue, &x, &packed), range, "64 bits");
    ARRAY_SAME(y);
}
