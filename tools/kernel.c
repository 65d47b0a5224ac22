/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* `tdm kernel check`: whether a text in the kernel dialect compiles for every backend, and what Oclgrind finds when it
 * runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/tandem.h>

#include "guard.h"
#include "kernel.h"
#include "options.h"
#include "platform/program.h"
#include "platform/text.h"
#include "tools.h"

enum {
    OPTION_ENTRY,
    OPTION_DTYPE,
    OPTION_TENSOR,
    OPTION_OUTPUT,
    OPTION_NUMBER,
    OPTION_INTEGER,
    OPTION_RUN
};

static const option_spec option_table[] = {
    OPTION("entry", OPTION_ENTRY, "NAME",
           "of the kernel; default: the file's name without its ending"),
    OPTION("tensor", OPTION_TENSOR, "NAME[:TYPE[:SHAPE]]",
           "a parameter that is a tensor of T or, with a TYPE as u8 or i64, of that; SHAPE is for "
           "--run"),
    OPTION("output", OPTION_OUTPUT, "NAME[:TYPE[:SHAPE]]",
           "the same, a tensor that the kernel writes"),
    OPTION("number", OPTION_NUMBER, "NAME[=VALUE]",
           "a parameter that is a number; VALUE (default: 1) is for --run"),
    OPTION("integer", OPTION_INTEGER, "NAME[=VALUE]", "the same, an integer"),
    {"dtype", OPTION_DTYPE, "TYPE,...", "what T is: f32, f64, f16, bf16 (default: f32)",
     dtype_words, true, false},
    OPTION(
        "run", OPTION_RUN, "SHAPE",
        "where it compiles, run it on Oclgrind, too, with tensors of this shape, such as 64x257"),
    {0}};

static const example_spec examples[] = {
    {"tdm kernel check scale.cl --tensor x --output y --number s", "the kernel scale, for f32"},
    {"tdm kernel check rows.cl --entry argmax --tensor x --output best:i64 --dtype f32,f16",
     "one of several kernels in a file, for two dtypes"},
    {"tdm kernel check row_sum.cl --tensor x --output sums::64 --run 64x257",
     "is anything read or written outside of tensors?"},
    {0}};

static int kernel_check(int argc, char **argv);

const command_spec kernel_check_spec = {
    .name = "kernel check",
    .summary = "compile a user kernel for every backend",
    .operands = "FILE",
    .description =
        "Compiles a text in the kernel dialect, as tdm_kernel_source would with these parameters, "
        "in the order in which they are given: as OpenCL C by the driver of the first device, as "
        "CUDA C++ by NVRTC, which needs no GPU, and as C by the C compiler of the machine. With "
        "--run the kernel also runs on Oclgrind, a simulator of a GPU, which finds reads and "
        "writes outside of tensors and races between lanes. Floats are random there, "
        "integers 0.\n\n"
        "A backend without a compiler here is not checked. A compiler's messages have the file's "
        "name and lines.",
    .options = option_table,
    .run = kernel_check,
    .exit_status = "0 it compiles wherever there is a compiler, and runs, 1 it does not, or "
                   "nothing could be checked, 2 wrong arguments.",
    .examples = examples,
};

static const command_spec *const subcommands[] = {&kernel_check_spec, NULL};

const command_spec kernel_spec = {
    .name = "kernel",
    .summary = "check user kernels",
    .description = "Kernels in the kernel dialect, as programs give them to tdm_kernel_source.",
    .subcommands = subcommands,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

static int refuse(const char *value, const char *part, size_t length, const char *what) {
    fprintf(stderr, "tdm kernel check: %s: '%.*s' is not %s\n", value, (int)length, part, what);
    return EXIT_USAGE;
}

/* The text after a tensor's name: ":TYPE", ":TYPE:SHAPE" or "::SHAPE". */
static int take_tensor(kernel_request *r, const char *value, const char *rest) {
    const size_t place = r->parameter_count;
    tdm_dtype dtype = TDM_F32;
    if (*rest == '\0') return EXIT_OK;
    const size_t length = strcspn(rest + 1, ":");
    if (length > 0 && !find_dtype(rest + 1, length, &dtype))
        return refuse(value, rest + 1, length, "a dtype");
    if (length > 0) r->parameters[place].dtype = (int)dtype;
    rest += 1 + length;
    if (*rest == '\0') return EXIT_OK;
    const char *end = rest + strlen(rest);
    if (rest + 1 == end || !kernel_read_shape(rest + 1, end, &r->shapes[place]))
        return refuse(value, rest + 1, strlen(rest + 1), "a shape");
    return EXIT_OK;
}

static int take_value(kernel_request *r, const char *value, const char *rest, bool is_integer) {
    const char *end;
    double *number = &r->values[r->parameter_count];
    if (*rest == '\0') return EXIT_OK;
    *number = tdmi_read_number(rest + 1, &end);
    const bool fits =
        *number >= -0x1p53 && *number <= 0x1p53 && *number == (double)(int64_t)*number;
    if (end == rest + 1 || *end != '\0' || (is_integer && !fits))
        return refuse(value, rest + 1, strlen(rest + 1), is_integer ? "an integer" : "a number");
    return EXIT_OK;
}

static int take_parameter(kernel_request *r, tdm_parameter_kind kind, const char *value) {
    const bool is_tensor = kind == TDM_PARAMETER_TENSOR || kind == TDM_PARAMETER_OUTPUT;
    const size_t place = r->parameter_count, length = strcspn(value, is_tensor ? ":" : "=");
    if (place == MOST_PARAMETERS) return EXIT_OK; /* which the library refuses */
    snprintf(r->names[place], LONGEST_NAME, "%.*s", (int)length, value);
    r->parameters[place] = (tdm_parameter){r->names[place], kind, TDM_ANY_DTYPE};
    r->shapes[place].ndim = -1;
    r->values[place] = 1.0;
    const int status = is_tensor
                           ? take_tensor(r, value, value + length)
                           : take_value(r, value, value + length, kind == TDM_PARAMETER_INTEGER);
    r->parameter_count++;
    return status;
}

static int take(void *context, int id, char *value) {
    static const tdm_parameter_kind kinds[] = {[OPTION_TENSOR] = TDM_PARAMETER_TENSOR,
                                               [OPTION_OUTPUT] = TDM_PARAMETER_OUTPUT,
                                               [OPTION_NUMBER] = TDM_PARAMETER_NUMBER,
                                               [OPTION_INTEGER] = TDM_PARAMETER_INTEGER};
    kernel_request *r = context;
    if (id == OPTION_DTYPE) {
        r->dtype_count = take_dtypes(value, r->dtypes);
        return EXIT_OK;
    }
    if (id == OPTION_RUN) {
        r->runs = true;
        const bool good = *value && kernel_read_shape(value, value + strlen(value), &r->shape);
        return good ? EXIT_OK : refuse("--run", value, strlen(value), "a shape");
    }
    if (id != OPTION_ENTRY) return take_parameter(r, kinds[id], value);
    r->entry = value;
    return EXIT_OK;
}

/* The whole file, allocated; NULL after a message. */
static char *read_text(const char *path) {
    enum { MOST = 1 << 20 };
    FILE *file = tdmi_stream_open(path, "r");
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

static void check_one(const kernel_request *r, tdm_backend backend, tdm_dtype dtype, outcome *all) {
    const tdm_status status = tdm_kernel_check(backend, dtype, r->text, r->file, r->entry,
                                               r->parameters, r->parameter_count);
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

static int check_all(const kernel_request *r) {
    outcome all = {0, 0};
    for (int b = 0; b < TDM_BACKEND_COUNT; b++)
        for (size_t d = 0; d < r->dtype_count; d++)
            check_one(r, all_backends[b], r->dtypes[d], &all);
    return all.checked > 0 && all.failed == 0 ? EXIT_OK : EXIT_FAILED;
}

static int check_or_run(const kernel_request *r) {
    size_t count;
    if (kernel_is_on_oclgrind()) return kernel_run(r);
    if (tdm_get_device_count(&count) != TDM_OK) return report_failure("kernel check");
    guard_listed();
    return check_all(r);
}

static int kernel_check(int argc, char **argv) {
    kernel_request r = {.dtypes = {TDM_F32}, .dtype_count = 1};
    operand_list files;
    char entry[256];
    int status;
    if (!options_read(&kernel_check_spec, argc, argv, take, &r, &files, &status)) return status;
    if (files.count != 1) {
        fprintf(stderr,
                "tdm kernel check: it wants one FILE\n'tdm kernel check --help' says more\n");
        return EXIT_USAGE;
    }
    if (r.parameter_count == 0) {
        fprintf(stderr,
                "tdm kernel check: it wants the kernel's parameters, in the order of KERNEL's, "
                "such as --tensor x --output y --number s\n'tdm kernel check --help' says more\n");
        return EXIT_USAGE;
    }
    tdmi_program_slashes(files.word[0]); /* a kernel's file is named without backslashes */
    r.file = files.word[0];
    name_entry(r.file, entry, sizeof entry);
    if (!r.entry) r.entry = entry;
    if (guard_is_child()) {
        char *text = read_text(r.file); /* once: it may be a pipe */
        r.text = text;
        status = text ? check_or_run(&r) : EXIT_FAILED;
        free(text);
    } else {
        /* which says that a child runs on Oclgrind, and may be the user's */
        const char *const without_log[] = {"OCLGRIND_LOG", NULL};
        status = guard_run(without_log, SECONDS_FOR_A_DRIVER, false);
        if (status == EXIT_OK && r.runs) status = kernel_run_on_oclgrind();
    }
    return status;
}
