/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/html.h"

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
            /* a byte that is no character of HTML becomes a blank */
            fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text, page);
        }
    }
}
