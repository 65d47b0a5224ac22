/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm .complete WORD...`: what the last word can become, for the completions of bash, zsh and fish. */
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#include "guard.h"
#include "options.h"
#include "tools.h"

/* The candidate on its line, where the word that is being written is its beginning. */
static void offer(const char *begun, const char *before, const char *word) {
    char whole[544]; /* of `before`, and a device's name */
    snprintf(whole, sizeof whole, "%s%s", before, word);
    if (strncmp(whole, begun, strlen(begun)) == 0) puts(whole);
}

static void offer_devices(const char *begun, const char *before) {
    size_t count = 0;
    if (tdm_get_device_count(&count) != TDM_OK) return;
    guard_listed();
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        if (tdm_get_listed_device(i, &info) == TDM_OK) offer(begun, before, info->id);
    }
}

static bool has_devices(const char *operand) { return operand && strstr(operand, "DEVICE"); }

/* The possible values of the option; `before` is the text before them in the same word: "--op=", "f32,". */
static void offer_values(const option_spec *o, const char *begun, size_t start) {
    char before[512];
    const char *comma = o->is_list ? strrchr(begun + start, ',') : NULL;
    const size_t length = comma ? (size_t)(comma + 1 - begun) : start;
    snprintf(before, sizeof before, "%.*s", (int)length, begun);
    if (o->words)
        for (const char *const *word = o->words(); *word; word++)
            offer(begun, before, *word);
    else if (strcmp(o->name, "device") == 0)
        offer_devices(begun, before);
    else if (strstr(o->argument, "FILE") || strcmp(o->argument, "PYTHON") == 0)
        puts(".files");
}

static void offer_words(const command_spec *spec, const char *begun) {
    char option[64];
    for (const command_spec *const *s = spec->subcommands; s && *s; s++)
        offer(begun, "", options_last_name(*s));
    if (has_devices(spec->operands)) offer_devices(begun, "");
    for (const option_spec *o = spec->options; o && o->name; o++) {
        snprintf(option, sizeof option, "--%s", o->name);
        offer(begun, "", option);
    }
    offer(begun, "", "--help");
}

int complete_command(int argc, char **argv) {
    const command_spec *spec = &tdm_spec;
    const option_spec *open = NULL; /* the option whose value comes next */
    const char *begun = argc > 1 ? argv[argc - 1] : "";
    /* a driver that hangs is not waited for, and what is wrong is not said here */
    if (!guard_is_child()) return guard_run(NULL, 2.0, false);
    for (int i = 1; i + 1 < argc; i++) {
        const command_spec *command = open ? NULL : options_subcommand(spec, argv[i]);
        const option_spec *o = open ? NULL : options_find(spec, argv[i]);
        if (command) spec = command;
        open = o && o->argument && !strchr(argv[i], '=') ? o : NULL;
    }
    const char *equals = open ? NULL : strchr(begun, '=');
    const option_spec *own = equals ? options_find(spec, begun) : open;
    /* a value that may be left out may be an option or a command, too */
    const bool is_free = open && (begun[0] == '-' || strcmp(open->argument, "[SECONDS]") == 0);
    if (own && own->argument && !is_free)
        offer_values(own, begun, equals ? (size_t)(equals + 1 - begun) : 0);
    else if (spec->operands && !has_devices(spec->operands) && begun[0] != '-')
        puts(".files");
    else
        offer_words(spec, begun);
    return EXIT_OK;
}
