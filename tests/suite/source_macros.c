/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Macros of the dialect that no kernel of docs/kernels.md uses, in users' kernels. All that is computed is exact in
 * ACC, and rounded once where it is stored. */
#include <criterion/criterion.h>
#include <math.h>

#include "reference/bounds.h"
#include "suite/source_call.h"

TestSuite(source_macros, .init = device_open, .fini = device_close,
          TAGS("compiler compiled texts"));

enum { ROWS = 5 };
static const int64_t lengths[] = {1, 7, 64, 300, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

typedef bool macro_case(tdm_dtype dtype, int64_t cols);

static void on_all(const char *what, macro_case *run) {
    for (int d = 0; d < float_dtype_count; d++)
        for (size_t i = 0; i < LENGTHS; i++) {
            check_case("%s of %s, rows of %lld", what, tdm_dtype_name(float_dtypes[d]),
                       (long long)lengths[i]);
            const bool right = run(float_dtypes[d], lengths[i]);
            array_free_all();
            if (!right) break;
        }
}

/* PRODUCT, GROUP_PRODUCT: powers of two, of which no product of some is too large for ACC. */
static bool check_product(tdm_dtype dtype, int64_t cols) {
    static const char text[] =
        "KERNEL(products)\n{\n    LOCAL_ARRAY(ACC, scratch, LANES);\n"
        "    FOR_ROWS(row, ROWS)\n    {\n"
        "        GLOBAL const T *const xr = ROW(x, row);\n        ACC a = 1;\n"
        "        PRODUCT(a, j, 0, COLS, READ(xr), AT(xr, j), AHEAD(xr));\n"
        "        a = GROUP_PRODUCT(scratch, a);\n"
        "        if (LANE == 0) STORE(ROW(y, 0), row, a);\n    }\n}\n";
    array *x = array_2d(dtype, ROWS, cols, cols + 3), *y = array_1d(dtype, ROWS);
    double *values = numbers(x->count), want[ROWS];
    for (int64_t row = 0; row < ROWS; row++) {
        want[row] = 1;
        for (int64_t j = 0; j < cols; j++) {
            const bool is_special = j < 60 && (j + row) % 5 == 0;
            const double v = is_special ? (j % 2 ? 0.5 : -2) : (j * 7 + row) % 3 ? 1 : -1;
            values[row * cols + j] = v;
            want[row] *= v;
        }
    }
    array_set(x, values);
    return RUN_SOURCE(text, "products", IN("x", x), OUT("y", y)) && ARRAY_CHECK(y, want, NULL) &&
           ARRAY_SAME(x);
}
Test(source_macros, product) { on_all("PRODUCT", check_product); }

/* KEEP, KEPT, KEEP_BLOCK, SUM2, IS_FINITE, MAGNITUDE_KEY, MAGNITUDE_OF, ROUND, READ_IF, ROW_AHEAD,
 * FOR_LANES_WRITE2, WRITE2: y = 2 x + the largest |x|, z = the sum of the row + how many of it are finite. */
static bool check_two(tdm_dtype dtype, int64_t cols) {
    static const char text[] =
        "KERNEL(two)\n{\n    GROUP_ARRAY(ACC, scratch);\n    GROUP_ARRAY(KEY, keys);\n"
        "    FOR_ROWS(row, ROWS)\n    {\n"
        "        GLOBAL const T *const xr = ROW(x, row);\n"
        "        GLOBAL T *const yr = ROW(y, row);\n        GLOBAL T *const zr = ROW(z, row);\n"
        "        ACC sum = 0, count = 0;\n        KEY key = 0;\n"
        "        FOR_BLOCKS(begin, end, COLS, KEEP_BLOCK)\n        {\n"
        "            const tdm_i32 n = end - begin;\n            ACC a = 0, b = 0;\n"
        "            KEEP(part, xr, begin, n);\n"
        "            SUM2(a, b, j, 0, n, KEPT(part), const ACC v = AT(part, j), v,\n"
        "                 IS_FINITE(v) ? (ACC)1 : (ACC)0, NOTHING_AHEAD);\n"
        "            sum += a;\n            count += b;\n        }\n"
        "        LARGEST(key, j, 0, COLS, READ(xr), MAGNITUDE_KEY(AT(xr, j)), AHEAD(xr));\n"
        "        const ACC largest = MAGNITUDE_OF(GROUP_MAX(keys, key));\n"
        "        sum = GROUP_SUM(scratch, sum);\n        count = GROUP_SUM(scratch, count);\n"
        "        FOR_LANES_WRITE2(yr, zr, j, COLS, ROW_AHEAD(xr, args.x.stride),\n"
        "                         READ(xr) READ_IF(0, zr))\n        {\n"
        "            WRITE(yr, j, ROUND(AT(xr, j) * 2) + largest);\n"
        "            WRITE2(zr, j, sum + count);\n        }\n    }\n}\n";
    array *x = array_2d(dtype, ROWS, cols, cols + 3);
    array *y = array_2d(dtype, ROWS, cols, cols), *z = array_2d(dtype, ROWS, cols, cols + 1);
    double *want_y = numbers(x->count), *want_z = numbers(x->count), *bound = numbers(x->count);
    array_integers(x, -3, 3);
    for (int64_t row = 0; row < ROWS; row++) {
        const double *v = x->v + row * cols;
        double sum = 0, largest = 0;
        for (int64_t j = 0; j < cols; j++) {
            sum += v[j];
            largest = fmax(largest, fabs(v[j]));
        }
        for (int64_t j = 0; j < cols; j++) {
            want_y[row * cols + j] = 2 * v[j] + largest;
            want_z[row * cols + j] = sum + (double)cols;
            bound[row * cols + j] = stored(dtype, sum + (double)cols, 0);
        }
    }
    return RUN_SOURCE(text, "two", IN("x", x), OUT("y", y), OUT("z", z)) &&
           ARRAY_CHECK(y, want_y, NULL) && ARRAY_CHECK(z, want_z, bound) && ARRAY_SAME(x);
}
/* Parameters whose names are macros of compilers for C. */
static bool check_names(tdm_dtype dtype, int64_t cols) {
    static const char text[] = "KERNEL(names)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
                               "        GLOBAL const T *const from = ROW(linux, row);\n"
                               "        GLOBAL T *const to = ROW(unix, row);\n"
                               "        FOR_LANES_APART(j, COLS)\n        {\n"
                               "            to[j] = from[j];\n        }\n    }\n}\n";
    array *x = array_2d(dtype, ROWS, cols, cols), *y = array_2d(dtype, ROWS, cols, cols);
    array_uniform(x, -1, 1);
    return RUN_SOURCE(text, "names", IN("linux", x), OUT("unix", y)) && ARRAY_CHECK(y, x->v, NULL);
}
Test(source_macros, names) { on_all("linux, unix", check_names); }

Test(source_macros, two_outputs) { on_all("FOR_LANES_WRITE2", check_two); }

/* INDEX_AT, FOR_DIMS, PRIVATE_ARRAY, UNROLL, APART, FOR_LANES_APART, FOR_LANES_ROLLED, FOR_LANES_FILL, FILL, TO_T,
 * FETCH, FETCH_ROW: rows of x in another order, and z = 3 (2 1 0 in base 3). */
static bool check_picked(tdm_dtype dtype, int64_t cols) {
    static const char text[] =
        "APART ACC thrice(ACC v)\n{\n    return 3 * v;\n}\n\n"
        "KERNEL(picked)\n{\n    PRIVATE_ARRAY(ACC, own, 4);\n"
        "    FOR_ROWS(row, ROWS)\n    {\n"
        "        GLOBAL const T *const xr = ROW(x, INDEX_AT(ROW(which, 0), row, args.wide != 0));\n"
        "        GLOBAL T *const yr = ROW(y, row);\n        GLOBAL T *const zr = ROW(z, row);\n"
        "        const tdm_i32 half_of = COLS / 2, rest = COLS - half_of;\n"
        "        ACC digits = 0;\n        FETCH_ROW(xr, COLS);\n        FETCH(xr, COLS);\n"
        "        FOR_DIMS(d, 3)\n        {\n            digits = digits * 3 + (ACC)d;\n        }\n"
        "        UNROLL for (tdm_i32 k = 0; k < 4; k++) own[k] = (ACC)k;\n"
        "        digits += own[row % 4] - (ACC)(row % 4);\n"
        "        FOR_LANES_APART(j, half_of)\n        {\n            yr[j] = xr[j];\n        }\n"
        "        FOR_LANES_ROLLED(j, rest)\n        {\n"
        "            yr[half_of + j] = xr[half_of + j];\n        }\n"
        "        FOR_LANES_FILL(zr, j, COLS)\n        {\n"
        "            FILL(zr, j, TO_T(thrice(digits)));\n        }\n    }\n}\n";
    static const double order[ROWS] = {3, 0, 4, 4, 1};
    bool right = true;
    for (int wide = 0; wide < 2 && right; wide++) {
        array *x = array_2d(dtype, ROWS, cols, cols + 3);
        array *y = array_2d(dtype, ROWS, cols, cols + 1), *z = array_2d(dtype, ROWS, cols, cols);
        array *which = array_1d(wide ? TDM_I64 : TDM_I32, ROWS);
        double *want = numbers(x->count), *want_z = numbers(x->count);
        array_uniform(x, -1, 1);
        array_set(which, order);
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t j = 0; j < cols; j++) {
                want[row * cols + j] = x->v[(int64_t)order[row] * cols + j];
                want_z[row * cols + j] = 63;
            }
        right = RUN_SOURCE(text, "picked", OUT("y", y), OUT("z", z), IN("x", x),
                           IN_OF("which", which), INTEGER("wide", wide)) &&
                ARRAY_CHECK(y, want, NULL) && ARRAY_CHECK(z, want_z, NULL);
    }
    return right;
}
Test(source_macros, picked) { on_all("INDEX_AT", check_picked); }

/* ADD_BLOCK: 1024 ones are added to a number whose last place is 8. FMA: (1 + e)(1 + e) - (1 + 2 e), over e e, which
 * is 0 where the product is rounded first. */
static bool check_exact(tdm_dtype dtype, int64_t cols) {
    static const char text[] =
        "KERNEL(exact)\n{\n"
        "    const ACC big = (ACC)8388608 * (sizeof(ACC) == 8 ? (ACC)536870912 : (ACC)1);\n"
        "    const ACC large = 8 * big, e = 1 / big;\n"
        "    FOR_ROWS(row, ROWS)\n    {\n        ACC sum = large, lost = 0;\n"
        "        FOR_BLOCKS(begin, end, 1024, 1)\n        {\n"
        "            ADD_BLOCK(sum, lost, (ACC)(end - begin));\n        }\n"
        "        if (LANE == 0) {\n            STORE(ROW(y, row), 0, sum - large);\n"
        "            STORE(ROW(z, row), 0, FMA(1 + e, 1 + e, -(1 + 2 * e)) * big * big);\n"
        "        }\n    }\n}\n";
    (void)cols;
    array *y = array_2d(dtype, ROWS, 1, 2), *z = array_2d(dtype, ROWS, 1, 1);
    const double want_y[ROWS] = {1024, 1024, 1024, 1024, 1024}, want_z[ROWS] = {1, 1, 1, 1, 1};
    return RUN_SOURCE(text, "exact", OUT("y", y), OUT("z", z)) && ARRAY_CHECK(y, want_y, NULL) &&
           ARRAY_CHECK(z, want_z, NULL);
}
Test(source_macros, exact, TAGS("few")) { on_all("ADD_BLOCK", check_exact); }

/* FOR_LANES, SUM and FOR_BLOCKS up to the largest index there is: y gets how often an index was met, z how many SUM
 * met. */
static bool check_far(tdm_dtype dtype, int64_t cols) {
    static const char text[] =
        "KERNEL(far)\n{\n    GROUP_ARRAY(ACC, scratch);\n"
        "    const tdm_i32 last = 0x7fffffff, first = last - COLS;\n"
        "    FOR_ROWS(row, ROWS)\n    {\n        GLOBAL T *const yr = ROW(y, row);\n"
        "        FOR_LANES(j, 0, COLS)\n        {\n            STORE(yr, j, (ACC)0);\n        }\n"
        "        BARRIER;\n        FOR_LANES(j, first, last)\n        {\n"
        "            STORE(yr, j - first, LOAD(yr, j - first) + (ACC)1);\n        }\n"
        "        ACC count = 0;\n        SUM(count, j, first, last, NOTHING_READ,\n"
        "            j < first ? (ACC)-1 : (ACC)1, NOTHING_AHEAD);\n"
        "        count = GROUP_SUM(scratch, count);\n        tdm_i32 blocks = 0, length = 0;\n"
        "        FOR_BLOCKS(begin, end, last, 1 << 30)\n        {\n            blocks++;\n"
        "            length += end - begin;\n        }\n"
        "        if (blocks != 2 || length != last) count = 0;\n"
        "        if (LANE == 0) STORE(ROW(z, row), 0, count);\n    }\n}\n";
    array *y = array_2d(dtype, ROWS, cols, cols + 1), *z = array_2d(dtype, ROWS, 1, 1);
    const double *want = numbers_of(ROWS, (double)cols);
    const double *bound = numbers_of(ROWS, stored(dtype, (double)cols, 0));
    return RUN_SOURCE(text, "far", OUT("y", y), OUT("z", z)) &&
           ARRAY_CHECK(y, numbers_of(y->count, 1), NULL) && ARRAY_CHECK(z, want, bound);
}
Test(source_macros, far, TAGS("few")) { on_all("FOR_LANES to the last index", check_far); }
