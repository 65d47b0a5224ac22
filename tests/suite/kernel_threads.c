/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One kernel of a user's in several threads at once, each with its own queue, from its first use on: an
 * expression, a kernel over rows, and one in the dialect. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/array.h"
#include "support/gate.h"

TestSuite(kernel_threads, .init = device_open, .fini = device_close, TAGS("driver compiled"));

enum { THREADS = 3, TURNS = 10, ROWS = 5, COLS = 130 };

typedef struct turns {
    gate *start;
    tdm_kernel *kernel;
    tdm_queue *queue;
    array *x[2], *y[2]; /* which it takes in turn */
    tdm_status status;
    char why[256];
} turns;

/* This process has not looked for the program when the threads leave the barrier; without a cache no process has. */
static void *run_often(void *context) {
    turns *self = context;
    if (self->start) gate_pass(self->start, THREADS);
    for (int i = 0; i < TURNS && self->status == TDM_OK; i++) {
        const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &self->x[i % 2]->t),
                                          TDM_WITH_TENSOR("y", &self->y[i % 2]->t)};
        self->status = tdm_kernel_run(self->queue, self->kernel, arguments, 2);
    }
    if (self->status == TDM_OK) self->status = tdm_queue_finish(self->queue);
    if (self->status != TDM_OK) snprintf(self->why, sizeof self->why, "%s", tdm_last_error());
    return NULL;
}

/* Of one dtype, so that all want the same program; or of several, so that programs are added while others run. */
static void check_threads(tdm_kernel *kernel, int dtypes_of_kernel, int64_t results,
                          double want_of(const double *x, int64_t i)) {
    static const tdm_dtype several[] = {TDM_F32, TDM_I32, TDM_F16, TDM_I16, TDM_I64};
    tdmi_thread threads[THREADS];
    gate start = 0;
    turns all[THREADS] = {{0}};
    double want[ROWS * COLS];
    for (int t = 0; t < THREADS; t++) {
        /* Oclgrind aborts under two threads: there they go one by one */
        all[t] = (turns){.start = simulator ? NULL : &start, .kernel = tdm_kernel_retain(kernel)};
        OK(tdm_queue_create(device, 0, &all[t].queue));
        for (int k = 0; k < 2; k++) {
            const tdm_dtype of_x = several[(t + k) % dtypes_of_kernel];
            const tdm_dtype of_y = several[(t + 2 * k) % dtypes_of_kernel];
            all[t].x[k] = array_2d(of_x, ROWS, COLS, COLS + t);
            all[t].y[k] = array_2d(of_y, ROWS, results, results + 2 * t);
            array_integers(all[t].x[k], 0, 3);
        }
    }
    OK(tdm_queue_finish(queue));
    tdm_kernel_release(kernel);
    for (int t = 0; t < THREADS; t++) {
        if (!tdmi_thread_start(&threads[t], run_often, &all[t])) abort();
        if (simulator) tdmi_thread_join(threads[t]);
    }
    for (int t = 0; t < THREADS && !simulator; t++)
        tdmi_thread_join(threads[t]);
    for (int t = 0; t < THREADS; t++) {
        CHECK(all[t].status == TDM_OK, "thread %d: %s", t, all[t].why);
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < all[t].y[k]->count; i++)
                want[i] = want_of(all[t].x[k]->v, i);
            ARRAY_CHECK(all[t].y[k], want, NULL);
            ARRAY_SAME(all[t].x[k]);
        }
        tdm_queue_destroy(all[t].queue);
        tdm_kernel_release(all[t].kernel);
    }
    array_free_all();
}

static double of_expression(const double *x, int64_t i) { return x[i] * 3 - 7; }

Test(kernel_threads, expression) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    for (int dtypes_of_kernel = 1; dtypes_of_kernel <= 5; dtypes_of_kernel += 4) {
        tdm_kernel *kernel;
        check_case("an expression of %d dtypes in %d threads", dtypes_of_kernel, THREADS);
        if (OK(tdm_kernel_elementwise(device, "y = x * 3 - 7", parameters, 2, &kernel)))
            check_threads(kernel, dtypes_of_kernel, COLS, of_expression);
    }
}

/* Small integers, which f32 has exactly. */
static double of_rows(const double *x, int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < COLS; j++)
        sum += x[i * COLS + j];
    return 2 * sum - (double)COLS;
}

Test(kernel_threads, rows) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "2 * x", .finish = "r - n");
    tdm_kernel *kernel;
    check_case("a kernel over rows in %d threads", THREADS);
    if (OK(tdm_kernel_rows(device, &texts, parameters, 2, &kernel)))
        check_threads(kernel, 1, 1, of_rows);
}

static double of_source(const double *x, int64_t i) { return x[i] * 5 + 1; }

Test(kernel_threads, source, TAGS("compiler")) {
    static const char text[] = "KERNEL(fivefold)\n{\n    FOR_PIECES(row, begin, end)\n    {\n"
                               "        FOR_LANES(j, begin, end)\n        {\n"
                               "            STORE(ROW(y, row), j, 5 * LOAD(ROW(x, row), j) + 1);\n"
                               "        }\n    }\n}\n";
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_OUTPUT("y")};
    tdm_kernel *kernel;
    check_case("a kernel in the dialect in %d threads", THREADS);
    if (OK(tdm_kernel_source(device, text, "own.cl", "fivefold", parameters, 2, &kernel)))
        check_threads(kernel, 1, COLS, of_source);
}
