/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The commands of the program and their options, each listed once: in a const table from which the
 * arguments are read, and from which --help, the man pages and completions are made. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

/* Words, up to NULL. */
typedef const char *const *(*word_list)(void);

typedef struct option_spec {
    const char *name;     /* "json", which is written --json */
    int id;               /* its number within the command */
    const char *argument; /* "FILE"; "[SECONDS]" where it may be left out; NULL: it takes none */
    const char *help;     /* a phrase or a few sentences; printing them breaks the lines */
    word_list words;      /* all that its value can be; NULL: anything, which the command judges */
    bool is_list;         /* the value is several words between commas */
    bool is_open; /* the words are for completion alone: there are other ways to spell them */
} option_spec;

/* An option with any value, or without one. */
#define OPTION(name, id, argument, help)                                                           \
    { name, id, argument, help, NULL, false, false }

typedef struct example_spec {
    const char *line, *help;
} example_spec;

/* Tables end with an entry whose first member is NULL; what does not apply is NULL. Texts are
 * plain ASCII; an empty line separates the paragraphs of a description. */
typedef struct command_spec {
    const char *name;     /* "devices", "cache list"; "" for the program itself */
    const char *summary;  /* one line, as it stands in a list of commands */
    const char *operands; /* "[DEVICE...]" */
    const char *description;
    const option_spec *options;                    /* without --help, which all have */
    const struct command_spec *const *subcommands; /* ends with NULL */
    int (*run)(int argc,
               char **argv); /* returns what to exit with; NULL: it only has subcommands */
    const char *exit_status;
    const option_spec *variables; /* of the environment */
    const example_spec *examples;
} command_spec;

extern const command_spec tdm_spec, devices_spec, doctor_spec, tune_spec, cache_spec, kernel_spec,
    bench_spec;
extern const command_spec bench_compare_spec, cache_list_spec, cache_verify_spec, cache_prune_spec,
    cache_clear_spec, cache_warm_spec, kernel_check_spec;

enum { OPTIONS_MOST_OPERANDS = 64 };

typedef struct operand_list {
    char *word[OPTIONS_MOST_OPERANDS];
    int count;
} operand_list;

/* Takes an option and its value, which is NULL where none was given, is never empty and may be
 * changed. Returns EXIT_OK, or what to exit with after it has said why. */
typedef int (*option_taker)(void *context, int id, char *value);

/* Reads all the arguments after argv[0], which may be "--name value" or "--name=value". Operands
 * are refused where `operands` is NULL. False when the command has nothing left to do, as after
 * --help; *status is then what to exit with. */
bool options_read(const command_spec *spec, int argc, char **argv, option_taker take, void *context,
                  operand_list *operands, int *status);

/* The option_taker of commands that have no options. */
int options_take_none(void *context, int id, char *value);

/* Runs a command or the subcommand that argv[1] names; argv[0] is the command's own name. Returns what to exit with. */
int options_run(const command_spec *spec, int argc, char **argv);

/* The subcommand of that name, or NULL. */
const command_spec *options_subcommand(const command_spec *spec, const char *name);

/* The option that a word names, as "--name" or "--name=value", or NULL. */
const option_spec *options_find(const command_spec *spec, const char *word);

/* "prune" of "cache prune". */
const char *options_last_name(const command_spec *spec);

/* Calls visit for each paragraph of a description. */
void options_paragraphs(const char *text, void (*visit)(void *context, const char *text, int size),
                        void *context);

/* The text of --help: at most 80 columns wide. */
void options_print_help(const command_spec *spec, FILE *stream);

/* For the build: the man page of the program or of a command. */
void options_print_manual(const command_spec *spec);

#endif
