/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("sentences: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

bool ok(tdm_status status) { return status == TDM_OK ? true : fail("%s", tdm_last_error()); }

static char *read_stream(FILE *file, const char *path, size_t *size) {
    char *text = NULL;
    size_t capacity = 0, got = 0;
    do {
        if (capacity - *size < 2) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *const larger = realloc(text, capacity);
            if (!larger) {
                free(text);
                fail("%s: out of memory", path);
                return NULL;
            }
            text = larger;
        }
        got = fread(text + *size, 1, capacity - *size - 1, file);
        *size += got;
    } while (got > 0);
    if (ferror(file)) {
        fail("%s: %s", path, strerror(errno));
        free(text);
        return NULL;
    }
    text[*size] = '\0';
    return text;
}

char *read_file(const char *path, size_t *size) {
    *size = 0;
    if (strcmp(path, "-") == 0) return read_stream(stdin, path, size);
    FILE *const file = fopen(path, "rb");
    if (!file) {
        fail("%s: %s", path, strerror(errno));
        return NULL;
    }
    char *const text = read_stream(file, path, size);
    fclose(file);
    return text;
}

double seconds_now(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
