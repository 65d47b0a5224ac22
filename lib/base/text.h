/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Text that is the same everywhere. (tdmi_clean_text is in backend.h, for the backends.) */
#ifndef TDMI_TEXT_H
#define TDMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "platform/text.h"

/* snprintf with a point in numbers, whatever locale the program has set. */
int tdmi_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes of the UTF-8 character that begins here (RFC 3629: no overlong forms, no surrogates); 0 when it is none. */
size_t tdmi_utf8_bytes(const unsigned char *c);

/* Whether both begin with the same `most` characters, or are the same, whatever the case of their letters. */
bool tdmi_is_same_word(const char *a, const char *b, size_t most);

/* The text's length, or `most` where it is longer. */
static inline size_t tdmi_length(const char *text, size_t most) {
    const char *end = memchr(text, '\0', most);
    return end ? (size_t)(end - text) : most;
}

/* Parses the whole text as a decimal number without sign, blank or leading zero, at most max. */
bool tdmi_parse_index(const char *text, unsigned long max, unsigned long *value);

#endif
