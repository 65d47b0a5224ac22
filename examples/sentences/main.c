/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sentences as vectors of which similar ones are near each other: see README.md.
 *
 *     cc -std=c11 -D_POSIX_C_SOURCE=200809L *.c $(pkg-config --cflags --libs tandem) -lm -o sentences */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "program.h"

static const char usage[] =
    "usage: sentences COMMAND [OPTION...]\n"
    "\n"
    "  embed FILE          the embedding of each line of FILE (\"-\": standard input), a line of "
    "numbers each\n"
    "  search FILE QUERY   the five lines of FILE that are nearest to QUERY, with the cosine of "
    "the angle\n"
    "  tokens FILE         the tokens of each line of FILE, as numbers of the vocabulary\n"
    "  check FILE          compares tokens and embeddings with those in FILE (see expected.txt)\n"
    "  bench               milliseconds a batch, medians; with random weights where no model is "
    "given\n"
    "\n"
    "  --model DIR         the folder of the model: config.json, vocab.txt, model.safetensors\n"
    "                      (default: the environment variable SENTENCES_MODEL)\n"
    "  --device NAME       a device of Tandem's, as cpu:0 (default: Tandem's default device)\n"
    "  --dtype NAME        f32 (default), bf16 or f16: of weights and what is computed of them\n"
    "  --out FILE          embed: write the tensor \"embeddings\" to this file, in the format "
    "safetensors\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0 all went well, 1 not, 2 wrong arguments.\n";

static const struct command {
    const char *name;
    int files;
    bool (*run)(const options *, session *);
    bool needs_device, needs_model;
} commands[] = {
    {"embed", 1, run_embed, true, true},    {"search", 2, run_search, true, true},
    {"tokens", 1, run_tokens, false, true}, {"check", 1, run_check, true, true},
    {"bench", 0, run_bench, true, false},
};

static bool open_tokenizer(const options *o, session *s) {
    char path[4096];
    snprintf(path, sizeof path, "%s/vocab.txt", o->folder);
    s->tokenizer = tokenizer_open(path);
    if (!s->tokenizer) return false;
    if (tokenizer_size(s->tokenizer) > (size_t)s->config.vocabulary)
        return fail("%s: has %zu tokens, config.json %lld", path, tokenizer_size(s->tokenizer),
                    (long long)s->config.vocabulary);
    return true;
}

static bool open_random_model(const options *o, session *s) {
    tdm_state_dict *dict;
    s->config = config_minilm();
    if (!ok(model_randomize(s->queue, &s->config, 1, &dict))) return false;
    const bool good = model_init(s->queue, dict, "random", &s->config, o->dtype, &s->model);
    tdm_state_dict_destroy(dict);
    return good;
}

static bool open_session(const struct command *command, const options *o, session *s) {
    if (command->needs_model && !o->folder)
        return fail(
            "no model: give --model DIR or set SENTENCES_MODEL; scripts/sentences.sh gets one");
    if (o->folder && (!config_read(o->folder, &s->config) || !open_tokenizer(o, s))) return false;
    if (!command->needs_device) return true;
    if (!ok(tdm_device_open(o->device, &s->device)) ||
        !ok(tdm_queue_create(s->device, 0, &s->queue)))
        return false;
    if (!o->folder) return open_random_model(o, s);
    return model_load(s->queue, o->folder, &s->config, o->dtype, &s->model);
}

static void close_session(session *s) {
    model_deinit(&s->model);
    tokenizer_close(s->tokenizer);
    tdm_queue_destroy(s->queue);
    tdm_device_release(s->device);
}

static int wrong_usage(const char *problem, const char *what) {
    fprintf(stderr, "sentences: %s%s%s%s; see sentences --help\n", problem, *what ? " '" : "", what,
            *what ? "'" : "");
    return 2;
}

static bool set_dtype(options *o, const char *name) {
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_BF16, TDM_F16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(name, tdm_dtype_name(dtypes[i])) == 0) {
            o->dtype = dtypes[i];
            return true;
        }
    return false;
}

/* The value of the option at argv[*i], "--name VALUE" or "--name=VALUE"; NULL where it is another option. */
static const char *value_of(const char *name, int argc, char **argv, int *i) {
    const size_t length = strlen(name);
    if (strncmp(argv[*i], name, length) != 0) return NULL;
    if (argv[*i][length] == '=') return argv[*i] + length + 1;
    return argv[*i][length] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

/* 0, or the exit status of wrong arguments. */
static int parse(int argc, char **argv, options *o, const struct command **command) {
    int files = 0;
    for (int i = 1; i < argc; i++) {
        const char *value;
        if ((value = value_of("--device", argc, argv, &i)))
            o->device = value;
        else if ((value = value_of("--model", argc, argv, &i)))
            o->folder = value;
        else if ((value = value_of("--out", argc, argv, &i)))
            o->out = value;
        else if ((value = value_of("--dtype", argc, argv, &i))) {
            if (!set_dtype(o, value)) return wrong_usage("no dtype of f32, bf16 and f16 is", value);
        } else if (argv[i][0] == '-' && argv[i][1] != '\0')
            return wrong_usage("unknown option, or one without its value:", argv[i]);
        else if (!*command) {
            for (size_t j = 0; j < sizeof commands / sizeof *commands; j++)
                if (strcmp(argv[i], commands[j].name) == 0) *command = &commands[j];
            if (!*command) return wrong_usage("unknown command", argv[i]);
        } else if (files < (*command)->files)
            o->files[files++] = argv[i];
        else
            return wrong_usage("unexpected argument", argv[i]);
    }
    if (!*command) return wrong_usage("no command", "");
    if (files < (*command)->files) return wrong_usage("too few arguments for", (*command)->name);
    if (o->out && (*command)->run != run_embed) return wrong_usage("--out goes with", "embed");
    return 0;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
    options o = {.folder = getenv("SENTENCES_MODEL"), .dtype = TDM_F32};
    const struct command *command = NULL;
    const int wrong = parse(argc, argv, &o, &command);
    if (wrong) return wrong;
    session s = {0};
    bool good = open_session(command, &o, &s) && command->run(&o, &s);
    close_session(&s);
    if (fflush(stdout) != 0 || ferror(stdout)) good = fail("standard output could not be written");
    return good ? 0 : 1;
}
