/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The program `tdm`: chooses the command. */
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

#include "base/blas_list.h"
#include "guard.h"
#include "options.h"
#include "platform/program.h"
#include "tools.h"

static const command_spec *const commands[] = {&devices_spec, &doctor_spec, &tune_spec, &cache_spec,
                                               &kernel_spec,  &bench_spec,  NULL};

enum { OPTION_VERSION };

static const option_spec options[] = {
    OPTION("version", OPTION_VERSION, NULL, "print the version of the program and of the library"),
    {0}};

#define NAME_AND_COMMA(NAME, name, value) name ","
#define BLAS_NAME(name) #name ", "
#define BLAS_NAMES TDMI_BLAS_LIST(BLAS_NAME)
#define BACKENDS TDM_BACKEND_LIST(NAME_AND_COMMA)

static const option_spec variables[] = {
    OPTION("TANDEM_BACKEND", 0, "LIST",
           BACKENDS
           " or another such list, of the backends that are used: the first that lists a device "
           "has the default device; or auto, which prefers cpu to a CPU through opencl"),
    OPTION(
        "TANDEM_DEVICE", 0, "NAME",
        "the default device: cpu, cpu:1, cuda:0, opencl:2, gpu:0, cuda:uuid=..., opencl:pci=..."),
    OPTION("TANDEM_CPU_DEVICES", 0, "NUMBER", "how many cpu devices to list"),
    OPTION("TANDEM_CPU_THREADS", 0, "NUMBER", "threads of the cpu backend"),
    OPTION("TANDEM_CPU_COMPILER", 0, "FILE",
           "the C compiler of expressions and user kernels on cpu, as an absolute path, or none"),
    OPTION("TANDEM_BLAS", 0, "NAME",
           BLAS_NAMES "or builtin: computes matrix products wherever it can"),
    OPTION("TANDEM_MATH", 0, "WORD", "ieee, or tf32 to allow TF32 in f32 products"),
    OPTION("TANDEM_CACHE_DIR", 0, "FOLDER",
           "of compiled kernels; else $XDG_CACHE_HOME/tandem, else ~/.cache/tandem"),
    OPTION("TANDEM_LIBRARY_PATH", 0, "LIST",
           "absolute paths, separated by colons (on Windows semicolons), of folders to search "
           "first for vendors' libraries"),
    OPTION("TANDEM_NCCL_LIBRARY", 0, "FILE",
           "the file of NCCL, an absolute path; else libnccl.so.2"),
    OPTION("TANDEM_TRACE", 0, "FILE",
           "to which a program's matrix products are appended, each once in a process, for 'tdm "
           "tune --shapes FILE'"),
    OPTION("TANDEM_LOG", 0, "LEVEL",
           "error, warn, info or debug, and :FILE to append to it rather than to write to stderr: "
           "what is found, opened, chosen, compiled and copied"),
    OPTION("TANDEM_PROFILE", 0, "FILE",
           "for a trace of the run, which Chrome opens; %p in it is the number of the process"),
    OPTION("TANDEM_VERIFY", 0, "SHARE",
           "of a program's calls, from 0 to 1, that the host computes again to find a driver or "
           "library that is wrong; :FOLDER for the operands of the first such call"),
    OPTION("NO_COLOR", 0, "ANYTHING", "no colours, also on a terminal"),
    {0}};

const command_spec tdm_spec = {
    .name = "",
    .summary = "the compute devices of this machine, through the library Tandem",
    .description =
        "Lists, examines and measures what a machine can compute on, as the library Tandem sees "
        "it: NVIDIA's GPUs through CUDA, other devices through OpenCL, and the cores themselves.",
    .options = options,
    .subcommands = commands,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
    .variables = variables,
};

static int take(void *context, int id, char *value) {
    (void)id;
    (void)value;
    *(bool *)context = true;
    return EXIT_OK;
}

/* For the build alone: ".man NAME". */
static int print_for_build(int argc, char **argv) {
    const bool is_page = argc == 2 && strcmp(argv[0], ".man") == 0;
    const command_spec *spec = is_page ? options_subcommand(&tdm_spec, argv[1]) : NULL;
    if (is_page && strcmp(argv[1], "tdm") == 0) spec = &tdm_spec;
    if (!spec) {
        fprintf(stderr, "tdm %s: this is for the build of the program itself\n", argv[0]);
        return EXIT_USAGE;
    }
    options_print_manual(spec);
    return EXIT_OK;
}

/* `tdm help cache list` is `tdm cache list --help`. */
static int help(int argc, char **argv) {
    const command_spec *spec = &tdm_spec;
    int status = EXIT_OK;
    for (int i = 1; i < argc; i++) {
        const command_spec *const command = options_subcommand(spec, argv[i]);
        if (!command &&
            !options_read(spec, 2, argv + i - 1, options_take_none, NULL, NULL, &status))
            return status;
        if (command) spec = command;
    }
    options_print_help(spec, stdout);
    return EXIT_OK;
}

static int run(int argc, char **argv) {
    bool wants_version = false;
    int status;
    if (argc < 2) {
        options_print_help(&tdm_spec, stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, ".child") == 0) return child_command(argc - 1, argv + 1);
    if (strcmp(word, ".complete") == 0) return complete_command(argc - 1, argv + 1);
    if (word[0] == '.') return print_for_build(argc - 1, argv + 1);
    if (strcmp(word, "help") == 0) return help(argc - 1, argv + 1);
    const command_spec *const command = options_subcommand(&tdm_spec, word);
    if (command) return options_run(command, argc - 1, argv + 1);
    if (!options_read(&tdm_spec, argc, argv, take, &wants_version, NULL, &status)) return status;
    if (wants_version)
        printf("tdm %d.%d.%d (libtandem %s)\n", TDM_VERSION_MAJOR, TDM_VERSION_MINOR,
               TDM_VERSION_PATCH, tdm_version());
    return EXIT_OK;
}

int main(int argc, char **argv) {
    tdmi_program_begin(&argc, &argv);
    guard_begin(argc - 1, argv + 1);
    return end_output(run(argc, argv));
}
