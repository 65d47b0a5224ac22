/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm doctor`: what was looked for, found or refused, whether it works when it is tried, and
 * what decided the default device. This process calls no driver: its children do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <tandem/tandem.h>

#include "drivers.h"
#include "options.h"
#include "platform/folder.h"
#include "platform/program.h"
#include "tools.h"

enum { OPTION_JSON, OPTION_QUICK, OPTION_TIMEOUT };

static const option_spec options[] = {
    JSON_OPTION(OPTION_JSON),
    OPTION("quick", OPTION_QUICK, NULL,
           "of each device, only whether a kernel compiles, runs and gives the right result"),
    OPTION("timeout", OPTION_TIMEOUT, "SECONDS",
           "how long each step of a driver may take (20 when not given)"),
    {0}};

static int doctor_command(int argc, char **argv);

const command_spec doctor_spec = {
    .name = "doctor",
    .summary = "try every driver and device; say what is missing or broken",
    .description =
        "Looks for every library, driver and device of every backend and says where each was "
        "found, or why not and what to install; shows the TANDEM_... variables that are set and "
        "the device that they select. Each OpenCL driver is tried alone, and on each device a "
        "kernel is compiled, run and its result verified, in separate processes: a driver that "
        "crashes, hangs or exits is named. Kernels are neither taken from nor left in caches.\n\n"
        "Then each device is judged, which takes about a second and the compiling of one more "
        "kernel: multiplication, division and square root of f32 and f64, subnormals, how a struct "
        "of arguments arrives, sums over a group's lanes, memory that the host maps, and a "
        "product, all compared with the host's f64. Wrong results are listed with what depends on "
        "it and what to do. How long a launch takes and how fast copies are is shown, and said to "
        "be slow where it is far from what any device should do, which is not a failure.\n\n"
        "[ok] works, [--] is not installed, [!!] is installed and does not work, or is refused.",
    .options = options,
    .run = doctor_command,
    .exit_status = "0 all that is installed works, 1 something does not, a driver without a device "
                   "among it, or there is no default device, 2 wrong arguments.",
};

static const struct {
    tdm_diagnostic_kind kind;
    const char *title, *key;
} sections[] = {
    {TDM_DIAGNOSTIC_VARIABLE, "Environment", "variable"},
    {TDM_DIAGNOSTIC_LIBRARY, "Libraries", "library"},
    {TDM_DIAGNOSTIC_DRIVER, "Drivers and platforms", "driver"},
    {TDM_DIAGNOSTIC_DEVICE, "Devices", "device"},
    {TDM_DIAGNOSTIC_SELECTION, "Selection", "selection"},
};
enum { SECTIONS = sizeof sections / sizeof *sections, TEXT = 4096 };

typedef struct examination {
    double seconds;
    bool quick; /* devices are tried and not judged */
    drivers drivers;
    answer listing; /* of all together */
    driver_changes without;
    bool left_out; /* the listing is without what is broken */
    findings list;
} examination;

/* --- examining -------------------------------------------------------------------------------- */

/* All drivers together, as programs see them, or without those that end the process. */
static void list_together(examination *e) {
    e->left_out = !drivers_are_good(&e->drivers) && drivers_leave_out(&e->drivers, &e->without);
    answer_ask("list", NULL, e->left_out ? e->without.changes : NULL, e->seconds, &e->listing);
    if (e->listing.whole || tdmi_interrupt_caught()) return;
    char detail[TEXT];
    snprintf(detail, sizeof detail, "each works alone, but together they do not: %s",
             e->listing.why);
    findings_put(&e->list,
                 &(finding){TDM_DIAGNOSTIC_DRIVER, FINDING_BROKEN, "the drivers together", detail,
                            "leave one of them out, with a folder that OCL_ICD_VENDORS names"});
}

/* The library's diagnostics, but for drivers that were tried alone, which are known better, and for
 * the folder of a listing without the broken ones. */
static void take_items(examination *e) {
    for (size_t i = 0; i < e->listing.item_count; i++) {
        const finding *item = &e->listing.items[i];
        size_t length = strlen(item->subject);
        bool is_file = length > 4 && strcmp(item->subject + length - 4, ".icd") == 0;
        bool is_ours = e->left_out && (strstr(item->subject, e->drivers.folder) ||
                                       strstr(item->detail, e->drivers.folder));
        if ((item->kind != TDM_DIAGNOSTIC_DRIVER || !is_file) && !is_ours)
            findings_put(&e->list, item);
    }
}

/* A device in a child, with empty caches, so that its compiler has to work. A compiler that is killed with the child
 * leaves its temporary files where they are removed. */
static void try_device(examination *e, const answer_device *device, size_t number) {
    static const char *const variables[] = {
        "TANDEM_CACHE_DIR",      "XDG_CACHE_HOME", "POCL_CACHE_DIR", "CUDA_CACHE_PATH",
        "MESA_SHADER_CACHE_DIR", "NEO_CACHE_DIR",  "TMPDIR"};
    enum { VARIABLES = sizeof variables / sizeof *variables };
    char texts[VARIABLES][DRIVER_PATH + 64], detail[TEXT];
    const char *changes[VARIABLES + 8] = {0};
    size_t n = 0;
    answer tried;
    for (size_t i = 0; e->left_out && e->without.changes[i]; i++)
        changes[n++] = e->without.changes[i];
    for (size_t i = 0; i < VARIABLES; i++) {
        snprintf(texts[i], sizeof texts[i], "%s=%s/cache-%zu", variables[i], e->drivers.folder,
                 number);
        changes[n++] = texts[i];
    }
    (void)tdmi_folder_make(TDMI_HERE, strchr(texts[0], '=') + 1);
    answer_ask(e->quick ? "try" : "judge", device->id, changes, e->seconds, &tried);
    const driver *of = drivers_find(&e->drivers, device);
    bool good = tried.whole && tried.detail && tried.result == FINDING_OK;
    const bool ended = !tried.whole && tried.detail; /* after some of it was judged */
    snprintf(detail, sizeof detail, "%s%s%s%s%s: %s%s%s%s%s",
             device->name[0] ? device->name : "a device without a name",
             device->platform[0] ? ", " : "", device->platform, device->driver[0] ? ", " : "",
             device->driver, !tried.whole ? "its driver " : "",
             tried.whole && tried.detail ? tried.detail : tried.why, ended ? tried.detail : "",
             !good && of ? "\ndriver: " : "", !good && of ? of->label : "");
    findings_put(
        &e->list,
        &(finding){
            TDM_DIAGNOSTIC_DEVICE, good ? FINDING_OK : FINDING_BROKEN, device->id, detail,
            good ? "" : "update the driver of this device, or use another device (TANDEM_DEVICE)"});
    answer_free(&tried);
}

static bool examine(examination *e) {
    if (!drivers_try(&e->drivers, e->seconds, &e->list)) return false;
    if (!tdmi_interrupt_caught()) list_together(e);
    take_items(e);
    for (size_t i = 0; i < e->listing.device_count && !tdmi_interrupt_caught(); i++)
        try_device(e, &e->listing.devices[i], i);
    return true;
}

/* Why there is no default device: that is a diagnostic too. */
static const char *why_none(const examination *e) {
    for (size_t i = 0; i < e->list.count; i++)
        if (e->list.items[i].kind == TDM_DIAGNOSTIC_SELECTION) return e->list.items[i].detail;
    return e->listing.why;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* Green, plain and red, where the page has colours. */
static void print_mark(finding_state state, bool has_colours) {
    static const char *const marks[] = {"[ok]", "[--]", "[!!]"};
    static const char *const colours[] = {"\033[32m", "", "\033[1;31m"};
    const char *colour = has_colours ? colours[state] : "";
    printf("  %s%s%s ", colour, marks[state], colour[0] ? "\033[0m" : "");
}

/* Lines after the first are indented like the first. */
static void print_detail(const char *text) {
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        printf("       %.*s\n", (int)(end - text), text);
    if (*text) printf("       %s\n", text);
}

static void print_text(const examination *e) {
    const bool has_colours = output_has_colours();
    for (int s = 0; s < SECTIONS; s++) {
        bool any = false;
        for (size_t i = 0; i < e->list.count; i++) {
            const finding *item = &e->list.items[i];
            if (item->kind != sections[s].kind) continue;
            if (!any) printf("%s\n", sections[s].title);
            any = true;
            print_mark(item->state, has_colours);
            puts(item->subject);
            print_detail(item->detail);
            if (item->advice[0]) printf("       advice: %s\n", item->advice);
        }
        if (any) putchar('\n');
    }
    if (e->left_out)
        puts("Devices and their default are those without the drivers that are broken.");
    if (e->listing.chosen.id[0])
        printf("Default device: %s (%s)\n", e->listing.chosen.id, e->listing.chosen.name);
    else
        printf("Default device: none\n  %s\n", why_none(e));
}

static const char *kind_key(tdm_diagnostic_kind kind) {
    for (int s = 0; s < SECTIONS; s++)
        if (sections[s].kind == kind) return sections[s].key;
    return "unknown";
}

static json_t *describe(const examination *e, bool ok) {
    json_t *list = json_array();
    for (size_t i = 0; i < e->list.count; i++) {
        const finding *item = &e->list.items[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "kind", json_string(kind_key(item->kind)));
        json_object_set_new(entry, "ok", json_boolean(item->state == FINDING_OK));
        json_object_set_new(entry, "installed", json_boolean(item->state != FINDING_MISSING));
        json_object_set_new(entry, "subject", json_string(item->subject));
        json_object_set_new(entry, "detail", json_string(item->detail));
        json_object_set_new(entry, "advice", json_string(item->advice));
        json_array_append_new(list, entry);
    }
    const answer_device *chosen = &e->listing.chosen;
    json_t *root = json_object();
    json_object_set_new(root, "version", json_string(tdm_version()));
    json_object_set_new(root, "ok", json_boolean(ok));
    json_object_set_new(root, "without_broken_drivers", json_boolean(e->left_out));
    json_object_set_new(root, "default_device",
                        chosen->id[0] ? json_string(chosen->id) : json_null());
    json_object_set_new(root, "error", chosen->id[0] ? json_null() : json_string(why_none(e)));
    json_object_set_new(root, "diagnostics", list);
    return root;
}

/* --- the command ------------------------------------------------------------------------------ */

typedef struct doctor_options {
    bool quick;
    json_request json;
    double seconds;
} doctor_options;

static int take(void *context, int id, char *value) {
    doctor_options *out = context;
    if (id == OPTION_TIMEOUT) return take_seconds("doctor", "--timeout", value, &out->seconds);
    if (id == OPTION_JSON) return take_json("doctor", "--json", value, &out->json);
    out->quick = true;
    return EXIT_OK;
}

static int doctor_command(int argc, char **argv) {
    static examination e;
    doctor_options wanted = {.seconds = SECONDS_FOR_A_DRIVER};
    int status;
    if (!options_read(&doctor_spec, argc, argv, take, &wanted, NULL, &status)) return status;
    e.seconds = wanted.seconds;
    e.quick = wanted.quick;
    tdmi_interrupt_catch();
    bool examined = examine(&e);
    /* before anything is printed, as a reader that has ended ends this process */
    drivers_free(&e.drivers);
    const int caught = tdmi_interrupt_caught();
    if (!caught) tdmi_interrupt_release();
    bool ok =
        e.listing.chosen.id && e.listing.chosen.id[0] && !findings_have(&e.list, FINDING_BROKEN);
    if (examined && !caught) {
        if (!wanted.json.prints) print_text(&e);
        status = put_json("doctor", &wanted.json, describe(&e, ok), false);
    }
    answer_free(&e.listing);
    findings_free(&e.list);
    if (caught) tdmi_interrupt_end(caught);
    return examined && ok ? status : EXIT_FAILED;
}
