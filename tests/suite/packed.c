/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Weights that are packed: products with them, and what refuses them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/folder.h"
#include "support/product.h"

TestSuite(packed, .init = device_open, .fini = device_close, TAGS("device"));

/* Below, at and above the rows of a tile and of a turn through the panels, and columns of one panel or some. */
static const int64_t row_counts[] = {1, 2, 5, 6, 7, 13, 14, 15, 29, 57, 115};
static const int64_t col_counts[] = {1, 7, 31, 32, 33, 64, 100}, k_counts[] = {1, 2, 17, 64, 129};
enum { ROWS = 11, COLS = 7, KS = 5 };

static array *random_2d(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t stride) {
    array *a = array_2d(dtype, rows, cols, stride);
    array_uniform(a, -1, 1);
    return a;
}

/* alpha, beta, bias, an activation, rows with gaps, a batch that shares the weight: by number. */
static void check_product(tdm_dtype dtype, int64_t m, int64_t n, int64_t k, int number) {
    const bool gaps = number % 2, has_bias = number % 3 != 0;
    array *a = random_2d(dtype, m, k, k + (gaps ? 3 : 0)), *w = random_2d(dtype, n, k, k);
    array *c = random_2d(dtype, m, n, n + (gaps ? 5 : 0)), *bias = array_1d(dtype, n);
    array_uniform(bias, -1, 1);
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    o.transpose_b = true;
    o.alpha = number % 4 == 3 ? 0.5 : 1;
    o.beta = number % 4 == 2 ? -0.25 : 0;
    o.bias = has_bias ? &bias->t : NULL;
    o.activation = (tdm_activation)(number % TDM_ACTIVATION_COUNT);
    if (o.beta == 0) array_constant(c, NAN);
    double *want, *bound;
    product_refer(&o, a, w, has_bias ? bias : NULL, c, &want, &bound);
    tdm_tensor packed;
    check_case("%s %lldx%lldx%lld, %d", tdm_dtype_name(dtype), (long long)m, (long long)n,
               (long long)k, number);
    if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
    CHECK(packed.ndim == 2 && packed.shape[0] == n && packed.shape[1] == k && packed.dtype == dtype,
          "another shape or dtype");
    OK(tdm_matmul(queue, &o, &a->t, &packed, &c->t));
    ARRAY_CHECK(c, want, bound);
    ARRAY_SAME(w);
    tdm_tensor_release(&packed);
    array_free_all();
}

Test(packed, product) {
    for (int d = 0, number = 0; d < float_dtype_count; d++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++)
                for (int k = 0; k < KS; k++, number++)
                    if (in_turn(number) && (!small || number % 7 == 0))
                        check_product(float_dtypes[d], row_counts[r], col_counts[c], k_counts[k],
                                      number);
}

/* Large enough for several threads; and the weight is a view whose columns are adjacent. */
Test(packed, large_and_strided) {
    for (int d = 0; d < float_dtype_count; d++) {
        const int64_t m = 70, n = 333, k = 150, strides[] = {1, 333}, shape[] = {333, 150};
        array *a = random_2d(float_dtypes[d], m, k, k), *c = array_2d(float_dtypes[d], m, n, n);
        array *w = array_new(float_dtypes[d], 2, shape, strides);
        array_uniform(w, -1, 1);
        tdm_tensor packed;
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
        OK(tdm_linear(queue, &a->t, &packed, NULL, TDM_ACTIVATION_NONE, &c->t));
        check_linear(a, w, NULL, TDM_ACTIVATION_NONE, c);
        tdm_tensor_release(&packed);
        array_free_all();
    }
}

/* A batch of two dimensions whose matrices have no common stride, with one packed weight. */
Test(packed, batches) {
    enum { B = 3, H = 2, M = 5, N = 40, K = 16 };
    const int64_t a_shape[] = {B, H, M, K}, a_strides[] = {H * M * K, K, H * K, 1};
    const int64_t c_shape[] = {B, H, M, N};
    array *a = array_new(TDM_F32, 4, a_shape, a_strides), *c = array_new(TDM_F32, 4, c_shape, NULL);
    array *w = random_2d(TDM_F32, N, K, K);
    array_uniform(a, -1, 1);
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    o.transpose_b = true;
    tdm_tensor packed;
    if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
    OK(tdm_matmul(queue, &o, &a->t, &packed, &c->t));
    check_linear(a, w, NULL, TDM_ACTIVATION_NONE, c);
    tdm_tensor_release(&packed);
}

/* In panels a row of C depends on its row of A alone. */
Test(packed, same_bits) {
    enum { M = 130, N = 70, K = 99 };
    const char *provider = "";
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const size_t row = N * tdm_dtype_size(dtype);
        array *a = random_2d(dtype, M, K, K), *c = array_2d(dtype, M, N, N);
        array *w = random_2d(dtype, N, K, K);
        unsigned char *all = malloc(M * row), *some = malloc(M * row);
        tdm_tensor packed, part, result;
        tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
        o.transpose_b = true;
        if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
        OK(tdm_matmul_provider(queue, &o, &a->t, &packed, &c->t, &provider));
        OK(tdm_matmul(queue, &o, &a->t, &packed, &c->t));
        OK(tdm_to_host(queue, &c->t, all));
        for (int64_t first = 0, count = 1; strcmp(provider, "panels") == 0 && first + count <= M;
             first += count, count++) {
            check_case("%s, %d rows from %d", tdm_dtype_name(dtype), (int)count, (int)first);
            OK(tdm_tensor_slice(&a->t, 0, first, count, 1, &part));
            OK(tdm_tensor_slice(&c->t, 0, first, count, 1, &result));
            OK(tdm_matmul(queue, &o, &part, &packed, &result));
            OK(tdm_to_host(queue, &result, some));
            CHECK(memcmp(some, all + (size_t)first * row, (size_t)count * row) == 0, "other bits");
        }
        free(all);
        free(some);
        tdm_tensor_release(&packed);
        array_free_all();
    }
}

/* Packed on return, and so is all that the queue was given before. */
Test(packed, complete) {
    tdm_event *event;
    OK(tdm_event_create(device, &event));
    for (int d = 0; d < float_dtype_count; d++) {
        array *w = random_2d(float_dtypes[d], 64, 64, 64);
        tdm_tensor packed;
        bool done = false;
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        OK(tdm_fill(queue, 1, &w->t));
        OK(tdm_queue_record_event(queue, event));
        if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
        OK(tdm_event_query(event, &done));
        CHECK(done, "what was before it is not done");
        tdm_tensor_release(&packed);
        array_free_all();
    }
    tdm_event_destroy(event);
}

/* A recorded product finds the weight, and what x holds by then. */
Test(packed, graph) {
    array *x = random_2d(TDM_F32, 4, 24, 24), *w = random_2d(TDM_F32, 40, 24, 24);
    array *y = array_2d(TDM_F32, 4, 40, 40);
    tdm_tensor packed, other;
    tdm_graph *graph = NULL;
    if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_pack_weight(queue, &w->t, &other), TDM_ERROR_INVALID_ARGUMENT, "recording");
    OK(tdm_linear(queue, &x->t, &packed, NULL, TDM_ACTIVATION_RELU, &y->t));
    if (!OK(tdm_graph_end(graph))) return;
    REFUSED(tdm_graph_set_buffer(graph, packed.buffer, w->t.buffer), TDM_ERROR_INVALID_ARGUMENT,
            "packed");
    for (int turn = 0; turn < 3; turn++) {
        array_uniform(x, -1, 1);
        OK(tdm_graph_replay(graph));
        check_linear(x, w, NULL, TDM_ACTIVATION_RELU, y);
    }
    tdm_graph_destroy(graph);
    tdm_tensor_release(&packed);
}

/* In a dict, for tdm_linear_apply; twice is as once. */
Test(packed, prepare) {
    array *x = random_2d(TDM_F32, 3, 20, 20), *y = array_2d(TDM_F32, 3, 50, 50);
    array *w = random_2d(TDM_F32, 50, 20, 20), *b = array_1d(TDM_F32, 50);
    tdm_state_dict *dict = NULL;
    tdm_tensor first, second;
    array_uniform(b, -1, 1);
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "fc.weight", &w->t));
    OK(tdm_state_dict_set(dict, "fc.bias", &b->t));
    OK(tdm_linear_prepare(queue, "fc.", dict));
    OK(tdm_state_dict_get(dict, "fc.weight", &first));
    OK(tdm_linear_prepare(queue, "fc.", dict));
    OK(tdm_state_dict_get(dict, "fc.weight", &second));
    CHECK(first.buffer == second.buffer && first.buffer != w->t.buffer, "packed again, or never");
    OK(tdm_linear_apply(queue, dict, "fc.", &x->t, TDM_ACTIVATION_GELU, &y->t));
    check_linear(x, w, b, TDM_ACTIVATION_GELU, y);
    REFUSED(tdm_linear_prepare(queue, "fd.", dict), TDM_ERROR_NOT_FOUND, "fd.weight|fc.weight");
    REFUSED(tdm_linear_prepare(NULL, "fc.", dict), TDM_ERROR_INVALID_ARGUMENT, "queue is NULL");
    REFUSED(tdm_linear_prepare(queue, NULL, dict), TDM_ERROR_INVALID_ARGUMENT, "prefix is NULL");
    REFUSED(tdm_linear_prepare(queue, "fc.", NULL), TDM_ERROR_INVALID_ARGUMENT, "dict");
    folder_make();
    REFUSED(tdm_save(queue, dict, folder_path("packed.safetensors"), NULL), TDM_ERROR_UNSUPPORTED,
            "packed");
    CHECK(folder_holds(""), "a file is left");
    folder_remove();
    tdm_state_dict *moved = NULL;
    REFUSED(tdm_state_dict_to(queue, dict, device, &moved), TDM_ERROR_UNSUPPORTED, "packed");
    tdm_state_dict_destroy(dict);
}

/* Products alone read it, as it was made. */
Test(packed, refusals) {
    const tdm_status unsupported = TDM_ERROR_UNSUPPORTED;
    array *w = random_2d(TDM_F32, 8, 8, 8), *x = random_2d(TDM_F32, 8, 8, 8);
    array *y = array_2d(TDM_F32, 8, 8, 8),
          *cube = array_new(TDM_F32, 3, (int64_t[]){2, 2, 2}, NULL);
    float host[64];
    tdm_tensor p, view;
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
    if (!OK(tdm_pack_weight(queue, &w->t, &p))) return;
    REFUSED(tdm_pack_weight(queue, &p, &view), unsupported, "weight is packed");
    REFUSED(tdm_pack_weight(queue, &cube->t, &view), TDM_ERROR_INVALID_SHAPE,
            "[2, 2, 2]|[out, in]");
    REFUSED(tdm_pack_weight(queue, &w->t, NULL), TDM_ERROR_INVALID_ARGUMENT, "packed is NULL");
    REFUSED(tdm_buffer_write(queue, p.buffer, 0, host, 4), TDM_ERROR_READ_ONLY, "read-only");
    REFUSED(tdm_add(queue, &x->t, &p, &y->t), unsupported, "b is packed|tdm_matmul");
    REFUSED(tdm_softmax(queue, &x->t, &p), unsupported, "y is packed");
    REFUSED(tdm_cast(queue, &p, &y->t), unsupported, "x is packed");
    REFUSED(tdm_to_host(queue, &p, host), unsupported, "x is packed");
    REFUSED(tdm_tensor_slice(&p, 0, 0, 4, 1, &view), unsupported, "packed");
    REFUSED(tdm_tensor_transpose(&p, 0, 1, &view), unsupported, "packed");
    REFUSED(tdm_matmul(queue, &o, &x->t, &p, &y->t), unsupported, "b is packed|transpose_b");
    o.transpose_b = true;
    REFUSED(tdm_matmul(queue, &o, &p, &w->t, &y->t), unsupported, "a is packed");
    REFUSED(tdm_matmul(queue, &o, &x->t, &w->t, &p), unsupported, "c is packed");
    o.transpose_a = true;
    REFUSED(tdm_matmul(queue, &o, &x->t, &p, &y->t), unsupported, "b is packed|adjacent");
    o.transpose_a = false;
    view = p;
    view.shape[0] = 4; /* not by a function that checks it */
    array *half = array_2d(TDM_F32, 8, 4, 4);
    REFUSED(tdm_matmul(queue, &o, &x->t, &view, &half->t), unsupported, "b is packed");
    const char *provider = "";
    OK(tdm_matmul_provider(queue, &o, &x->t, &p, &y->t, &provider));
    if (strcmp(provider, "panels") == 0)
        REFUSED(tdm_matmul_tune(queue, &o, &x->t, &p, &y->t, 0.0, &tuning), unsupported, "packed");
    tdm_tensor_release(&p);
}

/* Without rows, columns or inner extent. */
Test(packed, empty) {
    for (int which = 0; which < 3; which++) {
        const int64_t m = which == 0 ? 0 : 3, n = which == 1 ? 0 : 4, k = which == 2 ? 0 : 5;
        array *x = array_2d(TDM_F32, m, k, k), *w = array_2d(TDM_F32, n, k, k);
        array *y = array_2d(TDM_F32, m, n, n);
        double zeros[12] = {0};
        tdm_tensor packed;
        if (m * k > 0) array_uniform(x, -1, 1);
        if (n * k > 0) array_uniform(w, -1, 1);
        check_case("%lldx%lldx%lld", (long long)m, (long long)n, (long long)k);
        if (!OK(tdm_pack_weight(queue, &w->t, &packed))) return;
        OK(tdm_linear(queue, &x->t, &packed, NULL, TDM_ACTIVATION_NONE, &y->t));
        ARRAY_CHECK(y, zeros, NULL);
        tdm_tensor_release(&packed);
        array_free_all();
    }
}
