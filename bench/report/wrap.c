/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/wrap.h"

#include <string.h>

void bench_print_wrapped(FILE *stream, const char *text, int width, int indent) {
    int column = indent;
    fprintf(stream, "%*s", indent, "");
    while (*(text += strspn(text, " "))) {
        const int length = (int)strcspn(text, " ");
        if (column > indent && width > 0 && column + 1 + length > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(stream, column > indent ? " %.*s" : "%.*s", length, text);
        text += length;
    }
    fputc('\n', stream);
}
