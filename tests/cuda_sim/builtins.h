/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ as kernels/dialect_cuda.h and the kernels use it, in C++17: thread_text.c puts this before a text that
 * was meant for NVRTC. It has no #include, so that a kernel compiles in a tenth of a second; threads.c has the work
 * of a launch at a barrier or a shuffle. */
#define __CUDACC_RTC__
#define __device__
#define __global__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* in a separate section, so that a launch finds all of it */
#define __shared__ static __attribute__((section("sim_shared"), used))

/* copied by one access of 16 bytes, whatever a compiler makes of a struct */
typedef unsigned sim_four __attribute__((vector_size(16), may_alias));
struct __attribute__((aligned(16), may_alias)) uint4 {
    unsigned x, y, z, w;
    constexpr uint4()
        : x(), y(), z(), w() {} /* or an array in shared memory is initialised as code runs */
    uint4(const uint4 &from) { *(sim_four *)this = *(const sim_four *)&from; }
    uint4 &operator=(const uint4 &from) {
        *(sim_four *)this = *(const sim_four *)&from;
        return *this;
    }
};
struct sim_extent {
    unsigned x, y, z;
};

#define threadIdx (sim_where.thread)
#define blockIdx (sim_where.block)
#define gridDim (sim_where.grid)
extern "C" {
extern struct sim_places { sim_extent thread, block, grid; } sim_where;
void sim_thread_barrier(const char *place);
void sim_thread_syncwarp(const char *place, unsigned mask);
void sim_thread_shuffle(const char *place, unsigned mask, int distance, void *value, unsigned size);
void sim_thread_together(const char *place, void *operands, void (*work)(void *const *lanes));
struct sim_copy {
    const void *from;
    unsigned to, bytes;
};
void sim_thread_copy(sim_copy copy);
void sim_thread_end_batch(void);
bool sim_thread_next_copy(unsigned most, sim_copy *copy);
__attribute__((noreturn)) void sim_thread_defect(const char *format, ...);

/* the symbols that a launch finds in the shared object */
extern char __start_sim_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_sim_shared[] __attribute__((weak, visibility("hidden")));
extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
extern char *const sim_extents[4];
char *const sim_extents[4] = {__start_sim_shared, __stop_sim_shared, __ehdr_start, _end};

#define SIM_LIBRARY(name)                                                                          \
    float name##f(float);                                                                          \
    double name(double);
#define SIM_LIBRARY2(name)                                                                         \
    float name##f(float, float);                                                                   \
    double name(double, double);
SIM_LIBRARY(sqrt)
SIM_LIBRARY(fabs)
SIM_LIBRARY(exp2)
SIM_LIBRARY(expm1)
SIM_LIBRARY(log2)
SIM_LIBRARY(log10)
SIM_LIBRARY(log1p)
SIM_LIBRARY(sin)
SIM_LIBRARY(cos)
SIM_LIBRARY(tan)
SIM_LIBRARY(asin)
SIM_LIBRARY(acos)
SIM_LIBRARY(atan)
SIM_LIBRARY(sinh)
SIM_LIBRARY(cosh)
SIM_LIBRARY(asinh)
SIM_LIBRARY(acosh)
SIM_LIBRARY(atanh)
SIM_LIBRARY(erf)
SIM_LIBRARY(erfc)
SIM_LIBRARY(floor)
SIM_LIBRARY(ceil)
SIM_LIBRARY(rint)
SIM_LIBRARY(trunc)
SIM_LIBRARY2(fmod)
SIM_LIBRARY2(pow)
SIM_LIBRARY2(atan2)
SIM_LIBRARY2(hypot)
float fmaf(float, float, float);
double fma(double, double, double);
}

#define SIM_NAME(number) #number
#define SIM_NUMBER(number) SIM_NAME(number)
#define SIM_PLACE __FILE__ ":" SIM_NUMBER(__LINE__)
#define __syncthreads() sim_thread_barrier(SIM_PLACE)
#define __syncwarp(mask) sim_thread_syncwarp(SIM_PLACE, mask)
#define __shfl_xor_sync(mask, v, distance) sim_shuffle_xor(SIM_PLACE, mask, v, distance)
template <class V>
static inline V sim_shuffle_xor(const char *place, unsigned mask, V v, int distance) {
    sim_thread_shuffle(place, mask, distance, &v, sizeof v);
    return v;
}

template <class P, class V> static inline void __stcs(P *p, V v) { *p = v; }
template <class P, class V> static inline void __stwb(P *p, V v) { *p = v; }

#define __fmaf_rn(a, b, c) fmaf(a, b, c)
#define __fma_rn(a, b, c) fma(a, b, c)
template <class R, class V> static inline R sim_bits(V v) {
    static_assert(sizeof(R) == sizeof(V), "");
    R r;
    __builtin_memcpy(&r, &v, sizeof r);
    return r;
}
static inline int __float_as_int(float v) { return sim_bits<int>(v); }
static inline float __int_as_float(int v) { return sim_bits<float>(v); }
static inline long long __double_as_longlong(double v) { return sim_bits<long long>(v); }
static inline double __longlong_as_double(long long v) { return sim_bits<double>(v); }

/* Instructions: asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(b)) has become sim_cvt_rn_f16_f32(a, b). */
static inline void sim_cvt_f32_f16(float &v, unsigned short stored) {
    const unsigned sign = (stored & 0x8000u) << 16, rest = stored & 0x7fffu;
    const float scaled =
        sim_bits<float>(rest << 13) * 0x1p112f; /* the exponent's bias, also of subnormals */
    v = sim_bits<float>((rest >= 0x7c00u ? rest << 13 | 0x7f800000u : sim_bits<unsigned>(scaled)) |
                        sign);
}
static inline void sim_cvt_rn_f16_f32(unsigned short &stored, float v) {
    const unsigned bits = sim_bits<unsigned>(v), rest = bits & 0x7fffffffu;
    unsigned half;
    if (rest > 0x7f800000u)
        half = 0x7fffu;          /* the device's NaN */
    else if (rest < 0x38800000u) /* subnormal: the addition rounds at its last bit */
        half = sim_bits<unsigned>(sim_bits<float>(rest) + 0.5f) - 0x3f000000u;
    else
        half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    stored = (unsigned short)((half > 0x7c00u && rest <= 0x7f800000u ? 0x7c00u : half) |
                              bits >> 31 << 15);
}
static inline void sim_cvt_rn_bf16_f32(unsigned short &stored, float v) {
    const unsigned bits = sim_bits<unsigned>(v);
    stored = (unsigned short)(v == v ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : 0x7fffu);
}

#define SIM_CVT_PAIR(type)                                                                         \
    static inline void sim_cvt_rn_##type##x2_f32(unsigned &stored, float high, float low) {        \
        unsigned short halves[2];                                                                  \
        sim_cvt_rn_##type##_f32(halves[0], low);                                                   \
        sim_cvt_rn_##type##_f32(halves[1], high);                                                  \
        stored = halves[0] | (unsigned)halves[1] << 16;                                            \
    }
SIM_CVT_PAIR(f16)
SIM_CVT_PAIR(bf16)

/* Shared memory by its addresses, of 32 bits. */
static inline void sim_cvta_to_shared_u64(unsigned long long &address, const void *p) {
    address = (unsigned long long)((const char *)p - __start_sim_shared);
}
template <class V> static inline V *sim_shared(unsigned address, unsigned alignment = sizeof(V)) {
    if (address % alignment)
        sim_thread_defect("address %#x in shared memory is not aligned", address);
    return (V *)(__start_sim_shared + address);
}
static inline void sim_ld_shared_u32(unsigned &v, unsigned address) {
    v = *sim_shared<unsigned>(address);
}
static inline void sim_st_shared_v4_u32(unsigned address, unsigned x, unsigned y, unsigned z,
                                        unsigned w) {
    *sim_shared<sim_four>(address) = (sim_four){x, y, z, w};
}

/* cp.async writes values that no thread should read, and is done as late as can be. */
static inline void sim_cp_async_cg_shared_global_L2__128B(unsigned to, const void *from,
                                                          int bytes) {
    if ((unsigned long long)from % 16 || bytes < 0 || bytes > 16)
        sim_thread_defect("copies %d bytes from %p", bytes, from);
    *sim_shared<sim_four>(to) = (sim_four){~0u, ~0u, ~0u, ~0u};
    sim_thread_copy((sim_copy){from, to, (unsigned)bytes});
}
static inline void sim_cp_async_commit_group() { sim_thread_end_batch(); }
static void sim_cp_async_wait(unsigned most) {
    for (sim_copy copy; sim_thread_next_copy(most, &copy);) {
        sim_four v = {0, 0, 0, 0};
        if (copy.bytes == 16) v = *(const sim_four *)copy.from;
        for (unsigned i = 0; i < copy.bytes && copy.bytes < 16; i++)
            ((unsigned char *)&v)[i] = ((const unsigned char *)copy.from)[i];
        *sim_shared<sim_four>(copy.to) = v;
    }
}
static inline void sim_cp_async_wait_group_0() { sim_cp_async_wait(0); }
static inline void sim_cp_async_wait_group_1() { sim_cp_async_wait(1); }
static inline void sim_cp_async_wait_group_2() { sim_cp_async_wait(2); }
static inline void sim_cp_async_wait_group_3() { sim_cp_async_wait(3); }
static inline void sim_cp_async_wait_group_4() { sim_cp_async_wait(4); }
static inline void sim_cp_async_wait_group_5() { sim_cp_async_wait(5); }

/* ldmatrix: lanes 8 i to 8 i + 7 name the rows of matrix i, of 16 bytes each; lane l gets of each matrix elements
 * 2 (l % 4) and the next one of row l / 4 or, transposed, those of column l / 4. */
struct sim_rows {
    unsigned row, rows[32];
};
static void sim_share_rows(void *const *lanes) {
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            ((sim_rows *)lanes[i])->rows[j] = ((const sim_rows *)lanes[j])->row;
}
static void sim_load_matrices(const char *place, bool transposed, unsigned row, unsigned *to) {
    const unsigned lane = threadIdx.x % 32, x = lane % 4 * 2, y = lane / 4;
    sim_rows all = {row, {0}};
    sim_shared<sim_four>(row);
    sim_thread_together(place, &all, sim_share_rows);
    for (unsigned i = 0; i < 4; i++) {
        const unsigned *const rows = all.rows + 8 * i;
        to[i] = transposed ? (unsigned)*sim_shared<unsigned short>(rows[x] + 2 * y) |
                                 (unsigned)*sim_shared<unsigned short>(rows[x + 1] + 2 * y) << 16
                           : *sim_shared<unsigned>(rows[y] + 2 * x);
    }
}
#define SIM_LDMATRIX(name, transposed)                                                             \
    static inline void sim_ldmatrix_sync_aligned_m8n8_##name##_b16(                                \
        unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned row) {                        \
        unsigned to[4];                                                                            \
        sim_load_matrices("ldmatrix." #name, transposed, row, to);                                 \
        a = to[0], b = to[1], c = to[2], d = to[3];                                                \
    }
SIM_LDMATRIX(x4_shared, false)
SIM_LDMATRIX(x4_trans_shared, true)

/* mma.sync of 16 x 8 results, for 16 elements of k of two bytes, or 8 of TF32, of which 13 bits are not looked at.
 * Products and sums are exact here, but for the last rounding. */
static inline float sim_as_f16(unsigned v) {
    float f;
    sim_cvt_f32_f16(f, (unsigned short)v);
    return f;
}
static inline float sim_as_bf16(unsigned v) { return sim_bits<float>(v << 16); }
static inline float sim_as_tf32(unsigned v) { return sim_bits<float>(v & ~0x1fffu); }
struct sim_product {
    float *c[4];
    unsigned a[4], b[2];
};
/* A register has `each` elements, whose bits `convert` finds in its lowest ones. */
template <int each, float (*convert)(unsigned)> static void sim_multiply(void *const *lanes) {
    double a[16][8 * each], b[8 * each][8];
    for (int l = 0; l < 32; l++) {
        const sim_product *p = (const sim_product *)lanes[l];
        const int x = l % 4 * each, y = l / 4;
        for (int h = 0; h < each; h++) {
            for (int i = 0; i < 4; i++)
                a[y + i % 2 * 8][x + i / 2 * 4 * each + h] = convert(p->a[i] >> 16 * h);
            for (int i = 0; i < 2; i++)
                b[x + i * 4 * each + h][y] = convert(p->b[i] >> 16 * h);
        }
    }
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++) {
            float *const c = ((const sim_product *)lanes[l])->c[i];
            double sum = *c;
            for (int k = 0; k < 8 * each; k++)
                sum += a[l / 4 + i / 2 * 8][k] * b[k][l % 4 * 2 + i % 2];
            *c = (float)sum;
        }
}
#define SIM_MMA(name, work)                                                                        \
    static inline void sim_mma_sync_aligned_##name(float &c0, float &c1, float &c2, float &c3,     \
                                                   unsigned a0, unsigned a1, unsigned a2,          \
                                                   unsigned a3, unsigned b0, unsigned b1) {        \
        float c[4] = {c0, c1, c2, c3};                                                             \
        sim_product mine = {{&c[0], &c[1], &c[2], &c[3]}, {a0, a1, a2, a3}, {b0, b1}};             \
        sim_thread_together("mma." #name, &mine, work);                                            \
        c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];                                                \
    }
SIM_MMA(m16n8k16_row_col_f32_f16_f16_f32, (sim_multiply<2, sim_as_f16>))
SIM_MMA(m16n8k16_row_col_f32_bf16_bf16_f32, (sim_multiply<2, sim_as_bf16>))
SIM_MMA(m16n8k8_row_col_f32_tf32_tf32_f32, (sim_multiply<1, sim_as_tf32>))

static inline void sim_cvt_rna_tf32_f32(unsigned &bits, float v) {
    bits = v != v ? 0x7fffffffu : (sim_bits<unsigned>(v) + 0x1000u) & ~0x1fffu;
}

/* A kernel called with its arguments as cuLaunchKernel has them: how many pointers, the struct's size, the call. */
struct sim_kernel {
    int buffers;
    unsigned long args_size;
    void (*call)(void **arguments);
};
template <int... I> struct sim_numbers {};
template <int N, int... I> struct sim_count : sim_count<N - 1, N - 1, I...> {};
template <int... I> struct sim_count<0, I...> { typedef sim_numbers<I...> type; };
template <class T> struct sim_last_size {};
template <class... P> struct sim_last_size<void(P...)> {
    static constexpr unsigned long sizes[] = {sizeof(P)...};
    static constexpr unsigned long value = sizes[sizeof...(P) - 1];
};
template <class... P, int... I>
__attribute__((no_sanitize("thread"))) static void sim_call(void (*kernel)(P...), void **arguments,
                                                            sim_numbers<I...>) {
    kernel(*(P *)arguments[I]...);
}
template <class... P> constexpr int sim_buffers(void (*)(P...)) { return (int)sizeof...(P) - 1; }
#define SIM_KERNEL(name)                                                                           \
    extern "C" const sim_kernel sim_kernel_##name;                                                 \
    const sim_kernel sim_kernel_##name = {                                                         \
        sim_buffers(&tdm_##name), sim_last_size<decltype(tdm_##name)>::value,                      \
        [](void **arguments) {                                                                     \
            sim_call(&tdm_##name, arguments, sim_count<sim_buffers(&tdm_##name) + 1>::type());     \
        }};
