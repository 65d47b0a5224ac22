/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table that people read: as many columns as the page has room for. */
#include <math.h>
#include <string.h>

#include "report/output.h"
#include "report/wrap.h"

enum { BENCH_REMARKS = 448 };

/* In the order of the table. Those of a smaller rank get the room of a narrow page; rank 0 is shown
 * on every page. */
static const struct {
    const char *title;
    int width; /* 0: of the longest text */
    bool is_number;
    int rank;
    bench_column column;
} columns[BENCH_TABLE_COLUMNS] = {
    {"device", 0, false, 0, BENCH_DEVICES},
    {"op", 0, false, 0, BENCH_OP},
    {"dtype", 5, false, 0, BENCH_DTYPE},
    {"shape", 0, false, 0, BENCH_SHAPE},
    {"median", 7, true, 0, BENCH_MEDIAN},
    {"spread", 6, true, 2, BENCH_SPREAD},
    {"rate", 14, true, 1, BENCH_RATE},
    {"baseline", 29, false, 3, BENCH_BASELINE},
    {"its median", 10, true, 4, BENCH_ITS_MEDIAN},
    {"ratio", 6, true, 0, BENCH_RATIO},
    {"first", 7, true, 5, BENCH_FIRST},
    {"error / bound", 17, true, 6, BENCH_ERROR},
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
        char text[BENCH_CELL_SIZE];
        if (output->widths[c] == 0) continue;
        if (row)
            bench_format_cell(row, columns[c].column, text);
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
