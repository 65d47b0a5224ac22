/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Text that is the same everywhere. (tdmi_clean_text is in backend.h, for the backends.) */
#ifndef TDMI_TEXT_H
#define TDMI_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* snprintf and vsnprintf with a point in numbers, whatever locale the program has set. */
int tdmi_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tdmi_print_list(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* The number that the text begins with, as strtod reads it, with a point in any locale; *end points past it. */
double tdmi_read_number(const char *text, const char **end);

/* Parses the whole text as a decimal number without sign, blank or leading zero, at most max. */
bool tdmi_parse_index(const char *text, unsigned long max, unsigned long *value);

#endif
