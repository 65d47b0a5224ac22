/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How work that ranks share scales: one figure for each operation that was measured with several numbers of ranks, and
 * in it a line for each form, dtype and shape. */
#include <math.h>
#include <string.h>

#include "report/plots.h"
#include "report/svg.h"

enum { HEIGHT = 250, LEFT = 40, RIGHT = 18, TOP = 22, BELOW = 40, MAX_LINES = 8 };

static bool scales(const bench_row *row) {
    return row->ranks > 0 && row->flops > 0.0 && row->seconds.median > 0.0;
}

/* "layers" of "layers+data+weak": the rows of one figure. */
static bool is_of_figure(const bench_row *row, const bench_row *first) {
    const size_t length = strcspn(first->op, "+");
    return scales(row) && strcspn(row->op, "+") == length &&
           strncmp(row->op, first->op, length) == 0;
}

static bool is_of_line(const bench_row *row, const bench_row *first) {
    return scales(row) && bench_row_is_like(row, first) && row->device == first->device &&
           strcmp(row->shape.text, first->shape.text) == 0;
}

/* Of a line, its row with the fewest ranks; NULL where all have as many. */
static const bench_row *fewest_of_line(const bench_figures *figures, const bench_row *of) {
    const bench_row *fewest = of;
    bool several = false;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (!is_of_line(row, of)) continue;
        several = several || row->ranks != of->ranks;
        if (row->ranks < fewest->ranks) fewest = row;
    }
    return several ? fewest : NULL;
}

/* As many times the work in a second as with the fewest ranks, which count for as many as they are. */
static double speed(const bench_row *row, const bench_row *fewest) {
    return fewest->ranks * (row->flops / row->seconds.median) /
           (fewest->flops / fewest->seconds.median);
}

typedef struct lines {
    const bench_row *fewest[MAX_LINES];
    bench_labels labels;
    int most_ranks;
    double high;
} lines;

static void collect(const bench_figures *figures, const bench_row *first, lines *all) {
    *all = (lines){.most_ranks = 1};
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        char label[80];
        if (!is_of_figure(row, first)) continue;
        const bench_row *fewest = fewest_of_line(figures, row);
        if (!fewest) continue;
        snprintf(label, sizeof label, "%.24s %s %.40s", row->op, tdm_dtype_name(row->dtype),
                 row->shape.text);
        const int before = all->labels.count;
        if (before == MAX_LINES) continue;
        const int line = bench_label(&all->labels, label);
        if (line == before) all->fewest[line] = fewest;
        if (row->ranks > all->most_ranks) all->most_ranks = row->ranks;
        all->high = fmax(all->high, speed(row, fewest));
    }
}

/* The row of a line with the next more ranks than these. */
static const bench_row *next_of_line(const bench_figures *figures, const bench_row *of, int ranks) {
    const bench_row *next = NULL;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (is_of_line(row, of) && row->ranks > ranks && (!next || row->ranks < next->ranks))
            next = row;
    }
    return next;
}

static void draw_line(const bench_figures *figures, const bench_row *fewest, int line,
                      const bench_scale *x, const bench_scale *y) {
    FILE *page = figures->page;
    fprintf(page, "<g class=\"%s\">\n<polyline points=\"", bench_series_class(line));
    for (const bench_row *row = fewest; row; row = next_of_line(figures, fewest, row->ranks))
        fprintf(page, "%.1f,%.1f ", bench_place(x, row->ranks), bench_place(y, speed(row, fewest)));
    fputs("\"/>\n", page);
    for (const bench_row *row = fewest; row; row = next_of_line(figures, fewest, row->ranks)) {
        char text[160], seconds[16], rate[24];
        snprintf(text, sizeof text, "%s %s, %d ranks: %s, %s", row->op, row->shape.text, row->ranks,
                 bench_format_seconds(row->seconds.median, seconds), bench_format_rate(row, rate));
        bench_svg_point(page, bench_place(x, row->ranks), bench_place(y, speed(row, fewest)), 2.8,
                        bench_row_is_noisy(row), text);
    }
    fputs("</g>\n", page);
}

static void draw_axes(FILE *page, const bench_scale *x, const bench_scale *y, int most_ranks) {
    const bench_ticks ticks = bench_round_ticks(y, 26.0);
    char text[24];
    const int step = (most_ranks + 7) / 8;
    for (int ranks = step; ranks <= most_ranks; ranks += step) {
        const double at = bench_place(x, ranks);
        snprintf(text, sizeof text, "%d", ranks);
        bench_svg_line(page, at, y->from, at, y->to, "grid");
        bench_svg_text(page, at, y->from + 15.0, BENCH_MIDDLE, "tick", text);
    }
    for (int i = 0; i < ticks.count; i++) {
        const double at = bench_place(y, ticks.at[i]);
        snprintf(text, sizeof text, "%g", ticks.at[i]);
        bench_svg_line(page, x->from, at, x->to, at, "grid");
        bench_svg_text(page, x->from - 6.0, at + 4.0, BENCH_END, "tick", text);
    }
    bench_svg_line(page, x->from, y->from, x->to, y->from, "axis");
    bench_svg_line(page, x->from, y->from, x->from, y->to, "axis");
    bench_svg_line(page, bench_place(x, 1), bench_place(y, 1), bench_place(x, most_ranks),
                   bench_place(y, most_ranks), "one");
    bench_svg_text(page, (x->from + x->to) / 2.0, y->from + 32.0, BENCH_MIDDLE, "tick", "ranks");
    bench_svg_text(page, 0.0, 12.0, BENCH_START, "tick", "speed; one rank's is 1");
}

static void plot(const bench_figures *figures, const bench_row *first) {
    lines all;
    collect(figures, first, &all);
    if (all.labels.count == 0) return;
    char title[96];
    bool has[BENCH_MAX_LABELS];
    const bench_scale x = {0.8, all.most_ranks + 0.2, false, LEFT, BENCH_SVG_WIDTH - RIGHT};
    const bench_scale y = {0.0, 1.1 * fmax(all.high, all.most_ranks), false, HEIGHT - BELOW, TOP};
    for (int i = 0; i < BENCH_MAX_LABELS; i++)
        has[i] = true;
    snprintf(title, sizeof title, "%.*s over ranks", (int)strcspn(first->op, "+"), first->op);
    bench_figure_begin(figures->page, title, &all.labels, has);
    bench_svg_begin(figures->page, title, HEIGHT);
    draw_axes(figures->page, &x, &y, all.most_ranks);
    for (int i = 0; i < all.labels.count; i++)
        draw_line(figures, all.fewest[i], i, &x, &y);
    bench_svg_end(figures->page);
    bench_figure_end(figures->page,
                     "How much is done in a second, as a multiple of what one rank does, or one of "
                     "the fewest that were measured. The straight line is as many times as there "
                     "are ranks. With +weak the work grows with the ranks.");
}

bool bench_plot_ranks(const bench_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        bool first = scales(row);
        for (size_t j = 0; j < i && first; j++)
            first = !is_of_figure(&figures->rows[j], row);
        if (first) plot(figures, row);
    }
    return true;
}
