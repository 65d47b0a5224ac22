/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm cache`: chooses what to do with the folder of compiled kernels. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "tools.h"

static const command_spec *const subcommands[] = {&cache_list_spec,  &cache_verify_spec,
                                                  &cache_prune_spec, &cache_clear_spec,
                                                  &cache_warm_spec,  NULL};

const command_spec cache_spec = {
    .name = "cache",
    .summary = "list, verify, prune, clear or warm the compiled kernels that are kept",
    .description =
        "The folder of compiled kernels (TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else "
        "~/.cache/tandem), with what 'tdm tune' measured. Nothing in it has to be kept: a kernel "
        "that "
        "is missing is compiled again.",
    .subcommands = subcommands,
    .is_group = true,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

int cache_command(int argc, char **argv) {
    int status;
    if (argc < 2) {
        options_print_help(&cache_spec, stderr);
        return EXIT_USAGE;
    }
    const command_spec *spec = options_subcommand(&cache_spec, argv[1]);
    if (spec == &cache_warm_spec) return cache_warm_command(argc, argv);
    if (spec) return cache_entries_command(argc, argv);
    options_read(&cache_spec, argc, argv, options_take_none, NULL, NULL, &status);
    return status;
}
