/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels of expressions: special values. Each function and operator by itself is in operations.c, by its name;
 * types and layouts are in expression_rules.c. */
#include <criterion/criterion.h>
#include <math.h>

#include "suite/expression_call.h"
#include "support/array.h"

TestSuite(expressions, .init = device_open, .fini = device_close, TAGS("texts"));

/* NaN, infinities and zeros, and the functions that detect them. */
Test(expressions, special_values, TAGS("compiled")) {
    enum { FEW = 5 };
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double given[FEW] = {nan, inf, -inf, 0.0, 1.0};
    static const struct {
        const char *text;
        double want[FEW];
    } cases[] = {{"y = exp(a)", {NAN, INFINITY, 0, 1, M_E}},
                 {"y = pow(a, 2)", {NAN, INFINITY, INFINITY, 0, 1}},
                 {"y = log(a)", {NAN, INFINITY, NAN, -INFINITY, 0}},
                 {"y = max(a, 0)", {NAN, INFINITY, 0, 0, 1}},
                 {"y = min(0, a)", {NAN, 0, -INFINITY, 0, 0}},
                 {"y = clamp(a, 0, 0.5)", {NAN, 0.5, 0, 0, 0.5}},
                 {"y = relu(a)", {NAN, INFINITY, 0, 0, 1}},
                 {"y = tanh(a)", {NAN, 1, -1, 0, 0.76159415595576488812}},
                 {"y = isnan(a)", {1, 0, 0, 0, 0}},
                 {"y = isinf(a)", {0, 1, 1, 0, 0}},
                 {"y = isfinite(a)", {0, 0, 0, 1, 1}},
                 {"y = !a", {0, 0, 0, 1, 0}},
                 {"y = a == a && a < inf || isnan(a)", {1, 0, 1, 1, 1}},
                 {"y = i32(a)", {0, 2147483647, -2147483648.0, 0, 1}},
                 {"y = u32(a)", {0, 4294967295.0, 0, 0, 1}},
                 {"y = bool(a) ? nan : -a", {NAN, NAN, NAN, 0, NAN}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int d = 0; d < float_dtype_count; d++) {
            const tdm_dtype dtype = float_dtypes[d];
            if (dtype == TDM_F16 || dtype == TDM_BF16) continue;
            if (compiles() && c % (dtype == TDM_F64 ? 5 : small ? 2 : 1) != 0) continue;
            array *a = array_1d(dtype, FEW), *y = array_1d(dtype, FEW);
            array_set(a, given);
            double bound[FEW], want[FEW];
            for (int i = 0; i < FEW; i++) {
                want[i] = cases[c].want[i];
                /* 2^31 - 1 is no f32 */
                bound[i] = fabs(want[i]) < 1e300 ? fabs(want[i]) * 1e-6 : 0;
            }
            check_case("%s of special values in %s", cases[c].text, tdm_dtype_name(dtype));
            array *const arrays[] = {a, y};
            if (run(cases[c].text, arrays, "ay", NO_NUMBER, 0)) ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}

/* NaNs to whose bits nothing can be added, among numbers. */
Test(expressions, nans_of_many_bits) {
    enum { MANY = 70 };
    const tdm_dtype narrow[] = {TDM_BF16, TDM_F16};
    double given[MANY], want[MANY];
    for (int i = 0; i < MANY; i++) {
        given[i] = i % 2 ? (double)i : copysign(__builtin_nan("0xfffffffffffff"), i % 4 - 1);
        want[i] = -given[i];
    }
    for (int d = 0; d < 2; d++) {
        array *a = array_1d(TDM_F32, MANY), *y = array_1d(narrow[d], MANY);
        array_set(a, given);
        check_case("-a as %s", tdm_dtype_name(narrow[d]));
        array *const arrays[] = {a, y};
        if (run("y = -a", arrays, "ay", NO_NUMBER, 0)) ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}
