/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels in the dialect: what is checked of a text before it is compiled, and what stands before it there,
 * which is made of the parameters. kernels/source.h is the part that is the same for all. */
#include "user_kernels/kernel.h"

#include <ctype.h>
#include <stdio.h>

#include "base/text.h"
#include "kernel_list.h"

enum { MOST_FILE = 127, MOST_ENTRY = 127 };

/* ---- names ---- */

/* Words of one of the three languages, and the name of the kernel's struct. */
static bool is_word(const char *name) {
    static const char words[] =
        " alignas alignof and asm auto bool break case catch char class complex const constant "
        "constexpr continue decltype default delete do double else enum event_t explicit export "
        "extern false float for friend generic global goto half if image1d_t image2d_t image3d_t "
        "inline int kernel local long mutable namespace new noexcept not nullptr operator or "
        "pipe private protected public ptrdiff_t quad queue_t read_only read_write register "
        "restrict return sampler_t short signed size_t sizeof static struct switch template this "
        "throw true try typedef typeid typename typeof uchar uint ulong union unsigned ushort "
        "using "
        "vec_step virtual void volatile wchar_t while write_only xor args ";
    char wanted[TDMI_MOST_NAME + 3];
    snprintf(wanted, sizeof wanted, " %s ", name);
    return strstr(words, wanted);
}

static bool defines(const char *text, const char *definition) {
    const size_t length = strlen(definition);
    for (const char *at = text; (at = strstr(at, definition)); at += length)
        if (at[length] == ' ' || at[length] == '(' || at[length] == '\n') return true;
    return false;
}

/* A macro of the dialect, which is one in each of its languages, and in upper case. */
static bool is_macro(const char *name) {
    char wanted[TDMI_MOST_NAME + 16];
    if (!isupper((unsigned char)name[0])) return false;
    snprintf(wanted, sizeof wanted, "#define %s", name);
    if (defines(tdmi_dialect_c, wanted)) return true;
    for (const tdmi_embedded_text *text = tdmi_embedded_texts; text->file; text++)
        if (defines(text->text, wanted)) return true;
    return false;
}

static bool is_name(const char *name) {
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_");
    return length > 0 && !name[length] && !isdigit((unsigned char)name[0]);
}

static const char *name_fault(const char *name, bool of_rows) {
    (void)of_rows;
    if (!is_name(name)) return "is not a letter or _, then letters, digits and _";
    if (strlen(name) > TDMI_MOST_NAME) return "is longer than 63 characters";
    if (strncmp(name, "tdm", 3) == 0 || strncmp(name, "TDM", 3) == 0 || strncmp(name, "__", 2) == 0)
        return "begins as the dialect's own names do";
    if (is_word(name)) return "is a word of the kernels' languages";
    if (is_macro(name)) return "is a macro of the kernel dialect";
    return NULL;
}

static tdm_status check_names(const char *function, const char *file, const char *entry) {
    TDMI_NOT_NULL(function, file);
    TDMI_NOT_NULL(function, entry);
    if (!file[0] || tdmi_length(file, MOST_FILE + 1) > MOST_FILE)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: the name of file has %zu bytes, allowed are 1 to %d", function,
                         strlen(file), (int)MOST_FILE);
    for (const char *at = file; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\' || *at == 127)
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                             "%s: the name of file has a quotation mark, a backslash or a control "
                             "character",
                             function);
    if (!is_name(entry) || strlen(entry) > MOST_ENTRY)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: entry is \"%.80s\", which is not a letter or _, then letters, digits "
                         "and _",
                         function, entry);
    return TDM_OK;
}

/* Whether the text has KERNEL(entry), so that all backends say alike where it has not. */
static bool has_entry(const char *text, const char *entry) {
    static const char macro[] = "KERNEL";
    const size_t length = strlen(entry);
    for (const char *at = text; (at = strstr(at, macro));) {
        at += sizeof macro - 1;
        const char *name = at + strspn(at, " \t\r\n");
        if (*name++ != '(') continue;
        name += strspn(name, " \t\r\n");
        if (strncmp(name, entry, length) != 0) continue;
        name += length;
        if (name[strspn(name, " \t\r\n")] == ')') return true;
    }
    return false;
}

static size_t args_size(const tdm_kernel *kernel, int *tensors) {
    size_t size = sizeof(tdm_source_launch);
    *tensors = 0;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        *tensors += tdmi_is_tensor(parameter);
        size += tdmi_is_tensor(parameter)                 ? sizeof(tdm_layout)
                : parameter->kind == TDM_PARAMETER_NUMBER ? sizeof(tdm_scalar)
                                                          : sizeof(int64_t);
    }
    return size;
}

static tdm_status check_parameters(const char *function, const tdm_kernel *kernel) {
    int tensors;
    const size_t bytes = args_size(kernel, &tensors);
    bool writes = false;
    for (int i = 0; i < kernel->parameter_count; i++)
        writes = writes || kernel->parameters[i].kind == TDM_PARAMETER_OUTPUT;
    if (!writes)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: none of the parameters is an output (TDM_OUTPUT)", function);
    if (bytes > TDM_SOURCE_BYTES)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the parameters take %zu bytes of arguments, allowed are %d: %zu for "
                         "each tensor, %zu for a number, %zu for an integer, and %zu",
                         function, bytes, TDM_SOURCE_BYTES, sizeof(tdm_layout), sizeof(tdm_scalar),
                         sizeof(int64_t), sizeof(tdm_source_launch));
    return TDM_OK;
}

/* ---- making ---- */

static tdmi_source *make_source(const char *file, const char *entry) {
    const size_t file_size = strlen(file) + 1, entry_size = strlen(entry) + 1;
    tdmi_source *made = tdmi_calloc(1, sizeof *made + file_size + entry_size);
    if (!made) return NULL;
    made->file = (char *)(made + 1);
    made->entry = made->file + file_size;
    memcpy(made->file, file, file_size);
    memcpy(made->entry, entry, entry_size);
    return made;
}

static tdm_status finish(const char *function, tdm_kernel *made, const char *text, const char *file,
                         const char *entry) {
    TDMI_TRY(check_names(function, file, entry));
    TDMI_TRY(check_parameters(function, made));
    if (!has_entry(text, entry))
        return tdmi_fail(TDM_ERROR_COMPILE, "%s: %s has no KERNEL(%s)", function, file, entry);
    made->source = make_source(file, entry);
    if (made->source) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
}

tdm_status tdmi_source_make(const char *function, const char *text, const char *file,
                            const char *entry, const tdm_parameter *parameters,
                            size_t parameter_count, tdm_kernel **kernel) {
    const tdmi_texts texts = {.statements = text};
    const tdmi_kernel_wanted wanted = {function,        &texts,     parameters,
                                       parameter_count, name_fault, true};
    tdm_kernel *made;
    TDMI_NOT_NULL(function, text);
    TDMI_TRY(tdmi_kernel_make(&wanted, &made));
    const tdm_status status = finish(function, made, text, file, entry);
    if (status == TDM_OK)
        *kernel = made;
    else
        tdmi_kernel_free(made);
    return status;
}

tdm_status tdm_kernel_source(tdm_device *device, const char *text, const char *file,
                             const char *entry, const tdm_parameter *parameters,
                             size_t parameter_count, tdm_kernel **kernel) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, kernel);
    TDMI_NOT_NULL(__func__, device);
    TDMI_TRY(tdmi_device_usable(device));
    TDMI_TRY(tdmi_source_make(__func__, text, file, entry, parameters, parameter_count, kernel));
    (*kernel)->device = tdm_device_retain(device);
    return TDM_OK;
}

/* ---- the text ---- */

/* How elements are read and written: LOAD_OF and STORE_OF. */
static void print_access(tdmi_text *out, const char *name, int dtype) {
    if (dtype == TDM_ANY_DTYPE) {
        tdmi_text_add(out,
                      "#define tdm_load_of_%s(p, j) LOAD(p, j)\n"
                      "#define tdm_store_of_%s(p, j, v) STORE(p, j, v)\n",
                      name, name);
        return;
    }
    tdmi_text_add(
        out, "#define tdm_load_of_%s(p, j) tdm_load_%d(p, j)\n#define tdm_store_of_%s(p, j, v) ",
        name, dtype, name);
    if (tdm_dtype_is_float((tdm_dtype)dtype))
        tdmi_text_add(out, "tdm_store_%d(p, j, v)\n", dtype);
    else if (dtype == TDM_BOOL)
        tdmi_text_add(out, "((p)[j] = (tdm_type_%d)((v) != 0))\n", dtype);
    else
        tdmi_text_add(out, "((p)[j] = (tdm_type_%d)(v))\n", dtype);
}

static void print_type(char text[16], int dtype) {
    if (dtype == TDM_ANY_DTYPE)
        snprintf(text, 16, "T");
    else
        snprintf(text, 16, "tdm_type_%d", dtype);
}

static void print_text(tdmi_text *out, const tdm_kernel *kernel) {
    char type[16];
    int tensors = 0;
    tdmi_text_add(out, "#line 1 \"parameters\"\ntypedef struct tdm_source_args {\n"
                       "    tdm_source_launch tdm_launch;\n");
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        tdmi_text_add(out, "    %s %s;\n",
                      tdmi_is_tensor(parameter)                 ? "tdm_layout"
                      : parameter->kind == TDM_PARAMETER_NUMBER ? "tdm_scalar"
                                                                : "tdm_i64",
                      parameter->name);
    }
    tdmi_text_add(out, "} tdm_source_args;\n");
    for (int i = 0; i < kernel->parameter_count; i++)
        if (tdmi_is_tensor(&kernel->parameters[i]))
            print_access(out, kernel->parameters[i].name, kernel->parameters[i].dtype);
    tdmi_text_add(out, "#define TDM_TENSORS(TDM_X)");
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        if (!tdmi_is_tensor(parameter)) continue;
        print_type(type, parameter->dtype);
        tdmi_text_add(out, " TDM_X(%d, %s%s, %s)", tensors++,
                      parameter->kind == TDM_PARAMETER_OUTPUT ? "" : "const ", type,
                      parameter->name);
    }
    tdmi_text_add(out, "\n#line 1 \"%s\"\n%s\n", kernel->source->file, kernel->texts.statements);
}

/* The text, and after its end the file's name and the entry's as the dialect has it; NULL when memory is short. */
static char *make_text(const tdm_kernel *kernel, const char **file, const char **entry) {
    tdmi_text out = {0};
    print_text(&out, kernel);
    const size_t name = out.used + 1;
    tdmi_text_add(&out, "%c%s%ctdm_%s", 0, kernel->source->file, 0, kernel->source->entry);
    if (out.failed) {
        tdmi_free(out.bytes);
        return NULL;
    }
    *file = out.bytes + name;
    *entry = *file + strlen(*file) + 1;
    return out.bytes;
}

/* ---- programs ---- */

/* The text, which has everything that the parameters define, and T; the key of an expression begins with
 * another byte. */
static tdm_status add_program(tdm_kernel *kernel, tdmi_user_kernel *made,
                              const tdmi_user_kernel **program) {
    const size_t text = strlen(made->text) + 1, entry = strlen(made->entry) + 1;
    const size_t size = 3 + text + entry;
    char *key = tdmi_malloc(size);
    if (!key) {
        tdmi_free(made->text);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
    }
    key[0] = 0;
    key[1] = (char)made->t;
    key[2] = (char)made->u;
    memcpy(key + 3, made->text, text);
    memcpy(key + 3 + text, made->entry, entry);
    const tdm_status status = tdmi_add_user_kernel(kernel->device, made, key, size, program);
    tdmi_free(key);
    return status;
}

tdm_status tdmi_source_lower(const tdm_kernel *kernel, tdm_dtype t, tdm_dtype u,
                             tdmi_user_kernel *made) {
    *made = (tdmi_user_kernel){.t = (uint8_t)t, .u = (uint8_t)u, .is_source = true};
    made->args_size = args_size(kernel, &made->buffers);
    made->text = make_text(kernel, &made->file, &made->entry);
    if (made->text) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
}

tdm_status tdmi_source_program(tdm_kernel *kernel, tdm_dtype t, tdm_dtype u,
                               const tdmi_user_kernel **program) {
    *program = atomic_load(&kernel->source->programs[t]);
    if (*program) return TDM_OK;
    tdmi_user_kernel made;
    TDMI_TRY(tdmi_source_lower(kernel, t, u, &made));
    TDMI_TRY(add_program(kernel, &made, program));
    atomic_store(&kernel->source->programs[t], *program);
    return TDM_OK;
}
