/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The devices as a table: three lines a device, then the processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "tools.h"

/* Device, name, memory and state; the second column takes what the width leaves. */
enum {
    COLUMNS = 4,
    LINES = 3,
    MAX_CELL = 256,
    NARROWEST = 80, /* for the header's sake */
    SMALLEST_NAME = 18,
    PID_WIDTH = 10,
    BYTES_WIDTH = 14
};

typedef char cell[MAX_CELL];

static const cell titles[LINES][COLUMNS] = {
    {"Device", "Name", "Memory used / total", "Utilization"},
    {"Type", "API / driver", "Held by Tandem", "Temperature"},
    {"Units", "Bus address = same card", "Arithmetic", "Power / limit"}};

/* A text cut to the width, ending in '~' then: no vendor's name pushes the table apart. A character
 * that could move the cursor, or is wider or narrower than a byte, becomes '?'. */
static void fit(cell out, int width, const char *text) {
    int length = 0;
    for (; text[length] && length < width && length < MAX_CELL - 1; length++)
        out[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
    if (text[length] && length > 0) out[length - 1] = '~';
    out[length] = '\0';
}

/* A number and its unit, or '-'. */
static void describe(cell out, uint64_t value, const char *unit) {
    if (value == TDM_UNKNOWN)
        snprintf(out, MAX_CELL, "-");
    else
        snprintf(out, MAX_CELL, "%llu%s", (unsigned long long)value, unit);
}

static void describe_power(cell out, const tdm_device_usage *usage) {
    char power[24] = "-", limit[24] = "-";
    if (usage->power != TDM_UNKNOWN)
        snprintf(power, sizeof power, "%.0f", (double)usage->power / 1e3);
    if (usage->power_limit != TDM_UNKNOWN)
        snprintf(limit, sizeof limit, "%.0f", (double)usage->power_limit / 1e3);
    if (usage->power == TDM_UNKNOWN && usage->power_limit == TDM_UNKNOWN)
        snprintf(out, MAX_CELL, "-");
    else
        snprintf(out, MAX_CELL, "%s / %s W", power, limit);
}

/* "OpenCL 3.0" of a version that goes on with what the vendor adds. */
static int api_length(const char *version) {
    size_t length = strlen(version);
    if (strncmp(version, "OpenCL ", 7) == 0) length = 7 + strcspn(version + 7, " ");
    return (int)length;
}

static void fill_cells(const device_row *row, cell cells[LINES][COLUMNS]) {
    const tdm_device_info *info = row->info;
    const tdm_device_usage *usage = &row->usage;
    char used[16], total[16], held[16];
    snprintf(cells[0][0], MAX_CELL, "%s%s", info->id, row->is_default ? " *" : "");
    snprintf(cells[1][0], MAX_CELL, "%s", device_type_name(info->type));
    snprintf(cells[2][0], MAX_CELL, "%d", info->compute_units);
    snprintf(cells[0][1], MAX_CELL, "%s", info->name);
    snprintf(cells[1][1], MAX_CELL, "%.*s%s%s", api_length(info->api_version), info->api_version,
             info->api_version[0] && info->driver_version[0] ? " / " : "", info->driver_version);
    snprintf(cells[2][1], MAX_CELL, "%s%s%s", info->pci[0] ? info->pci : "-",
             info->same_as[0] ? " = " : "", info->same_as);
    snprintf(cells[0][2], MAX_CELL, "%s / %s", format_bytes(usage->memory_used, used),
             format_bytes(usage->memory_total, total));
    snprintf(cells[1][2], MAX_CELL, "%s", format_bytes(usage->tandem_reserved, held));
    snprintf(cells[2][2], MAX_CELL, "f32%s%s", info->has_f64 ? " f64" : "",
             info->has_f16 ? " f16" : "");
    describe(cells[0][3], usage->utilization, " %");
    describe(cells[1][3], usage->temperature, " C");
    describe_power(cells[2][3], usage);
}

static void print_rule(const int *widths, int count, char mark) {
    for (int c = 0; c < count; c++) {
        putchar('+');
        for (int i = 0; i < widths[c] + 2; i++)
            putchar(mark);
    }
    puts("+");
}

static void print_lines(const cell lines[LINES][COLUMNS], const int *widths) {
    for (int line = 0; line < LINES; line++) {
        for (int c = 0; c < COLUMNS; c++) {
            cell text;
            fit(text, widths[c], lines[line][c]);
            printf(c < 2 ? "| %-*s " : "| %*s ", widths[c], text);
        }
        puts("|");
    }
}

/* As wide as the widest text; the name fills up to the narrowest table, and ends at the page. */
static void measure(const device_snapshot *snapshot, int page, int widths[COLUMNS]) {
    memset(widths, 0, COLUMNS * sizeof *widths);
    for (size_t i = 0; i <= snapshot->count; i++) {
        cell cells[LINES][COLUMNS];
        if (i < snapshot->count)
            fill_cells(&snapshot->rows[i], cells);
        else
            memcpy(cells, titles, sizeof cells);
        for (int line = 0; line < LINES; line++)
            for (int c = 0; c < COLUMNS; c++) {
                int length = (int)strlen(cells[line][c]);
                if (length > widths[c]) widths[c] = length;
            }
    }
    int room = page - (widths[0] + widths[2] + widths[3] + 3 * COLUMNS + 1);
    int least = room - (page - NARROWEST);
    if (widths[1] < least) widths[1] = least;
    if (widths[1] > room) widths[1] = room;
    if (widths[1] < SMALLEST_NAME) widths[1] = SMALLEST_NAME;
}

static void print_header(const device_snapshot *snapshot, int width) {
    char now[32] = "";
    cell text, fitted;
    const struct tm *local = localtime(&snapshot->time);
    if (local) strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S", local);
    int length = snprintf(text, sizeof text, "%s  Tandem %s  ", now, tdm_version());
    for (int b = 0; b < TDM_BACKEND_COUNT; b++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s %zu%s",
                           tdm_backend_name(all_backends[b]), snapshot->backend_counts[b],
                           b + 1 < TDM_BACKEND_COUNT ? ", " : "");
    snprintf(text + length, sizeof text - (size_t)length, "; physical GPUs %zu",
             snapshot->gpu_count);
    fit(fitted, width, text);
    print_rule(&width, 1, '-');
    printf("| %-*s |\n", width, fitted);
}

/* A card that is listed twice has its other processes under its first entry alone. */
static bool is_shown_before(const device_snapshot *snapshot, size_t index,
                            const tdm_process *process) {
    if (process->tandem_reserved != TDM_UNKNOWN) return false;
    for (size_t i = 0; i < index; i++) {
        const tdm_device_usage *usage = &snapshot->rows[i].usage;
        if (strcmp(snapshot->rows[i].info->id, snapshot->rows[index].info->same_as) != 0) continue;
        for (size_t p = 0; p < usage->process_count; p++)
            if (usage->processes[p].pid == process->pid) return true;
    }
    return false;
}

static void print_process(const char *id, const tdm_process *process, const int *widths) {
    cell name;
    char memory[16] = "-", held[16] = "-";
    if (process->memory != TDM_UNKNOWN) format_bytes(process->memory, memory);
    if (process->tandem_reserved != TDM_UNKNOWN) format_bytes(process->tandem_reserved, held);
    fit(name, widths[2], process->name[0] ? process->name : "-");
    printf("| %-*s | %*llu | %-*s | %*s | %*s |\n", widths[0], id, widths[1],
           (unsigned long long)process->pid, widths[2], name, widths[3], memory, widths[4], held);
}

static void print_processes(const device_snapshot *snapshot, int first, int width) {
    int widths[5] = {first, PID_WIDTH, 0, BYTES_WIDTH, BYTES_WIDTH};
    widths[2] = width + 4 - (widths[0] + widths[1] + widths[3] + widths[4] + 3 * 5 + 1);
    bool any = false;
    for (size_t i = 0; i < snapshot->count; i++)
        any = any || snapshot->rows[i].usage.process_count > 0;
    if (!any) {
        printf("| %-*s |\n", width, "No process is known to use a device.");
        print_rule(&width, 1, '-');
        return;
    }
    printf("| %-*s | %*s | %-*s | %*s | %*s |\n", widths[0], "Device", widths[1], "PID", widths[2],
           "Process", widths[3], "Memory", widths[4], "Held by Tandem");
    print_rule(widths, 5, '=');
    for (size_t i = 0; i < snapshot->count; i++) {
        const device_row *row = &snapshot->rows[i];
        for (size_t p = 0; p < row->usage.process_count; p++)
            if (!is_shown_before(snapshot, i, &row->usage.processes[p]))
                print_process(row->info->id, &row->usage.processes[p], widths);
    }
    print_rule(widths, 5, '-');
}

void print_devices_table(const device_snapshot *snapshot, int page) {
    int widths[COLUMNS];
    measure(snapshot, page, widths);
    int width = widths[0] + widths[1] + widths[2] + widths[3] + 3 * COLUMNS + 1 - 4;
    print_header(snapshot, width);
    print_rule(widths, COLUMNS, '-');
    print_lines(titles, widths);
    print_rule(widths, COLUMNS, '=');
    for (size_t i = 0; i < snapshot->count; i++) {
        cell cells[LINES][COLUMNS];
        fill_cells(&snapshot->rows[i], cells);
        print_lines((const cell(*)[COLUMNS])cells, widths);
        print_rule(widths, COLUMNS, '-');
    }
    print_processes(snapshot, widths[0], width);
}
