/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_fill of every dtype, converted as by cast. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/array.h"

TestSuite(fill, .init = device_open, .fini = device_close);

Test(fill, every_dtype) {
    static const double values[] = {0.0,           -0.0,          1.0,    -1.5,  300.7,
                                    1e5,           -1e10,         1e20,   1e300, 0x1p-149,
                                    1.0 + 0x1p-11, 1.0 + 0x1p-24, 70000.0};
    for (int d = 0; d < dtype_count; d++) {
        tdm_dtype dtype = dtypes[d];
        for (size_t i = 0; i < sizeof values / sizeof values[0] + 3; i++) {
            if (!in_turn(d + (int)i)) continue;
            double value = i < 13    ? values[i]
                           : i == 13 ? (double)NAN
                           : i == 14 ? (double)INFINITY
                                     : -(double)INFINITY;
            int64_t shape[3] = {random_integer(1, 20), random_integer(1, 20),
                                random_integer(1, 200)};
            int ndim = (int)random_integer(1, 3);
            array *y = array_new(dtype, ndim, shape, NULL);
            check_case("fill of %s with %g", tdm_dtype_name(dtype), value);
            double *want = numbers(y->count), one = rounded(dtype, value);
            for (int64_t k = 0; k < y->count; k++)
                want[k] = one;
            OK(tdm_fill(queue, value, &y->t));
            ARRAY_CHECK(y, want, NULL);
            array_free_all();
        }
    }
    int64_t none = 0;
    array *y = array_new(TDM_U8, 1, &none, NULL);
    OK(tdm_fill(queue, 1.0, &y->t));
    OK(tdm_cast(queue, &y->t, &y->t));
    ARRAY_SAME(y);
}
