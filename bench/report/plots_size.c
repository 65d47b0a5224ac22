/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rates and times against size: one figure for each operation and dtype with three sizes or more.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "report/plots.h"

typedef enum quantity { RATE, SECONDS } quantity;

typedef struct point {
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

/* A matmul's size is the side of the cube of as many multiplications, else the bytes of a call; 0
 * for a row that is in no plot. */
static double size_of(const bench_row *row) {
    if (!(row->seconds.median > 0.0) || row->second) return 0.0;
    if (row->flops > 0.0) return is_like_a_cube(&row->shape) ? cbrt(row->flops / 2.0) : 0.0;
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
        *p = (point){bench_label(devices, bench_row_devices(row, name)), size, value,
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

/* The middle one of the points of one device and one size; *next is behind them. */
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

/* Blocks $a<d>: every point; $l<d>: the middle one of each size, with its baseline. */
static void write_data(const points *all, int devices, FILE *script) {
    for (int d = 0; d < devices; d++) {
        fprintf(script, "$a%d << EOD\n", d);
        for (size_t i = 0; i < all->count; i++) {
            const point *p = &all->point[i];
            if (p->device == d) fprintf(script, "%.9g %.6g\n", p->size, p->tandem);
        }
        fprintf(script, "EOD\n$l%d << EOD\n", d);
        for (size_t i = 0, next = 0; i < all->count; i = next) {
            const point *p = middle(all, i, &next);
            if (p->device != d) continue;
            fprintf(script, "%.9g %.6g ", p->size, p->tandem);
            fprintf(script, isnan(p->baseline) ? "NaN\n" : "%.6g\n", p->baseline);
        }
        fputs("EOD\n", script);
    }
}

static bool has_device(const points *all, int device) {
    for (size_t i = 0; i < all->count; i++) {
        if (all->point[i].device == device) return true;
    }
    return false;
}

/* About six labels at powers of two, as numbers or as bytes. */
static void write_size_tics(const points *all, bool bytes, FILE *script) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const double step = fmax(1.0, ceil(log2(all->largest / all->smallest) / 6.0));
    const char *separator = "set xtics (";
    const double first = ceil(log2(all->smallest / 1.1)), last = log2(all->largest * 1.1);
    for (int i = 0; first + i * step <= last; i++) {
        const double power = first + i * step;
        const int unit = bytes ? (int)fmin(fmax(power, 0.0) / 10.0, 4.0) : 0;
        fprintf(script, "%s'%.0f%s%s' %.0f", separator, exp2(power - 10.0 * unit), bytes ? " " : "",
                bytes ? units[unit] : "", exp2(power));
        separator = ", ";
    }
    if (*separator == ',') fputs(")\n", script);
}

static void write_axes(const points *all, bool gemm, quantity what, FILE *script) {
    char muted[8];
    bench_colour(BENCH_MUTED, muted);
    fprintf(script, "set logscale x 2\nset xrange [%.9g:%.9g]\n", all->smallest / 1.15,
            all->largest * 1.15);
    write_size_tics(all, !gemm, script);
    fprintf(script, "set xlabel '%s' tc rgb '%s'\n",
            gemm ? "side of a cube of as many multiplications" : "bytes read and written", muted);
    fprintf(script, "set ylabel '%s' tc rgb '%s'\n",
            what == SECONDS ? "seconds"
            : gemm          ? "GFLOP/s"
                            : "GB/s",
            muted);
    if (what == SECONDS || all->high > 30.0 * all->low)
        fprintf(script, "set logscale y 10\nset format y '%s'\nset yrange [%.6g:%.6g]\n",
                what == SECONDS ? "%.0s %cs" : "%g", all->low / 1.3, all->high * 1.3);
    else
        fprintf(script, "set yrange [0:%.6g]\n", 1.1 * all->high);
    fputs("set key outside top left horizontal samplen 1.5\n", script);
}

static bool plot(bench_figures *figures, const bench_row *row, quantity what, const points *all,
                 const bench_labels *devices) {
    char *text = NULL, colour[8], title[128];
    size_t size;
    FILE *script = open_memstream(&text, &size);
    if (!script) return false;
    const bool gemm = row->flops > 0.0;
    write_data(all, devices->count, script);
    write_axes(all, gemm, what, script);
    const char *separator = "plot";
    for (int d = 0; d < devices->count; d++) {
        if (!has_device(all, d)) continue;
        bench_colour(bench_series_colour(d), colour);
        fprintf(script, "%s $l%d using 1:3 with lines dt 2 lw 1.2 lc rgb '%s' notitle", separator,
                d, colour);
        fprintf(script, ", $a%d with points pt 7 ps 0.45 lc rgb '%s' notitle", d, colour);
        fprintf(script, ", $l%d using 1:2 with lines lw 2 lc rgb '%s' title ", d, colour);
        bench_gnuplot_string(script, devices->text[d]);
        separator = ",";
    }
    fputc('\n', script);
    snprintf(title, sizeof title, "%s %s: %s against size", row->op, tdm_dtype_name(row->dtype),
             what == RATE ? "rate" : "time");
    bool good = fclose(script) == 0;
    good = good &&
           bench_figure(figures, title,
                        all->any_baseline
                            ? "Dashed: the baseline. Where shapes are of one size, the line goes "
                              "through the middle one."
                            : "Where shapes are of one size, the line goes through the middle one.",
                        500, 320, text);
    free(text);
    return good;
}

static bool plot_like(bench_figures *figures, const bench_row *row, quantity what) {
    bench_labels devices = bench_device_labels(figures);
    points all;
    bool good = collect(figures, row, what, &devices, &all);
    if (good && count_sizes(&all) >= 3) good = plot(figures, row, what, &all, &devices);
    free(all.point);
    return good;
}

/* The first row of its operation and dtype? */
static bool is_first(const bench_figures *figures, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (bench_row_is_like(&figures->rows[i], &figures->rows[index])) return false;
    }
    return true;
}

bool bench_plot_sizes(bench_figures *figures) {
    bool good = true;
    for (size_t i = 0; i < figures->count && good; i++) {
        const bench_row *row = &figures->rows[i];
        if (!is_first(figures, i)) continue;
        good = plot_like(figures, row, RATE);
        if (good && row->flops > 0.0) good = plot_like(figures, row, SECONDS);
    }
    return good;
}
