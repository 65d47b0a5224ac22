/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm bench`: reads the options, then calls the benchmark. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench.h>
#include <tandem/tandem.h>

#include "guard.h"
#include "options.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/program.h"
#include "tools.h"

enum {
    OPTION_DEVICE,
    OPTION_OP,
    OPTION_DTYPE,
    OPTION_SHAPE,
    OPTION_PROFILE,
    OPTION_SECONDS,
    OPTION_JSON,
    OPTION_JSON_LINES,
    OPTION_REPORT,
    OPTION_PYTORCH,
    OPTION_PEERS,
    OPTION_SEED,
    OPTION_LIST,
    OPTION_FORMAT,
    OPTION_WIDE,
    OPTION_PEAKS
};

static const char *const *profile_words(void) {
    static const char *const words[] = {"quick", "full",      "lesson",   "rows",
                                        "gpu",   "sentences", "machines", NULL};
    return words;
}

static const char *const *format_words(void) {
    static const char *const words[] = {"table", "md", "csv", "json", "jsonl", NULL};
    return words;
}

static const option_spec option_table[] = {
    {"device", OPTION_DEVICE, "NAME,...",
     "devices; default: that of TANDEM_DEVICE, else every device, each physical card once", NULL,
     true, false},
    {"op", OPTION_OP, "OP,...",
     "operations; 'bias_add' selects its variants too, 'bias_add+gelu' one", bench_op_names, true,
     false},
    {"dtype", OPTION_DTYPE, "TYPE,...", "f32, f64, f16, bf16", dtype_words, true, false},
    {"shape", OPTION_SHAPE, "SHAPE,...",
     "shapes as the table prints them: 8192x4096, 1000*100x100x100", NULL, true, false},
    {"profile", OPTION_PROFILE, "WORD",
     "quick: a representative set, a minute or two (default); full: every case of the operations; "
     "lesson: the exercises of a lesson on GPUs, that is products small and large, norms logged or "
     "kept, two devices at once, parameters in and out; some minutes; rows: what reads and writes "
     "rows once, in every dtype, in the cache and beyond it; some minutes; gpu: rows, products, "
     "launches, graphs and transfers of a GPU, the most important first, of which --seconds takes "
     "what fits; sentences: a transformer's encoder, sentences x tokens, with equal sentences and "
     "without padding; machines: under mpirun, collectives and distributed products next to a "
     "plain MPI program, one process and ScaLAPACK; it also takes --ranks 1,2,4, which measures "
     "each case with so many ranks",
     profile_words, false, false},
    {"format", OPTION_FORMAT, "WORD",
     "of what is printed: table (default), md (a table of Markdown), csv, json, or jsonl (a row a "
     "line, as it is measured)",
     format_words, false, false},
    OPTION("peaks", OPTION_PEAKS, NULL,
           "the fastest copies, reads, launches and products of each device; alone, or before the "
           "rows that --op, --dtype or --shape select (a whole profile begins with it anyway)"),
    OPTION("wide", OPTION_WIDE, NULL, "every column of the table, however narrow the page is"),
    OPTION("seconds", OPTION_SECONDS, "N",
           "begin no row after this time: each device has an equal share of it, and the last row "
           "is finished"),
    JSON_OPTION(OPTION_JSON),
    OPTION("json-lines", OPTION_JSON_LINES, "FILE",
           "write each peak and each row as a line of JSON too, as it is measured: a run that is "
           "ended early has those it finished"),
    OPTION("report", OPTION_REPORT, "FILE", "write a page (HTML) with plots too"),
    OPTION("pytorch", OPTION_PYTORCH, "PYTHON",
           "a Python with PyTorch, to time rows next to Tandem's: --peers without the others"),
    OPTION(
        "peers", OPTION_PEERS, "PYTHON",
        "a Python with any of PyTorch, NumPy, ONNX Runtime and Triton, to time products and "
        "operations on rows too, each in a separate process, on the GPU where the device is one"),
    OPTION("seed", OPTION_SEED, "N", "seed of the inputs and of the rows that are verified"),
    OPTION("list", OPTION_LIST, NULL, "print the selected cases and run nothing"),
    {0}};

static const command_spec *const subcommands[] = {&bench_compare_spec, NULL};

static int bench_command(int argc, char **argv);

const command_spec bench_spec = {
    .name = "bench",
    .summary = "benchmark the devices next to the vendors' own calls",
    .description =
        "Verifies and times each operation on each device, next to a baseline in the same run: the "
        "raw call to the fastest BLAS library (oneDNN, OpenBLAS, MKL, BLIS, CLBlast, cuBLAS) for "
        "matmul, the machine's own copy of as many bytes for memory-bound work, the raw enqueue "
        "for empty operations. ratio = baseline / Tandem: higher is better.",
    .options = option_table,
    .subcommands = subcommands,
    .run = bench_command,
    .exit_status = "0 every row is verified, 1 not, 2 wrong arguments.",
};

/* Cuts `text` at its commas, in place. */
static int split(const char *option, char *text, bench_words *list) {
    for (char *next = text; next; text = next) {
        next = strchr(text, ',');
        if (next) *next++ = '\0';
        if (!*text || list->count == BENCH_MAX_WORDS) {
            fprintf(stderr, "tdm bench: %s wants 1 to %d words between commas\n", option,
                    BENCH_MAX_WORDS);
            return EXIT_USAGE;
        }
        list->word[list->count++] = text;
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
static int set_lines(const char *path, bench_options *options) {
    if (refuse_dash("bench", "--json-lines", path) != EXIT_OK) return EXIT_USAGE;
    FILE *file = tdmi_stream_open(path, "a");
    if (!file) {
        fprintf(stderr, "tdm bench: --json-lines %s cannot be written: %s\n", path,
                strerror(errno));
        return EXIT_USAGE;
    }
    fclose(file);
    options->json_lines_path = path;
    return EXIT_OK;
}

/* Of two that are one file, the second would replace the first. */
static int check_files(const bench_options *options) {
    static const char *const names[] = {"--json", "--json-lines", "--report"};
    const char *paths[] = {options->json_path, options->json_lines_path, options->html_path};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < i; j++) {
            if (!paths[i] || !paths[j] || strcmp(paths[i], paths[j]) != 0) continue;
            fprintf(stderr, "tdm bench: %s and %s name the same file, %s\n", names[j], names[i],
                    paths[i]);
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

/* The place of a word, which has been looked for before, among the words of its option. */
static int find_word(const char *word, const char *const *words) {
    int i = 0;
    while (strcmp(word, words[i]) != 0)
        i++;
    return i;
}

typedef struct bench_arguments {
    bench_options options;
    bool list, wide, pytorch_alone;
} bench_arguments;

static int take(void *context, int id, char *value) {
    bench_arguments *request = context;
    bench_options *options = &request->options;
    json_request file = {0};
    int status;
    switch (id) {
    case OPTION_DEVICE:
        return split("--device", value, &options->devices);
    case OPTION_OP:
        return split("--op", value, &options->cases.ops);
    case OPTION_DTYPE:
        return split("--dtype", value, &options->cases.dtypes);
    case OPTION_SHAPE:
        return split("--shape", value, &options->cases.shapes);
    case OPTION_PROFILE:
        options->cases.profile = (bench_profile)find_word(value, profile_words());
        return EXIT_OK;
    case OPTION_FORMAT:
        options->format = (bench_format)find_word(value, format_words());
        return EXIT_OK;
    case OPTION_PEAKS:
        options->peaks = true;
        return EXIT_OK;
    case OPTION_WIDE:
        request->wide = true;
        return EXIT_OK;
    case OPTION_JSON:
        if (!value) options->format = BENCH_JSON;
        status = take_json("bench", "--json", value, &file);
        if (file.file) options->json_path = file.file;
        return status;
    case OPTION_JSON_LINES:
        return set_lines(value, options);
    case OPTION_SECONDS:
        return take_seconds("bench", "--seconds", value, &options->seconds);
    case OPTION_REPORT:
        status = take_json("bench", "--report", value, &file);
        options->html_path = file.file;
        return status;
    case OPTION_PYTORCH:
        request->pytorch_alone = true;
        options->peers = value;
        return EXIT_OK;
    case OPTION_PEERS:
        request->pytorch_alone = false;
        options->peers = value;
        return EXIT_OK;
    case OPTION_SEED:
        return parse_seed(value, &options->seed);
    default:
        request->list = true;
        return EXIT_OK;
    }
}

/* A wrong name is a wrong argument; a refused environment is a failure. Without --device it is
 * TANDEM_DEVICE that chooses, as for any program, and without that there is no choice. */
static int check_devices(bench_options *options) {
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
    if (options->devices.count > 0 || !tdmi_environment_get("TANDEM_DEVICE")) return EXIT_OK;
    const tdm_device_info *info;
    if (tdm_find_device(NULL, &index) != TDM_OK || tdm_get_listed_device(index, &info) != TDM_OK)
        return report_failure("bench");
    options->devices.word[options->devices.count++] = info->id;
    return EXIT_OK;
}

/* A program that the run will need, named before it starts. */
static int check_python(bench_options *options, bool pytorch_alone) {
    char why[256];
    if (!options->peers || bench_find_peers(options->peers, pytorch_alone, options->has_peer, why))
        return EXIT_OK;
    fprintf(stderr, "tdm bench: %s: %s\n", pytorch_alone ? "--pytorch" : "--peers", why);
    return EXIT_USAGE;
}

/* Help is this program's, wherever it stands. */
static bool wants_machines(int argc, char **argv) {
    bool wants = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return false;
        wants = wants || strcmp(argv[i], "--profile=machines") == 0 ||
                (i + 1 < argc && strcmp(argv[i], "--profile") == 0 &&
                 strcmp(argv[i + 1], "machines") == 0);
    }
    return wants;
}

/* The profile of several ranks is a separate program, which is linked to MPI, next to this one: in the build tree,
 * or where it is installed. Does not return where it could be started. */
static int run_machines(char **argv) {
    static const char *const places[] = {"../bench/machines/tdm-machines",
                                         TANDEM_LIBEXECDIR "/tandem/tdm-machines"};
    char own[4096], path[4224];
    tdmi_program_path(own, sizeof own);
    own[tdmi_path_folder_length(own)] = '\0';
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%s", own, places[i]);
        argv[0] = path;
        tdmi_program_become(path, argv);
    }
    fputs("tdm bench: --profile machines: this build has no tdm-machines; it is made where CMake "
          "finds an MPI (-DTANDEM_MPI=ON)\n",
          stderr);
    return EXIT_FAILED;
}

static int bench_command(int argc, char **argv) {
    bench_arguments request = {.options.seed = 20240229};
    const bench_options *options = &request.options;
    int status;
    if (wants_machines(argc, argv)) return run_machines(argv);
    if (!guard_is_child()) return guard_run(NULL, SECONDS_FOR_A_DRIVER, false);
    if (!options_read(&bench_spec, argc, argv, take, &request, NULL, &status)) return status;
    status = check_files(options);
    if (status != EXIT_OK) return status;
    if (!bench_selects(&options->cases)) {
        fprintf(stderr, "tdm bench: no case matches the selection; try --profile full, and 'tdm "
                        "bench --list' to see the cases\n");
        return EXIT_USAGE;
    }
    if (request.list) {
        bench_list(&options->cases);
        return EXIT_OK;
    }
    const bool selects =
        options->cases.ops.count + options->cases.dtypes.count + options->cases.shapes.count > 0;
    request.options.no_rows = options->peaks && !selects;
    request.options.peaks = options->peaks || !selects;
    request.options.width = request.wide ? 0 : output_width();
    status = check_devices(&request.options);
    if (status == EXIT_OK) status = check_python(&request.options, request.pytorch_alone);
    if (status != EXIT_OK) return status;
    return bench_run(options) ? EXIT_OK : EXIT_FAILED;
}
