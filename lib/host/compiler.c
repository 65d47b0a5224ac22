/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The C compiler of the machine: finding and starting it, and opening what it makes. */
#define _GNU_SOURCE
#include "host/compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "machine/disk_cache.h"
#include "machine/loader.h"

extern char **environ;

/* ---- finding it ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char compiler[1024], identity[1200];

static bool try_compiler(const char *folder, int length, const char *name) {
    char path[sizeof compiler];
    struct stat status;
    const int size = snprintf(path, sizeof path, "%.*s/%s", length, folder, name);
    if (size < 0 || (size_t)size >= sizeof path || access(path, X_OK) != 0 ||
        stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    memcpy(compiler, path, sizeof path);
    char *real = realpath(path, NULL);
    snprintf(identity, sizeof identity, "%s %lld %lld.%09ld", real ? real : path,
             (long long)status.st_size, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    free(real);
    return true;
}

/* Entries of PATH that are relative, or empty, would be looked up in the working directory. */
static bool search_path(void) {
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *path = getenv("PATH");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *entry = path; entry; entry = strchr(entry, ':')) {
            entry += *entry == ':';
            if (*entry == '/' && try_compiler(entry, (int)strcspn(entry, ":"), names[i]))
                return true;
        }
    return false;
}

static void find_compiler(void) {
    const char *given = tdmi_env_values()->cpu_compiler;
    if (!tdmi_loader_refusal()) {
        const char *name = given ? strrchr(given, '/') : NULL; /* NULL of "none", too */
        const bool found =
            given ? name && try_compiler(given, (int)(name - given), name + 1) : search_path();
        if (found) {
            tdmi_log(TDM_LOG_INFO, "kernels of the program's own are compiled for cpu by %s",
                     compiler);
            return;
        }
        if (name) tdmi_log(TDM_LOG_WARNING, "TANDEM_CPU_COMPILER names no program: %s", given);
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
    if (given && given[0] != '/') return "TANDEM_CPU_COMPILER is none";
    *advice = given ? "correct or unset TANDEM_CPU_COMPILER"
                    : "install gcc or clang (Debian: apt install gcc libc6-dev)";
    return given ? "TANDEM_CPU_COMPILER names no program"
                 : "neither cc nor gcc nor clang was found in PATH";
}

const char *tdmi_host_compiler(void) {
    pthread_once(&once, find_compiler);
    return identity;
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

typedef struct folder {
    char path[1100], source[1120], library[1120], log[1120];
} folder; /* allocated: it is more than a small stack has room for */

static bool try_folder(folder *self, const char *parent) {
    const int size = snprintf(self->path, sizeof self->path, "%s/tandem-XXXXXX", parent);
    if (size < 0 || (size_t)size >= sizeof self->path || !mkdtemp(self->path)) return false;
    snprintf(self->source, sizeof self->source, "%s/kernel.c", self->path);
    snprintf(self->library, sizeof self->library, "%s/kernel.so", self->path);
    snprintf(self->log, sizeof self->log, "%s/log", self->path);
    return true;
}

/* In the cache directory, if it is ours alone, as libraries may not be opened from every /tmp. */
static tdm_status make_folder(folder **folder_made) {
    bool exists;
    folder *self = *folder_made = tdmi_malloc(sizeof *self);
    if (!self) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    const int cache = tdmi_cache_open_directory(&exists);
    const char *temporary = getenv("TMPDIR");
    bool made = cache >= 0 && try_folder(self, tdmi_env_values()->cache_dir);
    if (cache >= 0) close(cache);
    made = made || (temporary && temporary[0] == '/' && try_folder(self, temporary)) ||
           try_folder(self, "/tmp");
    if (made) return TDM_OK;
    tdmi_free(self);
    return tdmi_fail(TDM_ERROR_IO, "no folder for a C compiler's files can be made in /tmp: %s",
                     strerror(errno));
}

static void remove_folder(folder *self) {
    unlink(self->source);
    unlink(self->library);
    unlink(self->log);
    rmdir(self->path);
    tdmi_free(self);
}

static bool write_file(const char *path, const void *bytes, size_t size) {
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (!file) {
        if (descriptor >= 0) close(descriptor);
        return false;
    }
    const bool written = tdmi_cache_may_write(size) && fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

/* The whole file, with a NUL after it. */
static bool read_file(const char *path, tdmi_blob *blob) {
    struct stat status;
    *blob = (tdmi_blob){0};
    FILE *file = fopen(path, "rbe");
    if (!file) return false;
    if (fstat(fileno(file), &status) == 0 && (blob->data = tdmi_malloc((size_t)status.st_size + 1)))
        blob->size = fread(blob->data, 1, (size_t)status.st_size, file);
    fclose(file);
    if (!blob->data) return false;
    ((char *)blob->data)[blob->size] = '\0';
    return true;
}

/* ---- starting it ---- */

/* Our environment, with messages in English: allocated, for tdmi_free. */
static char **make_environment(void) {
    static char english[] = "LC_ALL=C";
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **made = tdmi_malloc((count + 2) * sizeof *made);
    if (!made) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "LANGUAGE=", 9) != 0)
            made[kept++] = environ[i];
    made[kept++] = english;
    made[kept] = NULL;
    return made;
}

/* Its input is empty, and what it says goes to a file. Signals are as in a new process: the program may block or ignore
 * some. It leads a process group, with the programs that it starts. */
static int spawn(const folder *self, char *const *arguments, char **environment, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, self->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    failed = posix_spawn(child, compiler, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* A compiler needs a larger stack than the program may have: it gets as much as is allowed, before it starts
 * other programs. */
static void give_stack(pid_t child) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    if (prlimit(child, RLIMIT_STACK, &limit, NULL) != 0)
        tdmi_log(TDM_LOG_DEBUG, "the C compiler's stack keeps its limit: %s", strerror(errno));
}

/* How long it may take: far longer than any kernel does on a slow machine. */
enum { SECONDS_LIMIT = 120 };

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits for its end, which is seen late by a small part of the time that it took, or for the limit, after which it
 * is ended with all that it has started. */
static pid_t wait_for(pid_t child, int *status, bool *in_time) {
    const double start = seconds_now();
    pid_t waited;
    *in_time = true;
    for (;;) {
        waited = waitpid(child, status, *in_time ? WNOHANG : 0);
        if (waited > 0 || (waited < 0 && errno != EINTR)) return waited;
        const double taken = seconds_now() - start;
        if (taken > SECONDS_LIMIT) {
            *in_time = false;
            kill(-child, SIGKILL);
        } else {
            const double pause = taken < 0.03 ? 0.001 : taken < 1 ? taken / 32 : 0.03;
            nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
        }
    }
}

/* *status: as waitpid has it. In a program that ignores its children's ends it is unknown, and 0: then there is a
 * library or not. */
static tdm_status await_end(pid_t child, const char *file, int *status) {
    bool in_time;
    *status = 0;
    const pid_t waited = wait_for(child, status, &in_time);
    if (waited < 0) *status = 0;
    if (!in_time)
        return tdmi_fail(TDM_ERROR_COMPILE,
                         "%s: the C compiler %s was ended, as it took longer than %d seconds", file,
                         compiler, (int)SECONDS_LIMIT);
    return TDM_OK;
}

/* The same standard and rules of arithmetic as the library's own kernels have (cpu/kernels.h); what CUDA C++ would
 * refuse is refused. */
static tdm_status run_compiler(const folder *self, const char *file, const char *const *options,
                               int *status) {
    enum { MOST = 64 };
    static const char *const own[] = {"-std=gnu11",
                                      "-O3",
                                      "-ffp-contract=fast",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fopenmp-simd",
                                      "-fPIC",
                                      "-Werror=implicit-function-declaration",
                                      "-Werror=incompatible-pointer-types",
                                      "-Werror=discarded-qualifiers",
                                      "-Werror=int-conversion",
                                      "-shared"};
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
    arguments[count++] = "-lm";
    arguments[count] = NULL;
    char **environment = make_environment(), *words[MOST];
    if (!environment) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    memcpy(words, arguments, (count + 1) * sizeof *words); /* it does not write to them */
    pid_t child;
    const int failed = spawn(self, words, environment, &child);
    tdmi_free(environment);
    if (failed)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE, "%s cannot be started: %s", compiler,
                         strerror(failed));
    give_stack(child);
    return await_end(child, file, status);
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

/* What it said, and of one that said nothing, or that a signal ended, how it ended. */
static tdm_status compile_failure(const folder *self, const char *file, int ended) {
    enum { LINES = 12, BYTES = 1500 };
    tdmi_blob log;
    const char *text = read_file(self->log, &log) ? log.data : "";
    int length = 0;
    tdmi_keep_compile_log(text);
    text = find_error(text, file);
    for (int lines = 0; text[length] != '\0' && length < BYTES; length++)
        if (text[length] == '\n' && ++lines == LINES) break;
    char end[96] = "";
    if (WIFSIGNALED(ended))
        snprintf(end, sizeof end, ", which signal %d ended (%s)", WTERMSIG(ended),
                 strsignal(WTERMSIG(ended)));
    else if (text[strspn(text, " \n")] == '\0')
        snprintf(end, sizeof end, ", which said nothing and ended with status %d",
                 WEXITSTATUS(ended));
    const tdm_status status = tdmi_fail(TDM_ERROR_COMPILE, "%s does not compile by %s%s:\n%.*s",
                                        file, compiler, end, length, text);
    tdmi_free(log.data);
    return status;
}

static tdm_status compile_in(const folder *self, const char *text, const char *file,
                             const char *const *options, tdmi_blob *library) {
    int ended;
    if (!write_file(self->source, text, strlen(text)))
        return tdmi_fail(TDM_ERROR_IO, "%s cannot be written: %s", self->source, strerror(errno));
    TDMI_TRY(run_compiler(self, file, options, &ended));
    if (ended != 0 || access(self->library, F_OK) != 0) return compile_failure(self, file, ended);
    if (read_file(self->library, library)) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: no memory for what %s has made", file, compiler);
}

tdm_status tdmi_host_compile(const char *text, const char *file, const char *const *options,
                             tdmi_blob *library) {
    folder *self;
    *library = (tdmi_blob){0};
    if (!tdmi_host_compiler()[0]) {
        const char *advice, *why = why_none(&advice);
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: on cpu this takes a C compiler, and %s%s%s",
                         file, why, advice[0] ? ": " : "", advice);
    }
    TDMI_TRY(make_folder(&self));
    const tdm_status status = compile_in(self, text, file, options, library);
    remove_folder(self);
    return status;
}

tdm_status tdmi_host_load(const tdmi_blob *library, const char *file, void **handle) {
    folder *self;
    TDMI_TRY(make_folder(&self));
    *handle = NULL;
    const char *why = "it cannot be written";
    if (write_file(self->library, library->data, library->size)) {
        *handle = dlopen(self->library, RTLD_NOW | RTLD_LOCAL);
        why = *handle ? "" : dlerror();
    }
    const tdm_status status =
        *handle ? TDM_OK
                : tdmi_fail(TDM_ERROR_COMPILE, "%s: what the C compiler made does not open: %s",
                            file, why ? why : "");
    remove_folder(self);
    return status;
}
