/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Buffers: transfers, ranges, fills, mappings, pinned memory, read-only buffers. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"

TestSuite(buffers, .init = device_open, .fini = device_close, TAGS("device driver kinds"));

static const size_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 63, 64, 255, 4096, 4097, 65537, 1u << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static unsigned char *bytes_of(size_t size) {
    unsigned char *bytes = malloc(size ? size : 1);
    if (!bytes) abort();
    random_bytes(bytes, size);
    return bytes;
}

/* The buffer holds exactly `want`. */
static void expect_bytes(const tdm_buffer *buffer, const unsigned char *want, size_t size) {
    unsigned char *got = malloc(size ? size : 1);
    if (!got) abort();
    memset(got, 0x77, size);
    OK(tdm_buffer_read(queue, buffer, 0, got, size));
    size_t at = 0;
    while (at < size && got[at] == want[at])
        at++;
    CHECK(at == size, "byte %zu of %zu is 0x%02x, not 0x%02x", at, size, got[at], want[at]);
    free(got);
}

/* write and read, synchronous and not, at every kind of offset; the rest stays as it was. */
Test(buffers, write_and_read) {
    for (int s = 0; s < SIZES; s++) {
        for (int async = 0; async < 2; async++) {
            size_t size = sizes[s];
            check_case("%zu bytes, async %d", size, async);
            unsigned char *image = bytes_of(size), *part = bytes_of(size), *back = bytes_of(size);
            tdm_buffer *buffer = NULL;
            if (!OK(tdm_buffer_create(device, size, &buffer))) return;
            CHECK(tdm_buffer_get_size(buffer) == size, "size is %zu", tdm_buffer_get_size(buffer));
            CHECK(tdm_buffer_get_device(buffer) == device, "another device");
            OK(tdm_buffer_write(queue, buffer, 0, image, size));
            for (int i = 0; i < 4; i++) {
                size_t at = (size_t)random_integer(0, (int64_t)size - 1);
                size_t n = (size_t)random_integer(0, (int64_t)(size - at));
                memcpy(image + at, part, n);
                if (async) {
                    OK(tdm_buffer_write_async(queue, buffer, at, part, n));
                    OK(tdm_buffer_read_async(queue, buffer, at, back, n));
                    OK(tdm_queue_finish(queue));
                } else {
                    OK(tdm_buffer_write(queue, buffer, at, part, n));
                    OK(tdm_buffer_read(queue, buffer, at, back, n));
                }
                CHECK(memcmp(back, part, n) == 0, "%zu bytes at %zu differ", n, at);
                expect_bytes(buffer, image, size);
                random_bytes(part, size);
            }
            tdm_buffer_release(buffer);
            free(image);
            free(part);
            free(back);
        }
    }
}

/* Size 0 is a no-op that succeeds, also for a buffer of 0 bytes and at the very end. */
Test(buffers, nothing) {
    unsigned char x = 9;
    for (size_t size = 0; size < 9; size += 8) {
        check_case("buffer of %zu bytes", size);
        tdm_buffer *buffer = NULL, *other = NULL;
        if (!OK(tdm_buffer_create(device, size, &buffer))) return;
        OK(tdm_buffer_create(device, size, &other));
        OK(tdm_buffer_write(queue, buffer, size, &x, 0));
        OK(tdm_buffer_read(queue, buffer, size, &x, 0));
        OK(tdm_buffer_copy(queue, buffer, size, other, size, 0));
        OK(tdm_buffer_fill(queue, buffer, size, 0, &x, 1));
        OK(tdm_buffer_write_async(queue, buffer, 0, &x, 0));
        OK(tdm_buffer_read_async(queue, buffer, 0, &x, 0));
        OK(tdm_buffer_copy_async(queue, buffer, 0, other, 0, 0));
        OK(tdm_buffer_fill_async(queue, buffer, 0, 0, &x, 1));
        void *pointer = &x;
        OK(tdm_buffer_map(queue, buffer, 0, 0, TDM_MAP_READ, &pointer));
        CHECK(!pointer, "mapping nothing gave a pointer");
        CHECK(x == 9, "something was read");
        tdm_buffer_release(buffer);
        tdm_buffer_release(other);
    }
    tdm_buffer_release(NULL);
    CHECK(!tdm_buffer_retain(NULL), "retain(NULL)");
}

/* Ranges outside a buffer, overflowing sums, NULLs: refused, and nothing changes. */
Test(buffers, refused_ranges) {
    enum { SIZE = 100 };
    unsigned char *image = bytes_of(SIZE), other[SIZE] = {0};
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, SIZE, &buffer))) return;
    OK(tdm_buffer_write(queue, buffer, 0, image, SIZE));
    static const size_t ranges[][2] = {
        {0, 101}, {100, 1}, {101, 1}, {50, 51}, {SIZE_MAX, 1}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        size_t at = ranges[i][0], n = ranges[i][1];
        check_case("%zu bytes at %zu of %d", n, at, SIZE);
        void *pointer = other;
        const tdm_status range = TDM_ERROR_OUT_OF_RANGE;
        REFUSED(tdm_buffer_write(queue, buffer, at, other, n), range, "100");
        REFUSED(tdm_buffer_read(queue, buffer, at, other, n), range, "100");
        REFUSED(tdm_buffer_fill(queue, buffer, at, n, other, 1), range, "100");
        REFUSED(tdm_buffer_copy(queue, buffer, at, buffer, 0, n), range, "source|100");
        REFUSED(tdm_buffer_copy(queue, buffer, 0, buffer, at, n), range, "100");
        REFUSED(tdm_buffer_map(queue, buffer, at, n, TDM_MAP_READ, &pointer), range, "100");
        CHECK(!pointer, "a failed map left a pointer");
        REFUSED(tdm_buffer_write_async(queue, buffer, at, other, n), range, "100");
        REFUSED(tdm_buffer_read_async(queue, buffer, at, other, n), range, "100");
        REFUSED(tdm_buffer_fill_async(queue, buffer, at, n, other, 1), range, "100");
        REFUSED(tdm_buffer_copy_async(queue, buffer, at, buffer, 0, n), range, "100");
    }
    check_case("NULL arguments");
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    tdm_buffer *none = buffer;
    REFUSED(tdm_buffer_create(NULL, 8, &none), invalid, "device");
    CHECK(!none, "the failed create left a pointer");
    REFUSED(tdm_buffer_create(device, 8, NULL), invalid, "buffer");
    REFUSED(tdm_buffer_write(NULL, buffer, 0, other, 1), invalid, "queue");
    REFUSED(tdm_buffer_write(queue, NULL, 0, other, 1), invalid, "buffer");
    REFUSED(tdm_buffer_write(queue, buffer, 0, NULL, 1), invalid, "source");
    REFUSED(tdm_buffer_read(NULL, buffer, 0, other, 1), invalid, "queue");
    REFUSED(tdm_buffer_read(queue, NULL, 0, other, 1), invalid, "buffer");
    REFUSED(tdm_buffer_read(queue, buffer, 0, NULL, 1), invalid, "destination");
    REFUSED(tdm_buffer_copy(queue, NULL, 0, buffer, 0, 1), invalid, "source");
    REFUSED(tdm_buffer_copy(queue, buffer, 0, NULL, 0, 1), invalid, "destination");
    REFUSED(tdm_buffer_fill(queue, buffer, 0, 8, NULL, 1), invalid, "pattern");
    REFUSED(tdm_buffer_map(queue, buffer, 0, 8, TDM_MAP_READ, NULL), invalid, "pointer");
    REFUSED(tdm_buffer_unmap(queue, buffer, NULL), invalid, "pointer");
    check_case("unchanged after every refusal");
    expect_bytes(buffer, image, SIZE);
    tdm_buffer_release(buffer);
    free(image);
}

/* Copies inside one buffer and between two; overlapping ranges of one buffer are refused. */
Test(buffers, copies) {
    for (int s = 0; s < SIZES; s++) {
        for (int async = 0; async < 2; async++) {
            size_t size = sizes[s];
            check_case("copy of up to %zu bytes, async %d", size, async);
            unsigned char *a = bytes_of(2 * size), *b = bytes_of(2 * size);
            tdm_buffer *first = NULL, *second = NULL;
            if (!OK(tdm_buffer_create(device, 2 * size, &first))) return;
            if (!OK(tdm_buffer_create(device, 2 * size, &second))) return;
            OK(tdm_buffer_write(queue, first, 0, a, 2 * size));
            OK(tdm_buffer_write(queue, second, 0, b, 2 * size));
            size_t n = (size_t)random_integer(1, (int64_t)size);
            size_t from = (size_t)random_integer(0, (int64_t)(2 * size - n));
            size_t to = (size_t)random_integer(0, (int64_t)(2 * size - n));
            OK((async ? tdm_buffer_copy_async : tdm_buffer_copy)(queue, first, from, second, to,
                                                                 n));
            memcpy(b + to, a + from, n);
            OK((async ? tdm_buffer_copy_async : tdm_buffer_copy)(queue, first, 0, first, size, n));
            memcpy(a + size, a, n);
            expect_bytes(first, a, 2 * size);
            expect_bytes(second, b, 2 * size);
            if (n > 1) {
                REFUSED(tdm_buffer_copy(queue, first, 0, first, n - 1, n), TDM_ERROR_OVERLAP, NULL);
                REFUSED(tdm_buffer_copy(queue, first, 1, first, 0, n), TDM_ERROR_OVERLAP, NULL);
            }
            REFUSED(tdm_buffer_copy(queue, first, 0, first, 0, n), TDM_ERROR_OVERLAP, NULL);
            expect_bytes(first, a, 2 * size);
            tdm_buffer_release(first);
            tdm_buffer_release(second);
            free(a);
            free(b);
        }
    }
}

/* Every pattern size, at offsets, of many patterns; one may repeat a shorter one; the pattern is read before the call
 * returns; bad ones refused. */
Test(buffers, fills) {
    enum { SIZE = 200000 + 16 };
    unsigned char *image = bytes_of(SIZE), pattern[16];
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, SIZE, &buffer))) return;
    OK(tdm_buffer_write(queue, buffer, 0, image, SIZE));
    for (size_t width = 1; width <= 16; width *= 2) {
        for (int i = 0; i < 12; i++) {
            size_t at = width * (size_t)random_integer(0, (int64_t)(SIZE / width - 1));
            size_t n = width * (size_t)random_integer(0, (int64_t)((SIZE - at) / width));
            check_case("pattern of %zu bytes, %zu at %zu", width, n, at);
            random_bytes(pattern, sizeof pattern);
            for (size_t b = i % 3 ? width : width >> i / 3; b > 0 && b < width; b++)
                pattern[b] = pattern[b - (width >> i / 3)];
            for (size_t b = 0; b < n; b++)
                image[at + b] = pattern[b % width];
            if (i % 2) {
                OK(tdm_buffer_fill(queue, buffer, at, n, pattern, width));
            } else {
                OK(tdm_buffer_fill_async(queue, buffer, at, n, pattern, width));
                memset(pattern, 0, sizeof pattern);
            }
            expect_bytes(buffer, image, SIZE);
        }
    }
    static const size_t bad[] = {0, 3, 5, 7, 12, 17, 32, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_case("pattern of %zu bytes", bad[i]);
        REFUSED(tdm_buffer_fill(queue, buffer, 0, 96, pattern, bad[i]), TDM_ERROR_INVALID_ARGUMENT,
                "pattern_size");
    }
    check_case("a range that is no multiple of the pattern");
    REFUSED(tdm_buffer_fill(queue, buffer, 2, 8, pattern, 4), TDM_ERROR_INVALID_ARGUMENT, "offset");
    REFUSED(tdm_buffer_fill(queue, buffer, 4, 6, pattern, 4), TDM_ERROR_INVALID_ARGUMENT, "size");
    expect_bytes(buffer, image, SIZE);
    tdm_buffer_release(buffer);
    free(image);
}

/* map and unmap: reading, writing, parts, two at once, and what is refused. */
Test(buffers, mappings) {
    enum { SIZE = 10000 };
    unsigned char *image = bytes_of(SIZE);
    tdm_buffer *buffer = NULL;
    if (!OK(tdm_buffer_create(device, SIZE, &buffer))) return;
    OK(tdm_buffer_write(queue, buffer, 0, image, SIZE));
    for (int i = 0; i < 30; i++) {
        size_t at = (size_t)random_integer(0, SIZE - 1);
        size_t n = (size_t)random_integer(1, (int64_t)(SIZE - at));
        unsigned access = 1u + (unsigned)i % 3;
        bool async = i % 2;
        check_case("map %zu bytes at %zu, access %u, async %d", n, at, access, async);
        void *pointer = NULL;
        if (async) {
            if (!OK(tdm_buffer_map_async(queue, buffer, at, n, access, &pointer))) return;
            OK(tdm_queue_finish(queue));
        } else {
            if (!OK(tdm_buffer_map(queue, buffer, at, n, access, &pointer))) return;
        }
        if (access & TDM_MAP_READ)
            CHECK(memcmp(pointer, image + at, n) == 0, "the mapping shows other bytes");
        if (access & TDM_MAP_WRITE) {
            random_bytes(image + at, n);
            memcpy(pointer, image + at, n);
        }
        OK((async ? tdm_buffer_unmap_async : tdm_buffer_unmap)(queue, buffer, pointer));
        expect_bytes(buffer, image, SIZE);
    }
    check_case("two mappings at once");
    void *low = NULL, *high = NULL;
    OK(tdm_buffer_map(queue, buffer, 0, 100, TDM_MAP_READ | TDM_MAP_WRITE, &low));
    OK(tdm_buffer_map(queue, buffer, 5000, 100, TDM_MAP_READ | TDM_MAP_WRITE, &high));
    if (!low || !high) return;
    memset(low, 1, 100);
    memset(high, 2, 100);
    memset(image, 1, 100);
    memset(image + 5000, 2, 100);
    OK(tdm_buffer_unmap(queue, buffer, low));
    OK(tdm_buffer_unmap(queue, buffer, high));
    expect_bytes(buffer, image, SIZE);
    check_case("refused");
    void *pointer = image;
    REFUSED(tdm_buffer_map(queue, buffer, 0, 8, 0, &pointer), TDM_ERROR_INVALID_ARGUMENT, "access");
    CHECK(!pointer, "a failed map left a pointer");
    REFUSED(tdm_buffer_map(queue, buffer, 0, 8, 4, &pointer), TDM_ERROR_INVALID_ARGUMENT, "access");
    REFUSED(tdm_buffer_unmap(queue, buffer, image), TDM_ERROR_INVALID_ARGUMENT, "pointer");
    REFUSED(tdm_buffer_unmap(queue, buffer, low), TDM_ERROR_INVALID_ARGUMENT, "pointer");
    expect_bytes(buffer, image, SIZE);
    tdm_buffer_release(buffer);
    free(image);
}

/* tdm_host_alloc: page-aligned, usable for transfers in both directions. */
Test(buffers, pinned) {
    for (int s = 0; s < SIZES; s++) {
        size_t size = sizes[s];
        check_case("%zu bytes of pinned memory", size);
        void *out = NULL, *in = NULL;
        if (!OK(tdm_host_alloc(device, size, &out)) || !OK(tdm_host_alloc(device, size, &in)))
            return;
        CHECK((uintptr_t)out % 4096 == 0, "%p is not page-aligned", out);
        random_bytes(out, size);
        memset(in, 0, size);
        tdm_buffer *buffer = NULL;
        if (!OK(tdm_buffer_create(device, size, &buffer))) return;
        OK(tdm_buffer_write_async(queue, buffer, 0, out, size));
        OK(tdm_buffer_read_async(queue, buffer, 0, in, size));
        OK(tdm_queue_finish(queue));
        CHECK(memcmp(in, out, size) == 0, "bytes differ");
        tdm_buffer_release(buffer);
        tdm_host_free(device, out);
        tdm_host_free(device, in);
    }
    tdm_host_free(device, NULL);
    void *pointer = &pointer;
    REFUSED(tdm_host_alloc(NULL, 8, &pointer), TDM_ERROR_INVALID_ARGUMENT, "device");
    CHECK(!pointer, "a failed host_alloc left a pointer");
}

/* A frozen buffer is read for ever and written never: transfers, maps and products are refused. Operations that have a
 * page: operations_refused.c. */
Test(buffers, read_only) {
    enum { N = 64 };
    array *x = array_1d(TDM_F32, N), *y = array_1d(TDM_F32, N);
    array *square = array_2d(TDM_F32, 8, 8, 8), *frozen = array_2d(TDM_F32, 8, 8, 8);
    array_uniform(x, -1, 1);
    array_uniform(y, -1, 1);
    array_uniform(square, -1, 1);
    array_uniform(frozen, -1, 1);
    tdm_buffer_freeze(y->t.buffer);
    tdm_buffer_freeze(frozen->t.buffer);
    const tdm_status no = TDM_ERROR_READ_ONLY;
    tdm_buffer *b = y->t.buffer;
    void *pointer = NULL;
    unsigned char bytes[8] = {0};
    REFUSED(tdm_buffer_write(queue, b, 0, bytes, 8), no, NULL);
    REFUSED(tdm_buffer_write_async(queue, b, 0, bytes, 8), no, NULL);
    REFUSED(tdm_buffer_fill(queue, b, 0, 8, bytes, 1), no, NULL);
    REFUSED(tdm_buffer_copy(queue, x->t.buffer, 0, b, 0, 8), no, "destination");
    REFUSED(tdm_buffer_map(queue, b, 0, 8, TDM_MAP_WRITE, &pointer), no, NULL);
    REFUSED(tdm_buffer_map(queue, b, 0, 8, TDM_MAP_READ | TDM_MAP_WRITE, &pointer), no, NULL);
    REFUSED(tdm_matmul(queue, NULL, &square->t, &square->t, &frozen->t), no, "c");
    ARRAY_SAME(x);
    ARRAY_SAME(y);
    ARRAY_SAME(frozen);
    check_case("reading a frozen buffer");
    if (OK(tdm_buffer_map(queue, b, 0, 8, TDM_MAP_READ, &pointer))) {
        CHECK(memcmp(pointer, y->image, 8) == 0, "another content");
        OK(tdm_buffer_unmap(queue, b, pointer));
    }
    OK(tdm_add(queue, &y->t, &y->t, &x->t));
    double *want = numbers(N);
    for (int i = 0; i < N; i++)
        want[i] = 2.0 * y->v[i];
    ARRAY_CHECK(x, want, NULL);
}
