/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plots of the page: which figures rows allow, and what they show. */
#ifndef BENCH_PLOTS_H
#define BENCH_PLOTS_H

#include "report/report.h"

/* Figures of one page. */
typedef struct bench_figures {
    FILE *page;
    const bench_row *rows;
    size_t count;
} bench_figures;

/* Each writes its figures as <figure> elements, none where the rows do not allow any. False when
 * memory is short. */
bool bench_plot_ratios(const bench_figures *figures); /* to the baseline, by operation */
bool bench_plot_sizes(const bench_figures *figures);  /* rates and times against size */
bool bench_plot_ranks(const bench_figures *figures);  /* work in a second over ranks */
bool bench_plot_norms(const bench_figures *figures);  /* norms logged one by one, and kept ones */
bool bench_plot_pairs(const bench_figures *figures);  /* two devices at once next to one */

/* The names of the devices of rows, in their order. The index is the number of the device's series.
 */
enum { BENCH_MAX_LABELS = 128 };
typedef struct bench_labels {
    char text[BENCH_MAX_LABELS][80];
    int count;
} bench_labels;
/* The index of a label, which is added when it is new; -1 when there are too many. */
int bench_label(bench_labels *labels, const char *text);
bench_labels bench_device_labels(const bench_figures *figures);

/* The class of the series of a device, which gives it its colour: "s0" to "s7". */
const char *bench_series_class(int device);

/* A figure: its title; the colours of those devices that have something in it, unless that is one
 * device of one; then the plot, and the caption. */
void bench_figure_begin(FILE *page, const char *title, const bench_labels *devices,
                        const bool has[BENCH_MAX_LABELS]);
void bench_figure_end(FILE *page, const char *caption);

#endif
