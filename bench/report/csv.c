/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "report/csv.h"

#include <stdlib.h>
#include <string.h>

void csv_print_text(FILE *stream, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

void csv_print_value(FILE *stream, const json_t *value) {
    if (!value || json_is_null(value)) return;
    if (json_is_string(value)) {
        csv_print_text(stream, json_string_value(value));
        return;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text) csv_print_text(stream, text);
    free(text);
}
