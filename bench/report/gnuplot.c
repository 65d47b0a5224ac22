/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* gnuplot as a child, and its SVG made fit to stand beside others in one page. */
#include "report/gnuplot.h"

#include <stdlib.h>
#include <string.h>

#include "machine/child.h"
#include "report/format.h"

bool bench_has_gnuplot(char *why) {
    const char *const arguments[] = {"gnuplot", "--version", NULL};
    bool missing;
    char reason[BENCH_CHILD_WHY_SIZE];
    char *version = bench_run_child(arguments, "", 0, reason, &missing);
    if (version)
        free(version);
    else if (missing)
        snprintf(why, BENCH_CHILD_WHY_SIZE,
                 "gnuplot, which draws the plots, is not in PATH; install gnuplot-nox (Debian, "
                 "Ubuntu) or gnuplot");
    else
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s", reason);
    return version != NULL;
}

const char *bench_colour(int colour, char text[8]) {
    snprintf(text, 8, "#%02x%02x%02x", (unsigned)colour & 0xffu, (unsigned)colour & 0xffu,
             (unsigned)colour & 0xffu);
    return text;
}

/* In single quotes gnuplot substitutes nothing; a quote is written twice. */
void bench_gnuplot_string(FILE *script, const char *text) {
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', script);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, script);
    }
    fputc('\'', script);
}

void bench_html_text(FILE *page, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", page);
            break;
        case '<':
            fputs("&lt;", page);
            break;
        case '>':
            fputs("&gt;", page);
            break;
        case '"':
            fputs("&quot;", page);
            break;
        case '\'':
            fputs("&#39;", page);
            break;
        default:
            /* what is no character of HTML becomes a blank */
            fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text, page);
        }
    }
}

static const char *const colour_names[BENCH_SERIES] = {NULL, "ink", "grid", "muted", "bad"};

/* "rgb(  1,   1,   1)": the number of one of our colours, 0 for any other; *end is behind it. */
static int read_colour(const char *text, const char **end) {
    int r, g, b, length = 0;
    if (sscanf(text, "rgb(%d ,%d ,%d )%n", &r, &g, &b, &length) != 3 || !length) return 0;
    if (r != g || g != b || r <= 0 || r >= BENCH_SERIES + BENCH_SERIES_COUNT) return 0;
    if (r < BENCH_SERIES && !colour_names[r]) return 0;
    *end = text + length;
    return r;
}

static void write_colour(FILE *page, int colour) {
    if (colour >= BENCH_SERIES)
        fprintf(page, "var(--series%d)", colour - BENCH_SERIES);
    else
        fprintf(page, "var(--%s)", colour_names[colour]);
}

/* Elements that the page has no use for: gnuplot's titles would show as tooltips, its filters are
 * for text boxes. Returns what is behind the element, NULL when `text` is at none. */
static const char *skip_element(const char *text) {
    static const char *const names[] = {"title", "desc", "filter"};
    for (int i = 0; i < 3; i++) {
        char end[16];
        const size_t length = strlen(names[i]);
        if (strncmp(text + 1, names[i], length) != 0 || !strchr(" >", text[1 + length])) continue;
        snprintf(end, sizeof end, "</%s>", names[i]);
        const char *found = strstr(text, end);
        if (found) return found + strlen(end);
    }
    /* a group without content, of which gnuplot writes many */
    if (strncmp(text, "<g ", 3) != 0) return NULL;
    const char *inside = strchr(text, '>');
    if (!inside) return NULL;
    inside += 1 + strspn(inside + 1, " \n\t");
    return strncmp(inside, "</g>", 4) == 0 ? inside + 4 : NULL;
}

static bool write_svg(FILE *page, const char *name, const char *svg) {
    static const struct {
        const char *found, *written;
    } references[] = {
        {" id='", " id='"}, {" id=\"", " id=\""}, {"xlink:href='#", "href='#"}, {"url(#", "url(#"}};
    const char *text = strstr(svg, "<svg"), *end = text ? strstr(text, "</svg>") : NULL;
    text = text ? strchr(text, '>') : NULL;
    if (!text || !end) return false;
    for (text++; text < end;) {
        const char *next = text + 1;
        const char *behind = *text == '<' ? skip_element(text) : NULL;
        int colour = 0;
        size_t i = 0;
        while (i < 4 && strncmp(text, references[i].found, strlen(references[i].found)) != 0)
            i++;
        if (behind) {
            next = behind;
        } else if (i < 4) {
            fprintf(page, "%s%s-", references[i].written, name);
            next = text + strlen(references[i].found);
        } else if (*text == 'r' && (colour = read_colour(text, &next)) != 0) {
            write_colour(page, colour);
        } else if (*text != '\n' || text[-1] != '\n') {
            fputc(*text, page);
        }
        text = next;
    }
    return true;
}

bool bench_plot(FILE *page, const char *name, const char *label, int width, int height,
                const char *script, char *why) {
    char *whole = NULL, colour[3][8];
    size_t size = 0;
    FILE *stream = open_memstream(&whole, &size);
    if (!stream) return false;
    bench_colour(BENCH_INK, colour[0]);
    bench_colour(BENCH_GRID, colour[1]);
    bench_colour(BENCH_MUTED, colour[2]);
    fprintf(stream,
            "set terminal svg size %d,%d name '%s' font 'sans-serif,12' noenhanced\n"
            "set encoding utf8\n"
            "set border 3 lw 0.8 lc rgb '%s'\n"
            "set grid lw 0.6 dt solid lc rgb '%s'\n"
            "set tics nomirror scale 0.4 tc rgb '%s'\n"
            "set key tc rgb '%s'\n%s",
            width, height, name, colour[2], colour[1], colour[2], colour[0], script);
    if (fclose(stream) != 0) return false;
    /* -d: no gnuplotrc of the user's, so that the page is the same everywhere */
    const char *const arguments[] = {"gnuplot", "-d", NULL};
    char *svg = bench_run_child(arguments, whole, size, why, NULL);
    free(whole);
    if (!svg) return false;
    fprintf(page,
            "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"",
            width, height, width, height);
    bench_html_text(page, label);
    fputs("\">", page);
    const bool good = write_svg(page, name, svg);
    fputs("</svg>", page);
    free(svg);
    if (!good) snprintf(why, BENCH_CHILD_WHY_SIZE, "gnuplot made no SVG");
    return good;
}
