/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ as kernels/dialect_cuda.h and the kernels use it, in C++17: thread_text.c puts this before a text that
 * was meant for NVRTC. It has no #include, so that a kernel compiles in a tenth of a second; what a launch has to do
 * at a barrier or a shuffle is in threads.c. */
#define __CUDACC_RTC__
#define __device__
#define __global__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* in a section of its own, so that a launch finds all of it */
#define __shared__ static __attribute__((section("sim_shared"), used))

/* copied by one access of 16 bytes, whatever a compiler makes of a struct */
typedef unsigned sim_four __attribute__((vector_size(16), may_alias));
struct __attribute__((aligned(16), may_alias)) uint4 {
    unsigned x, y, z, w;
    uint4() = default;
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

/* what a launch finds in the shared object */
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
SIM_LIBRARY(erf)
SIM_LIBRARY(erfc)
SIM_LIBRARY(floor)
SIM_LIBRARY(ceil)
SIM_LIBRARY(rint)
SIM_LIBRARY(trunc)
SIM_LIBRARY2(fmod)
SIM_LIBRARY2(pow)
SIM_LIBRARY2(atan2)
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
