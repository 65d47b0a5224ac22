/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The run: devices times cases, progress, reports. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/peers.h"
#include "cases/case.h"
#include "machine/clock.h"
#include "machine/machine.h"
#include "peaks.h"
#include "platform/program.h"
#include "report/output.h"
#include "report/progress.h"
#include "runner.h"

typedef struct session {
    const bench_options *options;
    bench_case *cases;
    size_t case_count;
    const tdm_device_info **devices;
    size_t device_count;
    bench_peak *peaks; /* of each device in turn; NULL without them */
    size_t peak_count;
    bench_row *rows;
    /* to_do is the sum of the peaks and rows that were measured and of those skipped, not applicable and left out */
    size_t row_count, to_do, done, peaks_measured, skipped, not_applicable, left_out, failed, noisy;
    double start;
    bench_output output;
} session;

static bool is_same_card_as_earlier(const session *s, const tdm_device_info *info) {
    for (size_t i = 0; i < s->device_count; i++)
        if (info->same_as[0] && strcmp(s->devices[i]->id, info->same_as) == 0) return true;
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
        if (tdm_get_listed_device(index, &info) != TDM_OK) return false;
        if (names->count || !is_same_card_as_earlier(s, info)) s->devices[s->device_count++] = info;
    }
    return true;
}

/* The peers' name for the work; NULL where none has it. */
static const char *peers_work(const bench_case *c) {
    if (c->op->peers) return c->op->peers;
    return !c->op->task && c->shape.extents <= 2 ? c->op->name : NULL;
}

/* The same work in the other libraries. */
static void add_peers(const session *s, const bench_case *c, bench_row *row) {
    bench_plan plan = {0};
    char why[256];
    const char *work = peers_work(c);
    if (!work) return;
    if (c->op->plan) c->op->plan(c, &plan);
    bench_request request = bench_case_request(c, &plan);
    request.device = row->device;
    request.sets = row->sets;
    for (int i = 0; i < BENCH_PEERS; i++) {
        if (!s->options->has_peer[i]) continue;
        row->peer_seconds[i] =
            bench_time_peer(s->options->peers, (bench_peer)i, &request, work, why);
        if (isnan(row->peer_seconds[i]) && why[0] && !row->problem[0])
            snprintf(row->problem, sizeof row->problem, "no %s: %.200s",
                     bench_peer_title((bench_peer)i), why);
    }
}

/* Measures the case of a row that was begun, and prints why it failed. */
static bool measure_row(session *s, const bench_runner *runner, const bench_case *c,
                        bench_row *row) {
    char devices[80], what[256];
    bench_row_devices(row, devices);
    snprintf(what, sizeof what, "%s %s %s %s", devices, row->op, tdm_dtype_name(row->dtype),
             row->shape.text);
    bench_progress(++s->done, s->to_do, what);
    const bool ran =
        c->op->task ? bench_measure_task(runner, c, row) : bench_measure_op(runner, c, row);
    if (ran && s->options->peers) add_peers(s, c, row);
    bench_progress_end();
    if (row->problem[0]) fprintf(stderr, "%s: %s\n", what, row->problem);
    if (!ran) *(row->not_applicable ? &s->not_applicable : &s->skipped) += 1;
    return ran;
}

/* The peak that is the case of a row on its device, or NULL: nothing is measured twice. */
static const bench_peak *find_peak(const session *s, const bench_row *row) {
    for (size_t i = 0; i < s->peak_count; i++) {
        const bench_peak *peak = &s->peaks[i];
        if (peak->measured && peak->row.device == row->device && !row->second &&
            bench_row_is_like(&peak->row, row) &&
            strcmp(peak->row.shape.text, row->shape.text) == 0)
            return peak;
    }
    return NULL;
}

static void run_one(session *s, const bench_runner *runner, const bench_case *c) {
    bench_row *row = &s->rows[s->row_count];
    bench_row_init(row, tdm_device_get_info(runner->on.device),
                   bench_needs_two_devices(c) ? tdm_device_get_info(runner->on.second) : NULL,
                   c->op->name, c->dtype, &c->shape);
    const bench_peak *peak = find_peak(s, row);
    if (peak) *row = peak->row;
    s->done += (bool)peak;
    if (!peak && !measure_row(s, runner, c, row)) return;
    s->row_count++;
    s->noisy += bench_row_is_noisy(row);
    if (!row->verified) s->failed++;
    bench_output_row(&s->output, row);
}

static bool open_device(const tdm_device_info *info, tdm_device **device, tdm_queue **queue) {
    if (tdm_device_open(info->id, device) == TDM_OK &&
        tdm_queue_create(*device, 0, queue) == TDM_OK)
        return true;
    fprintf(stderr, "tdm bench: %s: %s\n", info->id, tdm_last_error());
    return false;
}

/* Opens a device, and a second one unless that is NULL. To be closed in any case. */
static bool open_runner(const session *s, const tdm_device_info *info,
                        const tdm_device_info *second, bench_runner *runner) {
    *runner =
        (bench_runner){.seed = s->options->seed,
                       .pace = s->options->cases.profile == BENCH_FULL ? (bench_pace){0.4, 31}
                                                                       : (bench_pace){0.15, 15}};
    return open_device(info, &runner->on.device, &runner->on.queue) &&
           (!second || open_device(second, &runner->on.second, &runner->on.second_queue));
}

static void close_runner(bench_runner *runner) {
    tdm_queue_destroy(runner->on.queue);
    tdm_queue_destroy(runner->on.second_queue);
    tdm_device_release(runner->on.device);
    tdm_device_release(runner->on.second);
}

/* Measures the peaks of each device. False when a peak was wrong, or a device has none. */
static bool run_peaks(session *s) {
    bool good = true;
    for (size_t d = 0; d < s->device_count; d++) {
        bench_peak *peaks = &s->peaks[d * BENCH_PEAKS];
        bench_case cases[BENCH_PEAKS];
        bench_runner runner;
        bench_peaks_of(s->devices[d], cases, peaks);
        good = open_runner(s, s->devices[d], NULL, &runner) && good;
        if (!runner.on.queue) s->skipped += BENCH_PEAKS;
        for (int i = 0; runner.on.queue && i < BENCH_PEAKS; i++) {
            peaks[i].measured = measure_row(s, &runner, &cases[i], &peaks[i].row);
            good = good && (!peaks[i].measured || peaks[i].row.verified);
            s->peaks_measured += peaks[i].measured;
        }
        close_runner(&runner);
        bench_output_peaks(&s->output, peaks, BENCH_PEAKS);
    }
    return good;
}

/* The cases of one device, or, with a second one, those of two; none is begun after `end` seconds of the run,
 * where there is a limit. */
static bool run_devices(session *s, const tdm_device_info *info, const tdm_device_info *second,
                        double end) {
    bench_runner runner;
    const bool good = open_runner(s, info, second, &runner);
    for (size_t i = 0; i < s->case_count; i++) {
        if (bench_needs_two_devices(&s->cases[i]) != (bool)second) continue;
        if (!good)
            s->skipped++;
        else if (s->options->seconds > 0.0 && bench_now() - s->start > end)
            s->left_out++;
        else
            run_one(s, &runner, &s->cases[i]);
    }
    close_runner(&runner);
    return good;
}

static size_t count_cases_of_two(const session *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->case_count; i++)
        count += bench_needs_two_devices(&s->cases[i]);
    return count;
}

/* Each pair of the devices that were named, else the first two. */
static bool run_pairs(session *s) {
    bool good = true;
    const size_t end = s->options->devices.count ? s->device_count : 2;
    for (size_t i = 0; i < end && i < s->device_count; i++)
        for (size_t j = i + 1; j < end && j < s->device_count; j++)
            good = run_devices(s, s->devices[i], s->devices[j], s->options->seconds) && good;
    for (size_t i = 0; s->device_count < 2 && i < s->case_count; i++) {
        if (!bench_needs_two_devices(&s->cases[i])) continue;
        fprintf(stderr, "%s %s %s: skipped: needs two devices (TANDEM_CPU_DEVICES=2 lists two)\n",
                s->cases[i].op->name, tdm_dtype_name(s->cases[i].dtype), s->cases[i].shape.text);
        s->skipped++;
    }
    return good;
}

/* The longest texts of the columns, so that no more room is taken than they need. */
static bench_longest measure_texts(const session *s) {
    bench_longest longest = {0};
    int length = 0;
    for (size_t i = 0; i < s->device_count; i++) {
        length = (int)strlen(s->devices[i]->id);
        if (length > longest.device) longest.device = length;
    }
    if (count_cases_of_two(s) > 0) longest.device = 2 * longest.device + 1;
    for (size_t i = 0; i < s->case_count; i++) {
        length = (int)strlen(s->cases[i].op->name);
        if (length > longest.op) longest.op = length;
        length = (int)strlen(s->cases[i].shape.text);
        if (length > longest.shape) longest.shape = length;
    }
    return longest;
}

static json_t *describe_run(const bench_options *options) {
    json_t *machine = bench_describe_machine();
    json_object_set_new(machine, "profile",
                        json_string(bench_profile_name(options->cases.profile)));
    json_object_set_new(machine, "seed", json_integer((json_int_t)options->seed));
    json_object_set_new(machine, "libraries", bench_describe_libraries());
    json_object_set_new(machine, "peers", bench_describe_peers());
    return machine;
}

/* False, with a message, when a file that rows go to cannot be opened. */
static bool begin_output(session *s) {
    char machine[512], about[768];
    const bench_options *options = s->options;
    snprintf(about, sizeof about, "%s; Tandem %s, profile %s, seed %llu",
             bench_machine_line(machine, sizeof machine), tdm_version(),
             bench_profile_name(options->cases.profile), (unsigned long long)options->seed);
    bench_output_begin(&s->output, options->format, options->width, about);
    if (!options->json_lines_path) return true;
    s->output.lines = tdmi_stream_open(options->json_lines_path, "w");
    if (!s->output.lines)
        fprintf(stderr, "tdm bench: --json-lines %s cannot be written: %s\n",
                options->json_lines_path, strerror(errno));
    return s->output.lines;
}

/* Failures to write are known here at the latest: a disk that is full, for example. */
static bool end_lines(session *s) {
    FILE *lines = s->output.lines;
    if (!lines) return true;
    bool good = !ferror(lines);
    good = fclose(lines) == 0 && good;
    if (!good)
        fprintf(stderr, "tdm bench: --json-lines %s could not be written in full\n",
                s->options->json_lines_path);
    return good;
}

static bool write_reports(const session *s, double seconds) {
    const bench_options *options = s->options;
    char counts[256] = "", peaks[32] = "", left_out[64] = "", noisy[64] = "";
    json_t *machine = describe_run(options);
    const bench_results results = {machine, s->peaks, s->peak_count, s->rows, s->row_count};
    bool good = true;
    if (s->left_out)
        snprintf(left_out, sizeof left_out, ", %zu left out for lack of time", s->left_out);
    if (s->noisy)
        snprintf(noisy, sizeof noisy, ", %zu noisy (spread above %.0f %%)", s->noisy,
                 100.0 * BENCH_NOISY);
    if (s->peaks) snprintf(peaks, sizeof peaks, "%zu peaks, ", s->peaks_measured);
    if (!options->no_rows)
        snprintf(counts, sizeof counts,
                 "%s%zu rows, %zu not verified, %zu skipped, %zu not applicable%s%s, %.0f s", peaks,
                 s->row_count, s->failed, s->skipped, s->not_applicable, left_out, noisy, seconds);
    bench_output_end(&s->output, counts, &results);
    if (options->json_path) good = bench_write_json(options->json_path, &results);
    if (options->html_path) good = bench_write_html(options->html_path, &results) && good;
    json_decref(machine);
    return good;
}

static bool run_session(session *s) {
    if (!find_devices(s)) {
        fprintf(stderr, "tdm bench: %s\n", tdm_last_error());
        return false;
    }
    const size_t devices = s->device_count, of_two = count_cases_of_two(s);
    const size_t pairs = devices < 2                 ? 0
                         : s->options->devices.count ? devices * (devices - 1) / 2
                                                     : 1;
    s->to_do = (s->case_count - of_two) * devices + of_two * (devices < 2 ? 1 : pairs);
    s->rows = calloc(s->to_do + 1, sizeof *s->rows);
    if (s->options->peaks) {
        s->peak_count = devices * BENCH_PEAKS;
        s->peaks = calloc(s->peak_count + 1, sizeof *s->peaks);
        s->to_do += s->peak_count;
    }
    if (!s->rows || (s->options->peaks && !s->peaks)) {
        fputs("tdm bench: out of memory\n", stderr);
        return false;
    }
    s->start = bench_now();
    const bench_longest longest = measure_texts(s);
    if (!begin_output(s)) return false;
    bool good = !s->peaks || run_peaks(s);
    if (!s->options->no_rows) bench_output_head(&s->output, &longest);
    /* each device has the same share of the time */
    const double seconds = s->options->seconds, share = seconds / (double)(devices ? devices : 1);
    for (size_t i = 0; i < devices && of_two < s->case_count; i++)
        good = run_devices(s, s->devices[i], NULL, (double)(i + 1) * share) && good;
    if (of_two > 0) good = run_pairs(s) && good;
    good = end_lines(s) && good;
    good = write_reports(s, bench_now() - s->start) && good;
    const bool none_applies = s->options->no_rows || (s->skipped == 0 && s->not_applicable > 0);
    return good && s->failed == 0 && (s->row_count > 0 || none_applies);
}

bool bench_run(const bench_options *options) {
    session s = {.options = options};
    s.cases = bench_select_cases(&options->cases, &s.case_count);
    if (options->no_rows) s.case_count = 0;
    bool good = false;
    if (!s.cases)
        fprintf(stderr, "tdm bench: out of memory\n");
    else
        good = run_session(&s);
    bench_end_peers();
    free(s.rows);
    free(s.peaks);
    free((void *)s.devices);
    free(s.cases);
    return good;
}
