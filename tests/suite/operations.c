/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every operation that has a page in operations/, against its reference: shapes, ways to call it, contents of rows,
 * strides of any kind, empty tensors. Special properties of one have separate tests. */
#include <criterion/criterion.h>

#include "operations/list.h"
#include "suite/expression_call.h"
#include "support/sample.h"

TestSuite(operations, .init = device_open, .fini = device_close, TAGS("kernels"));

/* rows, columns, gap between rows: of lanes alone and of many, with tails, as long as a group holds, cut, of one
 * element; the first are those of slow devices. */
static const int64_t extents[][3] = {
    {5, 63, 1},     {6, 64, 0},    {2, 65, 2},    {1, 1, 0},       {3, 127, 0},   {300, 17, 0},
    {4, 2, 0},      {3, 1000, 0},  {2, 257, 3},   {8, 8, 0},       {4, 4096, 8},  {3, 3, 1},
    {900, 33, 0},   {2, 4099, 1},  {3, 8192, 0},  {2, 20003, 0},   {1, 65536, 0}, {3, 65535, 1},
    {20000, 5, 0},  {70000, 3, 1}, {64, 8193, 1}, {1, 1000003, 0}, {70000, 1, 0}, {9000, 1023, 0},
    {40, 16385, 0}, {40, 32769, 0}};
enum { EXTENTS = sizeof extents / sizeof *extents, SLOW_EXTENTS = 11 };

/* Whether a case of an expression's kernel, which compilers take long for, is run. */
static bool takes_turn(const operation *op, tdm_dtype dtype, size_t number) {
    return !op->makes_kernel || !compiles() || (dtype == TDM_F32 ? number % 3 : number % 24) == 0;
}

static bool check_shape(const operation *op, tdm_dtype dtype, const int64_t *extent, int way) {
    sample s = sample_of(op, dtype, 2, extent);
    s.gap = op->layout == OP_CONTIGUOUS ? 0 : extent[2];
    sample_set_way(&s, way);
    if (s.c.op->number.may_be_negative) s.c.number = random_uniform(-2.0, 2.0);
    return sample_check(&s);
}

/* Of pages with many forms of one function a slow device has a third of the cases. */
static bool is_left_out(const op_list *page, size_t number) {
    return small && page->count > 8 && number % 3 != 0;
}

/* Every dtype, length and way to call it; of those lengths that take long, some of each dtype. */
static void check_shapes(const op_list *page) {
    for (size_t o = 0; o < page->count; o++) {
        const operation *const op = &page->op[o];
        const int ways = sample_ways(op);
        int way = (int)random_integer(0, ways - 1), turn = (int)random_integer(0, 4);
        for (int d = 0; d < float_dtype_count; d++)
            for (int e = 0; e < (small ? SLOW_EXTENTS : EXTENTS); e++) {
                const tdm_dtype dtype = float_dtypes[d];
                const int64_t count = extents[e][0] * extents[e][1];
                const int times = ways < 4 || count > 20000 ? 1 : small ? 2 : 3;
                const int of = (count > 300000  ? 16
                                : count > 20000 ? 4
                                                : 1) *
                               (op->makes_kernel ? 3 : 1);
                if (!sample_runs_here(op, dtype) || (e + d + (int)o) % of != 0) continue;
                if (is_left_out(page, o + (size_t)(d + e))) continue;
                if (!takes_turn(op, dtype, o + (size_t)e) || !in_turn(turn++)) continue;
                for (int i = 0; i < times; i++, way = (way + 1) % ways)
                    if (!check_shape(op, dtype, extents[e], way)) return;
            }
    }
}

/* Batches of several dimensions. */
static void check_batches(const op_list *page) {
    static const int64_t shapes[][5] = {
        {3, 2, 3, 5, 0}, {4, 2, 3, 4, 65}, {1, 77, 0, 0, 0}, {3, 1, 63, 65, 0}, {2, 7, 66, 0, 0}};
    for (size_t o = 0; o < page->count; o++)
        for (int d = 0; d < float_dtype_count; d++)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                const operation *const op = &page->op[o];
                const int least =
                    op->unit == OP_BY_COLUMN || op->layout == OP_CONTIGUOUS || op->of_matrices ? 2
                                                                                               : 1;
                const int most = op->unit == OP_BY_COLUMN ? 2 : TDM_MAX_DIMS;
                if (shapes[i][0] < least || shapes[i][0] > most) continue;
                if (small && (o + (size_t)d + i) % 4 != 0) continue;
                if (!sample_runs_here(op, float_dtypes[d]) ||
                    !takes_turn(op, float_dtypes[d], o + i))
                    continue;
                sample s = sample_of(op, float_dtypes[d], (int)shapes[i][0], shapes[i] + 1);
                sample_set_way(&s, (int)random_integer(0, sample_ways(op) - 1));
                if (!sample_check(&s)) return;
            }
}

/* Contents of rows, with every length and way in turn: in the last of some rows, or in one that is alone. */
static void check_contents(const op_list *page) {
    static const int64_t lengths[][2][2] = {{{2, 100}, {1, 32768}}, {{4, 1000}, {2, 20003}},
                                            {{4, 2}, {1, 30001}},   {{6, 64}, {3, 66666}},
                                            {{3, 300}, {1, 66003}}, {{2, 257}, {1, 1000003}}};
    /* The elements after the last block of 32 are added one after the other, and so would be a row without blocks, and
     * blocks and chunks themselves. The last one is of columns. */
    static const int64_t chains[][2] = {{2, 31}, {3, 1000}, {1, 1000003}, {3, 1000003}};
    enum { SLOW = 3, COUNT = sizeof lengths / sizeof *lengths };
    for (size_t o = 0; o < page->count; o++) {
        const operation *const op = &page->op[o];
        const int ways = sample_ways(op);
        const int first = (int)random_integer(0, 100);
        int turn = first;
        for (int d = 0; d < float_dtype_count; d++)
            for (content what = PLAIN; what < CONTENTS; what++) {
                const tdm_dtype dtype = float_dtypes[d];
                if (is_left_out(page, o + (size_t)d + (size_t)what)) continue;
                if (!has_content(op, dtype, what) || !sample_runs_here(op, dtype) ||
                    !takes_turn(op, dtype, o))
                    continue;
                /* one way on devices whose compilers take their time */
                int way = (first + d) % ways;
                for (int i = 0; i < (is_chained(what) && !small ? 3 : 2); i++, turn++) {
                    if (!in_turn(turn)) continue;
                    const bool by_column = op->unit == OP_BY_COLUMN;
                    const int64_t *const of = is_chained(what)
                                                  ? chains[i == 2 && by_column ? 3 : i]
                                                  : lengths[turn / 2 % (small ? SLOW : COUNT)][i];
                    const int64_t columns[] = {of[1], of[0]};
                    sample s = sample_of(op, dtype, 2, by_column ? columns : of);
                    s.what = what;
                    s.least = dtype == TDM_F32 || dtype == TDM_BF16 ? least_result() : 0.0;
                    if (what == SUBNORMALS)
                        s.least += 0x1p-147; /* rounded, and so once more by a weight */
                    if (!small) way = (int)random_integer(0, ways - 1);
                    sample_set_way(&s, way);
                    if (op->number.name && strcmp(op->number.name, "epsilon") == 0)
                        s.c.number = epsilon_for(dtype, what);
                    if (!sample_check(&s)) return;
                }
            }
    }
}

/* One to six dimensions, in any order in memory, with gaps; inputs that repeat elements. */
static void check_strides(const op_list *page) {
    for (size_t o = 0; o < page->count; o++) {
        const operation *const op = &page->op[o];
        for (int d = 0; d < float_dtype_count; d++)
            for (int i = 0; i < (small ? 4 : op->makes_kernel ? 5 : 25); i++) {
                const int ndim =
                    op->unit == OP_BY_COLUMN ? 2 : (int)random_integer(1, TDM_MAX_DIMS);
                int64_t shape[TDM_MAX_DIMS], most = ndim == 1 ? 3000 : ndim == 2 ? 70 : 7;
                for (int k = 0; k < ndim; k++)
                    shape[k] = random_integer(1, most);
                if (!sample_runs_here(op, float_dtypes[d]) ||
                    !takes_turn(op, float_dtypes[d], o + (size_t)i))
                    continue;
                if (!in_turn(i)) continue;
                sample s = sample_of(op, float_dtypes[d], ndim, shape);
                s.gap = -1;
                if (!sample_check(&s)) return;
            }
    }
}

/* Without elements: results of nothing, or nothing at all. */
static void check_empty(const op_list *page) {
    static const int64_t shapes[][2] = {{0, 4}, {3, 0}};
    for (size_t o = 0; o < page->count; o++)
        for (int d = 0; d < float_dtype_count; d++)
            for (int i = 0; i < 2; i++) {
                const operation *const op = &page->op[o];
                if (!sample_runs_here(op, float_dtypes[d]) || !takes_turn(op, float_dtypes[d], o))
                    continue;
                sample s = sample_of(op, float_dtypes[d], 2, shapes[i]);
                const bool leaves_nothing = op->unit == (i == 0 ? OP_BY_ROW : OP_BY_COLUMN);
                if (!op->of_nothing_fails || leaves_nothing) {
                    if (!sample_check(&s)) return;
                    continue;
                }
                sample_describe(&s);
                sample_make(&s);
                REFUSED(sample_call(&s), TDM_ERROR_INVALID_SHAPE, "no elements");
                array_free_all();
            }
}

#define TESTS(page, tags, tags_of_shapes)                                                          \
    Test(operations, page##_shapes, TAGS(tags " " tags_of_shapes)) { check_shapes(&op_##page); }   \
    Test(operations, page##_batches, TAGS(tags)) { check_batches(&op_##page); }                    \
    Test(operations, page##_contents, TAGS(tags)) { check_contents(&op_##page); }                  \
    Test(operations, page##_empty, TAGS(tags)) { check_empty(&op_##page); }
OP_PAGES(TESTS)

/* Of the pages whose operations take strides of any kind. */
Test(operations, arithmetic_strides) { check_strides(&op_arithmetic); }
Test(operations, cast_strides) { check_strides(&op_cast); }
Test(operations, functions_strides, TAGS("texts")) { check_strides(&op_functions); }
Test(operations, norm_strides) { check_strides(&op_norm); }
Test(operations, reduce_strides) { check_strides(&op_reduce); }
