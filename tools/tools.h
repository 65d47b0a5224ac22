/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands of the program `tdm`. */
#ifndef TOOLS_H
#define TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tandem/tandem.h>

/* Exit statuses. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* How long a driver may take for one thing unless an option says. */
#define SECONDS_FOR_A_DRIVER 20.0

/* For the program itself and for shells: argv[0] is the name. Each returns an exit status. */
int child_command(int argc, char **argv);
int complete_command(int argc, char **argv); /* of a shell, as its files in completions/ call it */

/* Prints to stderr "tdm COMMAND: WHAT 'WORD'", the nearest of `words`, which end with NULL, and where to read on;
 * returns EXIT_USAGE. */
int refuse_word(const char *command, const char *what, const char *word, const char *const *words);

/* A number from 0 to `most`: digits and a point, no sign, no exponent, nothing after. False when it is none. */
bool read_decimal(const char *text, double most, double *number);

/* Prints to stderr what the value of an option has to be; returns EXIT_USAGE. */
int refuse_value(const char *command, const char *option, const char *text, const char *wanted);

/* A number of seconds greater than 0, at most a day. Else says so, and returns EXIT_USAGE. */
int take_seconds(const char *command, const char *option, const char *text, double *seconds);

/* Every backend, in the order in which `auto` takes them. */
extern const tdm_backend all_backends[TDM_BACKEND_COUNT];

/* The values of --dtype. */
const char *const *dtype_words(void);

/* The dtype of a name that has `length` bytes; false when it is none. */
bool find_dtype(const char *word, size_t length, tdm_dtype *dtype);

/* Those of "f32,f16", each once; returns how many. */
size_t take_dtypes(const char *list, tdm_dtype dtypes[TDM_DTYPE_COUNT]);

/* Prints the library's last error as "tdm COMMAND: …"; returns EXIT_FAILED. */
int report_failure(const char *command);

/* Prints that the cache directory has kept nothing; returns EXIT_FAILED. */
int report_unkept(const char *command);

/* Does stdout go to a terminal that shows colours, and does NO_COLOR (no-color.org) not forbid
 * them? */
bool output_has_colours(void);

/* Columns of what stdout goes to: those of the terminal, else $COLUMNS, else 80. */
int output_width(void);

/* Writes out what was printed so far. False when that failed, which end_output() reports. */
bool flush_output(void);

/* For the end of the program: `status`, or EXIT_FAILED and a message when not everything that was
 * printed to stdout could be written. */
int end_output(int status);

/* --json [FILE], which all commands have alike: the document is printed instead of the text, or, with a FILE, written
 * there besides, whole or not at all. */
#define JSON_OPTION(id)                                                                            \
    OPTION(                                                                                        \
        "json", id, "[FILE]",                                                                      \
        "print JSON instead of text; with FILE, write it there, whole or not at all, and print "   \
        "the text as well")

typedef struct json_request {
    bool prints;
    const char *file; /* or NULL */
} json_request;

/* Takes the option's value, NULL for none. A path that cannot be written is refused now: EXIT_USAGE. */
int take_json(const char *command, const char *option, const char *value, json_request *request);
/* EXIT_USAGE with a message for "-", which elsewhere means standard output and here would be a file of that name. */
int refuse_dash(const char *command, const char *option, const char *value);

/* Prints or writes the document, which it gives back: on a single line when `compact`. Returns EXIT_OK, or EXIT_FAILED
 * after a message. */
int put_json(const char *command, const json_request *request, json_t *document, bool compact);

/* For free(); NULL when memory is short. */
char *copy_text(const char *text);

/* "3.1 GiB"; "unknown" for TDM_UNKNOWN. Returns `text`, which holds at least 16 bytes. */
const char *format_bytes(uint64_t bytes, char *text);

#endif
