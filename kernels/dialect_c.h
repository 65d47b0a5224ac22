/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in C, for the cpu backend: a group has one lane, so a row is an ordinary loop that
 * the compiler vectorises. The rules are in README.md. Each .cl file is included once per dtype
 * with T_ID and U_ID defined; OP and STREAM are run-time values of the group, and the entry
 * switches over them, so that each pair gets its own body, where they are constants. Where OPS
 * says fewer bodies than OP has values, the other values are in TDM_FLAGS alone. */
#ifndef TDMI_DIALECT_C_H
#define TDMI_DIALECT_C_H

/* The build has these as options: cpu/kernels.h says why. */
#if defined(TDM_ONE_TEXT) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-thread-jumps", "no-split-paths")
#endif

#include <stdint.h>
#include <string.h>
/* A compiler reads immintrin.h for three times as long as it needs for a kernel of a user's, of which those of 16-bit
 * floats alone have use for it: see dialect_c_registers.h. */
#if defined(__SSE2__) && (!defined(TDM_USER_KERNEL) || T_ID == 2 || T_ID == 3 || U_ID == 2 || U_ID == 3)
#define TDM_INTRINSICS 1
#include <immintrin.h>
#else
#define TDM_INTRINSICS 0
#endif

#if defined(TDM_ONE_TEXT) /* as cpu/program.c gives it to a compiler: args.h follows */
typedef int64_t tdm_i64;
typedef int32_t tdm_i32;
typedef uint32_t tdm_u32;
#else
#include "args.h"
#include "kernels.h"
#endif

typedef int8_t tdm_i8;
typedef uint8_t tdm_u8;
typedef int16_t tdm_i16;
typedef uint16_t tdm_u16;
typedef uint64_t tdm_u64;

#define TDM_HAS_F64 1
#define LANES 1
#define LANE 0
#define VECTORS 0
#define HOLDS 0
#define TEAMS 1
#define ROW_LOOPS 1
#define GLOBAL
#define LOCAL
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline, cold, unused))
/* A file of a 16-bit dtype alone says so before it includes this one: then what is read and written goes
 * through lines of ACC, see below. */
#if defined(T_ID)
#define TDM_LINES (T_ID == 2 || T_ID == 3)
#else
#define TDM_LINES 0
#endif
#define LOCAL_ARRAY(type, name, n) __attribute__((unused, aligned(64))) type name[n]
#define PRIVATE_ARRAY(type, name, n) __attribute__((aligned(64))) type name[n]
#define SCRATCH_ARRAY(type, name, n, before)                                                       \
    _Static_assert(((before) + (n)) * sizeof(type) <= TDMI_CPU_SCRATCH, "more than a thread has"); \
    type *const restrict name =                                                                    \
        __builtin_assume_aligned((type *)tdm_work->scratch + (before), 64)
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#define OP tdm_op
#define TDM_FLAGS tdm_work->op
#define STREAM tdm_stream
#define BARRIER ((void)0)

/* Entries: tdmi_<name>_<T_ID>_<U_ID>_<isa>. The body comes after its entry, as that is how the
 * macro is written. */
#define TDM_ENTRY(name) TDM_CAT(TDM_FUNCTION(TDM_CAT(tdmi_, name), _), TDMI_ISA)
#define TDM_FUNCTION(name, suffix)                                                                 \
    TDM_CAT(TDM_CAT(TDM_CAT(name, _), TDM_CAT(T_ID, _)), TDM_CAT(U_ID, suffix))
#define OPS(name, n, streams)                                                                      \
    enum { TDM_FUNCTION(name, _ops) = n, TDM_FUNCTION(name, _streams) = streams };
#define TDM_CASE(n, of, stream, name, ARGS, ...)                                                   \
    case n:                                                                                        \
        if (n < (int)TDM_FUNCTION(name, of))                                                       \
            TDM_FUNCTION(name, _body)                                                              \
            (tdm_work, n, stream, tdm_work->ahead, tdm_work->bf16, *(const ARGS *)tdm_args,        \
             __VA_ARGS__);                                                                         \
        break;
#define TDM_CASES(of, stream, name, ARGS, ...)                                                     \
    switch (tdm_form) {                                                                            \
        TDM_CASE(0, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(1, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(2, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(3, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(4, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(5, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(6, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(7, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(8, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(9, of, stream, name, ARGS, __VA_ARGS__)                                           \
        TDM_CASE(10, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(11, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(12, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(13, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(14, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(15, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(16, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(17, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(18, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(19, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(20, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(21, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(22, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(23, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(24, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(25, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(26, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(27, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(28, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(29, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(30, of, stream, name, ARGS, __VA_ARGS__)                                          \
        TDM_CASE(31, of, stream, name, ARGS, __VA_ARGS__)                                          \
    }
#define TDM_KERNEL(name, ARGS, parameters, ...)                                                    \
    INLINE void TDM_FUNCTION(name, _body) parameters;                                              \
    void TDM_ENTRY(name)(const tdm_group *tdm_work, void *const *tdm_buffers,                      \
                         const void *tdm_args);                                                    \
    void TDM_ENTRY(name)(const tdm_group *tdm_work, void *const *tdm_buffers,                      \
                         const void *tdm_args)                                                     \
    {                                                                                              \
        const tdm_u32 tdm_form = tdm_work->op % (tdm_u32)TDM_FUNCTION(name, _ops);                 \
        if (TDM_LINES) { /* it differs by one store to a line: no separate body */                 \
            TDM_CASES(_ops, tdm_work->stream, name, ARGS, __VA_ARGS__)                             \
            if (tdm_work->stream) tdm_fence();                                                     \
        } else if (tdm_work->stream && (int)tdm_form < TDM_FUNCTION(name, _streams)) {         \
            TDM_CASES(_streams, 1, name, ARGS, __VA_ARGS__)                                        \
            tdm_fence();                                                                           \
        } else {                                                                                   \
            TDM_CASES(_ops, 0, name, ARGS, __VA_ARGS__)                                            \
        }                                                                                          \
    }                                                                                              \
    INLINE void TDM_FUNCTION(name, _body) parameters
#define TDM_PARAMETERS(ARGS, ...)                                                                  \
    (__attribute__((unused)) const tdm_group *const tdm_work,                                      \
     __attribute__((unused)) const tdm_u32 tdm_op,                                                 \
     __attribute__((unused)) const tdm_u32 tdm_stream,                                             \
     __attribute__((unused)) const tdm_u32 tdm_ahead,                                              \
     __attribute__((unused)) const tdm_u32 tdm_bf16, const ARGS args, __VA_ARGS__)
#define TDM_P(type, p) __attribute__((unused)) type *p
#define KERNEL1(name, ARGS, t0, p0)                                                                \
    TDM_KERNEL(name, ARGS, TDM_PARAMETERS(ARGS, TDM_P(t0, p0)), tdm_buffers[0])
#define KERNEL2(name, ARGS, t0, p0, t1, p1)                                                        \
    TDM_KERNEL(name, ARGS, TDM_PARAMETERS(ARGS, TDM_P(t0, p0), TDM_P(t1, p1)), tdm_buffers[0],     \
               tdm_buffers[1])
#define KERNEL3(name, ARGS, t0, p0, t1, p1, t2, p2)                                                \
    TDM_KERNEL(name, ARGS, TDM_PARAMETERS(ARGS, TDM_P(t0, p0), TDM_P(t1, p1), TDM_P(t2, p2)),      \
               tdm_buffers[0], tdm_buffers[1], tdm_buffers[2])
#define KERNEL4(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3)                                        \
    TDM_KERNEL(name, ARGS,                                                                         \
               TDM_PARAMETERS(ARGS, TDM_P(t0, p0), TDM_P(t1, p1), TDM_P(t2, p2), TDM_P(t3, p3)),   \
               tdm_buffers[0], tdm_buffers[1], tdm_buffers[2], tdm_buffers[3])
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name, ARGS,                                                                         \
               TDM_PARAMETERS(ARGS, TDM_P(t0, p0), TDM_P(t1, p1), TDM_P(t2, p2), TDM_P(t3, p3),    \
                              TDM_P(t4, p4), TDM_P(t5, p5)),                                       \
               tdm_buffers[0], tdm_buffers[1], tdm_buffers[2], tdm_buffers[3], tdm_buffers[4],     \
               tdm_buffers[5])

/* a list may be of any length, but not empty as macros' arguments are: something stands before it */
#define KERNEL_OF(name, ARGS, LIST)                                                                \
    TDM_KERNEL(name, ARGS, TDM_PARAMETERS(ARGS, TDM_P(void, tdm_none) LIST(TDM_LISTED)),           \
               NULL LIST(TDM_LISTED_BUFFER))
#define TDM_LISTED(i, t, p) , TDM_P(t, p)
#define TDM_LISTED_BUFFER(i, t, p) , tdm_buffers[i]

/* Loops. A group takes one contiguous share of the rows. */
#define FOR_ROWS(item, n)                                                                          \
    for (tdm_i64 item = FIRST_ROW(n),                                                              \
                 tdm_last = (tdm_i64)(n) * ((tdm_i64)tdm_work->index + 1) / tdm_work->count;       \
         item < tdm_last; item++)
#define FIRST_ROW(n) ((tdm_i64)(n)*tdm_work->index / tdm_work->count)
#define FOR_DIMS(d, n) for (tdm_i32 d = (n)-1; d >= 0; d--)
#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (tdm_i32 begin = 0, end = MIN(size, n); begin < (n);                                       \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))
#define TDM_SIMD _Pragma("omp simd")
#define TDM_ONE_STEP(n) TDM_SIMD
#define FOR_LANES(j, begin, end) TDM_SIMD for (tdm_i32 j = (begin); j < (end); j++)
#define FOR_LANES_ROLLED(j, n) FOR_LANES(j, 0, n)
#define FOR_LANES_APART(j, n) for (tdm_i32 j = 0; j < (n); j++)
#define FOR_LANES_SINGLY(j, n) for (tdm_i32 j = 0; j < (n); j++)
#define GROUP_ARRAY(type, name) LOCAL_ARRAY(type, name, 1)
#define GROUP_SUM(scratch, v) ((void)(scratch), (v))
#define GROUP_MAX(scratch, v) ((void)(scratch), (v))
#define TDM_GROUP_FOLD_ARRAY(type, name) LOCAL_ARRAY(type, name, 1)
#define TDM_GROUP_FOLD_IN_ORDER TDM_GROUP_FOLD
#define TDM_GROUP_FOLD(name, type, combined)                                                       \
    INLINE type name(LOCAL type *scratch, type v)                                                  \
    {                                                                                              \
        (void)scratch;                                                                             \
        return v;                                                                                  \
    }

/* Fetching ahead. Each of the three stands for two arguments: what, and whether it is wanted near, in the
 * first cache. A row that is wanted only after this one would drive this one out of it; of short rows it
 * is a later one. Macros that hand on an `ahead` have parameters `row, near` where it arrives. */
#define TDM_LINE 64
#define TDM_DISTANCE (2048 / (tdm_i32)sizeof(T))
#define AHEAD(row) tdm_if_large(tdm_ahead, (row) + TDM_DISTANCE), 1
#define ROW_AHEAD(row, stride)                                                                     \
    tdm_if_large(tdm_ahead, (row) + MAX(stride, (tdm_i64)2 * TDM_DISTANCE)), 0
#define NOTHING_AHEAD 0, 0
#define FETCH(row, n) tdm_fetch(AHEAD(row), 0, n, (tdm_i32)sizeof(T))
#define FETCH_ROW(row, n) tdm_fetch(row, 1, 0, n, (tdm_i32)sizeof(T))
#define FETCH_LATER(p, n) (void)tdm_fetch(p, 0, 0, n, (tdm_i32)sizeof(T))
/* Fetching data that is in the cache gains nothing, and takes time. */
INLINE const void *tdm_if_large(tdm_u32 large, const void *row) { return large ? row : 0; }

INLINE void tdm_fetch(const void *row, tdm_i32 near, tdm_i32 begin, tdm_i32 n, tdm_i32 size)
{
    if (!row) return;
    const char *const bytes = (const char *)row + (tdm_i64)begin * size;
    for (tdm_i64 b = 0; b < (tdm_i64)n * size; b += TDM_LINE) {
        if (near)
            __builtin_prefetch(bytes + b, 0, 3);
        else
            __builtin_prefetch(bytes + b, 0, 2);
    }
}

/* Writing rows. The compiler makes no streaming stores in a vectorised loop. So with STREAM a loop
 * fills one line, of constant length, in registers, and a streaming store follows. The lines are
 * those of the (first) output; the first and the last window of a row are moved inside it where
 * lines stick out, so that elements in the overlap are written twice, alike. That is right as
 * outputs are no inputs then, and needs rows of a line at least: STREAM promises both. Where
 * something is fetched ahead, that too is done window by window.
 *
 * Nor does it find the instructions that convert f16. So 16-bit dtypes have windows of one line
 * always, which is read into lines of ACC, computed from these, and converted as a whole at the
 * end; in a shorter last window the other elements are zeros, and not stored. */
#define TDM_FETCH_BYTES 512
#define TDM_SPAN ((tdm_i32)(TDM_LINE / sizeof(T)))
#define TDM_WINDOWS(p, n, row, near)                                                               \
    for (tdm_window tdm_w = tdm_first_window(STREAM, p, n, (tdm_i32)sizeof(T), row, near);         \
         tdm_w.begin < (n); tdm_next_window(STREAM, &tdm_w, n, (tdm_i32)sizeof(T), row, near))
/* Loops of one step, for their variables alone. */
#if TDM_LINES
#define TDM_LINE_LENGTH 32
#define READ_IF(c, p)                                                                              \
    for (__attribute__((aligned(TDM_LINE))) ACC tdm_in_##p[TDM_LINE_LENGTH],                       \
         *tdm_once_##p = (c) ? tdm_read_line(tdm_in_##p, (p) + tdm_w.begin,                        \
                                             tdm_w.end - tdm_w.begin, tdm_w.span)                  \
                             : tdm_in_##p;                                                         \
         tdm_once_##p; tdm_once_##p = 0)
#define AT(p, j) tdm_in_##p[(j)-tdm_w.begin]
/* a window for what is read in a step of a reduction, if any */
#define TDM_STEP(from, count, length)                                                              \
    for (tdm_window tdm_w = {from, (from) + (count), 0, length},                                   \
                    *tdm_step = (count) > 0 ? &tdm_w : 0;                                          \
         tdm_step; tdm_step = 0)
/* with the line of output k, stored at its end */
#define TDM_WITH_LINE(k, p)                                                                        \
    for (__attribute__((aligned(TDM_LINE)))                                                        \
         ACC tdm_line##k[TDM_LINE_LENGTH], *tdm_once##k = tdm_line##k;                             \
         tdm_once##k;                                                                              \
         tdm_write_line(STREAM, tdm_bf16, (p) + tdm_w.begin, tdm_line##k,                          \
                        tdm_w.end - tdm_w.begin),                                                  \
         tdm_once##k = 0)
#define TDM_WINDOW(j) FOR_LANES(j, tdm_w.begin, tdm_w.begin + TDM_LINE_LENGTH)
#define WRITE(p, j, v) (tdm_line0[(j)-tdm_w.begin] = (v))
#define WRITE2(p, j, v) (tdm_line1[(j)-tdm_w.begin] = (v))
#define READ_U(p)                                                                                  \
    for (__attribute__((aligned(TDM_LINE))) U tdm_rest_##p[TDM_LINE_LENGTH],                       \
         *tdm_in_##p = tdm_part(tdm_rest_##p, (p) + tdm_w.begin, tdm_w.end - tdm_w.begin,          \
                                (tdm_i32)sizeof(U)),                                               \
         *tdm_once_##p = tdm_in_##p;                                                               \
         tdm_once_##p; tdm_once_##p = 0)
#define U_AT(p, j) LOAD_U(tdm_in_##p, (j)-tdm_w.begin)
/* no kernel that fills rows is in such a file, but for those of the tests */
#define FOR_LANES_FILL(p, j, n) FOR_LANES(j, 0, n)
#define FILL(p, j, v) ((p)[j] = (T)(v))
#else
/* with the line of output k, stored at its end */
#define TDM_WITH_LINE(k, p)                                                                           \
    for (__attribute__((aligned(TDM_LINE)))                                                        \
         T tdm_line##k[TDM_SPAN], *const tdm_row##k = (p),                                         \
           *const tdm_out##k = STREAM ? tdm_line##k : tdm_row##k + tdm_w.begin,                    \
           *tdm_once##k = tdm_line##k;                                                             \
         tdm_once##k;                                                                              \
         TDM_FLUSH(STREAM, tdm_row##k + tdm_w.begin, tdm_line##k), tdm_once##k = 0)
#define TDM_WINDOW(j) FOR_LANES(j, tdm_w.begin, STREAM ? tdm_w.begin + TDM_SPAN : tdm_w.end)
#define WRITE(p, j, v) (tdm_out0[(j)-tdm_w.begin] = (T)TO_T(v))
#define WRITE2(p, j, v) (tdm_out1[(j)-tdm_w.begin] = (T)TO_T(v))
#define WRITE_RAW(p, j, v) (tdm_out0[(j)-tdm_w.begin] = (T)(v))
#define FOR_LANES_FILL(p, j, n) TDM_WINDOWS(p, n, 0, 0) TDM_WITH_LINE(0, p) TDM_WINDOW(j)
#define FILL(p, j, v) WRITE_RAW(p, j, v)
/* A line of f32 that is made of a 16-bit float, by instructions that the compiler does not find. Where the line does
 * not pass the cache by, what it finds for bf16 is as fast, and WIDENED makes the whole lines of f16. */
#define TDM_WIDENS (T_ID == 0 && (U_ID == 3 || (U_ID == 2 && TDM_F16C)))
#define READ_U(p)                                                                                  \
    for (__attribute__((aligned(TDM_LINE)))                                                        \
         float tdm_in_##p[TDM_LINE / sizeof(float)],                                               \
         *tdm_once_##p = TDM_WIDENS && STREAM ? tdm_widen_line(U_ID, tdm_in_##p, (p) + tdm_w.begin) \
                                              : tdm_in_##p;                                        \
         tdm_once_##p; tdm_once_##p = 0)
#define U_AT(p, j)                                                                                 \
    __builtin_choose_expr(                                                                         \
        TDM_WIDENS, STREAM ? tdm_in_##p[(j)-tdm_w.begin] : (float)LOAD_U(p, j), LOAD_U(p, j))
#endif
#define FOR_LANES_WRITE(p, j, n, ahead, reads)                                                     \
    TDM_WINDOWS(p, n, ahead) TDM_WITH_LINE(0, p) reads TDM_WINDOW(j)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads)                                                 \
    TDM_WINDOWS(p, n, ahead) TDM_WITH_LINE(0, p) TDM_WITH_LINE(1, q) reads TDM_WINDOW(j)

typedef struct tdm_window {
    tdm_i32 begin, end; /* elements of the row */
    tdm_i32 skew;       /* elements from a line's begin to the row's */
    tdm_i32 span;       /* elements that are read, with zeros past the end */
} tdm_window;

INLINE tdm_i32 tdm_window_end(tdm_u32 stream, tdm_i32 begin, tdm_i32 n, tdm_i32 size,
                              const void *ahead)
{
    const tdm_i32 lines = TDM_LINES || stream;
    const tdm_i32 most = lines ? TDM_LINE / size : TDM_FETCH_BYTES / size;
    return (lines || ahead) && n - begin > most ? begin + most : n;
}

INLINE tdm_window tdm_first_window(tdm_u32 stream, const void *row, tdm_i32 n, tdm_i32 size,
                                   const void *ahead, tdm_i32 near)
{
    const tdm_i32 skew = (tdm_i32)((uintptr_t)row & (TDM_LINE - 1)) / size;
    const tdm_window w = {0, tdm_window_end(stream, 0, n, size, ahead), skew, TDM_LINE / size};
    tdm_fetch(ahead, near, 0, w.end, size);
    return w;
}

INLINE void tdm_next_window(tdm_u32 stream, tdm_window *w, tdm_i32 n, tdm_i32 size,
                            const void *ahead, tdm_i32 near)
{
    const tdm_i32 span = TDM_LINE / size;
    const tdm_i32 done = w->end;
    if (!stream || done == n) {
        w->begin = done;
        w->end = tdm_window_end(stream, done, n, size, ahead);
    } else {
        /* the line in which the last window ended, or the next, or the row's last elements */
        const tdm_u32 inside = ((tdm_u32)done + (tdm_u32)w->skew) & (tdm_u32)(span - 1);
        const tdm_i32 begin = done - (tdm_i32)inside;
        w->begin = begin < n - span ? begin : n - span;
        w->end = w->begin + span;
    }
    tdm_fetch(ahead, near, w->begin, w->end - w->begin, size);
}

/* One store of a register, past the cache. */
#if defined(__SSE2__)
typedef long long tdm_stream_16 __attribute__((vector_size(16), may_alias));
typedef long long tdm_stream_32 __attribute__((vector_size(32), may_alias));
typedef long long tdm_stream_64 __attribute__((vector_size(64), may_alias));
#if defined(__clang__)
#define TDM_STREAM(type, instruction, to, from) __builtin_nontemporal_store(*(const type *)(from), (type *)(to))
#else
#define TDM_STREAM(type, instruction, to, from) __builtin_ia32_##instruction((void *)(to), *(const type *)(from))
#endif
#endif

/* A line in parts: see TDM_FLUSH. */
INLINE void tdm_flush_parts(tdm_u32 stream, void *destination, const void *line)
{
    if (!stream) return;
#if defined(__SSE2__)
    char *const to = destination;
    const char *const from = line;
    if (((uintptr_t)to & (TDM_LINE - 1)) == 0) {
        for (int i = 0; i < TDM_LINE; i += 16)
            TDM_STREAM(tdm_stream_16, movntdq, to + i, from + i);
        return;
    }
#endif
    memcpy(destination, line, TDM_LINE);
}

/* Out with one line, past the cache where it is one of the destination's too. Without STREAM it lies
 * there already. */
INLINE void tdm_flush(tdm_u32 stream, void *destination, const void *line)
{
#if defined(__AVX__)
    if (!stream) return;
    char *const to = destination;
    const char *const from = line;
    if (((uintptr_t)to & (TDM_LINE - 1)) != 0) {
        memcpy(to, from, TDM_LINE);
        return;
    }
#if defined(__AVX512F__)
    TDM_STREAM(tdm_stream_64, movntdq512, to, from);
#else
    TDM_STREAM(tdm_stream_32, movntdq256, to, from);
    TDM_STREAM(tdm_stream_32, movntdq256, to + 32, from + 32);
#endif
#else
    tdm_flush_parts(stream, destination, line);
#endif
}

/* Elements that are made of narrower ones are made in parts of a register and so come to the line: read back
 * as a whole, it would wait for the last of them to arrive there. */
#define TDM_FLUSH(stream, destination, line)                                                       \
    (sizeof(U) < sizeof(T) && !TDM_WIDENS ? tdm_flush_parts(stream, destination, line)             \
                                          : tdm_flush(stream, destination, line))

/* Streaming stores are not ordered with the others. */
INLINE void tdm_fence(void)
{
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

#if !defined(TDM_ONE_TEXT) /* where it follows this header */
#include "dialect_c_registers.h"
#endif

/* Numbers */
INLINE tdm_i32 tdm_as_i32(float v)
{
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

INLINE float tdm_as_f32(int32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

INLINE int64_t tdm_as_i64(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

INLINE double tdm_as_f64(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* a function of the C library */
#define TDM_LIBRARY_F32(name) __builtin_##name##f
#define TDM_LIBRARY_F64(name) __builtin_##name
#define tdm_sqrt_f32 __builtin_sqrtf
#define tdm_sqrt_f64 __builtin_sqrt
#define tdm_abs_f32 __builtin_fabsf
#define tdm_abs_f64 __builtin_fabs
/* rounded once on every CPU: where there is no instruction for it the C library does it */
#define tdm_fma_f32 __builtin_fmaf
#define tdm_fma_f64 __builtin_fma

#define GET_F16(v) tdm_f16_to_f32(v)
#define PUT_F16(v) tdm_f32_to_f16(v)
#define PUT_BF16(v) tdm_f32_to_bf16(v)

#endif
