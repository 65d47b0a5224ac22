/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts as the locale "C" has them, whatever locale the program or the thread has set. */
#ifndef TDMI_PLATFORM_TEXT_H
#define TDMI_PLATFORM_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* vsnprintf, with C99's formats: %zu, %lld, %a. */
int tdmi_print_list(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* strtod: the number that the text begins with; *end points past it. */
double tdmi_read_number(const char *text, const char **end);

#endif
