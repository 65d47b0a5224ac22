/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The page: one file without scripts that fetches nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/file.h"
#include "report/format.h"
#include "report/html.h"
#include "report/page_rows.h"

/* page.css, embedded by the build. */
extern const char bench_report_style[];

static const char *get(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void write_fact(FILE *page, const char *name, const char *value) {
    if (*value) bench_page_term(page, name, value);
}

static double get_mib(const json_t *machine, const char *key) {
    return (double)json_integer_value(json_object_get(machine, key)) / (double)(1 << 20);
}

static void write_machine(FILE *page, const json_t *machine) {
    char text[256];
    const char *name;
    json_t *value;
    size_t i;
    fputs("<section><h2>The machine</h2>\n<dl>\n", page);
    write_fact(page, "Processor", get(machine, "cpu"));
    snprintf(text, sizeof text, "%lld",
             (long long)json_integer_value(json_object_get(machine, "cores")));
    write_fact(page, "Cores", text);
    snprintf(text, sizeof text, "%.1f GiB; last-level cache %.0f MiB",
             get_mib(machine, "memory_bytes") / 1024.0, get_mib(machine, "last_level_cache_bytes"));
    write_fact(page, "Memory", text);
    snprintf(text, sizeof text, "%s, kernel %s, %s", get(machine, "os"), get(machine, "kernel"),
             get(machine, "architecture"));
    write_fact(page, "System", text);
    write_fact(page, "MPI", get(machine, "mpi"));
    json_object_foreach(json_object_get(machine, "libraries"), name, value)
        write_fact(page, name, json_string_value(value) ? json_string_value(value) : "");
    json_array_foreach(json_object_get(machine, "devices"), i, value) {
        snprintf(text, sizeof text, "%s%s%s%s%s", get(value, "name"),
                 *get(value, "api_version") ? "; " : "", get(value, "api_version"),
                 *get(value, "driver_version") ? "; driver " : "", get(value, "driver_version"));
        write_fact(page, get(value, "id"), text);
    }
    fputs("</dl></section>\n", page);
}

static void write_cell(FILE *page, const char *class, const char *text) {
    fprintf(page, "<td%s%s%s>", *class ? " class=\"" : "", class, *class ? "\"" : "");
    bench_html_text(page, text);
    fputs("</td>", page);
}

/* A table for each device, and what the figures are. */
static void write_peaks(FILE *page, const bench_peak *peaks, size_t count) {
    static const char *const terms[][2] = {
        {"copy", "Bytes read and written in a second by the fastest copy within the device."},
        {"read", "Bytes read in a second by what reads fastest and writes next to nothing."},
        {"launch latency", "The time from an empty call to the end of what it launched."},
        {"launches", "Empty calls in a second, one after the other."},
        {"products", "Operations in a second of a large product, 2 x M x N x K each."},
        {"by whom", "Each figure is the better of Tandem's and of its baseline's, and names whose "
                    "it is; of a product also the shape."}};
    const tdm_device_info *device = NULL;
    if (count == 0) return;
    fputs("<section class=\"peaks\"><h2>The fastest that the devices did</h2>\n<div>\n", page);
    for (size_t i = 0; i < count; i++) {
        char name[32], figure[32], text[256];
        const char *whose;
        const double seconds = bench_peak_seconds(&peaks[i], &whose);
        if (peaks[i].row.device != device) {
            if (device) fputs("</tbody></table>\n", page);
            device = peaks[i].row.device;
            fputs("<table><caption>", page);
            snprintf(text, sizeof text, "%s: %s", device->id, device->name);
            bench_html_text(page, text);
            fputs("</caption><tbody>\n", page);
        }
        if (!(seconds > 0.0)) continue;
        fputs("<tr>", page);
        write_cell(page, "", bench_peak_name(&peaks[i], name));
        write_cell(page, "n", bench_format_peak(&peaks[i], seconds, figure));
        snprintf(text, sizeof text, peaks[i].kind == BENCH_PEAK_PRODUCTS ? "%s, %s" : "%s", whose,
                 peaks[i].row.shape.text);
        write_cell(page, "by", text);
        fputs("</tr>\n", page);
    }
    fputs("</tbody></table>\n</div>\n<dl>\n", page);
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        bench_page_term(page, terms[i][0], terms[i][1]);
    fputs("</dl></section>\n", page);
}

static int compare_doubles(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* One line for each device: how many rows, how many verified, the median of the ratios. */
static void write_summary(const bench_figures *figures) {
    FILE *page = figures->page;
    const bench_labels devices = bench_device_labels(figures);
    double *ratios = calloc(figures->count + 1, sizeof *ratios);
    fputs("<ul class=\"summary\">\n", page);
    for (int d = 0; ratios && d < devices.count; d++) {
        char name[80];
        size_t count = 0, rows = 0, verified = 0, noisy = 0;
        for (size_t i = 0; i < figures->count; i++) {
            const bench_row *row = &figures->rows[i];
            if (strcmp(bench_row_devices(row, name), devices.text[d]) != 0) continue;
            rows++;
            verified += row->verified;
            noisy += bench_row_is_noisy(row);
            if (isfinite(row->ratio)) ratios[count++] = row->ratio;
        }
        qsort(ratios, count, sizeof *ratios, compare_doubles);
        fprintf(page, "<li class=\"%s\"><b>", bench_series_class(d));
        bench_html_text(page, devices.text[d]);
        fprintf(page, "</b><span>%zu of %zu rows verified</span>", verified, rows);
        if (count > 0) fprintf(page, "<span>median ratio %.2f</span>", ratios[count / 2]);
        if (noisy > 0) fprintf(page, "<span class=\"noisy\">%zu noisy</span>", noisy);
        fputs("</li>\n", page);
    }
    fputs("</ul>\n", page);
    free(ratios);
}

static bool write_page(const bench_figures *figures, const bench_results *results) {
    FILE *page = figures->page;
    const json_t *machine = results->machine;
    fprintf(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" "
        "href=\"data:,\">\n<title>Tandem benchmark</title>\n<style>\n%s</style></head>\n<body>\n"
        "<header><h1>Tandem benchmark</h1>\n<p>",
        bench_report_style);
    char text[256];
    int at = snprintf(text, sizeof text, "Profile %s, Tandem %s, %s", get(machine, "profile"),
                      get(machine, "tandem"), get(machine, "time"));
    const json_t *seed = json_object_get(machine, "seed");
    if (seed)
        snprintf(text + at, sizeof text - (size_t)at, ", seed %lld",
                 (long long)json_integer_value(seed));
    bench_html_text(page, text);
    fputs("</p>\n", page);
    if (figures->count > 0) write_summary(figures);
    fputs("</header>\n<main>\n", page);
    write_machine(page, machine);
    write_peaks(page, results->peaks, results->peak_count);
    bool good = true;
    if (figures->count > 0) {
        bench_page_terms(figures);
        fputs("<section class=\"plots\"><h2>Plots</h2>\n<div class=\"figures\">\n", page);
        good = bench_plot_ratios(figures) && bench_plot_norms(figures) &&
               bench_plot_pairs(figures) && bench_plot_ranks(figures) && bench_plot_sizes(figures);
        fputs("</div></section>\n", page);
        bench_page_rows(figures);
    }
    fputs("</main>\n</body></html>\n", page);
    return good;
}

bool bench_write_html(const char *path, const bench_results *results) {
    bench_file file;
    char why[256];
    bool written = bench_file_begin(&file, path, why);
    if (written) {
        const bench_figures figures = {file.stream, results->rows, results->count};
        const bool made = write_page(&figures, results);
        written = bench_file_end(&file, made, why);
        if (!made) strcpy(why, "out of memory");
    }
    if (!written) fprintf(stderr, "tdm bench: %s cannot be written: %s\n", path, why);
    return written;
}
