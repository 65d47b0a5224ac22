/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' expressions as CUDA C++: the texts that are made of them, compiled by the real NVRTC. Exits with 77 where
 * there is none. Usage: nvrtc_expressions FOLDER-OF-KERNELS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "nvrtc.h"
#include "ptx.h"
#include "user_kernels/lower.h"

enum { MOST_TENSORS = 4, ARCHITECTURE = 90 };

#define R TDMI_ROW_REPEATED
#define A TDMI_ROW_ADJACENT
#define S TDMI_ROW_APART

/* Tensors are named a, b, c …, and s is a number. */
static const struct {
    tdmi_texts texts;
    int tensors;
    int dtypes[MOST_TENSORS];
    uint8_t rows[MOST_TENSORS];
} cases[] = {
    {{.statements = "c = gelu(a) * s + where(a > 0, b, 0)"},
     3,
     {TDM_F32, TDM_F32, TDM_F32},
     {A, A, A}},
    {{.statements = "c = gelu(a) * s + where(a > 0, b, 0)"},
     3,
     {TDM_F16, TDM_F16, TDM_F16},
     {A, R, A}},
    {{.statements = "c = a * s + b; b = c * 2"}, 3, {TDM_BF16, TDM_BF16, TDM_BF16}, {A, A, A}},
    {{.statements = "b = exp(a) * s"}, 2, {TDM_F64, TDM_F64}, {A, A}},
    {{.statements = "c = gelu(a) * s + where(a > 0, b, 0)"},
     3,
     {TDM_F32, TDM_F16, TDM_F64},
     {S, A, A}},
    {{.statements = "d = (a & 15) << 2 ^ i32(b * s) % 7; c = d != 0"},
     4,
     {TDM_U8, TDM_F32, TDM_BOOL, TDM_I16},
     {A, R, A, S}},
    {{.statements = "b = a / 3 + u64(s)"}, 2, {TDM_U64, TDM_U64}, {A, A}},
    {{.statements = "b = index * 2 + row - column + i64(a * s)"}, 2, {TDM_F16, TDM_I64}, {A, A}},
    {{.statements = "b = sin(a) + cos(a) + tan(a) + asin(a) + acos(a) + atan(a) + atan2(a, s) + "
                    "sinh(a) + cosh(a) + tanh(a) + asinh(a) + acosh(a) + atanh(a) + hypot(a, s)"},
     2,
     {TDM_F32, TDM_F32},
     {A, A}},
    {{.statements =
          "b = exp2(a) + expm1(a) + log(a) + log2(a) + log10(a) + log1p(a) + pow(a, s) + sqrt(a) + "
          "rsqrt(a) + erf(a)"},
     2,
     {TDM_F64, TDM_F64},
     {A, A}},
    {{.statements = "b = erfc(a) + floor(a) + ceil(a) + round(a) + trunc(a) + fma(a, s, a) + "
                    "silu(a) + sigmoid(a) + a % s + remainder(a, s) + floor_divide(a, s) + "
                    "nextafter(a, s) + copysign(a, s) + logaddexp(a, s)"},
     2,
     {TDM_F32, TDM_F32},
     {A, A}},
    {{.map = "a * a", .finish = "sqrt(r / n) * s"}, 2, {TDM_F32, TDM_F32}, {A, R}},
    {{.map = "abs(a - b)", .finish = "r * s", .combine = TDM_MAX},
     3,
     {TDM_F16, TDM_F16, TDM_F32},
     {A, R, R}},
    {{.map = "a * s", .combine = TDM_MIN}, 2, {TDM_F64, TDM_BF16}, {A, R}},
    {{.map = "a", .finish = "r / n + i64(s)"}, 2, {TDM_U8, TDM_I64}, {A, R}},
    {{.map = "a % 7 + u64(s)", .combine = TDM_PRODUCT}, 2, {TDM_U64, TDM_U64}, {S, R}},
    {{.map = "a > s", .combine = TDM_MAX}, 2, {TDM_BF16, TDM_BOOL}, {A, R}},
    {{.map = "a", .combine = TDM_MAX, .apply = "exp(a - r) * s"}, 2, {TDM_F32, TDM_F32}, {A, A}},
    {{.map = "a", .finish = "s / r", .apply = "a * r"}, 2, {TDM_F16, TDM_F32}, {A, A}},
    {{.statements = "b = isnan(a) || isinf(a) && !isfinite(a * s)"},
     2,
     {TDM_F32, TDM_BOOL},
     {A, A}},
};

static char *with_headers(const char *folder, const char *own) {
    static const char *const names[] = {
        "dialect_cuda.h", "args.h",       "dtypes.h",    "numeric.h", "vectors.h", "activation.h",
        "convert.h",      "elementary.h", "functions.h", "reduce.h",  "fold.h"};
    char *text = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!append_file(&text, folder, names[i])) return NULL;
    char *whole = realloc(text, strlen(text) + strlen(own) + 1);
    if (!whole) abort();
    return strcat(whole, own);
}

static const char *text_of(const tdmi_texts *texts) {
    return texts->statements ? texts->statements : texts->map;
}

static bool check(const char *folder, size_t which, int vectors, const tdmi_expression *e) {
    char own_t[16], own_u[16], own_vectors[24];
    const bool is_plain = tdmi_is_plain(e, cases[which].rows);
    const int t = is_plain                        ? tdmi_plain_dtype(e)
                  : e->arithmetic == TDM_TYPE_F64 ? TDM_F64
                                                  : TDM_F32;
    snprintf(own_t, sizeof own_t, "-DT_ID=%d", t);
    snprintf(own_u, sizeof own_u, "-DU_ID=%d", t);
    snprintf(own_vectors, sizeof own_vectors, "-DVECTORS=%d", vectors);
    const char *const defines[] = {
        own_t,       own_u,       "-DOP=0",    "-DLANES=256",       "-DSTREAM=0",
        own_vectors, "-DHOLDS=0", "-DTEAMS=1", "-DVECTOR_BYTES=16", NULL};
    char *own = tdmi_lower_to_text(e, cases[which].rows);
    char *text = own ? with_headers(folder, own) : NULL;
    if (!text) abort();
    compiled c = nvrtc_compile(text, NULL, ARCHITECTURE, defines);
    ptx_report accesses;
    const bool compiles = c.good && c.ptx && ptx_report_of(c.ptx, "tdm_expression", &accesses);
    /* combining rows writes an element, and reads the results of chunks */
    const bool writes = !e->has_rows || e->has_apply;
    const bool wide = compiles && accesses.wide_loads > 0 && (accesses.wide_stores > 0 || !writes);
    const char *const name = text_of(&cases[which].texts);
    if (!compiles) printf("FAILED: %s\n%s\n%s\n", name, c.log ? c.log : "", own);
    if (compiles && wide != (vectors > 0))
        printf("FAILED: %s: %d wide loads, %d wide stores\n", name, accesses.wide_loads,
               accesses.wide_stores);
    const bool good = compiles && wide == (vectors > 0);
    compiled_free(&c);
    free(text);
    tdmi_free(own);
    return good;
}

int main(int count, char **arguments) {
    int major, minor, failed = 0, done = 0;
    if (count != 2) return 2;
    if (!nvrtc_open(&major, &minor)) return 77;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tdmi_parameter parameters[MOST_TENSORS + 1] = {0};
        tdmi_expression *e = calloc(1, sizeof *e);
        bool is_typing;
        for (int k = 0; k < cases[i].tensors; k++) {
            parameters[k] =
                (tdmi_parameter){.kind = TDM_PARAMETER_TENSOR, .dtype = cases[i].dtypes[k]};
            parameters[k].name[0] = (char)('a' + k);
        }
        parameters[cases[i].tensors] = (tdmi_parameter){"s", TDM_PARAMETER_NUMBER, TDM_ANY_DTYPE};
        if (!e || tdmi_expression_read("expression", &cases[i].texts, parameters,
                                       cases[i].tensors + 1, e, &is_typing) != TDM_OK) {
            printf("FAILED: %s: %s\n", text_of(&cases[i].texts), tdm_last_error());
            failed++;
        } else {
            const bool is_plain = tdmi_is_plain(e, cases[i].rows);
            for (int vectors = 0; vectors <= (is_plain ? 2 : 0); vectors += 2, done++)
                failed += !check(arguments[1], i, vectors, e);
        }
        free(e);
    }
    printf("%d kernels of expressions by NVRTC %d.%d for sm_%d, %d failed\n", done, major, minor,
           ARCHITECTURE, failed);
    return failed > 0;
}
