/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels of expressions: types, layouts, numbers of elements, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/expression_call.h"
#include "support/array.h"

TestSuite(expression_rules, .init = device_open, .fini = device_close);

/* ---- integers ---- */

/* It has room for every value of the four types, and for a quotient that wraps. */
__extension__ typedef __int128 wide;

/* Texts, and their values of a and b before they are stored in `bits`. */
#define INTEGER_CASES(X)                                                                           \
    X("y = a + b", a + b)                                                                          \
    X("y = a - b", a - b)                                                                          \
    X("y = a * b", (wide)((uint64_t)a * (uint64_t)b))                                              \
    X("y = -a + 0 * b", -a)                                                                        \
    X("y = a & b", a &b)                                                                           \
    X("y = a ^ (~b | 12)", a ^ (~b | 12))                                                          \
    X("y = a << b", (wide)((uint64_t)a << (b & (bits - 1))))                                       \
    X("y = a >> b", a >> (b & (bits - 1)))                                                         \
    X("y = a < b", a < b)                                                                          \
    X("y = max(a, b)", a > b ? a : b)                                                              \
    X("y = a / b", b == 0 ? 0 : a / b)                                                             \
    X("y = a % b", b == 0 ? 0 : a % b)

static const char *const integer_texts[] = {
#define TEXT(text, value) text,
    INTEGER_CASES(TEXT)
#undef TEXT
};

static void random_integers(tdm_dtype dtype, unsigned char *bytes, int count) {
    static const int64_t edges[] = {0,         1,         -1,        2,         INT32_MIN,
                                    INT32_MAX, INT64_MIN, INT64_MAX, UINT32_MAX};
    for (int i = 0; i < count; i++) {
        uint64_t value = random_bits() >> random_integer(0, 63);
        if (random_integer(0, 3) == 0)
            value = (uint64_t)edges[random_integer(0, sizeof edges / sizeof *edges - 1)];
        encode_integer(dtype, value, bytes + (size_t)i * dtype_size(dtype));
    }
}

static wide wide_of(tdm_dtype dtype, const void *bytes) {
    const uint64_t bits = decode_integer(dtype, bytes);
    return dtype == TDM_I32 || dtype == TDM_I64 ? (wide)(int64_t)bits : (wide)bits;
}

static uint64_t integer_result(size_t number, tdm_dtype dtype, const void *at_a, const void *at_b) {
    const wide a = wide_of(dtype, at_a), b = wide_of(dtype, at_b);
    const int bits = 8 * (int)dtype_size(dtype);
    const wide values[] = {
#define VALUE(text, value) value,
        INTEGER_CASES(VALUE)
#undef VALUE
    };
    return (uint64_t)values[number];
}

enum { INTEGERS = 1111, TOGETHER = 6 };

static void check_integers(size_t number, tdm_dtype dtype, const unsigned char *a,
                           const unsigned char *b, array *y) {
    const size_t size = dtype_size(dtype);
    unsigned char got[INTEGERS * 8], want[8];
    check_case("%s of %s", integer_texts[number], tdm_dtype_name(dtype));
    OK(tdm_to_host(queue, &y->t, got));
    for (size_t at = 0; at < INTEGERS * size; at += size) {
        encode_integer(dtype, integer_result(number, dtype, a + at, b + at), want);
        const bool right = memcmp(want, got + at, size) == 0;
        CHECK(right, "element %zu: %lld, %lld gave %lld, not %lld", at / size,
              (long long)decode_integer(dtype, a + at), (long long)decode_integer(dtype, b + at),
              (long long)decode_integer(dtype, got + at), (long long)decode_integer(dtype, want));
        if (!right) break;
    }
}

/* Integer arithmetic wraps, nothing traps, in each of the four types. */
Test(expression_rules, integers, TAGS("texts")) {
    static const tdm_dtype dtypes_of[] = {TDM_I32, TDM_I64, TDM_U32, TDM_U64};
    enum { CASES = sizeof integer_texts / sizeof *integer_texts };
    static unsigned char a_bytes[INTEGERS * 8], b_bytes[INTEGERS * 8];
    for (size_t first = 0; first < CASES; first += TOGETHER) {
        for (int d = 0; d < 4; d++) {
            const tdm_dtype dtype = dtypes_of[d];
            const size_t bytes = INTEGERS * dtype_size(dtype);
            char text[512] = "";
            random_integers(dtype, a_bytes, INTEGERS);
            random_integers(dtype, b_bytes, INTEGERS);
            array *arrays[2 + TOGETHER] = {array_1d(dtype, INTEGERS), array_1d(dtype, INTEGERS)};
            array *a = arrays[0], *b = arrays[1];
            OK(tdm_buffer_write(queue, a->t.buffer, element_offset(&a->t, 0), a_bytes, bytes));
            OK(tdm_buffer_write(queue, b->t.buffer, element_offset(&b->t, 0), b_bytes, bytes));
            for (size_t i = 0; i < TOGETHER; i++) {
                arrays[2 + i] = array_1d(dtype, INTEGERS);
                snprintf(text + strlen(text), sizeof text - strlen(text), "%c%s; ", (int)('c' + i),
                         integer_texts[first + i] + 1);
            }
            check_case("%s", text);
            if (run(text, arrays, "abcdefgh", NO_NUMBER, 0))
                for (size_t i = 0; i < TOGETHER; i++)
                    check_integers(first + i, dtype, a_bytes, b_bytes, arrays[2 + i]);
            array_free_all();
        }
    }
}

/* ---- types ---- */

/* "y = a" is a cast, of every dtype to every other; to several at once. */
Test(expression_rules, every_dtype) {
    enum { N = 300, MOST_OUTPUTS = 7 };
    for (int from = 0; from < dtype_count; from += compiles() ? (small ? 5 : 3) : 1) {
        for (int first = 0; first < dtype_count; first += MOST_OUTPUTS) {
            const int count =
                dtype_count - first < MOST_OUTPUTS ? dtype_count - first : MOST_OUTPUTS;
            array *arrays[1 + MOST_OUTPUTS] = {array_1d(dtypes[from], N)}, *a = arrays[0];
            char text[256] = "", names[] = "abcdefgh";
            names[1 + count] = '\0';
            array_uniform(a, dtypes[from] == TDM_BOOL ? 0 : -300,
                          dtypes[from] == TDM_BOOL ? 2 : 300);
            for (int i = 0; i < count; i++) {
                arrays[1 + i] = array_1d(dtypes[first + i], N);
                snprintf(text + strlen(text), 16, "%c = a\n", 'b' + i);
            }
            bool done = run(text, arrays, names, NO_NUMBER, 0);
            for (int i = 0; i < count && done; i++) {
                const tdm_dtype to = dtypes[first + i];
                array *cast = array_1d(to, N);
                unsigned char got[N * 8], want[N * 8];
                check_case("%s to %s", tdm_dtype_name(dtypes[from]), tdm_dtype_name(to));
                done = OK(tdm_cast(queue, &a->t, &cast->t)) &&
                       OK(tdm_to_host(queue, &arrays[1 + i]->t, got)) &&
                       OK(tdm_to_host(queue, &cast->t, want));
                CHECK(done && memcmp(got, want, N * dtype_size(to)) == 0,
                      "an element differs from what tdm_cast gives");
            }
            array_free_all();
        }
    }
}

/* The common type of two, seen in their results. */
Test(expression_rules, types_that_meet, TAGS("texts")) {
    static const struct {
        const char *text;
        tdm_dtype a, b, y;
        double av, bv, want;
    } cases[] = {
        {"y = a / b", TDM_I32, TDM_I32, TDM_F32, 7, 2, 3},
        {"y = a / f32(b)", TDM_I32, TDM_I32, TDM_F32, 7, 2, 3.5},
        {"y = a / 2.0 + 0 * b", TDM_I32, TDM_I32, TDM_F32, 7, 2, 3.5},
        {"y = a / b", TDM_I32, TDM_F32, TDM_F32, 7, 2, 3.5},
        {"y = a + b", TDM_U8, TDM_U8, TDM_I32, 200, 100, 300},
        {"y = a - b", TDM_U32, TDM_I32, TDM_I64, 1, 2, -1},
        {"y = a - b", TDM_U32, TDM_U32, TDM_I64, 1, 2, 4294967295.0},
        {"y = a + b", TDM_BOOL, TDM_BOOL, TDM_I32, 1, 1, 2},
        {"y = a & b", TDM_BOOL, TDM_BOOL, TDM_I32, 1, 1, 1},
        {"y = a == b", TDM_BOOL, TDM_U8, TDM_BOOL, 1, 1, 1},
        {"y = sqrt(a) + 0 * b", TDM_I64, TDM_I32, TDM_F32, 9, 1, 3},
        {"y = a * 0.5 * b", TDM_F16, TDM_BF16, TDM_F32, 3, 5, 7.5},
        {"y = a + b + 3000000000", TDM_I64, TDM_I32, TDM_I64, 1, 2, 3000000003.0},
        {"t = a * 2; u = t + b\ny = (u // a remark\n + t) / 2", TDM_F32, TDM_F32, TDM_F32, 3, 4, 8},
        {"y = 0x10 + a + b", TDM_I16, TDM_I8, TDM_I32, 1, 2, 19},
        {"y = where(a, 1, 2) + b", TDM_I32, TDM_I32, TDM_F32, 5, 0.0, 1},
        {"y = a > 1 && !(b == 3) || b < 0", TDM_F32, TDM_I32, TDM_U8, 2, 4, 1},
        {"y = 7 - 2 * 3 + (1 ? a : b)", TDM_F32, TDM_F32, TDM_F32, 2, 4, 3},
        {"y = (a < b) + (b > a) * 2", TDM_F32, TDM_F32, TDM_I32, 2, 4, 3},
        {"y = pi * a + b", TDM_F32, TDM_F32, TDM_F32, 1, 0.0, (double)(float)M_PI},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c += compiles() ? 2 : 1) {
        check_case("%s", cases[c].text);
        array *a = array_1d(cases[c].a, 9), *b = array_1d(cases[c].b, 9);
        array *y = array_1d(cases[c].y, 9);
        array_constant(a, cases[c].av);
        array_constant(b, cases[c].bv);
        array *const arrays[] = {a, b, y};
        if (run(cases[c].text, arrays, "aby", NO_NUMBER, 0))
            ARRAY_CHECK(y, numbers_of(9, cases[c].want), NULL);
        array_free_all();
    }
}

/* Made for tensors of any dtype, though only some integers are right. */
Test(expression_rules, integers_of_any_dtype, TAGS("texts")) {
    static const struct {
        const char *text;
        tdm_dtype dtype;
        uint64_t x, want;
    } cases[] = {
        {"y = x & 0xFFFFFFFF", TDM_I64, 0x123456789abcdef0, 0x9abcdef0},
        {"y = x & 0xFFFFFFFF", TDM_U32, 0x9abcdef0, 0x9abcdef0},
        {"y = x ^ 2654435769", TDM_U32, 0xffffffff, 0x61c88646},
        {"y = (x >> 3) & u64(7)", TDM_U64, 0xf000000000000028, 5},
        {"y = (x & u64(5)) > 0 && (x & i64(6)) > 0 ? x & 4294967295 : 0", TDM_U32, 7, 7},
        /* integers of the text alone have no type yet */
        {"y = x & ((1 << 40) - 1)", TDM_I64, 0x123456789abcdef0, 0x789abcdef0},
        {"y = x & (1 << 63 | 1 << 34 % 16 ^ 6 & 3)", TDM_I64, UINT64_MAX, 0x8000000000000006},
        {"y = x * (1 << 3) + (0xF00000000 >> 32)", TDM_U64, 0x1000000000000001, 0x8000000000000017},
        {"y = x + 7 % -1 + 6 / 0 + 5 % 0 + -6 / -1", TDM_U64, 1, 7},
        {"y = (3 && 4) + (x & ~7)", TDM_I64, 0xff0000000f, 0xff00000009},
        {"y = x & ~7", TDM_U32, 0xffffffff, 0xfffffff8},
        {"y = x & ~u64(7)", TDM_U64, UINT64_MAX, UINT64_MAX - 7},
        {"y = (x & 2147483647) >> 1", TDM_I32, UINT64_MAX, 0x3fffffff},
        {"y = (x & -2147483648) != 0 ? x & 7 : 0", TDM_I32, UINT64_MAX, 7},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tdm_dtype dtype = cases[c].dtype;
        array *x = array_1d(dtype, 1), *y = array_1d(dtype, 1);
        unsigned char bytes[8];
        check_case("%s of %s", cases[c].text, tdm_dtype_name(dtype));
        encode_integer(dtype, cases[c].x, bytes);
        OK(tdm_buffer_write(queue, x->t.buffer, element_offset(&x->t, 0), bytes,
                            dtype_size(dtype)));
        array *const arrays[] = {x, y};
        if (run(cases[c].text, arrays, "xy", NO_NUMBER, 0) && OK(tdm_to_host(queue, &y->t, bytes)))
            CHECK(decode_integer(dtype, bytes) == cases[c].want, "gave %llx",
                  (unsigned long long)decode_integer(dtype, bytes));
        array_free_all();
    }
}

/* f64 inside of a kernel none of whose tensors has it. */
Test(expression_rules, f64_between) {
    if (!computes_with(TDM_F64)) return;
    array *a = array_1d(TDM_F32, 100), *y = array_1d(TDM_F32, 100), *z = array_1d(TDM_F32, 1);
    double want[100], sum = 0;
    array_integers(a, -9, 9);
    for (int i = 0; i < 100; i++) {
        want[i] = a->v[i] + 1;
        sum += a->v[i] * 2;
    }
    array *const arrays[] = {a, y}, *const of_row[] = {a, z};
    const tdm_row_kernel doubled = TDM_ROW_KERNEL(.map = "f64(x) * 2");
    check_case("f64(x)");
    if (run("y = f32((f64(x) + 1e12) - 1e12 + 1)", arrays, "xy", NO_NUMBER, 0))
        ARRAY_CHECK(y, want, NULL);
    if (run_rows(&doubled, of_row, "xy", NO_NUMBER, 0)) ARRAY_CHECK(z, &sum, NULL);
    array_free_all();
}

/* Numbers that are converted by name keep their digits, also where arithmetic is in f32. */
Test(expression_rules, converted_numbers) {
    static const struct {
        const char *text;
        bool needs_f64;
        double s, want;
    } cases[] = {
        {"y = x * 0 + i64(1e15)", false, NAN, 1e15},
        {"y = x * 0 + i32(-16777217.9) + i64(bool(1e-60))", false, NAN, -16777216},
        {"y = x * 0 + i64(u64(18446744073709549568.0))", false, NAN, -2048},
        {"y = (1e-60 ? x : 0) + i64(u32(4294967295.5))", false, NAN, 4294967302},
        {"y = x * 0 + i64((f64(pi) - 3.14159265) * 1e15)", true, NAN, 3589792},
        {"y = x * 0 + i64(f64(s) * 1e15)", true, 0.1, 1e14},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (cases[c].needs_f64 && !computes_with(TDM_F64)) continue;
        array *x = array_1d(TDM_I64, 1), *y = array_1d(TDM_I64, 1), *const arrays[] = {x, y};
        check_case("%s", cases[c].text);
        array_constant(x, 7);
        if (run(cases[c].text, arrays, "xy", cases[c].s, 0)) ARRAY_CHECK(y, &cases[c].want, NULL);
        array_free_all();
    }
}

/* ---- layouts ---- */

/* Strides of any kind, dtypes mixed, scalars, two outputs of which one is read, too. */
Test(expression_rules, any_layout, TAGS("texts")) {
    const char *const text = "y = a * s + where(a > b, b, c) - k; c = c + y";
    for (int i = 0; i < (compiles() ? 12 : small ? 25 : 400); i++) {
        const int ndim = (int)random_integer(1, 6);
        int64_t shape[TDM_MAX_DIMS], most = ndim == 1 ? 3000 : ndim == 2 ? 70 : 7;
        for (int k = 0; k < ndim; k++)
            shape[k] = random_integer(1, most);
        const bool mixed = random_bits() & 1;
        array *a = array_any_strides(mixed ? TDM_I8 : TDM_F32, ndim, shape, true);
        array *b = array_any_strides(mixed ? TDM_F16 : TDM_F32, ndim, shape, true);
        array *c = array_any_strides(TDM_F32, ndim, shape, false);
        array *y = array_any_strides(TDM_F32, ndim, shape, false);
        check_case("%d dimensions %lldx%lldx%lld, %s", ndim, (long long)shape[0],
                   ndim > 1 ? (long long)shape[1] : 0, ndim > 2 ? (long long)shape[2] : 0,
                   mixed ? "mixed" : "f32");
        array_integers(a, -20, 20);
        array_integers(b, -20, 20);
        array_integers(c, -20, 20);
        double *want = numbers(y->count), *sum = numbers(y->count);
        for (int64_t e = 0; e < y->count; e++) {
            want[e] = a->v[e] * 0.5 + (a->v[e] > b->v[e] ? b->v[e] : c->v[e]) - 3;
            sum[e] = c->v[e] + want[e];
        }
        array *const arrays[] = {a, b, c, y};
        bool right = run(text, arrays, "abcy", 0.5, 3) && ARRAY_CHECK(y, want, NULL) &&
                     ARRAY_CHECK(c, sum, NULL) && ARRAY_SAME(a) && ARRAY_SAME(b);
        array_free_all();
        if (!right) break;
    }
}

/* Shapes that are broadcast, as in NumPy. */
Test(expression_rules, broadcasting) {
    enum { B = 3, R = 5, C = 130 };
    const int64_t whole[] = {B, R, C}, row[] = {C}, column[] = {R, 1}, one[] = {1};
    array *a = array_new(TDM_F32, 1, row, NULL), *b = array_new(TDM_F32, 2, column, NULL);
    array *c = array_new(TDM_F32, 1, one, NULL), *y = array_new(TDM_F32, 3, whole, NULL);
    array_integers(a, -9, 9);
    array_integers(b, -9, 9);
    array_integers(c, -9, 9);
    double want[B * R * C];
    for (int i = 0; i < B * R * C; i++)
        want[i] = a->v[i % C] * b->v[i / C % R] + c->v[0];
    check_case("[130] by [5, 1] and [1] to [3, 5, 130]");
    array *const arrays[] = {a, b, c, y};
    if (run("y = a * b + c", arrays, "abcy", NO_NUMBER, 0)) ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

/* index, row and column count row-major in the outputs' shape, however they lie. */
Test(expression_rules, numbers_of_elements) {
    for (int i = 0; i < (compiles() ? 8 : 40); i++) {
        const int ndim = (int)random_integer(1, 4);
        int64_t shape[TDM_MAX_DIMS];
        for (int k = 0; k < ndim; k++)
            shape[k] = random_integer(1, ndim == 1 ? 9000 : 9);
        array *y = array_any_strides(i & 1 ? TDM_I64 : TDM_F64, ndim, shape, false);
        if (float_dtype_count < 4 && !(i & 1)) continue;
        double *want = numbers(y->count);
        for (int64_t e = 0; e < y->count; e++)
            want[e] = (double)(e * 100 + e % shape[ndim - 1] * 10 + e / shape[ndim - 1]);
        check_case("%d dimensions %lldx%lld", ndim, (long long)shape[0],
                   ndim > 1 ? (long long)shape[1] : 0);
        array *const arrays[] = {y};
        if (run("y = index * 100 + column * 10 + row", arrays, "y", NO_NUMBER, 0))
            ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}

/* In place, at lengths with a tail, past the cache, and many steps. */
Test(expression_rules, lengths_in_place, TAGS("lanes few texts")) {
    static const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 1000, 1024, 1025, 65537, 3000001};
    for (size_t l = 0; l < (small ? 9 : sizeof lengths / sizeof *lengths); l++) {
        const int64_t n = lengths[l];
        array *a = array_1d(TDM_F32, n), *b = array_1d(TDM_F32, n), *y = array_1d(TDM_F32, n);
        array_integers(a, -30, 30);
        array_integers(b, -30, 30);
        double *want = numbers(n);
        for (int64_t e = 0; e < n; e++)
            want[e] =
                ((a->v[e] + b->v[e]) * 2 - a->v[e] * b->v[e]) * (a->v[e] - 1) + b->v[e] * 0.25;
        check_case("%lld elements", (long long)n);
        array *const arrays[] = {a, b, y}, *const in_place[] = {a, b};
        if (run("y = ((a + b) * 2 - a * b) * (a - 1) + b * 0.25", arrays, "aby", NO_NUMBER, 0) &&
            ARRAY_CHECK(y, want, NULL) && ARRAY_SAME(a) &&
            run("a = ((a + b) * 2 - a * b) * (a - 1) + b * 0.25", in_place, "ab", NO_NUMBER, 0))
            ARRAY_CHECK(a, want, NULL);
        array_free_all();
    }
}

/* Views of one buffer, exactly the same, under two names. */
Test(expression_rules, same_view_under_two_names) {
    array *a = array_1d(TDM_F32, 1000);
    array_integers(a, -9, 9);
    double want[1000];
    for (int i = 0; i < 1000; i++)
        want[i] = a->v[i] * a->v[i] + 1;
    check_case("y is a");
    array *const arrays[] = {a, a};
    if (run("y = a * a + 1", arrays, "ay", NO_NUMBER, 0)) ARRAY_CHECK(a, want, NULL);
    array_free_all();
}

/* Outputs are written when all was read: also what is stored as it was read, where another output lies. */
Test(expression_rules, values_before_outputs) {
    enum { N = 2500 };
    for (int exchanges = 0; exchanges < 2; exchanges++) {
        array *a = array_1d(TDM_F32, N), *b = array_1d(TDM_F32, N);
        array_integers(a, -9, 9);
        array_integers(b, -9, 9);
        double want_a[N], want_b[N];
        for (int i = 0; i < N; i++) {
            want_a[i] = exchanges ? b->v[i] : a->v[i] + 1;
            want_b[i] = a->v[i];
        }
        array *const arrays[] = {a, b, a};
        const char *const text = exchanges ? "t = b; b = a; a = t" : "a = x + 1; b = x";
        check_case("%s", text);
        if (run(text, arrays, exchanges ? "ab" : "abx", NO_NUMBER, 0)) {
            ARRAY_CHECK(a, want_a, NULL);
            ARRAY_CHECK(b, want_b, NULL);
        }
        array_free_all();
    }
}

/* A kernel that was warmed needs no compiler; in blocks none does. */
Test(expression_rules, warmed, TAGS("compiled")) {
    array *a = array_1d(TDM_F32, 64), *y = array_1d(TDM_F32, 64);
    const tdm_parameter parameters[] = {TDM_TENSOR("a"), TDM_INTEGER("k"), TDM_TENSOR("y")};
    tdm_argument arguments[] = {TDM_WITH_TENSOR("a", &a->t), TDM_WITH_INTEGER("k", 3),
                                TDM_WITH_TENSOR("y", &y->t)};
    char text[64];
    tdm_kernel *kernel;
    bool is_cached;
    /* no process has had this one before */
    snprintf(text, sizeof text, "y = a * k + %llu", (unsigned long long)(random_bits() >> 2));
    check_case("%s", text);
    array_constant(y, 7);
    if (!OK(tdm_kernel_elementwise(device, text, parameters, 3, &kernel))) return;
    OK(tdm_kernel_is_cached(queue, kernel, arguments, 3, &is_cached));
    CHECK(is_cached == !compiles(), "before, it is %s", is_cached ? "cached" : "not cached");
    OK(tdm_kernel_warm(queue, kernel, arguments, 3));
    OK(tdm_kernel_is_cached(queue, kernel, arguments, 3, &is_cached));
    CHECK(is_cached, "warmed, it is not cached");
    ARRAY_SAME(y);
    REFUSED(tdm_kernel_is_cached(queue, kernel, arguments, 2, &is_cached),
            TDM_ERROR_INVALID_ARGUMENT, "tdm_kernel_is_cached: there is no argument for y");
    CHECK(!is_cached, "a refused call says yes");
    tdm_kernel_release(kernel);
    array_free_all();
}

/* A recorded kernel runs with each replay, also when it was released. */
Test(expression_rules, recorded, TAGS("compiled")) {
    enum { N = 100 };
    array *a = array_1d(TDM_F32, N), *y = array_1d(TDM_F32, N);
    array_integers(a, -9, 9);
    array_constant(y, 0);
    tdm_graph *graph;
    double want[N];
    check_case("y = y + a * s, three times");
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    array *const arrays[] = {a, y};
    run("y = y + a * s", arrays, "ay", 2, 0);
    OK(tdm_graph_end(graph));
    for (int i = 0; i < 3; i++)
        OK(tdm_graph_replay(graph));
    for (int i = 0; i < N; i++)
        want[i] = a->v[i] * 6;
    ARRAY_CHECK(y, want, NULL);
    tdm_graph_destroy(graph);
    array_free_all();
}

/* An integer is rounded to bf16 once. */
Test(expression_rules, integers_in_bf16) {
    array *x = array_1d(TDM_BF16, 1), *y = array_1d(TDM_BF16, 1), *const arrays[] = {x, y};
    const double want = 0x1020000;
    array_constant(x, 1);
    if (run("y = x > 0 ? 0x1010001 : 0", arrays, "xy", NO_NUMBER, 0)) ARRAY_CHECK(y, &want, NULL);
    array_free_all();
}
