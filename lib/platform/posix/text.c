/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plain locale, which a thread takes for as long as it prints or reads. */
#define _GNU_SOURCE
#include "platform/text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif

#include "platform/threads.h"

static locale_t plain;
static tdmi_once once = TDMI_ONCE_INIT;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* Of this thread alone; where none could be made it stays as it is. */
static locale_t enter(void) {
    tdmi_once_run(&once, make_plain);
    return uselocale(plain);
}

int tdmi_print_list(char *text, size_t size, const char *format, va_list arguments) {
    const locale_t before = enter();
    const int length = vsnprintf(text, size, format, arguments);
    uselocale(before);
    return length;
}

double tdmi_read_number(const char *text, const char **end) {
    char *after;
    const locale_t before = enter();
    const double number = strtod(text, &after);
    uselocale(before);
    *end = after;
    return number;
}
