/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Text that is the same everywhere: numbers in any locale, and what others wrote made harmless. */
#include "base/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

static locale_t plain;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int tdmi_print_list(char *text, size_t size, const char *format, va_list arguments) {
    pthread_once(&plain_once, make_plain);
    locale_t before = uselocale(plain); /* of this thread alone; without one it stays as it is */
    int length = vsnprintf(text, size, format, arguments);
    uselocale(before);
    return length;
}

int tdmi_print(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = tdmi_print_list(text, size, format, arguments);
    va_end(arguments);
    return length;
}

double tdmi_read_number(const char *text, const char **end) {
    char *after;
    pthread_once(&plain_once, make_plain);
    const locale_t before = uselocale(plain);
    const double number = strtod(text, &after);
    uselocale(before);
    *end = after;
    return number;
}

/* Bytes of the character that begins here; 0 when it is none, or a control character. */
static size_t character(const unsigned char *c) {
    /* below these a longer form is not the shortest, or the character is a control (U+0080..9F) */
    static const uint32_t least[] = {0, 0xa0, 0x800, 0x10000};
    if (*c < 0x80) return *c >= ' ' && *c != 0x7f;
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
        size_t bytes = character((const unsigned char *)text);
        if (bytes == 0 && !(lines && *text == '\n')) *text = '?';
        text += bytes > 0 ? bytes : 1;
    }
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
