/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tests' own tools: a comparison that cannot fail guards nothing. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/function_errors.h"
#include "operations/formulas.h"
#include "operations/list.h"
#include "reference/random.h"
#include "reference/sums.h"
#include "reference/values.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(checks, .init = random_start);

/* first_difference fails on NaN, on an infinity, past the bound, with a NaN bound; and only then.
 */
Test(checks, comparison) {
    double nan = (double)NAN, inf = (double)INFINITY;
    const struct {
        double got, want, bound;
        bool equal;
    } cases[] = {{1, 1, 0, true},         {1, 1.1, 0.2, true},  {1, 1.1, 0.05, false},
                 {nan, 1, 1e9, false},    {1, nan, 1e9, false}, {nan, nan, 0, true},
                 {inf, 1, 1e9, false},    {1, inf, inf, false}, {inf, inf, 0, true},
                 {inf, -inf, inf, false}, {nan, inf, 1, false}, {inf, nan, 1, false},
                 {nan, 1, inf, false},    {1, 1, nan, false},   {-0.0, 0.0, 0, true},
                 {nan, 0, 0, false},      {0, 5e-324, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t at = first_difference(&cases[i].got, &cases[i].want, &cases[i].bound, 1);
        CHECK(at == (cases[i].equal ? -1 : 0), "case %zu", i);
    }
    double got[100] = {0}, want[100] = {0};
    CHECK(first_difference(got, want, NULL, 100) == -1, "equal arrays");
    got[99] = nan;
    CHECK(first_difference(got, want, NULL, 100) == 99, "NaN at the end");
    CHECK(first_difference(got, want, NULL, 99) == -1, "count");
    CHECK(contains_words("Did you mean opencl?", "OPENCL|mean") &&
              !contains_words("cpu", "cpu|gpu"),
          "contains_words");
}

/* The 16-bit formats, against values known from their definitions, and every pattern there and
 * back. */
Test(checks, formats) {
    const struct {
        tdm_dtype dtype;
        double x;
        unsigned bits;
    } known[] = {{TDM_F16, 1.0, 0x3c00},     {TDM_F16, -2.0, 0xc000},    {TDM_F16, 65504.0, 0x7bff},
                 {TDM_F16, 65519.9, 0x7bff}, {TDM_F16, 65520.0, 0x7c00}, {TDM_F16, 0x1p-24, 1},
                 {TDM_F16, 0x1p-25, 0},      {TDM_F16, 0x1.8p-25, 1},    {TDM_F16, 0x1.8p-24, 2},
                 {TDM_F16, 0x1p-14, 0x0400}, {TDM_F16, 2049.0, 0x6800},  {TDM_F16, 2051.0, 0x6802},
                 {TDM_F16, 1.0 / 3, 0x3555}, {TDM_BF16, 1.0, 0x3f80},    {TDM_BF16, 257.0, 0x4380},
                 {TDM_BF16, 259.0, 0x4382},  {TDM_BF16, 1e39, 0x7f80},   {TDM_BF16, -0.0, 0x8000},
                 {TDM_BF16, 0x1p-133, 1},    {TDM_BF16, 0x1p-134, 0},    {TDM_BF16, 3.0, 0x4040}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint16_t bits = 0;
        encode(known[i].dtype, known[i].x, &bits);
        CHECK(bits == known[i].bits, "%s of %g is 0x%04x, not 0x%04x",
              tdm_dtype_name(known[i].dtype), known[i].x, bits, known[i].bits);
    }
    for (unsigned b = 0; b < 65536; b++) {
        uint16_t bits = (uint16_t)b, back = 0;
        for (int d = TDM_F16; d <= TDM_BF16; d++) {
            long double x = decode((tdm_dtype)d, &bits);
            encode((tdm_dtype)d, x, &back);
            CHECK(back == bits || isnan(x), "%s 0x%04x came back as 0x%04x",
                  tdm_dtype_name((tdm_dtype)d), bits, back);
        }
    }
    CHECK(half_ulp(TDM_F32, 1.0) == 0x1p-24 && half_ulp(TDM_F16, 0.0) == 0x1p-25, "half_ulp");
    CHECK(dtype_max(TDM_F16) == 65504.0, "dtype_max");
    unsigned char byte = 9;
    encode(TDM_U8, 255.9L, &byte);
    CHECK(byte == 255, "u8 of 255.9 is %d", byte);
    encode_integer(TDM_U8, UINT64_MAX, &byte);
    CHECK(byte == 255, "u8 of the integer -1 is %d", byte);
}

/* References against values worked out by hand, so that a wrong formula is not the judge. */
Test(checks, references) {
    CHECK(fabs(ref_activation(TDM_ACTIVATION_GELU, 1.0) - 0.84134474606854293) < 1e-15, "gelu(1)");
    CHECK(fabs(ref_activation(TDM_ACTIVATION_GELU, -3.0) + 0.0040496940948902) < 1e-15, "gelu(-3)");
    CHECK(fabs(ref_activation(TDM_ACTIVATION_GELU_TANH, 1.0) - 0.84119199060827676) < 1e-15,
          "gelu_tanh(1)");
    CHECK(fabs(ref_activation(TDM_ACTIVATION_SILU, 1.0) - 0.7310585786300049) < 1e-15, "silu(1)");
    CHECK(fabs(ref_activation(TDM_ACTIVATION_SIGMOID, 2.0) - 0.8807970779778823) < 1e-15,
          "sigmoid");
    CHECK(isnan(ref_activation(TDM_ACTIVATION_RELU, (double)NAN)), "relu(NaN)");
    double x[4] = {1, 2, 3, 4}, y[4], bound[4], unused;
    const double *const inputs[OP_OPERANDS] = {x};
    op_refer(op_named("layer_norm"), TDM_F64, 1, 4, 0.0, inputs, 5, y, bound);
    CHECK(fabs(y[0] + 1.3416407864998738) < 1e-15 && fabs(y[3] + y[0]) < 1e-15, "layer_norm");
    op_refer(op_named("rms_norm"), TDM_F64, 1, 4, 0.0, inputs, 4, y, bound);
    CHECK(fabs(y[3] - 4.0 / sqrt(7.5)) < 1e-15, "rms_norm");
    op_refer(op_named("l2_normalize"), TDM_F64, 1, 4, 0.0, inputs, 1, y, bound);
    CHECK(fabs(y[3] - 4.0 / sqrt(30.0)) < 1e-15, "l2_normalize");
    op_refer(op_named("softmax"), TDM_F64, 1, 4, 0.0, inputs, 2, y, bound);
    CHECK(fabs(y[3] - 0.6439142598879722) < 1e-15, "softmax");
    op_refer(op_named("variance"), TDM_F64, 1, 4, 0.0, inputs, 2, y, bound);
    CHECK(y[0] == 1.25, "variance");
    double v[2] = {3, -4};
    CHECK(ref_reduce(REF_L2, TDM_F64, TDM_F64, 2, v, 1, 0, &unused) == 5.0, "l2");
    CHECK(ref_reduce(REF_L1, TDM_F64, TDM_F64, 2, v, 1, 0, &unused) == 7.0, "l1");
    CHECK(ref_reduce(REF_INF, TDM_F64, TDM_F64, 2, v, 1, 0, &unused) == 4.0, "inf");
    double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3}, c[4] = {1, 1, 1, 1};
    ref_gemm g = {TDM_F64, 2, 2, 3, false, true, 2.0, 10.0, a, b, c, NULL, TDM_ACTIVATION_NONE};
    ref_matmul(&g, y, bound);
    CHECK(y[0] == 24 && y[1] == 30 && y[2] == 42 && y[3] == 54, "matmul %g %g %g %g", y[0], y[1],
          y[2], y[3]);
    g = (ref_gemm){TDM_F64, 3, 3, 2, true, false, 1.0, 0.0, a, a, c, NULL, TDM_ACTIVATION_NONE};
    double square[9], bounds[9];
    ref_matmul(&g, square, bounds);
    CHECK(square[0] == 17 && square[1] == 22 && square[8] == 45, "transposed matmul");
}

/* Sums of a million terms that a plain sum in extended precision rounds all alike, and so is wrong by 13 eps of f64. */
Test(checks, sums) {
    const int64_t n = INT64_C(1) << 20;
    long_sum equal = {0}, mixed = {0};
    for (int64_t i = 0; i < n; i++) {
        const long double term = (long double)(1.0 / 3.0);
        long_sum_add(&equal, term);
        long_sum_add(&mixed, i % 4 == 3 ? -term : term);
    }
    const long double want = ldexpl((long double)(1.0 / 3.0), 20), bound = 64 * LDBL_EPSILON * want;
    CHECK(fabsl(long_sum_of(equal) - want) <= bound, "the sum is %La, not %La", long_sum_of(equal),
          want);
    CHECK(fabsl(long_sum_of(mixed) - want / 2) <= bound, "the sum is %La, not %La",
          long_sum_of(mixed), want / 2);
    long_sum_add(&equal, -(long double)INFINITY);
    long_sum_add(&equal, 1);
    CHECK(long_sum_of(equal) == -(long double)INFINITY, "%Lg", long_sum_of(equal));
}

/* The bounds of functions, which are the library's list, are what docs/accuracy.md promises. */
Test(checks, promises) {
#define BOUND(NAME, name, cpu, other, any, number) {#name, {cpu, other}},
    static const struct {
        const char *name;
        double bound[2];
    } bounds[] = {TDM_FUNCTION_ERRORS(BOUND)};
    enum { COUNT = sizeof bounds / sizeof *bounds };
    FILE *const page = fopen(TEST_PAGES "/accuracy.md", "r");
    char line[256], name[32], promise[32], wanted[32];
    int found = 0, tables = 0;
    bool other = false;
    for (; page && fgets(line, sizeof line, page);) {
        tables += strncmp(line, "| function |", 12) == 0;
        if (strncmp(line, "## ", 3) == 0) other = strncmp(line, "## cpu", 6) != 0;
        if (sscanf(line, "| `%31[a-z_0-9]` | %31s |", name, promise) != 2) continue;
        size_t i = 0;
        while (i < COUNT && strcmp(bounds[i].name, name) != 0)
            i++;
        const double bound = i < COUNT ? bounds[i].bound[other] : 0;
        snprintf(wanted, sizeof wanted, isinf(bound) ? "–" : "%g", bound);
        CHECK(strcmp(promise, wanted) == 0, "%s: %s is promised, the list has %s", name, promise,
              wanted);
        found += i < COUNT;
    }
    CHECK(tables == 4 && found == tables * COUNT, "%d rows of %d in %d tables", found, COUNT,
          tables);
    if (page) fclose(page);
}

/* The seed decides the numbers. */
Test(checks, seed) {
    setenv("TDM_TEST_SEED", "42", 1);
    random_start();
    uint64_t first = random_bits();
    CHECK(random_seed() == 42, "the seed is not the variable's");
    random_start();
    CHECK(random_bits() == first, "the same seed gave another number");
    for (int i = 0; i < 1000; i++) {
        double u = random_uniform(-1.0, 1.0);
        int64_t n = random_integer(-3, 3);
        CHECK(u >= -1.0 && u < 1.0 && n >= -3 && n <= 3, "out of range");
    }
}

/* run_program passes the environment on, and sees exit statuses, signals and time limits. */
Test(checks, running_programs) {
    run_result r;
    const char *changes[] = {"TANDEM_X=1", "HOME", "ABC=d e", NULL};
    setenv("TANDEM_Y", "1", 1);
    run_shell(changes, "echo \"$TANDEM_X|$TANDEM_Y|$HOME|$ABC\"; exit 7", 10, &r);
    CHECK(r.exit_status == 7 && strcmp(r.output, "1|||d e\n") == 0, "%d %s", r.exit_status,
          r.output);
    run_shell(changes, "kill -SEGV $$", 10, &r);
    CHECK(r.exit_status == -1, "a signal gave %d", r.exit_status);
    run_shell(changes, "exec sleep 20", 1, &r);
    CHECK(r.exit_status == -1, "the time limit gave %d", r.exit_status);
}

/* In the plain runner a test that fails and is skipped then has failed, and one that is skipped is not tested. */
Test(checks, skips) {
    run_result r;
    for (int together = 0; together < 2; together++) {
        const char *const changes[] = {together ? "HOW=--together" : "HOW=--filter=", NULL};
        run_shell(
            changes,
            "cd " TEST_SOURCE "/tests && t=$(mktemp -d) && cat >$t/t.c <<'END' && " TEST_CC
            " -std=gnu11 -I. -Isupport/plain support/tags.c support/plain/runner.c "
            "support/plain/apart_posix.c $t/t.c -o $t/t && $t/t $HOW; s=$?; rm -r $t; exit $s\n"
            "#include <criterion/criterion.h>\n"
            "TestSuite(s, .init = NULL);\n"
            "Test(s, fails) { cr_expect_fail(\"no\"); cr_skip_test(\"left out\"); }\n"
            "Test(s, skips) { cr_skip_test(\"left out\"); }\n"
            "END\n",
            60, &r);
        CHECK(r.exit_status == 1 && contains_words(r.output, "Tested: 1 |Failing: 1 |Skipped: 1"),
              "%d %s", r.exit_status, r.output);
    }
}

/* The benchmark's inputs: in their range, exact in their dtype, the same for the same seed. */
Test(checks, inputs) {
    enum { COUNT = 1001 };
    static unsigned char elements[COUNT * 8], again[COUNT * 8];
    double x[COUNT];
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        tdm_dtype dtype = (tdm_dtype)d;
        check_case("%s", tdm_dtype_name(dtype));
        CHECK(dtype_size(dtype) == tdm_dtype_size(dtype), "%zu bytes", dtype_size(dtype));
        CHECK(random_fill(7, dtype, COUNT, 2.0, 90.0, elements), "no memory");
        CHECK(random_fill(7, dtype, COUNT, 2.0, 90.0, again), "no memory");
        CHECK(memcmp(elements, again, COUNT * dtype_size(dtype)) == 0, "not the same");
        CHECK(all_finite(dtype, elements, COUNT), "not finite");
        decode_rows(dtype, elements, 0, 7, COUNT / 7, COUNT / 7, x);
        double least = x[0], most = x[0], sum = 0.0;
        for (int i = 0; i < COUNT; i++) {
            least = fmin(least, x[i]);
            most = fmax(most, x[i]);
            sum += x[i];
        }
        if (dtype == TDM_BOOL) continue; /* true, as no input is 0 */
        CHECK(least >= 2.0 && most <= 90.0 && least < 4.0 && most > 88.0, "%g to %g", least, most);
        const double mean = sum / (double)COUNT;
        CHECK(fabs(mean - 46.0) < 5.0, "the mean is %g", mean);
        if (!dtype_is_float(dtype)) continue;
        encode(dtype, (long double)NAN, elements + dtype_size(dtype) * (COUNT - 1));
        CHECK(!all_finite(dtype, elements, COUNT) && all_finite(dtype, elements, COUNT - 1),
              "NaN is not found");
    }
}
