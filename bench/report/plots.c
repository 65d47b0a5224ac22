/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The parts that figures share. */
#include "report/plots.h"

#include <string.h>

#include "report/html.h"

void bench_figure_begin(FILE *page, const char *title, const bench_labels *devices,
                        const bool has[BENCH_MAX_LABELS]) {
    fputs("<figure><h3>", page);
    bench_html_text(page, title);
    fputs("</h3>\n", page);
    if (devices->count > 1) {
        fputs("<ul class=\"legend\">", page);
        for (int d = 0; d < devices->count; d++) {
            if (!has[d]) continue;
            fprintf(page, "<li class=\"%s\">", bench_series_class(d));
            bench_html_text(page, devices->text[d]);
            fputs("</li>", page);
        }
        fputs("</ul>\n", page);
    }
}

void bench_figure_end(FILE *page, const char *caption) {
    fputs("<figcaption>", page);
    bench_html_text(page, caption);
    fputs("</figcaption></figure>\n", page);
}

int bench_label(bench_labels *labels, const char *text) {
    for (int i = 0; i < labels->count; i++)
        if (strcmp(labels->text[i], text) == 0) return i;
    if (labels->count == BENCH_MAX_LABELS) return -1;
    snprintf(labels->text[labels->count], sizeof labels->text[0], "%s", text);
    return labels->count++;
}

bench_labels bench_device_labels(const bench_figures *figures) {
    bench_labels labels = {.count = 0};
    char name[80];
    for (size_t i = 0; i < figures->count; i++)
        bench_label(&labels, bench_row_devices(&figures->rows[i], name));
    return labels;
}

const char *bench_series_class(int device) {
    static const char *const classes[] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"};
    return classes[device % 8];
}
