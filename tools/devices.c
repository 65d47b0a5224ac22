/* `tandem devices`: every listed device, as a table or as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <tandem/tandem.h>

#include "tools.h"

static const char usage[] =
    "usage: tandem devices [--json]\n"
    "\n"
    "Lists every device of every backend of the selection; '*' marks the default device. Nothing "
    "is\n"
    "opened. 'unknown' is what the driver tells only to those who open the device.\n";

enum { COLUMNS = 10, MAX_CELL = 128 };

static const char *const titles[COLUMNS] = {"id",    "name", "type", "API / driver", "units",
                                            "total", "free", "f64",  "f16",          "same card"};

static const char *type_name(tdm_device_type type) {
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

/* A cut cell ends in "…", so that no vendor's name pushes the table apart. */
static void set_cell(char cell[MAX_CELL], size_t width, const char *text) {
    if (strlen(text) <= width)
        snprintf(cell, MAX_CELL, "%s", text);
    else
        snprintf(cell, MAX_CELL, "%.*s~", (int)width - 1, text);
}

static void fill_cells(const tdm_device_info *info, bool is_default, char cells[][MAX_CELL]) {
    char text[256];
    snprintf(text, sizeof text, "%s%s", info->id, is_default ? " *" : "");
    set_cell(cells[0], 40, text);
    set_cell(cells[1], 44, info->name);
    set_cell(cells[2], 16, type_name(info->type));
    snprintf(text, sizeof text, "%s%s%s", info->api_version,
             info->api_version[0] && info->driver_version[0] ? " / " : "", info->driver_version);
    set_cell(cells[3], 36, text);
    snprintf(cells[4], MAX_CELL, "%d", info->compute_units);
    format_bytes(info->memory_total, cells[5]);
    format_bytes(info->memory_free, cells[6]);
    set_cell(cells[7], 4, info->has_f64 ? "yes" : "no");
    set_cell(cells[8], 4, info->has_f16 ? "yes" : "no");
    set_cell(cells[9], 32, info->same_as[0] ? info->same_as : "-");
}

static bool is_right_aligned(int column) { return column >= 4 && column <= 6; }

static void print_row(const char *const *cells, const int *widths) {
    for (int c = 0; c < COLUMNS; c++) {
        if (c == COLUMNS - 1)
            printf("%s\n", cells[c]);
        else
            printf(is_right_aligned(c) ? "%*s  " : "%-*s  ", widths[c], cells[c]);
    }
}

static void print_table(const tdm_device_info *const *infos, size_t count, size_t chosen) {
    char(*cells)[COLUMNS][MAX_CELL] = calloc(count ? count : 1, sizeof *cells);
    if (!cells) return;
    int widths[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(titles[c]);
    for (size_t i = 0; i < count; i++) {
        fill_cells(infos[i], i == chosen, cells[i]);
        for (int c = 0; c < COLUMNS; c++) {
            int width = (int)strlen(cells[i][c]);
            if (width > widths[c]) widths[c] = width;
        }
    }
    print_row(titles, widths);
    for (size_t i = 0; i < count; i++) {
        const char *row[COLUMNS];
        for (int c = 0; c < COLUMNS; c++)
            row[c] = cells[i][c];
        print_row(row, widths);
    }
    free(cells);
}

static json_t *json_bytes(uint64_t bytes) {
    return bytes == TDM_UNKNOWN ? json_null() : json_integer((json_int_t)bytes);
}

/* Vendors' texts need not be UTF-8; what is not becomes '?'. */
static json_t *json_text(const char *text) {
    json_t *value = json_string(text);
    if (value) return value;
    char ascii[256];
    size_t i = 0;
    for (; text[i] && i < sizeof ascii - 1; i++)
        ascii[i] = (unsigned char)text[i] < 128 ? text[i] : '?';
    ascii[i] = '\0';
    return json_string(ascii);
}

static json_t *json_device(const tdm_device_info *info, bool is_default) {
    json_t *device = json_object();
    json_object_set_new(device, "id", json_text(info->id));
    json_object_set_new(device, "default", json_boolean(is_default));
    json_object_set_new(device, "name", json_text(info->name));
    json_object_set_new(device, "vendor", json_text(info->vendor));
    json_object_set_new(device, "backend", json_text(tdm_backend_name(info->backend)));
    json_object_set_new(device, "platform", json_text(info->platform));
    json_object_set_new(device, "api_version", json_text(info->api_version));
    json_object_set_new(device, "driver_version", json_text(info->driver_version));
    json_object_set_new(device, "type", json_text(type_name(info->type)));
    json_object_set_new(device, "compute_units", json_integer(info->compute_units));
    json_object_set_new(device, "compute_capability", json_integer(info->compute_capability));
    json_object_set_new(device, "memory_total", json_bytes(info->memory_total));
    json_object_set_new(device, "memory_free", json_bytes(info->memory_free));
    json_object_set_new(device, "max_allocation", json_bytes(info->max_allocation));
    json_object_set_new(device, "max_group_size", json_bytes(info->max_group_size));
    json_object_set_new(device, "f64", json_boolean(info->has_f64));
    json_object_set_new(device, "f16", json_boolean(info->has_f16));
    json_object_set_new(device, "unified_memory", json_boolean(info->unified_memory));
    json_object_set_new(device, "uuid", info->uuid[0] ? json_text(info->uuid) : json_null());
    json_object_set_new(device, "pci", info->pci[0] ? json_text(info->pci) : json_null());
    json_object_set_new(device, "same_as",
                        info->same_as[0] ? json_text(info->same_as) : json_null());
    return device;
}

static void print_json(const tdm_device_info *const *infos, size_t count, size_t chosen) {
    json_t *devices = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(devices, json_device(infos[i], i == chosen));
    json_t *root = json_pack("{s:s, s:o}", "version", tdm_version(), "devices", devices);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

int devices_command(int argc, char **argv) {
    bool json;
    int status;
    if (!parse_json_option(argc, argv, usage, &json, &status)) return status;
    size_t count, chosen;
    if (tdm_get_device_count(&count) != TDM_OK) return report_failure(argv[0]);
    const tdm_device_info **infos = calloc(count + 1, sizeof *infos);
    if (!infos) {
        fprintf(stderr, "tandem devices: out of memory\n");
        return EXIT_FAILED;
    }
    status = EXIT_OK;
    for (size_t i = 0; i < count && status == EXIT_OK; i++) {
        if (tdm_get_device_info(i, &infos[i]) != TDM_OK) status = report_failure(argv[0]);
    }
    if (status == EXIT_OK) {
        /* a default that cannot be had is told after the list that shows what there is */
        if (tdm_find_device(NULL, &chosen) != TDM_OK) {
            status = report_failure(argv[0]);
            chosen = SIZE_MAX;
        }
        if (json)
            print_json(infos, count, chosen);
        else
            print_table(infos, count, chosen);
    }
    free(infos);
    return status;
}
