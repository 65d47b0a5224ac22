/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/html.h"

double bench_place(const bench_scale *s, double value) {
    const double part = s->log ? log(value / s->low) / log(s->high / s->low)
                               : (value - s->low) / (s->high - s->low);
    return s->from + part * (s->to - s->from);
}

/* Adds a tick where there is room for it. */
static void add_tick(bench_ticks *ticks, const bench_scale *scale, double value, double spacing) {
    const double slack = 1e-9 * fabs(scale->high);
    if (value < scale->low - slack || value > scale->high + slack) return;
    if (ticks->count == BENCH_MAX_TICKS) return;
    for (int i = 0; i < ticks->count; i++)
        if (fabs(bench_place(scale, ticks->at[i]) - bench_place(scale, value)) < spacing) return;
    ticks->at[ticks->count++] = value;
}

bench_ticks bench_round_ticks(const bench_scale *scale, double spacing) {
    /* the rounder a number, the sooner it gets its place */
    static const double rounds[] = {1.0, 5.0, 2.0, 3.0, 7.0, 1.5};
    bench_ticks ticks = {.count = 0};
    if (scale->log) {
        const int first = (int)floor(log10(scale->low)), last = (int)ceil(log10(scale->high));
        for (int r = 0; r < 6; r++)
            for (int power = first; power <= last; power++)
                add_tick(&ticks, scale, rounds[r] * pow(10.0, power), spacing);
        return ticks;
    }
    const double most = fmax(fabs(scale->to - scale->from) / spacing, 1.0);
    const double least = (scale->high - scale->low) / most;
    double step = pow(10.0, floor(log10(least)));
    step *= step >= least ? 1.0 : 2.0 * step >= least ? 2.0 : 5.0 * step >= least ? 5.0 : 10.0;
    const double first = step * ceil(scale->low / step);
    for (int i = 0; first + i * step <= scale->high; i++)
        add_tick(&ticks, scale, first + i * step, 0.0);
    return ticks;
}

void bench_svg_begin(FILE *page, const char *label, double height) {
    fprintf(page, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", BENCH_SVG_WIDTH,
            height);
    bench_html_text(page, label);
    fputs("\">\n", page);
}

void bench_svg_end(FILE *page) { fputs("</svg>", page); }

void bench_svg_text(FILE *page, double x, double y, bench_anchor anchor, const char *class,
                    const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchors[anchor]);
    if (*class) fprintf(page, " class=\"%s\"", class);
    fputc('>', page);
    bench_html_text(page, text);
    fputs("</text>\n", page);
}

void bench_svg_line(FILE *page, double x1, double y1, double x2, double y2, const char *class) {
    fprintf(page, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
            x2, y2, class);
}

void bench_svg_point(FILE *page, double x, double y, double radius, bool is_hollow,
                     const char *explanation) {
    fprintf(page, "<circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
            is_hollow ? " class=\"noisy\"" : "", x, y, radius);
    bench_html_text(page, explanation);
    fputs("</title></circle>\n", page);
}

double bench_svg_text_width(const char *text) { return 7.3 * (double)strlen(text); }
