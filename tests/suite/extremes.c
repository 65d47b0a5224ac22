/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows and arguments at which digits are easily lost: outliers, large means, squares that overflow
 * or underflow, results next to 0. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operations/formulas.h"
#include "operations/list.h"
#include "reference/sums.h"
#include "support/sample.h"

TestSuite(extremes, .init = device_open, .fini = device_close, TAGS("kernels"));

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One row of LayerNorm without epsilon: each element within 16 ulps of a scale, which is
 * (|x| + the mean of |x|) / deviation, and, if `relative`, half of them within 16 ulps of
 * themselves. */
static void check_digits(tdm_dtype dtype, int64_t cols, const double *x, const double *got,
                         bool relative) {
    const double eps = dtype_eps(dtype);
    double *errors = malloc((size_t)cols * sizeof *errors);
    if (!errors) abort();
    long double magnitude = 0;
    long_sum sum = {0}, rests = {0}, squares = {0};
    for (int64_t j = 0; j < cols; j++) {
        long_sum_add(&sum, (long double)x[j] / (long double)cols);
        magnitude += fabsl((long double)x[j]) / (long double)cols;
    }
    /* The mean in two parts: of 1e6 ± 1e-3 not even long double has all digits. */
    const long double about = long_sum_of(sum);
    for (int64_t j = 0; j < cols; j++)
        long_sum_add(&rests, ((long double)x[j] - about) / (long double)cols);
    const long double rest = long_sum_of(rests);
    for (int64_t j = 0; j < cols; j++) {
        const long double d = ((long double)x[j] - about) - rest;
        long_sum_add(&squares, d * d / (long double)cols);
    }
    const long double deviation = sqrtl(long_sum_of(squares));
    for (int64_t j = 0; j < cols; j++) {
        const long double y = (((long double)x[j] - about) - rest) / deviation;
        const double error = (double)fabsl((long double)got[j] - y);
        const double scale = (double)((fabsl((long double)x[j]) + magnitude) / deviation);
        errors[j] = error / (double)fabsl(y);
        if (!(error <= 16.0 * eps * scale)) {
            CHECK(false, "element %lld is %.17g, not %.17Lg: %g ulps of %g", (long long)j, got[j],
                  y, error / eps / scale, scale);
            break;
        }
    }
    qsort(errors, (size_t)cols, sizeof *errors, ascending);
    CHECK(!relative || errors[cols / 2] <= 16.0 * eps, "the median relative error is %g ulps",
          errors[cols / 2] / eps);
    free(errors);
}

enum { OUTLIER_KINDS = 10 };

/* Where row `kind` of the outliers' test has them. */
static void place_outliers(int kind, tdm_dtype dtype, int64_t cols, double *x) {
    const double huge = dtype == TDM_F64 ? 1e200 : 1e30;
    const double spread = dtype == TDM_F64 ? 1e-3 : 10.0;
    for (int64_t j = 0; j < cols; j++)
        x[j] = kind == 6   ? 0.1
               : kind == 8 ? 1e6 + random_uniform(-spread, spread)
                           : random_uniform(-1.0, 1.0);
    switch (kind) {
    case 0: /* first, last, anywhere */
        x[0] = 1e4;
        break;
    case 1:
        x[cols - 1] = -1e4;
        break;
    case 2:
        x[random_integer(0, cols - 1)] = 1e4;
        break;
    case 3: /* one in a hundred */
        for (int64_t j = 0; j < cols; j += 100)
            x[j] = random_uniform(-1e4, 1e4);
        break;
    case 9: /* one in a thousand, and at both ends of each third, not quite two deviations off */
        for (int64_t j = 0; j < cols; j += 1000)
            x[j] = random_uniform(-1e4, 1e4);
        x[0] = x[cols / 3] = x[cols - 1 - cols / 3] = random_uniform(200.0, 350.0);
        break;
    case 4: /* wherever one might look for a typical element */
        x[0] = x[cols / 2] = x[cols - 1] = x[cols / 3] = x[cols - 1 - cols / 3] = 1e4;
        break;
    case 5: /* of several sizes */
        x[0] = 1e4;
        x[cols / 2] = 4e5;
        x[cols - 1] = -1e3;
        break;
    case 6: /* the others are equal, so that all differences round alike */
        x[0] = 1e4;
        x[7] = 4e5;
        break;
    case 7: /* its square overflows */
        x[0] = huge;
        break;
    default:
        break;
    }
}

/* So many rows at once, from this kind on. */
static void check_outliers(tdm_dtype dtype, int first, int rows, int64_t cols) {
    array *x = array_2d(dtype, rows, cols, cols), *y = array_2d(dtype, rows, cols, cols);
    double *v = numbers(x->count);
    for (int row = 0; row < rows; row++)
        place_outliers(first + row, dtype, cols, v + row * cols);
    array_set(x, v);
    OK(tdm_layer_norm(queue, &x->t, NULL, NULL, 0.0, &y->t));
    const double *const got = array_values(y);
    for (int row = 0; row < rows; row++) {
        const int kind = first + row;
        check_case("%s layer_norm, outliers of kind %d, %d rows of %lld columns",
                   tdm_dtype_name(dtype), kind, rows, (long long)cols);
        /* large elements of both signs cancel in the mean, as far as any sum of f32 does */
        check_digits(dtype, cols, x->v + row * cols, got + row * cols, kind != 3 && kind != 9);
    }
    array_free_all();
}

/* LayerNorm keeps its digits wherever outliers are, how many and how large, and with a large mean; so it does
 * of a row by itself, which is cut into chunks. */
Test(extremes, layer_norm_outliers) {
    static const int64_t lengths[] = {100, 4096, 30001}, alone[] = {30001, 200003};
    static const tdm_dtype wide[] = {TDM_F32, TDM_F64};
    for (int d = 0; d < 2; d++) {
        if (!computes_with(wide[d])) continue;
        for (int l = 0; l < (small ? 2 : 3); l++)
            check_outliers(wide[d], 0, OUTLIER_KINDS, lengths[l]);
        for (int kind = 0; kind < OUTLIER_KINDS; kind++)
            for (int l = 0; l < (small ? 1 : 2); l++)
                check_outliers(wide[d], kind, 1, alone[l]);
    }
}

/* Values whose squares overflow or underflow, with and without an epsilon that matters. */
static const struct {
    tdm_dtype dtype;
    double size, epsilon;
} sizes[] = {{TDM_F32, 1e19, 0},        {TDM_F32, 1.5e38, 0},   {TDM_F32, 1e-25, 0},
             {TDM_F32, 3e-23, 0},       {TDM_F32, 0x1p-140, 0}, {TDM_F32, 1e-19, 0x1p-126},
             {TDM_F32, 1e-30, 1e-30},   {TDM_F32, 1e18, 1e38},  {TDM_BF16, 1e19, 0},
             {TDM_BF16, 3e-23, 0},      {TDM_F64, 1e160, 0},    {TDM_F64, 8e307, 0},
             {TDM_F64, 1e-170, 0},      {TDM_F64, 1e-160, 0},   {TDM_F64, 0x1p-1060, 0},
             {TDM_F64, 1e-152, 1e-305}, {TDM_F32, 1e37, 1e-5},  {TDM_BF16, 1e33, 1e-5},
             {TDM_F64, 1e200, 1e-12}};

static const char *const squared[] = {"layer_norm", "layer_norm+residual", "rms_norm",
                                      "rms_norm+residual", "l2_normalize"};

/* A row of [v, -v, v, 2v, …], one in which a single element is so large or small, and with an epsilon one of equal
 * elements; a residual of 0. */
Test(extremes, squares_out_of_range) {
    static const int64_t lengths[] = {4, 100, 3000, 40001};
    const double least = least_result();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const tdm_dtype dtype = sizes[s].dtype;
        if (!is_chosen(dtype) || (dtype != TDM_F64 && sizes[s].size < least)) continue;
        for (size_t o = 0; o < sizeof squared / sizeof *squared; o++)
            for (int l = 0; l < (small ? 3 : 4); l++) {
                if (!in_turn((int)(s + o) + l)) continue;
                const int64_t cols = lengths[l];
                sample k = sample_of(op_named(squared[o]), dtype, 2, (const int64_t[]){3, cols});
                k.c.number = dtype == TDM_F64 ? sizes[s].epsilon : (float)sizes[s].epsilon;
                k.c.given = op_required(k.c.op);
                if (strchr(squared[o], '+')) k.c.given |= OP_BIT(1) | OP_BIT(o == 1 ? 4 : 3);
                sample_describe(&k);
                sample_make(&k);
                double *const v = k.operand[0]->v;
                for (int64_t j = 0; j < cols; j++) {
                    v[j] = sizes[s].size * (j % 4 == 1 ? -1.0 : j % 4 == 3 ? 2.0 : 1.0);
                    v[cols + j] = j == cols / 2 ? sizes[s].size : 0.0;
                    v[2 * cols + j] = sizes[s].epsilon > 0 ? sizes[s].size : v[j];
                }
                array_set(k.operand[0], v);
                if (k.operand[1]) array_constant(k.operand[1], 0.0);
                const bool right = sample_compare(&k);
                array_free_all();
                if (!right) break;
            }
    }
}

/* One row of these elements. */
static void check_row(const char *name, tdm_dtype dtype, int64_t cols, const double *x,
                      double number) {
    sample k = sample_of(op_named(name), dtype, 2, (const int64_t[]){1, cols});
    k.c.number = number;
    k.c.given = op_required(k.c.op);
    k.least = dtype == TDM_F64 ? 0.0 : least_result();
    sample_describe(&k);
    sample_make(&k);
    array_set(k.operand[0], x);
    sample_compare(&k);
    array_free_all();
}

/* An outlier at each place of a row, which is the only one far from the others: n rows of n columns. */
Test(extremes, outlier_at_every_place) {
    static const char *const names[] = {"layer_norm",  "rms_norm",  "l2_normalize", "softmax",
                                        "log_softmax", "logsumexp", "norm_l1",      "norm_l2",
                                        "variance",    "sum"};
    enum { N = 300 };
    for (int d = 0; d < float_dtype_count; d++)
        for (size_t o = 0; o < sizeof names / sizeof *names; o++) {
            if (!computes_with(float_dtypes[d]) || !in_turn(d + (int)o)) continue;
            const double outlier = float_dtypes[d] == TDM_F16 ? 6e4 : 1e30;
            sample k = sample_of(op_named(names[o]), float_dtypes[d], 2, (const int64_t[]){N, N});
            sample_describe(&k);
            sample_make(&k);
            double *const v = k.operand[0]->v;
            for (int64_t i = 0; i < N; i++)
                v[i * N + i] = i % 2 ? outlier : -outlier;
            array_set(k.operand[0], v);
            sample_compare(&k);
            array_free_all();
        }
}

/* logsumexp of infinities and NaN of both signs, of what no power has room for, and of nothing; into a column. */
Test(extremes, logarithms_of_sums) {
    enum { ROWS = 7, COLS = 3 };
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double given[ROWS * COLS] = {inf,  1,     -1,    inf,   nan,  1,    inf,
                                       -nan, 1,     -inf,  -inf,  -inf, 3000, 3000,
                                       3000, -3000, -3000, -3000, -inf, 5,    -inf};
    const double want[ROWS] = {inf, nan, nan, -inf, 3000 + log(3), log(3) - 3000, 5};
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        array *x = array_2d(dtype, ROWS, COLS, COLS + 1);
        array *y = array_new(dtype, 2, (const int64_t[]){ROWS, 1}, (const int64_t[]){5, 1});
        double bound[ROWS];
        array_set(x, given);
        for (int i = 0; i < ROWS; i++)
            bound[i] = isfinite(want[i]) ? half_ulp(dtype, want[i]) * 4 : 0;
        check_case("logsumexp of %s", tdm_dtype_name(dtype));
        if (OK(tdm_logsumexp(queue, &x->t, &y->t))) ARRAY_CHECK(y, want, bound);
        array *two = array_1d(dtype, 2);
        REFUSED(tdm_logsumexp(queue, &x->t, &two->t), TDM_ERROR_INVALID_SHAPE, "y|[2]|[7]|[7, 1]");
        array_free_all();
    }
}

/* l2_normalize below a large epsilon, and softmax far below the largest: subnormal results. */
Test(extremes, subnormal_results) {
    static const double xs[][2] = {
        {1e-20, 1e20}, {1e-25, 1e10}, {1e-3, 3e38}, {7e8, 1e38}, {1e-25, 2e12}};
    for (size_t i = 0; i < sizeof xs / sizeof xs[0]; i++)
        check_row("l2_normalize", TDM_F32, 3,
                  (const double[]){xs[i][0], -xs[i][0] / 3, xs[i][0] / 1e3}, (float)xs[i][1]);
    check_row("l2_normalize", TDM_F32, 3, (const double[]){1e30, 1e-10, -3e-14}, 0.0);
    for (int d = 0; d < float_dtype_count; d++) {
        enum { COLS = 300 };
        double v[COLS];
        for (int j = 0; j < COLS; j++)
            v[j] = float_dtypes[d] == TDM_F64 ? random_uniform(-760.0, -650.0)
                                              : random_uniform(-120.0, -80.0);
        v[0] = 0.0, v[1] = -(double)INFINITY, v[2] = -1e4;
        check_row("softmax", float_dtypes[d], COLS, v, 0.0);
    }
}

/* Subnormal elements in rows of several chunks, some of which are of equal elements: their mean has digits that no
 * subnormal number has. */
Test(extremes, subnormal_chunks, TAGS("lanes")) {
    enum { ANY = -1 }; /* 1 to 4 units */
    static const int halves[][2] = {{0, ANY}, {1, ANY}, {ANY, 3}, {0, 1}, {1, 2}, {ANY, ANY}};
    static const int64_t lengths[] = {16500, 40000, 70000};
    static const tdm_dtype wide[] = {TDM_F32, TDM_F64};
    for (int d = 0; d < 2; d++) {
        if (!computes_with(wide[d])) continue;
        const double unit = wide[d] == TDM_F64 ? 0x1p-1074 : 0x1p-149;
        if (wide[d] == TDM_F32 && least_result() > unit) continue; /* the device has none */
        for (int h = 0; h < 6; h++)
            for (int l = 0; l < (small ? 2 : 3); l++) {
                if (!in_turn(d + h + l)) continue;
                double *v = numbers(lengths[l]);
                for (int64_t j = 0; j < lengths[l]; j++) {
                    const int units = halves[h][j >= lengths[l] / 2];
                    v[j] = unit * (double)(units == ANY ? random_integer(1, 4) : units);
                }
                check_row("layer_norm", wide[d], lengths[l], v,
                          wide[d] == TDM_F64 ? 1e-307 : (double)1e-38f);
            }
    }
}

/* Activations that tend to 0 keep their digits on the way, subnormal ones included, and are what
 * they tend to at the infinities, in every dtype. */
Test(extremes, activations_near_zero) {
#define ACTIVATION(NAME, name) TDM_ACTIVATION_##NAME,
    static const tdm_activation ids[] = {TDM_ACTIVATION_LIST(ACTIVATION)};
    enum { N = 600 };
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        const bool f64 = dtype == TDM_F64;
        const double eps = compute_eps(dtype),
                     least = dtype == TDM_F64 || dtype == TDM_F16 ? 0.0 : least_result();
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
