/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Numbers in the plain locale, and UTF-8 to and from what Windows has. */
#include "platform/text.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/threads.h"
#include "win.h"

static _locale_t plain;
static tdmi_once once = TDMI_ONCE_INIT;

static void make_plain(void) { plain = _create_locale(LC_ALL, "C"); }

int tdmi_print_list(char *text, size_t size, const char *format, va_list arguments) {
    tdmi_once_run(&once, make_plain);
    return __stdio_common_vsprintf(_CRT_INTERNAL_PRINTF_STANDARD_SNPRINTF_BEHAVIOR, text, size,
                                   format, plain, arguments);
}

double tdmi_read_number(const char *text, const char **end) {
    char *after;
    tdmi_once_run(&once, make_plain);
    const double number = _strtod_l(text, &after, plain);
    *end = after;
    return number;
}

wchar_t *tdmi_win_wide(const char *text) {
    const int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
    if (wide) MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, length);
    if (!wide) errno = length > 0 ? ENOMEM : ENAMETOOLONG;
    return wide;
}

char *tdmi_win_narrow(const wchar_t *text) {
    const int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *narrow = length > 0 ? malloc((size_t)length) : NULL;
    if (narrow) WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, length, NULL, NULL);
    if (!narrow) errno = length > 0 ? ENOMEM : ENAMETOOLONG;
    return narrow;
}

bool tdmi_win_narrow_into(const wchar_t *text, char *narrow, size_t size) {
    const int most = size < INT_MAX ? (int)size : INT_MAX;
    const bool fits = WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, most, NULL, NULL) > 0;
    if (!fits && size > 0) narrow[0] = '\0';
    return fits;
}
