/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Bars: a few times beside each other, for what is done in two ways. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "report/plots.h"

enum { MAX_BARS = 24 };

typedef struct bars {
    struct {
        char label[128];
        double seconds;
        int colour;
    } bar[MAX_BARS];
    int count;
} bars;

static void add(bars *b, double seconds, int colour, const char *who, const char *what) {
    if (!(seconds > 0.0) || b->count == MAX_BARS) return;
    snprintf(b->bar[b->count].label, sizeof b->bar[0].label, "%s%s%s", who, *what ? ": " : "",
             what);
    b->bar[b->count].seconds = seconds;
    b->bar[b->count++].colour = colour;
}

static void write_script(const bars *b, FILE *script) {
    char colour[8], seconds[16];
    double longest = 0.0;
    fputs("$d << EOD\n", script);
    for (int i = 0; i < b->count; i++) {
        fprintf(script, "%.6g %d %d \"%s\"\n", b->bar[i].seconds, i, b->bar[i].colour * 0x010101,
                bench_format_seconds(b->bar[i].seconds, seconds));
        longest = fmax(longest, b->bar[i].seconds);
    }
    fprintf(script,
            "EOD\nunset key\nunset grid\nset border 2\nunset xtics\nset xrange [0:%.6g]\n"
            "set yrange [%d.5:-0.5]\n",
            1.2 * longest, b->count - 1);
    for (int i = 0; i < b->count; i++) {
        fputs(i == 0 ? "set ytics scale 0 (" : ", ", script);
        bench_gnuplot_string(script, b->bar[i].label);
        fprintf(script, " %d", i);
    }
    fprintf(script, ") tc rgb '%s'\n", bench_colour(BENCH_INK, colour));
    fprintf(script,
            "plot $d using 1:2:(0):1:($2-0.36):($2+0.36):3 with boxxyerror fs solid noborder "
            "lc rgb variable, $d using 1:2:4 with labels left offset 0.6,0 tc rgb '%s'\n",
            bench_colour(BENCH_INK, colour));
}

static bool plot(bench_figures *figures, const bars *b, int width, const char *title,
                 const char *caption) {
    char *text = NULL;
    size_t size;
    FILE *script = open_memstream(&text, &size);
    if (!script) return false;
    write_script(b, script);
    bool good = fclose(script) == 0;
    good = good && bench_figure(figures, title, caption, width, 40 + 26 * b->count, text);
    free(text);
    return good;
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
static bool plot_norms_of(bench_figures *figures, const bench_row *like) {
    bars b = {.count = 0};
    char name[80], title[96];
    const bench_row *kept = NULL, *logged = NULL;
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        if (!is_of_norms(row) || !has_size_of(row, like)) continue;
        const bool is_kept = strcmp(row->op, kept_name) == 0;
        if (is_kept && !kept) kept = row;
        if (!is_kept && !logged) logged = row;
        add(&b, row->seconds.median, BENCH_SERIES + !is_kept, bench_row_devices(row, name),
            is_kept ? "kept on the device, read once" : "logged one by one");
    }
    if (logged) add(&b, logged->pytorch_seconds, BENCH_SERIES + 2, "PyTorch", "logged one by one");
    if (kept) {
        add(&b, kept->pytorch_seconds, BENCH_SERIES + 2, "PyTorch", "batched, read once");
        add(&b, kept->baseline_seconds, BENCH_MUTED, kept->baseline, "products alone");
    }
    snprintf(title, sizeof title, "Products and their Frobenius norms, %s %s", like->shape.text,
             tdm_dtype_name(like->dtype));
    return b.count == 0 ||
           plot(figures, &b, 920, title,
                "Reading each norm back waits for its product; norms that stay on the device are "
                "read back once, at the end.");
}

bool bench_plot_norms(bench_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        const bench_row *row = &figures->rows[i];
        bool first = is_of_norms(row);
        for (size_t j = 0; j < i && first; j++)
            first = !is_of_norms(&figures->rows[j]) || !has_size_of(&figures->rows[j], row);
        if (first && !plot_norms_of(figures, row)) return false;
    }
    return true;
}

/* Products of two devices: each shape has its own figure, as their times lie far apart. */
bool bench_plot_pairs(bench_figures *figures) {
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
            add(&b, row->seconds.median, BENCH_SERIES, bench_row_devices(row, name), "at once");
            add(&b, row->baseline_seconds, BENCH_MUTED, row->baseline, "");
            if (row->note[0]) note = row->note;
        }
        if (!first || b.count == 0) continue;
        snprintf(title, sizeof title, "Two devices at once, %s %s", like->shape.text,
                 tdm_dtype_name(like->dtype));
        char caption[200];
        snprintf(caption, sizeof caption, "One product on each device%s%s.", *note ? "; " : "",
                 note);
        if (!plot(figures, &b, 500, title, caption)) return false;
    }
    return true;
}
