/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Plots as SVG inside the page: scales, ticks, lines and points. A plot is BENCH_SVG_WIDTH units wide
 * with text of 12, so that a phone shows it in about its own size. Colours are the page's. */
#ifndef BENCH_SVG_H
#define BENCH_SVG_H

#include <stdbool.h>
#include <stdio.h>

enum { BENCH_SVG_WIDTH = 340 };

/* From values to units of the plot. */
typedef struct bench_scale {
    double low, high;
    bool log;
    double from, to; /* where low and high are */
} bench_scale;

double bench_place(const bench_scale *scale, double value);

enum { BENCH_MAX_TICKS = 32 };
typedef struct bench_ticks {
    double at[BENCH_MAX_TICKS]; /* values */
    int count;
} bench_ticks;

/* Round values on a scale, no nearer to each other than `spacing` units. */
bench_ticks bench_round_ticks(const bench_scale *scale, double spacing);

/* Opens the <svg>, which `label` describes, and closes it. */
void bench_svg_begin(FILE *page, const char *label, double height);
void bench_svg_end(FILE *page);

typedef enum bench_anchor { BENCH_START, BENCH_MIDDLE, BENCH_END } bench_anchor;

/* Text of a class of the style sheet ("" for plain labels), with its baseline at y. */
void bench_svg_text(FILE *page, double x, double y, bench_anchor anchor, const char *class,
                    const char *text);

/* A straight line of a class: "grid", "axis", "one". */
void bench_svg_line(FILE *page, double x1, double y1, double x2, double y2, const char *class);

/* A point of a series, which a pointer on it explains. */
void bench_svg_point(FILE *page, double x, double y, double radius, bool is_hollow,
                     const char *explanation);

/* At least as wide as the text becomes in a usual font. */
double bench_svg_text_width(const char *text);

#endif
