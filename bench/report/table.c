/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table that people read: as many columns as the page has room for. */
#include <math.h>
#include <string.h>

#include "report/output.h"
#include "report/wrap.h"

typedef char cell[96];
enum { BENCH_REMARKS = 448 };

static void format_devices(const bench_row *row, cell text) { bench_row_devices(row, text); }

static void format_op(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->op);
}

static void format_dtype(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", tdm_dtype_name(row->dtype));
}

static void format_shape(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->shape.text);
}

static void format_median(const bench_row *row, cell text) {
    bench_format_seconds(row->seconds.median, text);
}

static void format_spread(const bench_row *row, cell text) { bench_format_spread(row, text); }

static void format_rate(const bench_row *row, cell text) { bench_format_rate(row, text); }

static void format_baseline(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->baseline[0] ? row->baseline : "none");
}

static void format_baseline_median(const bench_row *row, cell text) {
    bench_format_seconds(row->baseline_seconds, text);
}

static void format_ratio(const bench_row *row, cell text) {
    strcpy(text, "-");
    if (!isnan(row->ratio)) snprintf(text, sizeof(cell), "%.2f", row->ratio);
}

static void format_first(const bench_row *row, cell text) {
    bench_format_seconds(row->first_call_seconds, text);
}

static void format_error(const bench_row *row, cell text) {
    strcpy(text, "-");
    if (!isnan(row->max_error))
        snprintf(text, sizeof(cell), "%.1e / %.1e", row->max_error, row->error_bound);
}

/* In the order of the table. Those of a smaller rank get the room of a narrow page; rank 0 is shown
 * on every page. */
static const struct {
    const char *title;
    int width; /* 0: of the longest text */
    bool is_number;
    int rank;
    void (*format)(const bench_row *row, cell text);
} columns[BENCH_TABLE_COLUMNS] = {
    {"device", 0, false, 0, format_devices},
    {"op", 0, false, 0, format_op},
    {"dtype", 5, false, 0, format_dtype},
    {"shape", 0, false, 0, format_shape},
    {"median", 7, true, 0, format_median},
    {"spread", 6, true, 2, format_spread},
    {"rate", 14, true, 1, format_rate},
    {"baseline", 29, false, 3, format_baseline},
    {"its median", 10, true, 4, format_baseline_median},
    {"ratio", 6, true, 0, format_ratio},
    {"first", 7, true, 5, format_first},
    {"error / bound", 17, true, 6, format_error},
};
enum { LAST_RANK = 6, INDENT = 4 };

static int max(int a, int b) { return a > b ? a : b; }

void bench_table_begin(bench_output *output, const bench_longest *longest) {
    const int texts[] = {max(longest->device, 6), max(longest->op, 2), 0, max(longest->shape, 5)};
    int used = -1;
    bool is_full = false;
    memset(output->widths, 0, sizeof output->widths);
    for (int rank = 0; rank <= LAST_RANK; rank++) {
        for (int c = 0; c < BENCH_TABLE_COLUMNS; c++) {
            if (columns[c].rank != rank) continue;
            const int width = columns[c].width ? columns[c].width : texts[c];
            is_full = is_full || (rank > 2 && used + 1 + width > output->width);
            if (rank > 0 && output->width > 0 && (is_full || used + 1 + width > output->width))
                continue;
            output->widths[c] = width;
            used += 1 + width;
        }
    }
}

static void print_plain(const bench_output *output, int c, const char *text, bool is_first) {
    const int last = BENCH_TABLE_COLUMNS - 1;
    const char *gap = is_first ? "" : output->width == 0 ? "  " : " ";
    if (columns[c].is_number)
        printf("%s%*s", gap, output->widths[c], text);
    else
        printf("%s%-*s", gap, c < last ? output->widths[c] : 0, text);
}

static void print_markdown(const char *text, bool is_first) {
    fputs(is_first ? "| " : " ", stdout);
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
    fputs(" |", stdout);
}

static void print_line(const bench_output *output, const bench_row *row) {
    bool is_first = true;
    for (int c = 0; c < BENCH_TABLE_COLUMNS; c++) {
        cell text;
        if (output->widths[c] == 0) continue;
        if (row)
            columns[c].format(row, text);
        else
            snprintf(text, sizeof text, "%s", columns[c].title);
        if (output->format == BENCH_MD)
            print_markdown(text, is_first);
        else
            print_plain(output, c, text, is_first);
        is_first = false;
    }
    if (row || output->format != BENCH_MD) return;
    fputs(" note |\n|", stdout);
    for (int c = 0; c < BENCH_TABLE_COLUMNS; c++)
        if (output->widths[c]) fputs(columns[c].is_number ? " ---: |" : " --- |", stdout);
    fputs(" --- |", stdout);
}

static size_t add_remark(char text[BENCH_REMARKS], size_t length, const char *remark) {
    if (!remark[0] || length >= BENCH_REMARKS) return length;
    return length + (size_t)snprintf(text + length, BENCH_REMARKS - length, "%s%s",
                                     length ? "; " : "", remark);
}

/* Remarks, which no column has room for. */
static void format_remarks(const bench_row *row, char text[BENCH_REMARKS]) {
    char noisy[48] = "", spread[16];
    size_t length = add_remark(text, 0, row->verified ? "" : "NOT VERIFIED");
    if (bench_row_is_noisy(row))
        snprintf(noisy, sizeof noisy, "noisy: its spread is %s", bench_format_spread(row, spread));
    length = add_remark(text, length, noisy);
    for (int i = 0; i < BENCH_PEERS; i++) {
        char peer[64], seconds[16];
        if (isnan(row->peer_seconds[i])) continue;
        snprintf(peer, sizeof peer, "%s %s, ratio %.2f", bench_peer_title((bench_peer)i),
                 bench_format_seconds(row->peer_seconds[i], seconds),
                 row->peer_seconds[i] / row->seconds.median);
        length = add_remark(text, length, peer);
    }
    (void)add_remark(text, length, row->note);
}

void bench_table_row(const bench_output *output, const bench_row *row) {
    char remarks[BENCH_REMARKS] = "";
    print_line(output, row);
    if (row) format_remarks(row, remarks);
    if (output->format == BENCH_MD) {
        if (row) print_markdown(remarks, false);
        putchar('\n');
    } else if (!remarks[0]) {
        putchar('\n');
    } else if (output->width == 0) {
        printf("  %s\n", remarks);
    } else {
        putchar('\n');
        bench_print_wrapped(stdout, remarks, output->width, INDENT);
    }
}
