/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* f16 to f32 and back by F16C, which compilers do not use by themselves: GCC 12 converts in integers. */
#include "host/half.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#include "platform/threads.h"

#define USES_F16C __attribute__((target("avx2,f16c")))
enum { LANES = 8 };

static bool has_f16c;

/* AVX2 by the compiler's own function, as that asks the system, too; for F16C not all compilers have a name. */
static void look(void) {
    unsigned a, b, c, d;
    has_f16c =
        __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

bool tdmi_half_has(tdm_dtype from, tdm_dtype to) {
    static tdmi_once once = TDMI_ONCE_INIT;
    tdmi_once_run(&once, look);
    const bool both = (from == TDM_F16 && to == TDM_F32) || (from == TDM_F32 && to == TDM_F16);
    return both && has_f16c;
}

USES_F16C static void widen(int64_t n, const uint16_t *from, float *to) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    uint16_t rest[LANES] = {0};
    float wide[LANES];
    memcpy(rest, from + i, (size_t)(n - i) * sizeof *rest);
    _mm256_storeu_ps(wide, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)rest)));
    memcpy(to + i, wide, (size_t)(n - i) * sizeof *wide);
}

USES_F16C static __m128i round_lanes(const float *from) {
    return _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
}

USES_F16C static void narrow(int64_t n, const float *from, uint16_t *to) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm_storeu_si128((__m128i *)(to + i), round_lanes(from + i));
    float rest[LANES] = {0};
    memcpy(rest, from + i, (size_t)(n - i) * sizeof *rest);
    const __m128i halves = round_lanes(rest);
    memcpy(to + i, &halves, (size_t)(n - i) * sizeof *to);
}

void tdmi_half_convert(int64_t rows, int64_t cols, tdmi_host_matrix from, tdmi_host_matrix to) {
    if (from.ld == cols && to.ld == cols) {
        cols *= rows;
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++)
        if (from.dtype == TDM_F16)
            widen(cols, (const uint16_t *)from.data + i * from.ld, (float *)to.data + i * to.ld);
        else
            narrow(cols, (const float *)from.data + i * from.ld, (uint16_t *)to.data + i * to.ld);
}
#else
bool tdmi_half_has(tdm_dtype from, tdm_dtype to) {
    (void)from;
    (void)to;
    return false;
}

void tdmi_half_convert(int64_t rows, int64_t cols, tdmi_host_matrix from, tdmi_host_matrix to) {
    (void)rows;
    (void)cols;
    (void)from;
    (void)to;
}
#endif
