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
#define LOCAL_ARRAY(type, name, n) __shared__ type name[n]
#define PRIVATE_ARRAY(type, name, n) __align__(16) type name[n]
#define SCRATCH_ARRAY(type, name, n, before) PRIVATE_ARRAY(type, name, n)
#define BARRIER __syncthreads()
#define LANE ((int)threadIdx.x)

/* Entries */
#define OPS(name, n, streams)
/* At least one group on a multiprocessor. Without that number ptxas gives lanes few registers, so
 * that more groups fit, and saves what then lacks room to memory. */
#define TDM_KERNEL(name) extern "C" __global__ void __launch_bounds__(LANES, 1) tdm_##name
#define KERNEL1(name, ARGS, t0, p0) TDM_KERNEL(name)(t0 * p0, const ARGS args)
#define KERNEL2(name, ARGS, t0, p0, t1, p1) TDM_KERNEL(name)(t0 * p0, t1 * p1, const ARGS args)
#define KERNEL3(name, ARGS, t0, p0, t1, p1, t2, p2)                                                \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, const ARGS args)
#define KERNEL4(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3)                                        \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, t3 * p3, const ARGS args)
#define KERNEL5(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4)                                \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, t3 * p3, t4 * p4, const ARGS args)
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name)(t0 * p0, t1 * p1, t2 * p2, t3 * p3, t4 * p4, t5 * p5, const ARGS args)

/* Loops */
#define FOR_ROWS(item, n) for (tdm_i64 item = blockIdx.x; item < (n); item += gridDim.x)
#define FOR_DIMS(d, n) for (tdm_i32 d = (n)-1; d >= 0; d--)
#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (int begin = 0, end = MIN(size, n); begin < (n);                                           \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))
/* 64 bits: adding LANES to an int near the largest one would overflow, and an address is as wide */
#define FOR_LANES(j, begin, end)                                                                   \
    _Pragma("unroll 4") for (tdm_i64 j = (tdm_i64)(begin) + LANE; j < (end); j += LANES)
/* Unrolled, large bodies make NVRTC 11.8 fail where registers are short ("unsupported operation"). */
#define FOR_LANES_ROLLED(j, n)                                                                     \
    _Pragma("unroll 1") for (tdm_i64 j = LANE; j < (n); j += LANES)
#define FOR_LANES_WRITE(p, j, n, ahead, reads) FOR_LANES(j, 0, n)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads) FOR_LANES(j, 0, n)
#define FOR_LANES_FILL(p, j, n) FOR_LANES(j, 0, n)
#define FILL(p, j, v) WRITE_RAW(p, j, v)
/* nothing is fetched, so one argument will do, which is dropped */
#define AHEAD(row) 0
#define ROW_AHEAD(row, stride) 0
#define NOTHING_AHEAD 0
#define FETCH(row, n) ((void)0)
#define FETCH_ROW(row, n) ((void)0)
#if STREAM
#define WRITE(p, j, v) __stcs((p) + (j), (T)TO_T(v))
#define WRITE_RAW(p, j, v) __stcs((p) + (j), (T)(v))
#else
#define WRITE(p, j, v) STORE(p, j, v)
#define WRITE_RAW(p, j, v) ((p)[j] = (T)(v))
#endif
#define WRITE2(p, j, v) WRITE(p, j, v)

/* Reductions: by shuffles inside a warp, then over the warps' results in shared memory, which every
 * lane adds up in the same order. The last barrier lets the next reduction reuse the scratch. */
#define GROUP_SUM(scratch, v) tdm_group_reduce<0>(scratch, v)
#define GROUP_MAX(scratch, v) tdm_group_reduce<1>(scratch, v)
template <int MAXIMUM, typename V> INLINE V tdm_combine(V a, V b)
{
    return MAXIMUM ? (a > b ? a : b) : a + b;
}
template <int MAXIMUM, typename V> INLINE V tdm_group_reduce(V *scratch, V v)
{
    const int width = LANES < 32 ? LANES : 32;
    for (int distance = width / 2; distance > 0; distance /= 2)
        v = tdm_combine<MAXIMUM>(
            v, __shfl_xor_sync(LANES < 32 ? (1u << LANES % 32) - 1u : ~0u, v, distance));
    if (LANES > 32) {
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
        __syncthreads();
        v = scratch[0];
        for (int warp = 1; warp < LANES / 32; warp++)
            v = tdm_combine<MAXIMUM>(v, scratch[warp]);
        __syncthreads();
    }
    return v;
}

/* Vectors for a one-lane matmul, which no CUDA device runs. */
#define VEC_LEN 1

/* Words for Philox; see the C dialect. */
typedef tdm_u64 WORDS;
#define WORDS_LEN 1
#define WORDS_FROM(v) (v)
#define MUL_WORDS(a, b) ((tdm_u64)(tdm_u32)(a) * (tdm_u32)(b))
#define HIGH_WORDS(a) ((a) >> 32)

/* Numbers */
#define tdm_as_i32(v) __float_as_int(v)
#define tdm_as_f32(v) __int_as_float(v)
#define tdm_as_i64(v) __double_as_longlong(v)
#define tdm_as_f64(v) __longlong_as_double(v)
#define tdm_sqrt_f32(v) sqrtf(v)
#define tdm_sqrt_f64(v) sqrt(v)
#define tdm_abs_f32(v) fabsf(v)
#define tdm_abs_f64(v) fabs(v)
#define tdm_fma_f32(a, b, c) __fmaf_rn(a, b, c)
#define tdm_fma_f64(a, b, c) __fma_rn(a, b, c)
#define tdm_exp_f64(v) exp(v)
#define tdm_tanh_f64(v) tanh(v)

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

#define LOAD_F16(p, j) tdm_half_to_float((p)[j])
#define STORE_F16(p, j, v) ((p)[j] = tdm_float_to_half(v))
