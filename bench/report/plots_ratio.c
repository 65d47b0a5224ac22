/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The ratios to the baselines, by operation: a line for each, a point for each case. */
#include <math.h>
#include <string.h>

#include "report/plots.h"
#include "report/svg.h"

enum { LINE = 22, TOP = 10, BELOW = 36, RIGHT = 10 };

static bool has_ratio(const bench_row *row) { return isfinite(row->ratio) && row->ratio > 0.0; }

static void draw_grid(FILE *page, const bench_scale *x, const bench_labels *ops) {
    const double bottom = TOP + LINE * ops->count;
    const bench_ticks ticks = bench_round_ticks(x, 42.0);
    char text[16];
    for (int i = 0; i < ops->count; i++) {
        const double y = (double)TOP + (double)LINE * (i + 0.5);
        bench_svg_line(page, x->from, y, x->to, y, "grid");
        bench_svg_text(page, x->from - 8.0, y + 4.0, BENCH_END, "", ops->text[i]);
    }
    for (int i = 0; i < ticks.count; i++) {
        const double at = bench_place(x, ticks.at[i]);
        bench_svg_line(page, at, TOP, at, bottom, ticks.at[i] == 1.0 ? "one" : "grid");
        snprintf(text, sizeof text, "%g", ticks.at[i]);
        bench_svg_text(page, at, bottom + 15.0, BENCH_MIDDLE, "tick", text);
    }
    bench_svg_text(page, x->to, bottom + 31.0, BENCH_END, "tick",
                   "ratio: right of 1 is faster than the baseline");
}

/* The points of a device lie in their own part of the line. */
static void draw_points(const bench_figures *figures, const bench_scale *x, bench_labels *ops,
                        bench_labels *devices) {
    char name[80], text[256];
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (!has_ratio(row)) continue;
        const int device = bench_label(devices, bench_row_devices(row, name));
        const int op = bench_label(ops, row->op);
        const double shift = 0.7 * ((device + 0.5) / devices->count - 0.5);
        snprintf(text, sizeof text, "%s %s %s %s: %.2f%s", name, row->op,
                 tdm_dtype_name(row->dtype), row->shape.text, row->ratio,
                 row->verified ? "" : ", not verified");
        fprintf(figures->page, "<g class=\"%s\">",
                row->verified ? bench_series_class(device) : "bad");
        bench_svg_point(figures->page, bench_place(x, row->ratio),
                        (double)TOP + (double)LINE * (op + 0.5 + shift), row->verified ? 3.0 : 4.5,
                        bench_row_is_noisy(row), text);
        fputs("</g>\n", figures->page);
    }
}

bool bench_plot_ratios(const bench_figures *figures) {
    bench_labels devices = bench_device_labels(figures), ops = {.count = 0};
    char name[80];
    double widest = 0.0;
    bool all_verified = true, has[BENCH_MAX_LABELS] = {false};
    bench_scale x = {.low = 0.7, .high = 1.4, .log = true, .to = BENCH_SVG_WIDTH - RIGHT};
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (!has_ratio(row)) continue;
        bench_label(&ops, row->op);
        has[bench_label(&devices, bench_row_devices(row, name))] = true;
        widest = fmax(widest, bench_svg_text_width(row->op));
        x.low = fmin(x.low, 0.9 * row->ratio);
        x.high = fmax(x.high, 1.1 * row->ratio);
        all_verified = all_verified && row->verified;
    }
    if (ops.count == 0) return true;
    x.from = widest + 10.0;
    bench_figure_begin(figures->page, "Ratio to the baseline, by operation", &devices, has);
    bench_svg_begin(figures->page, "Ratio to the baseline, by operation",
                    TOP + LINE * ops.count + BELOW);
    draw_grid(figures->page, &x, &ops);
    draw_points(figures, &x, &ops, &devices);
    bench_svg_end(figures->page);
    bench_figure_end(figures->page,
                     all_verified
                         ? "Each point is a case; hollow ones are noisy."
                         : "Each point is a case; hollow ones are noisy, large red ones are "
                           "not verified.");
    return true;
}
