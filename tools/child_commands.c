/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm .child …`, which is not typed: what the program runs in child processes, see
 * child.h.
 *
 *   .child list            lists the devices and looks for libraries, and answers with all of it
 *   .child try NAME        opens a device, compiles a kernel, runs it and verifies the result, and asks
 *                          which libraries multiply matrices
 *   .child devices …       the command itself, which reports where it is: see guard.h
 *   .child bench …         the same
 *   .child kernel …        the same
 *   .child cache …         the same */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <tandem/tandem.h>

#include "answer.h"
#include "guard.h"
#include "tools.h"

/* --- list ------------------------------------------------------------------------------------- */

static void answer_item(tdm_diagnostic_kind kind, char state, const char *subject,
                        const char *detail, const char *advice) {
    const char number[] = {(char)('0' + (int)kind), '\0'}, word[] = {state, '\0'};
    const char *texts[] = {number, word, subject, detail, advice, NULL};
    answer_line("item", texts);
}

static void answer_devices(void) {
    size_t count, chosen;
    const tdm_device_info *info;
    /* what is refused here is among the diagnostics */
    if (tdm_get_device_count(&count) != TDM_OK) count = 0;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_listed_device(i, &info) != TDM_OK) continue;
        const char *texts[] = {
            info->id,  info->name, info->platform, info->api_version, info->driver_version,
            info->pci, NULL};
        answer_line("device", texts);
    }
    if (tdm_find_device(NULL, &chosen) != TDM_OK || tdm_get_listed_device(chosen, &info) != TDM_OK)
        return; /* and why there is none is among them too */
    const char *texts[] = {info->id, info->name, NULL};
    answer_line("default", texts);
}

static int list(void) {
    const tdm_diagnostic *item;
    size_t count;
    answer_step("listing the devices");
    answer_devices();
    answer_step("looking for libraries");
    if (tdm_get_diagnostic_count(&count) != TDM_OK) return EXIT_FAILED;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_diagnostic(i, &item) != TDM_OK) return EXIT_FAILED;
        const char state = item->ok ? 'o' : item->missing ? 'm' : 'b';
        answer_item(item->kind, state, item->subject, item->detail, item->advice);
    }
    return EXIT_OK;
}

/* --- try -------------------------------------------------------------------------------------- */

enum { ROWS = 3, COLUMNS = 300 };

typedef struct trial {
    tdm_device *device;
    tdm_queue *queue;
    tdm_buffer *buffer;
    tdm_tensor x, y;
    float values[ROWS * COLUMNS], got[ROWS * COLUMNS];
    double seconds; /* of the call that compiles */
} trial;

static tdm_status prepare(trial *t, const char *name) {
    const size_t size = sizeof t->values;
    const int64_t shape[] = {ROWS, COLUMNS};
    answer_step("opening the device");
    tdm_status status = tdm_device_open(name, &t->device);
    if (status == TDM_OK) status = tdm_queue_create(t->device, 0, &t->queue);
    if (status == TDM_OK) answer_step("writing to its memory");
    if (status == TDM_OK) status = tdm_buffer_create(t->device, 2 * size, &t->buffer);
    if (status == TDM_OK) status = tdm_buffer_write(t->queue, t->buffer, 0, t->values, size);
    if (status == TDM_OK) status = tdm_tensor_init(t->buffer, TDM_F32, 2, shape, 0, &t->x);
    if (status == TDM_OK)
        status = tdm_tensor_init(t->buffer, TDM_F32, 2, shape, ROWS * COLUMNS, &t->y);
    return status;
}

static tdm_status run_kernel(trial *t, const char *name) {
    tdm_status status = prepare(t, name);
    if (status != TDM_OK) return status;
    answer_step("compiling a kernel");
    double start = child_now();
    status = tdm_softmax(t->queue, &t->x, &t->y);
    t->seconds = child_now() - start;
    if (status != TDM_OK) return status;
    answer_step("running a kernel");
    status = tdm_queue_finish(t->queue);
    if (status != TDM_OK) return status;
    answer_step("reading its memory");
    return tdm_buffer_read(t->queue, t->buffer, sizeof t->values, t->got, sizeof t->got);
}

/* The row and column of the first value that is not the softmax of its row, or false. In f32 each
 * value has some ulps of error, far below 1e-5 of it. */
static bool find_wrong(const trial *t, int *row, int *column, double *wanted) {
    for (*row = 0; *row < ROWS; ++*row) {
        const float *x = t->values + *row * COLUMNS, *y = t->got + *row * COLUMNS;
        double sum = 0.0;
        for (int i = 0; i < COLUMNS; i++)
            sum += exp((double)x[i]);
        for (*column = 0; *column < COLUMNS; ++*column) {
            *wanted = exp((double)x[*column]) / sum;
            /* written so that a NaN is wrong */
            if (!(fabs((double)y[*column] - *wanted) <= 1e-5 * *wanted)) return true;
        }
    }
    return false;
}

/* Adds which library multiplies matrices of each dtype, and whether that was measured; a device without f64
 * has no product of that. */
static void add_providers(const trial *t, char *text, size_t size) {
    enum { N = 512 };
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    const char *before = "; products by ";
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const size_t length = strlen(text);
        const char *provider;
        char why[256];
        tdm_tensor a, c;
        if (tdm_empty(t->device, dtypes[i], TDM_SHAPE(N, N), &a) != TDM_OK) continue;
        if (tdm_empty(t->device, dtypes[i], TDM_SHAPE(N, N), &c) == TDM_OK) {
            if (tdm_matmul_provider(t->queue, NULL, &a, &a, &c, &provider) == TDM_OK &&
                tdm_matmul_explain(t->queue, NULL, &a, &a, &c, why, sizeof why) == TDM_OK) {
                snprintf(text + length, size - length, "%s%s (%s%s)", before, provider,
                         tdm_dtype_name(dtypes[i]), strstr(why, " measured ") ? ", measured" : "");
                before = ", ";
            }
            tdm_tensor_release(&c);
        }
        tdm_tensor_release(&a);
    }
}

static int try_device(const char *name) {
    static trial t;
    char text[512];
    const char *texts[] = {"o", text, NULL};
    int row, column;
    double wanted;
    for (int i = 0; i < ROWS * COLUMNS; i++) /* anything that differs from place to place */
        t.values[i] = (float)((i * 37) % 101 - 50) / 16.0f;
    tdm_status status = run_kernel(&t, name);
    if (status != TDM_OK) {
        texts[0] = "b";
        snprintf(text, sizeof text, "%s: %s", tdm_status_name(status), tdm_last_error());
        /* a compiler's log may hold anything */
        for (char *c = text; *c; c++)
            if ((*c < ' ' && *c != '\n') || *c > '~') *c = '?';
    } else if (find_wrong(&t, &row, &column, &wanted)) {
        texts[0] = "b";
        snprintf(text, sizeof text,
                 "its results are wrong: softmax gives %.9g at row %d, column %d, not %.9g",
                 (double)t.got[row * COLUMNS + column], row, column, wanted);
    } else {
        snprintf(text, sizeof text, "a kernel was ready in %.2f s and its results are right",
                 t.seconds);
        answer_step("finding out which library multiplies matrices");
        add_providers(&t, text, sizeof text);
    }
    answer_line("result", texts);
    answer_step("closing the device");
    tdm_buffer_release(t.buffer);
    tdm_queue_destroy(t.queue);
    tdm_device_release(t.device);
    return EXIT_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

/* The process that started it holds the other end of a pipe. */
static bool is_wanted(void) {
    struct stat status;
    return fstat(CHILD_ANSWER, &status) == 0 && S_ISFIFO(status.st_mode) &&
           fcntl(CHILD_ANSWER, F_SETFD, FD_CLOEXEC) == 0;
}

int child_command(int argc, char **argv) {
    static const struct rlimit no_core = {0, 0};
    if (argc < 2 || !is_wanted()) {
        fputs("tdm .child: this is for the program itself\n", stderr);
        return EXIT_USAGE;
    }
    /* If this process dies before it can kill it, nothing is left running. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    guard_enter();
    if (strcmp(argv[1], "devices") == 0) return guard_end(devices_command(argc - 1, argv + 1));
    if (strcmp(argv[1], "bench") == 0) return guard_end(bench_command(argc - 1, argv + 1));
    if (strcmp(argv[1], "kernel") == 0) return guard_end(kernel_command(argc - 1, argv + 1));
    if (strcmp(argv[1], "tune") == 0) return guard_end(tune_command(argc - 1, argv + 1));
    if (strcmp(argv[1], "cache") == 0) return guard_end(cache_command(argc - 1, argv + 1));
    setrlimit(RLIMIT_CORE, &no_core);
    answer_begin();
    int status = EXIT_USAGE;
    if (argc == 2 && strcmp(argv[1], "list") == 0) status = list();
    if (argc == 3 && strcmp(argv[1], "try") == 0) status = try_device(argv[2]);
    if (status == EXIT_OK) answer_line("end", NULL);
    return status;
}
