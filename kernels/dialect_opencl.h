/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The dialect in OpenCL C 1.2: a group's lanes share a row. On a CPU a group that reads rows has one lane. The rules
 * are in README.md. */
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
#define ROW_LOOPS 0
#define UNROLL _Pragma("unroll")
#define TDM_ALIGNED_16 __attribute__((aligned(16)))
typedef uchar4 tdm_vector_4; /* a vector, as these may be elements of any kind */
typedef uint2 tdm_vector_8;
typedef uint4 tdm_vector_16;
typedef uint __attribute__((may_alias)) tdm_pair; /* two elements of 16 bits */
#define TDM_READS_PAIRS 1
#define TDM_STORE(p, v) (*(p) = (v))
#define TDM_STORE_VECTOR(p, v) TDM_STORE(p, v)
#if defined(cl_khr_fp64) && (T_ID == 1 || U_ID == 1)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define TDM_HAS_F64 1
#else
#define TDM_HAS_F64 0
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
/* of both memories */
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Entries */
#define OPS(name, n, streams)
#define TDM_FLAGS OP
#define TDM_KERNEL(name)                                                                           \
    __kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void tdm_##name
#define KERNEL1(name, ARGS, t0, p0) TDM_KERNEL(name)(__global t0 *p0, const ARGS args)
#define KERNEL2(name, ARGS, t0, p0, t1, p1)                                                        \
    TDM_KERNEL(name)(__global t0 *p0, __global t1 *p1, const ARGS args)
#define KERNEL3(name, ARGS, t0, p0, t1, p1, t2, p2)                                                \
    TDM_KERNEL(name)(__global t0 *p0, __global t1 *p1, __global t2 *p2, const ARGS args)
#define KERNEL4(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3)                                        \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, const ARGS args)
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, __global t4 *p4,          \
     __global t5 *p5, const ARGS args)

#define KERNEL_OF(name, ARGS, LIST) TDM_KERNEL(name)(LIST(TDM_LISTED) const ARGS args)
#define TDM_LISTED(i, t, p) __global t *p,

#define FOR_LANES_ROLLED(j, n) FOR_LANES(j, 0, n)
#define FOR_LANES_SINGLY(j, n) FOR_LANES(j, 0, n)
#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (int begin = 0, end = MIN(size, n); begin < (n);                                           \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))

#define LANE (LANES == 1 ? 0 : (int)get_local_id(0))
#define GROUP_SUM(scratch, v) TDM_BY_ACC(tdm_group_sum_)(scratch, v)
#define GROUP_MAX(scratch, v) TDM_BY_ACC(tdm_group_max_)(scratch, v)

/* Over local memory: a few lanes combine what all left there, each some of it, then every lane combines
 * theirs. So two barriers are enough, where a tree has one for each of its levels: their results lie
 * after those of all, and are written when every lane has passed the first one of the next reduction. The second one
 * also lets a lane write what others have read before. */
#define TDM_FEW (LANES < 16 ? LANES : 16)
#define TDM_GROUP_FOLD_IN_ORDER TDM_GROUP_FOLD
#define TDM_GROUP_FOLD_ARRAY(type, name) LOCAL_ARRAY(type, name, LANES + TDM_FEW)
#if LANES == 1 /* without a barrier: drivers compile those for seconds, and Mesa's llvmpipe ends the process on some */
#define TDM_GROUP_FOLD(name, type, combined)                                                       \
    INLINE type name(__local type *scratch, type v)                                                \
    {                                                                                              \
        return v;                                                                                  \
    }
#else
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
        BARRIER;                                                                                   \
        type a = scratch[LANES];                                                                   \
        for (int i = 1; i < TDM_FEW; i++) {                                                        \
            const type b = scratch[LANES + i];                                                     \
            a = combined;                                                                          \
        }                                                                                          \
        return a;                                                                                  \
    }
#endif

#define FIRST_ROW(n) ((long)get_group_id(0))
#define FOR_ROWS(item, n)                                                                          \
    for (long item = FIRST_ROW(n); item < (n); item += (long)get_num_groups(0))
/* With a constant d in each turn: AMD's compilers copy a struct that a variable indexes to the memory of every lane. */
#define FOR_DIMS(d, n)                                                                             \
    UNROLL for (int d = TDM_MAX_OUTER - 1; d >= 0; d--) if (d >= (n)) {                            \
        } else
/* 64 bits: adding LANES to an int near the largest one would overflow, and an address is as wide */
#define FOR_LANES(j, begin, end) for (long j = (long)(begin) + LANE; j < (end); j += LANES)

#if TDM_SUB_GROUPS
/* In a sub-group by the driver's function, then over the sub-groups' results in local memory, which every lane
 * combines in the same order. The last barrier lets the next reduction use the memory again, and a lane write what
 * others have read before. Values of 64 bits go another way, as drivers of Intel's GPUs add them wrongly (before
 * October 2024, oneDPL 2766, and again in 25.44, intel/llvm 20757). */
#define TDM_GROUP_REDUCE(name, type, function, combined)                                           \
    INLINE type name(__local type *scratch, type v)                                                \
    {                                                                                              \
        const int groups = (int)get_num_sub_groups();                                              \
        type a = function(v);                                                                      \
        if (groups == 1) {                                                                         \
            BARRIER;                                                                               \
            return a;                                                                              \
        }                                                                                          \
        if (get_sub_group_local_id() == 0) scratch[get_sub_group_id()] = a;                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        a = scratch[0];                                                                            \
        for (int i = 1; i < groups; i++) {                                                         \
            const type b = scratch[i];                                                             \
            a = combined;                                                                          \
        }                                                                                          \
        BARRIER;                                                                                   \
        return a;                                                                                  \
    }
#else
#define TDM_GROUP_REDUCE(name, type, function, combined) TDM_GROUP_FOLD(name, type, combined)
#endif
#define GROUP_ARRAY(type, name) TDM_GROUP_FOLD_ARRAY(type, name)
TDM_GROUP_REDUCE(tdm_group_sum_f32, float, sub_group_reduce_add, a + b)
TDM_GROUP_REDUCE(tdm_group_max_f32, int, sub_group_reduce_max, a > b ? a : b)
TDM_GROUP_FOLD(tdm_group_max_f64, long, a > b ? a : b)
TDM_GROUP_FOLD(tdm_group_sum_w64, ulong, a + b)
#define tdm_group_max_w32 tdm_group_max_f32
#define tdm_group_max_w64 tdm_group_max_f64
#define tdm_group_sum_w32 tdm_group_sum_w64
#if TDM_HAS_F64
TDM_GROUP_FOLD(tdm_group_sum_f64, double, a + b)
#endif


/* Where the device has those of sm_80 (opencl/compiler.c): see tensor.h. Of a pointer into the group's memory some
 * drivers of NVIDIA's make an address in that memory, and others one in all memory: which one it is shows. */
#if defined(TDM_WANTS_TENSOR_CORES)
#define TENSOR_CORES 1
INLINE uint tdm_local_address(__local const void *p)
{
    uint address;
    asm("{\n"
        ".reg .pred of_all;\n"
        ".reg .u64 local;\n"
        "isspacep.shared of_all, %1;\n"
        "cvta.to.shared.u64 local, %1;\n"
        "selp.u64 local, local, %1, of_all;\n"
        "cvt.u32.u64 %0, local;\n"
        "}"
        : "=r"(address)
        : "l"(p));
    return address;
}
#else
#define TENSOR_CORES 0
#endif

/* Numbers */
#define tdm_as_i32(v) as_int(v)
#define tdm_as_f32(v) as_float(v)
#define tdm_as_i64(v) as_long(v)
#define tdm_as_f64(v) as_double(v)
#define TDM_LIBRARY_F32(name) name
#define TDM_LIBRARY_F64(name) name
#define tdm_sqrt_f32(v) sqrt(v)
#define tdm_sqrt_f64(v) sqrt(v)
#define tdm_abs_f32(v) fabs(v)
#define tdm_abs_f64(v) fabs(v)
#define tdm_fma_f32(a, b, c) fma(a, b, c)
#define tdm_fma_f64(a, b, c) fma(a, b, c)

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
#define PUT_BF16(v) tdm_f32_to_bf16(v)
#define PUT_TWO_F16(low, high) ((uint)PUT_F16(low) | (uint)PUT_F16(high) << 16)
#define PUT_TWO_BF16(low, high) ((uint)PUT_BF16(low) | (uint)PUT_BF16(high) << 16)
