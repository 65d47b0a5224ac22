/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm cache`: what the folder of compiled kernels holds (list, verify), and tidying it (prune, clear). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <tandem/tandem.h>

#include "guard.h"
#include "options.h"
#include "platform/program.h"
#include "tools.h"

enum { DAY = 24 * 3600 };

enum { OPTION_JSON, OPTION_DRY_RUN, OPTION_OLDER_THAN, OPTION_MAX_SIZE };

static int entries_command(int argc, char **argv); /* argv[0]: list, verify, prune or clear */

static const option_spec show_options[] = {JSON_OPTION(OPTION_JSON), {0}};

const command_spec cache_list_spec = {
    .name = "cache list",
    .summary = "every entry: size, age, kernel, device and driver",
    .description = "Lists every entry that is kept, the oldest first: size, age, what it is, "
                   "device and driver; CUDA's kernels name their architecture and compiler "
                   "instead, as they run with every driver. Those that are not kernels have what "
                   "'tdm tune' measured. With --json also the file and the compiler's options.",
    .options = show_options,
    .run = entries_command,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

const command_spec cache_verify_spec = {
    .name = "cache verify",
    .summary = "read all of them and name those that will not be used",
    .description = "Reads every entry that is kept and names those that will not be used, and why.",
    .options = show_options,
    .run = entries_command,
    .exit_status = "0 every entry can be used, 1 one cannot, 2 wrong arguments.",
};

static const option_spec prune_options[] = {
    OPTION("older-than", OPTION_OLDER_THAN, "DAYS", "also those written more than DAYS days ago"),
    OPTION(
        "max-size", OPTION_MAX_SIZE, "SIZE",
        "then the oldest, until the rest takes SIZE at most: a number of bytes, or 512K, 100M, 2G"),
    OPTION("dry-run", OPTION_DRY_RUN, NULL, "only say what would be removed"),
    {0}};

const command_spec cache_prune_spec = {
    .name = "cache prune",
    .summary = "remove what is of no use",
    .description = "Removes the entries that are of no use: faulty ones, those of another Tandem, "
                   "or of a device or driver that is not listed now. Those of backends that "
                   "TANDEM_BACKEND leaves out stay. 'tdm cache verify' names the faulty ones.",
    .options = prune_options,
    .run = entries_command,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

const command_spec cache_clear_spec = {
    .name = "cache clear",
    .summary = "remove them all",
    .description = "Removes every entry that is kept: the kernels, and what 'tdm tune' measured.",
    .run = entries_command,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

static const command_spec *const subcommands[] = {&cache_list_spec,  &cache_verify_spec,
                                                  &cache_prune_spec, &cache_clear_spec,
                                                  &cache_warm_spec,  NULL};

const command_spec cache_spec = {
    .name = "cache",
    .summary = "list, verify, prune, clear or warm the compiled kernels that are kept",
    .description = "The folder of compiled kernels (TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, "
                   "else ~/.cache/tandem), with what 'tdm tune' measured. Nothing in it has to be "
                   "kept: a kernel that is missing is compiled again.",
    .subcommands = subcommands,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

typedef struct cache_options {
    const char *command;
    json_request json;
    bool dry_run;
    double days;       /* below 0: of any age */
    uint64_t max_size; /* TDM_UNKNOWN: any */
} cache_options;

/* --- arguments -------------------------------------------------------------------------------- */

/* Digits, and K, M or G after them. */
static bool parse_size(const char *text, uint64_t *size) {
    static const char units[] = "KMG";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
    if (digits == 0 || digits > 15 || (text[digits] && (!unit || text[digits + 1]))) return false;
    unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    *size = strtoull(text, NULL, 10);
    if (*size > UINT64_MAX >> 1 >> shift) return false;
    *size <<= shift;
    return true;
}

static int take(void *context, int id, char *value) {
    cache_options *out = context;
    switch (id) {
    case OPTION_JSON:
        return take_json(out->command, "--json", value, &out->json);
    case OPTION_DRY_RUN:
        out->dry_run = true;
        return EXIT_OK;
    case OPTION_OLDER_THAN:
        if (read_decimal(value, 36500.0, &out->days)) return EXIT_OK;
        return refuse_value(out->command, "--older-than", value, "a number of days, at most 36500");
    default:
        if (parse_size(value, &out->max_size)) return EXIT_OK;
        return refuse_value(out->command, "--max-size", value,
                            "a number of bytes, or of K, M or G of them");
    }
}

/* --- showing ---------------------------------------------------------------------------------- */

static const char *format_age(uint64_t seconds, char *text) {
    if (seconds < 3600)
        snprintf(text, 24, "%" PRIu64 " min", seconds / 60);
    else if (seconds < 2 * DAY)
        snprintf(text, 24, "%" PRIu64 " h", seconds / 3600);
    else
        snprintf(text, 24, "%" PRIu64 " days", seconds / DAY);
    return text;
}

/* A line of the table; a terminal gets as much of the last column as fits. */
static void print_line(const char *size, const char *age, int width, const char *what,
                       const char *device) {
    enum { LEFT = 10 + 2 + 9 + 2 + 2 };
    const int room = output_width() - LEFT - width;
    const bool whole = !tdmi_stream_is_terminal(stdout) || (int)strlen(device) <= room || room < 4;
    printf("%10s  %9s  %-*s  %.*s%s\n", size, age, width, what,
           whole ? (int)strlen(device) : room - 3, device, whole ? "" : "...");
}

static void print_entry(const tdm_cache_entry *entry, int width) {
    char size[16], age[24], fault[256];
    snprintf(fault, sizeof fault, "%s %s", entry->file, entry->fault);
    print_line(format_bytes(entry->size, size), format_age(entry->age, age), width,
               entry->fault[0] ? "-" : entry->kernel, entry->fault[0] ? fault : entry->device);
}

/* Of the column of kernels. */
static int find_width(const tdm_cache_entry *const *entries, size_t count) {
    size_t width = strlen("KERNEL");
    for (size_t i = 0; i < count; i++)
        if (!entries[i]->fault[0] && strlen(entries[i]->kernel) > width)
            width = strlen(entries[i]->kernel);
    return (int)width;
}

static void print_text(const tdm_cache_entry *const *entries, size_t count, bool faulty_alone) {
    uint64_t bytes = 0;
    size_t faulty = 0;
    char size[16];
    const int width = find_width(entries, count);
    for (size_t i = 0; i < count; i++) {
        faulty += entries[i]->fault[0] != '\0';
        bytes += entries[i]->size;
    }
    if (count > 0 && (faulty > 0 || !faulty_alone))
        print_line("SIZE", "AGE", width, "KERNEL", "DEVICE AND DRIVER, OR WHAT IS WRONG");
    for (size_t i = 0; i < count; i++)
        if (entries[i]->fault[0] || !faulty_alone) print_entry(entries[i], width);
    printf("%zu entr%s, %s; %zu will not be used\n", count, count == 1 ? "y" : "ies",
           format_bytes(bytes, size), faulty);
}

static json_t *describe(const tdm_cache_entry *const *entries, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const tdm_cache_entry *entry = entries[i];
        json_t *one = json_object();
        json_object_set_new(one, "file", json_string(entry->file));
        json_object_set_new(one, "fault",
                            entry->fault[0] ? json_string(entry->fault) : json_null());
        json_object_set_new(one, "version", json_string(entry->version));
        json_object_set_new(one, "backend", json_string(entry->backend));
        json_object_set_new(one, "device", json_string(entry->device));
        json_object_set_new(one, "kernel", json_string(entry->kernel));
        json_object_set_new(one, "options", json_string(entry->options));
        json_object_set_new(one, "size", json_integer((json_int_t)entry->size));
        json_object_set_new(one, "age", json_integer((json_int_t)entry->age));
        json_array_append_new(list, one);
    }
    return json_pack("{s:s, s:o}", "version", tdm_version(), "entries", list);
}

static bool any_faulty(const tdm_cache_entry *const *entries, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (entries[i]->fault[0]) return true;
    return false;
}

/* --- removing --------------------------------------------------------------------------------- */

/* Marks what goes, in the order that the help gives; false when the devices cannot be
 * listed. The oldest entry comes first. */
static bool choose(const tdm_cache_entry *const *entries, size_t count,
                   const cache_options *options, bool *goes) {
    uint64_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool current;
        if (tdm_cache_is_current(entries[i], &current) != TDM_OK) return false;
        bool old = options->days >= 0.0 && (double)entries[i]->age > options->days * (double)DAY;
        goes[i] = !current || old;
        if (!goes[i]) left += entries[i]->size;
    }
    for (size_t i = 0; i < count && left > options->max_size; i++) {
        if (goes[i]) continue;
        goes[i] = true;
        left -= entries[i]->size;
    }
    return true;
}

static int remove_entries(const tdm_cache_entry *const *entries, size_t count, const bool *goes,
                          bool dry_run) {
    int status = EXIT_OK;
    size_t removed = 0;
    uint64_t bytes = 0;
    char size[16];
    const int width = find_width(entries, count);
    for (size_t i = 0; i < count; i++) {
        if (goes && !goes[i]) continue;
        if (dry_run) print_entry(entries[i], width);
        if (!dry_run && tdm_cache_remove(entries[i]->file) != TDM_OK) {
            status = report_failure("cache");
            continue;
        }
        removed++;
        bytes += entries[i]->size;
    }
    printf("%zu of %zu entr%s %s, %s\n", removed, count, count == 1 ? "y" : "ies",
           dry_run ? "would be removed" : "removed", format_bytes(bytes, size));
    return status;
}

static int prune(const tdm_cache_entry *const *entries, size_t count,
                 const cache_options *options) {
    bool *goes = calloc(count + 1, sizeof *goes);
    int status = EXIT_FAILED;
    if (!goes) {
        fputs("tdm cache: out of memory\n", stderr);
        return status;
    }
    bool chosen = choose(entries, count, options, goes);
    guard_listed();
    status =
        chosen ? remove_entries(entries, count, goes, options->dry_run) : report_failure("cache");
    free(goes);
    return status;
}

static int entries_command(int argc, char **argv) {
    cache_options options = {.days = -1.0, .max_size = TDM_UNKNOWN};
    tdm_cache_listing *listing;
    int status;
    const char *what = argv[0];
    const command_spec *spec = options_subcommand(&cache_spec, what);
    options.command = spec->name;
    if (!options_read(spec, argc, argv, take, &options, NULL, &status)) return status;
    bool prunes = strcmp(what, "prune") == 0;
    /* it lists the devices, and a driver may end the process */
    if (prunes && !guard_is_child()) return guard_run(NULL, SECONDS_FOR_A_DRIVER, false);
    if (tdm_cache_listing_create(&listing) != TDM_OK) return report_failure("cache");
    const size_t count = tdm_cache_listing_get_count(listing);
    const tdm_cache_entry **entries = calloc(count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < count; i++)
        if (tdm_cache_listing_get_item(listing, i, &entries[i]) != TDM_OK) break;
    if (!entries) {
        fputs("tdm cache: out of memory\n", stderr);
        status = EXIT_FAILED;
    } else if (prunes) {
        status = prune(entries, count, &options);
    } else if (strcmp(what, "clear") == 0) {
        status = remove_entries(entries, count, NULL, false);
    } else {
        bool verifies = strcmp(what, "verify") == 0;
        if (!options.json.prints) print_text(entries, count, verifies);
        status = put_json(spec->name, &options.json, describe(entries, count), false);
        if (verifies && any_faulty(entries, count)) status = EXIT_FAILED;
    }
    free(entries);
    tdm_cache_listing_destroy(listing);
    return status;
}
