/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Bars: a few times next to each other, for work that is done in two ways. */
#include <math.h>
#include <string.h>

#include "report/plots.h"
#include "report/svg.h"

enum { MAX_BARS = 24 };

typedef struct bars {
    struct {
        char label[128];
        double seconds;
        const char *class; /* of the style sheet, for its colour */
    } bar[MAX_BARS];
    int count;
} bars;

static void add(bars *b, double seconds, const char *class, const char *who, const char *what) {
    if (!(seconds > 0.0) || b->count == MAX_BARS) return;
    snprintf(b->bar[b->count].label, sizeof b->bar[0].label, "%s%s%s", who, *what ? ": " : "",
             what);
    b->bar[b->count].seconds = seconds;
    b->bar[b->count++].class = class;
}

/* Each bar has its label above it and its time after it. */
static void plot(FILE *page, const bars *b, const char *title, const char *caption) {
    enum { LINE = 38, BAR = 14, FOR_TIME = 66 };
    const bench_labels none = {.count = 0};
    char seconds[16];
    double longest = 0.0;
    for (int i = 0; i < b->count; i++)
        longest = fmax(longest, b->bar[i].seconds);
    bench_figure_begin(page, title, &none, NULL);
    bench_svg_begin(page, title, LINE * b->count);
    for (int i = 0; i < b->count; i++) {
        const double y = LINE * i;
        const double width = fmax((BENCH_SVG_WIDTH - FOR_TIME) * b->bar[i].seconds / longest, 1.0);
        bench_svg_text(page, 0.0, y + 14.0, BENCH_START, "", b->bar[i].label);
        fprintf(page, "<rect class=\"%s\" x=\"0\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/>\n",
                b->bar[i].class, y + 19.0, width, BAR);
        bench_svg_text(page, width + 6.0, y + 30.5, BENCH_START, "tick",
                       bench_format_seconds(b->bar[i].seconds, seconds));
    }
    bench_svg_end(page);
    bench_figure_end(page, caption);
}

static const char kept_name[] = "matmul+norm_l2_kept", logged_name[] = "matmul+norm_l2_logged";

static bool is_of_norms(const bench_row *row) {
    return strcmp(row->op, kept_name) == 0 || strcmp(row->op, logged_name) == 0;
}

/* The same dtype and shape? */
static bool has_size_of(const bench_row *row, const bench_row *other) {
    return row->dtype == other->dtype && strcmp(row->shape.text, other->shape.text) == 0;
}

/* Both forms on each device, the same in PyTorch, and the products alone. */
static void plot_norms_of(const bench_figures *figures, const bench_row *like) {
    bars b = {.count = 0};
    char name[80], title[96];
    const bench_row *kept = NULL, *logged = NULL;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (!is_of_norms(row) || !has_size_of(row, like)) continue;
        const bool is_kept = strcmp(row->op, kept_name) == 0;
        if (is_kept && !kept) kept = row;
        if (!is_kept && !logged) logged = row;
        add(&b, row->seconds.median, is_kept ? "s0" : "s1", bench_row_devices(row, name),
            is_kept ? "kept on the device, read once" : "logged one by one");
    }
    if (logged) add(&b, logged->peer_seconds[BENCH_PYTORCH], "s2", "PyTorch", "logged one by one");
    if (kept) {
        add(&b, kept->peer_seconds[BENCH_PYTORCH], "s2", "PyTorch", "batched, read once");
        add(&b, kept->baseline_seconds, "muted", kept->baseline, "products alone");
    }
    snprintf(title, sizeof title, "Products and their Frobenius norms, %s %s", like->shape.text,
             tdm_dtype_name(like->dtype));
    if (b.count > 0)
        plot(figures->page, &b, title,
             "Reading each norm back waits for its product; norms that stay on the device are read "
             "back once, at the end.");
}

bool bench_plot_norms(const bench_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        bool first = is_of_norms(row);
        for (size_t j = 0; j < i && first; j++)
            first = !is_of_norms(&figures->rows[j]) || !has_size_of(&figures->rows[j], row);
        if (first) plot_norms_of(figures, row);
    }
    return true;
}

/* Products of two devices: each shape has its own figure, as their times lie far apart. */
bool bench_plot_pairs(const bench_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *like = &figures->rows[i];
        const bool pair = like->second && like->flops > 0.0;
        bars b = {.count = 0};
        char name[80], title[96];
        bool first = true;
        const char *note = "";
        for (size_t j = 0; j < figures->count && pair; j++) {
            const bench_row *row = &figures->rows[j];
            if (strcmp(row->op, like->op) != 0 || !has_size_of(row, like)) continue;
            if (j < i) first = false;
            add(&b, row->seconds.median, "s0", bench_row_devices(row, name), "at once");
            add(&b, row->baseline_seconds, "muted", row->baseline, "");
            if (row->note[0]) note = row->note;
        }
        if (!first || b.count == 0) continue;
        snprintf(title, sizeof title, "Two devices at once, %s %s", like->shape.text,
                 tdm_dtype_name(like->dtype));
        char caption[200];
        snprintf(caption, sizeof caption, "One product on each device%s%s.", *note ? "; " : "",
                 note);
        plot(figures->page, &b, title, caption);
    }
    return true;
}
