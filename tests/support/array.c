/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Device fixtures and guarded arrays. */
#include "array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tdm_device *device;
tdm_queue *queue;
bool small;
bool simulator;

tdm_dtype float_dtypes[4];
tdm_dtype dtypes[TDM_DTYPE_COUNT];
int float_dtype_count, dtype_count;

enum { ARRAYS_MOST = 128, BLOCKS_MOST = 256 };
static array *arrays[ARRAYS_MOST];
static int array_count;
static void *blocks[BLOCKS_MOST];
static int block_count;

/* Host memory is not under test: without it the test ends. */
static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "tests: out of host memory\n");
        abort();
    }
    return memory;
}

bool computes_with(tdm_dtype dtype) {
    return dtype != TDM_F64 || tdm_device_get_info(device)->has_f64;
}

bool is_wanted(tdm_dtype dtype) {
    const char *at = getenv("TDM_TEST_DTYPES"), *name = tdm_dtype_name(dtype);
    if (!at) return true;
    for (size_t length; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (length == strlen(name) && strncmp(at, name, length) == 0) return true;
    }
    return false;
}

bool is_chosen(tdm_dtype dtype) { return computes_with(dtype) && is_wanted(dtype); }

static int add_dtype(tdm_dtype *list, int count, tdm_dtype dtype) {
    if (is_chosen(dtype)) list[count++] = dtype;
    return count;
}

static void choose_dtypes(void) {
    static const tdm_dtype floats[] = {TDM_F32, TDM_F16, TDM_BF16, TDM_F64};
    float_dtype_count = dtype_count = 0;
    for (int i = 0; i < 4; i++)
        float_dtype_count = add_dtype(float_dtypes, float_dtype_count, floats[i]);
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        if (d != TDM_F64) dtype_count = add_dtype(dtypes, dtype_count, (tdm_dtype)d);
    dtype_count = add_dtype(dtypes, dtype_count, TDM_F64);
    if (float_dtype_count == 0) {
        fprintf(stderr, "tests: TDM_TEST_DTYPES names no float\n");
        abort();
    }
}

static int share;

static bool is_one_of(int number, int of) {
    return (number + (int)(random_seed() % (unsigned)of)) % of == 0;
}

bool in_turn(int number) { return is_one_of(number, share); }

bool in_long_turn(int number) { return is_one_of(number, share > 1 ? 4 * share - 1 : 1); }

void device_open(void) {
    random_start();
    const char *name = getenv("TDM_TEST_DEVICE");
    small = getenv("TDM_TEST_SMALL");
    simulator = getenv("TDM_TEST_SIMULATOR");
    const char *const wanted = getenv("TDM_TEST_SHARE");
    share = wanted && atoi(wanted) > 0 ? atoi(wanted) : 1;
    check_device(name ? name : "(default)");
    fprintf(stderr, "TDM_TEST_SEED=%llu\n", (unsigned long long)random_seed());
    /* A device that is required but missing fails here: never a skip. */
    bool ok = OK(tdm_device_open(name, &device)) && OK(tdm_queue_create(device, 0, &queue));
    if (!ok) {
        fprintf(stderr, "tests: device %s is required\n", name ? name : "(default)");
        abort();
    }
    check_device(tdm_device_get_info(device)->id);
    choose_dtypes();
    check_before_skip(device_close);
}

void device_close(void) {
    array_free_all();
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    queue = NULL;
    device = NULL;
}

int device_others(tdm_device **others, int most) {
    size_t listed = 0;
    int count = 0;
    OK(tdm_get_device_count(&listed));
    for (size_t i = 0; i < listed && count < most; i++) {
        const tdm_device_info *info;
        if (!OK(tdm_get_listed_device(i, &info)) || info == tdm_device_get_info(device)) continue;
        if (OK(tdm_device_open(info->id, &others[count]))) count++;
    }
    CHECK(count > 0, "this test needs a second device: set TANDEM_CPU_DEVICES=2");
    return count;
}

tdm_memory_stats memory_now(tdm_device *of) {
    tdm_memory_stats s;
    memset(&s, 0xff, sizeof s);
    s.size = sizeof s;
    OK(tdm_device_get_memory_stats(of, &s));
    return s;
}

/* array_free_all frees it. */
static void *keep(void *memory) {
    if (block_count == BLOCKS_MOST) abort();
    return blocks[block_count++] = need(memory);
}

double *numbers(int64_t count) {
    return keep(calloc((size_t)(count > 0 ? count : 1), sizeof(double)));
}

double *numbers_of(int64_t count, double x) {
    double *block = numbers(count);
    for (int64_t i = 0; i < count; i++)
        block[i] = x;
    return block;
}

void array_free_all(void) {
    for (int i = 0; i < array_count; i++) {
        tdm_buffer_release(arrays[i]->t.buffer);
        free(arrays[i]->image);
        free(arrays[i]->v);
        free(arrays[i]);
    }
    array_count = 0;
    for (int i = 0; i < block_count; i++)
        free(blocks[i]);
    block_count = 0;
}

size_t element_offset(const tdm_tensor *t, int64_t index) {
    int64_t at = t->offset;
    for (int d = t->ndim - 1; d >= 0; d--) {
        at += index % t->shape[d] * t->strides[d];
        index /= t->shape[d];
    }
    return (size_t)at * tdm_dtype_size(t->dtype);
}

array *array_new(tdm_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides) {
    if (array_count == ARRAYS_MOST) abort();
    array *a = need(calloc(1, sizeof *a));
    arrays[array_count++] = a;
    size_t size = tdm_dtype_size(dtype);
    /* In one case of two, views are not aligned to anything but their element; in the others all of them
     * are, as rows that begin at multiples of 16 bytes have separate kernels on GPUs. */
    static bool aligned;
    if (array_count == 1) aligned = random_integer(0, 1) == 1;
    int64_t before = aligned ? 16 * random_integer(1, 2) : random_integer(1, 37);
    int64_t after = random_integer(8, 40);
    int64_t last = 0, dense = 1;
    a->count = 1;
    a->t.dtype = dtype;
    a->t.ndim = ndim;
    a->t.offset = before;
    for (int d = ndim - 1; d >= 0; d--) {
        a->t.shape[d] = shape[d];
        a->t.strides[d] = strides ? strides[d] : dense;
        dense *= shape[d] > 0 ? shape[d] : 1;
        a->count *= shape[d];
        last += shape[d] > 0 ? (shape[d] - 1) * a->t.strides[d] : 0;
    }
    a->bytes = (size_t)(before + last + 1 + after) * size;
    a->image = need(malloc(a->bytes));
    a->v = need(calloc((size_t)(a->count ? a->count : 1), sizeof(double)));
    memset(a->image, 0xa5, a->bytes);
    if (dtype_is_float(dtype)) encode(dtype, (long double)NAN, a->image);
    for (size_t done = size; done < a->bytes; done *= 2) /* its beginning is repeated */
        memcpy(a->image + done, a->image, done < a->bytes - done ? done : a->bytes - done);
    const double filled = (double)decode(dtype, a->image);
    for (int64_t i = 0; i < a->count; i++)
        a->v[i] = filled;
    if (OK(tdm_buffer_create(device, a->bytes, &a->t.buffer)))
        OK(tdm_buffer_write(queue, a->t.buffer, 0, a->image, a->bytes));
    return a;
}

array *array_2d(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t stride) {
    return array_new(dtype, 2, (int64_t[]){rows, cols}, (int64_t[]){stride, 1});
}

array *array_any_strides(tdm_dtype dtype, int ndim, const int64_t *shape, bool may_repeat) {
    int order[TDM_MAX_DIMS];
    int64_t strides[TDM_MAX_DIMS], next = 1;
    const bool shuffled = random_bits() & 1, gaps = random_bits() & 1;
    for (int i = 0; i < ndim; i++)
        order[i] = i;
    for (int i = ndim - 1; shuffled && i > 0; i--) {
        const int j = (int)random_integer(0, i), old = order[i];
        order[i] = order[j];
        order[j] = old;
    }
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        if (gaps) next *= random_integer(1, 2);
        strides[d] = next;
        next *= shape[d] > 0 ? shape[d] : 1;
        if (gaps) next += random_integer(0, 3);
        if (may_repeat && random_integer(0, 4) == 0) strides[d] = 0;
    }
    return array_new(dtype, ndim, shape, strides);
}

array *array_1d(tdm_dtype dtype, int64_t n) { return array_new(dtype, 1, &n, NULL); }

/* Elements of the last dimension, which are as far apart as step() says, in bytes. */
static int64_t run_length(const tdm_tensor *t) { return t->ndim ? t->shape[t->ndim - 1] : 1; }

static ptrdiff_t step(const tdm_tensor *t) {
    return t->ndim ? (ptrdiff_t)(t->strides[t->ndim - 1] * (int64_t)tdm_dtype_size(t->dtype)) : 0;
}

static void decode_all(const array *a, const unsigned char *image, double *out) {
    const int64_t n = run_length(&a->t);
    for (int64_t i = 0; i < a->count; i += n)
        decode_run(a->t.dtype, image + element_offset(&a->t, i), step(&a->t), n, out + i);
}

/* v into the image, and back, so that v has the values after rounding, and of repeated elements the
 * last. */
static void store(array *a) {
    const int64_t n = run_length(&a->t);
    for (int64_t i = 0; i < a->count; i += n)
        encode_run(a->t.dtype, a->v + i, n, a->image + element_offset(&a->t, i), step(&a->t));
    decode_all(a, a->image, a->v);
    if (a->count) OK(tdm_buffer_write(queue, a->t.buffer, 0, a->image, a->bytes));
}

void array_uniform(array *a, double lo, double hi) {
    for (int64_t i = 0; i < a->count; i++)
        a->v[i] = random_uniform(lo, hi);
    store(a);
}

void array_integers(array *a, int64_t lo, int64_t hi) {
    for (int64_t i = 0; i < a->count; i++)
        a->v[i] = (double)random_integer(lo, hi);
    store(a);
}

void array_constant(array *a, double x) {
    for (int64_t i = 0; i < a->count; i++)
        a->v[i] = x;
    store(a);
}

void array_set(array *a, const double *values) {
    if (a->count) memcpy(a->v, values, (size_t)a->count * sizeof *values);
    store(a);
}

void array_indices(array *a, int64_t n, int64_t named) {
    const bool wide = a->t.dtype == TDM_I64;
    for (int64_t i = 0; i < a->count; i++) {
        const double outside[] = {-1, (double)n, wide ? -0x1p63 : -0x1p31,
                                  wide ? 0x1p62 : 0x1p31 - 1, wide ? 0x1p32 : (double)n + 7};
        const bool inside = n > 0 && random_integer(0, 4) > 0;
        a->v[i] = inside ? (double)random_integer(0, named - 1) : outside[random_integer(0, 4)];
    }
    store(a);
}

static unsigned char *download(const array *a) {
    unsigned char *now = need(malloc(a->bytes));
    memset(now, 0x5a, a->bytes);
    OK(tdm_buffer_read(queue, a->t.buffer, 0, now, a->bytes));
    return now;
}

unsigned char *array_bytes(const array *a) { return keep(download(a)); }

double *array_values(const array *a) {
    unsigned char *now = download(a);
    double *values = numbers(a->count);
    decode_all(a, now, values);
    free(now);
    return values;
}

double *array_repeated(const array *a, int ndim, const int64_t *shape) {
    int64_t count = 1;
    for (int d = 0; d < ndim; d++)
        count *= shape[d];
    double *repeated = numbers(count);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = 0, step_of_a = 1;
        for (int d = 1; d <= a->t.ndim; d++) {
            const int64_t extent = a->t.shape[a->t.ndim - d];
            if (extent > 1) at += rest % shape[ndim - d] * step_of_a;
            rest /= shape[ndim - d];
            step_of_a *= extent;
        }
        repeated[i] = a->v[at];
    }
    return repeated;
}

/* First byte that is not as it was uploaded, or the number of bytes. */
static size_t first_changed(const array *a, const unsigned char *now) {
    if (memcmp(now, a->image, a->bytes) == 0) return a->bytes;
    size_t at = 0;
    while (at < a->bytes && now[at] == a->image[at])
        at++;
    return at;
}

/* The same outside the elements of the view. */
static size_t first_stray(const array *a, unsigned char *now) {
    const size_t size = tdm_dtype_size(a->t.dtype);
    const int64_t n = run_length(&a->t);
    for (int64_t i = 0; i < a->count; i += n) {
        const unsigned char *from = a->image + element_offset(&a->t, i);
        unsigned char *to = now + (from - a->image);
        if (step(&a->t) == (ptrdiff_t)size) {
            memcpy(to, from, (size_t)n * size);
            continue;
        }
        for (int64_t j = 0; j < n; j++, from += step(&a->t), to += step(&a->t))
            memcpy(to, from, size);
    }
    return first_changed(a, now);
}

bool array_check(const char *file, int line, const char *name, const array *a, const double *want,
                 const double *bound) {
    unsigned char *now = download(a);
    double *got = need(malloc((size_t)(a->count ? a->count : 1) * sizeof *got));
    decode_all(a, now, got);
    int64_t bad = first_difference(got, want, bound, a->count);
    if (bad >= 0) {
        check_fail(file, line, "%s (%s) element %lld of %lld is %.17g, not %.17g within %.3g", name,
                   tdm_dtype_name(a->t.dtype), (long long)bad, (long long)a->count, got[bad],
                   want[bad], bound ? bound[bad] : 0.0);
    }
    size_t stray = first_stray(a, now);
    if (stray < a->bytes) {
        check_fail(file, line,
                   "%s: byte %zu of %zu, outside the tensor (it starts at byte %zu), "
                   "was written",
                   name, stray, a->bytes, (size_t)a->t.offset * tdm_dtype_size(a->t.dtype));
    }
    free(now);
    free(got);
    return bad < 0 && stray == a->bytes;
}

bool array_check_same(const char *file, int line, const char *name, const array *a) {
    unsigned char *now = download(a);
    const size_t at = first_changed(a, now);
    if (at < a->bytes)
        check_fail(file, line, "%s was changed: byte %zu of %zu is 0x%02x, not 0x%02x", name, at,
                   a->bytes, now[at], a->image[at]);
    free(now);
    return at == a->bytes;
}
