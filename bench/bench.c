/* The run: devices times cases, progress, reports. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "row.h"

typedef struct session {
    const bench_options *options;
    bench_case *cases;
    size_t case_count;
    const tdm_device_info **devices;
    size_t device_count;
    bench_row *rows;
    size_t row_count, done, skipped, failed;
    bool tty; /* stderr is a terminal: progress is one line that is overwritten */
} session;

static bool is_same_card_as_earlier(const session *s, const tdm_device_info *info) {
    for (size_t i = 0; i < s->device_count; i++) {
        if (info->same_as[0] && strcmp(s->devices[i]->id, info->same_as) == 0) return true;
    }
    return false;
}

/* The devices that were named, else all that are listed, a card that is listed twice once. */
static bool find_devices(session *s) {
    const bench_words *names = &s->options->devices;
    size_t count = names->count;
    if (count == 0 && tdm_get_device_count(&count) != TDM_OK) return false;
    s->devices = calloc(count + 1, sizeof *s->devices);
    if (!s->devices) return false;
    for (size_t i = 0; i < count; i++) {
        size_t index = i;
        const tdm_device_info *info;
        if (names->count && tdm_find_device(names->word[i], &index) != TDM_OK) return false;
        if (tdm_get_device_info(index, &info) != TDM_OK) return false;
        if (names->count || !is_same_card_as_earlier(s, info)) s->devices[s->device_count++] = info;
    }
    return true;
}

static int count_same_before(const tdm_device_info *info) {
    size_t count;
    const tdm_device_info *other;
    int same = 0;
    if (tdm_get_device_count(&count) != TDM_OK) return 0;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_device_info(i, &other) != TDM_OK || other == info) break;
        same += other->backend == info->backend && strcmp(other->name, info->name) == 0 &&
                strcmp(other->platform, info->platform) == 0;
    }
    return same;
}

static void show_progress(const session *s, const tdm_device_info *info, const bench_case *c) {
    fprintf(stderr, s->tty ? "\r\033[K[%zu/%zu] %s %s %s %s" : "[%zu/%zu] %s %s %s %s\n",
            s->done + 1, s->case_count * s->device_count, info->id, c->op->name,
            tdm_dtype_name(c->dtype), c->shape);
    fflush(stderr);
}

static void clear_progress(const session *s) {
    if (s->tty) fputs("\r\033[K", stderr);
    fflush(stderr);
}

static void run_one(session *s, const bench_runner *runner, const bench_case *c) {
    bench_row *row = &s->rows[s->row_count];
    const tdm_device_info *info = tdm_device_get_info(runner->device);
    show_progress(s, info, c);
    const bool ran = bench_measure(runner, c, row);
    s->done++;
    clear_progress(s);
    if (row->problem[0])
        fprintf(stderr, "%s %s %s %s: %s\n", info->id, c->op->name, tdm_dtype_name(c->dtype),
                c->shape, row->problem);
    if (!ran) {
        s->skipped++;
        return;
    }
    s->row_count++;
    if (!row->verified) s->failed++;
    bench_table_row(stdout, row);
    fflush(stdout);
}

static bool run_device(session *s, const tdm_device_info *info) {
    bench_runner runner = {.same_before = count_same_before(info),
                           .seed = s->options->seed,
                           .seconds = s->options->full ? 0.4 : 0.15,
                           .max_pairs = s->options->full ? 31 : 15};
    bool good = tdm_device_open(info->id, &runner.device) == TDM_OK &&
                tdm_queue_create(runner.device, 0, &runner.queue) == TDM_OK;
    if (!good) fprintf(stderr, "tandem bench: %s: %s\n", info->id, tdm_last_error());
    for (size_t i = 0; good && i < s->case_count; i++)
        run_one(s, &runner, &s->cases[i]);
    tdm_queue_destroy(runner.queue);
    tdm_device_release(runner.device);
    return good;
}

static bool run_session(session *s) {
    if (!find_devices(s)) {
        fprintf(stderr, "tandem bench: %s\n", tdm_last_error());
        return false;
    }
    s->rows = calloc(s->case_count * s->device_count + 1, sizeof *s->rows);
    if (!s->rows) return false;
    const double start = bench_now();
    bool good = true;
    bench_print_machine(s->options);
    bench_table_head(stdout);
    fflush(stdout);
    for (size_t i = 0; i < s->device_count; i++)
        good = run_device(s, s->devices[i]) && good;
    printf("%zu rows, %zu not verified, %zu skipped, %.0f s\n", s->row_count, s->failed, s->skipped,
           bench_now() - start);
    if (s->options->json_path)
        good = bench_write_json(s->options->json_path, bench_describe_machine(s->options), s->rows,
                                s->row_count) &&
               good;
    return good && s->failed == 0 && s->row_count > 0;
}

bool bench_selects(const bench_options *options) {
    size_t count = 0;
    bench_case *cases = bench_select_cases(options, &count);
    free(cases);
    return !cases || count > 0;
}

bool bench_run(const bench_options *options) {
    session s = {.options = options, .tty = isatty(STDERR_FILENO) == 1};
    s.cases = bench_select_cases(options, &s.case_count);
    bool good = false;
    if (!s.cases)
        fprintf(stderr, "tandem bench: out of memory\n");
    else
        good = run_session(&s);
    free(s.rows);
    free((void *)s.devices);
    free(s.cases);
    return good;
}
