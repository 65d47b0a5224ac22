/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/page_rows.h"

#include <math.h>
#include <string.h>

#include "report/html.h"

typedef char cell[128];

/* In the order of the table; after the baseline's median come those of the peers. */
static const struct {
    const char *title, *class; /* of its cells */
    bench_column column;
    const char *sentence; /* its explanation, where it needs one */
} columns[] = {
    {"device", "", BENCH_DEVICES, NULL},
    {"operation", "", BENCH_OP, NULL},
    {"dtype", "", BENCH_DTYPE, NULL},
    {"shape", "", BENCH_SHAPE,
     "Rows x columns, M x N x K of a product, with the batch before a *, or a number of elements."},
    {"verified", "", BENCH_VERIFIED,
     "Whether each error of the result lay within the bound, after the first call and again after "
     "the timing."},
    {"median", "n", BENCH_MEDIAN, "The time of one call, the median of the samples."},
    {"spread", "n", BENCH_SPREAD,
     "The interquartile range of the samples over their median. Above 20 % the row is noisy: "
     "something else was running, or the work itself varies, and the other figures are less sure."},
    {"rate", "n", BENCH_RATE,
     "What one call does over its median: of a product 2 x M x N x K operations, else the bytes "
     "that have to be read, written or sent, each once (of a collective as nccl-tests count its "
     "bus bandwidth). A GB is 1e9 bytes."},
    {"ratio", "n", BENCH_RATIO,
     "The baseline's median over Tandem's: 1 is as fast as the baseline, 2 takes half its time. "
     "Samples of the two take turns."},
    {"baseline", "text", BENCH_BASELINE,
     "What the row is compared with: for a product the raw call to the fastest vendor's BLAS; for "
     "work that moves memory the fastest way to move as many bytes; for the smallest operations a "
     "raw call or enqueue; for files plain read() and write(); for two devices at once the same "
     "work on the first; for a collective MPI's own; for other work of ranks one process."},
    {"its median", "n", BENCH_ITS_MEDIAN, "The time of one call of the baseline, the median."},
    {"first", "n", BENCH_FIRST, "The time of the first call, with what it loads and compiles."},
    {"error / bound", "n", BENCH_ERROR,
     "The largest error of the result against a reference in float64, and the largest allowed, "
     "both absolute."},
};
enum { COLUMNS = sizeof columns / sizeof *columns, BEFORE_PEERS = COLUMNS - 2 };

static bool has_peer(const bench_figures *figures, int peer) {
    for (size_t i = 0; i < figures->count; i++)
        if (!isnan(figures->rows[i].peer_seconds[peer])) return true;
    return false;
}

/* --- sentences -------------------------------------------------------------------------------- */

void bench_page_term(FILE *page, const char *term, const char *sentence) {
    fputs("<dt>", page);
    bench_html_text(page, term);
    fputs("</dt><dd>", page);
    bench_html_text(page, sentence);
    fputs("</dd>\n", page);
}

void bench_page_terms(const bench_figures *figures) {
    FILE *page = figures->page;
    fputs("<section class=\"terms\"><h2>What the numbers are</h2>\n<dl>\n", page);
    for (int c = 0; c < COLUMNS; c++) {
        if (columns[c].sentence) bench_page_term(page, columns[c].title, columns[c].sentence);
        for (int i = 0; c + 1 == BEFORE_PEERS && i < BENCH_PEERS; i++) {
            char sentence[96];
            const char *title = bench_peer_title((bench_peer)i);
            snprintf(sentence, sizeof sentence, "The time of the same work by %s, the median.",
                     title);
            if (has_peer(figures, i)) bench_page_term(page, title, sentence);
        }
    }
    bench_page_term(page, "median ratio", "The middle one of the ratios of a device's rows.");
    fputs("</dl></section>\n", page);
}

/* --- the table -------------------------------------------------------------------------------- */

/* The text of a cell; returns its class. */
static const char *put(const bench_row *row, int c, cell text) {
    char plain[BENCH_CELL_SIZE];
    const bool is_noisy = bench_row_is_noisy(row);
    int length = 0;
    bench_format_cell(row, columns[c].column, plain);
    snprintf(text, sizeof(cell), "%s", plain);
    switch (columns[c].column) {
    case BENCH_VERIFIED:
        return row->verified ? "yes" : "no";
    case BENCH_SPREAD:
        if (is_noisy) snprintf(text, sizeof(cell), "noisy %s", plain);
        return is_noisy ? "n noisy" : "n";
    case BENCH_ERROR:
        if (isnan(row->max_error)) return "n";
        /* with the sign for minus, after which no line ends, as one may after a hyphen */
        for (const char *at = plain; *at; at++)
            length += snprintf(text + length, sizeof(cell) - (size_t)length, "%.*s",
                               *at == '-' ? 3 : 1, *at == '-' ? "\xe2\x88\x92" : at);
        return "n pair";
    default:
        return columns[c].class;
    }
}

static void write_cell(FILE *page, const char *title, const char *class, const char *text) {
    fprintf(page, "<td%s%s%s data-name=\"%s\">", *class ? " class=\"" : "", class,
            *class ? "\"" : "", title);
    bench_html_text(page, text);
    fputs("</td>", page);
}

static void write_ratio(FILE *page, double ratio, const char *text) {
    /* the bar is full at 1.5 */
    fprintf(page, "<td class=\"n ratio\" data-name=\"ratio\" style=\"--fill:%.0f%%\">%s</td>",
            fmin(ratio / 1.5, 1.0) * 100.0, text);
}

/* Remarks have the whole width, below their row. */
static void write_remarks(FILE *page, const bench_row *row, int width) {
    if (!row->note[0] && !row->problem[0]) return;
    fprintf(page, "<tr class=\"note\"><td colspan=\"%d\">", width);
    bench_html_text(page, row->note);
    if (row->note[0] && row->problem[0]) fputs("; ", page);
    bench_html_text(page, row->problem);
    fputs("</td></tr>\n", page);
}

static void write_row(FILE *page, const bench_row *row, const bool with[BENCH_PEERS]) {
    cell text;
    int width = COLUMNS;
    fprintf(page, "<tr%s>",
            !row->verified            ? " class=\"bad\""
            : bench_row_is_noisy(row) ? " class=\"noisy\""
                                      : "");
    for (int c = 0; c < COLUMNS; c++) {
        const char *class = put(row, c, text);
        if (columns[c].column == BENCH_RATIO && *text != '-')
            write_ratio(page, row->ratio, text);
        else
            write_cell(page, columns[c].title, class, text);
        for (int i = 0; c + 1 == BEFORE_PEERS && i < BENCH_PEERS; i++) {
            if (!with[i]) continue;
            write_cell(page, bench_peer_title((bench_peer)i), "n",
                       bench_format_seconds(row->peer_seconds[i], text));
            width++;
        }
    }
    fputs("</tr>\n", page);
    write_remarks(page, row, width);
}

static void write_title(FILE *page, const char *class, const char *title) {
    fprintf(page, "<th%s>%s</th>", *class == 'n' ? " class=\"n\"" : "", title);
}

void bench_page_rows(const bench_figures *figures) {
    FILE *page = figures->page;
    bool with[BENCH_PEERS];
    fputs("<section class=\"rows\"><h2>Every row</h2>\n<div class=\"scroll\"><table>\n<thead><tr>",
          page);
    for (int i = 0; i < BENCH_PEERS; i++)
        with[i] = has_peer(figures, i);
    for (int c = 0; c < COLUMNS; c++) {
        write_title(page, columns[c].class, columns[c].title);
        for (int i = 0; c + 1 == BEFORE_PEERS && i < BENCH_PEERS; i++)
            if (with[i]) write_title(page, "n", bench_peer_title((bench_peer)i));
    }
    fputs("</tr></thead>\n<tbody>\n", page);
    for (size_t i = 0; i < figures->count; i++)
        write_row(page, &figures->rows[i], with);
    fputs("</tbody></table></div></section>\n", page);
}
