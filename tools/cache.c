/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm cache`: chooses what to do with the folder of compiled kernels. */
#include <stdio.h>
#include <string.h>

#include "tools.h"

static const char usage[] =
    "usage: tdm cache COMMAND [OPTION...]\n"
    "\n"
    "The folder of compiled kernels (TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else\n"
    "~/.cache/tandem). Nothing in it has to be kept: a kernel that is missing is compiled again.\n"
    "\n"
    "  list [--json]      every kernel, the oldest first: size, age, kernel, device and driver\n"
    "  verify [--json]    reads all of them and names those that will not be used; exit status 1\n"
    "                     when there is one\n"
    "  prune [--older-than DAYS] [--max-size SIZE] [--dry-run]\n"
    "                     removes what is of no use: faulty kernels, those of another Tandem, or\n"
    "                     of a device or driver that is not listed now; then, if asked, those\n"
    "                     written more than DAYS days ago, and the oldest until the rest takes\n"
    "                     SIZE at most (bytes, or 512K, 100M, 2G). --dry-run only says what\n"
    "  clear              removes them all\n"
    "  warm [DEVICE...]   compiles the usual kernels ahead of the first call\n";

int cache_command(int argc, char **argv) {
    static const char *const words[] = {"list", "verify", "prune", "clear", "warm", "--help", NULL};
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "warm") == 0) return cache_warm_command(argc - 1, argv + 1);
    for (int i = 1; i < argc && i < 3; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0) continue;
        fputs(usage, stdout);
        return EXIT_OK;
    }
    if (argc < 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    for (int i = 0; words[i][0] != '-'; i++)
        if (strcmp(word, words[i]) == 0) return cache_entries_command(argc, argv);
    return refuse_word("cache", "unknown command", word, words);
}
