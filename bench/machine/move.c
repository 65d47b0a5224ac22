/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's fastest way to move bytes, with which memory-bound work is compared. */
#include <stdint.h>
#include <string.h>

#include "machine/machine.h"
#include "platform/memory.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* COPY_AHEAD, READ_AHEAD: how far before a load its line is fetched, when it is */
enum { LINE = 64, BLOCK = 16384, COPY_AHEAD = 2048, READ_AHEAD = 1024 };

void *bench_alloc(size_t size) {
    void *memory = tdmi_aligned_alloc(4096, size ? size : 1);
    if (!memory) return NULL;
    tdmi_prefer_large_pages(memory, size);
    memset(memory, 0, size);
    return memory;
}

void bench_free(void *memory) { tdmi_aligned_free(memory); }

/* Four accumulators keep enough loads in flight. The result must be used, or the loads are not. */
static uint64_t read_any(const char *source, size_t size) {
    uint64_t sum[8] = {0}, words[8];
    size_t i = 0;
    for (; i + LINE <= size; i += LINE) {
        memcpy(words, source + i, LINE);
        for (int j = 0; j < 8; j++)
            sum[j] ^= words[j];
    }
    for (; i < size; i++)
        sum[0] ^= (unsigned char)source[i];
    for (int j = 1; j < 8; j++)
        sum[0] ^= sum[j];
    return sum[0];
}

#if defined(__x86_64__)

/* In registers: with GCC 14 and AddressSanitizer an array to store them in is not where it should be. */
__attribute__((target("avx2"))) static uint64_t fold(__m256i a) {
    const __m128i b = _mm_xor_si128(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    return (uint64_t)_mm_cvtsi128_si64(b) ^ (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(b, b));
}

/* Line by line where lines are fetched ahead: several loads at once then take longer. */
__attribute__((target("avx512f"))) static uint64_t read_avx512(const char *source, size_t size,
                                                               size_t ahead) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    size_t i = 0;
    for (; ahead && i + LINE <= size; i += LINE) {
        _mm_prefetch(source + i + ahead, _MM_HINT_T0);
        a = _mm512_xor_si512(a, _mm512_loadu_si512(source + i));
    }
    for (; i + 256 <= size; i += 256) {
        a = _mm512_xor_si512(a, _mm512_loadu_si512(source + i));
        b = _mm512_xor_si512(b, _mm512_loadu_si512(source + i + 64));
        c = _mm512_xor_si512(c, _mm512_loadu_si512(source + i + 128));
        d = _mm512_xor_si512(d, _mm512_loadu_si512(source + i + 192));
    }
    a = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
    return fold(_mm256_xor_si256(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1))) ^
           read_any(source + i, size - i);
}

/* Line by line: loads of several lines before their stores are slower by a tenth. */
__attribute__((target("avx512f"))) static void copy_avx512(char *target, const char *source,
                                                           size_t size, size_t ahead) {
    size_t i = 0;
    for (; i + LINE <= size; i += LINE) {
        if (ahead) _mm_prefetch(source + i + ahead, _MM_HINT_T0);
        _mm512_stream_si512((__m512i *)(void *)(target + i), _mm512_loadu_si512(source + i));
    }
    memcpy(target + i, source + i, size - i);
}

__attribute__((target("avx512f"))) static void fill_avx512(char *target, size_t size) {
    const __m512i value = _mm512_set1_epi32(0x3ec00000);
    size_t i = 0;
    for (; i + LINE <= size; i += LINE)
        _mm512_stream_si512((__m512i *)(void *)(target + i), value);
    memset(target + i, 0, size - i);
}

__attribute__((target("avx2"))) static uint64_t read_avx2(const char *source, size_t size,
                                                          size_t ahead) {
    __m256i a = _mm256_setzero_si256(), b = a;
    size_t i = 0;
    for (; i + LINE <= size; i += LINE) {
        if (ahead) _mm_prefetch(source + i + ahead, _MM_HINT_T0);
        a = _mm256_xor_si256(a, _mm256_loadu_si256((const __m256i *)(const void *)(source + i)));
        b = _mm256_xor_si256(b,
                             _mm256_loadu_si256((const __m256i *)(const void *)(source + i + 32)));
    }
    return fold(_mm256_xor_si256(a, b)) ^ read_any(source + i, size - i);
}

static void copy_sse2(char *target, const char *source, size_t size, size_t ahead) {
    size_t i = 0;
    for (; i + LINE <= size; i += LINE) {
        if (ahead) _mm_prefetch(source + i + ahead, _MM_HINT_T0);
        for (size_t j = i; j < i + LINE; j += 16)
            _mm_stream_si128((__m128i *)(void *)(target + j),
                             _mm_loadu_si128((const __m128i *)(const void *)(source + j)));
    }
    memcpy(target + i, source + i, size - i);
}

static void fill_sse2(char *target, size_t size) {
    const __m128i value = _mm_set1_epi32(0x3ec00000);
    size_t i = 0;
    for (; i + 16 <= size; i += 16)
        _mm_stream_si128((__m128i *)(void *)(target + i), value);
    memset(target + i, 0, size - i);
}

static uint64_t read_bytes(const char *source, size_t size, size_t ahead) {
    if (__builtin_cpu_supports("avx512f")) return read_avx512(source, size, ahead);
    if (__builtin_cpu_supports("avx2")) return read_avx2(source, size, ahead);
    return read_any(source, size);
}

static void stream_copy(char *target, const char *source, size_t size, size_t ahead) {
    if (__builtin_cpu_supports("avx512f"))
        copy_avx512(target, source, size, ahead);
    else
        copy_sse2(target, source, size, ahead);
}

static void stream_fill(char *target, size_t size) {
    if (__builtin_cpu_supports("avx512f"))
        fill_avx512(target, size);
    else
        fill_sse2(target, size);
}

static void stream_fence(void) { _mm_sfence(); }

#else

static uint64_t read_bytes(const char *source, size_t size, size_t ahead) {
    (void)ahead;
    return read_any(source, size);
}
static void stream_copy(char *target, const char *source, size_t size, size_t ahead) {
    (void)ahead;
    memcpy(target, source, size);
}
static void stream_fill(char *target, size_t size) { memset(target, 0x3e, size); }
static void stream_fence(void) {}

#endif

typedef struct move {
    bench_move_way way;
    const char *source;
    char *target;
    size_t in, out;
} move;

static volatile uint64_t sink;

/* A slice: blocks are copied, and with each goes its share of what is only read or only written. */
static void move_slice(bench_move_way way, const char *source, size_t in, char *target,
                       size_t out) {
    const size_t common = in < out ? in : out;
    const size_t blocks = (common + BLOCK - 1) / BLOCK;
    const size_t more_in = in - common, more_out = out - common;
    const size_t step_in = blocks ? more_in / blocks / LINE * LINE : 0;
    const size_t step_out = blocks ? more_out / blocks / LINE * LINE : 0;
    const char *only_in = source + common;
    char *only_out = target + common;
    const size_t read_ahead = way.fetching ? READ_AHEAD : 0;
    uint64_t sum = 0;
    for (size_t at = 0; at < common; at += BLOCK) {
        const size_t size = common - at < BLOCK ? common - at : BLOCK;
        if (way.streaming)
            stream_copy(target + at, source + at, size, way.fetching ? COPY_AHEAD : 0);
        else
            memcpy(target + at, source + at, size);
        if (step_in) sum ^= read_bytes(only_in, step_in, read_ahead);
        if (step_out && way.streaming)
            stream_fill(only_out, step_out);
        else if (step_out)
            memset(only_out, 1, step_out);
        only_in += step_in;
        only_out += step_out;
    }
    sum ^= read_bytes(only_in, (size_t)(source + in - only_in), read_ahead);
    const size_t rest = (size_t)(target + out - only_out);
    if (way.streaming)
        stream_fill(only_out, rest);
    else
        memset(only_out, 1, rest);
    if (way.streaming) stream_fence();
    sink = sum;
}

static size_t slice_start(size_t size, int thread, int threads) {
    if (thread == threads) return size;
    return size / (size_t)threads * (size_t)thread / LINE * LINE;
}

static void move_on_thread(void *context, int thread) {
    const move *m = context;
    const int threads = bench_threads();
    const size_t in = slice_start(m->in, thread, threads);
    const size_t out = slice_start(m->out, thread, threads);
    move_slice(m->way, m->source + in, slice_start(m->in, thread + 1, threads) - in,
               m->target + out, slice_start(m->out, thread + 1, threads) - out);
}

void bench_move(bench_move_way way, const void *source, size_t in, void *target, size_t out) {
    move m = {way, source, target, in, out};
    if (way.all_threads)
        bench_parallel(move_on_thread, &m);
    else
        move_slice(way, source, in, target, out);
}
