/* tandem cache: chooses what to do with the kept kernels. */
#include <stdio.h>
#include <string.h>

#include "tools.h"

int cache_command(int argc, char **argv) {
    static const char *const words[] = {"warm", "--help", NULL};
    if (argc > 1 && strcmp(argv[1], "warm") == 0) return cache_warm_command(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "--help") != 0)
        return refuse_word("cache", "unknown command", argv[1], words);
    fputs("usage: tandem cache COMMAND [OPTION...]\n"
          "\n"
          "  warm   compile the usual kernels of devices ahead of the first call\n",
          argc > 1 ? stdout : stderr);
    return argc > 1 ? EXIT_OK : EXIT_USAGE;
}
