/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Text that is the same everywhere: numbers in any locale, and what others wrote made harmless. */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

int tdmi_print(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = tdmi_print_list(text, size, format, arguments);
    va_end(arguments);
    return length;
}

size_t tdmi_utf8_bytes(const unsigned char *c) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000}; /* below, a shorter form exists */
    if (*c < 0x80) return 1;
    size_t more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : 1;
    if (*c < 0xc2 || *c > 0xf4) return 0;
    uint32_t point = *c & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (c[i] & 0x3fu);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[more] || point > 0x10ffff || surrogate ? 0 : more + 1;
}

void tdmi_clean_text(char *text, bool lines) {
    while (*text) {
        const unsigned char *c = (const unsigned char *)text;
        const bool control = *c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0);
        const size_t bytes = control ? 0 : tdmi_utf8_bytes(c);
        if (bytes == 0 && !(lines && *text == '\n')) *text = '?';
        text += bytes > 0 ? bytes : 1;
    }
}

static int small_letter(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

bool tdmi_is_same_word(const char *a, const char *b, size_t most) {
    size_t i = 0;
    while (i < most && a[i] && small_letter(a[i]) == small_letter(b[i]))
        i++;
    return i == most || small_letter(a[i]) == small_letter(b[i]);
}

bool tdmi_parse_index(const char *text, unsigned long max, unsigned long *value) {
    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) return false;
    unsigned long result = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9') return false;
        unsigned long digit = (unsigned long)(*c - '0');
        if (result > (max - digit) / 10) return false;
        result = result * 10 + digit;
    }
    *value = result;
    return true;
}
