/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench`: reads the options, then calls the benchmark. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench.h>
#include <tandem/tandem.h>

#include "guard.h"
#include "tools.h"

static const char usage[] =
    "usage: tdm bench [OPTION...]\n"
    "\n"
    "Verifies and times each operation on each device, beside a baseline in the same run: the raw\n"
    "call to cblas, CLBlast or cuBLAS for matmul, the machine's own copy of as many bytes for\n"
    "memory-bound work, the raw enqueue for empty operations. ratio = baseline / Tandem: higher "
    "is\n"
    "better.\n"
    "\n"
    "  --device NAME,...   devices; default: every device, each physical card once\n"
    "  --op OP,...         operations; 'bias_add' selects its variants too, 'bias_add+gelu' one\n"
    "  --dtype TYPE,...    f32, f64, f16, bf16\n"
    "  --shape SHAPE,...   shapes as the table prints them: 8192x4096, 1000*100x100x100\n"
    "  --profile quick     a representative set, under a minute (default)\n"
    "  --profile full      every case of the operations\n"
    "  --profile lesson    the exercises of a lesson on GPUs: products small and large, norms "
    "logged\n"
    "                      or kept, two devices at once, parameters in and out; some minutes\n"
    "  --json FILE         write the rows as JSON too\n"
    "  --report FILE       write a page (HTML) with plots too; needs gnuplot\n"
    "  --pytorch PYTHON    a Python with PyTorch, to time the norms of the lesson beside\n"
    "  --seed N            seed of the inputs and of the rows that are verified\n"
    "  --list              print the selected cases and run nothing\n"
    "\n"
    "Exit status: 0 every row is verified, 1 not, 2 wrong arguments.\n";

static const char *const option_words[] = {"--device",  "--op",   "--dtype",  "--shape",
                                           "--profile", "--json", "--report", "--pytorch",
                                           "--seed",    "--list", "--help",   NULL};
static const char *const dtype_words[] = {"f32", "f64", "f16", "bf16", NULL};
static const char *const profile_words[] = {"quick", "full", "lesson", NULL};

static bool is_one_of(const char *word, const char *const *words) {
    for (; *words; words++) {
        if (strcmp(word, *words) == 0) return true;
    }
    return false;
}

/* Cuts `text` at its commas, in place. */
static bool split(const char *option, char *text, bench_words *list) {
    for (char *next = text; next; text = next) {
        next = strchr(text, ',');
        if (next) *next++ = '\0';
        if (!*text || list->count == BENCH_MAX_WORDS) {
            fprintf(stderr, "tdm bench: %s wants 1 to %d words between commas\n", option,
                    BENCH_MAX_WORDS);
            return false;
        }
        list->word[list->count++] = text;
    }
    return true;
}

static int parse_list(const char *option, char *value, const char *what, bench_words *list,
                      const char *const *allowed) {
    if (!split(option, value, list)) return EXIT_USAGE;
    for (size_t i = 0; allowed && i < list->count; i++) {
        if (!is_one_of(list->word[i], allowed))
            return refuse_word("bench", what, list->word[i], allowed);
    }
    return EXIT_OK;
}

static int parse_seed(const char *value, uint64_t *seed) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || end == value || *end || *value == '-') {
        fprintf(stderr, "tdm bench: --seed '%s' is not a whole number\n", value);
        return EXIT_USAGE;
    }
    *seed = number;
    return EXIT_OK;
}

/* Opened now, so that minutes of measuring are not lost to a wrong path. */
static int set_json(const char *path, bench_options *options) {
    FILE *file = fopen(path, "a");
    if (!file) {
        fprintf(stderr, "tdm bench: --json %s cannot be written: %s\n", path, strerror(errno));
        return EXIT_USAGE;
    }
    fclose(file);
    options->json_path = path;
    return EXIT_OK;
}

/* Tried now for the same reason; the file itself is made when there is something to write. */
static int set_report(const char *path, bench_options *options) {
    char why[256];
    if (!bench_can_write_html(path, why)) {
        fprintf(stderr, "tdm bench: --report %s cannot be written: %s\n", path, why);
        return EXIT_USAGE;
    }
    options->html_path = path;
    return EXIT_OK;
}

static int set_profile(const char *word, bench_options *options) {
    for (int i = 0; profile_words[i]; i++) {
        if (strcmp(word, profile_words[i]) != 0) continue;
        options->profile = (bench_profile)i;
        return EXIT_OK;
    }
    return refuse_word("bench", "unknown profile", word, profile_words);
}

static int set_option(const char *option, char *value, bench_options *options) {
    if (strcmp(option, "--device") == 0)
        return parse_list(option, value, "unknown device", &options->devices, NULL);
    if (strcmp(option, "--op") == 0)
        return parse_list(option, value, "unknown operation", &options->ops, bench_op_names());
    if (strcmp(option, "--dtype") == 0)
        return parse_list(option, value, "unknown dtype", &options->dtypes, dtype_words);
    if (strcmp(option, "--shape") == 0)
        return parse_list(option, value, "unknown shape", &options->shapes, NULL);
    if (strcmp(option, "--seed") == 0) return parse_seed(value, &options->seed);
    if (strcmp(option, "--json") == 0) return set_json(value, options);
    if (strcmp(option, "--report") == 0) return set_report(value, options);
    if (strcmp(option, "--profile") == 0) return set_profile(value, options);
    options->pytorch = value;
    return EXIT_OK;
}

/* Takes "--option value" and "--option=value". EXIT_OK with *done set: nothing is left to do. */
static int parse(int argc, char **argv, bench_options *options, bool *list, bool *done) {
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value) *value++ = '\0';
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            *done = true;
            return EXIT_OK;
        }
        if (strcmp(argv[i], "--list") == 0 && !value) {
            *list = true;
            continue;
        }
        if (!is_one_of(argv[i], option_words) || strcmp(argv[i], "--list") == 0)
            return refuse_word("bench", "unknown argument", argv[i], option_words);
        const char *option = argv[i];
        if (!value && i + 1 < argc) value = argv[++i];
        if (!value || !*value) {
            fprintf(stderr, "tdm bench: %s wants a value\n", option);
            return EXIT_USAGE;
        }
        int status = set_option(option, value, options);
        if (status != EXIT_OK) return status;
    }
    return EXIT_OK;
}

/* A wrong name is a wrong argument; a refused environment is a failure. */
static int check_devices(const bench_options *options) {
    size_t count, index;
    tdm_status counted = tdm_get_device_count(&count);
    guard_listed();
    if (counted != TDM_OK) return report_failure("bench");
    for (size_t i = 0; i < options->devices.count; i++) {
        if (tdm_find_device(options->devices.word[i], &index) != TDM_OK) {
            report_failure("bench");
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

/* Programs that the run will need, told before it starts. */
static int check_programs(const bench_options *options) {
    char why[256];
    if (options->html_path && !bench_has_gnuplot(why)) {
        fprintf(stderr, "tdm bench: --report: %s\n", why);
        return EXIT_FAILED;
    }
    if (options->pytorch && !bench_has_pytorch(options->pytorch, why)) {
        fprintf(stderr, "tdm bench: --pytorch: %s\n", why);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int bench_command(int argc, char **argv) {
    bench_options options = {.seed = 20240229};
    bool list = false, done = false;
    if (!guard_is_child()) return guard_run(argc, argv, SECONDS_FOR_A_DRIVER, false);
    int status = parse(argc, argv, &options, &list, &done);
    if (status != EXIT_OK || done) return status;
    if (!bench_selects(&options)) {
        fprintf(stderr, "tdm bench: no case matches the selection; try --profile full, and "
                        "'tdm bench --list' to see the cases\n");
        return EXIT_USAGE;
    }
    if (list) {
        bench_list(&options);
        return EXIT_OK;
    }
    status = check_devices(&options);
    if (status == EXIT_OK) status = check_programs(&options);
    if (status != EXIT_OK) return status;
    return bench_run(&options) ? EXIT_OK : EXIT_FAILED;
}
