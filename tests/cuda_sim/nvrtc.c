/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NVRTC. It compiles nothing: it checks the options, looks for the kernels in the
 * text, and makes an image that says which kernel is meant, for which types and options.
 *
 * Where TDM_CUDA_SIM names NVIDIA's own, that compiles too (real_nvrtc.h).
 *
 * A text with a line "#error simulated" does not compile. The report on a program that did not
 * compile, and the words of the logs, are as of NVRTC 13.0. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own_kernel.h"
#include "raw_kernel.h"
#include "real_nvrtc.h"
#include "threads.h"

enum { MAX_LOG = 8192 };

struct _nvrtcProgram {
    sim_object object;
    char *text, *name;
    char log[MAX_LOG];
    sim_image image;
    bool compiled;   /* the image is there … */
    bool cubin;      /* … and is requested as a cubin too */
    real_cubin real; /* goes before the image; without bytes where there is none */
};

/* The macros that a program must pass as options of the form -DNAME=NUMBER. */
enum { T_ID, U_ID, OP, LANES, STREAM, VECTORS, VECTOR_BYTES, LOOSE, HOLDS, TEAMS, MACROS };
static const char *const macro_names[MACROS] = {
    "T_ID", "U_ID", "OP", "LANES", "STREAM", "VECTORS", "VECTOR_BYTES", "LOOSE", "HOLDS", "TEAMS"};

typedef struct target {
    int architecture;
    bool real; /* sm_, else compute_ */
    bool has[MACROS];
    int32_t values[MACROS];
} target;

#define NVRTC_FAULT(function)                                                                      \
    do {                                                                                           \
        int nvrtc_fault = sim_fault(function);                                                     \
        if (nvrtc_fault) return (nvrtcResult)nvrtc_fault;                                          \
    } while (0)

#define NVRTC_TRY(expression)                                                                      \
    do {                                                                                           \
        nvrtcResult nvrtc_try_result = (expression);                                               \
        if (nvrtc_try_result != NVRTC_SUCCESS) return nvrtc_try_result;                            \
    } while (0)

/* --- the library --------------------------------------------------------------------------------
 */

static int own_major(void) {
    return sim_get()->nvrtc_major ? sim_get()->nvrtc_major : SIM_VERSION / 1000;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
    NVRTC_FAULT("nvrtcVersion");
    if (real_nvrtc_get()) return real_nvrtc_version(real_nvrtc_get(), major, minor);
    *major = own_major();
    *minor = sim_get()->nvrtc_major ? sim_get()->nvrtc_minor : SIM_VERSION % 1000 / 10;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result) {
    (void)sim_fault("nvrtcGetErrorString");
    switch (result) {
#define NAME(value)                                                                                \
    case value:                                                                                    \
        return #value;
        NAME(NVRTC_SUCCESS)
        NAME(NVRTC_ERROR_OUT_OF_MEMORY)
        NAME(NVRTC_ERROR_PROGRAM_CREATION_FAILURE)
        NAME(NVRTC_ERROR_INVALID_INPUT)
        NAME(NVRTC_ERROR_INVALID_PROGRAM)
        NAME(NVRTC_ERROR_INVALID_OPTION)
        NAME(NVRTC_ERROR_COMPILATION)
        NAME(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)
        NAME(NVRTC_ERROR_INTERNAL_ERROR)
#undef NAME
    default:
        return "NVRTC_ERROR unknown";
    }
}

enum { MOST_ARCHITECTURES = 64 };
static int list_architectures(int architectures[MOST_ARCHITECTURES]) {
    const sim_machine *machine = sim_get();
    if (real_nvrtc_get())
        return real_nvrtc_architectures(real_nvrtc_get(), architectures, MOST_ARCHITECTURES);
    memcpy(architectures, machine->architectures,
           (size_t)machine->architecture_count * sizeof *architectures);
    return machine->architecture_count;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    int architectures[MOST_ARCHITECTURES];
    NVRTC_FAULT("nvrtcGetNumSupportedArchs");
    *count = list_architectures(architectures);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *architectures) {
    int all[MOST_ARCHITECTURES];
    NVRTC_FAULT("nvrtcGetSupportedArchs");
    memcpy(architectures, all, (size_t)list_architectures(all) * sizeof *architectures);
    return NVRTC_SUCCESS;
}

/* --- programs -----------------------------------------------------------------------------------
 */

static void end_program(nvrtcProgram program) {
    free(program->text);
    free(program->name);
    free(program->real.bytes);
    program->text = program->name = program->real.bytes = NULL;
    sim_end(program);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name,
                               int header_count, const char *const *headers,
                               const char *const *header_names) {
    NVRTC_FAULT("nvrtcCreateProgram");
    (void)headers;
    (void)header_names;
    if (header_count) {
        sim_report("nvrtcCreateProgram: headers are not simulated");
        return NVRTC_ERROR_INVALID_INPUT;
    }
    nvrtcProgram created = sim_create(CUDA_SIM_PROGRAM, sizeof *created);
    if (!created) return NVRTC_ERROR_OUT_OF_MEMORY;
    created->text = strdup(text);
    created->name = strdup(name && *name ? name : "default_program");
    if (!created->text || !created->name) {
        end_program(created);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *program = created;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
    NVRTC_FAULT("nvrtcDestroyProgram");
    if (!sim_check(*program, CUDA_SIM_PROGRAM, "nvrtcDestroyProgram"))
        return NVRTC_ERROR_INVALID_PROGRAM;
    end_program(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

/* --- compiling ----------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static nvrtcResult
fail(nvrtcProgram program, nvrtcResult result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(program->log, sizeof program->log, format, arguments);
    va_end(arguments);
    return result;
}

/* Whether the text is a number, and nothing follows it. */
static bool read_number(const char *text, int32_t *value) {
    char *end;
    long number = strtol(text, &end, 10);
    *value = (int32_t)number;
    return end != text && !*end && number >= 0 && number <= INT32_MAX;
}

/* The text after a beginning, or NULL. */
static const char *after(const char *text, const char *beginning) {
    size_t length = strlen(beginning);
    return strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

static bool read_macro(const char *definition, target *aim) {
    for (int i = 0; i < MACROS; i++) {
        const char *rest = after(definition, macro_names[i]);
        if (!rest || *rest != '=') continue;
        aim->has[i] = true;
        return read_number(rest + 1, &aim->values[i]);
    }
    return false;
}

static bool read_architecture(const char *name, target *aim) {
    const char *sm = after(name, "sm_"), *compute = after(name, "compute_");
    int known[MOST_ARCHITECTURES];
    int32_t number;
    if ((!sm && !compute) || !read_number(sm ? sm : compute, &number)) return false;
    const int known_count = list_architectures(known);
    for (int i = 0; i < known_count; i++) {
        if (known[i] != number) continue;
        aim->architecture = number;
        aim->real = sm;
        return true;
    }
    return false;
}

static nvrtcResult read_options(nvrtcProgram program, int count, const char *const *options,
                                target *aim) {
    static const char *const accepted[] = {"--std=c++17", "--device-as-default-execution-space",
                                           "--disable-warnings"};
    for (int i = 0; i < count; i++) {
        const char *architecture = after(options[i], "--gpu-architecture=");
        const char *definition = after(options[i], "-D");
        if (architecture && !read_architecture(architecture, aim))
            return fail(program, NVRTC_ERROR_INVALID_OPTION,
                        "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
        bool known = architecture || (definition && read_macro(definition, aim));
        for (size_t j = 0; j < sizeof accepted / sizeof *accepted; j++)
            known |= strcmp(options[i], accepted[j]) == 0;
        if (!known)
            return fail(program, NVRTC_ERROR_INVALID_OPTION,
                        "nvrtc: error: unrecognized option %s found\n", options[i]);
    }
    /* Without one the real NVRTC takes its oldest; the backend always says which it wants. */
    if (!aim->architecture)
        return fail(program, NVRTC_ERROR_INVALID_OPTION, "nvrtc: error: no --gpu-architecture\n");
    return NVRTC_SUCCESS;
}

static const char *line_after(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* Looks for "#error simulated", and keeps count of lines as #line directives tell it to. */
static nvrtcResult check_lines(nvrtcProgram program) {
    static const char wanted[] = "#error simulated";
    char file[64];
    long number = 1;
    snprintf(file, sizeof file, "%s", program->name);
    for (const char *line = program->text; line; line = line_after(line), number++) {
        const char *rest = after(line, wanted), *directive = after(line, "#line ");
        if (rest && (*rest == '\n' || !*rest))
            return fail(program, NVRTC_ERROR_COMPILATION,
                        "%s(%ld): catastrophic error: #error directive: simulated\n"
                        "  %s\n   ^\n\n"
                        "1 catastrophic error detected in the compilation of \"%s\".\n"
                        "Compilation terminated.\n",
                        file, number, wanted, program->name);
        if (directive && sscanf(directive, "%ld \"%63[^\"\n]\"", &number, file) >= 1) number--;
    }
    return NVRTC_SUCCESS;
}

/* The dialect for CUDA, args.h and the macros: without one of them nothing would compile. */
static nvrtcResult check_text(nvrtcProgram program, const target *aim) {
    static const char *const needed[] = {"__syncthreads", "typedef struct tdm_scalar"};
    NVRTC_TRY(check_lines(program));
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!strstr(program->text, needed[i]))
            return fail(program, NVRTC_ERROR_COMPILATION,
                        "%s: error: the text has no \"%s\"\n\n"
                        "1 error detected in the compilation of \"%s\".\n",
                        program->name, needed[i], program->name);
    for (int i = 0; i < MACROS; i++)
        if (!aim->has[i])
            return fail(program, NVRTC_ERROR_COMPILATION,
                        "%s: error: identifier \"%s\" is undefined\n\n"
                        "1 error detected in the compilation of \"%s\".\n",
                        program->name, macro_names[i], program->name);
    return NVRTC_SUCCESS;
}

/* A text without the dialect, which defines its kernels by itself. */
static bool is_raw(nvrtcProgram program) {
    return strstr(program->text, RAW_DEFINITION) &&
           !strstr(program->text, "typedef struct tdm_scalar");
}

/* Adds the kernel of a line "KERNELn(name, …", "KERNEL_OF(name, …" or "KERNEL(name)"; one that is written twice,
 * for two ways to compile it, is added once. False when there is no room for it. */
static bool add_entry(sim_image *image, const char *line) {
    enum { LENGTH = sizeof image->entries[0].name };
    const char *rest = after(line, "KERNEL"), *listed = after(line, "KERNEL_OF(");
    if (!listed) listed = after(line, "KERNEL(");
    if (!listed && image->raw) listed = after(line, RAW_DEFINITION);
    if (!listed && (!rest || *rest < '1' || *rest > '6' || rest[1] != '(')) return true;
    const char *name = listed ? listed : rest + 2;
    size_t length = strcspn(name, ",() \n");
    if (!length || length >= LENGTH) return false;
    for (int32_t i = 0; i < image->entry_count; i++)
        if (strncmp(image->entries[i].name, name, length) == 0 && !image->entries[i].name[length])
            return true;
    if (image->entry_count == SIM_MAX_ENTRIES) return false;
    memcpy(image->entries[image->entry_count++].name, name, length);
    return true;
}

/* Keeps the text of a user's kernel, which follows the library's and is known by its file's name. */
static bool keep_own(const char *text, sim_image *image) {
    const char *own = strstr(text, OWN_EXPRESSION);
    if (!own) own = strstr(text, OWN_SOURCE);
    image->own_size = 1;
    if (!own) return true;
    const size_t length = strlen(own);
    if (length >= sizeof image->own) return false;
    memcpy(image->own, own, length + 1);
    image->own_size = (int32_t)length + 1;
    return true;
}

/* Makes the image's own of the text: a shared object, or the text of a kernel that is not of the library. */
static nvrtcResult make_own(nvrtcProgram program, int count, const char *const *options) {
    sim_image *image = &program->image;
#ifdef SIM_THREADS
    if (sim_get()->threads && !image->raw)
        return sim_text_compile(program->text, count, options, image, program->log,
                                sizeof program->log)
                   ? NVRTC_SUCCESS
                   : NVRTC_ERROR_COMPILATION;
#else
    (void)count;
    (void)options;
#endif
    if (!keep_own(program->text, image))
        return fail(program, NVRTC_ERROR_COMPILATION,
                    "%s: error: the text is too long to simulate\n", program->name);
    return own_kernel_check(image, program->log, sizeof program->log) ? NVRTC_SUCCESS
                                                                      : NVRTC_ERROR_COMPILATION;
}

static nvrtcResult make_image(nvrtcProgram program, const target *aim, int count,
                              const char *const *options) {
    sim_image *image = &program->image;
    memset(image, 0, offsetof(sim_image, own));
    memcpy(image->mark, SIM_IMAGE_MARK, sizeof SIM_IMAGE_MARK);
    image->architecture = aim->architecture;
    image->t = aim->values[T_ID];
    image->u = aim->values[U_ID];
    image->op = aim->values[OP];
    image->raw = is_raw(program);
    image->lanes = image->raw ? RAW_LANES : aim->values[LANES] * aim->values[TEAMS];
    image->stream = aim->values[STREAM];
    for (const char *line = program->text; line; line = line_after(line))
        if (!add_entry(image, line))
            return fail(program, NVRTC_ERROR_COMPILATION, "%s: error: bad kernel: %.40s\n",
                        program->name, line);
    if (!image->entry_count)
        return fail(program, NVRTC_ERROR_COMPILATION, "%s: error: no kernel\n", program->name);
    NVRTC_TRY(make_own(program, count, options));
    program->compiled = true;
    program->cubin = aim->real;
    return NVRTC_SUCCESS;
}

/* With a cubin of NVIDIA's own NVRTC before the image. */
static nvrtcResult compile_really(nvrtcProgram program, int count, const char *const *options) {
    const nvrtcResult result =
        real_nvrtc_compile(real_nvrtc_get(), program->text, program->name, count, options,
                           &program->real, program->log, sizeof program->log);
    if (result != NVRTC_SUCCESS) program->compiled = false;
    if (result == NVRTC_SUCCESS && sim_elf_size(program->real.bytes) != program->real.size) {
        sim_report("%s: a cubin of %zu bytes, of which its headers know %zu", program->name,
                   program->real.size, sim_elf_size(program->real.bytes));
        return NVRTC_ERROR_INTERNAL_ERROR;
    }
    return result;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
    NVRTC_FAULT("nvrtcCompileProgram");
    if (!sim_check(program, CUDA_SIM_PROGRAM, "nvrtcCompileProgram"))
        return NVRTC_ERROR_INVALID_PROGRAM;
    target aim = {0};
    program->compiled = false;
    program->log[0] = '\0';
    NVRTC_TRY(read_options(program, count, options, &aim));
    if (!sim_get()->builtins)
        return fail(program, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE,
                    "nvrtc: error: failed to open libnvrtc-builtins.so.%d.0.\n"
                    "  Make sure that libnvrtc-builtins.so.%d.0 is installed correctly.\n",
                    own_major(), own_major());
    if (!is_raw(program)) NVRTC_TRY(check_text(program, &aim));
    if (!sim_get()->compiles)
        return fail(program, NVRTC_ERROR_COMPILATION,
                    "%s(1): error: identifier \"simulated\" is undefined\n\n"
                    "1 error detected in the compilation of \"%s\".\n",
                    program->name, program->name);
    NVRTC_TRY(make_image(program, &aim, count, options));
    return aim.real && real_nvrtc_get() ? compile_really(program, count, options) : NVRTC_SUCCESS;
}

/* --- results ------------------------------------------------------------------------------------
 */

static const unsigned char elf_header[64] = {
    [0] = 0x7f, [1] = 'E', [2] = 'L', [3] = 'F', [4] = 2, /* 64 bits */
    [5] = 1,                                              /* little-endian */
    [6] = 1,                                              /* version */
    [16] = 2,                                             /* an executable */
    [18] = 190,                                           /* EM_CUDA */
    [20] = 1,                                             /* version */
    [52] = 64,                                            /* size of this header */
};

/* The beginning of functions that return a result. A result that was never made is empty. */
static nvrtcResult enter(nvrtcProgram program, const char *function) {
    NVRTC_FAULT(function);
    return sim_check(program, CUDA_SIM_PROGRAM, function) ? NVRTC_SUCCESS
                                                          : NVRTC_ERROR_INVALID_PROGRAM;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
    NVRTC_TRY(enter(program, "nvrtcGetProgramLogSize"));
    *size = strlen(program->log) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    NVRTC_TRY(enter(program, "nvrtcGetProgramLog"));
    memcpy(log, program->log, strlen(program->log) + 1);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    NVRTC_TRY(enter(program, "nvrtcGetCUBINSize"));
    *size = program->compiled && program->cubin
                ? program->real.size + sim_image_size(&program->image)
                : 0;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
    NVRTC_TRY(enter(program, "nvrtcGetCUBIN"));
    if (!program->compiled || !program->cubin) {
        sim_report("nvrtcGetCUBIN: %s has none", program->name);
        return NVRTC_SUCCESS; /* as the real one, which writes nothing */
    }
    if (program->real.bytes) {
        memcpy(cubin, program->real.bytes, program->real.size);
        memcpy(cubin + program->real.size, &program->image, sim_image_size(&program->image));
        return NVRTC_SUCCESS;
    }
    memcpy(cubin, &program->image, sim_image_size(&program->image));
    memcpy(cubin, elf_header, sizeof elf_header);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
    NVRTC_TRY(enter(program, "nvrtcGetPTXSize"));
    *size = program->compiled ? strlen(SIM_PTX_MARK) + sim_image_size(&program->image) + 1 : 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
    const size_t mark = strlen(SIM_PTX_MARK), size = sim_image_size(&program->image);
    NVRTC_TRY(enter(program, "nvrtcGetPTX"));
    if (!program->compiled) {
        sim_report("nvrtcGetPTX: %s has none", program->name);
        *ptx = '\0';
        return NVRTC_SUCCESS;
    }
    memcpy(ptx, SIM_PTX_MARK, mark);
    memcpy(ptx + mark, &program->image, size);
    ptx[mark + size] = '\0';
    return NVRTC_SUCCESS;
}
