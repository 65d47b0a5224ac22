/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions of columns by CPUs, which take a cache line of each of several lines at a time: numbers of columns
 * around that, and around a core's block of columns, and numbers of lines around blocks of them. */
#include <criterion/criterion.h>
#include <math.h>

#include "support/reduced.h"

TestSuite(reduce_columns, .init = device_open, .fini = device_close);

static const int64_t widths[] = {8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 2049, 4095, 4097};
static const int64_t lengths[] = {1, 7, 8, 9, 17, 63, 64, 65, 72, 129};
enum {
    WIDTHS = sizeof widths / sizeof *widths,
    SMALL_WIDTHS = 11,
    LENGTHS = sizeof lengths / sizeof *lengths
};

/* Lines one after the other, or of other columns, too, so that they begin anywhere. */
static array *lines_of(tdm_dtype dtype, int64_t lines, int64_t columns) {
    return array_2d(dtype, lines, columns, random_integer(0, 1) ? columns : columns + 3);
}

static int width_count(void) { return small ? SMALL_WIDTHS : WIDTHS; }

Test(reduce_columns, widths_and_lengths, TAGS("lanes few")) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int what = 0; what < REF_REDUCTIONS; what++)
            for (int w = 0; w < width_count(); w++)
                for (int l = 0; l < LENGTHS; l++) {
                    if (!in_long_turn(((d * REF_REDUCTIONS + what) * WIDTHS + w) * LENGTHS + l))
                        continue;
                    const tdm_dtype dtype = float_dtypes[d];
                    const ref_reduction which = (ref_reduction)what;
                    const bool ones = which == REF_PRODUCT || which == REF_ALL;
                    array *x = lines_of(dtype, lengths[l], widths[w]);
                    array_uniform(x, ones ? 0.98 : -2.0, ones ? 1.02 : 3.0);
                    for (int64_t i = 0; which >= REF_ANY && i < x->count; i++)
                        if (random_integer(0, 3) > 0) x->v[i] = which == REF_ALL;
                    array_set(x, x->v);
                    const bool right = reduce_case(which, x, 1, reduced_dtype(which, dtype),
                                                   l % 2 ? WITH_DIMS : WITH_GAPS, 0.0);
                    array_free_all();
                    if (!right) return;
                }
}

/* Of 16 bits their keys have as many, whatever they are of; some extremes are in the last columns. */
Test(reduce_columns, extremes_of_every_dtype) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        for (int w = 0; w < width_count(); w++)
            for (int smallest = 0; smallest < 2; smallest++) {
                if (!is_wanted((tdm_dtype)d) || !in_turn(d + w + smallest)) continue;
                const tdm_dtype dtype = (tdm_dtype)d;
                array *x = lines_of(dtype, lengths[w % LENGTHS], widths[w]);
                array_integers(x, 0, dtype == TDM_BOOL ? 1 : 100);
                if (dtype != TDM_BOOL && !dtype_is_float(dtype)) {
                    x->v[x->count - 1] = dtype_max(dtype);
                    if (tdm_dtype_size(dtype) == 8) x->v[x->count - 1] = 0x1p62;
                } else if (dtype_is_float(dtype)) {
                    for (int64_t i = 0; i < x->count; i++)
                        x->v[i] -= 50;
                    x->v[x->count - 1] = (double)NAN;
                    x->v[random_integer(0, x->count - 1)] = -(double)INFINITY;
                }
                array_set(x, x->v);
                const ref_reduction which = smallest ? REF_MIN : REF_MAX;
                const bool right = reduce_case(which, x, 1, dtype, WITH_GAPS, 0.0) &&
                                   place_case(smallest, x, 0, TDM_I32, WITHOUT_DIMS);
                array_free_all();
                if (!right) return;
            }
}

/* Places whose number in a block of lines does not fit its type: the last one, and equal ones. */
Test(reduce_columns, far_places) {
    static const tdm_dtype some[] = {TDM_F32, TDM_F16, TDM_U16, TDM_I8, TDM_F64};
    const int64_t lines = small ? 500 : 40000;
    for (size_t d = 0; d < sizeof some / sizeof *some; d++) {
        enum { COLUMNS = 40 };
        array *x = array_2d(some[d], lines, COLUMNS, COLUMNS);
        array_integers(x, 0, 90);
        for (int64_t j = 0; j < COLUMNS; j++) {
            const int64_t at = j ? random_integer(0, lines - 1) : lines - 1;
            x->v[at * COLUMNS + j] = 100;
            if (j % 2) x->v[(lines - 1) * COLUMNS + j] = 100;
        }
        array_set(x, x->v);
        place_case(false, x, 0, TDM_I32, WITHOUT_DIMS);
        array_free_all();
    }
}

/* A large mean, outliers in the first line, in the first lines and later ones, columns of equal elements, and such that
 * are one number in the first lines and another one from there on. */
Test(reduce_columns, variance_of_a_large_mean) {
    static const double means[] = {0.0, 1000.0, -100000.0};
    static const int64_t counts[] = {2, 9, 100, 5000, 30000};
    for (int d = 0; d < float_dtype_count; d++) {
        const tdm_dtype dtype = float_dtypes[d];
        if (tdm_dtype_size(dtype) == 2) continue;
        for (int m = 0; m < 3; m++)
            for (int l = 0; l < (small ? 4 : 5); l++) {
                enum { COLUMNS = 37 };
                if (!in_turn(m + l)) continue;
                const int64_t n = counts[l];
                array *x = array_2d(dtype, n, COLUMNS, COLUMNS);
                array_uniform(x, means[m] - 1.0, means[m] + 1.0);
                for (int64_t i = 0; i < n; i++) {
                    double *v = x->v + i * COLUMNS;
                    v[1] = v[36] = 1.1 * means[m] + 0.3;
                    v[2] = i < n / 3 ? 0.1 : 0.7;
                    v[3] = i < 64 ? means[m] : means[m] + 1e5;
                    if (i < 8) v[4] = v[35] = 1e6;
                    v[5] += (double)i;
                }
                x->v[6] = 1e6;
                x->v[(n - 1) * COLUMNS + 7] = -1e6;
                x->v[n / 2 * COLUMNS + 34] = 1e7;
                array_set(x, x->v);
                const bool right = reduce_case(REF_VARIANCE, x, 1, dtype, WITHOUT_DIMS, 1.0);
                array_free_all();
                if (!right) return;
            }
    }
}

/* A variance that is more than the dtype has. */
Test(reduce_columns, variance_that_overflows) {
    enum { LINES = 200, WIDE = 40 };
    array *x = array_2d(TDM_F32, LINES, WIDE, WIDE), *y = array_1d(TDM_F32, WIDE);
    array_uniform(x, -1e25, 1e25);
    OK(tdm_variance(queue, &x->t, (const int[]){0}, 1, 0, &y->t));
    ARRAY_CHECK(y, numbers_of(WIDE, (double)INFINITY), NULL);
    array_free_all();
}
