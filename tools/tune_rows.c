/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm tune --rows`: measures how a GPU takes rows. */
#include "tune_rows.h"

#include <stdio.h>
#include <string.h>

#include <report/progress.h>

#include "child.h"
#include "guard.h"
#include "tools.h"
#include "tune_products.h"

/* Those that matter most first: the widths, and for each the dtypes and operations. */
static const int64_t widths[] = {4096, 1024, 8192,  2048,  16384,  512,   256,
                                 128,  64,   32768, 65536, 131072, 262144};
static const char *const operations[] = {"rms_norm", "layer_norm", "softmax", "l2_normalize",
                                         "norm"};
enum {
    WIDTHS = sizeof widths / sizeof *widths,
    OPERATIONS = sizeof operations / sizeof *operations
};

typedef struct row_item {
    tdm_dtype dtype;
    char operation[32];
    long long rows, cols; /* rows: 0 for as many as the cache does not hold */
} row_item;

typedef struct rows_tally {
    size_t measured, faster, failed;
    bool unkept, over; /* over: the device was lost, or a row has one lane on it */
} rows_tally;

static void measure(tdm_queue *queue, const row_item *item, double seconds, rows_tally *sum) {
    char text[256] = "";
    double speedup = 1.0;
    const tdm_status status = tdm_rows_tune(queue, item->operation, item->dtype, item->rows,
                                            item->cols, seconds, &speedup, text, sizeof text);
    const char *dtype = tdm_dtype_name(item->dtype);
    bench_progress_end();
    if (status == TDM_OK || (status == TDM_ERROR_IO && text[0])) {
        printf("%-4s %-12s %6lld columns  %s\n", dtype, item->operation, item->cols, text);
        (void)flush_output();
        sum->measured++;
        sum->faster += speedup > 1.0;
        sum->unkept = sum->unkept || status != TDM_OK;
        return;
    }
    sum->failed++;
    sum->over = status == TDM_ERROR_DEVICE_LOST || status == TDM_ERROR_UNSUPPORTED;
    fprintf(stderr, "tdm tune: %s %s of %lld columns: %s\n", dtype, item->operation, item->cols,
            tdm_last_error());
}

/* --- which --------------------------------------------------------------------------------------- */

static row_item usual_item(const tune_rows_request *r, size_t number) {
    const size_t for_a_width = r->dtype_count * OPERATIONS;
    row_item item = {.dtype = r->dtypes[number % for_a_width / OPERATIONS],
                     .cols = widths[number / for_a_width]};
    snprintf(item.operation, sizeof item.operation, "%s", operations[number % OPERATIONS]);
    return item;
}

enum { MOST_ITEMS = 512 };

typedef struct row_list {
    row_item items[MOST_ITEMS];
    size_t count;
} row_list;

static const char *take_line(void *context, char *line) {
    row_list *list = context;
    char dtype[8], end;
    if (list->count == MOST_ITEMS) return "there are too many lines";
    row_item *item = &list->items[list->count++];
    const int words = sscanf(line, " %7s %31s %lldx%lld %c", dtype, item->operation, &item->rows,
                             &item->cols, &end);
    if (words != 4)
        return "it is not a dtype, operation and size, as in 'f32 layer_norm 4096x1024'";
    return find_dtype(dtype, strlen(dtype), &item->dtype)
               ? NULL
               : "it begins with a dtype: f32, f64, f16 or bf16";
}

/* --- all of them --------------------------------------------------------------------------------- */

/* One way, or what else a program may want to know. */
static void print_line(tdm_log_level level, const char *line, void *user) {
    (void)level;
    (void)user;
    printf("  %s\n", line);
}

static int measure_all(tdm_queue *queue, const tune_rows_request *r, const row_item *items,
                       size_t count) {
    const double start = child_now();
    rows_tally sum = {0};
    size_t i = 0;
    for (; i < count && !sum.over; i++) {
        const double left = r->budget - (child_now() - start);
        if (left <= 0.0 && i > 0) break;
        const double share = left / (double)(count - i);
        const row_item item = items ? items[i] : usual_item(r, i);
        char text[96];
        snprintf(text, sizeof text, "%s %s, %lld columns", tdm_dtype_name(item.dtype),
                 item.operation, item.cols);
        guard_at_interrupt("tune: stopped: %zu of %zu operations on rows measured%s, %zu faster "
                           "than the usual way",
                           sum.measured, count, sum.unkept ? "" : " and kept", sum.faster);
        bench_progress(i + 1, count, text);
        /* the first rows matter more than that all are measured */
        measure(queue, &item, share > 0.4 ? share : 0.4, &sum);
    }
    printf(
        "%zu operation%s on rows measured on %s in %.0f s, %zu of them faster than the usual way",
        sum.measured, sum.measured == 1 ? "" : "s",
        tdm_device_get_info(tdm_queue_get_device(queue))->id, child_now() - start, sum.faster);
    if (i < count && !sum.over) printf("; %zu left for lack of time: --budget", count - i);
    putchar('\n');
    if (sum.unkept) return report_unkept("tune");
    return sum.failed > 0 ? EXIT_FAILED : EXIT_OK;
}

int tune_rows(tdm_device *device, const tune_rows_request *request) {
    static row_list list;
    size_t count = WIDTHS * OPERATIONS * request->dtype_count;
    tdm_queue *queue;
    int status = EXIT_OK;
    if (request->shapes) {
        status = tune_read_lines(request->shapes, "rows", take_line, &list);
        count = list.count;
    }
    if (status != EXIT_OK) return status;
    if (request->each) tdm_set_log(TDM_LOG_INFO, print_line, NULL);
    if (tdm_queue_create(device, 0, &queue) != TDM_OK) return report_failure("tune");
    status = measure_all(queue, request, request->shapes ? list.items : NULL, count);
    tdm_queue_destroy(queue);
    return status;
}
