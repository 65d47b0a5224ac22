/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* TANDEM_VERIFY on cpu: which calls are compared, and what is said and kept of a library that lies. judge.sh has a
 * driver that does. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/random.h"

#include <tandem/tandem.h>

static char errors[4096], infos[4096];
static int wrong_lines;

static void take_line(tdm_log_level level, const char *line, void *user) {
    (void)user;
    wrong_lines += level == TDM_LOG_ERROR;
    if (level == TDM_LOG_ERROR) snprintf(errors, sizeof errors, "%s", line);
    if (level == TDM_LOG_INFO && strstr(line, "VERIFY")) snprintf(infos, sizeof infos, "%s", line);
}

static tdm_device *device;
static tdm_queue *queue;

/* A queue of cpu whose calls are verified. */
static void begin(const char *share) {
    OK(tdm_configure("TANDEM_VERIFY", share));
    tdm_set_log(TDM_LOG_INFO, take_line, NULL);
    OK(tdm_device_open("cpu", &device));
    OK(tdm_queue_create(device, 0, &queue));
}

/* How many calls were compared. */
static int end(void) {
    int count = 0;
    infos[0] = '\0';
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    (void)sscanf(infos, "TANDEM_VERIFY: %d", &count);
    return count;
}

static tdm_tensor filled(tdm_dtype dtype, int64_t rows, int64_t cols) {
    tdm_tensor x;
    tdm_generator generator = {.seed = random_bits()};
    OK(tdm_empty(queue, dtype, 2, (int64_t[]){rows, cols}, &x));
    OK(tdm_fill_uniform(queue, &generator, -2, 3, &x));
    return x;
}

TestSuite(verify, .init = random_start);

/* Of one head of 5 queries and keys: of large scores; causal, masked, and with a length. */
static void attend(tdm_dtype dtype, const tdm_tensor *x, const tdm_tensor *other, tdm_tensor mask,
                   const tdm_tensor *words, const tdm_tensor *result) {
    const tdm_tensor q = tdm_tensor_3d(x->buffer, dtype, 1, 5, 67);
    const tdm_tensor k = tdm_tensor_3d(other->buffer, dtype, 1, 5, 67);
    const tdm_tensor length = tdm_tensor_1d(words->buffer, TDM_I32, 1);
    tdm_tensor y = tdm_tensor_3d(result->buffer, dtype, 1, 5, 67);
    tdm_attention_options o = TDM_ATTENTION_OPTIONS_DEFAULTS;
    o.scale = -1;
    OK(tdm_attention(queue, &o, &q, &k, &k, &y));
    mask.shape[1] = 5;
    o.scale = 0, o.causal = true, o.mask = &mask, o.lengths = &length;
    OK(tdm_attention(queue, &o, &q, &k, &q, &y));
}

/* Of everything that the page says there is one call, also in place and of views, of each float. */
static void compare_all(tdm_dtype dtype) {
    tdm_tensor x = filled(dtype, 5, 67), other = filled(dtype, 5, 67), y = filled(dtype, 5, 67);
    tdm_tensor weight = filled(dtype, 1, 67), square = filled(dtype, 5, 5),
               words = filled(TDM_I32, 5, 67);
    tdm_tensor row = tdm_tensor_1d(weight.buffer, dtype, 67),
               rows = tdm_tensor_1d(square.buffer, dtype, 5);
    tdm_tensor all = tdm_tensor_1d(square.buffer, dtype, 1), turned = x, truths, places;
    tdm_softmax_options scaled = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    tdm_matmul_options product = TDM_MATMUL_OPTIONS_DEFAULTS;
    const int last = 1;
    OK(tdm_empty(queue, TDM_BOOL, 2, (int64_t[]){5, 67}, &truths));
    OK(tdm_empty(queue, TDM_I64, 1, (int64_t[]){5}, &places));
    turned.shape[0] = 67, turned.shape[1] = 5, turned.strides[0] = 1, turned.strides[1] = 67;
    scaled.mask = &other, scaled.scale = 0.3;
    product.transpose_b = true, product.alpha = -2, product.beta = 0.5, product.bias = &rows;
    product.activation = TDM_ACTIVATION_GELU;
    tdm_tensor c = filled(dtype, 5, 5), turned_copy = filled(dtype, 67, 5);
    tdm_status (*const of_one[])(tdm_queue *, const tdm_tensor *, tdm_tensor *) = {
        tdm_exp,       tdm_log1p, tdm_sin,  tdm_tanh,  tdm_erf, tdm_gelu,
        tdm_gelu_tanh, tdm_silu,  tdm_sqrt, tdm_rsqrt, tdm_neg, tdm_floor};
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        OK(of_one[i](queue, &x, &y));
    OK(tdm_layer_norm(queue, &x, &row, &row, 1e-5, &y));
    OK(tdm_layer_norm_residual(queue, &x, &row, NULL, 1e-5, &other, &x, &y));
    OK(tdm_rms_norm(queue, &x, &row, 1e-5, &other, &other, &y));
    OK(tdm_l2_normalize(queue, &y, 0, &y));
    OK(tdm_softmax(queue, &x, &y));
    OK(tdm_softmax_scaled(queue, &scaled, &y, &y));
    for (int i = 0; i < TDM_ACTIVATION_COUNT; i++)
        OK(tdm_bias_add(queue, &x, &row, (tdm_activation)i, &other, &y));
    OK(tdm_add(queue, &x, &row, &y));
    OK(tdm_mul(queue, &y, &x, &y));
    OK(tdm_scale(queue, -1.7, &x, &y));
    OK(tdm_axpy(queue, 0.3, &x, &y));
    OK(tdm_fma(queue, &x, &other, &y, &y));
    OK(tdm_div(queue, &x, &other, &y));
    OK(tdm_add(queue, &words, &words, &words));
    OK(tdm_less(queue, &x, &other, &truths));
    OK(tdm_where(queue, &truths, &x, &row, &y));
    OK(tdm_clamp(queue, &x, -0.1, 0.7, &y));
    OK(tdm_cast(queue, &turned, &turned_copy));
    OK(tdm_cast(queue, &x, &words));
    OK(tdm_flip(queue, &x, &last, 1, &y));
    OK(tdm_sum(queue, &x, NULL, 0, &all));
    OK(tdm_mean(queue, &x, &last, 1, &rows));
    OK(tdm_variance(queue, &x, &last, 1, 1, &rows));
    OK(tdm_dot(queue, &x, &other, &all));
    OK(tdm_cumsum(queue, &x, 0, &y));
    OK(tdm_max(queue, &x, &last, 1, &rows));
    OK(tdm_argmin(queue, &x, 1, &places));
    OK(tdm_norm(queue, TDM_NORM_L2, &x, &all));
    OK(tdm_row_norm(queue, TDM_NORM_INF, &x, &rows));
    OK(tdm_matmul(queue, &product, &x, &other, &c));
    OK(tdm_matmul(queue, NULL, &x, &turned, &c));
    attend(dtype, &x, &other, truths, &words, &y);
    for (int i = 0; i < 10; i++)
        tdm_tensor_release((tdm_tensor *[]){&x, &other, &y, &weight, &square, &words, &truths,
                                            &places, &c, &turned_copy}[i]);
}
enum { CALLS = 12 + 6 + TDM_ACTIVATION_COUNT + 13 + 9 + 2 + 2, FLOATS = 4 };

Test(verify, covers) {
    static const tdm_dtype floats[FLOATS] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    begin("1");
    for (int i = 0; i < FLOATS; i++) {
        check_case("%s", tdm_dtype_name(floats[i]));
        compare_all(floats[i]);
    }
    const int count = end();
    CHECK(count == FLOATS * CALLS && wrong_lines == 0, "%d compared, not %d; %s", count,
          FLOATS * CALLS, errors);
}

/* Results without a bound, or with another: a weight below the normal numbers times a large v, scores that overflow,
 * Inf, NaN. */
Test(verify, attention) {
    static const float cases[][6] = {/* q, two keys, their v */
                                     {10, 10, 0, 0, 1e30f},    {1e20f, 1e20f, -1e20f, 1, 2},
                                     {20, 10, 0, 1, INFINITY}, {1, NAN, 2, 3, 4},
                                     {1e3f, 1, 2, -1, 1},      {0, 1, 2, 1e38f, 1e38f}};
    begin("1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tdm_tensor q, k, v, y;
        tdm_attention_options o = TDM_ATTENTION_OPTIONS_DEFAULTS;
        check_case("case %zu", i);
        OK(tdm_from_host(queue, cases[i], TDM_F32, 3, (int64_t[]){1, 1, 1}, &q));
        OK(tdm_from_host(queue, cases[i] + 1, TDM_F32, 3, (int64_t[]){1, 2, 1}, &k));
        OK(tdm_from_host(queue, cases[i] + 3, TDM_F32, 3, (int64_t[]){1, 2, 1}, &v));
        OK(tdm_zeros(queue, TDM_F32, 3, (int64_t[]){1, 1, 1}, &y));
        o.scale = 1;
        OK(tdm_attention(queue, &o, &q, &k, &v, &y));
        for (int j = 0; j < 4; j++)
            tdm_tensor_release((tdm_tensor *[]){&q, &k, &v, &y}[j]);
    }
    const int count = end(), all = sizeof cases / sizeof *cases;
    CHECK(count == all && wrong_lines == 0, "%d compared, not %d; %s", count, all, errors);
}

/* Each product and each square is less than half of the smallest subnormal number, and 0; in the reference it isn't. */
Test(verify, faint_products) {
    enum { COUNT = 100000 };
    const int64_t rows[] = {1, COUNT}, columns[] = {COUNT, 1};
    tdm_matmul_options product = TDM_MATMUL_OPTIONS_DEFAULTS;
    tdm_tensor a, b, y;
    product.alpha = 1000;
    begin("1");
    OK(tdm_full(queue, 0x1p-76, TDM_F32, 2, rows, &a));
    OK(tdm_full(queue, 0x1p-76, TDM_F32, 2, columns, &b));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(1, 1), &y));
    tdm_tensor one = tdm_tensor_1d(y.buffer, TDM_F32, 1), other = b;
    other.shape[0] = 1, other.shape[1] = COUNT, other.strides[0] = COUNT, other.strides[1] = 1;
    OK(tdm_dot(queue, &a, &other, &one));
    OK(tdm_matmul(queue, &product, &a, &b, &y));
    a.shape[1] = COUNT / 2; /* half of the elements, so that not all are equal */
    OK(tdm_fill(queue, -0x1p-76, &a));
    a.shape[1] = COUNT;
    OK(tdm_variance(queue, &a, NULL, 0, 1, &one));
    for (int i = 0; i < 3; i++)
        tdm_tensor_release((tdm_tensor *[]){&a, &b, &y}[i]);
    const int count = end();
    CHECK(count == 3 && wrong_lines == 0, "%d compared, not 3; %s", count, errors);
}

/* Of 400 calls, at any place of a loop. */
Test(verify, share) {
    begin(".25");
    tdm_tensor x = filled(TDM_F32, 1, 8);
    for (int i = 0; i < 400; i++)
        OK(tdm_add(queue, &x, &x, &x));
    tdm_tensor_release(&x);
    const int count = end();
    CHECK(count >= 95 && count <= 105, "%d of 400", count);
}

/* A call that cannot be compared runs as without TANDEM_VERIFY. */
Test(verify, leaves_alone) {
    begin("1");
    tdm_tensor x = filled(TDM_F32, 4, 8), y = filled(TDM_F32, 4, 7), packed;
    tdm_graph *graph = NULL;
    REFUSED(tdm_add(queue, &x, &y, NULL), TDM_ERROR_INVALID_ARGUMENT, "y is NULL");
    REFUSED(tdm_add(queue, &x, &y, &y), TDM_ERROR_INVALID_SHAPE, "tdm_add");
    REFUSED(tdm_add(NULL, &x, &x, &x), TDM_ERROR_INVALID_ARGUMENT, "queue is NULL");
    OK(tdm_pack_weight(queue, &x, &packed));
    y.shape[1] = 4, y.strides[0] = 4;
    OK(tdm_linear(queue, &x, &packed, NULL, TDM_ACTIVATION_NONE, &y));
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_add(queue, &x, &x, &x));
    OK(tdm_graph_end(graph));
    OK(tdm_graph_replay(graph));
    tdm_graph_destroy(graph);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&packed);
    const int count = end();
    CHECK(count == 0 && wrong_lines == 0, "%d compared; %s", count, errors);
}

/* The named tensor of the file that a wrong call left. */
static void read_saved(tdm_file *file, const char *name, tdm_dtype dtype, int64_t count,
                       void *elements) {
    const tdm_file_entry *entry = NULL;
    tdm_tensor x;
    if (!OK(tdm_file_find(file, name, &entry))) return;
    CHECK(entry->dtype == dtype && entry->count == count, "%s is of %s, %lld elements", name,
          tdm_dtype_name(entry->dtype), (long long)entry->count);
    OK(tdm_empty(queue, dtype, 1, &count, &x));
    OK(tdm_file_read(queue, file, entry, 0, count, NULL, &x));
    OK(tdm_to_host(queue, &x, elements));
    tdm_tensor_release(&x);
}

/* A BLAS whose products are 0. */
static void use_wrong_blas(void) {
    OK(tdm_configure("TANDEM_LIBRARY_PATH", TEST_WRONG_BLAS));
    OK(tdm_configure("TANDEM_BLAS", "blis"));
}

Test(verify, library_that_lies) {
    static const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0.5f, -1, 2, 3, 0};
    char share[600], path[700], name[64];
    float kept[6], zeros[4];
    double expected[4];
    tdm_tensor at, bt, c;
    tdm_file *file = NULL;
    folder_make();
    use_wrong_blas();
    snprintf(share, sizeof share, "1:%s", folder_path(""));
    begin(share);
    OK(tdm_from_host(queue, a, TDM_F32, 2, (int64_t[]){2, 3}, &at));
    OK(tdm_from_host(queue, b, TDM_F32, 2, (int64_t[]){3, 2}, &bt));
    OK(tdm_zeros(queue, TDM_F32, 2, (int64_t[]){2, 2}, &c));
    tdm_tensor b_turned = bt; /* saved as it is seen: 1, -1, 3, 0.5, 2, 0 */
    b_turned.shape[0] = 2, b_turned.shape[1] = 3;
    b_turned.strides[0] = 1, b_turned.strides[1] = 2;
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    REFUSED(
        tdm_matmul(queue, &options, &at, &b_turned, &c), TDM_ERROR_BACKEND,
        "tdm_matmul: cpu:0 computes wrongly (TANDEM_VERIFY)|c[0, 0] is 0, and 8 on the host|may "
        "differ by|its operands are in |.safetensors");
    CHECK(wrong_lines == 1 && contains_words(errors, "computes wrongly|the device is "), "%s",
          errors);
    snprintf(name, sizeof name, "tandem-verify-%ld.safetensors", (long)getpid());
    snprintf(path, sizeof path, "%s", folder_path(name));
    if (OK(tdm_file_open(path, &file))) {
        read_saved(file, "a", TDM_F32, 6, kept);
        CHECK(memcmp(kept, a, sizeof a) == 0, "a is another");
        read_saved(file, "b", TDM_F32, 6, kept);
        CHECK(memcmp(kept, (float[]){1, -1, 3, 0.5f, 2, 0}, sizeof kept) == 0, "b is another");
        read_saved(file, "c.computed", TDM_F32, 4, zeros);
        CHECK(memcmp(zeros, (float[4]){0}, sizeof zeros) == 0, "c is not what was computed");
        read_saved(file, "c.expected", TDM_F64, 4, expected);
        CHECK(memcmp(expected, (double[]){8, 4.5, 17, 12}, sizeof expected) == 0,
              "c is not %g %g %g %g", expected[0], expected[1], expected[2], expected[3]);
        CHECK(strcmp(tdm_file_get_metadata(file, "function"), "tdm_matmul") == 0, "metadata");
    }
    tdm_file_destroy(file);
    /* the next one is an error, too, and leaves no other file */
    REFUSED(tdm_matmul(queue, NULL, &at, &bt, &c), TDM_ERROR_BACKEND, "the first one were saved");
    CHECK(folder_holds(name), "other files");
    for (int i = 0; i < 3; i++)
        tdm_tensor_release((tdm_tensor *[]){&at, &bt, &c}[i]);
    (void)end();
    folder_remove();
}

Test(verify, nowhere_to_save) {
    use_wrong_blas();
    begin("1:/nonexistent");
    tdm_tensor a = filled(TDM_F64, 3, 3), c = filled(TDM_F64, 3, 3);
    REFUSED(tdm_matmul(queue, NULL, &a, &a, &c), TDM_ERROR_BACKEND,
            "computes wrongly|could not be saved in /nonexistent/tandem-verify-|No such file");
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
    (void)end();
}
