/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/output.h"

#include "report/wrap.h"

static bool is_table(const bench_output *output) {
    return output->format == BENCH_TABLE || output->format == BENCH_MD;
}

void bench_output_begin(bench_output *output, bench_format format, int width, const char *about) {
    *output = (bench_output){.format = format, .width = format == BENCH_TABLE ? width : 0};
    if (is_table(output)) {
        bench_print_wrapped(stdout, about, output->width, 0);
        putchar('\n');
    }
    fflush(stdout);
}

void bench_output_peaks(const bench_output *output, const bench_peak *peaks, size_t count) {
    const tdm_device_info *device = peaks[0].row.device;
    const bool is_markdown = output->format == BENCH_MD;
    if (output->lines) {
        bench_print_jsonl_peaks(output->lines,
                                &(bench_results){.peaks = peaks, .peak_count = count});
        fflush(output->lines);
    }
    if (!is_table(output)) return;
    if (is_markdown) {
        printf("| peaks of %s | | by |\n| --- | ---: | --- |\n", device->id);
    } else {
        char title[256];
        snprintf(title, sizeof title, "Peaks of %s (%s):", device->id, device->name);
        bench_print_wrapped(stdout, title, output->width, 0);
    }
    for (size_t i = 0; i < count; i++) {
        char name[32], value[32];
        const char *whose;
        const double seconds = bench_peak_seconds(&peaks[i], &whose);
        if (!(seconds > 0.0)) continue;
        printf(is_markdown ? "| %s | %s | %s |\n" : "  %-14s  %15s  %s\n",
               bench_peak_name(&peaks[i], name), bench_format_peak(&peaks[i], seconds, value),
               whose);
    }
    putchar('\n');
    fflush(stdout);
}

void bench_output_head(bench_output *output, const bench_longest *longest) {
    if (is_table(output)) {
        bench_table_begin(output, longest);
        bench_table_row(output, NULL);
    } else if (output->format == BENCH_CSV) {
        bench_print_csv_row(stdout, NULL);
    }
    fflush(stdout);
}

void bench_output_row(const bench_output *output, const bench_row *row) {
    if (is_table(output)) bench_table_row(output, row);
    if (output->format == BENCH_CSV) bench_print_csv_row(stdout, row);
    if (output->format == BENCH_JSONL) bench_print_jsonl_row(stdout, row);
    fflush(stdout);
    if (!output->lines) return;
    bench_print_jsonl_row(output->lines, row);
    fflush(output->lines);
}

void bench_output_end(const bench_output *output, const char *counts,
                      const bench_results *results) {
    if (output->format == BENCH_JSON) bench_print_json(stdout, results);
    if (output->format == BENCH_JSONL && !counts[0]) bench_print_jsonl_peaks(stdout, results);
    if (output->format == BENCH_CSV && !counts[0]) bench_print_csv_peaks(stdout, results);
    if (output->format == BENCH_MD && counts[0]) putchar('\n');
    if (counts[0] && is_table(output))
        bench_print_wrapped(stdout, counts, output->width, 0);
    else if (counts[0])
        fprintf(stderr, "%s\n", counts);
    fflush(stdout);
}
