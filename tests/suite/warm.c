/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Usual calls compile nothing after tdm_device_warm, which has compiled their kernels. No folder keeps kernels here,
 * so that no other test has compiled them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "operations/list.h"
#include "platform/threads.h"
#include "support/folder.h"
#include "support/sample.h"

static void close_without_cache(void) {
    device_close();
    folder_remove();
}

static void open_without_cache(void) {
    folder_make();
    file_write(folder_path("file"), "", 0);
    if (tdm_configure("TANDEM_CACHE_DIR", folder_path("file/tandem")) == TDM_OK) device_open();
    check_before_skip(close_without_cache);
}

TestSuite(warm, .init = open_without_cache, .fini = close_without_cache);

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static int compiled;
static char last[256];

static void count(tdm_log_level level, const char *line, void *user) {
    (void)level, (void)user;
    if (!strstr(line, "compiled ")) return;
    tdmi_mutex_lock(&lock);
    compiled++;
    snprintf(last, sizeof last, "%s", line);
    tdmi_mutex_unlock(&lock);
}

/* The call succeeds and compiles nothing. */
#define IS_WARM(call)                                                                              \
    do {                                                                                           \
        compiled = 0;                                                                              \
        OK(call);                                                                                  \
        CHECK(compiled == 0, "%s: %d kernels, the last: %s", #call, compiled, last);               \
    } while (0)

enum { ROWS = 24, COLS = 192, TOP = 16 };

/* At the beginning of its memory, as usual tensors are: rows that begin elsewhere have separate kernels on GPUs. */
static array *usual(array *a) {
    a->t.offset = 0;
    return a;
}

/* Every operation that has a page, but for those that are expressions or seldom used. */
static void use_operations(void) {
    const operation *op;
    for (size_t o = 0; (op = op_at(o)); o++) {
        sample s = sample_of(op, TDM_F32, 2, (const int64_t[]){ROWS, COLS});
        if (op->makes_kernel || op->is_cold || !sample_runs_here(op, TDM_F32)) continue;
        sample_describe(&s);
        sample_make(&s);
        for (int i = 0; i < OP_OPERANDS; i++)
            if (s.operand[i]) usual(s.operand[i]);
        IS_WARM(sample_call(&s));
        array_free_all();
    }
}

static void use_indices(array *x, array *y) {
    const int64_t one_head[] = {1, ROWS, COLS};
    array *indices = usual(array_1d(TDM_I32, ROWS)), *wide = usual(array_1d(TDM_I64, ROWS));
    array *order = usual(array_2d(TDM_I64, ROWS, COLS, COLS));
    array *values = usual(array_2d(TDM_F32, ROWS, TOP, TOP)),
          *top = usual(array_2d(TDM_I32, ROWS, TOP, TOP));
    array *q = usual(array_new(TDM_F32, 3, one_head, NULL)),
          *of_q = usual(array_new(TDM_F32, 3, one_head, NULL));
    array_uniform(q, -1, 1);
    array_integers(indices, 0, ROWS - 1);
    array_integers(wide, 0, ROWS - 1);
    IS_WARM(tdm_gather_rows(queue, &x->t, &indices->t, &y->t));
    IS_WARM(tdm_gather_rows(queue, &x->t, &wide->t, &y->t));
    IS_WARM(tdm_one_hot(queue, &indices->t, &y->t));
    IS_WARM(tdm_scatter_add_rows(queue, &x->t, &indices->t, &y->t));
    IS_WARM(tdm_scatter_add_rows(queue, &x->t, &wide->t, &y->t));
    IS_WARM(tdm_attention(queue, NULL, &q->t, &q->t, &q->t, &of_q->t));
    IS_WARM(tdm_argsort(queue, &x->t, true, &order->t));
    IS_WARM(tdm_top_k(queue, &x->t, &values->t, &top->t));
}

Test(warm, usual_calls) {
    static const tdm_dtype f32 = TDM_F32;
    size_t kernels = 0;
    check_case("what is compiled after tdm_device_warm");
    if (tdm_device_get_info(device)->backend == TDM_OPENCL && small)
        check_skip("compiling all kernels takes too long");
    array *x = usual(array_2d(TDM_F32, ROWS, COLS, COLS)),
          *y = usual(array_2d(TDM_F32, ROWS, COLS, COLS));
    array_uniform(x, -1, 1);
    tdm_set_log(TDM_LOG_INFO, count, NULL);
    OK(tdm_device_warm(device, &f32, 1, &kernels));
    CHECK(compiled > 0 || tdm_device_get_info(device)->backend == TDM_CPU, "nothing was compiled");
    use_indices(x, y);
    OK(tdm_queue_finish(queue));
    array_free_all();
    use_operations();
    tdm_set_log(TDM_LOG_OFF, NULL, NULL);
    array_free_all();
}
