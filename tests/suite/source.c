/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels in the dialect: their tensors, when they are compiled, messages when they do not compile,
 * threads. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "platform/threads.h"
#include "suite/source_call.h"

TestSuite(source, .init = device_open, .fini = device_close, TAGS("lanes compiler compiled"));

static const char twice[] = "KERNEL(twice)\n"
                            "{\n"
                            "    FOR_PIECES(row, begin, end)\n"
                            "    {\n"
                            "        GLOBAL const T *const xr = ROW(x, row);\n"
                            "        GLOBAL T *const yr = ROW(y, row);\n"
                            "        FOR_LANES(j, begin, end)\n"
                            "        {\n"
                            "            STORE(yr, j, 2 * LOAD(xr, j));\n"
                            "        }\n"
                            "    }\n"
                            "}\n";

static bool check_twice(const array *x, const array *y) {
    double *want = numbers(x->count);
    for (int64_t i = 0; i < x->count; i++)
        want[i] = 2 * x->v[i];
    return ARRAY_CHECK(y, want, NULL) && ARRAY_SAME(x);
}

/* ---- tensors ---- */

/* Of up to six dimensions, with gaps between rows, long rows that are cut, and one element. */
Test(source, shapes) {
    static const struct {
        int ndim;
        int64_t shape[6], strides[6];
    } cases[] = {{1, {1}, {1}},
                 {1, {100000}, {1}},
                 {2, {3, 50001}, {50003, 1}},
                 {3, {4, 5, 6}, {40, 8, 1}},
                 {4, {2, 1, 3, 9}, {33, 7, 11, 1}},
                 {6, {2, 2, 1, 2, 3, 5}, {60, 30, 9, 15, 5, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case("case %zu", i);
        if (small && i == 2) continue;
        array *x = array_new(TDM_F32, cases[i].ndim, cases[i].shape, cases[i].strides);
        array *y = array_new(TDM_F32, cases[i].ndim, cases[i].shape, NULL);
        array_uniform(x, -1, 1);
        if (RUN_SOURCE(twice, "twice", IN("x", x), OUT("y", y))) check_twice(x, y);
        array_free_all();
    }
}

/* A kernel's view of a tensor's layout, and every dtype by LOAD_OF and STORE_OF. */
Test(source, layout) {
    static const char text[] =
        "KERNEL(tell)\n{\n"
        "    FOR_ROWS(row, 1)\n    {\n"
        "        FOR_LANES_SINGLY(j, 1)\n        {\n"
        "            GLOBAL tdm_i64 *const to = ROW(y, 0);\n"
        "            to[0] = args.x.offset;\n            to[1] = args.x.rows;\n"
        "            to[2] = args.x.cols;\n            to[3] = args.x.stride;\n"
        "            to[4] = args.x.shape[0];\n            to[5] = args.x.shape[1];\n"
        "            to[6] = args.x.shape[2];\n            to[7] = args.x.shape[3];\n"
        "            to[8] = ROWS;\n            to[9] = COLS;\n            to[10] = args.n;\n"
        "            to[11] = TDM_DIALECT_VERSION;\n"
        "        }\n    }\n}\n";
    array *x = array_new(TDM_F32, 3, (const int64_t[]){2, 3, 5}, (const int64_t[]){24, 8, 1});
    array *y = array_1d(TDM_I64, 12);
    const double want[] = {(double)x->t.offset, 6, 5, 8, 2, 3, 5, 1, 1, 12, -1e15,
                           TDM_DIALECT_VERSION};
    check_case("args of a tensor");
    if (RUN_SOURCE(text, "tell", OUT_OF("y", y), IN("x", x), INTEGER("n", -1000000000000000)))
        ARRAY_CHECK(y, want, NULL);
    array_free_all();
}

Test(source, dtypes, TAGS("texts")) {
    static const char text[] =
        "KERNEL(convert)\n{\n    FOR_PIECES(row, begin, end)\n    {\n"
        "        FOR_LANES(j, begin, end)\n        {\n"
        "            STORE_OF(y, ROW(y, row), j, LOAD_OF(x, ROW(x, row), j) + 1);\n"
        "        }\n    }\n}\n";
    for (int d = 0; d < dtype_count; d++) {
        check_case("%s", tdm_dtype_name(dtypes[d]));
        array *x = array_1d(dtypes[d], 100), *y = array_1d(dtypes[d], 100);
        double *want = numbers(100);
        array_integers(x, 0, dtypes[d] == TDM_BOOL ? 1 : 100);
        for (int i = 0; i < 100; i++)
            want[i] = dtypes[d] == TDM_BOOL ? 1 : x->v[i] + 1;
        if (RUN_SOURCE(text, "convert", IN_OF("x", x), OUT_OF("y", y))) ARRAY_CHECK(y, want, NULL);
        array_free_all();
    }
}

/* Nothing is launched for outputs without elements, but of inputs without there may be something to say. */
Test(source, empty) {
    static const char text[] =
        "KERNEL(count)\n{\n    FOR_ROWS(row, ROWS)\n    {\n"
        "        if (LANE == 0) STORE(ROW(y, 0), row, (ACC)COLS);\n    }\n}\n";
    array *x = array_2d(TDM_F32, 3, 0, 1), *y = array_1d(TDM_F32, 3);
    const double want[] = {0, 0, 0};
    check_case("rows of nothing");
    if (RUN_SOURCE(text, "count", IN("x", x), OUT("y", y))) ARRAY_CHECK(y, want, NULL);
    check_case("no output");
    array *a = array_2d(TDM_F32, 0, 5, 5), *b = array_2d(TDM_F32, 0, 5, 5);
    RUN_SOURCE(twice, "twice", IN("x", a), OUT("y", b));
    array_free_all();
}

/* A text may have several kernels of the same parameters. */
Test(source, two_kernels) {
    char text[2 * sizeof twice];
    snprintf(text, sizeof text, "KERNEL(none)\n{\n}\n%s", twice);
    array *x = array_1d(TDM_F32, 50), *y = array_1d(TDM_F32, 50);
    array_uniform(x, -1, 1);
    check_case("two kernels in a text");
    if (RUN_SOURCE(text, "twice", IN("x", x), OUT("y", y))) check_twice(x, y);
    array_free_all();
}

/* ---- when it is compiled ---- */

Test(source, warm) {
    static const char text[] = "/* compiled by the test of warming */\n";
    char whole[sizeof text + sizeof twice];
    snprintf(whole, sizeof whole, "%s%s", text, twice);
    array *x = array_1d(TDM_F32, 50), *y = array_1d(TDM_F32, 50);
    const given all[] = {IN("x", x), OUT("y", y)};
    const tdm_argument arguments[] = {all[0].argument, all[1].argument};
    tdm_kernel *kernel;
    bool is_cached;
    array_uniform(x, -1, 1);
    check_case("warm and is_cached");
    if (!OK(make_source(whole, "twice", all, 2, &kernel))) return;
    OK(tdm_kernel_is_cached(queue, kernel, arguments, 2, &is_cached));
    OK(tdm_kernel_warm(queue, kernel, arguments, 2));
    CHECK(ARRAY_SAME(y), "warming has run it");
    OK(tdm_kernel_is_cached(queue, kernel, arguments, 2, &is_cached));
    CHECK(is_cached, "it is not cached once it is warm");
    if (OK(run_kernel(kernel, all, 2))) check_twice(x, y);
    tdm_kernel_release(kernel);
    array_free_all();
}

/* One kernel for each dtype that comes. */
Test(source, any_dtype) {
    array *x = array_1d(TDM_F32, 50), *y = array_1d(TDM_F32, 50);
    const given first[] = {IN("x", x), OUT("y", y)};
    tdm_kernel *kernel;
    check_case("one kernel for all dtypes");
    if (!OK(make_source(twice, "twice", first, 2, &kernel))) return;
    for (int d = 0; d < float_dtype_count; d++) {
        array *a = array_1d(float_dtypes[d], 50), *b = array_1d(float_dtypes[d], 50);
        const given all[] = {IN("x", a), OUT("y", b)};
        array_uniform(a, -1, 1);
        if (OK(run_kernel(kernel, all, 2))) check_twice(a, b);
    }
    tdm_kernel_release(kernel);
    array_free_all();
}

Test(source, recorded) {
    array *x = array_1d(TDM_F32, 50), *y = array_1d(TDM_F32, 50);
    const given all[] = {IN("x", x), OUT("y", y)};
    tdm_kernel *kernel;
    tdm_graph *graph;
    check_case("recorded and replayed");
    array_constant(x, 3);
    if (!OK(make_source(twice, "twice", all, 2, &kernel))) return;
    if (OK(tdm_graph_create(queue, &graph))) {
        OK(tdm_graph_begin(graph));
        OK(run_kernel(kernel, all, 2));
        OK(tdm_graph_end(graph));
        array_uniform(x, -1, 1);
        for (int i = 0; i < 3; i++)
            OK(tdm_graph_replay(graph));
        check_twice(x, y);
        tdm_graph_destroy(graph);
    }
    tdm_kernel_release(kernel);
    array_free_all();
}

/* ---- when it does not compile ---- */

/* The error is on line 4 of the text, whatever stands before the text. */
static const char faulty[] = "KERNEL(faulty)\n{\n    FOR_ROWS(row, ROWS)\n"
                             "        STORE(ROW(y, 0), row, no_such_name);\n}\n";

Test(source, errors) {
    array *y = array_1d(TDM_F32, 5);
    const given all[] = {OUT("y", y)};
    tdm_kernel *kernel;
    check_case("an error of the compiler");
    if (!OK(make_source(faulty, "faulty", all, 1, &kernel))) return;
    /* Oclgrind counts lines as if there were no #line */
    const char *words = simulator ? "no_such_name" : "own.cl|4|no_such_name";
    REFUSED(run_kernel(kernel, all, 1), TDM_ERROR_COMPILE, words);
    const char *log = tdm_last_compile_log();
    CHECK(contains_words(log, words), "the log is: %s", log);
    REFUSED(run_kernel(kernel, all, 1), TDM_ERROR_COMPILE, words);
    CHECK(ARRAY_SAME(y), "it has run all the same");
    tdm_kernel_release(kernel);
    array_free_all();
}

/* An input is no output in any language. */
Test(source, written_input) {
    static const char text[] = "KERNEL(wrong)\n{\n    FOR_ROWS(row, ROWS)\n"
                               "        STORE(ROW(x, row), 0, LOAD(ROW(y, row), 0));\n}\n";
    array *x = array_1d(TDM_F32, 5), *y = array_1d(TDM_F32, 5);
    const given all[] = {IN("x", x), OUT("y", y)};
    tdm_kernel *kernel;
    check_case("an input that is written");
    if (!OK(make_source(text, "wrong", all, 2, &kernel))) return;
    REFUSED(run_kernel(kernel, all, 2), TDM_ERROR_COMPILE, "own.cl");
    tdm_kernel_release(kernel);
    array_free_all();
}

/* All of the compiler's words: many errors are more than a message has room for. */
Test(source, long_log) {
    static char text[1 << 15];
    array *y = array_1d(TDM_F32, 5);
    const given all[] = {OUT("y", y)};
    tdm_kernel *kernel;
    size_t length = (size_t)snprintf(text, sizeof text, "KERNEL(faulty)\n{\n");
    for (int i = 0; i < 15; i++)
        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "    y[0] = a_long_name_that_is_not_declared_anywhere_in_this_text_number_%d;\n", i);
    snprintf(text + length, sizeof text - length, "}\n");
    check_case("15 errors");
    if (!OK(make_source(text, "faulty", all, 1, &kernel))) return;
    REFUSED(run_kernel(kernel, all, 1), TDM_ERROR_COMPILE, "own.cl|number_0");
    const char *log = tdm_last_compile_log();
    CHECK(contains_words(log, "number_0|number_14"), "the log has %zu bytes: %s", strlen(log), log);
    tdm_kernel_release(kernel);
    array_free_all();
}

/* Without a queue or a device. */
Test(source, check) {
    const tdm_backend backend = tdm_device_get_info(device)->backend;
    const tdm_parameter two[] = {TDM_TENSOR("x"), TDM_OUTPUT("y")}, one[] = {TDM_OUTPUT("y")};
    check_case("tdm_kernel_check");
    for (int d = 0; d < float_dtype_count; d++)
        OK(tdm_kernel_check(backend, float_dtypes[d], twice, "own.cl", "twice", two, 2));
    REFUSED(tdm_kernel_check(backend, TDM_F32, faulty, "own.cl", "faulty", one, 1),
            TDM_ERROR_COMPILE, "no_such_name");
    REFUSED(tdm_kernel_check(backend, TDM_F32, twice, "own.cl", "once", two, 2), TDM_ERROR_COMPILE,
            "tdm_kernel_check: own.cl has no KERNEL(once)");
    REFUSED(tdm_kernel_check(backend, TDM_I32, twice, "own.cl", "twice", two, 2),
            TDM_ERROR_INVALID_DTYPE, "dtype is 4");
    REFUSED(tdm_kernel_check((tdm_backend)77, TDM_F32, twice, "own.cl", "twice", two, 2),
            TDM_ERROR_NOT_FOUND, "no backend 77");
}

/* ---- threads ---- */

enum { THREADS = 2, KERNELS = 3 };

typedef struct job {
    int number;
    tdm_status statuses[KERNELS];
    bool right[KERNELS];
    char why[256];
} job;

/* The thread's own kernels and one that the other compiles, too; on its own queue. */
static void *compile_and_run(void *argument) {
    job *self = argument;
    tdm_queue *own;
    if (tdm_queue_create(device, 0, &own) != TDM_OK) return NULL;
    for (int k = 0; k < KERNELS; k++) {
        char text[1024];
        float got[4] = {0};
        tdm_tensor y;
        tdm_kernel *kernel;
        const int value = 10 * k + (k == 0 ? 0 : self->number);
        snprintf(text, sizeof text,
                 "KERNEL(fill)\n{\n    FOR_ROWS(row, ROWS)\n    {\n        FOR_LANES(j, 0, COLS)\n"
                 "        {\n            STORE(ROW(y, row), j, (ACC)%d);\n        }\n    }\n}\n",
                 value);
        const tdm_parameter parameters[] = {TDM_OUTPUT("y")};
        const tdm_argument arguments[] = {TDM_WITH_TENSOR("y", &y)};
        tdm_status status = tdm_zeros(own, TDM_F32, TDM_SHAPE(4), &y);
        if (status == TDM_OK)
            status = tdm_kernel_source(device, text, "fill.cl", "fill", parameters, 1, &kernel);
        if (status == TDM_OK) status = tdm_kernel_run(own, kernel, arguments, 1);
        if (status == TDM_OK) status = tdm_to_host(own, &y, got);
        self->statuses[k] = status;
        self->right[k] = got[0] == (float)value && got[3] == (float)value;
        if (status != TDM_OK) {
            snprintf(self->why, sizeof self->why, "%s", tdm_last_error());
            break;
        }
        tdm_kernel_release(kernel);
        tdm_tensor_release(&y);
    }
    tdm_queue_destroy(own);
    return self;
}

Test(source, threads) {
    tdmi_thread threads[THREADS];
    job jobs[THREADS] = {0};
    check_case("two threads that compile at once");
    for (int i = 0; i < THREADS; i++) {
        jobs[i].number = i + 1;
        if (!tdmi_thread_start(&threads[i], compile_and_run, &jobs[i])) abort();
        if (simulator) tdmi_thread_join(threads[i]); /* Oclgrind aborts under two threads */
    }
    for (int i = 0; i < THREADS && !simulator; i++)
        tdmi_thread_join(threads[i]);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < KERNELS; k++)
            CHECK(jobs[i].statuses[k] == TDM_OK && jobs[i].right[k], "thread %d, kernel %d: %s %s",
                  i, k, tdm_status_name(jobs[i].statuses[k]), jobs[i].why);
}
