/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Figures in general, and the ratios by operation. */
#include "report/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"

bool bench_figure(bench_figures *figures, const char *title, const char *caption, int width,
                  int height, const char *script) {
    char name[16];
    snprintf(name, sizeof name, "plot%d", figures->made++);
    fprintf(figures->page, "<figure class=\"%s\"><h3>", width > 600 ? "wide" : "half");
    bench_html_text(figures->page, title);
    fputs("</h3>", figures->page);
    if (!bench_plot(figures->page, name, title, width, height, script, figures->why)) return false;
    fputs("<figcaption>", figures->page);
    bench_html_text(figures->page, caption);
    fputs("</figcaption></figure>\n", figures->page);
    return true;
}

int bench_label(bench_labels *labels, const char *text) {
    for (int i = 0; i < labels->count; i++) {
        if (strcmp(labels->text[i], text) == 0) return i;
    }
    if (labels->count == BENCH_MAX_LABELS) return -1;
    snprintf(labels->text[labels->count], sizeof labels->text[0], "%s", text);
    return labels->count++;
}

bench_labels bench_device_labels(const bench_figures *figures) {
    bench_labels labels = {.count = 0};
    char name[80];
    for (size_t i = 0; i < figures->count; i++)
        bench_label(&labels, bench_row_devices(&figures->rows[i], name));
    return labels;
}

int bench_series_colour(int device) { return BENCH_SERIES + device % BENCH_SERIES_COUNT; }

static bool has_ratio(const bench_row *row) { return isfinite(row->ratio) && row->ratio > 0.0; }

/* Labelled tics of a logarithmic axis between two values. */
static void write_ratio_tics(FILE *script, double low, double high) {
    static const char *const tics[] = {"0.001", "0.01", "0.02", "0.05", "0.1", "0.2", "0.3",
                                       "0.5",   "0.7",  "1",    "1.5",  "2",   "3",   "5",
                                       "10",    "20",   "50",   "100",  "1000"};
    const char *separator = "set xtics (";
    for (size_t i = 0; i < sizeof tics / sizeof *tics; i++) {
        const double value = atof(tics[i]);
        if (value < low || value > high) continue;
        fprintf(script, "%s'%s' %s", separator, tics[i], tics[i]);
        separator = ", ";
    }
    fputs(")\n", script);
}

/* One data block for each device, one for what is not verified: ratio and place. */
static void write_ratio_data(const bench_figures *figures, bench_labels *devices, bench_labels *ops,
                             FILE *script) {
    char name[80];
    for (int d = 0; d <= devices->count; d++) {
        fprintf(script, "$d%d << EOD\n", d);
        for (size_t i = 0; i < figures->count; i++) {
            const bench_row *row = &figures->rows[i];
            if (!has_ratio(row)) continue;
            bench_row_devices(row, name);
            if (d < devices->count ? strcmp(name, devices->text[d]) != 0 : row->verified) continue;
            const int of = bench_label(devices, name);
            const double shift = 0.6 * ((of + 0.5) / devices->count - 0.5);
            fprintf(script, "%.6g %.6g\n", row->ratio, bench_label(ops, row->op) + shift);
        }
        fputs("EOD\n", script);
    }
}

static void write_ratio_script(const bench_figures *figures, bench_labels *devices,
                               bench_labels *ops, double low, double high, bool all_verified,
                               FILE *script) {
    char colour[8];
    write_ratio_data(figures, devices, ops, script);
    fprintf(script,
            "set logscale x\nset xrange [%.6g:%.6g]\nset yrange [%d.5:-0.5]\n"
            "set key outside top left horizontal samplen 1\nset xlabel 'ratio' tc rgb '%s'\n",
            low, high, ops->count - 1, bench_colour(BENCH_MUTED, colour));
    fprintf(script, "set arrow from 1,graph 0 to 1,graph 1 nohead lw 1.4 lc rgb '%s' back\n",
            bench_colour(BENCH_MUTED, colour));
    write_ratio_tics(script, low, high);
    for (int i = 0; i < ops->count; i++) {
        fputs(i == 0 ? "set ytics (" : ", ", script);
        bench_gnuplot_string(script, ops->text[i]);
        fprintf(script, " %d", i);
    }
    fprintf(script, ") tc rgb '%s'\n", bench_colour(BENCH_INK, colour));
    for (int d = 0; d < devices->count; d++) {
        fprintf(script, "%s $d%d with points pt 7 ps 0.55 lc rgb '%s' title ",
                d == 0 ? "plot" : ",", d, bench_colour(bench_series_colour(d), colour));
        bench_gnuplot_string(script, devices->text[d]);
    }
    if (!all_verified)
        fprintf(script, ", $d%d with points pt 2 ps 1 lw 2 lc rgb '%s' title 'not verified'",
                devices->count, bench_colour(BENCH_BAD, colour));
    fputc('\n', script);
}

bool bench_plot_ratios(bench_figures *figures) {
    bench_labels devices = {.count = 0}, ops = {.count = 0};
    char name[80], *text = NULL;
    size_t size;
    double low = 0.7, high = 1.4;
    bool all_verified = true;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        bench_label(&devices, bench_row_devices(row, name));
        if (!has_ratio(row)) continue;
        bench_label(&ops, row->op);
        low = fmin(low, 0.85 * row->ratio);
        high = fmax(high, 1.15 * row->ratio);
        if (!row->verified) all_verified = false;
    }
    if (ops.count == 0) return true;
    FILE *script = open_memstream(&text, &size);
    if (!script) return false;
    write_ratio_script(figures, &devices, &ops, low, high, all_verified, script);
    bool good = fclose(script) == 0;
    good = good && bench_figure(figures, "Ratio to the baseline, by operation",
                                "One point for each case; right of the line at 1 is faster than "
                                "the baseline.",
                                920, 90 + 24 * ops.count, text);
    free(text);
    return good;
}
