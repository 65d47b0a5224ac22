/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Plots: a script goes to gnuplot, its SVG into a page. */
#ifndef BENCH_GNUPLOT_H
#define BENCH_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Colours are written as numbers and become CSS variables in the page, which chooses them for light
 * and dark: var(--ink), --grid, --muted, --bad, then --series0 and so on. */
enum {
    BENCH_INK = 1,
    BENCH_GRID,
    BENCH_MUTED,
    BENCH_BAD,
    BENCH_SERIES = 16,
    BENCH_SERIES_COUNT = 8
};

/* "#101010", a colour as gnuplot takes it: lc rgb '…'. Returns `text`. */
const char *bench_colour(int colour, char text[8]);

/* Writes text as a string of gnuplot, with its quotes. */
void bench_gnuplot_string(FILE *script, const char *text);

/* Writes text for HTML, between tags or in an attribute. */
void bench_html_text(FILE *page, const char *text);

/* Runs gnuplot on a script that makes one SVG of width x height (the terminal is set here), and
 * writes it to the page as an inline <svg> labelled `label`, its ids prefixed with `name`. False
 * and why (of 256 bytes) when gnuplot failed. */
bool bench_plot(FILE *page, const char *name, const char *label, int width, int height,
                const char *script, char *why);

#endif
