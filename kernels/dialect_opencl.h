/* The dialect in OpenCL C 1.2. With LANES == 1 (devices of type CPU) a row is an ordinary loop that
 * the compiler vectorises; with more a group shares a row. The rules are in README.md. */
#if defined(cl_khr_fp64) && (T_ID == 1 || U_ID == 1)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define TDM_HAS_F64 1
#else
#define TDM_HAS_F64 0
#endif

typedef uchar tdm_u8;
typedef ushort tdm_u16;
typedef ulong tdm_u64;

#define GLOBAL __global
#define LOCAL __local
#define INLINE static inline
#define LOCAL_ARRAY(type, name, n) __local type name[n]
#define PRIVATE_ARRAY(type, name, n) type name[n] __attribute__((aligned(64)))
/* of both memories: a row is read before a reduction and written after it, by other lanes */
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Entries */
#define OPS(name, n)
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
#define KERNEL5(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4)                                \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, __global t4 *p4,          \
     const ARGS args)
#define KERNEL6(name, ARGS, t0, p0, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5)                        \
    TDM_KERNEL(name)                                                                               \
    (__global t0 *p0, __global t1 *p1, __global t2 *p2, __global t3 *p3, __global t4 *p4,          \
     __global t5 *p5, const ARGS args)

#define FOR_BLOCKS(begin, end, n, size)                                                            \
    for (int begin = 0, end = MIN(size, n); begin < (n);                                           \
         begin = end, end = (n)-end > (size) ? end + (size) : (n))

#if LANES == 1

#define LANE 0
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define TDM_SIMD _Pragma("clang loop vectorize(assume_safety)")
#else
#define TDM_SIMD
#endif
#define FOR_ROWS(item, n)                                                                          \
    for (long tdm_count = (long)get_num_groups(0), item = (n) * (long)get_group_id(0) / tdm_count, \
              tdm_last = (n) * ((long)get_group_id(0) + 1) / tdm_count;                            \
         item < tdm_last; item++)
#define FOR_LANES(j, begin, end) TDM_SIMD for (int j = (begin); j < (end); j++)
#define FOR_LANES_SUM(a, j, begin, end) for (int j = (begin); j < (end); j++)
#define FOR_LANES_SUM2(a, b, j, begin, end) for (int j = (begin); j < (end); j++)
#define FOR_LANES_MAX(a, j, begin, end) for (int j = (begin); j < (end); j++)
#define GROUP_SUM(scratch, v) (v)
#define GROUP_MAX(scratch, v) (v)

/* Sums may be taken in any order, so that they vectorise; nothing else may. */
INLINE float tdm_add_f32(float a, float b)
{
#if defined(__clang__)
#pragma clang fp reassociate(on)
#endif
    return a + b;
}
#if TDM_HAS_F64
INLINE double tdm_add_f64(double a, double b)
{
#if defined(__clang__)
#pragma clang fp reassociate(on)
#endif
    return a + b;
}
#endif
#define ADD_TO(a, v) ((a) = TDM_BY_ACC(tdm_add_)(a, v))

#else

#define LANE ((int)get_local_id(0))
#define FOR_ROWS(item, n)                                                                          \
    for (long item = (long)get_group_id(0); item < (n); item += (long)get_num_groups(0))
#define FOR_LANES(j, begin, end) for (int j = (begin) + LANE; j < (end); j += LANES)
#define FOR_LANES_SUM(a, j, begin, end) FOR_LANES(j, begin, end)
#define FOR_LANES_SUM2(a, b, j, begin, end) FOR_LANES(j, begin, end)
#define FOR_LANES_MAX(a, j, begin, end) FOR_LANES(j, begin, end)
#define ADD_TO(a, v) ((a) += (v))
#define GROUP_SUM(scratch, v) TDM_BY_ACC(tdm_group_sum_)(scratch, v)
#define GROUP_MAX(scratch, v) TDM_BY_ACC(tdm_group_max_)(scratch, v)

/* Tree over local memory. The last barrier lets the next reduction reuse the scratch. */
#define TDM_GROUP_REDUCE(name, type, combined)                                                     \
    INLINE type name(__local type *scratch, type v)                                                \
    {                                                                                              \
        const int lane = LANE;                                                                     \
        scratch[lane] = v;                                                                         \
        BARRIER;                                                                                   \
        for (int half_way = LANES / 2; half_way > 0; half_way /= 2) {                              \
            if (lane < half_way) {                                                                 \
                const type a = scratch[lane], b = scratch[lane + half_way];                        \
                scratch[lane] = combined;                                                          \
            }                                                                                      \
            BARRIER;                                                                               \
        }                                                                                          \
        const type result = scratch[0];                                                            \
        BARRIER;                                                                                   \
        return result;                                                                             \
    }
TDM_GROUP_REDUCE(tdm_group_sum_f32, float, a + b)
TDM_GROUP_REDUCE(tdm_group_max_f32, int, a > b ? a : b)
#if TDM_HAS_F64
TDM_GROUP_REDUCE(tdm_group_sum_f64, double, a + b)
TDM_GROUP_REDUCE(tdm_group_max_f64, long, a > b ? a : b)
#endif

#endif

/* Writing rows. On a CPU with STREAM a loop fills a private block, which is then streamed out line
 * by line, as in the C dialect. */
#define AHEAD(p, stride) 0
#if LANES == 1 && STREAM && defined(__clang__)
#define TDM_LINE 64
#define TDM_BLOCK_BYTES 2048
#define TDM_STORAGE(k, p)                                                                          \
    for (T tdm_block##k[(TDM_BLOCK_BYTES + TDM_LINE) / sizeof(T)]                                  \
             __attribute__((aligned(TDM_LINE))),                                                   \
         *tdm_once##k = tdm_block##k;                                                              \
         tdm_once##k; tdm_once##k = 0)
#define TDM_TARGET(k, p)                                                                           \
    for (T *const tdm_out##k = tdm_block##k + tdm_skew((p) + tdm_begin) / (int)sizeof(T),          \
                  *tdm_twice##k = tdm_block##k;                                                    \
         tdm_twice##k;                                                                             \
         tdm_flush((__global uchar *)((p) + tdm_begin), (const uchar *)tdm_out##k,                 \
                   (tdm_end - tdm_begin) * (int)sizeof(T)),                                        \
                  tdm_twice##k = 0)
#define TDM_WINDOWS(p, n)                                                                          \
    for (int tdm_begin = 0, tdm_end = tdm_window(p, 0, n, (int)sizeof(T)); tdm_begin < (n);        \
         tdm_begin = tdm_end, tdm_end = tdm_window(p, tdm_end, n, (int)sizeof(T)))
#define FOR_LANES_WRITE(p, j, n, ahead)                                                            \
    TDM_STORAGE(0, p) TDM_WINDOWS(p, n) TDM_TARGET(0, p) FOR_LANES(j, tdm_begin, tdm_end)
#define FOR_LANES_WRITE2(p, q, j, n, ahead)                                                        \
    TDM_STORAGE(0, p)                                                                              \
    TDM_STORAGE(1, q)                                                                              \
    TDM_WINDOWS(p, n) TDM_TARGET(0, p) TDM_TARGET(1, q) FOR_LANES(j, tdm_begin, tdm_end)
#define WRITE(p, j, v) (tdm_out0[(j)-tdm_begin] = TO_T(v))
#define WRITE2(p, j, v) (tdm_out1[(j)-tdm_begin] = TO_T(v))
#define WRITE_RAW(p, j, v) (tdm_out0[(j)-tdm_begin] = (T)(v))

/* Bytes by which an address is past a line's begin. */
INLINE int tdm_skew(const __global void *p)
{
    return (int)((uintptr_t)p & (TDM_LINE - 1));
}

/* Where the window that begins at element `begin` ends: at a line's end, or the row's. */
INLINE int tdm_window(const __global void *base, int begin, int n, int size)
{
    const int skew = (int)(((uintptr_t)base + (uintptr_t)begin * (uintptr_t)size) & (TDM_LINE - 1));
    const int elements = (TDM_BLOCK_BYTES - skew) / size;
    return n - begin > elements ? begin + elements : n;
}

INLINE void tdm_flush(__global uchar *to, const uchar *from, int bytes)
{
    int done = (TDM_LINE - tdm_skew(to)) & (TDM_LINE - 1);
    done = done < bytes ? done : bytes;
    for (int i = 0; i < done; i++)
        to[i] = from[i];
    for (; done + TDM_LINE <= bytes; done += TDM_LINE)
        __builtin_nontemporal_store(*(const ulong8 *)(from + done), (__global ulong8 *)(to + done));
    for (; done < bytes; done++)
        to[done] = from[done];
}
#else
#define FOR_LANES_WRITE(p, j, n, ahead) FOR_LANES(j, 0, n)
#define FOR_LANES_WRITE2(p, q, j, n, ahead) FOR_LANES(j, 0, n)
#define WRITE(p, j, v) STORE(p, j, v)
#define WRITE2(p, j, v) STORE(p, j, v)
#define WRITE_RAW(p, j, v) ((p)[j] = (T)(v))
#endif

/* Vectors for the one-lane matmul. */
#define tdm_vec_f32 float16
#define tdm_vec_f64 double8
#define VEC TDM_BY_ACC(tdm_vec_)
#define VEC_LEN ((int)(64 / sizeof(ACC)))

/* Numbers */
#define tdm_as_i32(v) as_int(v)
#define tdm_as_f32(v) as_float(v)
#define tdm_as_i64(v) as_long(v)
#define tdm_as_f64(v) as_double(v)
#if LANES == 1 && defined(__clang__)
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
#define tdm_exp_f64(v) exp(v)
#define tdm_tanh_f64(v) tanh(v)
#define tdm_erfc_f64(v) erfc(v)

#define tdm_load_0(p, j) ((p)[j])
#define tdm_load_1(p, j) ((p)[j])
#define tdm_load_3(p, j) tdm_bf16_to_f32((p)[j])
#define tdm_load_4(p, j) ((p)[j])
#define tdm_load_5(p, j) ((p)[j])
#define tdm_load_6(p, j) ((int)(p)[j])
#define tdm_store_0(p, j, v) ((p)[j] = (v))
#define tdm_store_1(p, j, v) ((p)[j] = (v))
#define tdm_store_3(p, j, v) ((p)[j] = tdm_f32_to_bf16(v))
#if LANES == 1
/* by integers, which vectorise, also where the CPU has no instruction for it */
#define tdm_load_2(p, j) tdm_f16_to_f32((p)[j])
#define tdm_store_2(p, j, v) ((p)[j] = tdm_f32_to_f16(v))
#else
#define tdm_load_2(p, j) vload_half((size_t)(j), (const __global half *)(p))
#define tdm_store_2(p, j, v) vstore_half_rte(v, (size_t)(j), (__global half *)(p))
#endif
