/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Words, options and messages that the commands share. */
#include "tools.h"

#include "base/spelling.h"
#include "platform/process.h"
#include "platform/program.h"
#include "platform/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/file.h>

int refuse_word(const char *command, const char *what, const char *word, const char *const *words) {
    char name[64]; /* of an option without its value */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    size_t count = 0;
    while (words[count])
        count++;
    const char *nearest = tdmi_nearest_word(name, words, count);
    const char *blank = command[0] ? " " : ""; /* of the program itself it is "" */
    fprintf(stderr, "tdm%s%s: %s '%s'", blank, command, what, word);
    if (nearest) fprintf(stderr, "; did you mean '%s'?", nearest);
    fprintf(stderr, "\n'tdm%s%s --help' lists what is allowed\n", blank, command);
    return EXIT_USAGE;
}

bool read_decimal(const char *text, double most, double *number) {
    const char *end;
    if (!*text || text[strspn(text, "0123456789.")] != '\0') return false;
    *number = tdmi_read_number(text, &end);
    return *end == '\0' && *number <= most;
}

int refuse_value(const char *command, const char *option, const char *text, const char *wanted) {
    fprintf(stderr, "tdm %s: %s %s: it is %s\n'tdm %s --help' lists what is allowed\n", command,
            option, text, wanted, command);
    return EXIT_USAGE;
}

int take_seconds(const char *command, const char *option, const char *text, double *seconds) {
    if (read_decimal(text, 86400.0, seconds) && *seconds > 0.0) return EXIT_OK;
    return refuse_value(command, option, text, "a number of seconds greater than 0, at most 86400");
}

int refuse_dash(const char *command, const char *option, const char *value) {
    if (strcmp(value, "-") != 0) return EXIT_OK;
    fprintf(stderr, "tdm %s: %s - names no file; one of that name is ./-\n", command, option);
    return EXIT_USAGE;
}

int take_json(const char *command, const char *option, const char *value, json_request *request) {
    char why[256];
    request->prints = request->prints || !value;
    if (!value) return EXIT_OK;
    if (refuse_dash(command, option, value) != EXIT_OK) return EXIT_USAGE;
    request->file = value;
    if (bench_file_can_be_written(value, why)) return EXIT_OK;
    fprintf(stderr, "tdm %s: %s %s cannot be written: %s\n", command, option, value, why);
    return EXIT_USAGE;
}

static void print_document(FILE *stream, const json_t *document, bool compact) {
    json_dumpf(document, stream, compact ? JSON_COMPACT : JSON_INDENT(2));
    fputc('\n', stream);
}

int put_json(const char *command, const json_request *request, json_t *document, bool compact) {
    bench_file file;
    char why[256];
    bool good = true;
    if (request->prints) print_document(stdout, document, compact);
    if (request->file) {
        good = bench_file_begin(&file, request->file, why);
        if (good) {
            print_document(file.stream, document, compact);
            good = bench_file_end(&file, true, why);
        }
        if (!good)
            fprintf(stderr, "tdm %s: %s cannot be written: %s\n", command, request->file, why);
    }
    json_decref(document);
    return good ? EXIT_OK : EXIT_FAILED;
}

#define BACKEND(NAME, name, value) TDM_##NAME,
const tdm_backend all_backends[TDM_BACKEND_COUNT] = {TDM_BACKEND_LIST(BACKEND)};

const char *const *dtype_words(void) {
#define WORD_FLOAT(name) name,
#define WORD_SIGNED(name)
#define WORD_UNSIGNED(name)
#define WORD_BOOL(name)
#define WORD(NAME, name, bytes, kind) WORD_##kind(name)
    static const char *const words[] = {TDM_DTYPE_LIST(WORD) NULL};
    return words;
}

bool find_dtype(const char *word, size_t length, tdm_dtype *dtype) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const char *name = tdm_dtype_name((tdm_dtype)d);
        *dtype = (tdm_dtype)d;
        if (strlen(name) == length && memcmp(word, name, length) == 0) return true;
    }
    return false;
}

size_t take_dtypes(const char *list, tdm_dtype dtypes[TDM_DTYPE_COUNT]) {
    size_t count = 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        tdm_dtype dtype;
        bool is_new = find_dtype(list, length, &dtype);
        for (size_t i = 0; i < count; i++)
            is_new = is_new && dtypes[i] != dtype;
        if (is_new) dtypes[count++] = dtype;
        list += length + (list[length] == ',');
    }
    return count;
}

int report_failure(const char *command) {
    fprintf(stderr, "tdm %s: %s\n", command, tdm_last_error());
    return EXIT_FAILED;
}

int report_unkept(const char *command) {
    fprintf(stderr, "tdm %s: nothing could be kept in the cache directory: 'tdm doctor' says why\n",
            command);
    return EXIT_FAILED;
}

bool output_has_colours(void) {
    const char *forbidden = tdmi_environment_get("NO_COLOR");
    return tdmi_stream_is_terminal(stdout) && !(forbidden && *forbidden) &&
           tdmi_terminal_has_colours();
}

int output_width(void) {
    const int own = tdmi_stream_columns(stdout);
    if (own > 0) return own;
    const char *columns = tdmi_environment_get("COLUMNS");
    const long width = columns ? strtol(columns, NULL, 10) : 0;
    return width > 0 && width <= 10000 ? (int)width : 80;
}

static int output_error; /* of the first write that failed, for as far as it is known */

bool flush_output(void) {
    if (fflush(stdout) == 0) return true;
    if (!output_error) output_error = errno;
    return false;
}

int end_output(int status) {
    bool failed = !flush_output() || ferror(stdout) != 0;
    /* A stdout that was closed from the start matters only to commands that print. */
    if (fclose(stdout) != 0 && errno != EBADF && !failed) {
        failed = true;
        output_error = errno;
    }
    if (!failed) return status;
    fprintf(stderr, "tdm: not all of the output could be written%s%s\n", output_error ? ": " : "",
            output_error ? strerror(output_error) : "");
    return EXIT_FAILED;
}

char *copy_text(const char *text) {
    const size_t size = strlen(text) + 1;
    char *made = malloc(size);
    return made ? memcpy(made, text, size) : NULL;
}

const char *format_bytes(uint64_t bytes, char *text) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    if (bytes == TDM_UNKNOWN) return strcpy(text, "unknown");
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024.0 && unit < 4) {
        value /= 1024.0;
        unit++;
    }
    snprintf(text, 16, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
    return text;
}
