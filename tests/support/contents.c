/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "contents.h"

#include <math.h>
#include <string.h>

#include "array.h"

const char *const content_names[CONTENTS] = {
#define CONTENT(NAME, name) name,
    CONTENT_LIST(CONTENT)
#undef CONTENT
};

double least_result(void) {
    static double least = -1.0;
    if (least >= 0.0) return least;
    const float half = 0x1p-127f;
    float got = 0.0f;
    tdm_tensor x;
    if (!OK(tdm_full(queue, 0x1p-126, TDM_F32, TDM_SHAPE(1), &x))) return 0.0;
    OK(tdm_scale(queue, 0.5, &x, &x));
    OK(tdm_to_host(queue, &x, &got));
    tdm_tensor_release(&x);
    CHECK(got == 0.0f || got == half, "2^-126 / 2 is %g", (double)got);
    return least = got == 0.0f ? 0x1p-126 : 0.0;
}

/* f16 has neither room for huge elements nor squares, in f32, that vanish; where f32 has no subnormals, squares of
 * subnormals are not to be had. */
bool has_content(const operation *op, tdm_dtype dtype, content what) {
    if (what == PLAIN) return true;
    if (op->makes_kernel) return false; /* tests/suite/expressions.c has their special values */
    if (what == SPECIALS) return op->unit == OP_BY_ELEMENT;
    if (what == CRUMBS) return op->unit != OP_BY_ELEMENT;
    if (what == FAINT) return op->unit != OP_BY_ELEMENT && dtype != TDM_F16;
    if (what < CONSTANT) return true;
    if (what == ROOT_CRUMBS) return op->contents & (OP_MEANS | OP_SQUARES);
    if (what < HUGE_PART) return op->contents & OP_MEANS;
    if (what >= FAR_APART) return op->contents & OP_EXPONENTS;
    if (!(op->contents & OP_SQUARES) || dtype == TDM_F16) return false;
    return what != SUBNORMALS || (dtype == TDM_F32 && least_result() == 0.0);
}

/* A mean that is large in terms of the deviation. */
static void choose_mean(tdm_dtype dtype, double *mean, double *spread) {
    static const double kinds[][2][2] = {{{1e4, 1}, {-3e5, 10}}, /* f32 */
                                         {{1e7, 1e-3}, {-1e9, 1}},
                                         {{1000, 8}, {100, 8}},
                                         {{100, 8}, {-100, 8}}};
    const int kind = dtype == TDM_F32 ? 0 : dtype == TDM_F64 ? 1 : dtype == TDM_F16 ? 2 : 3;
    const double *const chosen = kinds[kind][random_bits() & 1];
    *mean = chosen[0];
    *spread = chosen[1];
}

/* Of elements by themselves. */
static const double specials[] = {(double)NAN,
                                  (double)INFINITY,
                                  -(double)INFINITY,
                                  0.0,
                                  -0.0,
                                  1e4,
                                  -1e4,
                                  88.0,
                                  -88.0,
                                  -20.0,
                                  100.0,
                                  -104.0,
                                  1e-6};
enum { SPECIALS_COUNT = sizeof specials / sizeof *specials };

/* Crumbs are everywhere in short rows; in long ones at the beginning, and so far apart that each chunk of a row has
 * one, or each block of lines two, of either sign. */
static bool is_crumb(content what, int64_t j, int64_t cols) {
    const int64_t apart = cols <= 1000 ? 1 : what == ROOT_CRUMBS ? 16 : 8192;
    return j < apart || j % apart < (what == ROOT_CRUMBS ? 2 : 1);
}

bool is_chained(content what) {
    return what == CRUMBS || what == LOG_CRUMBS || what == ROOT_CRUMBS || what == DRIFT;
}

void fill_row(tdm_dtype dtype, content what, double low, double high, int64_t cols, double *v) {
    const bool f64 = dtype == TDM_F64;
    double mean, spread;
    choose_mean(dtype, &mean, &spread);
    const double huge = f64 ? 1e170 : 1e22, tiny = f64 ? 1e-170 : 1e-25;
    const double brink = sqrt((f64 ? 0x1p1023 : 0x1p127) / (double)cols) * 1.6;
    const double steps[] = {f64 ? 0x1p-64 : 0x1p-35, 0x1p-12, 0.5};
    const double step = steps[random_integer(dtype_eps(dtype) > 1e-6, 2)];
    const double crumb = 0.5 * compute_eps(dtype);
    const double range = random_bits() & 1 ? 30000.0 : 300.0;
    const int64_t from = random_integer(0, cols - 1);
    const int64_t to = from + random_integer(1, cols / 4 + 1);
    for (int64_t j = 0; j < cols; j++) {
        const double noise = random_uniform(-1.0, 1.0);
        const bool inside = j >= from && j < to;
        switch (what) {
        case CONSTANT:
            v[j] = 1024.0;
            break;
        case FAR_MEAN:
            v[j] = mean + spread * noise;
            break;
        case SPECIALS:
            v[j] = specials[random_integer(0, SPECIALS_COUNT - 1)];
            break;
        case CRUMBS:
            v[j] = j == 0 ? 1.0 : is_crumb(what, j, cols) ? crumb : 0.0;
            break;
        case DRIFT:
            v[j] = j == 0 ? 0.0 : j < cols / 2 ? 1.0 : 1.0 + 8.0 * sqrt(compute_eps(dtype));
            break;
        case ROOT_CRUMBS: /* the first element is a crumb, so that differences from it are as small as crumbs */
            v[j] = j == 2 || j == 3          ? 1.0
                   : is_crumb(what, j, cols) ? 1.0001 * sqrt(crumb / 2)
                                             : 0.0;
            if (j % 2 != 0) v[j] = -v[j];
            break;
        case FAINT:
            v[j] = f64 ? 0x1p-537 * (0.6 + 0.05 * noise) : 0x1p-75 * (0.9 + 0.07 * noise);
            break;
        case LOG_CRUMBS:
            v[j] = j == 0 ? 0.0 : is_crumb(what, j, cols) ? log(crumb) : -(double)INFINITY;
            break;
        case LEANING:
            v[j] = round(random_uniform(-12.0, 20.0)) / 4.0;
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
        case SUBNORMALS:
            v[j] = round(noise * 100000.0) * 0x1p-149;
            break;
        case FAR_APART:
            v[j] = range * noise;
            break;
        case MASKED:
            v[j] = inside ? 10.0 * noise : -(double)INFINITY;
            break;
        case RISING:
            v[j] = fmin(step * (double)j, 60000.0);
            break;
        default:
            v[j] = random_uniform(low, high);
            break;
        }
    }
    if (what == OUTLIER) v[from] = 1e4;
    if (what == LEANING) v[0] = random_uniform(-0.02, 0.02);
    if (what == TINY_BUT_ONE) v[from] = 1.0;
    if (what == LAST_INFINITY)
        v[cols - 1] = random_bits() & 1 ? (double)INFINITY : -(double)INFINITY;
    for (int k = 0; what == INFINITIES && k < 2; k++)
        v[random_integer(0, cols - 1)] = random_bits() & 1 ? (double)INFINITY : -(double)INFINITY;
    if (what == FIRST_NAN) v[0] = (double)NAN;
    if (what == ANY_NAN) {
        const uint64_t bits = UINT64_C(0x7ff8000000000000) | (random_bits() & 0xffff) << 29;
        memcpy(&v[from], &bits, sizeof bits);
    }
}

double epsilon_for(tdm_dtype dtype, content what) {
    static const double all[] = {0.0, 1e-30, 1e-12, 1e-5, 1e10};
    /* next to a large one tiny results would be subnormal */
    const bool tiny = what == TINY || what == TINY_BUT_ONE || what == TINY_PARTS;
    const int least = what == ZEROS || what == CONSTANT || what == SUBNORMALS;
    const double epsilon = all[random_integer(least, tiny || what == SUBNORMALS ? 3 : 4)];
    return dtype == TDM_F64 ? epsilon : (float)epsilon;
}
