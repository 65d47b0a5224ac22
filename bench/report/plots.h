/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plots of the page: which figures rows allow, and their scripts. */
#ifndef BENCH_PLOTS_H
#define BENCH_PLOTS_H

#include "report/report.h"

/* Figures of one page. */
typedef struct bench_figures {
    FILE *page;
    const bench_row *rows;
    size_t count;
    int made;      /* so far */
    char why[256]; /* what gnuplot said when a figure failed */
} bench_figures;

/* Each writes its figures as <figure> elements, none where the rows do not allow any. False with
 * figures->why when one failed. */
bool bench_plot_ratios(bench_figures *figures); /* to the baseline, by operation */
bool bench_plot_sizes(bench_figures *figures);  /* rates and times against size */
bool bench_plot_norms(bench_figures *figures);  /* norms logged one by one beside kept ones */
bool bench_plot_pairs(bench_figures *figures);  /* two devices at once beside one */

/* One figure: the plot of a script and its caption. */
bool bench_figure(bench_figures *figures, const char *title, const char *caption, int width,
                  int height, const char *script);

/* The names of the devices of rows, in their order. The index is the colour of the device's series.
 */
enum { BENCH_MAX_LABELS = 128 };
typedef struct bench_labels {
    char text[BENCH_MAX_LABELS][80];
    int count;
} bench_labels;
/* The index of a label, which is added when it is new; -1 when there are too many. */
int bench_label(bench_labels *labels, const char *text);
bench_labels bench_device_labels(const bench_figures *figures);

/* The colour of the series of a device. */
int bench_series_colour(int device);

#endif
