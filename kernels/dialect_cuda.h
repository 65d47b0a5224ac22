/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in CUDA C++, for NVRTC, which is given no header of the toolkit. The rules are in
 * README.md. */
#pragma nv_diag_suppress 177 /* functions that this kernel does not use */

typedef signed char tdm_i8;
typedef unsigned char tdm_u8;
typedef short tdm_i16;
typedef unsigned short tdm_u16;
typedef unsigned long long tdm_u64;

#define TDM_HAS_F64 1
#define GLOBAL
#define LOCAL
#define INLINE static __device__ __forceinline__
#define APART static __device__ __noinline__
#define LOCAL_ARRAY(type, name, n) __shared__ type name[n]
#define PRIVATE_ARRAY(type, name, n) __align__(16) type name[n]
#define BARRIER __syncthreads()
/* Where a row has few lanes, a group is TEAMS teams of so many lanes, each with its own row. A kernel that reads
 * its rows in vectors has no memory of the group but for GROUP_SUM and GROUP_MAX, which need none then. */
#define LANE ((int)threadIdx.x % LANES)

/* Entries */
#define OPS(name, n, streams)
#define TDM_FLAGS OP
/* So many groups on a multiprocessor at least that 32 KiB are on their way to it, which cover the time that
 * memory takes; one where elements have one byte, as a lane then computes 16 at once, or where rows are not
 * read in vectors. Without that number ptxas gives lanes few registers, so that more groups fit, and saves
 * what then lacks room to memory. */
#define TDM_RESIDENT (VECTORS == 0 || T_SIZE == 1 ? 0 : VECTORS < 4 ? 1024 : 512)
#define TDM_GROUPS (TDM_RESIDENT > LANES * TEAMS ? TDM_RESIDENT / (LANES * TEAMS) : 1)
#define TDM_KERNEL(name)                                                                           \
    extern "C" __global__ void __launch_bounds__(LANES *TEAMS, TDM_GROUPS) tdm_##name
#define KERNEL1(name, ARGS, t0, p0) TDM_KERNEL(name)(t0 * p0, const ARGS args)
#define KERNEL2(name, ARGS, t0, p0, t1, p1) TDM_KERNEL(name)(t0 * p0, t1 * p1, const ARGS args)
#define KERNEL3(name, ARGS, t0, p0, t1, p1, t2, p2)                                                \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, const ARGS args)
#define KERNEL4(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3)                                        \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, t3 * p3, const ARGS args)
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, t3 * p3, t4 * p4, t5 * p5, const ARGS args)

#define KERNEL_OF(name, ARGS, LIST) TDM_KERNEL(name)(LIST(TDM_LISTED) const ARGS args)
#define TDM_LISTED(i, t, p) t *p,

/* Loops */
#define FIRST_ROW(n) ((tdm_i64)blockIdx.x * TEAMS + threadIdx.x / LANES)
#define FOR_ROWS(item, n)                                                                          \
    for (tdm_i64 item = FIRST_ROW(n); item < (n);                                                  \
         item += (tdm_i64)gridDim.x * TEAMS)
#define FOR_DIMS(d, n) for (tdm_i32 d = (n)-1; d >= 0; d--)
#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (int begin = 0, end = MIN(size, n); begin < (n);                                           \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))
/* 64 bits: adding LANES to an int near the largest one would overflow, and an address is as wide */
#define FOR_LANES(j, begin, end)                                                                   \
    _Pragma("unroll 4") for (tdm_i64 j = (tdm_i64)(begin) + LANE; j < (end); j += LANES)
/* Unrolled, large bodies make NVRTC 11.8 fail where registers are short ("unsupported operation"). */
#define FOR_LANES_SINGLY(j, n)                                                                     \
    _Pragma("unroll 1") for (tdm_i64 j = LANE; j < (n); j += LANES)
#define FOR_LANES_ROLLED(j, n)                                                                     \
    _Pragma("unroll 1") for (tdm_i64 j = LANE; j < (n); j += LANES)
/* Rows are read and written as vectors.h says. */
#define ROW_LOOPS 0
#define UNROLL _Pragma("unroll")
#define TDM_ALIGNED_16 __align__(16)
typedef uint4 tdm_vector_16;
typedef unsigned tdm_pair; /* two elements of 16 bits */
#define TDM_READS_PAIRS 0
#if STREAM
#define TDM_STORE(p, v) __stcs(p, v)
#define TDM_STORE_VECTOR(p, v) __stcs(p, v)
#else
#define TDM_STORE(p, v) (*(p) = (v))
/* as one instruction, which the compiler would take apart to share the first element's with other code */
#define TDM_STORE_VECTOR(p, v) __stwb(p, v)
#endif

/* Reductions: by shuffles inside a warp, among the lanes of a team, then over the warps' results in shared
 * memory, which every lane adds up in the same order. The last barrier lets the next reduction reuse the
 * scratch, and a lane write what others have read before: shuffles alone order no accesses of memory. */
#define GROUP_ARRAY(type, name) LOCAL_ARRAY(type, name, LANES > 32 ? LANES / 32 : 1)
#define TDM_GROUP_FOLD_ARRAY(type, name) GROUP_ARRAY(type, name)
#define GROUP_SUM(scratch, v) tdm_group_sum(scratch, v)
#define GROUP_MAX(scratch, v) tdm_group_max(scratch, v)
#define TDM_GROUP_FOLD(name, type, combined) TDM_GROUP_FOLD_AS(name, type, combined, false)
/* Where lanes must agree though the function does not commute: max has one of 0 and -0. */
#define TDM_GROUP_FOLD_IN_ORDER(name, type, combined) TDM_GROUP_FOLD_AS(name, type, combined, true)
#define TDM_GROUP_FOLD_AS(name, type, combined, in_order)                                          \
    INLINE type name(type *scratch, type v)                                                        \
    {                                                                                              \
        const int width = LANES < 32 ? LANES : 32;                                                 \
        const unsigned team =                                                                      \
            LANES < 32 ? ((1u << LANES % 32) - 1u) << threadIdx.x % 32 / LANES * LANES : ~0u;      \
        type a = v;                                                                                \
        for (int distance = width / 2; distance > 0; distance /= 2) {                              \
            const type other = __shfl_xor_sync(team, a, distance);                                 \
            const bool is_second = in_order && (threadIdx.x & distance) != 0;                      \
            const type b = is_second ? a : other;                                                  \
            a = is_second ? other : a;                                                             \
            a = combined;                                                                          \
        }                                                                                          \
        if (LANES <= 32) __syncwarp(team);                                                         \
        if (LANES > 32) {                                                                          \
            if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = a;                              \
            __syncthreads();                                                                       \
            a = scratch[0];                                                                        \
            for (int warp = 1; warp < LANES / 32; warp++) {                                        \
                const type b = scratch[warp];                                                      \
                a = combined;                                                                      \
            }                                                                                      \
            __syncthreads();                                                                       \
        }                                                                                          \
        return a;                                                                                  \
    }
TDM_GROUP_FOLD(tdm_group_sum, float, a + b)
TDM_GROUP_FOLD(tdm_group_sum, double, a + b)
TDM_GROUP_FOLD(tdm_group_sum, tdm_u64, a + b)
TDM_GROUP_FOLD(tdm_group_max, int, a > b ? a : b)
TDM_GROUP_FOLD(tdm_group_max, long long, a > b ? a : b)

/* Those of sm_80: see tensor.h. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TENSOR_CORES 1
INLINE unsigned tdm_local_address(const void *p)
{
    tdm_u64 address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}
#else
#define TENSOR_CORES 0
#endif

/* Numbers */
#define tdm_as_i32(v) __float_as_int(v)
#define tdm_as_f32(v) __int_as_float(v)
#define tdm_as_i64(v) __double_as_longlong(v)
#define tdm_as_f64(v) __longlong_as_double(v)
#define TDM_LIBRARY_F32(name) name##f
#define TDM_LIBRARY_F64(name) name
#define tdm_sqrt_f32(v) sqrtf(v)
#define tdm_sqrt_f64(v) sqrt(v)
#define tdm_abs_f32(v) fabsf(v)
#define tdm_abs_f64(v) fabs(v)
#define tdm_fma_f32(a, b, c) __fmaf_rn(a, b, c)
#define tdm_fma_f64(a, b, c) __fma_rn(a, b, c)

/* f16 by the instructions that every device has; they round to nearest even. */
INLINE float tdm_half_to_float(tdm_u16 stored)
{
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(stored));
    return v;
}

INLINE tdm_u16 tdm_float_to_half(float v)
{
    tdm_u16 stored;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(v));
    return stored;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
INLINE tdm_u16 tdm_float_to_bf16(float v)
{
    tdm_u16 stored;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(stored) : "f"(v));
    return stored;
}
#define PUT_BF16(v) tdm_float_to_bf16(v)

/* Two at once, as a register holds them. */
INLINE unsigned tdm_floats_to_halves(float low, float high)
{
    unsigned stored;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(stored) : "f"(high), "f"(low));
    return stored;
}

INLINE unsigned tdm_floats_to_bf16s(float low, float high)
{
    unsigned stored;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(stored) : "f"(high), "f"(low));
    return stored;
}
#define PUT_TWO_F16(low, high) tdm_floats_to_halves(low, high)
#define PUT_TWO_BF16(low, high) tdm_floats_to_bf16s(low, high)
#else
#define PUT_BF16(v) tdm_f32_to_bf16(v)
#endif

#define GET_F16(v) tdm_half_to_float(v)
#define PUT_F16(v) tdm_float_to_half(v)
