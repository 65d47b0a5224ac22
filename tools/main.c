/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The program `tdm`: chooses the command. */
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#include "tools.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"devices", devices_command, "list every compute device through every API"},
    {"doctor", doctor_command, "try every driver and device; say what is missing or broken"},
    {"cache", cache_command,
     "list, verify, prune, clear or warm the compiled kernels that are kept"},
    {"bench", bench_command, "benchmark the devices beside the vendors' own calls"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *stream) {
    fputs("usage: tdm COMMAND [OPTION...]\n\ncommands:\n", stream);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-9s %s\n", commands[i].name, commands[i].help);
    fputs("\n"
          "  tdm COMMAND --help   the options of a command\n"
          "  tdm --version        the version of the program and of the library\n"
          "\n"
          "environment: TANDEM_BACKEND=cuda,opencl,cpu and TANDEM_DEVICE=opencl:0 choose the "
          "default\n"
          "device; 'tdm doctor' shows what they decided.\n",
          stream);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_usage(stdout);
        return EXIT_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("tdm %d.%d.%d (libtandem %s)\n", TDM_VERSION_MAJOR, TDM_VERSION_MINOR,
               TDM_VERSION_PATCH, tdm_version());
        return EXIT_OK;
    }
    if (strcmp(word, ".child") == 0) return child_command(argc - 1, argv + 1);
    const char *words[COMMANDS + 3] = {0};
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
        words[i] = commands[i].name;
    }
    words[COMMANDS] = "--help";
    words[COMMANDS + 1] = "--version";
    const char *nearest = nearest_word(word, words);
    fprintf(stderr, "tdm: unknown command '%s'", word);
    if (nearest) fprintf(stderr, "; did you mean '%s'?", nearest);
    fputs("\n'tdm --help' lists the commands\n", stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv) { return end_output(run(argc, argv)); }
