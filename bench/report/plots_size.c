/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rates and times against size: one figure for each operation and dtype with three sizes or more.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/plots.h"
#include "report/svg.h"

typedef enum quantity { RATE, SECONDS } quantity;

typedef struct point {
    const bench_row *row;
    int device;
    double size, tandem, baseline; /* baseline NaN where there is none */
} point;

typedef struct points {
    point *point;
    size_t count;
    double smallest, largest; /* sizes */
    double low, high;         /* values */
    bool any_baseline;
} points;

/* Products whose sides differ much have no one size. */
static bool is_like_a_cube(const bench_shape *shape) {
    double low = INFINITY, high = 0.0;
    for (int i = 0; i < shape->extents; i++) {
        low = fmin(low, (double)shape->extent[i]);
        high = fmax(high, (double)shape->extent[i]);
    }
    return shape->batch == 1 && high <= 4.0 * low;
}

/* A matmul's size is the side of the cube of as many multiplications, a collective's the bytes of its tensor, else the
 * bytes of a call; 0 for a row that is in no plot. */
static double size_of(const bench_row *row) {
    if (!(row->seconds.median > 0.0) || row->second) return 0.0;
    if (row->flops > 0.0) return is_like_a_cube(&row->shape) ? cbrt(row->flops / 2.0) : 0.0;
    if (row->ranks && row->bytes > 0.0)
        return (double)row->shape.extent[0] * (double)tdm_dtype_size(row->dtype);
    return row->bytes;
}

static int compare_points(const void *left, const void *right) {
    const point *a = left, *b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (fabs(a->size - b->size) > 1e-6 * a->size) return a->size < b->size ? -1 : 1;
    return a->tandem < b->tandem ? -1 : a->tandem > b->tandem;
}

static bool collect(const bench_figures *figures, const bench_row *like, quantity what,
                    bench_labels *devices, points *all) {
    char name[80];
    *all = (points){.smallest = INFINITY, .low = INFINITY};
    all->point = calloc(figures->count, sizeof *all->point);
    if (!all->point) return false;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        const double size = size_of(row);
        if (!bench_row_is_like(row, like) || !(size > 0.0)) continue;
        const double rate = row->flops > 0.0 ? row->gflops : row->gbytes_per_s;
        const double value = what == RATE ? rate : row->seconds.median;
        point *p = &all->point[all->count++];
        *p = (point){row, bench_label(devices, bench_row_devices(row, name)), size, value,
                     what == RATE ? rate / row->ratio : row->baseline_seconds};
        if (!isnan(p->baseline)) all->any_baseline = true;
        all->smallest = fmin(all->smallest, size);
        all->largest = fmax(all->largest, size);
        all->low = fmin(all->low, fmin(value, isnan(p->baseline) ? value : p->baseline));
        all->high = fmax(all->high, fmax(value, isnan(p->baseline) ? value : p->baseline));
    }
    qsort(all->point, all->count, sizeof *all->point, compare_points);
    return true;
}

/* The middle one of the points of one device and one size; *next is past them. */
static const point *middle(const points *all, size_t first, size_t *next) {
    size_t end = first + 1;
    const point *a = &all->point[first];
    while (end < all->count && all->point[end].device == a->device &&
           fabs(all->point[end].size - a->size) <= 1e-6 * a->size)
        end++;
    *next = end;
    return &all->point[first + (end - first) / 2];
}

static int count_sizes(const points *all) {
    int most = 0;
    for (size_t i = 0, next = 0; i < all->count;) {
        int sizes = 0;
        const int device = all->point[i].device;
        for (; i < all->count && all->point[i].device == device; i = next) {
            middle(all, i, &next);
            sizes++;
        }
        if (sizes > most) most = sizes;
    }
    return most;
}

/* "16 MiB", "1024", "100 us", "0.5": a tick's label. */
static const char *format_tick(double value, bool bytes, bool seconds, char text[24]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static const char *const parts[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    if (bytes) {
        while (unit < 4 && value >= 1023.5) {
            value /= 1024.0;
            unit++;
        }
        snprintf(text, 24, "%.0f %s", value, units[unit]);
    } else if (seconds) {
        for (value *= 1e9; unit < 3 && value >= 999.5; unit++)
            value /= 1000.0;
        snprintf(text, 24, "%.3g %s", value, parts[unit]);
    } else {
        snprintf(text, 24, "%g", value);
    }
    return text;
}

/* Sizes are powers of two, about five of them. */
static void draw_sizes(FILE *page, const bench_scale *x, const bench_scale *y, bool bytes) {
    char text[24];
    const int first = (int)ceil(log2(x->low)), last = (int)floor(log2(x->high));
    const int step = last - first <= 4 ? 1 : (last - first + 3) / 4;
    for (int power = first; power <= last; power += step) {
        const double at = bench_place(x, exp2(power));
        bench_svg_line(page, at, y->from, at, y->to, "grid");
        bench_svg_text(page, at, y->from + 15.0, BENCH_MIDDLE, "tick",
                       format_tick(exp2(power), bytes, false, text));
    }
}

static void draw_axes(FILE *page, const bench_scale *x, const bench_scale *y, const bench_row *row,
                      quantity what) {
    const bool gemm = row->flops > 0.0;
    const bench_ticks ticks = bench_round_ticks(y, 26.0);
    char text[24];
    draw_sizes(page, x, y, !gemm);
    for (int i = 0; i < ticks.count; i++) {
        const double at = bench_place(y, ticks.at[i]);
        bench_svg_line(page, x->from, at, x->to, at, "grid");
        bench_svg_text(page, x->from - 6.0, at + 4.0, BENCH_END, "tick",
                       format_tick(ticks.at[i], false, what == SECONDS, text));
    }
    bench_svg_line(page, x->from, y->from, x->to, y->from, "axis");
    bench_svg_line(page, x->from, y->from, x->from, y->to, "axis");
    bench_svg_text(page, (x->from + x->to) / 2.0, y->from + 32.0, BENCH_MIDDLE, "tick",
                   gemm         ? "side of a cube of as many multiplications"
                   : row->ranks ? "bytes of the tensor"
                                : "bytes read and written");
    bench_svg_text(page, 0.0, 12.0, BENCH_START, "tick",
                   what == SECONDS ? "time of a call"
                   : gemm          ? "GFLOP/s"
                                   : "GB/s");
}

/* A line through the middle points of one device: Tandem's, or the baseline's. */
static void draw_line(FILE *page, const points *all, int device, bool baseline,
                      const bench_scale *x, const bench_scale *y) {
    int drawn = 0;
    for (size_t i = 0, next = 0; i < all->count; i = next) {
        const point *p = middle(all, i, &next);
        const double value = baseline ? p->baseline : p->tandem;
        if (p->device != device || isnan(value)) continue;
        if (drawn++ == 0)
            fprintf(page, "<polyline%s points=\"", baseline ? " class=\"baseline\"" : "");
        fprintf(page, "%.1f,%.1f ", bench_place(x, p->size), bench_place(y, value));
    }
    if (drawn > 0) fputs("\"/>\n", page);
}

static void draw_device(FILE *page, const points *all, int device, const bench_scale *x,
                        const bench_scale *y) {
    fprintf(page, "<g class=\"%s\">\n", bench_series_class(device));
    draw_line(page, all, device, true, x, y);
    draw_line(page, all, device, false, x, y);
    for (size_t i = 0; i < all->count; i++) {
        const point *p = &all->point[i];
        char text[96], seconds[16];
        if (p->device != device) continue;
        snprintf(text, sizeof text, "%s: %s, %s", p->row->shape.text,
                 bench_format_seconds(p->row->seconds.median, seconds),
                 bench_format_rate(p->row, (char[24]){0}));
        bench_svg_point(page, bench_place(x, p->size), bench_place(y, p->tandem), 2.8,
                        bench_row_is_noisy(p->row), text);
    }
    fputs("</g>\n", page);
}

static void plot(FILE *page, const bench_row *row, quantity what, const points *all,
                 const bench_labels *devices) {
    enum { HEIGHT = 236, LEFT = 48, RIGHT = 18, TOP = 22, BELOW = 40 };
    char title[128];
    const bench_scale x = {all->smallest / 1.15, all->largest * 1.15, true, LEFT,
                           BENCH_SVG_WIDTH - RIGHT};
    bench_scale y = {0.0, 1.1 * all->high, false, HEIGHT - BELOW, TOP};
    if (what == SECONDS || all->high > 30.0 * all->low) {
        y.log = true;
        y.low = all->low / 1.3;
        y.high = all->high * 1.3;
    }
    snprintf(title, sizeof title, "%s %s: %s against size", row->op, tdm_dtype_name(row->dtype),
             what == RATE ? "rate" : "time");
    bool has[BENCH_MAX_LABELS] = {false};
    for (size_t i = 0; i < all->count; i++)
        has[all->point[i].device] = true;
    bench_figure_begin(page, title, devices, has);
    bench_svg_begin(page, title, HEIGHT);
    draw_axes(page, &x, &y, row, what);
    for (int d = 0; d < devices->count; d++)
        draw_device(page, all, d, &x, &y);
    bench_svg_end(page);
    char caption[256], dashed[64] = "";
    if (all->any_baseline)
        snprintf(dashed, sizeof dashed, "Dashed: %s. ",
                 row->ranks && row->baseline[0] ? row->baseline : "the baseline");
    snprintf(
        caption, sizeof caption,
        "Each point is a case; hollow ones are noisy. %sWhere shapes are of one size, the line "
        "goes through the middle one.",
        dashed);
    bench_figure_end(page, caption);
}

static bool plot_like(const bench_figures *figures, const bench_row *row, quantity what) {
    bench_labels devices = bench_device_labels(figures);
    points all;
    if (!collect(figures, row, what, &devices, &all)) return false;
    if (count_sizes(&all) >= 3) plot(figures->page, row, what, &all, &devices);
    free(all.point);
    return true;
}

/* The first row of its operation and dtype? */
static bool is_first(const bench_figures *figures, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (bench_row_is_like(&figures->rows[i], &figures->rows[index])) return false;
    return true;
}

bool bench_plot_sizes(const bench_figures *figures) {
    bool good = true;
    for (size_t i = 0; i < figures->count && good; i++) {
        const bench_row *row = &figures->rows[i];
        if (!is_first(figures, i)) continue;
        good = plot_like(figures, row, RATE);
        if (good && row->flops > 0.0) good = plot_like(figures, row, SECONDS);
    }
    return good;
}
