/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels of docs/kernels.md, as they stand there. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/bounds.h"
#include "suite/source_call.h"

TestSuite(source_page, .init = device_open, .fini = device_close, TAGS("lanes compiler compiled"));

static const char PAGE[] = TEST_PAGES "/kernels.md";

static char *read_page(void) {
    FILE *file = fopen(PAGE, "rb");
    if (!file) file = fopen("docs/kernels.md", "rb"); /* where the build was moved */
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    if (!text) abort();
    text[fread(text, 1, size, file)] = '\0';
    fclose(file);
    return text;
}

/* The block of the page that has a kernel, allocated; NULL, and a failure, when there is none. */
static char *text_of(const char *entry) {
    static const char begin[] = "\n```c\n", end[] = "\n```\n";
    char wanted[64], *page = read_page(), *text = NULL;
    snprintf(wanted, sizeof wanted, "\nKERNEL(%s)\n", entry);
    for (char *block = page; block && !text && (block = strstr(block, begin));) {
        block += sizeof begin - 2; /* from its newline on */
        char *stop = strstr(block, end);
        if (!stop) break;
        *stop = '\0';
        if (strstr(block, wanted)) text = strdup(block + 1);
        *stop = '\n';
    }
    free(page);
    CHECK(text, "%s has no kernel %s", PAGE, entry);
    return text;
}

/* ---- the cases: each of a few shapes, and of each floating dtype ---- */

typedef struct shape {
    int64_t rows, cols;
} shape;

static array *random_2d(tdm_dtype dtype, int64_t rows, int64_t cols) {
    array *made = array_2d(dtype, rows, cols, cols + 3);
    array_uniform(made, -2, 2);
    return made;
}

typedef bool page_case(const char *text, tdm_dtype dtype, shape s);

static void on_all(const char *entry, page_case *run) {
    static const shape shapes[] = {{1, 1}, {5, 37}, {130, 64}, {2, 9001}};
    char *text = text_of(entry);
    for (int d = 0; text && d < float_dtype_count; d++)
        for (size_t i = 0; i < (small ? 2 : sizeof shapes / sizeof *shapes); i++) {
            check_case("%s of %s, %lld rows of %lld", entry, tdm_dtype_name(float_dtypes[d]),
                       (long long)shapes[i].rows, (long long)shapes[i].cols);
            const bool right = run(text, float_dtypes[d], shapes[i]);
            array_free_all();
            if (!right) break;
        }
    free(text);
}

static bool check_scale(const char *text, tdm_dtype dtype, shape s) {
    array *x = random_2d(dtype, s.rows, s.cols), *y = array_2d(dtype, s.rows, s.cols, s.cols + 1);
    double *want = numbers(x->count), *bound = numbers(x->count);
    for (int64_t i = 0; i < x->count; i++) {
        want[i] = 0.75 * x->v[i];
        bound[i] = stored(dtype, want[i], fabs(want[i]) * compute_eps(dtype));
    }
    return RUN_SOURCE(text, "scale", IN("x", x), OUT("y", y), NUMBER("s", 0.75)) &&
           ARRAY_CHECK(y, want, bound) && ARRAY_SAME(x);
}
Test(source_page, scale, TAGS("texts")) { on_all("scale", check_scale); }

static bool check_row_sum(const char *text, tdm_dtype dtype, shape s) {
    array *x = random_2d(dtype, s.rows, s.cols), *sums = array_1d(dtype, s.rows);
    double *want = numbers(s.rows), *bound = numbers(s.rows);
    for (int64_t r = 0; r < s.rows; r++) {
        long double sum = 0;
        double size = 0;
        for (int64_t j = 0; j < s.cols; j++) {
            sum += (long double)x->v[r * s.cols + j];
            size += fabs(x->v[r * s.cols + j]);
        }
        want[r] = (double)sum;
        bound[r] = stored(dtype, want[r], size * 80 * compute_eps(dtype));
    }
    return RUN_SOURCE(text, "row_sum", IN("x", x), OUT("sums", sums)) &&
           ARRAY_CHECK(sums, want, bound);
}
Test(source_page, row_sum, TAGS("texts")) { on_all("row_sum", check_row_sum); }

static bool check_softmax(const char *text, tdm_dtype dtype, shape s) {
    array *x = random_2d(dtype, s.rows, s.cols), *y = random_2d(dtype, s.rows, s.cols);
    double *want = numbers(x->count), *bound = numbers(x->count);
    for (int64_t r = 0; r < x->count; r += s.cols) {
        long double sum = 0;
        for (int64_t j = r; j < r + s.cols; j++)
            sum += expl((long double)x->v[j]);
        for (int64_t j = r; j < r + s.cols; j++) {
            want[j] = (double)(expl((long double)x->v[j]) / sum);
            /* the sum is of up to 9001 terms in one block */
            bound[j] = stored(dtype, want[j], want[j] * 400 * compute_eps(dtype));
        }
    }
    return RUN_SOURCE(text, "softmax", IN("x", x), OUT("y", y)) && ARRAY_CHECK(y, want, bound);
}
Test(source_page, softmax, TAGS("kinds")) { on_all("softmax", check_softmax); }

static bool check_transpose(const char *text, tdm_dtype dtype, shape s) {
    array *x = random_2d(dtype, s.cols, s.rows), *y = array_2d(dtype, s.rows, s.cols, s.cols + 5);
    double *want = numbers(y->count);
    for (int64_t i = 0; i < s.rows; i++)
        for (int64_t j = 0; j < s.cols; j++)
            want[i * s.cols + j] = x->v[j * s.rows + i];
    return RUN_SOURCE(text, "transpose", OUT("y", y), IN("x", x)) && ARRAY_CHECK(y, want, NULL);
}
Test(source_page, transpose, TAGS("texts")) { on_all("transpose", check_transpose); }

static bool check_heat(const char *text, tdm_dtype dtype, shape s) {
    array *x = random_2d(dtype, s.rows, s.cols), *y = array_2d(dtype, s.rows, s.cols, s.cols);
    double *want = numbers(y->count), *bound = numbers(y->count);
    for (int64_t i = 0; i < s.rows; i++)
        for (int64_t j = 0; j < s.cols; j++) {
            const double *row = x->v + i * s.cols, here = row[j];
            const double above = i > 0 ? row[j - s.cols] : here;
            const double below = i + 1 < s.rows ? row[j + s.cols] : here;
            const double left = j > 0 ? row[j - 1] : here;
            const double right = j + 1 < s.cols ? row[j + 1] : here;
            const int64_t at = i * s.cols + j;
            want[at] = here + 0.2 * (above + below + left + right - 4 * here);
            bound[at] = stored(dtype, want[at], 32 * compute_eps(dtype));
        }
    return RUN_SOURCE(text, "heat", OUT("y", y), IN("x", x), NUMBER("rate", 0.2)) &&
           ARRAY_CHECK(y, want, bound);
}
Test(source_page, heat, TAGS("texts")) { on_all("heat", check_heat); }

static bool check_matrix_vector(const char *text, tdm_dtype dtype, shape s) {
    array *a = random_2d(dtype, s.rows, s.cols), *v = array_1d(dtype, s.cols);
    array *y = array_1d(dtype, s.rows);
    double *want = numbers(s.rows), *bound = numbers(s.rows);
    array_uniform(v, -1, 1);
    for (int64_t r = 0; r < s.rows; r++) {
        long double sum = 0;
        double size = 0;
        for (int64_t j = 0; j < s.cols; j++) {
            sum += (long double)a->v[r * s.cols + j] * (long double)v->v[j];
            size += fabs(a->v[r * s.cols + j] * v->v[j]);
        }
        want[r] = (double)sum;
        bound[r] = stored(dtype, want[r], size * 80 * compute_eps(dtype));
    }
    return RUN_SOURCE(text, "matrix_vector", IN("A", a), IN("v", v), OUT("y", y)) &&
           ARRAY_CHECK(y, want, bound);
}
Test(source_page, matrix_vector, TAGS("texts")) { on_all("matrix_vector", check_matrix_vector); }

/* In place. */
static bool check_standardise(const char *text, tdm_dtype dtype, shape s) {
    array *y = random_2d(dtype, s.rows, s.cols);
    double *want = numbers(y->count), *bound = numbers(y->count);
    for (int64_t r = 0; r < y->count; r += s.cols) {
        long double sum = 0, squares = 0;
        for (int64_t j = r; j < r + s.cols; j++)
            sum += (long double)y->v[j];
        const long double mean = sum / (long double)s.cols;
        for (int64_t j = r; j < r + s.cols; j++)
            squares += ((long double)y->v[j] - mean) * ((long double)y->v[j] - mean);
        const long double factor = 1 / sqrtl(squares / (long double)s.cols + 0.01L);
        for (int64_t j = r; j < r + s.cols; j++) {
            want[j] = (double)(((long double)y->v[j] - mean) * factor);
            bound[j] = stored(dtype, want[j], 2000 * compute_eps(dtype));
        }
    }
    return RUN_SOURCE(text, "standardise", OUT("y", y), NUMBER("epsilon", 0.01)) &&
           ARRAY_CHECK(y, want, bound);
}
Test(source_page, standardise, TAGS("texts")) { on_all("standardise", check_standardise); }

/* Of small integers, so that there are several that are the largest. */
static bool check_argmax(const char *text, tdm_dtype dtype, shape s) {
    array *x = array_2d(dtype, s.rows, s.cols, s.cols), *best = array_1d(TDM_I64, s.rows);
    double *want = numbers(s.rows);
    array_integers(x, -9, 9);
    for (int64_t r = 0; r < s.rows; r++) {
        int64_t at = 0;
        for (int64_t j = 1; j < s.cols; j++)
            if (x->v[r * s.cols + j] > x->v[r * s.cols + at]) at = j;
        want[r] = (double)at;
    }
    return RUN_SOURCE(text, "argmax", IN("x", x), OUT_OF("best", best)) &&
           ARRAY_CHECK(best, want, NULL);
}
Test(source_page, argmax, TAGS("texts")) { on_all("argmax", check_argmax); }

static bool check_distances(const char *text, tdm_dtype dtype, shape s) {
    enum { D = 7 };
    array *a = random_2d(dtype, s.rows, D), *b = random_2d(dtype, s.cols, D);
    array *y = array_2d(dtype, s.rows, s.cols, s.cols);
    double *want = numbers(y->count), *bound = numbers(y->count);
    for (int64_t i = 0; i < s.rows; i++)
        for (int64_t j = 0; j < s.cols; j++) {
            double sum = 0;
            for (int k = 0; k < D; k++)
                sum += pow(a->v[i * D + k] - b->v[j * D + k], 2);
            want[i * s.cols + j] = sqrt(sum);
            bound[i * s.cols + j] = stored(dtype, sqrt(sum), 16 * sqrt(sum) * compute_eps(dtype));
        }
    return RUN_SOURCE(text, "distances", OUT("y", y), IN("a", a), IN("b", b)) &&
           ARRAY_CHECK(y, want, bound);
}
Test(source_page, distances, TAGS("texts")) { on_all("distances", check_distances); }

static bool check_pictures(const char *text, tdm_dtype dtype, shape s) {
    enum { PICTURES = 4 };
    array *bytes = array_2d(TDM_U8, PICTURES, s.cols, s.cols), *which = array_1d(TDM_I32, s.rows);
    array *y = array_2d(dtype, s.rows, s.cols, s.cols);
    double *want = numbers(y->count), *bound = numbers(y->count);
    array_integers(bytes, 0, 255);
    array_integers(which, -1, PICTURES);
    for (int64_t i = 0; i < s.rows; i++)
        for (int64_t j = 0; j < s.cols; j++) {
            const double from = which->v[i];
            const bool exists = from >= 0 && from < (double)PICTURES;
            const double byte = exists ? bytes->v[(int64_t)from * s.cols + j] : 51;
            want[i * s.cols + j] = byte / 255 - 0.5;
            bound[i * s.cols + j] = stored(dtype, byte / 255 - 0.5, 3 * compute_eps(dtype));
        }
    return RUN_SOURCE(text, "pictures", OUT("y", y), IN_OF("bytes", bytes), IN_OF("which", which),
                      NUMBER("mean", 0.5), INTEGER("missing", 51)) &&
           ARRAY_CHECK(y, want, bound);
}
Test(source_page, pictures, TAGS("texts")) { on_all("pictures", check_pictures); }
