/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations that are made of others: triangles, isin, differences, elements that indices name along a dimension,
 * roll, tile and repeat; eye and linspace. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/array.h"

TestSuite(along, .init = device_open, .fini = device_close);

enum { A = 3, B = 5, C = 7, COUNT = A * B * C };
static const int64_t shape[3] = {A, B, C}, gaps[3] = {2, 6, 40};

/* Of every width; one that no device need compute with among them. */
static const tdm_dtype widths[] = {TDM_F32, TDM_I64, TDM_BF16, TDM_BOOL, TDM_F64};
enum { WIDTHS = sizeof widths / sizeof *widths };

static array *some(tdm_dtype dtype, const int64_t *strides) {
    array *x = array_new(dtype, 3, shape, strides);
    array_integers(x, 1, dtype == TDM_BOOL ? 1 : 99);
    return x;
}

Test(along, triangles) {
    for (int d = 0; d < WIDTHS; d++)
        for (int64_t k = -B; k <= C; k += 1 + d) {
            array *x = some(widths[d], d % 2 ? NULL : gaps),
                  *y = array_new(widths[d], 3, shape, NULL);
            double lower[COUNT], upper[COUNT];
            for (int64_t i = 0; i < COUNT; i++) {
                lower[i] = i % C <= i / C % B + k ? x->v[i] : 0;
                upper[i] = i % C >= i / C % B + k ? x->v[i] : 0;
            }
            check_case("triangles of %s at %lld", tdm_dtype_name(widths[d]), (long long)k);
            bool right = OK(tdm_triu(queue, &x->t, k, &y->t)) && ARRAY_CHECK(y, upper, NULL);
            right = right && OK(tdm_tril(queue, &x->t, k, &x->t)) && ARRAY_CHECK(x, lower, NULL);
            array_free_all();
            if (!right) return;
        }
}

Test(along, isin) {
    const double given[] = {1, 4, NAN, 2, 4, -0.0, INFINITY}, among[] = {4, NAN, 0, INFINITY};
    static const double want[] = {0, 1, 0, 0, 1, 1, 1};
    array *x = array_1d(TDM_F32, 7), *values = array_1d(TDM_F32, 4), *y = array_1d(TDM_BOOL, 7);
    array_set(x, given);
    array_set(values, among);
    check_case("isin of floats");
    if (OK(tdm_isin(queue, &x->t, &values->t, &y->t))) ARRAY_CHECK(y, want, NULL);
    array *whole = some(TDM_I16, gaps), *few = array_1d(TDM_I32, 40);
    array *flags = array_new(TDM_BOOL, 3, shape, gaps), *none = array_1d(TDM_I32, 0);
    double found[COUNT] = {0};
    check_case("isin of integers");
    if (OK(tdm_isin(queue, &whole->t, &none->t, &flags->t))) ARRAY_CHECK(flags, found, NULL);
    array_integers(few, -20, 60);
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < 40; j++)
            if (whole->v[i] == few->v[j]) found[i] = 1;
    if (OK(tdm_isin(queue, &whole->t, &few->t, &flags->t))) ARRAY_CHECK(flags, found, NULL);
    REFUSED(tdm_isin(queue, &x->t, &whole->t, &y->t), TDM_ERROR_INVALID_SHAPE, "values 3");
    array_free_all();
}

/* Along each dimension, as often as leaves an element, and once more; floats of 16 bits are rounded each time. */
Test(along, diff) {
    static const tdm_dtype several[] = {TDM_F32, TDM_I32, TDM_F16, TDM_U8};
    for (int d = 0; d < 4; d++)
        for (int dim = 0; dim < 3; dim++)
            for (int64_t n = 0; n <= shape[dim]; n += 1 + d) {
                int64_t left[3] = {A, B, C};
                array *x = some(several[d], d % 2 ? gaps : NULL);
                double *now = numbers(COUNT), *next = numbers(COUNT);
                for (int i = 0; i < COUNT; i++)
                    now[i] = x->v[i];
                for (int64_t k = 0; k < n; k++) {
                    left[dim]--;
                    const int64_t inner = dim == 0 ? B * C : dim == 1 ? C : 1, extent = left[dim];
                    for (int64_t i = 0; i < left[0] * left[1] * left[2]; i++) {
                        const int64_t at =
                            i / inner / extent * inner * (extent + 1) + i % (inner * extent);
                        const double v = now[at + inner] - now[at];
                        next[i] = several[d] == TDM_U8 && v < 0 ? v + 256 : rounded(several[d], v);
                    }
                    for (int i = 0; i < COUNT; i++)
                        now[i] = next[i];
                }
                array *y = array_new(several[d], 3, left, NULL);
                check_case("%lld differences of %s along %d", (long long)n,
                           tdm_dtype_name(several[d]), dim);
                const bool right = OK(tdm_diff(queue, &x->t, dim - 3, n, &y->t)) &&
                                   ARRAY_CHECK(y, now, NULL) && ARRAY_SAME(x);
                array_free_all();
                if (!right) return;
            }
}

Test(along, take_along_axis) {
    for (int d = 0; d < WIDTHS; d++)
        for (int dim = 0; dim < 3; dim++) {
            const int64_t taken[3] = {dim == 0 ? 4 : A, dim == 1 ? 2 : B, dim == 2 ? 9 : C};
            const int64_t inner = dim == 0 ? B * C : dim == 1 ? C : 1, extent = shape[dim];
            array *x = some(widths[d], dim == 1 ? gaps : NULL);
            array *indices = array_new(d % 2 ? TDM_I32 : TDM_I64, 3, taken, dim == 2 ? gaps : NULL);
            const int64_t apart[3] = {150, 30, 2};
            array *y = array_new(widths[d], 3, taken, dim == 0 ? apart : NULL);
            double *want = numbers(y->count);
            array_integers(indices, -1, extent);
            for (int64_t i = 0; i < y->count; i++) {
                const int64_t index = (int64_t)indices->v[i];
                const int64_t line = i / inner / taken[dim];
                want[i] = index >= 0 && index < extent
                              ? x->v[(line * extent + index) * inner + i % inner]
                          : dtype_is_float(widths[d]) ? NAN
                                                      : 0;
            }
            check_case("elements of %s along %d", tdm_dtype_name(widths[d]), dim);
            const bool right = OK(tdm_take_along_axis(queue, &x->t, &indices->t, dim, &y->t)) &&
                               ARRAY_CHECK(y, want, NULL) && ARRAY_SAME(x) && ARRAY_SAME(indices);
            array_free_all();
            if (!right) return;
        }
}

Test(along, roll) {
    static const int64_t moves[][3] = {{1, 0, 0}, {-1, 2, 12}, {0, -7, 3}, {300, 5, -1}};
    for (int d = 0; d < WIDTHS; d++)
        for (int m = 0; m < 4; m++) {
            array *x = some(widths[d], m % 2 ? gaps : NULL),
                  *y = array_new(widths[d], 3, shape, NULL);
            double want[COUNT];
            for (int64_t i = 0; i < COUNT; i++) {
                int64_t at[3] = {i / C / B, i / C % B, i % C};
                for (int k = 0; k < 3; k++)
                    at[k] = (at[k] + moves[m][k] + 100 * shape[k]) % shape[k];
                want[(at[0] * B + at[1]) * C + at[2]] = x->v[i];
            }
            const int64_t shifts[] = {moves[m][2], moves[m][0], moves[m][1]};
            check_case("roll of %s, %d", tdm_dtype_name(widths[d]), m);
            const bool right =
                OK(tdm_roll(queue, &x->t, shifts, (const int[]){-1, 0, 1}, 3, &y->t)) &&
                ARRAY_CHECK(y, want, NULL) && ARRAY_SAME(x);
            array_free_all();
            if (!right) return;
        }
}

/* Every dimension several times or once, and one more before them; each element of each dimension several times. */
Test(along, tile_and_repeat) {
    for (int d = 0; d < WIDTHS; d++)
        for (int mask = 0; mask < 8; mask++) {
            const int64_t more[4] = {mask == 7 ? 1 : 1 + mask % 3, mask & 1 ? 2 * A : A,
                                     mask & 2 ? 3 * B : B, mask & 4 ? 2 * C : C};
            array *x = some(widths[d], mask % 2 ? gaps : NULL),
                  *y = array_new(widths[d], 4, more, NULL);
            double *want = numbers(y->count);
            for (int64_t i = 0; i < y->count; i++)
                want[i] = x->v[(i / more[3] / more[2] % A * B + i / more[3] % more[2] % B) * C +
                               i % more[3] % C];
            check_case("tile of %s, %d", tdm_dtype_name(widths[d]), mask);
            bool right = OK(tdm_tile(queue, &x->t, &y->t)) && ARRAY_CHECK(y, want, NULL);
            const int dim = mask % 3;
            const int64_t long_shape[3] = {dim == 0 ? 4 * A : A, dim == 1 ? 4 * B : B,
                                           dim == 2 ? 4 * C : C};
            array *z = array_new(widths[d], 3, long_shape, NULL);
            double *each = numbers(z->count);
            for (int64_t i = 0; i < z->count; i++) {
                int64_t at[3] = {i / long_shape[2] / long_shape[1],
                                 i / long_shape[2] % long_shape[1], i % long_shape[2]};
                at[dim] /= 4;
                each[i] = x->v[(at[0] * B + at[1]) * C + at[2]];
            }
            check_case("repeat of %s along %d", tdm_dtype_name(widths[d]), dim);
            right = right && OK(tdm_repeat(queue, &x->t, dim, &z->t)) &&
                    ARRAY_CHECK(z, each, NULL) && ARRAY_SAME(x);
            array_free_all();
            if (!right) return;
        }
}

/* Compares what was made by way of an array, and releases it. */
static void check_made(tdm_tensor *made, int64_t count, const double *want, const double *bound) {
    array *y = array_new(made->dtype, made->ndim, made->shape, NULL);
    CHECK(tdm_tensor_get_count(made) == count, "it has other elements");
    if (OK(tdm_cast(queue, made, &y->t))) ARRAY_CHECK(y, want, bound);
    tdm_tensor_release(made);
    array_free_all();
}

Test(along, eye_and_linspace) {
    tdm_tensor made;
    for (int d = 0; d < WIDTHS; d++)
        for (int64_t k = -4; k <= 6; k++) {
            double want[3 * 5];
            for (int i = 0; i < 15; i++)
                want[i] = i % 5 == i / 5 + k;
            check_case("eye of %s at %lld", tdm_dtype_name(widths[d]), (long long)k);
            if (OK(tdm_eye(queue, 3, 5, k, widths[d], &made))) check_made(&made, 15, want, NULL);
            check_case("eye without rows, or columns, of %s at %lld", tdm_dtype_name(widths[d]),
                       (long long)k);
            if (OK(tdm_eye(queue, 0, 5, k, widths[d], &made))) check_made(&made, 0, want, NULL);
            if (OK(tdm_eye(queue, 3, 0, k, widths[d], &made))) check_made(&made, 0, want, NULL);
        }
    for (int d = 0; d < float_dtype_count; d++)
        for (int64_t n = 0; n < 100; n = 2 * n + 1)
            for (int endpoint = 0; endpoint < 2; endpoint++) {
                const double start = -1.1, end = 2.3, eps = compute_eps(float_dtypes[d]);
                double want[100], bound[100];
                for (int64_t i = 0; i < n; i++) {
                    const double steps = (double)(endpoint && n > 1 ? n - 1 : n);
                    want[i] = start + (double)i * ((end - start) / steps);
                    bound[i] = 8 * eps + half_ulp(float_dtypes[d], 2.3) * 1.001;
                }
                if (endpoint && n > 1) {
                    want[n - 1] = rounded(float_dtypes[d], end);
                    bound[n - 1] = 0;
                }
                check_case("%lld of %s, %d", (long long)n, tdm_dtype_name(float_dtypes[d]),
                           endpoint);
                if (OK(tdm_linspace(queue, start, end, n, endpoint, float_dtypes[d], &made)))
                    check_made(&made, n, want, bound);
            }
    const double far[] = {-3e38, 3e38}, bound[] = {1e32, 1e32};
    check_case("further apart than f32 goes");
    if (OK(tdm_linspace(queue, far[0], far[1], 2, true, TDM_F32, &made)))
        check_made(&made, 2, far, bound);
}

Test(along, refusals) {
    array *x = some(TDM_F32, NULL), *y = some(TDM_F32, NULL), *half = some(TDM_F16, NULL);
    array *line = array_1d(TDM_F32, 8), *other = array_1d(TDM_F32, 9), *i = array_1d(TDM_I32, 8);
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT, wrong = TDM_ERROR_INVALID_SHAPE,
                     dtype = TDM_ERROR_INVALID_DTYPE;
    const int64_t by = 1;
    const int dim = 1, far = 3;
    tdm_tensor made;
    array_uniform(line, -1, 1);
    array_integers(i, 0, 7);
    REFUSED(tdm_tril(queue, &line->t, 0, &line->t), wrong, "tdm_tril: x has one dimension");
    REFUSED(tdm_triu(queue, &x->t, 0, &half->t), dtype, "tdm_triu|f32|f16");
    REFUSED(tdm_triu(NULL, &x->t, 0, &y->t), argument, "queue");
    REFUSED(tdm_diff(queue, &x->t, 0, -1, &y->t), argument, "tdm_diff: n is -1");
    REFUSED(tdm_diff(queue, &x->t, 3, 1, &y->t), argument, "dim is 3");
    REFUSED(tdm_diff(queue, &other->t, 0, 2, &line->t), wrong, "[7]|[8]");
    REFUSED(tdm_diff(queue, &line->t, 0, 0, &line->t), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_roll(queue, &x->t, &by, &far, 1, &y->t), argument, "tdm_roll|3");
    REFUSED(tdm_roll(queue, &x->t, NULL, &dim, 1, &y->t), argument, "shifts");
    REFUSED(tdm_roll(queue, &x->t, &by, &dim, 1, &x->t), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_tile(queue, &line->t, &other->t), wrong, "tdm_tile|[9]|[8]|multiples");
    REFUSED(tdm_repeat(queue, &line->t, 0, &other->t), wrong, "tdm_repeat|[9]|[8]|multiple in dim");
    REFUSED(tdm_repeat(queue, &line->t, 1, &line->t), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_tile(queue, &line->t, &i->t), dtype, "f32|i32");
    const int64_t ones[6] = {2, 2, 2, 2, 2, 1}, twice[6] = {2, 2, 2, 2, 2, 2},
                  fours[6] = {4, 2, 2, 2, 2, 2};
    array *small_one = array_new(TDM_F32, 6, ones, NULL),
          *large = array_new(TDM_F32, 6, fours, NULL);
    array *same = array_new(TDM_F32, 6, twice, NULL);
    REFUSED(tdm_tile(queue, &small_one->t, &large->t), TDM_ERROR_UNSUPPORTED, "tdm_tile|at most 6");
    OK(tdm_tile(queue, &small_one->t, &same->t));
    /* an empty y, of however many repeated dimensions */
    const int64_t none[6] = {4, 2, 0, 2, 4, 4};
    array *empty = array_new(TDM_F32, 6, none, NULL), *six = array_new(TDM_F32, 6, twice, NULL);
    OK(tdm_tile(queue, &six->t, &empty->t));
    array *no_lines = array_new(TDM_F32, 6, (const int64_t[]){2, 2, 0, 2, 2, 2}, NULL);
    OK(tdm_repeat(queue, &six->t, 2, &no_lines->t));
    REFUSED(tdm_repeat(queue, &six->t, 1, &no_lines->t), wrong, "tdm_repeat|multiple in dim");
    REFUSED(tdm_take_along_axis(queue, &line->t, &line->t, 0, &other->t), dtype, "indices|f32");
    REFUSED(tdm_take_along_axis(queue, &line->t, &i->t, 0, &other->t), wrong, "indices|[8]|[9]");
    REFUSED(tdm_take_along_axis(queue, &x->t, &i->t, 0, &line->t), wrong, "[8]|[3, 5, 7]");
    REFUSED(tdm_sort(queue, &line->t, false, &other->t), wrong, "tdm_sort|[8]|[9]");
    REFUSED(tdm_sort(queue, &line->t, false, &i->t), dtype, "f32|i32");
    REFUSED(tdm_sort(queue, &line->t, false, &line->t), TDM_ERROR_OVERLAP, "y|x");
    REFUSED(tdm_eye(queue, -1, 2, 0, TDM_F32, &made), wrong, "tdm_eye");
    REFUSED(tdm_linspace(queue, 0, INFINITY, 3, true, TDM_F32, &made), argument, "end inf|finite");
    REFUSED(tdm_linspace(queue, 1e39, 0, 3, true, TDM_F32, &made), argument, "start|1e+39|f32");
    REFUSED(tdm_linspace(queue, 0, -1e39, 3, true, TDM_F16, &made), argument, "end|-1e+39|f32");
    REFUSED(tdm_linspace(queue, 0, 1, 3, true, TDM_I32, &made), dtype,
            "tdm_linspace: dtype is i32");
    REFUSED(tdm_linspace(queue, 0, 1, -1, true, TDM_F32, &made), wrong, "tdm_linspace");
    ARRAY_SAME(y);
    ARRAY_SAME(other);
    array_free_all();
}
