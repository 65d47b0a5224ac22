/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm, RMSNorm and L2-normalise of few long rows, which a device cuts into chunks: whatever is in one chunk
 * alone must come out as it does of a row that is not cut. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "reference/ops.h"
#include "support/array.h"

TestSuite(long_rows, .init = device_open, .fini = device_close);

static const int64_t extents[][2] = {{1, 32768}, {2, 20003}, {1, 200003}, {3, 66666}, {1, 1 << 18}};

static size_t extent_count(void) { return small ? 2 : sizeof extents / sizeof extents[0]; }

/* What a row has beside uniform numbers. */
typedef enum content {
    PLAIN,
    CONSTANT,      /* LayerNorm gives the bias, and nothing else */
    FAR_MEAN,      /* and little noise */
    OUTLIER,       /* one element, anywhere */
    HUGE_PART,     /* squares overflow, in one chunk alone */
    TINY,          /* squares vanish, everywhere */
    TINY_BUT_ONE,  /* … but for one element */
    TINY_PARTS,    /* parts of the row are of sizes far apart */
    ZERO_PART,     /* a part of the row is 0 */
    ZEROS,         /* all of it */
    BRINK,         /* the sum of a row's squares overflows, but that of no chunk's */
    LEVELS,        /* two halves, so far apart that only what is between two chunks overflows */
    LAST_INFINITY, /* in the last chunk */
    FIRST_NAN,     /* in the first */
    CONTENTS
} content;

static const char *const content_names[CONTENTS] = {"plain",
                                                    "a constant",
                                                    "a mean far from 0",
                                                    "an outlier",
                                                    "a part that is huge",
                                                    "tiny",
                                                    "tiny but for one element",
                                                    "parts of sizes far apart",
                                                    "a part that is 0",
                                                    "zeros",
                                                    "on the brink of overflow",
                                                    "two levels",
                                                    "an infinity at the end",
                                                    "a NaN at the beginning"};

/* f16 has neither room for huge elements nor squares, in f32, that vanish. */
static bool has_content(tdm_dtype dtype, content what) {
    return dtype != TDM_F16 || (what != HUGE_PART && what != TINY && what != TINY_BUT_ONE &&
                                what != TINY_PARTS && what != BRINK && what != LEVELS);
}

static void fill_row(tdm_dtype dtype, content what, int64_t cols, double *v) {
    const bool f64 = dtype == TDM_F64, wide = f64 || dtype == TDM_F32;
    const double huge = f64 ? 1e170 : 1e22, tiny = f64 ? 1e-170 : 1e-25;
    const double brink = sqrt((f64 ? 0x1p1023 : 0x1p127) / (double)cols) * 1.6;
    const int64_t from = random_integer(0, cols - 1), to = from + random_integer(1, cols / 4);
    for (int64_t j = 0; j < cols; j++) {
        const double noise = random_uniform(-1.0, 1.0);
        const bool inside = j >= from && j < to;
        switch (what) {
        case CONSTANT:
            v[j] = 1e4;
            break;
        case FAR_MEAN:
            v[j] = wide ? 1e4 + noise : 100.0 + 8.0 * noise;
            break;
        case HUGE_PART:
            v[j] = inside ? huge * noise : noise;
            break;
        case TINY:
        case TINY_BUT_ONE:
            v[j] = tiny * noise;
            break;
        case TINY_PARTS:
            v[j] = inside ? noise : j % 2 ? tiny * noise : 0.0;
            break;
        case ZERO_PART:
            v[j] = inside ? 0.0 : noise;
            break;
        case ZEROS:
            v[j] = 0.0;
            break;
        case BRINK:
            v[j] = noise < 0 ? -brink : brink;
            break;
        case LEVELS:
            v[j] = j < cols / 2 ? huge : -huge;
            break;
        default:
            v[j] = noise;
            break;
        }
    }
    if (what == OUTLIER) v[from] = 1e4;
    if (what == TINY_BUT_ONE) v[from] = 1.0;
    if (what == LAST_INFINITY) v[cols - 1] = (double)INFINITY;
    if (what == FIRST_NAN) v[0] = (double)NAN;
}

static array *make_rows(tdm_dtype dtype, content what, int64_t rows, int64_t cols, int64_t stride) {
    array *x = array_2d(dtype, rows, cols, stride);
    for (int64_t r = 0; r < rows; r++)
        fill_row(dtype, r == rows - 1 ? what : PLAIN, cols, x->v + r * cols);
    array_set(x, x->v);
    return x;
}

static void describe(const char *operation, const array *x, content what, double epsilon,
                     const char *how) {
    check_case("%s %s %lldx%lld, %s, epsilon %g%s", tdm_dtype_name(x->t.dtype), operation,
               (long long)x->t.shape[0], (long long)x->t.shape[1], content_names[what], epsilon,
               how);
}

/* Rows of zeros need one, and LayerNorm of a constant does, too; beside a large one tiny results would be
 * subnormal. */
static double random_epsilon(tdm_dtype dtype, content what) {
    static const double all[] = {0.0, 1e-30, 1e-12, 1e-5, 1e10};
    const bool tiny = what == TINY || what == TINY_BUT_ONE || what == TINY_PARTS;
    const double epsilon =
        all[random_integer(what == ZEROS || what == CONSTANT ? 1 : 0, tiny ? 3 : 4)];
    return dtype == TDM_F64 ? epsilon : (float)epsilon;
}

/* how: 0 and 1: y apart, without and with a weight (and a bias); 2: y on x; 3: with a residual and the sum; 4: y on
 * the residual and the sum on x, with a weight. */
static const char *const how_texts[] = {"", "", ", in place", ", with a residual",
                                        ", in place of a residual"};

/* Noise, or x itself, so that the sum has what x has. */
static array *make_residual(const array *x, content what) {
    const int64_t rows = x->t.shape[0], cols = x->t.shape[1];
    array *residual = array_2d(x->t.dtype, rows, cols, cols);
    for (int64_t j = 0; j < x->count; j++)
        residual->v[j] = what == PLAIN || what == FAR_MEAN ? random_uniform(-1.0, 1.0) : x->v[j];
    array_set(residual, residual->v);
    return residual;
}

static bool layer_norm_case(tdm_dtype dtype, content what, int64_t rows, int64_t cols, int how) {
    const double epsilon = random_epsilon(dtype, what);
    array *x = make_rows(dtype, what, rows, cols, cols + (how == 1 ? 8 : 0));
    array *residual = how >= 3 ? make_residual(x, what) : NULL;
    array *weight = how == 1 || how == 4 ? array_1d(dtype, cols) : NULL;
    array *bias = how == 1 || how == 4 ? array_1d(dtype, cols) : NULL;
    if (weight) array_uniform(weight, -2.0, 2.0);
    if (bias) array_uniform(bias, -1.0, 1.0);
    array *y = how == 2 ? x : how == 4 ? residual : array_2d(dtype, rows, cols, x->t.strides[0]);
    array *sum = how == 3 ? array_2d(dtype, rows, cols, cols) : how == 4 ? x : NULL;
    double *want = numbers(x->count), *bound = numbers(x->count), *want_sum = numbers(x->count);
    describe("layer_norm", x, what, epsilon, how_texts[how]);
    ref_residual_sum(dtype, x->count, x->v, residual ? residual->v : NULL, want_sum);
    ref_layer_norm(dtype, rows, cols, want_sum, weight ? weight->v : NULL, bias ? bias->v : NULL,
                   epsilon, want, bound);
    for (int64_t j = x->count - cols; what == CONSTANT && j < x->count; j++)
        bound[j] = 0.0;
    const tdm_tensor *w = weight ? &weight->t : NULL, *b = bias ? &bias->t : NULL;
    bool right = OK(residual ? tdm_layer_norm_residual(queue, &x->t, &residual->t, w, b, epsilon,
                                                       sum ? &sum->t : NULL, &y->t)
                             : tdm_layer_norm(queue, &x->t, w, b, epsilon, &y->t)) &&
                 ARRAY_CHECK(y, want, bound);
    if (sum) right = ARRAY_CHECK(sum, want_sum, NULL) && right;
    if (y != x && sum != x) right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

static bool rms_norm_case(tdm_dtype dtype, content what, int64_t rows, int64_t cols, int how) {
    const double epsilon = random_epsilon(dtype, what);
    array *x = make_rows(dtype, what, rows, cols, cols + (how == 1 ? 8 : 0));
    array *residual = how >= 3 ? make_residual(x, what) : NULL;
    array *weight = how == 1 || how == 4 ? array_1d(dtype, cols) : NULL;
    if (weight) array_uniform(weight, -2.0, 2.0);
    array *y = how == 2 ? x : how == 4 ? residual : array_2d(dtype, rows, cols, x->t.strides[0]);
    array *sum = how == 3 ? array_2d(dtype, rows, cols, cols) : how == 4 ? x : NULL;
    double *want = numbers(x->count), *bound = numbers(x->count), *want_sum = numbers(x->count);
    describe("rms_norm", x, what, epsilon, how_texts[how]);
    ref_rms_norm(dtype, rows, cols, x->v, residual ? residual->v : NULL, weight ? weight->v : NULL,
                 epsilon, want_sum, want, bound);
    bool right =
        OK(tdm_rms_norm(queue, &x->t, residual ? &residual->t : NULL, weight ? &weight->t : NULL,
                        epsilon, sum ? &sum->t : NULL, &y->t)) &&
        ARRAY_CHECK(y, want, bound);
    if (sum) right = ARRAY_CHECK(sum, want_sum, NULL) && right;
    if (y != x && sum != x) right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

static bool l2_normalize_case(tdm_dtype dtype, content what, int64_t rows, int64_t cols, int how) {
    const double epsilon = random_epsilon(dtype, what);
    array *x = make_rows(dtype, what, rows, cols, cols + (how == 1 ? 8 : 0));
    array *y = how == 2 ? x : array_2d(dtype, rows, cols, x->t.strides[0]);
    double *want = numbers(x->count), *bound = numbers(x->count);
    describe("l2_normalize", x, what, epsilon, how == 2 ? ", in place" : "");
    ref_l2_normalize(dtype, rows, cols, x->v, epsilon, want, bound);
    bool right = OK(tdm_l2_normalize(queue, &x->t, epsilon, &y->t)) && ARRAY_CHECK(y, want, bound);
    if (y != x) right = ARRAY_SAME(x) && right;
    array_free_all();
    return right;
}

typedef bool one_case(tdm_dtype dtype, content what, int64_t rows, int64_t cols, int how);

/* Every content, with every shape and way of calling in turn. */
static void check_all(one_case *check, int ways) {
    int turn = (int)random_integer(0, 100);
    for (int d = 0; d < float_dtype_count; d++)
        for (content what = PLAIN; what < CONTENTS; what++) {
            const int first = turn;
            if (!in_turn(turn + d)) {
                turn++;
                continue;
            }
            for (int how = 0; how < ways && has_content(float_dtypes[d], what); how++) {
                if (small && how != first % ways && (simulator || how != (first + 1) % ways))
                    continue;
                const int64_t *extent = extents[(size_t)(turn + how) % extent_count()];
                if (!check(float_dtypes[d], what, extent[0], extent[1], how)) break;
            }
            turn++;
        }
}

Test(long_rows, layer_norm) { check_all(layer_norm_case, 5); }

Test(long_rows, rms_norm) { check_all(rms_norm_case, 5); }

Test(long_rows, l2_normalize) { check_all(l2_normalize_case, 3); }
