/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/page_rows.h"

#include <math.h>
#include <string.h>

#include "report/html.h"

typedef char cell[128];

/* Each writes a cell's text and returns its class. */
static const char *put_devices(const bench_row *row, cell text) {
    char name[80];
    snprintf(text, sizeof(cell), "%s", bench_row_devices(row, name));
    return "";
}

static const char *put_op(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->op);
    return "";
}

static const char *put_dtype(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", tdm_dtype_name(row->dtype));
    return "";
}

static const char *put_shape(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->shape.text);
    return "";
}

static const char *put_verified(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->verified ? "yes" : "NO");
    return row->verified ? "yes" : "no";
}

static const char *put_median(const bench_row *row, cell text) {
    bench_format_seconds(row->seconds.median, text);
    return "n";
}

static const char *put_spread(const bench_row *row, cell text) {
    char spread[16];
    const bool is_noisy = bench_row_is_noisy(row);
    snprintf(text, sizeof(cell), "%s%s", is_noisy ? "noisy " : "",
             bench_format_spread(row, spread));
    return is_noisy ? "n noisy" : "n";
}

static const char *put_rate(const bench_row *row, cell text) {
    bench_format_rate(row, text);
    return "n";
}

static const char *put_ratio(const bench_row *row, cell text) {
    strcpy(text, "-");
    if (isnan(row->ratio)) return "n";
    snprintf(text, sizeof(cell), "%.2f", row->ratio);
    return "n ratio";
}

static const char *put_baseline(const bench_row *row, cell text) {
    snprintf(text, sizeof(cell), "%s", row->baseline[0] ? row->baseline : "none");
    return "text";
}

static const char *put_its_median(const bench_row *row, cell text) {
    bench_format_seconds(row->baseline_seconds, text);
    return "n";
}

static const char *put_first(const bench_row *row, cell text) {
    bench_format_seconds(row->first_call_seconds, text);
    return "n";
}

/* With the sign for minus, after which no line ends, as one may after a hyphen. */
static const char *put_error(const bench_row *row, cell text) {
    char plain[48];
    int length = 0;
    strcpy(text, "-");
    if (isnan(row->max_error)) return "n";
    snprintf(plain, sizeof plain, "%.1e / %.1e", row->max_error, row->error_bound);
    for (const char *c = plain; *c; c++)
        length += snprintf(text + length, sizeof(cell) - (size_t)length, "%.*s", *c == '-' ? 3 : 1,
                           *c == '-' ? "\xe2\x88\x92" : c);
    return "n pair";
}

/* In the order of the table; after the baseline's median come those of the peers. */
static const struct {
    const char *title, *class;
    const char *(*put)(const bench_row *row, cell text);
    const char *sentence; /* its explanation, where it needs one */
} columns[] = {
    {"device", "", put_devices, NULL},
    {"operation", "", put_op, NULL},
    {"dtype", "", put_dtype, NULL},
    {"shape", "", put_shape,
     "Rows x columns, M x N x K of a product, with the batch before a *, or a number of elements."},
    {"verified", "", put_verified,
     "Whether each error of the result lay within the bound, after the first call and again after "
     "the timing."},
    {"median", "n", put_median, "The time of one call, the median of the samples."},
    {"spread", "n", put_spread,
     "The interquartile range of the samples over their median. Above 20 % the row is noisy: "
     "something else was running, or the work itself varies, and the other figures are less sure."},
    {"rate", "n", put_rate,
     "What one call does over its median: of a product 2 x M x N x K operations, else the bytes "
     "that have to be read, written or sent, each once (of a collective as nccl-tests count its "
     "bus bandwidth). A GB is 1e9 bytes."},
    {"ratio", "n", put_ratio,
     "The baseline's median over Tandem's: 1 is as fast as the baseline, 2 takes half its time. "
     "Samples of the two take turns."},
    {"baseline", "", put_baseline,
     "What the row is compared with: for a product the raw call to the fastest vendor's BLAS; for "
     "work that moves memory the fastest way to move as many bytes; for the smallest operations a "
     "raw call or enqueue; for files plain read() and write(); for two devices at once the same "
     "work on the first; for a collective MPI's own; for other work of ranks one process."},
    {"its median", "n", put_its_median, "The time of one call of the baseline, the median."},
    {"first", "n", put_first, "The time of the first call, with what it loads and compiles."},
    {"error / bound", "n", put_error,
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
        const char *class = columns[c].put(row, text);
        if (columns[c].put == put_ratio && *text != '-')
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
    fprintf(page, "<th%s>%s</th>", *class ? " class=\"n\"" : "", title);
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
