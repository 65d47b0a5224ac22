/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm tune`: measures which library is the fastest for the products that matter, and how a GPU takes rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/progress.h>
#include <tandem/tandem.h>

#include "child.h"
#include "guard.h"
#include "options.h"
#include "tools.h"
#include "tune_products.h"
#include "tune_rows.h"

enum { OPTION_DEVICE, OPTION_DTYPE, OPTION_BUDGET, OPTION_SHAPES, OPTION_ROWS, OPTION_EACH };

static const option_spec option_table[] = {
    OPTION("device", OPTION_DEVICE, "NAME",
           "the device; default: that of TANDEM_DEVICE, else the first"),
    OPTION("budget", OPTION_BUDGET, "SECONDS", "about how long it may take (default: 60)"),
    OPTION("shapes", OPTION_SHAPES, "FILE",
           "the products, one to a line, as TANDEM_TRACE=FILE has a program write its own: 'f32 "
           "512x3072x768 transpose_b bias gelu'"),
    {"dtype", OPTION_DTYPE, "TYPE,...",
     "of the products or rows, without --shapes: f32, f64, f16, bf16 (default: all that the device "
     "has, of rows without f64)",
     dtype_words, true, false},
    OPTION(
        "rows", OPTION_ROWS, NULL,
        "instead of products: layer_norm, rms_norm, softmax, l2_normalize and norm on a GPU, of "
        "rows of 64 to 262144 columns; lines of --shapes are then as 'f32 layer_norm 4096x1024'"),
    OPTION("each", OPTION_EACH, NULL,
           "of rows: also print every way that is measured, and its time"),
    {0}};

static const example_spec examples[] = {
    {"tdm tune", "the usual products on the default device"},
    {"TANDEM_TRACE=mine.txt ./program && tdm tune --shapes mine.txt", "those of a program"},
    {"TANDEM_BLAS=clblast tdm tune --device opencl:0 --budget 600",
     "the parameters of CLBlast's kernels, which takes its time"},
    {"tdm tune --rows --budget 300", "how the default device takes rows, if it is a GPU"},
    {0}};

static int tune_command(int argc, char **argv);

const command_spec tune_spec = {
    .name = "tune",
    .summary = "measure what multiplies matrices and takes rows fastest, and keep that",
    .description =
        "Runs matrix products on every library that the device has for them, compares the results "
        "with those of Tandem's own kernels, and keeps the fastest in the cache directory, where a "
        "second look agrees that it is. Each is kept when it is measured, so Ctrl-C loses none. "
        "Programs that start from then on use it; what was not measured goes by the nearest "
        "product that was, and without any by Tandem's own table.\n\n"
        "On OpenCL it searches the parameters of CLBlast's kernels, too. A driver may take half a "
        "minute to compile one choice of them (pocl does), so give it minutes.\n\n"
        "With --rows it measures on a GPU how many lanes share a row, how many vectors of it each "
        "has, and how many groups are launched, and keeps what is right and at least 3 % faster "
        "than the usual way. Results then have other bits than before.\n\n"
        "Nothing else should run at the same time. 'tdm cache clear' forgets it all.",
    .options = option_table,
    .run = tune_command,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
    .examples = examples,
};

typedef struct request {
    const char *device, *shapes;
    double budget;
    tdm_dtype dtypes[TDM_DTYPE_COUNT];
    size_t dtype_count;
    bool rows, each, dtypes_given;
} request;

static int take(void *context, int id, char *value) {
    request *r = context;
    switch (id) {
    case OPTION_DEVICE:
        r->device = value;
        return EXIT_OK;
    case OPTION_SHAPES:
        r->shapes = value;
        return EXIT_OK;
    case OPTION_ROWS:
        r->rows = true;
        return EXIT_OK;
    case OPTION_EACH:
        r->each = true;
        return EXIT_OK;
    case OPTION_BUDGET:
        return take_seconds("tune", "--budget", value, &r->budget);
    default:
        r->dtypes_given = true;
        r->dtype_count = take_dtypes(value, r->dtypes);
        return EXIT_OK;
    }
}

/* --- one product -------------------------------------------------------------------------------- */

typedef struct operands {
    tdm_tensor a, b, c, bias;
} operands;

static tdm_status make_matrix(tdm_queue *queue, const tune_product *p, int64_t rows, int64_t cols,
                              bool transposed, tdm_tensor *tensor) {
    static tdm_generator generator = {.seed = 12};
    const int64_t shape[3] = {p->batch, transposed ? cols : rows, transposed ? rows : cols};
    const int ndim = p->batch > 1 ? 3 : 2;
    tdm_status status = tdm_empty(queue, p->dtype, ndim, shape + 3 - ndim, tensor);
    if (status == TDM_OK) status = tdm_fill_uniform(queue, &generator, -1.0, 1.0, tensor);
    return status;
}

static tdm_status make_operands(tdm_queue *queue, const tune_product *p, operands *o) {
    tdm_status status = make_matrix(queue, p, p->m, p->k, p->transpose_a, &o->a);
    if (status == TDM_OK) status = make_matrix(queue, p, p->k, p->n, p->transpose_b, &o->b);
    if (status == TDM_OK) status = make_matrix(queue, p, p->m, p->n, false, &o->c);
    if (status == TDM_OK && p->bias)
        status = tdm_full(queue, 0.5, p->dtype, TDM_SHAPE(p->n), &o->bias);
    return status;
}

static tdm_status tune_one(tdm_queue *queue, const tune_product *p, double seconds,
                           tdm_matmul_tuning *tuning) {
    operands o = {0};
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_a = p->transpose_a;
    options.transpose_b = p->transpose_b;
    options.activation = p->activation;
    options.bias = p->bias ? &o.bias : NULL;
    options.math = p->tf32 ? TDM_MATH_TF32 : TDM_MATH_IEEE;
    tdm_status status = make_operands(queue, p, &o);
    if (status == TDM_OK)
        status = tdm_matmul_tune(queue, &options, &o.a, &o.b, &o.c, seconds, tuning);
    tdm_tensor_release(&o.a);
    tdm_tensor_release(&o.b);
    tdm_tensor_release(&o.c);
    tdm_tensor_release(&o.bias);
    return status;
}

/* --- all of them -------------------------------------------------------------------------------- */

static const char *format_time(double seconds, char text[32]) {
    if (seconds < 1e-3)
        snprintf(text, 32, "%.1f us", seconds * 1e6);
    else
        snprintf(text, 32, "%.2f ms", seconds * 1e3);
    return text;
}

/* By another library, algorithm or parameters than before. */
static bool is_faster(const tdm_matmul_tuning *t) {
    return strcmp(t->provider, t->usual) != 0 || t->algorithm > 0 ||
           t->seconds < 0.97 * t->usual_seconds;
}

static void print_row(const tune_product *p, const tdm_matmul_tuning *t) {
    char text[TDMI_PRODUCT_TEXT], time[32], name[48];
    if (t->algorithm > 0)
        snprintf(name, sizeof name, "%s (algorithm %u)", t->provider, t->algorithm);
    else
        snprintf(name, sizeof name, "%s", t->provider);
    printf("%-38s %-10s %10s", tdmi_product_text(p, text), name, format_time(t->seconds, time));
    if (is_faster(t))
        printf("  %.2f times as fast as %s%s", t->usual_seconds / t->seconds, t->usual,
               strcmp(t->provider, t->usual) == 0 ? " before" : "");
    else
        printf("  %s", t->candidates == 1 ? "has it alone" : "as usual");
    if (t->wrong > 0) printf("; %u of %u ways failed or were wrong", t->wrong, t->candidates);
    putchar('\n');
    (void)flush_output();
}

typedef struct tally {
    size_t measured, faster, unkept, failed;
    bool lost; /* the device was */
} tally;

/* The text that Ctrl-C prints from now on. */
static void say_what_is_kept(const tally *sum, size_t all) {
    guard_at_interrupt(
        "tune: stopped: %zu of %zu products measured, %zu of them kept, %zu faster than before",
        sum->measured, all, sum->measured - sum->unkept, sum->faster);
}

static void tune_all(tdm_queue *queue, const tune_list *list, double budget, tally *sum) {
    const double start = child_now();
    char text[TDMI_PRODUCT_TEXT];
    for (size_t i = 0; i < list->count; i++) {
        const double left = budget - (child_now() - start);
        if (left <= 0.0 && i > 0) break;
        /* The first few may have parameters of kernels to find, of which the others make use. */
        const double share = left / (double)(list->count - i), large = 0.2 * left;
        tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
        const double seconds = i < 8 && large > share ? large : share;
        say_what_is_kept(sum, list->count);
        bench_progress(i + 1, list->count, tdmi_product_text(&list->products[i], text));
        const tdm_status status =
            tune_one(queue, &list->products[i], seconds > 0.0 ? seconds : 1e-3, &tuning);
        bench_progress_end();
        if (status == TDM_OK) {
            print_row(&list->products[i], &tuning);
            sum->measured++;
            sum->faster += is_faster(&tuning);
            sum->unkept += !tuning.kept;
            continue;
        }
        sum->failed++;
        fprintf(stderr, "tdm tune: %s: %s\n", text, tdm_last_error());
        sum->lost = status == TDM_ERROR_DEVICE_LOST;
        if (sum->lost) return;
    }
}

static int tune_list_on(tdm_device *device, const tune_list *list, double budget) {
    tdm_queue *queue;
    tally sum = {0};
    if (tdm_queue_create(device, 0, &queue) != TDM_OK) return report_failure("tune");
    const double start = child_now();
    tune_all(queue, list, budget, &sum);
    tdm_queue_destroy(queue);
    const size_t left = list->count - sum.measured - sum.failed;
    printf("%zu product%s measured on %s in %.0f s, %zu of them faster than before", sum.measured,
           sum.measured == 1 ? "" : "s", tdm_device_get_info(device)->id, child_now() - start,
           sum.faster);
    if (left > 0 && !sum.lost) printf("; %zu left for lack of time: --budget", left);
    putchar('\n');
    if (sum.unkept > 0) return report_unkept("tune");
    return sum.failed > 0 ? EXIT_FAILED : EXIT_OK;
}

/* Those that the device computes with are left. */
static int check_dtypes(request *r, const tdm_device_info *info) {
    size_t count = 0;
    for (size_t i = 0; i < r->dtype_count; i++)
        if (r->dtypes[i] != TDM_F64 || info->has_f64) r->dtypes[count++] = r->dtypes[i];
    r->dtype_count = count;
    if (count > 0) return EXIT_OK;
    fprintf(stderr, "tdm tune: %s does not compute in f64\n", info->id);
    return EXIT_FAILED;
}

static int tune_device_rows(const request *r, tdm_device *device) {
    static const tdm_dtype usual[] = {TDM_BF16, TDM_F32, TDM_F16};
    const tune_rows_request rows = {.shapes = r->shapes,
                                    .dtypes = r->dtypes_given ? r->dtypes : usual,
                                    .dtype_count = r->dtypes_given ? r->dtype_count : 3,
                                    .budget = r->budget,
                                    .each = r->each};
    return tune_rows(device, &rows);
}

static int tune_device(request *r, tune_list *list) {
    tdm_device *device;
    if (tdm_device_open(r->device, &device) != TDM_OK) return report_failure("tune");
    guard_listed();
    int status = r->shapes ? EXIT_OK : check_dtypes(r, tdm_device_get_info(device));
    if (status == EXIT_OK && !r->rows && !list->products &&
        !tune_list_usual(list, r->dtypes, r->dtype_count)) {
        fputs("tdm tune: out of memory\n", stderr);
        status = EXIT_FAILED;
    }
    if (status == EXIT_OK)
        status = r->rows ? tune_device_rows(r, device) : tune_list_on(device, list, r->budget);
    tdm_device_release(device);
    return status;
}

static int tune_command(int argc, char **argv) {
    request r = {.budget = 60.0, .dtypes = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16}, .dtype_count = 4};
    tune_list list = {NULL, 0};
    int status;
    if (!options_read(&tune_spec, argc, argv, take, &r, NULL, &status)) return status;
    if (!guard_is_child()) return guard_run(NULL, SECONDS_FOR_A_DRIVER, false);
    status = r.shapes && !r.rows ? tune_list_read(&list, r.shapes) : EXIT_OK;
    if (status == EXIT_OK) status = tune_device(&r, &list);
    tune_list_free(&list);
    return status;
}
