/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm devices`: every listed device and what it is doing, once or again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "devices_query.h"
#include "guard.h"
#include "options.h"
#include "platform/program.h"
#include "tools.h"

enum { OPTION_JSON, OPTION_WATCH, OPTION_TIMEOUT, OPTION_FORMAT, OPTION_QUERY };

static const char *const *format_words(void) {
    static const char *const words[] = {"table", "csv", "json", "jsonl", NULL};
    return words;
}

static const option_spec options[] = {
    {"query", OPTION_QUERY, "FIELD,...",
     "these figures of each device alone, by the names that they have in the JSON, as in "
     "name,memory_free; help lists the names",
     query_words, true, true},
    {"format", OPTION_FORMAT, "WORD",
     "table (default), csv, json, or jsonl (a device a line); what is unknown is null in JSON and "
     "empty in csv",
     format_words, false, false},
    JSON_OPTION(OPTION_JSON),
    OPTION("watch", OPTION_WATCH, "[SECONDS]",
           "again every SECONDS (2 when not given; 0.5 is allowed) until Ctrl-C; with --json, one "
           "document a line; lines of csv and jsonl begin with the time"),
    OPTION("timeout", OPTION_TIMEOUT, "SECONDS", "how long listing may take (20 when not given)"),
    {0}};

static const example_spec examples[] = {
    {"tdm devices --query id,name,memory_free --format csv", "a line for each device"},
    {"tdm devices --watch 5 --query id,usage.utilization,usage.power --format csv",
     "its figures every 5 seconds"},
    {0}};

static int devices_command(int argc, char **argv);

const command_spec devices_spec = {
    .name = "devices",
    .summary = "list every compute device through every API",
    .description =
        "Lists every device of every backend of the selection, what it is doing, and the processes "
        "that use it; '*' marks the default device. Nothing is opened. '-' and 'unknown' are what "
        "nothing reports: NVIDIA's cards are queried through NVML, the memory of CPUs is the "
        "system's, and what Tandem holds is reported by the processes themselves.\n\n"
        "A driver that ends the process, or takes longer than it may, is named, and the list shown "
        "without it.",
    .options = options,
    .examples = examples,
    .run = devices_command,
    .exit_status = "0 success, 1 a driver was left out or the default device cannot be had, 2 "
                   "wrong arguments.",
};

enum { NARROWEST = 80, WIDEST = 130, WIDTH_OF_FILES = 110 };

typedef struct devices_options {
    devices_format format;
    json_request json;
    bool watch, lists_fields;
    double seconds, timeout;
    devices_query query; /* count 0: all there is to know */
} devices_options;

const char *device_type_name(tdm_device_type type) {
    switch (type) {
    case TDM_DEVICE_CPU:
        return "cpu";
    case TDM_DEVICE_GPU:
        return "gpu";
    case TDM_DEVICE_ACCELERATOR:
        return "accelerator";
    }
    return "unknown";
}

static int take(void *context, int id, char *value) {
    devices_options *out = context;
    switch (id) {
    case OPTION_JSON:
        if (!value) out->format = DEVICES_JSON;
        return take_json("devices", "--json", value, &out->json);
    case OPTION_FORMAT:
        for (int i = 0; format_words()[i]; i++)
            if (strcmp(value, format_words()[i]) == 0) out->format = (devices_format)i;
        return EXIT_OK;
    case OPTION_QUERY:
        out->lists_fields = strcmp(value, "help") == 0;
        return out->lists_fields ? EXIT_OK : query_parse(value, &out->query);
    case OPTION_WATCH:
        out->watch = true;
        return value ? take_seconds("devices", "--watch", value, &out->seconds) : EXIT_OK;
    default:
        return take_seconds("devices", "--timeout", value, &out->timeout);
    }
}

static bool fill_row(size_t index, device_row *row) {
    tdm_device_usage_init(&row->usage, sizeof row->usage);
    return tdm_get_listed_device(index, &row->info) == TDM_OK &&
           tdm_get_listed_device_usage(index, &row->usage) == TDM_OK;
}

static void warn(tdm_log_level level, const char *line, void *user) {
    (void)level;
    (void)user;
    fprintf(stderr, "tdm devices: %s\n", line);
}

/* The part that does not change from one moment to the next; the caller frees snapshot->rows. */
static int list_devices(device_snapshot *snapshot) {
    memset(snapshot, 0, sizeof *snapshot);
    tdm_status status = TDM_OK;
    const bool warns =
        !tdm_get_setting("TANDEM_LOG"); /* else the variable's lines have the warnings */
    if (warns) tdm_set_log(TDM_LOG_WARNING, warn, NULL);
    for (int b = 0; b < TDM_BACKEND_COUNT && status == TDM_OK; b++)
        status = tdm_get_backend_device_count(all_backends[b], &snapshot->backend_counts[b]);
    if (warns) tdm_set_log(TDM_LOG_OFF, NULL, NULL);
    guard_listed();
    if (status != TDM_OK || tdm_get_gpu_count(&snapshot->gpu_count) != TDM_OK ||
        tdm_get_device_count(&snapshot->count) != TDM_OK)
        return report_failure("devices");
    snapshot->rows = calloc(snapshot->count + 1, sizeof *snapshot->rows);
    if (snapshot->rows) return EXIT_OK;
    fprintf(stderr, "tdm devices: out of memory\n");
    return EXIT_FAILED;
}

static int terminal_width(void) {
    const int columns = tdmi_stream_columns(stdout);
    if (columns == 0) return WIDTH_OF_FILES;
    return columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : columns;
}

/* The lines of csv and jsonl go on where those of the moment before ended, and say when they were. */
static int print_snapshot(const device_snapshot *snapshot, const devices_options *wanted,
                          bool is_first) {
    static devices_query query;
    const bool is_all = wanted->query.count == 0;
    const json_request json = {wanted->format == DEVICES_JSON, wanted->json.file};
    query = wanted->query;
    if (is_all) query_all(&query);
    if (wanted->watch && (wanted->format == DEVICES_CSV || wanted->format == DEVICES_JSONL))
        query_begin_with_time(&query);
    if (is_all && wanted->format == DEVICES_TABLE)
        print_devices_table(snapshot, terminal_width());
    else if (!json.prints)
        query_print(snapshot, &query, wanted->format, is_first);
    if (!json.prints && !json.file) return EXIT_OK;
    return put_json("devices", &json,
                    is_all ? json_devices(snapshot) : query_json(snapshot, &query), wanted->watch);
}

static int show(device_snapshot *snapshot, const devices_options *wanted, bool is_first) {
    snapshot->time = time(NULL);
    for (size_t i = 0; i < snapshot->count; i++)
        if (!fill_row(i, &snapshot->rows[i])) return report_failure("devices");
    if (wanted->watch && wanted->format == DEVICES_TABLE && tdmi_stream_is_terminal(stdout))
        fputs("\033[H\033[2J", stdout);
    const int status = print_snapshot(snapshot, wanted, is_first);
    return flush_output() ? status : EXIT_FAILED;
}

/* Ctrl-C is let through only while nothing is being shown, so that no table is cut and no signal is
 * missed between the question and the sleep. */
static int watch(device_snapshot *snapshot, const devices_options *wanted) {
    tdmi_interrupt_catch_key();
    int status = show(snapshot, wanted, true);
    while (status == EXIT_OK) {
        tdmi_interrupt_rest(wanted->seconds);
        if (tdmi_interrupt_caught()) break;
        if (wanted->format == DEVICES_TABLE) putchar('\n');
        status = show(snapshot, wanted, false);
    }
    return status; /* Ctrl-C stays caught, as it may come twice: from the terminal and from the parent */
}

static int devices_command(int argc, char **argv) {
    static devices_options wanted;
    wanted = (devices_options){.seconds = 2.0, .timeout = SECONDS_FOR_A_DRIVER};
    device_snapshot snapshot;
    int status;
    if (!options_read(&devices_spec, argc, argv, take, &wanted, NULL, &status)) return status;
    if (wanted.lists_fields) {
        query_list();
        return EXIT_OK;
    }
    if (!guard_is_child()) return guard_run(NULL, wanted.timeout, true);
    status = list_devices(&snapshot);
    if (status != EXIT_OK) return status;
    /* a default that cannot be had does not hide the list that shows what there is */
    size_t chosen;
    bool has_default = tdm_find_device(NULL, &chosen) == TDM_OK;
    if (has_default)
        snapshot.rows[chosen].is_default = true;
    else
        status = report_failure(argv[0]);
    int shown = wanted.watch ? watch(&snapshot, &wanted) : show(&snapshot, &wanted, true);
    free(snapshot.rows);
    return shown != EXIT_OK ? shown : status;
}
