/* Rows and arguments at which digits are easily lost: outliers, large means, squares that overflow
 * or underflow, results next to 0. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "support/array.h"
#include "support/reference.h"

TestSuite(extremes, .init = device_open, .fini = device_close);

/* The smallest number of the arithmetic that the device does not take for 0: a device without
 * subnormals of f32 is right to give 0 instead. */
static double least_result(tdm_dtype dtype) {
    if (dtype == TDM_F64 || dtype == TDM_F16) return 0.0;
    array *x = array_1d(TDM_F32, 1);
    double got;
    unsigned char *bytes = malloc(x->bytes);
    if (!bytes) abort();
    array_constant(x, 0x1p-126);
    OK(tdm_scale(queue, 0.5, &x->t, &x->t));
    array_download(x, bytes);
    array_decode(x, bytes, &got);
    free(bytes);
    CHECK(got == 0.0 || got == 0x1p-127, "2^-126 / 2 is %g", got);
    return got == 0.0 ? 0x1p-126 : 0.0;
}

/* Softmax far below the largest element: subnormal results. */
Test(extremes, softmax_far_below) {
    const double least = least_result(TDM_F32);
    for (int d = 0; d < 4; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        enum { COLS = 300 };
        check_case("%s softmax of elements far below the largest", tdm_dtype_name(dtype));
        array *far = array_2d(dtype, 1, COLS, COLS), *to = array_2d(dtype, 1, COLS, COLS);
        double *v = numbers(COLS), *wants = numbers(COLS), *bounds = numbers(COLS);
        for (int j = 0; j < COLS; j++)
            v[j] =
                dtype == TDM_F64 ? random_uniform(-760.0, -650.0) : random_uniform(-120.0, -80.0);
        v[0] = 0.0, v[1] = -(double)INFINITY, v[2] = -1e4;
        array_set(far, v);
        ref_softmax(dtype, 1, COLS, far->v, wants, bounds);
        for (int j = 0; j < COLS; j++)
            bounds[j] += dtype == TDM_F64 ? 0.0 : least;
        OK(tdm_softmax(queue, &far->t, &to->t));
        ARRAY_CHECK(to, wants, bounds);
        array_free_all();
    }
}

/* Activations that tend to 0 keep their digits on the way, subnormal ones included, and are what
 * they tend to at the infinities, in every dtype. */
Test(extremes, activations_near_zero) {
    static const tdm_activation ids[] = {TDM_ACTIVATION_GELU, TDM_ACTIVATION_GELU_TANH,
                                         TDM_ACTIVATION_SILU, TDM_ACTIVATION_SIGMOID,
                                         TDM_ACTIVATION_TANH};
    enum { N = 600 };
    for (int d = 0; d < 4; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const bool f64 = dtype == TDM_F64;
        const double eps = compute_eps(dtype), least = least_result(dtype);
        for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
            check_case("%s %s next to 0", tdm_dtype_name(dtype), tdm_activation_name(ids[i]));
            array *x = array_1d(dtype, N), *y = array_1d(dtype, N);
            double *v = numbers(N), *want = numbers(N), *bound = numbers(N);
            const double most = f64 ? 1e308 : 6e4;
            const double set[] = {-(double)INFINITY,
                                  (double)INFINITY,
                                  (double)NAN,
                                  -most,
                                  most,
                                  -1e4,
                                  1e4,
                                  -0.0,
                                  1e-5,
                                  -1e-5,
                                  1e30,
                                  -1e30};
            for (int j = 0; j < N; j++)
                v[j] = random_uniform(j % 3 == 0 ? -12.0
                                      : f64      ? j % 3 == 1 ? -42.0 : -760.0
                                                 : -115.0,
                                      0.0);
            for (size_t j = 0; j < sizeof set / sizeof set[0]; j++)
                v[j] = set[j];
            array_set(x, v);
            for (int j = 0; j < N; j++) {
                want[j] = ref_activation(ids[i], x->v[j]);
                const double size = fabs(want[j]);
                /* an argument that is rounded once costs its own size in ulps */
                bound[j] =
                    size * (eps * (16.0 + 4.0 * (size < 1.0 && size > 0 ? -log(size) : 0.0)));
                if (ids[i] == TDM_ACTIVATION_GELU && !f64 && x->v[j] < -1.0) bound[j] += 1.3e-7;
                bound[j] +=
                    (ids[i] == TDM_ACTIVATION_GELU ? 64.0 : 4.0) * (f64 ? 0x1p-1074 : 0x1p-150);
                bound[j] += least + (f64 ? 0.0 : half_ulp(dtype, size));
                if (isinf(x->v[j]) || fabs(x->v[j]) >= 1e4) bound[j] = 0.0;
            }
            OK(tdm_bias_add(queue, &x->t, NULL, ids[i], NULL, &y->t));
            ARRAY_CHECK(y, want, bound);
            array_free_all();
        }
    }
}
