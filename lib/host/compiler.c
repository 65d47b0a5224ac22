/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The C compiler of the machine: finding and starting it, and opening what it makes. */
#include "host/compiler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "base/log.h"
#include "machine/cache_entry.h"
#include "machine/disk_cache.h"
#include "machine/loader.h"
#include "platform/folder.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "system_names.h"

/* ---- finding it ---- */

static tdmi_once once = TDMI_ONCE_INIT;
static char compiler[1024], identity[1200];

static bool makes_libraries(void);

static bool try_compiler(const char *path) {
    if (strlen(path) >= sizeof compiler || !tdmi_command_is_program(path)) return false;
    snprintf(compiler, sizeof compiler, "%s", path);
    snprintf(identity, sizeof identity, "%s %016llx", path,
             (unsigned long long)tdmi_file_stamp(path));
    return true;
}

/* Entries of PATH that are relative, or empty, would be looked up in the working directory. */
static bool search_path(void) {
    static const char *const names[] = {TDMI_NAMES_COMPILER};
    const char *path = tdmi_environment_get("PATH");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *entry = path; entry; entry = strchr(entry, tdmi_path_separator)) {
            char file[sizeof compiler];
            entry += *entry == tdmi_path_separator;
            const char *end = strchr(entry, tdmi_path_separator);
            const size_t length = end ? (size_t)(end - entry) : strlen(entry);
            if (length + strlen(names[i]) + 2 > sizeof file) continue;
            snprintf(file, sizeof file, "%.*s/%s", (int)length, entry, names[i]);
            if (length > 0 && tdmi_path_is_absolute(file) && try_compiler(file) &&
                (!TDMI_COMPILER_MAY_LACK || makes_libraries()))
                return true;
        }
    identity[0] = '\0';
    return false;
}

static void find_compiler(void) {
    const char *given = tdmi_env_values()->cpu_compiler;
    if (!tdmi_loader_refusal()) {
        const bool names = given && tdmi_path_is_absolute(given); /* and not "none" */
        if (given ? names && try_compiler(given) : search_path()) {
            tdmi_log(TDM_LOG_INFO, "kernels of the program's own are compiled for cpu by %s",
                     compiler);
            return;
        }
        if (names) tdmi_log(TDM_LOG_WARNING, "TANDEM_CPU_COMPILER names no program: %s", given);
    }
    tdmi_log(TDM_LOG_INFO, "expressions run on cpu in blocks, as there is no C compiler");
}

/* Why there is none, and what to do about it, which is "" where that was requested. */
static const char *why_none(const char **advice) {
    const char *given = tdmi_env_values()->cpu_compiler;
    *advice = "";
    if (tdmi_env_values()->privileged)
        return "a program with more rights than its caller starts none";
    if (tdmi_loader_refusal())
        return "a program that is linked with -static cannot open what it makes";
    if (given && !tdmi_path_is_absolute(given)) return "TANDEM_CPU_COMPILER is none";
    *advice = given ? "correct or unset TANDEM_CPU_COMPILER"
                    : "install gcc or clang (" TDMI_GET_COMPILER ")";
    return given ? "TANDEM_CPU_COMPILER names no program" : TDMI_NO_COMPILER;
}

const char *tdmi_host_compiler(void) {
    tdmi_once_run(&once, find_compiler);
    return identity;
}

bool tdmi_host_compiler_aligns(void) {
    tdmi_once_run(&once, find_compiler);
    const char *found = strstr(compiler + tdmi_path_folder_length(compiler), TDMI_COMPILER_ALIGNS);
    return found;
}

void tdmi_host_compiler_diagnose(void) {
    static const char subject[] = "C compiler (expressions and kernels on cpu)";
    const char *advice;
    char detail[256];
    if (tdmi_host_compiler()[0]) {
        tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, true, subject, compiler, "");
        return;
    }
    snprintf(detail, sizeof detail,
             "none: %s; on cpu expressions run in blocks, and kernels in the dialect do not run",
             why_none(&advice));
    if (tdmi_env_values()->cpu_compiler && advice[0]) /* it was to be there */
        tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, false, subject, detail, advice);
    else
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_LIBRARY, subject, detail, advice);
}

/* ---- a private folder ---- */

#define SOURCE "kernel.c"
#define LIBRARY "kernel" TDMI_LIBRARY_SUFFIX
#define LOG "log"
static const char *const files[] = {SOURCE, LIBRARY, LOG, TDMI_COMPILER_MAKES_TOO};
enum { FILES = sizeof files / sizeof *files };

typedef struct folder {
    char path[1100], source[1120], library[1120], log[1120];
} folder; /* allocated: it is more than a small stack has room for */

/* In the cache directory, if it is ours alone, as libraries may not be opened from every /tmp. */
static tdm_status make_folder(folder **folder_made) {
    bool exists;
    folder *self = *folder_made = tdmi_malloc(sizeof *self);
    if (!self) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    const tdmi_folder cache = tdmi_cache_open_directory(&exists);
    const char *parent = cache != TDMI_NO_FOLDER ? tdmi_env_values()->cache_dir : NULL;
    if (cache != TDMI_NO_FOLDER) tdmi_folder_close(cache);
    if ((parent && tdmi_folder_make_temporary(parent, self->path, sizeof self->path)) ||
        tdmi_folder_make_temporary(NULL, self->path, sizeof self->path)) {
        snprintf(self->source, sizeof self->source, "%s/%s", self->path, SOURCE);
        snprintf(self->library, sizeof self->library, "%s/%s", self->path, LIBRARY);
        snprintf(self->log, sizeof self->log, "%s/%s", self->path, LOG);
        return TDM_OK;
    }
    tdmi_free(self);
    return tdmi_fail(TDM_ERROR_IO, "no folder for a C compiler's files can be made in /tmp: %s",
                     strerror(errno));
}

static void look_for_others(void *found, const char *name) {
    bool known = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    for (size_t i = 0; i < FILES; i++)
        known = known || strcmp(name, files[i]) == 0;
    *(bool *)found = *(bool *)found || !known;
}

bool tdmi_host_compiler_folder_is(const char *name) {
    static const char begin[] = "tandem-", letters[] = "abcdefghijklmnopqrstuvwxyz"
                                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const size_t length = sizeof begin - 1;
    if (strncmp(name, begin, length) != 0 || name[length + strspn(name + length, letters)])
        return false;
    bool others = false;
    const tdmi_folder left = tdmi_cache_open(name, false);
    if (left == TDMI_NO_FOLDER) return false;
    const bool listed = tdmi_folder_list(left, look_for_others, &others);
    tdmi_folder_close(left);
    return listed && !others;
}

bool tdmi_host_compiler_folder_remove(const char *name) {
    char path[1200];
    const tdmi_folder left = tdmi_cache_open(name, false);
    const int length = snprintf(path, sizeof path, "%s/%s", tdmi_env_values()->cache_dir, name);
    if (left == TDMI_NO_FOLDER) return false;
    for (size_t i = 0; i < FILES; i++)
        (void)tdmi_file_remove(left, files[i]);
    tdmi_folder_close(left);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < sizeof path && tdmi_folder_remove(path);
}

/* One that has the age at which it can be no compiler's any more; a library that is loaded stays. */
static void remove_old(void *cache, const char *name) {
    tdmi_file_info info;
    if (tdmi_host_compiler_folder_is(name) &&
        tdmi_file_look_up(*(tdmi_folder *)cache, name, false, &info) &&
        info.changed / 1000000000 + TDMI_CACHE_UNFINISHED < time(NULL))
        (void)tdmi_host_compiler_folder_remove(name);
}

static tdmi_once swept = TDMI_ONCE_INIT;

/* Where a loaded library cannot be removed (Windows), processes leave those that they had loaded at their ends. */
static void sweep(void) {
    bool exists;
    tdmi_folder cache = tdmi_cache_open_directory(&exists);
    if (cache == TDMI_NO_FOLDER) return;
    (void)tdmi_folder_list(cache, remove_old, &cache);
    tdmi_folder_close(cache);
}

static void remove_folder(folder *self) {
    char path[sizeof self->path + 20];
    for (size_t i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", self->path, files[i]);
        (void)tdmi_file_remove(TDMI_HERE, path);
    }
    if (!tdmi_folder_remove(self->path)) tdmi_once_run(&swept, sweep);
    tdmi_free(self);
}

static bool write_file(const char *path, const void *bytes, size_t size) {
    const unsigned how = TDMI_OPEN_WRITE | TDMI_OPEN_NEW | TDMI_OPEN_PRIVATE;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, how, NULL);
    if (file == TDMI_NO_FILE) return false;
    const bool written = tdmi_cache_may_write(size) && tdmi_file_write(file, bytes, size) == size;
    return tdmi_file_close(file) && written;
}

/* The whole file, with a NUL after it. */
static bool read_file(const char *path, tdmi_blob *blob) {
    tdmi_file_info info;
    *blob = (tdmi_blob){0};
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, &info);
    if (file == TDMI_NO_FILE) return false;
    blob->data = tdmi_malloc((size_t)info.size + 1);
    if (blob->data) blob->size = tdmi_file_read(file, 0, blob->data, (size_t)info.size);
    (void)tdmi_file_close(file);
    if (!blob->data) return false;
    ((char *)blob->data)[blob->size] = '\0';
    return true;
}

/* ---- starting it ---- */

/* How long it may take: far longer than any kernel does on a slow machine. */
enum { SECONDS_LIMIT = 120 };

/* The same standard and rules of arithmetic as the library's own kernels have (cpu/kernels.h); what CUDA C++ would
 * refuse is refused. */
static tdm_status run_compiler(const folder *self, const char *file, const char *const *options,
                               tdmi_command_end *end) {
    enum { MOST = 64 };
    static const char *const english[] = {"LC_ALL=C", "LANGUAGE", NULL};
    static const char *const own[] = {"-std=gnu11",
                                      "-Ulinux", /* a kernel's parameters may have these names */
                                      "-Uunix",
                                      "-O3",
                                      "-fno-fast-math", /* the default of Intel's icx */
                                      "-ffp-contract=fast",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fopenmp-simd",
                                      TDMI_COMPILER_OPTIONS "-Werror=implicit-function-declaration",
                                      "-Werror=incompatible-pointer-types",
                                      "-Werror=discarded-qualifiers",
                                      "-Werror=int-conversion",
                                      "-shared"};
    static const char *const after[] = {TDMI_COMPILER_LIBRARIES NULL};
    const char *arguments[MOST];
    size_t count = 0;
    arguments[count++] = compiler;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        arguments[count++] = own[i];
    for (size_t i = 0; options[i] && count < MOST - 6; i++)
        arguments[count++] = options[i];
    arguments[count++] = "-o";
    arguments[count++] = self->library;
    arguments[count++] = self->source;
    for (size_t i = 0; after[i]; i++)
        arguments[count++] = after[i];
    arguments[count] = NULL;
    const tdmi_command command = {arguments, english, self->log, SECONDS_LIMIT};
    if (!tdmi_command_run(&command, end))
        return tdmi_fail(errno == ENOMEM ? TDM_ERROR_OUT_OF_MEMORY : TDM_ERROR_UNAVAILABLE,
                         "%s cannot be started: %s", compiler, strerror(errno));
    if (!end->is_late) return TDM_OK;
    return tdmi_fail(TDM_ERROR_COMPILE,
                     "%s: the C compiler %s was ended, as it took longer than %d seconds", file,
                     compiler, (int)SECONDS_LIMIT);
}

/* The log from the first line on that begins with the file's name, which is about an error. */
static const char *find_error(const char *log, const char *file) {
    const size_t length = strlen(file);
    for (const char *line = log; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, file, length) == 0) return line;
    }
    return log;
}

/* The compiler's output; of one that printed nothing, or that a signal ended, how it ended. */
static tdm_status compile_failure(const folder *self, const char *file,
                                  const tdmi_command_end *ended) {
    enum { LINES = 12, BYTES = 1500 };
    tdmi_blob log;
    const char *text = read_file(self->log, &log) ? log.data : "";
    int length = 0;
    tdmi_keep_compile_log(text);
    text = find_error(text, file);
    for (int lines = 0; text[length] != '\0' && length < BYTES; length++)
        if (text[length] == '\n' && ++lines == LINES) break;
    char end[128] = "";
    if (ended->death[0])
        snprintf(end, sizeof end, ", which %s", ended->death);
    else if (text[strspn(text, " \n")] == '\0')
        snprintf(end, sizeof end, ", which said nothing and ended with status %d", ended->status);
    const tdm_status status = tdmi_fail(TDM_ERROR_COMPILE, "%s does not compile by %s%s:\n%.*s",
                                        file, compiler, end, length, text);
    tdmi_free(log.data);
    return status;
}

static tdm_status compile_in(const folder *self, const char *text, const char *file,
                             const char *const *options, tdmi_blob *library) {
    tdmi_command_end ended;
    tdmi_file_info info;
    if (!write_file(self->source, text, strlen(text)))
        return tdmi_fail(TDM_ERROR_IO, "%s cannot be written: %s", self->source, strerror(errno));
    TDMI_TRY(run_compiler(self, file, options, &ended));
    if (ended.status != 0 || ended.death[0] ||
        !tdmi_file_look_up(TDMI_HERE, self->library, true, &info))
        return compile_failure(self, file, &ended);
    if (read_file(self->library, library)) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: no memory for what %s has made", file, compiler);
}

static tdm_status compile(const char *text, const char *file, const char *const *options,
                          tdmi_blob *library) {
    folder *self;
    *library = (tdmi_blob){0};
    TDMI_TRY(make_folder(&self));
    const tdm_status status = compile_in(self, text, file, options, library);
    remove_folder(self);
    return status;
}

tdm_status tdmi_host_compile(const char *text, const char *file, const char *const *options,
                             tdmi_blob *library) {
    if (!tdmi_host_compiler()[0]) {
        const char *advice, *why = why_none(&advice);
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: on cpu this takes a C compiler, and %s%s%s",
                         file, why, advice[0] ? ": " : "", advice);
    }
    return compile(text, file, options, library);
}

tdm_status tdmi_host_load(const tdmi_blob *library, const char *file, void **handle) {
    folder *self;
    TDMI_TRY(make_folder(&self));
    *handle = NULL;
    char why[512] = "it cannot be written";
    unsigned failure;
    if (write_file(self->library, library->data, library->size))
        *handle = tdmi_library_load(self->library, 0, &failure, why, sizeof why);
    const tdm_status status =
        *handle ? TDM_OK
                : tdmi_fail(TDM_ERROR_COMPILE, "%s: what the C compiler made does not open: %s",
                            file, why);
    remove_folder(self);
    return status;
}

void tdmi_host_unload(void *library) {
    char path[1200];
    const bool known = tdmi_library_path(library, path, sizeof path);
    tdmi_library_unload(library);
    if (!known) return;
    (void)tdmi_file_remove(TDMI_HERE, path);
    path[tdmi_path_folder_length(path) - 1] = '\0';
    (void)tdmi_folder_remove(path);
}

/* ---- trying it ---- */

/* Tried once for each compiler while the cache keeps that it does. */
static bool makes_libraries(void) {
    static const char text[] = "#include <stdint.h>\n#include <string.h>\n" TDMI_COMPILER_EXPORT
                               "int tdmi_trial(void);\nint tdmi_trial(void) { return 0; }\n";
    static const char *const none[] = {NULL};
    const tdmi_cache_key key =
        tdmi_cache_key_add(tdmi_cache_key_add(tdmi_cache_key_start(), "trial"), identity);
    const tdmi_program_source source = {.entry = "tdmi_trial", .options = none};
    const tdmi_cache_about about = {"cpu", compiler, &source};
    tdmi_blob library;
    void *handle = NULL;
    const bool kept = tdmi_cache_read_kernel(key, &library) == TDMI_CACHE_GOOD;
    const bool right = kept || (compile(text, "a first try", none, &library) == TDM_OK &&
                                tdmi_host_load(&library, "a first try", &handle) == TDM_OK &&
                                tdmi_library_symbol(handle, "tdmi_trial"));
    if (handle) tdmi_host_unload(handle);
    if (right && !kept) tdmi_cache_write_kernel(key, &library, &about);
    if (!right) tdmi_log(TDM_LOG_INFO, "%s is passed over: %s", compiler, tdm_last_error());
    tdmi_free(library.data);
    return right;
}
