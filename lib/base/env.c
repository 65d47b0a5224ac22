/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The TANDEM_… environment and what tdm_configure puts in its place, read and checked once. */
#include "base/env.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "base/log.h"
#include "base/output.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/threads.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"
#include "system_names.h"

#include <tandem/setup.h>

/* Every backend that was built, in the order of `auto`. */
static const char *const built[] = {
#define X(backend) #backend,
    TDMI_BACKEND_LIST
#undef X
};
enum { BUILT = sizeof built / sizeof *built };
_Static_assert((int)BUILT <= (int)TDM_BACKEND_COUNT,
               "a backend is built that TDM_BACKEND_LIST lacks");

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static atomic_bool in_use; /* the environment was read: nothing here changes any more */
static tdmi_env values;
static tdm_status status;
static char message[512];

/* The first refusal is the one that is reported. */
#define REFUSE(...)                                                                                \
    do {                                                                                           \
        if (status == TDM_OK) {                                                                    \
            status = TDM_ERROR_ENVIRONMENT;                                                        \
            snprintf(message, sizeof message, __VA_ARGS__);                                        \
        }                                                                                          \
    } while (0)

static void use_all_backends(void) {
    values.backend_count = 0;
    for (size_t i = 0; i < BUILT; i++)
        values.backends[values.backend_count++] = built[i];
}

/* A word of TANDEM_BACKEND that names no backend of this build. */
static void refuse_backend(const char *text, const char *word) {
#define NAME_OF(NAME, name, value) name,
#define AND_NAME(NAME, name, value) ", " name
    static const char *const known[] = {TDM_BACKEND_LIST(NAME_OF)};
    static const char allowed[] = TDM_BACKEND_LIST(AND_NAME);
    for (size_t i = 0; i < TDM_BACKEND_COUNT; i++) {
        if (strcmp(word, known[i]) == 0) {
            REFUSE("TANDEM_BACKEND is \"%s\": this library was built without the %s backend", text,
                   word);
            return;
        }
    }
    const char *names[BUILT + 1];
    memcpy(names, built, sizeof built);
    names[BUILT] = "auto";
    REFUSE("TANDEM_BACKEND is \"%s\": \"%s\" is not a backend%s (allowed: auto, or a list of %s)",
           text, word, tdmi_guess((char[TDMI_GUESS]){0}, word, names, BUILT + 1), allowed + 2);
}

/* Cuts the next word off a list with commas; false at its end. A word that is too long is cut, and then
 * none that is known. */
typedef struct word_list {
    const char *rest; /* NULL: the list has ended */
    char word[64];
} word_list;

static bool next_word(word_list *list) {
    if (!list->rest) return false;
    const size_t length = strcspn(list->rest, ",");
    snprintf(list->word, sizeof list->word, "%.*s", (int)(length < 63 ? length : 63), list->rest);
    list->rest = list->rest[length] ? list->rest + length + 1 : NULL;
    return true;
}

static bool add_backend(const char *text, const char *word) {
    const char *found = NULL;
    for (size_t i = 0; i < BUILT; i++)
        if (strcmp(built[i], word) == 0) found = built[i];
    if (!found) refuse_backend(text, word);
    for (size_t i = 0; found && i < values.backend_count; i++) {
        if (values.backends[i] != found) continue;
        REFUSE("TANDEM_BACKEND is \"%s\": \"%s\" is listed twice", text, word);
        found = NULL;
    }
    if (found) values.backends[values.backend_count++] = found;
    return found;
}

static void parse_backends(const char *name, const char *text) {
    (void)name;
    if (strcmp(text, "auto") == 0) return;
    values.backend_given = true;
    values.backend_count = 0;
    bool right = true;
    for (word_list list = {.rest = text}; right && next_word(&list);)
        right = add_backend(text, list.word);
    if (!right) use_all_backends();
}

static int parse_number(const char *name, const char *text, unsigned long max, int unset) {
    unsigned long value;
    if (!tdmi_parse_index(text, max, &value) || value == 0) {
        REFUSE("%s is \"%s\": it must be a number from 1 to %lu", name, text, max);
        return unset;
    }
    return (int)value;
}

/* The number of a word among those that are allowed; `count` when it is none. `word` is the whole of
 * the variable's text, or of a list's. */
static size_t parse_word(const char *name, const char *text, const char *word,
                         const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    char allowed[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < count && length < sizeof allowed; i++)
        length += (size_t)snprintf(allowed + length, sizeof allowed - length, "%s%s", i ? ", " : "",
                                   words[i]);
    const bool whole = word == text;
    REFUSE("%s is \"%s\"%s%s%s%s (allowed: %s%s)", name, text, whole ? "" : ": \"",
           whole ? ", which is not allowed" : word, whole ? "" : "\" is not a provider",
           tdmi_guess((char[TDMI_GUESS]){0}, word, words, count), whole ? "" : "a list of ",
           allowed);
    return count;
}

/* An entry that is relative, or empty, would have libraries opened from the working directory. */
static void parse_library_path(const char *name, const char *text) {
    const char separator[] = {tdmi_path_separator, '\0'};
    (void)name;
    for (const char *entry = text;; entry++) {
        size_t length = strcspn(entry, separator);
        if (length == 0) {
            REFUSE(
                "TANDEM_LIBRARY_PATH is \"%.200s\": one of its entries is empty; each must be an "
                "absolute path",
                text);
            return;
        }
        if (!tdmi_path_is_absolute(entry)) {
            REFUSE("TANDEM_LIBRARY_PATH is \"%.200s\": \"%.*s\" is not an absolute path", text,
                   (int)(length < 200 ? length : 200), entry);
            return;
        }
        entry += length;
        if (*entry == '\0') break;
    }
    values.library_path = text;
}

static void parse_cpu_devices(const char *name, const char *text) {
    values.cpu_devices = parse_number(name, text, 64, 1);
}

static void parse_cpu_threads(const char *name, const char *text) {
    values.cpu_threads = parse_number(name, text, 1024, 0);
}

/* Where a name without a folder would be looked up, another variable says. */
static void parse_cpu_compiler(const char *name, const char *text) {
    if (!tdmi_path_is_absolute(text) && strcmp(text, "none") != 0)
        REFUSE("%s is \"%.200s\": it must be an absolute path, or none", name, text);
    else
        values.cpu_compiler = text;
}

static void add_blas(uint8_t id) {
    for (size_t i = 0; i < values.blas_count; i++)
        if (values.blas[i] == id) return;
    values.blas[values.blas_count++] = id;
}

static void parse_blas(const char *name, const char *text) {
#define BLAS_NAME(name) #name,
#define BLAS_ID(name) TDMI_BLAS_##name,
    static const char *const words[] = {TDMI_BLAS_LIST(BLAS_NAME) "builtin"};
    static const uint8_t cblas[] = {TDMI_CBLAS_LIST(BLAS_ID)};
    enum { WORDS = sizeof words / sizeof *words };
    values.blas_text = text;
    for (word_list list = {.rest = text}; next_word(&list);) {
        const char *word = strchr(text, ',') ? list.word : text;
        const size_t id = parse_word(name, text, word, words, WORDS);
        for (size_t i = 0; id == TDMI_BLAS_cblas && i < sizeof cblas; i++)
            add_blas(cblas[i]);
        if (id < WORDS) add_blas((uint8_t)id);
    }
}

static void parse_math(const char *name, const char *text) {
    static const char *const words[] = {"ieee", "tf32"};
    values.tf32 = parse_word(name, text, text, words, 2) == 1;
}

static void parse_cache_dir(const char *name, const char *text) {
    if (!tdmi_path_is_absolute(text)) {
        REFUSE("%s is \"%s\": it must be an absolute path", name, text);
        return;
    }
    values.cache_dir = text;
    values.cache_variable = name;
}

static void parse_absolute_path(const char *name, const char *text) {
    if (!tdmi_path_is_absolute(text))
        REFUSE("%s is \"%.200s\": it must be an absolute path", name, text);
}

static void parse_log(const char *name, const char *text) {
    static const char *const words[] = {"error", "warn", "info", "debug"};
    static const tdm_log_level levels[] = {TDM_LOG_ERROR, TDM_LOG_WARNING, TDM_LOG_INFO,
                                           TDM_LOG_DEBUG};
    char word[64];
    const size_t length = strcspn(text, ":");
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), text);
    const size_t found = parse_word(name, word, word, words, 4);
    if (strcmp(text + length, ":") == 0)
        REFUSE("%s is \"%.200s\": after the colon must be a file", name, text);
    if (found == 4) return;
    values.log = levels[found];
    values.log_file = text[length] ? text + length + 1 : NULL;
}

static void parse_verify(const char *name, const char *text) {
    const char *rest;
    const double share = tdmi_read_number(text, &rest);
    if (rest == text || !(share >= 0 && share <= 1) || (*rest && (*rest != ':' || !rest[1])))
        REFUSE(
            "%s is \"%.200s\": it must be a share of the calls from 0 to 1, as 0.01, or a share, a "
            "colon and a folder",
            name, text);
    else
        values.verify = share, values.verify_folder = *rest ? rest + 1 : NULL;
}

static const struct variable {
    const char *name;
    void (*parse)(const char *name, const char *text);
    bool names_files;
    const char **text; /* where it is kept as it is; then there is no `parse` */
} variables[] = {
    {"TANDEM_BACKEND", parse_backends, false, NULL},
    {"TANDEM_DEVICE", NULL, false, &values.device},
    {"TANDEM_CPU_DEVICES", parse_cpu_devices, false, NULL},
    {"TANDEM_CPU_THREADS", parse_cpu_threads, false, NULL},
    {"TANDEM_CPU_COMPILER", parse_cpu_compiler, true, NULL},
    {"TANDEM_BLAS", parse_blas, false, NULL},
    {"TANDEM_MATH", parse_math, false, NULL},
    {"TANDEM_CACHE_DIR", parse_cache_dir, true, NULL},
    {"TANDEM_LIBRARY_PATH", parse_library_path, true, NULL},
    {"TANDEM_NCCL_LIBRARY", parse_absolute_path, true, NULL},
    {"TANDEM_TRACE", NULL, true, &values.trace},
    {"TANDEM_LOG", parse_log, true, NULL},
    {"TANDEM_PROFILE", NULL, true, &values.profile},
    {"TANDEM_VERIFY", parse_verify, true, NULL},
};
enum { VARIABLES = sizeof variables / sizeof *variables };

static const char *settings[VARIABLES]; /* their texts, once they were read; NULL: not set */

/* The values that tdm_configure was given. */
static struct {
    bool given;
    const char *text; /* NULL: as if the variable were not set */
} configured[VARIABLES];

static const struct variable *find_variable(const char *name) {
    for (size_t i = 0; i < VARIABLES; i++)
        if (strcmp(variables[i].name, name) == 0) return &variables[i];
    return NULL;
}

/* The one that a name was probably meant for, or NULL. Others have nothing to do with us: Kubernetes sets
 * TANDEM_SERVICE_HOST, TANDEM_PORT and more for a service called tandem. */
static const char *nearest_variable(const char *name) {
    const char *names[VARIABLES];
    for (size_t i = 0; i < VARIABLES; i++)
        names[i] = variables[i].name;
    const char *nearest = tdmi_nearest_word(name, names, VARIABLES);
    if (!nearest) return NULL;
    const size_t most = strlen(nearest) > strlen("TANDEM_") + 4 ? 2 : 1;
    return tdmi_edit_distance(name, nearest) <= most ? nearest : NULL;
}

static void parse_variable(const struct variable *variable, const char *text) {
    if (text[0] == '\0')
        REFUSE("%s is empty", variable->name);
    else if (variable->text)
        *variable->text = text;
    else
        variable->parse(variable->name, text);
    if (status == TDM_OK) settings[variable - variables] = text;
}

tdmi_env_use tdmi_env_use_of(const char *name) {
    const struct variable *variable = find_variable(name);
    if (!variable) return nearest_variable(name) ? TDMI_ENV_USED : TDMI_ENV_FOREIGN;
    if (configured[variable - variables].given) return TDMI_ENV_CONFIGURED;
    return variable->names_files && tdmi_env_values()->privileged ? TDMI_ENV_PRIVILEGED
                                                                  : TDMI_ENV_USED;
}

/* The texts that were read, as the environment may change; not allocated, as reading must not run out of memory. */
enum { MOST_TEXT = 32 << 10 };
static char texts[MOST_TEXT];
static size_t texts_used;

/* `first` and `second` in one text; NULL when there is no room for it. */
static const char *keep(const char *first, const char *second) {
    char *const text = texts + texts_used;
    const size_t size = strlen(first) + strlen(second) + 1;
    if (size > sizeof texts - texts_used) return NULL;
    snprintf(text, size, "%s%s", first, second);
    texts_used += size;
    return text;
}

/* Without TANDEM_CACHE_DIR: $XDG_CACHE_HOME/tandem, else ~/.cache/tandem, on Linux. A relative path is to be
 * ignored, says the XDG Base Directory Specification. */
static void find_cache_directory(void) {
    static const char *const places[][2] = TDMI_CACHE_PLACES;
    for (size_t i = 0; i < sizeof places / sizeof *places && !values.cache_dir; i++) {
        const char *base = tdmi_environment_get(places[i][0]);
        if (!base || !tdmi_path_is_absolute(base)) continue;
        values.cache_dir = keep(base, places[i][1]);
        if (values.cache_dir) values.cache_variable = places[i][0];
    }
}

static void mark_forked(void) { tdmi_forked = 1; }

/* The values without the environment: defaults, and the program's own by tdm_configure. */
static void begin(void) {
    values = (tdmi_env){
        .cpu_devices = 1, .cache_variable = "", .privileged = tdmi_process_is_privileged()};
    memset(settings, 0, sizeof settings);
    status = TDM_OK;
    use_all_backends();
    for (size_t i = 0; i < VARIABLES; i++)
        if (configured[i].text) parse_variable(&variables[i], configured[i].text);
}

static void read_variable(const char *name, const char *text) {
    const struct variable *variable = find_variable(name);
    if (!variable) {
        if (nearest_variable(name))
            REFUSE("%s is not a variable of Tandem; did you mean %s?", name,
                   nearest_variable(name));
        return;
    }
    if (text[0] == '\0') return; /* compose files and CI set variables to nothing */
    if (configured[variable - variables].given) return;
    if (values.privileged && variable->names_files) return;
    const char *kept = keep(text, "");
    if (kept)
        parse_variable(variable, kept);
    else
        REFUSE("%s is too long: the variables of Tandem may have %d bytes in all", name, MOST_TEXT);
}

/* Once the rest is known, so that each file is opened once. */
static void begin_output(void) {
    const char *log = values.log_file, *profile = values.profile, *trace = values.trace;
    if (values.verify > 0 && values.log == TDM_LOG_OFF) values.log = TDM_LOG_ERROR;
    if (values.log != TDM_LOG_OFF && !tdmi_log_to(values.log, log))
        REFUSE("TANDEM_LOG: nothing can be written to %.300s: %s", log ? log : "stderr",
               strerror(errno));
    if (profile && !tdmi_profile_start(profile))
        REFUSE("TANDEM_PROFILE: nothing can be written to %.300s: %s", profile, strerror(errno));
    if (trace && !tdmi_output_append(trace, ""))
        REFUSE("TANDEM_TRACE: nothing can be written to %.300s: %s", trace, strerror(errno));
}

static void read_environment(void) {
    begin();
    tdmi_environment_visit("TANDEM_", read_variable);
    find_cache_directory();
    begin_output();
    tdmi_process_on_fork(mark_forked);
    atomic_store_explicit(&in_use, true, memory_order_release);
}

static void read_once(void) {
    if (atomic_load_explicit(&in_use, memory_order_acquire)) return;
    tdmi_mutex_lock(&lock);
    if (!atomic_load_explicit(&in_use, memory_order_relaxed)) read_environment();
    tdmi_mutex_unlock(&lock);
    tdmi_library_stay(); /* the loader may wait for a thread that needs the lock */
}

tdm_status tdmi_env_before_use(const char *function, void (*set)(void *), void *context) {
    tdmi_mutex_lock(&lock);
    const bool late = atomic_load(&in_use);
    if (!late) set(context);
    tdmi_mutex_unlock(&lock);
    if (!late) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "%s: the library is in use already; call this before anything that lists or "
                     "opens devices",
                     function);
}

/* Takes a text out; those after it move into its place, and `begin` reads them again. */
static void drop(const char *text) {
    const size_t size = strlen(text) + 1, at = (size_t)(text - texts);
    memmove(texts + at, text + size, (texts_used -= size) - at);
    for (size_t i = 0; i < VARIABLES; i++)
        if (configured[i].text && configured[i].text > text) configured[i].text -= size;
}

typedef struct configuration {
    const struct variable *variable;
    const char *text;
    tdm_status status;
    char why[sizeof message];
} configuration;

static void configure(void *context) {
    configuration *c = context;
    const size_t i = (size_t)(c->variable - variables);
    const bool given = configured[i].given;
    const char *text = configured[i].text, *kept = c->text ? keep(c->text, "") : NULL;
    configured[i].given = true;
    configured[i].text = kept;
    begin();
    if (c->text && !kept)
        REFUSE("%s is too long: the variables of Tandem may have %d bytes in all",
               c->variable->name, MOST_TEXT);
    c->status = status;
    if (status != TDM_OK) {
        memcpy(c->why, message, sizeof message);
        configured[i].given = given;
        configured[i].text = text;
        text = kept;
    }
    if (text) drop(text);
    begin();
}

tdm_status tdm_configure(const char *name, const char *value) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, name);
    configuration c = {.variable = find_variable(name), .text = value};
    if (!c.variable) {
        const char *nearest = nearest_variable(name);
        return tdmi_fail(TDM_ERROR_NOT_FOUND, "%s: \"%.63s\" is not a variable of Tandem%s%s%s",
                         __func__, name, nearest ? "; did you mean " : "", nearest ? nearest : "",
                         nearest ? "?" : "");
    }
    TDMI_TRY(tdmi_env_before_use(__func__, configure, &c));
    return c.status == TDM_OK ? TDM_OK : tdmi_fail(c.status, "%s: %s", __func__, c.why);
}

tdm_status tdmi_env_get(const tdmi_env **env) {
    read_once();
    *env = &values;
    return status == TDM_OK ? TDM_OK : tdmi_fail(status, "%s", message);
}

const tdmi_env *tdmi_env_values(void) {
    read_once();
    return &values;
}

int tdmi_env_cpu_devices(void) { return tdmi_env_values()->cpu_devices; }

const char *tdm_get_setting(const char *name) {
    TDMI_UNCANCELLED();
    const struct variable *variable = name ? find_variable(name) : NULL;
    read_once();
    return variable ? settings[variable - variables] : NULL;
}

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
