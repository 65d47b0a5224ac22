/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm kernel check`: whether a text in the kernel dialect compiles for every backend. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "guard.h"
#include "options.h"
#include "tools.h"

enum { OPTION_ENTRY, OPTION_DTYPE, OPTION_TENSOR, OPTION_OUTPUT, OPTION_NUMBER, OPTION_INTEGER };

static const option_spec option_table[] = {
    {"entry", OPTION_ENTRY, "NAME", "of the kernel; default: the file's name without its ending",
     NULL, false, false},
    {"tensor", OPTION_TENSOR, "NAME[:TYPE]",
     "a parameter that is a tensor of T or, with a TYPE as u8 or i64, of that", NULL, false, false},
    {"output", OPTION_OUTPUT, "NAME[:TYPE]", "likewise, a tensor that the kernel writes", NULL,
     false, false},
    {"number", OPTION_NUMBER, "NAME", "a parameter that is a number", NULL, false, false},
    {"integer", OPTION_INTEGER, "NAME", "a parameter that is an integer", NULL, false, false},
    {"dtype", OPTION_DTYPE, "TYPE,...", "what T is: f32, f64, f16, bf16 (default: f32)",
     dtype_words, true, false},
    {0}};

static const example_spec examples[] = {
    {"tdm kernel check scale.cl --tensor x --output y --number s", "the kernel scale, for f32"},
    {"tdm kernel check rows.cl --entry argmax --tensor x --output best:i64 --dtype f32,f16",
     "one of several kernels in a file, for two dtypes"},
    {0}};

const command_spec kernel_check_spec = {
    .name = "kernel check",
    .summary = "compile a kernel of one's own for every backend",
    .operands = "FILE",
    .description =
        "Compiles a text in the kernel dialect, as tdm_kernel_source would with these parameters, "
        "in the order in which they are given: as OpenCL C by the driver of the first device, as "
        "CUDA C++ by NVRTC, which needs no GPU, and as C by the C compiler of the machine. "
        "Nothing is run.\n\nA backend without a compiler here is not checked. What a compiler says "
        "has the file's name and lines.",
    .options = option_table,
    .exit_status = "0 it compiles wherever there is a compiler, 1 it does not, or nothing could be "
                   "checked, 2 wrong arguments.",
    .examples = examples,
};

static const command_spec *const subcommands[] = {&kernel_check_spec, NULL};

const command_spec kernel_spec = {
    .name = "kernel",
    .summary = "check kernels of one's own",
    .description = "Kernels in the kernel dialect, as programs give them to tdm_kernel_source.",
    .subcommands = subcommands,
    .is_group = true,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

enum { MOST_PARAMETERS = TDM_KERNEL_MAX_TENSORS + TDM_KERNEL_MAX_SCALARS + 1, LONGEST_NAME = 80 };

typedef struct request {
    const char *entry;
    char names[MOST_PARAMETERS][LONGEST_NAME]; /* arguments stay as they are for the child */
    tdm_parameter parameters[MOST_PARAMETERS];
    size_t parameter_count;
    tdm_dtype dtypes[TDM_DTYPE_COUNT];
    size_t dtype_count;
} request;

static bool find_dtype(const char *word, size_t length, tdm_dtype *dtype) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const char *name = tdm_dtype_name((tdm_dtype)d);
        if (strlen(name) != length || memcmp(word, name, length) != 0) continue;
        *dtype = (tdm_dtype)d;
        return true;
    }
    return false;
}

static int take_parameter(request *r, tdm_parameter_kind kind, const char *value) {
    const bool is_tensor = kind == TDM_PARAMETER_TENSOR || kind == TDM_PARAMETER_OUTPUT;
    const char *colon = is_tensor ? strchr(value, ':') : NULL;
    tdm_dtype dtype = TDM_F32;
    if (colon && !find_dtype(colon + 1, strlen(colon + 1), &dtype)) {
        fprintf(stderr, "tdm kernel check: %s: '%s' is no dtype\n", value, colon + 1);
        return EXIT_USAGE;
    }
    if (r->parameter_count == MOST_PARAMETERS) return EXIT_OK; /* which the library refuses */
    char *name = r->names[r->parameter_count];
    snprintf(name, LONGEST_NAME, "%.*s", (int)(colon ? (size_t)(colon - value) : strlen(value)),
             value);
    r->parameters[r->parameter_count++] =
        (tdm_parameter){name, kind, colon ? (int)dtype : TDM_ANY_DTYPE};
    return EXIT_OK;
}

static int take_dtypes(request *r, const char *value) {
    r->dtype_count = 0;
    for (const char *word = value; *word && r->dtype_count < TDM_DTYPE_COUNT;) {
        const size_t length = strcspn(word, ",");
        if (find_dtype(word, length, &r->dtypes[r->dtype_count])) r->dtype_count++;
        word += length + (word[length] == ',');
    }
    return EXIT_OK;
}

static int take(void *context, int id, char *value) {
    static const tdm_parameter_kind kinds[] = {[OPTION_TENSOR] = TDM_PARAMETER_TENSOR,
                                               [OPTION_OUTPUT] = TDM_PARAMETER_OUTPUT,
                                               [OPTION_NUMBER] = TDM_PARAMETER_NUMBER,
                                               [OPTION_INTEGER] = TDM_PARAMETER_INTEGER};
    request *r = context;
    if (id == OPTION_DTYPE) return take_dtypes(r, value);
    if (id != OPTION_ENTRY) return take_parameter(r, kinds[id], value);
    r->entry = value;
    return EXIT_OK;
}

/* The whole file, allocated; NULL after a message. */
static char *read_text(const char *path) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(MOST + 1) : NULL;
    size_t size = text ? fread(text, 1, MOST, file) : 0;
    if (!text || ferror(file)) {
        fprintf(stderr, "tdm kernel check: %s: %s\n", path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[size] = '\0';
    }
    if (file) fclose(file);
    return text;
}

/* "scale" of "kernels/scale.cl". */
static void name_entry(const char *path, char *entry, size_t size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(entry, size, "%.*s", (int)strcspn(name, "."), name);
}

typedef struct outcome {
    int checked, failed;
} outcome;

/* All that a compiler said, of which the message has a part; what is refused before has a message alone. */
static void print_failure(tdm_status status) {
    const char *log = status == TDM_ERROR_COMPILE ? tdm_last_compile_log() : "";
    if (*log)
        printf("does not compile:\n%s%s", log, log[strlen(log) - 1] == '\n' ? "" : "\n");
    else
        printf("is refused: %s\n", tdm_last_error());
}

static void check_one(const request *r, tdm_backend backend, tdm_dtype dtype, const char *text,
                      const char *file, outcome *all) {
    const tdm_status status =
        tdm_kernel_check(backend, dtype, text, file, r->entry, r->parameters, r->parameter_count);
    printf("%-7s %-4s ", tdm_backend_name(backend), tdm_dtype_name(dtype));
    switch (status) {
    case TDM_OK:
        all->checked++;
        puts("compiles");
        return;
    case TDM_ERROR_NOT_FOUND:
    case TDM_ERROR_UNAVAILABLE:
    case TDM_ERROR_UNSUPPORTED:
        printf("not checked: %s\n", tdm_last_error());
        return;
    default:
        all->checked++;
        all->failed++;
        print_failure(status);
    }
}

static int check_all(const request *r, const char *text, const char *file) {
#define ONE_BACKEND(NAME, name, value) TDM_##NAME,
    static const tdm_backend backends[] = {TDM_BACKEND_LIST(ONE_BACKEND)};
    outcome all = {0, 0};
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++)
        for (size_t d = 0; d < r->dtype_count; d++)
            check_one(r, backends[b], r->dtypes[d], text, file, &all);
    return all.checked > 0 && all.failed == 0 ? EXIT_OK : EXIT_FAILED;
}

static int kernel_check(int argc, char **argv) {
    request r = {.dtypes = {TDM_F32}, .dtype_count = 1};
    operand_list files;
    char entry[256];
    size_t count;
    int status;
    if (!options_read(&kernel_check_spec, argc - 1, argv + 1, take, &r, &files, &status))
        return status;
    if (files.count != 1) {
        fprintf(stderr,
                "tdm kernel check: it wants one FILE\n'tdm kernel check --help' tells more\n");
        return EXIT_USAGE;
    }
    name_entry(files.word[0], entry, sizeof entry);
    if (!r.entry) r.entry = entry;
    char *text = read_text(files.word[0]);
    if (!text) return EXIT_FAILED;
    if (!guard_is_child()) {
        free(text);
        return guard_run(argc, argv, SECONDS_FOR_A_DRIVER, false);
    }
    if (tdm_get_device_count(&count) != TDM_OK)
        status = report_failure("kernel check");
    else {
        guard_listed();
        status = check_all(&r, text, files.word[0]);
    }
    free(text);
    return status;
}

int kernel_command(int argc, char **argv) {
    int status;
    if (argc < 2) {
        options_print_help(&kernel_spec, stderr);
        return EXIT_USAGE;
    }
    if (options_subcommand(&kernel_spec, argv[1])) return kernel_check(argc, argv);
    options_read(&kernel_spec, argc, argv, options_take_none, NULL, NULL, &status);
    return status;
}
