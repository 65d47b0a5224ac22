/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm .child …`, which is not typed: what the program runs in child processes, see
 * child.h.
 *
 *   .child list            lists the devices and looks for libraries, and answers with all of it
 *   .child try NAME        opens a device, compiles a kernel, runs it and verifies the result, and asks
 *                          which libraries multiply matrices
 *   .child judge NAME      the same, and judges whether its driver computes rightly: judge.h
 *   .child devices …       the command itself, and so all others, which report where they are: see guard.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "answer.h"
#include "guard.h"
#include "judge.h"
#include "options.h"
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
    /* a refusal here is among the diagnostics */
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

typedef struct trial {
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor x, y;
    float values[NORM_ROWS * NORM_COLUMNS], got[NORM_ROWS * NORM_COLUMNS];
    double seconds; /* of the call that compiles */
} trial;

static tdm_status prepare(trial *t, const char *name) {
    answer_step("opening the device");
    tdm_status status = tdm_device_open(name, &t->device);
    if (status == TDM_OK) status = tdm_queue_create(t->device, 0, &t->queue);
    if (status == TDM_OK) answer_step("writing to its memory");
    if (status == TDM_OK)
        status =
            tdm_from_host(t->queue, t->values, TDM_F32, TDM_SHAPE(NORM_ROWS, NORM_COLUMNS), &t->x);
    if (status == TDM_OK) status = tdm_empty(t->queue, TDM_F32, 2, t->x.shape, &t->y);
    return status;
}

static tdm_status run_kernel(trial *t) {
    answer_step("compiling a kernel");
    double start = child_now();
    tdm_status status = tdm_layer_norm(t->queue, &t->x, NULL, NULL, NORM_EPSILON, &t->y);
    t->seconds = child_now() - start;
    if (status != TDM_OK) return status;
    answer_step("running a kernel");
    status = tdm_queue_finish(t->queue);
    if (status != TDM_OK) return status;
    answer_step("reading its memory");
    return tdm_to_host(t->queue, &t->y, t->got);
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
        if (tdm_empty(t->queue, dtypes[i], TDM_SHAPE(N, N), &a) != TDM_OK) continue;
        if (tdm_empty(t->queue, dtypes[i], TDM_SHAPE(N, N), &c) == TDM_OK) {
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

static void answer_result(const char *state, char *text) {
    const char *texts[] = {state, text, NULL};
    /* a compiler's log may hold anything */
    for (char *c = text; *c; c++)
        if ((*c < ' ' && *c != '\n') || *c > '~') *c = '?';
    answer_line("result", texts);
}

static int try_device(const char *name, bool judges) {
    static trial t;
    static char text[4096];
    const char *state = "o";
    int row, column;
    double wanted;
    norm_values(0, t.values);
    tdm_status status = prepare(&t, name);
    judges = judges && status == TDM_OK;
    if (judges) {
        judge_begin(t.device, t.queue);
        judge_kernel();
        (void)judge_report(text, sizeof text);
        answer_result("b", text); /* in case that this is all */
    }
    if (status == TDM_OK) status = run_kernel(&t);
    text[0] = '\0';
    if (status != TDM_OK) {
        state = "b";
        snprintf(text, sizeof text, "%s: %s", tdm_status_name(status), tdm_last_error());
    } else if (norm_find_wrong(t.values, t.got, &row, &column, &wanted)) {
        state = "b";
        snprintf(text, sizeof text,
                 "its results are wrong: LayerNorm gives %.9g at row %d, column %d, not %.9g",
                 (double)t.got[row * NORM_COLUMNS + column], row, column, wanted);
    } else {
        snprintf(text, sizeof text, "a kernel was ready in %.2f s and its results are right",
                 t.seconds);
        answer_step("finding out which library multiplies matrices");
        add_providers(&t, text, sizeof text);
        if (judges) judge_operations();
    }
    if (judges && !judge_report(text, sizeof text)) state = "b";
    answer_result(state, text);
    answer_step("closing the device");
    judge_end();
    tdm_tensor_release(&t.x);
    tdm_tensor_release(&t.y);
    tdm_queue_destroy(t.queue);
    tdm_device_release(t.device);
    return EXIT_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

int child_command(int argc, char **argv) {
    if (argc < 2 || tdmi_child_answer() == TDMI_NO_FILE) {
        fputs("tdm .child: this is for the program itself\n", stderr);
        return EXIT_USAGE;
    }
    guard_enter();
    const command_spec *const command = options_subcommand(&tdm_spec, argv[1]);
    if (command) return guard_end(options_run(command, argc - 1, argv + 1));
    if (strcmp(argv[1], ".complete") == 0) return guard_end(complete_command(argc - 1, argv + 1));
    tdmi_child_die_quietly();
    answer_begin();
    int status = EXIT_USAGE;
    if (argc == 2 && strcmp(argv[1], "list") == 0) status = list();
    if (argc == 3 && strcmp(argv[1], "try") == 0) status = try_device(argv[2], false);
    if (argc == 3 && strcmp(argv[1], "judge") == 0) status = try_device(argv[2], true);
    if (status == EXIT_OK) answer_line("end", NULL);
    return status;
}
