/* `tandem doctor`: what was looked for, found or refused, and what decided the default device. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <tandem/tandem.h>

#include "tools.h"

static const char usage[] =
    "usage: tandem doctor [--json]\n"
    "\n"
    "Looks for every library, driver and device of every backend and says where each was found, "
    "or\n"
    "why not and what to install; shows the TANDEM_... variables that are set and the device that\n"
    "they select. Exit status 1 when no default device can be had.\n";

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
enum { SECTIONS = sizeof sections / sizeof *sections };

/* The default device as the library resolves it now; NULL and the reason when it does not. */
static const tdm_device_info *find_default(const char **why) {
    size_t index;
    const tdm_device_info *info;
    *why = "";
    if (tdm_find_device(NULL, &index) == TDM_OK && tdm_get_device_info(index, &info) == TDM_OK)
        return info;
    *why = tdm_last_error();
    return NULL;
}

/* Lines after the first are indented like the first. */
static void print_indented(const char *text, int indent) {
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        printf("%*s%.*s\n", indent, "", (int)(end - text), text);
    if (*text) printf("%*s%s\n", indent, "", text);
}

static void print_text(const tdm_diagnostic *items, size_t count) {
    for (int s = 0; s < SECTIONS; s++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            const tdm_diagnostic *item = &items[i];
            if (item->kind != sections[s].kind) continue;
            if (!any) printf("%s\n", sections[s].title);
            any = true;
            printf("  %s %s\n", item->ok ? "[ok]" : "[--]", item->subject);
            print_indented(item->detail, 7);
            if (item->advice[0]) {
                printf("       advice: %s\n", item->advice);
            }
        }
        if (any) putchar('\n');
    }
    const char *why;
    const tdm_device_info *chosen = find_default(&why);
    if (chosen)
        printf("Default device: %s (%s)\n", chosen->id, chosen->name);
    else
        printf("Default device: none\n  %s\n", why);
}

static const char *kind_key(tdm_diagnostic_kind kind) {
    for (int s = 0; s < SECTIONS; s++) {
        if (sections[s].kind == kind) return sections[s].key;
    }
    return "unknown";
}

static void print_json(const tdm_diagnostic *items, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const tdm_diagnostic *item = &items[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "kind", json_string(kind_key(item->kind)));
        json_object_set_new(entry, "ok", json_boolean(item->ok));
        json_object_set_new(entry, "subject", json_string(item->subject));
        json_object_set_new(entry, "detail", json_string(item->detail));
        json_object_set_new(entry, "advice", json_string(item->advice));
        json_array_append_new(list, entry);
    }
    const char *why;
    const tdm_device_info *chosen = find_default(&why);
    json_t *root = json_object();
    json_object_set_new(root, "version", json_string(tdm_version()));
    json_object_set_new(root, "default_device", chosen ? json_string(chosen->id) : json_null());
    json_object_set_new(root, "error", chosen ? json_null() : json_string(why));
    json_object_set_new(root, "diagnostics", list);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

int doctor_command(int argc, char **argv) {
    bool json;
    int status;
    if (!parse_json_option(argc, argv, usage, &json, &status)) return status;
    const tdm_diagnostic *items;
    size_t count;
    if (tdm_get_diagnostics(&items, &count) != TDM_OK) return report_failure(argv[0]);
    if (json)
        print_json(items, count);
    else
        print_text(items, count);
    const char *why;
    return find_default(&why) ? EXIT_OK : EXIT_FAILED;
}
