/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The TANDEM_… environment, read and checked once. */
#define _GNU_SOURCE
#include "env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "words.h"

extern char **environ;

#define X(backend) extern const tdmi_backend tdmi_backend_##backend;
TDMI_BACKEND_LIST
#undef X

const tdmi_backend *const tdmi_backends[] = {
#define X(backend) &tdmi_backend_##backend,
    TDMI_BACKEND_LIST
#undef X
};
const size_t tdmi_backend_count = sizeof tdmi_backends / sizeof *tdmi_backends;

volatile int tdmi_forked;

static tdmi_env values;
static tdm_status status;
static char message[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The first refusal is the one that is told. */
#define REFUSE(...)                                                                                \
    do {                                                                                           \
        if (status == TDM_OK) {                                                                    \
            status = TDM_ERROR_ENVIRONMENT;                                                        \
            snprintf(message, sizeof message, __VA_ARGS__);                                        \
        }                                                                                          \
    } while (0)

static void use_all_backends(void) {
    values.backend_count = 0;
    for (size_t i = 0; i < tdmi_backend_count; i++)
        values.backends[values.backend_count++] = tdmi_backends[i];
}

/* A word of TANDEM_BACKEND that names no backend of this build. */
static void refuse_backend(const char *text, const char *word) {
    static const char *const known[] = {"cuda", "opencl", "cpu"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(word, known[i]) == 0) {
            REFUSE("TANDEM_BACKEND is \"%s\": this library was built without the %s backend", text,
                   word);
            return;
        }
    }
    const char *names[9];
    for (size_t i = 0; i < tdmi_backend_count; i++)
        names[i] = tdmi_backends[i]->name;
    names[tdmi_backend_count] = "auto";
    REFUSE(
        "TANDEM_BACKEND is \"%s\": \"%s\" is no backend; did you mean \"%s\"? (allowed: auto, or "
        "a list of cuda, opencl, cpu)",
        text, word, tdmi_nearest_word(word, names, tdmi_backend_count + 1));
}

static void parse_backends(const char *text) {
    if (strcmp(text, "auto") == 0) return;
    values.backend_given = true;
    values.backend_count = 0;
    const char *start = text;
    for (;;) {
        size_t length = strcspn(start, ",");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), start);
        const tdmi_backend *found = NULL;
        for (size_t i = 0; i < tdmi_backend_count; i++)
            if (strcmp(tdmi_backends[i]->name, word) == 0) found = tdmi_backends[i];
        if (!found) {
            refuse_backend(text, word);
            break;
        }
        for (size_t i = 0; i < values.backend_count; i++)
            if (values.backends[i] == found) {
                REFUSE("TANDEM_BACKEND is \"%s\": \"%s\" stands in it twice", text, word);
                break;
            }
        if (status != TDM_OK) break;
        values.backends[values.backend_count++] = found;
        if (start[length] == '\0') return;
        start += length + 1;
    }
    use_all_backends();
}

static int parse_number(const char *name, const char *text, unsigned long max, int unset) {
    unsigned long value;
    if (!tdmi_parse_index(text, max, &value) || value == 0) {
        REFUSE("%s is \"%s\": it must be a number from 1 to %lu", name, text, max);
        return unset;
    }
    return (int)value;
}

static const char *parse_word(const char *name, const char *text, const char *const *words,
                              size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) return words[i];
    REFUSE("%s is \"%s\": did you mean \"%s\"?", name, text, tdmi_nearest_word(text, words, count));
    return NULL;
}

/* An entry that is relative, or empty, would have libraries opened from the working directory. */
static void parse_library_path(const char *text) {
    for (const char *entry = text;; entry++) {
        size_t length = strcspn(entry, ":");
        if (length == 0) {
            REFUSE(
                "TANDEM_LIBRARY_PATH is \"%.200s\": one of its entries is empty; each must be an "
                "absolute path",
                text);
            return;
        }
        if (entry[0] != '/') {
            REFUSE("TANDEM_LIBRARY_PATH is \"%.200s\": \"%.*s\" is no absolute path", text,
                   (int)(length < 200 ? length : 200), entry);
            return;
        }
        entry += length;
        if (*entry == '\0') break;
    }
    values.library_path = text;
}

enum { CACHE_DIR = 6, LIBRARY_PATH = 7 };
static const char *const variables[] = {
    "TANDEM_BACKEND", "TANDEM_DEVICE", "TANDEM_CPU_DEVICES", "TANDEM_CPU_THREADS",
    "TANDEM_BLAS",    "TANDEM_MATH",   "TANDEM_CACHE_DIR",   "TANDEM_LIBRARY_PATH",
};

static void parse_variable(const char *name, const char *text) {
    static const char *const blas[] = {"cblas", "clblast", "cublas", "builtin"};
    static const char *const math[] = {"ieee", "tf32"};
    size_t which = 0;
    while (which < sizeof variables / sizeof *variables && strcmp(variables[which], name) != 0)
        which++;
    if (which == sizeof variables / sizeof *variables) {
        REFUSE("%s is no variable of Tandem; did you mean %s?", name,
               tdmi_nearest_word(name, variables, which));
        return;
    }
    if (values.privileged && (which == CACHE_DIR || which == LIBRARY_PATH)) return;
    if (text[0] == '\0') {
        REFUSE("%s is set but empty: give it a value, or unset it", name);
        return;
    }
    switch (which) {
    case 0:
        parse_backends(text);
        break;
    case 1:
        values.device = text;
        break;
    case 2:
        values.cpu_devices = parse_number(name, text, 64, 1);
        break;
    case 3:
        values.cpu_threads = parse_number(name, text, 1024, 0);
        break;
    case 4:
        values.blas = parse_word(name, text, blas, sizeof blas / sizeof *blas);
        break;
    case 5: {
        const char *word = parse_word(name, text, math, sizeof math / sizeof *math);
        values.tf32 = word && strcmp(word, "tf32") == 0;
        break;
    }
    case CACHE_DIR:
        if (text[0] != '/') {
            REFUSE("%s is \"%s\": it must be an absolute path", name, text);
            break;
        }
        values.cache_dir = text;
        values.cache_variable = variables[CACHE_DIR];
        break;
    default:
        parse_library_path(text);
    }
}

bool tdmi_env_ignores(const char *name) {
    return tdmi_env_values()->privileged &&
           (strcmp(name, variables[CACHE_DIR]) == 0 || strcmp(name, variables[LIBRARY_PATH]) == 0);
}

/* The texts that were read, for good: the environment may change later. They are kept here rather
 * than in allocated memory, so that reading the environment cannot run out of it. */
enum { MOST_TEXT = 32 << 10 };
static char texts[MOST_TEXT];
static size_t texts_used;

/* `first` and `second` in one text; NULL when there is no room for it. */
static const char *keep(const char *first, const char *second) {
    size_t length = strlen(first), more = strlen(second) + 1;
    if (length + more > sizeof texts - texts_used) return NULL;
    char *text = texts + texts_used;
    memcpy(text, first, length);
    memcpy(text + length, second, more);
    texts_used += length + more;
    return text;
}

/* Without TANDEM_CACHE_DIR: $XDG_CACHE_HOME/tandem, else ~/.cache/tandem. A relative path is to be
 * ignored, says the XDG Base Directory Specification. */
static void find_cache_directory(void) {
    static const char *const names[] = {"XDG_CACHE_HOME", "HOME"};
    static const char *const below[] = {"/tandem", "/.cache/tandem"};
    for (int i = 0; i < 2 && !values.cache_dir; i++) {
        const char *base = secure_getenv(names[i]);
        if (!base || base[0] != '/') continue;
        values.cache_dir = keep(base, below[i]);
        if (values.cache_dir) values.cache_variable = names[i];
    }
}

static void mark_forked(void) { tdmi_forked = 1; }

static void read_environment(void) {
    values.cpu_devices = 1;
    values.cache_variable = "";
    values.privileged = getauxval(AT_SECURE) != 0;
    use_all_backends();
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, "TANDEM_", 7) != 0) continue;
        size_t length = strcspn(*entry, "=");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), *entry);
        const char *text = keep((*entry)[length] ? *entry + length + 1 : "", "");
        if (text)
            parse_variable(name, text);
        else
            REFUSE("%s is too long: the variables of Tandem may have %d bytes in all", name,
                   MOST_TEXT);
    }
    find_cache_directory();
    pthread_atfork(NULL, NULL, mark_forked);
}

tdm_status tdmi_env_get(const tdmi_env **env) {
    pthread_once(&once, read_environment);
    *env = &values;
    return status == TDM_OK ? TDM_OK : tdmi_fail(status, "%s", message);
}

const tdmi_env *tdmi_env_values(void) {
    pthread_once(&once, read_environment);
    return &values;
}

bool tdmi_env_privileged(void) { return tdmi_env_values()->privileged; }

int tdmi_env_cpu_devices(void) { return tdmi_env_values()->cpu_devices; }

tdm_status tdmi_fail_forked(void) {
    return tdmi_fail(TDM_ERROR_FORKED,
                     "this process was forked after the library was used; use it only in the "
                     "parent, or exec in the child");
}

tdm_status tdmi_enter(void) {
    TDMI_NOT_FORKED();
    const tdmi_env *env;
    return tdmi_env_get(&env);
}
