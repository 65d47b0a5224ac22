/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The linear layer, and one function on several devices. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/philox.h"
#include "support/product.h"

TestSuite(layers, .init = device_open, .fini = device_close, TAGS("device"));

/* Parameters as PyTorch's nn.Linear has them, from one stream: the weight, then the bias. */
Test(layers, linear_parameters) {
    for (int d = 0; d < float_dtype_count; d++) {
        tdm_dtype dtype = float_dtypes[d];
        tdm_generator generator = {random_bits(), 100};
        tdm_state_dict *dict = NULL;
        tdm_tensor weight, bias;
        check_case("%s, seed %llu", tdm_dtype_name(dtype), (unsigned long long)generator.seed);
        uint64_t seed = generator.seed;
        OK(tdm_state_dict_create(&dict));
        if (!OK(tdm_linear_create(queue, &generator, "fc.", 9, 5, true, dtype, dict))) continue;
        CHECK(generator.next == 150, "next is %llu", (unsigned long long)generator.next);
        CHECK(tdm_state_dict_get_count(dict) == 2, "%zu parameters",
              tdm_state_dict_get_count(dict));
        OK(tdm_state_dict_get(dict, "fc.weight", &weight));
        OK(tdm_state_dict_get(dict, "fc.bias", &bias));
        CHECK(weight.ndim == 2 && weight.shape[0] == 5 && weight.shape[1] == 9 && bias.ndim == 1 &&
                  bias.shape[0] == 5 && weight.dtype == dtype && bias.dtype == dtype,
              "other shapes or dtypes");
        unsigned char got[50 * 8], want[8];
        size_t size = tdm_dtype_size(dtype);
        OK(tdm_to_host(queue, &weight, got));
        OK(tdm_to_host(queue, &bias, got + 45 * size));
        for (int i = 0; i < 50; i++) {
            philox_uniform(seed, 100 + (uint64_t)i, dtype, -1.0 / 3, 1.0 / 3, want);
            CHECK(memcmp(got + (size_t)i * size, want, size) == 0, "parameter %d", i);
        }
        OK(tdm_linear_create(queue, &generator, "", 1, 1, false, dtype, dict));
        CHECK(tdm_state_dict_get_count(dict) == 3, "without a bias: %zu",
              tdm_state_dict_get_count(dict));
        tdm_state_dict_destroy(dict);
    }
}

/* y = activation(x wᵀ + b) for x of one to three dimensions. */
Test(layers, linear) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int turn = 0; turn < 4; turn++) {
            tdm_dtype dtype = float_dtypes[d];
            const int64_t in = turn == 1 ? 1 : 33, out = turn == 2 ? 1 : 20;
            const int64_t x_shape[] = {3, 7, in}, y_shape[] = {3, 7, out};
            int skip = turn == 3 ? 2 : turn == 0 ? 0 : 1; /* dimensions left out */
            array *x = array_new(dtype, 3 - skip, x_shape + skip, NULL);
            array *w = array_2d(dtype, out, in, in), *b = array_1d(dtype, out);
            array *y = array_new(dtype, 3 - skip, y_shape + skip, NULL);
            array_uniform(x, -1, 1);
            array_uniform(w, -1, 1);
            array_uniform(b, -1, 1);
            const array *const bias = turn == 2 ? NULL : b;
            const tdm_activation activation = turn ? TDM_ACTIVATION_NONE : TDM_ACTIVATION_RELU;
            check_case("%s, turn %d", tdm_dtype_name(dtype), turn);
            OK(tdm_linear(queue, &x->t, &w->t, bias ? &bias->t : NULL, activation, &y->t));
            check_linear(x, w, bias, activation, y);
            if (x->t.ndim > 1) {
                tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
                o.transpose_b = true;
                o.bias = bias ? &bias->t : NULL;
                o.activation = activation;
                check_case("%s, turn %d, by tdm_matmul", tdm_dtype_name(dtype), turn);
                const unsigned char *const bits = array_bytes(y);
                array_constant(y, 0);
                OK(tdm_matmul(queue, &o, &x->t, &w->t, &y->t));
                CHECK(memcmp(bits, array_bytes(y), y->bytes) == 0, "other bits");
            }
            tdm_state_dict *dict = NULL;
            array_constant(y, 0);
            OK(tdm_state_dict_create(&dict));
            OK(tdm_state_dict_set(dict, "net.0.weight", &w->t));
            if (turn != 2) OK(tdm_state_dict_set(dict, "net.0.bias", &b->t));
            OK(tdm_linear_apply(queue, dict, "net.0.", &x->t, activation, &y->t));
            check_linear(x, w, bias, activation, y);
            tdm_state_dict_destroy(dict);
            array_free_all();
        }
    }
}

/* The mean of each text's rows that a mask has, whatever the others hold, as docs/arrays.md does it. */
Test(layers, mean_over_a_mask) {
    enum { TEXTS = 3, ROWS = 7, COLS = 10 };
    static const int64_t shape[] = {TEXTS, ROWS, COLS}, mask_shape[] = {TEXTS, ROWS, 1};
    static const int64_t y_shape[] = {TEXTS, COLS}, count_shape[] = {TEXTS, 1};
    const int rows = 1;
    array *const x = array_new(TDM_F32, 3, shape, NULL), *const zero = array_1d(TDM_F32, 1);
    array *const kept = array_new(TDM_F32, 3, shape, NULL);
    array *const mask = array_new(TDM_BOOL, 3, mask_shape, NULL);
    array *const y = array_new(TDM_F32, 2, y_shape, NULL);
    array *const counts = array_new(TDM_I64, 2, count_shape, NULL);
    double *const want = numbers(y->count), *const bound = numbers(y->count);
    array_uniform(x, -3, 5);
    array_constant(zero, 0);
    for (int64_t i = 0; i < mask->count; i++) {
        const int64_t text = i / ROWS;
        mask->v[i] = i % ROWS == text || random_integer(0, 1);
        for (int64_t j = 0; j < COLS; j++)
            if (mask->v[i] > 0)
                want[text * COLS + j] += x->v[i * COLS + j];
            else
                x->v[i * COLS + j] = (double)NAN;
    }
    for (int64_t i = 0; i < y->count; i++) {
        double count = 0;
        for (int64_t j = 0; j < ROWS; j++)
            count += mask->v[i / COLS * ROWS + j];
        want[i] /= count;
        bound[i] = 8 * ROWS * 5 * dtype_eps(TDM_F32);
    }
    array_set(x, x->v);
    array_set(mask, mask->v);
    OK(tdm_where(queue, &mask->t, &x->t, &zero->t, &kept->t));
    OK(tdm_sum(queue, &kept->t, &rows, 1, &y->t));
    OK(tdm_sum(queue, &mask->t, &rows, 1, &counts->t));
    OK(tdm_div(queue, &y->t, &counts->t, &y->t));
    ARRAY_CHECK(y, want, bound);
    array_free_all();
}

/* A weight of 16 bits and activations in f32, which are rounded for the product, as docs/products.md does it. */
Test(layers, weights_of_16_bits) {
    static const tdm_dtype kept[] = {TDM_F16, TDM_BF16};
    for (int d = 0; d < 2; d++) {
        enum { ROWS = 9, IN = 33, OUT = 20 };
        if (!computes_with(kept[d])) continue;
        array *const x = array_2d(TDM_F32, ROWS, IN, IN), *const y =
                                                              array_2d(TDM_F32, ROWS, OUT, OUT);
        array *const w = array_2d(kept[d], OUT, IN, IN);
        array *const less = array_2d(kept[d], ROWS, IN, IN);
        array *const result = array_2d(kept[d], ROWS, OUT, OUT);
        array *const rounded_x = array_2d(kept[d], ROWS, IN, IN);
        array_uniform(x, -1, 1);
        array_uniform(w, -1, 1);
        array_set(rounded_x, x->v);
        check_case("%s", tdm_dtype_name(kept[d]));
        OK(tdm_cast(queue, &x->t, &less->t));
        OK(tdm_linear(queue, &less->t, &w->t, NULL, TDM_ACTIVATION_NONE, &result->t));
        OK(tdm_cast(queue, &result->t, &y->t));
        check_linear(rounded_x, w, NULL, TDM_ACTIVATION_NONE, y);
        array_free_all();
    }
}

Test(layers, linear_refusals) {
    tdm_state_dict *dict = NULL;
    tdm_generator g = {1, 0};
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, shape = TDM_ERROR_INVALID_SHAPE;
    OK(tdm_state_dict_create(&dict));
    REFUSED(tdm_linear_create(NULL, &g, "", 1, 1, true, TDM_F32, dict), argument, "queue is NULL");
    REFUSED(tdm_linear_create(queue, NULL, "", 1, 1, true, TDM_F32, dict), argument, "generator");
    REFUSED(tdm_linear_create(queue, &g, NULL, 1, 1, true, TDM_F32, dict), argument, "prefix");
    REFUSED(tdm_linear_create(queue, &g, "", 1, 1, true, TDM_F32, NULL), argument, "dict");
    REFUSED(tdm_linear_create(queue, &g, "", 0, 1, true, TDM_F32, dict), shape, "in_features is 0");
    REFUSED(tdm_linear_create(queue, &g, "", 1, -4, true, TDM_F32, dict), shape, "-4");
    REFUSED(tdm_linear_create(queue, &g, "", 1, 1, true, TDM_I32, dict), TDM_ERROR_INVALID_DTYPE,
            "i32");
    CHECK(tdm_state_dict_get_count(dict) == 0 && g.next == 0, "a refused call changed something");
    array *x = array_2d(TDM_F32, 4, 3, 3), *w = array_2d(TDM_F32, 2, 5, 5);
    array *y = array_2d(TDM_F32, 4, 2, 2), *b = array_1d(TDM_F32, 3),
          *v = array_2d(TDM_F32, 2, 3, 3);
    REFUSED(tdm_linear(queue, &x->t, &w->t, NULL, TDM_ACTIVATION_NONE, &y->t), shape,
            "x [4, 3] has 3 columns and weight [2, 5] has 5");
    REFUSED(tdm_linear(queue, &x->t, &b->t, NULL, TDM_ACTIVATION_NONE, &y->t), shape,
            "weight is [3]|[out, in]");
    REFUSED(tdm_linear(queue, &x->t, &v->t, NULL, TDM_ACTIVATION_NONE, &x->t), TDM_ERROR_OVERLAP,
            "y|x");
    REFUSED(tdm_linear(queue, &x->t, &v->t, NULL, TDM_ACTIVATION_NONE, &w->t), shape,
            "y is [2, 5]");
    REFUSED(tdm_linear(queue, &x->t, &v->t, &b->t, TDM_ACTIVATION_NONE, &y->t), shape, "bias");
    OK(tdm_state_dict_set(dict, "head.weight", &v->t));
    REFUSED(tdm_linear_apply(queue, dict, "heads.", &x->t, TDM_ACTIVATION_NONE, &y->t),
            TDM_ERROR_NOT_FOUND, "tdm_linear_apply|heads.weight|head.weight");
    tdm_state_dict_destroy(dict);
}

/* ---- several devices ---- */

enum { DEVICES_MOST = 8 };
static tdm_device *devices[DEVICES_MOST];
static size_t device_count;

/* The device under test first, then every other. */
static void open_all(void) {
    devices[0] = tdm_device_retain(device);
    device_count = 1 + (size_t)device_others(devices + 1, DEVICES_MOST - 1);
}

static void close_all(void) {
    for (size_t i = 0; i < device_count; i++)
        tdm_device_release(devices[i]);
}

/* A whole dict moved at once, with its metadata, to every device. */
Test(layers, state_dict_to) {
    open_all();
    array *a = array_2d(TDM_F32, 5, 7, 9), *b = array_1d(TDM_U8, 11), *c = array_1d(TDM_F64, 0);
    array_integers(a, -9, 9);
    array_integers(b, 0, 9);
    tdm_state_dict *dict = NULL, *moved = NULL;
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "a", &a->t));
    OK(tdm_state_dict_set(dict, "b", &b->t));
    OK(tdm_state_dict_set(dict, "c", &c->t));
    OK(tdm_state_dict_set_metadata(dict, "format", "pt"));
    for (size_t d = 0; d < device_count; d++) {
        tdm_queue *there = NULL;
        check_case("to %s", tdm_device_get_info(devices[d])->id);
        OK(tdm_queue_create(devices[d], 0, &there));
        if (!OK(tdm_state_dict_to(queue, dict, devices[d], &moved))) continue;
        CHECK(tdm_state_dict_get_count(moved) == 3, "%zu tensors", tdm_state_dict_get_count(moved));
        const char *format = tdm_state_dict_get_metadata(moved, "format");
        CHECK(format && strcmp(format, "pt") == 0, "the metadata is lost");
        tdm_tensor t;
        float got[35];
        unsigned char bytes[11];
        OK(tdm_state_dict_get(moved, "a", &t));
        CHECK(tdm_tensor_get_device(&t) == devices[d], "a is elsewhere");
        OK(tdm_to_host(there, &t, got));
        for (int i = 0; i < 35; i++)
            CHECK((double)got[i] == a->v[i], "a[%d]", i);
        OK(tdm_state_dict_get(moved, "b", &t));
        OK(tdm_to_host(there, &t, bytes));
        for (int i = 0; i < 11; i++)
            CHECK(bytes[i] == (unsigned char)b->v[i], "b[%d]", i);
        tdm_state_dict_destroy(moved);
        tdm_queue_destroy(there);
    }
    REFUSED(tdm_state_dict_to(queue, dict, NULL, &moved), TDM_ERROR_INVALID_ARGUMENT, "device");
    REFUSED(tdm_state_dict_to(queue, NULL, device, &moved), TDM_ERROR_INVALID_ARGUMENT, "dict");
    tdm_state_dict_destroy(dict);
    close_all();
}

/* y = x wᵀ + b, and a record of each replica. */
typedef struct seen {
    int64_t rows[DEVICES_MOST];
    size_t fails_on; /* index of the replica that fails, or SIZE_MAX */
} seen;

static tdm_status apply(const tdm_replica *replica, void *user) {
    seen *s = user;
    s->rows[replica->index] = replica->inputs[0].shape[0];
    if (replica->index == s->fails_on) {
        tdm_tensor none = {0}; /* with work of this replica in flight */
        for (int i = 0; i < 5; i++)
            if (tdm_linear_apply(replica->queue, replica->parameters, "", &replica->inputs[0],
                                 TDM_ACTIVATION_NONE, replica->output) != TDM_OK)
                return TDM_ERROR_BACKEND;
        return tdm_add(replica->queue, &none, &none, &none); /* leaves a message */
    }
    return tdm_linear_apply(replica->queue, replica->parameters, "", &replica->inputs[0],
                            TDM_ACTIVATION_NONE, replica->output);
}

static tdm_status fail_silently(const tdm_replica *replica, void *user) {
    (void)replica, (void)user;
    return TDM_ERROR_IO;
}

/* A batch over one to all devices equals the batch on one, in order, for batches that divide, that
 * do not, and that are smaller than the number of devices; twice with one mirror. */
Test(layers, mirror) {
    open_all();
    static const int64_t batches[] = {64, 7, 1, 0};
    tdm_state_dict *dict = NULL;
    tdm_generator generator = {random_bits(), 0};
    OK(tdm_state_dict_create(&dict));
    OK(tdm_linear_create(queue, &generator, "", 12, 5, true, TDM_F32, dict));
    for (size_t count = 1; count <= device_count; count++) {
        tdm_mirror *mirror = NULL;
        if (!OK(tdm_mirror_create(queue, dict, count, devices, &mirror))) continue;
        CHECK(tdm_mirror_get_parameters(mirror, count - 1) &&
                  !tdm_mirror_get_parameters(mirror, count),
              "the parameters of %zu devices", count);
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            int64_t batch = batches[i];
            array *x = array_2d(TDM_F32, batch, 12, 14), *y = array_2d(TDM_F32, batch, 5, 5);
            array *one = array_2d(TDM_F32, batch, 5, 5);
            array_uniform(x, -1, 1);
            seen s = {.fails_on = SIZE_MAX};
            check_case("%lld rows on %zu devices", (long long)batch, count);
            OK(tdm_linear_apply(queue, dict, "", &x->t, TDM_ACTIVATION_NONE, &one->t));
            OK(tdm_mirror_run(queue, mirror, apply, &s, 1, &x->t, &y->t));
            int64_t rows = 0;
            for (size_t d = 0; d < count; d++) {
                int64_t part = batch / (int64_t)count + ((int64_t)d < batch % (int64_t)count);
                CHECK(s.rows[d] == part, "device %zu had %lld rows", d, (long long)s.rows[d]);
                rows += s.rows[d];
            }
            CHECK(rows == batch, "%lld rows in all", (long long)rows);
            ARRAY_CHECK(y, array_values(one), numbers_of(one->count, 64 * dtype_eps(TDM_F32)));
            array_free_all();
        }
        tdm_mirror_destroy(mirror);
    }
    tdm_state_dict_destroy(dict);
    close_all();
}

/* Another queue uses the parameters of a mirror, also those that stay where they are: what fills them is over. */
Test(layers, mirror_waits) {
    tdm_state_dict *dict = NULL;
    tdm_generator generator = {1, 0};
    tdm_mirror *mirror = NULL;
    tdm_event *filled = NULL;
    tdm_tensor weight;
    bool done = false;
    OK(tdm_state_dict_create(&dict));
    OK(tdm_linear_create(queue, &generator, "", 300, 300, false, TDM_F32, dict));
    OK(tdm_state_dict_get(dict, "weight", &weight));
    OK(tdm_event_create(device, &filled));
    for (int i = 0; i < (simulator ? 5 : 500); i++)
        OK(tdm_scale(queue, 1, &weight, &weight));
    OK(tdm_queue_record_event(queue, filled));
    OK(tdm_mirror_create(queue, dict, 1, &device, &mirror));
    OK(tdm_event_query(filled, &done));
    CHECK(done, "the parameters are still being written");
    tdm_mirror_destroy(mirror);
    tdm_event_destroy(filled);
    tdm_state_dict_destroy(dict);
}

/* One replica fails: its device is named, nothing leaks, and the mirror works on. */
Test(layers, mirror_failure) {
    open_all();
    tdm_state_dict *dict = NULL;
    tdm_generator generator = {1, 0};
    tdm_mirror *mirror = NULL;
    OK(tdm_state_dict_create(&dict));
    OK(tdm_linear_create(queue, &generator, "", 4, 3, true, TDM_F32, dict));
    OK(tdm_mirror_create(queue, dict, device_count, devices, &mirror));
    array *x = array_2d(TDM_F32, 20, 4, 4), *y = array_2d(TDM_F32, 20, 3, 3);
    array_uniform(x, -1, 1);
    uint64_t before[DEVICES_MOST];
    for (size_t d = 0; d < device_count; d++)
        before[d] = memory_now(devices[d]).in_use;
    for (size_t d = 0; d < device_count; d++) {
        char words[128];
        seen s = {.fails_on = d};
        snprintf(words, sizeof words, "tdm_mirror_run|on %s|tdm_add|buffer",
                 tdm_device_get_info(devices[d])->id);
        check_case("device %zu fails", d);
        REFUSED(tdm_mirror_run(queue, mirror, apply, &s, 1, &x->t, &y->t),
                TDM_ERROR_INVALID_ARGUMENT, words);
        s.fails_on = SIZE_MAX;
        OK(tdm_mirror_run(queue, mirror, apply, &s, 1, &x->t, &y->t));
    }
    /* made with one queue, run with another */
    tdm_queue *another = NULL;
    seen s = {.fails_on = SIZE_MAX};
    OK(tdm_queue_create(device, 0, &another));
    OK(tdm_mirror_run(another, mirror, apply, &s, 1, &x->t, &y->t));
    tdm_queue_destroy(another);
    for (size_t d = 0; d < device_count; d++) {
        const uint64_t after = memory_now(devices[d]).in_use;
        CHECK(after == before[d], "%llu bytes more in use on device %zu",
              (unsigned long long)(after - before[d]), d);
    }
    tdm_mirror_destroy(mirror);
    tdm_state_dict_destroy(dict);
    close_all();
}

Test(layers, mirror_refusals) {
    open_all();
    tdm_state_dict *dict = NULL;
    tdm_mirror *mirror = NULL;
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT;
    tdm_device *twice[] = {devices[0], devices[1], devices[0]};
    seen s = {.fails_on = SIZE_MAX};
    OK(tdm_state_dict_create(&dict));
    REFUSED(tdm_mirror_create(queue, dict, 0, devices, &mirror), argument, "count is 0");
    REFUSED(tdm_mirror_create(queue, NULL, 1, devices, &mirror), argument,
            "tdm_mirror_create: parameters is NULL");
    REFUSED(tdm_mirror_create(NULL, dict, 1, devices, &mirror), argument,
            "tdm_mirror_create: queue is NULL");
    REFUSED(tdm_mirror_create(queue, dict, 3, twice, &mirror), argument, "devices[0]|devices[2]");
    REFUSED(tdm_mirror_create(queue, dict, 1, NULL, &mirror), argument, "devices is NULL");
    REFUSED(tdm_mirror_create(queue, dict, 1, devices, NULL), argument, "mirror is NULL");
    OK(tdm_mirror_create(queue, dict, 1, devices, &mirror));
    array *x = array_2d(TDM_F32, 4, 3, 3), *y = array_2d(TDM_F32, 5, 3, 3);
    REFUSED(tdm_mirror_run(queue, mirror, apply, &s, 1, &x->t, &y->t), TDM_ERROR_INVALID_SHAPE,
            "unequal|inputs[0] is [4, 3]|output is [5, 3]");
    x = array_2d(TDM_F32, 5, 3, 3);
    REFUSED(tdm_mirror_run(queue, mirror, fail_silently, NULL, 1, &x->t, &y->t), TDM_ERROR_IO,
            tdm_status_text(TDM_ERROR_IO));
    REFUSED(tdm_mirror_run(queue, mirror, NULL, &s, 1, &x->t, &y->t), argument, "function");
    tdm_graph *graph;
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_mirror_run(queue, mirror, apply, &s, 1, &x->t, &y->t), argument,
            "tdm_mirror_run|recording");
    OK(tdm_graph_end(graph));
    tdm_graph_destroy(graph);
    REFUSED(tdm_mirror_run(queue, NULL, apply, &s, 1, &x->t, &y->t), argument, "mirror");
    REFUSED(tdm_mirror_run(queue, mirror, apply, &s, 1, NULL, &y->t), argument, "inputs");
    tdm_mirror_destroy(mirror);
    tdm_mirror_destroy(NULL);
    tdm_state_dict_destroy(dict);
    close_all();
}
