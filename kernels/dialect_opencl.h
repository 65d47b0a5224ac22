/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in OpenCL C 1.2. With LANES == 1 a row is an ordinary loop, with more a group shares a
 * row. The rules are in README.md.
 *
 * TDM_CLANG_CPU is 1 where the driver is known to hand this text to clang and its code to this CPU
 * (opencl/compiler.c knows); then clang's builtins and pragmas are used. That __clang__ is defined
 * does not mean it: a driver may translate to SPIR-V, or to nothing at all, on the way. */
#if !defined(TDM_CLANG_CPU)
#define TDM_CLANG_CPU 0
#endif
/* On a CPU whose driver vectorises over lanes, not inside them. */
#if !defined(TDM_SIMD_LANES)
#define TDM_SIMD_LANES 0
#endif
/* Where the driver was seen to list sub-groups, of Intel's extension or of Khronos's (opencl/compiler.c); its
 * compiler has to know them, too. */
#if defined(TDM_WANTS_SUB_GROUPS) && defined(cl_intel_subgroups)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define TDM_SUB_GROUPS 1
#elif defined(TDM_WANTS_SUB_GROUPS) && defined(__opencl_c_subgroups)
#define TDM_SUB_GROUPS 1
#elif defined(TDM_WANTS_SUB_GROUPS) && defined(cl_khr_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define TDM_SUB_GROUPS 1
#else
#define TDM_SUB_GROUPS 0
#endif
/* On other devices lanes share rows by vectors. */
#define TDM_SHARES_ROWS (LANES > 1 && !TDM_SIMD_LANES)
#define UNROLL _Pragma("unroll")
#define TDM_ALIGNED_16 __attribute__((aligned(16)))
typedef uchar4 tdm_vector_4; /* a vector, as these may be elements of any kind */
typedef uint2 tdm_vector_8;
typedef uint4 tdm_vector_16;
#define TDM_STORE(p, v) (*(p) = (v))
#define TDM_STORE_VECTOR(p, v) TDM_STORE(p, v)
#if defined(cl_khr_fp64) && (T_ID == 1 || U_ID == 1)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define TDM_HAS_F64 1
#else
#define TDM_HAS_F64 0
#endif

/* Where TDM_DECLARES is defined, the driver's declarations of all built-in functions were left out
 * (see opencl/compiler.c): these are the ones that kernels of one lane call. */
#if defined(TDM_DECLARES)
#define TDM_DECLARED(result, name) __attribute__((overloadable, const)) result name
TDM_DECLARED(size_t, get_group_id)(uint);
TDM_DECLARED(size_t, get_num_groups)(uint);
__attribute__((overloadable, convergent)) void barrier(uint);
#define TDM_DECLARED_FLOATS(V)                                                                     \
    TDM_DECLARED(V, fma)(V, V, V);                                                                 \
    TDM_DECLARED(V, pow)(V, V);                                                                    \
    TDM_DECLARED(V, fmod)(V, V);                                                                   \
    TDM_DECLARED(V, atan2)(V, V);                                                                  \
    TDM_DECLARED_1(V, exp2) TDM_DECLARED_1(V, expm1) TDM_DECLARED_1(V, log2)                       \
    TDM_DECLARED_1(V, log10) TDM_DECLARED_1(V, log1p) TDM_DECLARED_1(V, sin)                       \
    TDM_DECLARED_1(V, cos) TDM_DECLARED_1(V, tan) TDM_DECLARED_1(V, asin)                          \
    TDM_DECLARED_1(V, acos) TDM_DECLARED_1(V, atan) TDM_DECLARED_1(V, sinh)                        \
    TDM_DECLARED_1(V, cosh) TDM_DECLARED_1(V, erf) TDM_DECLARED_1(V, erfc)                         \
    TDM_DECLARED_1(V, floor) TDM_DECLARED_1(V, ceil) TDM_DECLARED_1(V, rint)                       \
    TDM_DECLARED_1(V, trunc)
#define TDM_DECLARED_1(V, name) TDM_DECLARED(V, name)(V);
TDM_DECLARED_FLOATS(float)
#if TDM_HAS_F64
TDM_DECLARED_FLOATS(double)
#endif
#endif

typedef char tdm_i8;
typedef uchar tdm_u8;
typedef short tdm_i16;
typedef ushort tdm_u16;
typedef ulong tdm_u64;

#define GLOBAL __global
#define LOCAL __local
#define INLINE static inline
#define APART INLINE
#define LOCAL_ARRAY(type, name, n) __local type name[n] __attribute__((aligned(64)))
#define PRIVATE_ARRAY(type, name, n) type name[n] __attribute__((aligned(64)))
#define SCRATCH_ARRAY(type, name, n, before) PRIVATE_ARRAY(type, name, n)
/* of both memories */
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Entries */
#define OPS(name, n, streams)
#define TDM_FLAGS OP
#if TDM_SIMD_LANES
#define TDM_KERNEL(name)                                                                           \
    __kernel __attribute__((reqd_work_group_size(LANES, 1, 1)))                                    \
    __attribute__((intel_reqd_sub_group_size(LANES))) void tdm_##name
#else
#define TDM_KERNEL(name)                                                                           \
    __kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void tdm_##name
#endif
#define KERNEL1(name, ARGS, t0, p0) TDM_KERNEL(name)(__global t0 *p0, const ARGS args)
#define KERNEL2(name, ARGS, t0, p0, t1, p1)                                                        \
    TDM_KERNEL(name)(__global t0 *p0, __global t1 *p1, const ARGS args)
#define KERNEL3(name, ARGS, t0, p0, t1, p1, t2, p2)                                                \
    TDM_KERNEL(name)(__global t0 *p0, __global t1 *p1, __global t2 *p2, const ARGS args)
#define KERNEL4(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3)                                        \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, const ARGS args)
#define KERNEL5(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4)                                \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, __global t4 *p4,          \
     const ARGS args)
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, __global t4 *p4,          \
     __global t5 *p5, const ARGS args)

#define KERNEL_OF(name, ARGS, LIST) TDM_KERNEL(name)(LIST(TDM_LISTED) const ARGS args)
#define TDM_LISTED(i, t, p) __global t *p,

#define FOR_LANES_ROLLED(j, n) FOR_LANES(j, 0, n)
#define FOR_LANES_APART(j, n) FOR_LANES(j, 0, n)
#define WIDENED(to, from, n) 0
#define FOR_LANES_SINGLY(j, n) for (int j = LANE; j < (n); j += LANES)
#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (int begin = 0, end = MIN(size, n); begin < (n);                                           \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))

#if LANES == 1

#define LANE 0
#if TDM_CLANG_CPU
#pragma clang diagnostic ignored "-Wpass-failed"
#define TDM_SIMD _Pragma("clang loop vectorize(assume_safety)")
/* n elements in one step, so that what they fill or sum stays in registers */
#define TDM_PRAGMA_(x) _Pragma(#x)
#define TDM_PRAGMA(x) TDM_PRAGMA_(x)
#define TDM_ONE_STEP(n)                                                                            \
    TDM_PRAGMA(clang loop vectorize(assume_safety) vectorize_width(n) interleave_count(1))
#else
#define TDM_SIMD
#define TDM_ONE_STEP(n)
#endif
#define FIRST_ROW(n) ((n) * (long)get_group_id(0) / (long)get_num_groups(0))
#define FOR_ROWS(item, n)                                                                          \
    for (long tdm_count = tdm_groups(), item = (n) * (long)get_group_id(0) / tdm_count,            \
              tdm_last = (n) * ((long)get_group_id(0) + 1) / tdm_count;                            \
         item < tdm_last; item++)
#define FOR_DIMS(d, n) for (int d = (n)-1; d >= 0; d--)
#define FOR_LANES(j, begin, end) TDM_SIMD for (int j = (begin); j < (end); j++)
#define GROUP_ARRAY(type, name) LOCAL_ARRAY(type, name, 1)
#define GROUP_SUM(scratch, v) (v)
#define GROUP_MAX(scratch, v) (v)
#define TDM_GROUP_FOLD_ARRAY(type, name) LOCAL_ARRAY(type, name, 1)
#define TDM_GROUP_FOLD(name, type, combined)                                                       \
    INLINE type name(__local type *scratch, type v) { return v; }

/* A loop over memory takes 1.4 times as long on an Intel CPU (Sapphire Rapids) when the address of
 * its input is in rbp: as if the hardware prefetched nothing for what looks like the stack. Where its
 * frame's address is asked for, a function has rbp as frame pointer, and no row's address in it. A
 * volatile store asks for it; an empty asm would too, but pocl 6 aborts on one (see compiler.c). */
INLINE long tdm_groups(void)
{
#if TDM_CLANG_CPU && defined(__x86_64__)
    const volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    (void)frame;
#endif
    return (long)get_num_groups(0);
}

#else

#define LANE ((int)get_local_id(0))
#define GROUP_SUM(scratch, v) TDM_BY_ACC(tdm_group_sum_)(scratch, v)
#define GROUP_MAX(scratch, v) TDM_BY_ACC(tdm_group_max_)(scratch, v)

/* Over local memory: a few lanes combine what all left there, each some of it, then every lane combines
 * theirs. So two barriers are enough, where a tree has one for each of its levels: their results lie
 * behind those of all, and are written when every lane has passed the first one of the next reduction. */
#define TDM_FEW (LANES < 16 ? LANES : 16)
#define TDM_GROUP_FOLD_ARRAY(type, name) LOCAL_ARRAY(type, name, LANES + TDM_FEW)
#define TDM_GROUP_FOLD(name, type, combined)                                                       \
    INLINE type name(__local type *scratch, type v)                                                \
    {                                                                                              \
        const int lane = LANE;                                                                     \
        scratch[lane] = v;                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        if (lane < TDM_FEW) {                                                                      \
            type a = scratch[lane];                                                                \
            for (int i = lane + TDM_FEW; i < LANES; i += TDM_FEW) {                                \
                const type b = scratch[i];                                                         \
                a = combined;                                                                      \
            }                                                                                      \
            scratch[LANES + lane] = a;                                                             \
        }                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        type a = scratch[LANES];                                                                   \
        for (int i = 1; i < TDM_FEW; i++) {                                                        \
            const type b = scratch[LANES + i];                                                     \
            a = combined;                                                                          \
        }                                                                                          \
        return a;                                                                                  \
    }

#if TDM_SIMD_LANES
/* The lanes of a group are the elements of a CPU's register: the driver turns each operation of a lane
 * into one on registers, as long as all lanes do it. So a row has a part of whole registers, where no
 * lane is asked whether it has work, and a rest. Unrolled, these are two loops; their indices have 32
 * bits, as with 64 sums take twice the time and more. A group's rows adjoin, and what is the same for all
 * lanes must be seen to be: no private array is read at a place that is only known at run time. */
#define FIRST_ROW(n) ((n) * (long)get_group_id(0) / (long)get_num_groups(0))
#define FOR_ROWS(item, n)                                                                          \
    for (long tdm_count = (long)get_num_groups(0), item = (n) * (long)get_group_id(0) / tdm_count, \
              tdm_last = (n) * ((long)get_group_id(0) + 1) / tdm_count;                            \
         item < tdm_last; item++)
#define FOR_DIMS(d, n)                                                                             \
    UNROLL for (int d = TDM_MAX_OUTER - 1; d >= 0; d--) if (d < (n))
#define FOR_LANES(j, begin, end)                                                                   \
    UNROLL for (int tdm_rest = 0; tdm_rest < 2; tdm_rest++)                                    \
        for (int tdm_left = ((end) - (begin)) % LANES,                                             \
                 tdm_steps = tdm_rest ? tdm_left > 0 : ((end) - (begin)) / LANES,                  \
                 tdm_at = tdm_rest ? (end)-tdm_left : (begin);                                     \
             tdm_steps > 0; tdm_steps--, tdm_at += tdm_rest ? 0 : LANES)                           \
            for (int j = (int)((uint)tdm_at + (uint)LANE), tdm_once = 1;                           \
                 tdm_once && (!tdm_rest || LANE < tdm_left); tdm_once = 0)

/* The group is one sub-group: no memory, no barrier. */
#define GROUP_ARRAY(type, name) LOCAL_ARRAY(type, name, 1)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define TDM_GROUP_REDUCE(name, type, function, combined)                                           \
    INLINE type name(__local type *scratch, type v) { return function(v); }
#else
#define FIRST_ROW(n) ((long)get_group_id(0))
#define FOR_ROWS(item, n)                                                                          \
    for (long item = FIRST_ROW(n); item < (n); item += (long)get_num_groups(0))
#define FOR_DIMS(d, n) for (int d = (n)-1; d >= 0; d--)
/* 64 bits: adding LANES to an int near the largest one would overflow, and an address is as wide */
#define FOR_LANES(j, begin, end) for (long j = (long)(begin) + LANE; j < (end); j += LANES)

#if TDM_SUB_GROUPS
/* In a sub-group by the driver's function, then over the sub-groups' results in local memory, which every lane
 * combines in the same order. The last barrier lets the next reduction use the memory again. */
#define GROUP_ARRAY(type, name) LOCAL_ARRAY(type, name, LANES)
#define TDM_GROUP_REDUCE(name, type, function, combined)                                           \
    INLINE type name(__local type *scratch, type v)                                                \
    {                                                                                              \
        const int groups = (int)get_num_sub_groups();                                              \
        type a = function(v);                                                                      \
        if (groups == 1) return a;                                                                 \
        if (get_sub_group_local_id() == 0) scratch[get_sub_group_id()] = a;                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        a = scratch[0];                                                                            \
        for (int i = 1; i < groups; i++) {                                                         \
            const type b = scratch[i];                                                             \
            a = combined;                                                                          \
        }                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        return a;                                                                                  \
    }
#else
#define GROUP_ARRAY(type, name) TDM_GROUP_FOLD_ARRAY(type, name)
#define TDM_GROUP_REDUCE(name, type, function, combined) TDM_GROUP_FOLD(name, type, combined)
#endif
#endif
TDM_GROUP_REDUCE(tdm_group_sum_f32, float, sub_group_reduce_add, a + b)
TDM_GROUP_REDUCE(tdm_group_max_f32, int, sub_group_reduce_max, a > b ? a : b)
TDM_GROUP_REDUCE(tdm_group_max_f64, long, sub_group_reduce_max, a > b ? a : b)
TDM_GROUP_REDUCE(tdm_group_sum_w64, ulong, sub_group_reduce_add, a + b)
#define tdm_group_max_w32 tdm_group_max_f32
#define tdm_group_max_w64 tdm_group_max_f64
#define tdm_group_sum_w32 tdm_group_sum_w64
#if TDM_HAS_F64
TDM_GROUP_REDUCE(tdm_group_sum_f64, double, sub_group_reduce_add, a + b)
#endif

#endif

/* Fetching ahead, on a CPU: each of the three stands for two arguments, see the C dialect. */
#define TDM_LINE 64
#define TDM_DISTANCE (2048 / (int)sizeof(T))
#define AHEAD(row) ((row) + TDM_DISTANCE), 1
#define ROW_AHEAD(row, stride) ((row) + MAX(stride, (long)2 * TDM_DISTANCE)), 0
#define NOTHING_AHEAD 0, 0
#define FETCH(row, n) (void)tdm_fetch(AHEAD(row), 0, n, (int)sizeof(T))
#define FETCH_ROW(row, n) (void)tdm_fetch(row, 1, 0, n, (int)sizeof(T))
#define FETCH_LATER(p, n) (void)tdm_fetch(p, 0, 0, n, (int)sizeof(T))

/* A CPU has one address space; the compiler's builtin wants a pointer of its default one. */
INLINE int tdm_fetch(const __global void *row, int near, int begin, int n, int size)
{
#if LANES == 1 && TDM_CLANG_CPU
    const uintptr_t bytes = (uintptr_t)row + (uintptr_t)begin * (uintptr_t)size;
    for (int b = 0; row && b < n * size; b += TDM_LINE) {
        if (near)
            __builtin_prefetch((const void *)(bytes + (uintptr_t)b), 0, 3);
        else
            __builtin_prefetch((const void *)(bytes + (uintptr_t)b), 0, 2);
    }
#endif
    return begin;
}

/* Writing rows. On a CPU with STREAM line by line, and 16-bit dtypes by way of lines of ACC, in windows as
 * in the C dialect; see there. */
#define TDM_LINES (LANES == 1 && TDM_CLANG_CPU && (T_ID == 2 || T_ID == 3))
#if TDM_LINES || (LANES == 1 && STREAM && TDM_CLANG_CPU)
/* elements in a line: a literal, as a pragma takes no sizeof */
#define TDM_SPAN TDM_CAT(tdm_span_, T_SIZE)
#define tdm_span_1 64
#define tdm_span_2 32
#define tdm_span_4 16
#define tdm_span_8 8
#define TDM_WINDOWS(p, n, row, near)                                                               \
    for (int tdm_skew = ((int)(uintptr_t)(p) & (TDM_LINE - 1)) / (int)sizeof(T),                   \
             tdm_span = TDM_SPAN,                                                                  \
             tdm_begin = tdm_fetch(row, near, 0, TDM_SPAN, (int)sizeof(T));                        \
         tdm_begin < (n);                                                                          \
         tdm_begin = tdm_next_window(tdm_begin, TDM_SPAN, tdm_skew, n),                            \
             tdm_fetch(row, near, tdm_begin, TDM_SPAN, (int)sizeof(T)))                            \
        for (int tdm_count = MIN((n)-tdm_begin, tdm_span), tdm_once = 1; tdm_once; tdm_once = 0)
/* Counted from 0, so that the compiler sees the length. A line that is read back from memory would
 * wait for the streaming stores before it. */
#define TDM_WINDOW(j)                                                                              \
    TDM_ONE_STEP(TDM_SPAN)                                                                         \
    for (int tdm_k = 0, j = tdm_begin; tdm_k < TDM_SPAN; tdm_k++, j++)
/* Loops of one step, for their variables alone. */
#if TDM_LINES
#define READ_IF(c, p)                                                                              \
    for (float tdm_in_##p[TDM_SPAN] __attribute__((aligned(TDM_LINE))),                            \
         *tdm_once_##p = (c) ? tdm_read_line(tdm_in_##p, (p) + tdm_begin, tdm_count, tdm_span)     \
                             : tdm_in_##p;                                                         \
         tdm_once_##p; tdm_once_##p = 0)
#define AT(p, j) tdm_in_##p[(j)-tdm_begin]
#define TDM_STEP(from, count, length)                                                              \
    for (int tdm_begin = (from), tdm_count = (count), tdm_span = (length), tdm_once = tdm_count > 0; \
         tdm_once; tdm_once = 0)
#define TDM_WITH_LINE(k, p)                                                                        \
    for (float tdm_out##k[TDM_SPAN] __attribute__((aligned(TDM_LINE))),                            \
         *tdm_once##k = tdm_out##k;                                                                \
         tdm_once##k;                                                                              \
         tdm_write_line(STREAM, 0, (p) + tdm_begin, tdm_out##k, tdm_count), tdm_once##k = 0)
#define WRITE(p, j, v) (tdm_out0[tdm_k] = (v))
#define WRITE2(p, j, v) (tdm_out1[tdm_k] = (v))
#define READ_U(p)                                                                                  \
    for (U tdm_rest_##p[TDM_SPAN] __attribute__((aligned(TDM_LINE))),                              \
         *tdm_in_##p = tdm_part(tdm_rest_##p, (p) + tdm_begin, tdm_count, (int)sizeof(U)),         \
         *tdm_once_##p = tdm_in_##p;                                                               \
         tdm_once_##p; tdm_once_##p = 0)
#define U_AT(p, j) LOAD_U(tdm_in_##p, tdm_k)
#else
#define TDM_WITH_LINE(k, p)                                                                        \
    for (T tdm_out##k[TDM_SPAN] __attribute__((aligned(TDM_LINE))), *tdm_once##k = tdm_out##k;     \
         tdm_once##k; tdm_flush(STREAM, (p) + tdm_begin, tdm_out##k), tdm_once##k = 0)
#define WRITE(p, j, v) (tdm_out0[tdm_k] = TO_T(v))
#define WRITE2(p, j, v) (tdm_out1[tdm_k] = TO_T(v))
#define WRITE_RAW(p, j, v) (tdm_out0[tdm_k] = (T)(v))
#endif
#if STREAM
#define FOR_LANES_FILL(p, j, n) TDM_WINDOWS(p, n, 0, 0) TDM_WITH_FILLED(p) TDM_WINDOW(j)
#define TDM_WITH_FILLED(p)                                                                         \
    for (T tdm_filled[TDM_SPAN] __attribute__((aligned(TDM_LINE))), *tdm_once_filled = tdm_filled; \
         tdm_once_filled; tdm_flush(STREAM, (p) + tdm_begin, tdm_filled), tdm_once_filled = 0)
#define FILL(p, j, v) (tdm_filled[tdm_k] = (T)(v))
#endif
#define FOR_LANES_WRITE(p, j, n, ahead, reads)                                                     \
    TDM_WINDOWS(p, n, ahead) TDM_WITH_LINE(0, p) reads TDM_WINDOW(j)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads)                                                 \
    TDM_WINDOWS(p, n, ahead) TDM_WITH_LINE(0, p) TDM_WITH_LINE(1, q) reads TDM_WINDOW(j)

typedef ulong8 tdm_line __attribute__((may_alias));
typedef ulong8 tdm_loose_line __attribute__((may_alias, aligned(1)));

/* Where the window after the one at `begin` begins; n when that was the last. */
INLINE int tdm_next_window(int begin, int span, int skew, int n)
{
    const int done = begin + span; /* in its line at (done + skew) % span */
    if (!STREAM) return n - begin > span ? done : n;
    const int next = done - (int)(((uint)done + (uint)skew) & (uint)(span - 1));
    const int last = n - span;
    return done == n ? n : next < last ? next : last;
}

/* with 512-bit registers where the CPU has them: whole lines leave a core at once */
INLINE __attribute__((min_vector_width(512))) void tdm_flush(uint stream, __global void *to,
                                                             const void *line)
{
    if (stream && ((uintptr_t)to & (TDM_LINE - 1)) == 0)
        __builtin_nontemporal_store(*(const tdm_line *)line, (__global tdm_line *)to);
    else
        *(__global tdm_loose_line *)to = *(const tdm_line *)line;
}

/* What lines.h needs. */
#if TDM_LINES
#define TDM_LINE_LENGTH 32
typedef ushort16 tdm_loose_16 __attribute__((may_alias, aligned(2)));
typedef int16 tdm_vec_i32;
#define TDM_AS_VEC_F32(v) as_float16(v)
#define TDM_AS_VEC_I32(v) as_int16(v)
#define TDM_LINE_SIMD TDM_ONE_STEP(32)
#define TDM_WIDEN(p) __builtin_convertvector(*(const tdm_loose_16 *)(p), int16)
typedef ushort tdm_pair_16 __attribute__((ext_vector_type(32), may_alias));
typedef ushort tdm_loose_pair_16 __attribute__((ext_vector_type(32), may_alias, aligned(2)));
#define TDM_ALL_32                                                                                 \
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,  \
        26, 27, 28, 29, 30, 31
/* the upper halves of a's elements, then of b's */
#define TDM_ODD_32                                                                                 \
    1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, \
        51, 53, 55, 57, 59, 61, 63
#if defined(__x86_64__)
#define TDM_HIGH_HALVES(a, b)                                                                      \
    __builtin_shufflevector(__builtin_astype(a, tdm_pair_16), __builtin_astype(b, tdm_pair_16),    \
                            TDM_ODD_32)
#endif
#if T_ID == 2 && defined(__F16C__)
#define TDM_F16C 1
typedef short tdm_half8 __attribute__((__vector_size__(16), aligned(2), may_alias));
typedef float tdm_float8 __attribute__((__vector_size__(32)));
#define TDM_AS_HALVES(v)                                                                           \
    __builtin_astype(__builtin_ia32_vcvtps2ph256(__builtin_astype(v, tdm_float8), 0), ushort8)
INLINE float16 tdm_widen_f16(const ushort *p)
{
    float16 v;
    v.lo = __builtin_astype(__builtin_ia32_vcvtph2ps256(*(const tdm_half8 *)p), float8);
    v.hi = __builtin_astype(__builtin_ia32_vcvtph2ps256(*(const tdm_half8 *)(p + 8)), float8);
    return v;
}

INLINE void tdm_round_f16(ushort *to, float16 a, float16 b)
{
    const ushort8 a0 = TDM_AS_HALVES(a.lo), a1 = TDM_AS_HALVES(a.hi);
    const ushort8 b0 = TDM_AS_HALVES(b.lo), b1 = TDM_AS_HALVES(b.hi);
    *(tdm_loose_pair_16 *)to =
        __builtin_shufflevector((ushort16)(a0, a1), (ushort16)(b0, b1), TDM_ALL_32);
}
#else
#define TDM_F16C 0
#endif
#endif
#elif TDM_SHARES_ROWS
/* in vectors.h */
#else
#define FOR_LANES_WRITE(p, j, n, ahead, reads) FOR_LANES(j, 0, n)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads) FOR_LANES(j, 0, n)
#define WRITE(p, j, v) STORE(p, j, v)
#define WRITE2(p, j, v) STORE(p, j, v)
#define WRITE_RAW(p, j, v) ((p)[j] = (T)(v))
#endif
#if !defined(FILL) && !TDM_SHARES_ROWS
#define FOR_LANES_FILL(p, j, n) FOR_LANES(j, 0, n)
#define FILL(p, j, v) ((p)[j] = (T)(v))
#endif

/* Numbers */
#define tdm_as_i32(v) as_int(v)
#define tdm_as_f32(v) as_float(v)
#define tdm_as_i64(v) as_long(v)
#define tdm_as_f64(v) as_double(v)
#define TDM_LIBRARY_F32(name) name
#define TDM_LIBRARY_F64(name) name
#if LANES == 1 && TDM_CLANG_CPU
/* as builtins of the compiler they vectorise; the library's functions need not */
#define tdm_sqrt_f32(v) __builtin_sqrtf(v)
#define tdm_sqrt_f64(v) __builtin_sqrt(v)
#define tdm_abs_f32(v) __builtin_fabsf(v)
#define tdm_abs_f64(v) __builtin_fabs(v)
#else
#define tdm_sqrt_f32(v) sqrt(v)
#define tdm_sqrt_f64(v) sqrt(v)
#define tdm_abs_f32(v) fabs(v)
#define tdm_abs_f64(v) fabs(v)
#endif
#if LANES == 1 && TDM_CLANG_CPU && defined(__FMA__)
#define tdm_fma_f32(a, b, c) __builtin_fmaf(a, b, c)
#define tdm_fma_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define tdm_fma_f32(a, b, c) fma(a, b, c)
#define tdm_fma_f64(a, b, c) fma(a, b, c)
#endif

#if LANES == 1
/* by integers, which vectorise, also where the CPU has no instruction for it */
#define GET_F16(v) tdm_f16_to_f32(v)
#define PUT_F16(v) tdm_f32_to_f16(v)
#else
INLINE float tdm_get_f16(ushort stored)
{
    return vload_half(0, (const __private half *)&stored);
}

INLINE ushort tdm_put_f16(float v)
{
    ushort stored;
    vstore_half_rte(v, 0, (__private half *)&stored);
    return stored;
}

#define GET_F16(v) tdm_get_f16(v)
#define PUT_F16(v) tdm_put_f16(v)
#endif
