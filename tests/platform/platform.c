/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The platform layer's promises (lib/platform), on the system that this runs on: a program alone, so that it runs
 * wherever it can be compiled. Usage: platform [LIBRARY]   (a library to load, by its path) */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "platform/clock.h"
#include "platform/folder.h"
#include "platform/library.h"
#include "platform/machine.h"
#include "platform/memory.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/text.h"
#include "platform/threads.h"

int held_files_are_waited_for(const char *folder); /* held.c */

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "platform.c:%d: not true: %s (errno %d)\n", __LINE__, #condition,      \
                    errno);                                                                        \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static char folder[1024]; /* where the tests are */

static const char *in_folder(const char *name) {
    static char path[8][1200];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static tdmi_file make(tdmi_folder in, const char *name) {
    return tdmi_file_open(
        in, name, TDMI_OPEN_READ | TDMI_OPEN_WRITE | TDMI_OPEN_NEW | TDMI_OPEN_PRIVATE, NULL);
}

static bool holds(tdmi_file file, const char *text) {
    char found[64];
    const size_t size = tdmi_file_read(file, 0, found, sizeof found);
    return errno == 0 && size == strlen(text) && memcmp(found, text, size) == 0;
}

/* Wine does not report that a file is being removed. */
static bool is_wine(void) {
    unsigned failure;
    void *system = tdmi_library_load("ntdll.dll", TDMI_LOAD_SYSTEM, &failure, NULL, 0);
    return system && tdmi_library_symbol(system, "wine_get_version");
}

/* ---- files ---- */

/* A name that no code page of one byte has: "naïve 数 🙂". */
static const char strange[] = "na\xc3\xafve \xe6\x95\xb0 \xf0\x9f\x99\x82";

static void names_are_utf8(void) {
    tdmi_file_info info;
    const tdmi_file file = make(TDMI_HERE, in_folder(strange));
    CHECK(file != TDMI_NO_FILE);
    CHECK(tdmi_file_write(file, "x", 1) == 1 && tdmi_file_close(file));
    CHECK(tdmi_file_look_up(TDMI_HERE, in_folder(strange), true, &info) && info.size == 1);
    CHECK(make(TDMI_HERE, in_folder(strange)) == TDMI_NO_FILE && errno == EEXIST);
    char *resolved = tdmi_path_resolve(in_folder(strange));
    CHECK(resolved && strcmp(resolved + tdmi_path_folder_length(resolved), strange) == 0);
    CHECK(resolved && tdmi_path_is_absolute(resolved));
    free(resolved);
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder(strange)));
    CHECK(!tdmi_file_look_up(TDMI_HERE, in_folder(strange), true, &info) && errno == ENOENT);
    CHECK(!tdmi_path_resolve(in_folder("nothing")) && errno == ENOENT);
}

/* All bytes as they are, at any place. */
static void files_are_binary(void) {
    static const char bytes[] = "a\nb\r\n\x1a\0z";
    char found[32];
    const tdmi_file file = make(TDMI_HERE, in_folder("bytes"));
    CHECK(tdmi_file_write(file, bytes, sizeof bytes) == sizeof bytes);
    CHECK(tdmi_file_read(file, 0, found, sizeof found) == sizeof bytes && errno == 0);
    CHECK(memcmp(found, bytes, sizeof bytes) == 0);
    CHECK(tdmi_file_write_at(file, 2, "B", 1) == 1);
    CHECK(tdmi_file_read(file, 2, found, 2) == 2 && memcmp(found, "B\r", 2) == 0);
    CHECK(tdmi_file_read(file, 1000, found, 2) == 0 && errno == 0);
    CHECK(tdmi_file_empty(file) && holds(file, ""));
    CHECK(tdmi_file_close(file));
    for (int i = 0; i < 2; i++) {
        const tdmi_file end =
            tdmi_file_open(TDMI_HERE, in_folder("bytes"), TDMI_OPEN_APPEND | TDMI_OPEN_MAKE, NULL);
        CHECK(end != TDMI_NO_FILE && tdmi_file_write(end, "end", 3) == 3 && tdmi_file_close(end));
    }
    const tdmi_file again = tdmi_file_open(TDMI_HERE, in_folder("bytes"), TDMI_OPEN_READ, NULL);
    CHECK(holds(again, "endend") && tdmi_file_close(again));
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("bytes")));
}

static void info_is_right(void) {
    tdmi_file_info info, other;
    const time_t before = time(NULL) - 3;
    const tdmi_file file = make(TDMI_HERE, in_folder("info"));
    CHECK(tdmi_file_write(file, "12345", 5) == 5 && tdmi_file_get_info(file, &info));
    CHECK(info.kind == TDMI_FILE_REGULAR && info.is_ours && !info.is_shared && !info.is_nameless &&
          info.size == 5);
    CHECK(info.changed / 1000000000 >= before && info.changed / 1000000000 <= time(NULL) + 3);
    CHECK(tdmi_file_look_up(TDMI_HERE, in_folder("info"), false, &other) &&
          other.identity == info.identity);
    const tdmi_file second = make(TDMI_HERE, in_folder("second"));
    CHECK(tdmi_file_get_info(second, &other) && other.identity != info.identity);
    CHECK(tdmi_file_close(second) && tdmi_file_remove(TDMI_HERE, in_folder("second")));
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("info")));
    CHECK(tdmi_file_get_info(file, &info) && (info.is_nameless || is_wine()) &&
          holds(file, "12345"));
    CHECK(tdmi_file_close(file));
    CHECK(tdmi_file_look_up(TDMI_HERE, folder, true, &info) && info.kind == TDMI_FILE_FOLDER &&
          info.is_ours && !info.is_shared);
    CHECK(tdmi_file_open(TDMI_HERE, folder, TDMI_OPEN_WRITE, NULL) == TDMI_NO_FILE);
}

/* A file that is open elsewhere can be replaced and removed, and stays readable there. */
static void open_files_let_go(void) {
    const char *what = "";
    const tdmi_file old = make(TDMI_HERE, in_folder("table"));
    CHECK(tdmi_file_write(old, "old", 3) == 3);
    const tdmi_file next = make(TDMI_HERE, in_folder("next"));
    CHECK(tdmi_file_lock(next) && tdmi_file_write(next, "new", 3) == 3);
    CHECK(tdmi_file_publish(next, in_folder("next"), in_folder("table"), &what));
    CHECK(holds(old, "old"));
    const tdmi_file now = tdmi_file_open(TDMI_HERE, in_folder("table"), TDMI_OPEN_READ, NULL);
    CHECK(holds(now, "new"));
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("table")));
    const tdmi_file same = make(TDMI_HERE, in_folder("table")); /* the name is free at once */
    CHECK(same != TDMI_NO_FILE && holds(now, "new"));
    CHECK(tdmi_file_close(old) && tdmi_file_close(now) && tdmi_file_close(same));
    CHECK(tdmi_file_rename(TDMI_HERE, in_folder("table"), in_folder("moved")));
    CHECK(!tdmi_file_rename(TDMI_HERE, in_folder("table"), in_folder("moved")) && errno == ENOENT);
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("moved")));
    CHECK(!tdmi_file_remove(TDMI_HERE, in_folder("moved")) && errno == ENOENT);
}

static void locks_are_seen(void) {
    const tdmi_file first = make(TDMI_HERE, in_folder("lock"));
    const tdmi_file second =
        tdmi_file_open(TDMI_HERE, in_folder("lock"), TDMI_OPEN_READ | TDMI_OPEN_WRITE, NULL);
    CHECK(tdmi_file_lock(first));
    CHECK(!tdmi_file_lock(second) && errno == EWOULDBLOCK);
    CHECK(tdmi_file_write(first, "held", 4) == 4 && holds(second, "held"));
    CHECK(tdmi_file_close(first));
    CHECK(tdmi_file_lock(second) && tdmi_file_close(second));
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("lock")));
}

/* ---- folders ---- */

static int seen;
static void see(void *context, const char *name) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    seen++;
    CHECK(tdmi_file_remove(*(tdmi_folder *)context, name));
}

static void folders_keep_their_meaning(void) {
    tdmi_file_info info;
    CHECK(tdmi_folder_make(TDMI_HERE, in_folder("a")));
    CHECK(!tdmi_folder_make(TDMI_HERE, in_folder("a")) && errno == EEXIST);
    tdmi_folder a = tdmi_folder_open(TDMI_HERE, in_folder("a"), false, &info);
    CHECK(a != TDMI_NO_FOLDER && info.kind == TDMI_FILE_FOLDER && info.is_ours && !info.is_shared);
    for (int i = 0; i < 300; i++) { /* more than one call of the system's returns */
        char name[64];
        snprintf(name, sizeof name, "%s %d", strange, i);
        const tdmi_file file = make(a, name);
        CHECK(file != TDMI_NO_FILE && tdmi_file_close(file));
    }
    CHECK(tdmi_file_rename(a, "na\xc3\xafve \xe6\x95\xb0 \xf0\x9f\x99\x82 7", "seven"));
    CHECK(tdmi_file_look_up(a, "seven", true, &info) &&
          tdmi_file_look_up(TDMI_HERE, in_folder("a/seven"), true, &info));
    CHECK(!tdmi_folder_remove(in_folder("a")));
    for (int turn = 0; turn < 2; turn++)
        CHECK(tdmi_folder_list(a, see, &a));
    CHECK(seen == 300);
    CHECK(tdmi_file_rename(TDMI_HERE, in_folder("a"), in_folder("b")));
    const tdmi_file file = make(a, "within");
    CHECK(file != TDMI_NO_FILE && tdmi_file_close(file));
    CHECK(tdmi_file_look_up(TDMI_HERE, in_folder("b/within"), true, &info));
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("b/within")));
    tdmi_folder_close(a);
    CHECK(tdmi_folder_is_writable(in_folder("b")) && !tdmi_folder_is_writable(in_folder("c")));
    CHECK(tdmi_folder_remove(in_folder("b")));
    CHECK(tdmi_folder_open(TDMI_HERE, in_folder("b"), true, NULL) == TDMI_NO_FOLDER &&
          errno == ENOENT);
}

/* ---- threads ---- */

enum { THREADS = 4, TURNS = 20000 };
static tdmi_mutex mutex = TDMI_MUTEX_INIT;
static tdmi_cond cond;
static tdmi_once once = TDMI_ONCE_INIT;
static tdmi_key key;
static int counted, onces, ready;
static atomic_int destroyed;
static uint64_t ids[THREADS];

static void destroy(void *pointer) { atomic_fetch_add(&destroyed, *(int *)pointer); }
static void run_once(void) {
    tdmi_sleep(5000000);
    onces++;
}

static void *work(void *context) {
    static int one = 1;
    const int self = *(int *)context;
    ids[self] = tdmi_thread_id();
    tdmi_once_run(&once, run_once);
    CHECK(onces == 1 && !tdmi_key_get(key) && tdmi_key_set(key, &one) && tdmi_key_get(key) == &one);
    for (int i = 0; i < TURNS; i++) {
        TDMI_LOCKED(&mutex);
        counted++;
    }
    tdmi_mutex_lock(&mutex);
    ready++;
    tdmi_cond_broadcast(&cond);
    while (ready < THREADS)
        tdmi_cond_wait(&cond, &mutex);
    tdmi_mutex_unlock(&mutex);
    return NULL;
}

static void threads_meet(void) {
    tdmi_thread threads[THREADS];
    int numbers[THREADS];
    CHECK(tdmi_cond_init(&cond) && tdmi_key_create(&key, destroy));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(tdmi_thread_start(&threads[i], work, &numbers[i]));
    }
    for (int i = 0; i < THREADS; i++)
        tdmi_thread_join(threads[i]);
    CHECK(counted == THREADS * TURNS && onces == 1 && destroyed == THREADS);
    for (int i = 1; i < THREADS; i++)
        CHECK(ids[i] != ids[0]);
    tdmi_mutex_lock(&mutex);
    const uint64_t start = tdmi_nanoseconds();
    while (tdmi_cond_wait_for(&cond, &mutex, 30000000)) {
    }
    const uint64_t taken = tdmi_nanoseconds() - start;
    tdmi_mutex_unlock(&mutex);
    CHECK(taken > 25000000 && taken < UINT64_C(5000000000));
    CHECK(tdmi_mutex_trylock(&mutex));
    CHECK(!tdmi_mutex_trylock(&mutex));
    tdmi_mutex_unlock(&mutex);
}

/* ---- the rest ---- */

static int print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int print(char *text, size_t size, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const int length = tdmi_print_list(text, size, format, list);
    va_end(list);
    return length;
}

static void numbers_are_plain(void) {
    char text[16];
    const char *end;
    CHECK(print(text, sizeof text, "%zu %lld", (size_t)7, 8LL) == 3 && strcmp(text, "7 8") == 0);
    CHECK(print(text, 4, "%s", "123456") == 6 && strcmp(text, "123") == 0);
    CHECK(tdmi_read_number("0x1.8p1,", &end) == 3 && *end == ',');
    CHECK(isinf(tdmi_read_number("inf", &end)) && isnan(tdmi_read_number("nan", &end)));
    volatile double third = 1.0 / 3, three = 3,
                    one = 1; /* rounded once: what the C library's fma is for */
    CHECK(fma(third, three, -one) == -0x1p-54);
    volatile double far = 1e22; /* which is to be reduced by π with as many digits as it takes */
    CHECK(fabs(sin(far) + 0.8522008497671888) < 1e-15 &&
          fabs(cos(far) - 0.5232147853951389) < 1e-15);
}

static void memory_and_machine(void) {
    uint64_t total, available;
    char name[128], vendor[128];
    for (size_t alignment = sizeof(void *); alignment <= 1 << 21; alignment *= 2) {
        char *memory = tdmi_aligned_alloc(alignment, 100);
        CHECK(memory && (uintptr_t)memory % alignment == 0);
        if (memory) memset(memory, 1, 100);
        tdmi_aligned_free(memory);
    }
    tdmi_aligned_free(NULL);
    CHECK(!tdmi_aligned_alloc(64, SIZE_MAX) && !tdmi_aligned_alloc(64, SIZE_MAX / 2) &&
          tdmi_page_size() >= 4096);
    tdmi_machine_memory(&total, &available);
    CHECK(total > 100 << 20 && available <= total);
    tdmi_machine_processor(name, sizeof name, vendor, sizeof vendor);
    CHECK(name[0] && vendor[0] && tdmi_process_cores() >= 1);
}

static int variables;
static void count_variable(const char *name, const char *value) {
    variables += strcmp(name, "PLATFORM_TEST") == 0 && value[0] == '\0';
    variables += strcmp(name, "PLATFORM_TEXT") == 0 && strcmp(value, "a=\xc3\xa4") == 0;
}

/* On Windows a folder may begin with a variable, which then must make an absolute path. */
static bool folders_expand(void) {
    const bool has_drives = tdmi_path_separator == ';';
    const char *const plain = has_drives ? "C:/a/bin" : "/a/bin";
    char path[32];
    bool right = tdmi_path_expand(plain, path, sizeof path) && strcmp(path, plain) == 0 &&
                 !tdmi_path_expand(plain, path, strlen(plain)) &&
                 !tdmi_path_expand("%PLATFORM_GONE%/bin", path, sizeof path) &&
                 !tdmi_path_expand("%PLATFORM_TEXT%/bin", path, sizeof path);
    if (has_drives)
        right = right && tdmi_path_expand("%PLATFORM_HOME%/bin", path, sizeof path) &&
                strcmp(path, "C:\\\xc3\xa4/bin") == 0;
    return right;
}

/* Where each folder of a path ends, but for its root. */
static void folders_end(const char *path, const char *rest) {
    size_t at = 0;
    for (; *rest; rest = strchr(rest, ' ') ? strchr(rest, ' ') + 1 : "") {
        at = tdmi_path_folder_end(path, at);
        CHECK(strncmp(path + at, rest, strcspn(rest, " ")) == 0);
    }
    CHECK(path[tdmi_path_folder_end(path, at)] == '\0');
}

static void paths_have_folders(void) {
    folders_end("/a/b/c", "/b/c /c");
    if (tdmi_path_separator != ';') return;
    folders_end("D:\\a\\b/c", "\\b/c /c");
    folders_end("\\\\server\\share\\a\\b", "\\b");
}

/* A child of this program that says so. */
static int child(int count, char **arguments) {
    tdmi_environment_visit("PLATFORM_", count_variable);
    const char *text = tdmi_environment_get("PLATFORM_TEXT");
    const bool right = count == 6 && strcmp(arguments[2], "a b") == 0 &&
                       strcmp(arguments[3], "\"q\\\"\\") == 0 && arguments[4][0] == '\0' &&
                       variables == 1 && text && strcmp(text, "a=\xc3\xa4") == 0 &&
                       !tdmi_environment_get("PLATFORM_GONE") && folders_expand();
    printf("output\n");
    if (strcmp(arguments[5], "sleep") == 0) tdmi_sleep(UINT64_C(20000000000));
    if (strcmp(arguments[5], "trap") == 0)
        __builtin_trap(); /* which no sanitizer takes for its own */
#if defined(__x86_64__)
    if (strcmp(arguments[5], "break") == 0) __asm__ volatile("int3");
#else
    if (strcmp(arguments[5], "break") == 0) __builtin_trap();
#endif
    return right ? 42 : 1;
}

static void programs_run(const char *self) {
    const char *const changes[] = {"PLATFORM_TEXT=a=\xc3\xa4", "PLATFORM_HOME=C:\\\xc3\xa4",
                                   "PLATFORM_GONE", NULL};
    const char *arguments[] = {self, "child", "a b", "\"q\\\"\\", "", "return", NULL};
    tdmi_command command = {arguments, changes, in_folder("log"), 10};
    tdmi_command_end end;
    CHECK(tdmi_command_is_program(self) && !tdmi_command_is_program(folder));
    CHECK(tdmi_command_run(&command, &end) && end.status == 42 && !end.is_late && !end.death[0]);
    arguments[5] = "trap";
    CHECK(tdmi_command_run(&command, &end) && end.death[0] && !end.is_late);
    arguments[5] = "break";
    CHECK(tdmi_command_run(&command, &end) && end.death[0] && !end.is_late);
    arguments[5] = "sleep";
    command.seconds = 0.5;
    const uint64_t start = tdmi_nanoseconds();
    CHECK(tdmi_command_run(&command, &end) && end.is_late);
    CHECK(tdmi_nanoseconds() - start < UINT64_C(10000000000));
    const tdmi_file log = tdmi_file_open(TDMI_HERE, in_folder("log"), TDMI_OPEN_READ, NULL);
    char text[64];
    CHECK(tdmi_file_read(log, 0, text, sizeof text) >= strlen("output\n") &&
          memcmp(text, "output", 6) == 0);
    CHECK(tdmi_file_close(log) && tdmi_file_remove(TDMI_HERE, in_folder("log")));
    arguments[0] = in_folder("nothing");
    CHECK(!tdmi_command_run(&command, &end) && errno == ENOENT);
    (void)tdmi_file_remove(TDMI_HERE, in_folder("log"));
}

static void processes_are_known(const char *self) {
    char name[256];
    const tdmi_process_life life = tdmi_process_look_up(tdmi_process_id());
    CHECK(!life.has_ended && life.start != 0 && tdmi_process_answers(tdmi_process_id()));
    tdmi_process_name(tdmi_process_id(), name, sizeof name);
    CHECK(strncmp(self + tdmi_path_folder_length(self), name, strlen(name)) == 0 && name[0]);
    tdmi_process_space(name, sizeof name);
    CHECK(name[0]);
}

static void libraries_load(const char *file) {
    unsigned failure;
    char why[512] = "", path[1024];
    CHECK(!tdmi_library_load("no-such-library-of-this-name.so", 0, &failure, why, sizeof why));
    CHECK(failure == TDMI_LOAD_ABSENT && strstr(why, "no-such-library-of-this-name.so"));
    CHECK(!tdmi_library_load(in_folder("nothing.so"), 0, &failure, NULL, 0) &&
          failure == TDMI_LOAD_ABSENT);
    const tdmi_file broken = make(TDMI_HERE, in_folder("broken.so"));
    CHECK(tdmi_file_write(broken, "broken", 6) == 6 && tdmi_file_close(broken));
    CHECK(!tdmi_library_load(in_folder("broken.so"), 0, &failure, why, sizeof why) &&
          failure == 0 && why[0]);
    CHECK(tdmi_file_remove(TDMI_HERE, in_folder("broken.so")));
    if (!file) return;
    void *library = tdmi_library_load(file, 0, &failure, why, sizeof why);
    if (!library) fprintf(stderr, "%s\n", why);
    CHECK(library && tdmi_library_symbol(library, "tdm_last_error") &&
          !tdmi_library_symbol(library, "tdm_none"));
    CHECK(library && tdmi_library_path(library, path, sizeof path) && tdmi_path_is_absolute(path));
}

static bool copy(const char *from, const char *to) {
    static char part[1 << 16];
    const tdmi_file in = tdmi_file_open(TDMI_HERE, from, TDMI_OPEN_READ, NULL);
    const tdmi_file out = make(TDMI_HERE, to);
    uint64_t at = 0;
    size_t size = 1;
    bool fine = in != TDMI_NO_FILE && out != TDMI_NO_FILE;
    while (fine && size > 0) {
        size = tdmi_file_read(in, at, part, sizeof part);
        fine = tdmi_file_write_at(out, at, part, size) == size;
        at += size;
    }
    if (in != TDMI_NO_FILE) (void)tdmi_file_close(in);
    if (out != TDMI_NO_FILE) (void)tdmi_file_close(out);
    return fine && at > 0;
}

static bool loads(const char *file, unsigned how) {
    unsigned failure;
    void *library = tdmi_library_load(file, how, &failure, NULL, 0);
    if (library) tdmi_library_unload(library);
    return library;
}

/* A name without a folder: of a driver it is the file of the system, never one that lies next to the program; of
 * another library none that lies in the working directory. */
static void planted_libraries_do_not_load(const char *self, const char *file) {
    static const char name[] = "platform-planted.dll";
    char here[1200], path[1200];
    char *resolved = tdmi_path_resolve(".");
    snprintf(here, sizeof here, "%s/%s", resolved, name);
    snprintf(path, sizeof path, "%.*s%s", (int)tdmi_path_folder_length(self), self, name);
    CHECK(copy(file, path) && loads(path, 0) && !loads(name, TDMI_LOAD_SYSTEM));
    CHECK(tdmi_file_remove(TDMI_HERE, path));
    CHECK(copy(file, here) && loads(here, 0) && !loads(name, TDMI_LOAD_SYSTEM));
    if (strncmp(here, self, strlen(resolved)) != 0 ||
        tdmi_path_folder_length(self) != strlen(resolved) + 1)
        CHECK(!loads(name, 0));
    CHECK(tdmi_file_remove(TDMI_HERE, here));
    free(resolved);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "child") == 0) return child(count, arguments);
    CHECK(tdmi_folder_make_temporary(NULL, folder, sizeof folder));
    char *self = tdmi_path_resolve(arguments[0]);
    if (!self) {
        fprintf(stderr, "platform: call it by its path\n");
        return 1;
    }
    names_are_utf8();
    files_are_binary();
    info_is_right();
    open_files_let_go();
    failures += held_files_are_waited_for(folder);
    locks_are_seen();
    folders_keep_their_meaning();
    threads_meet();
    numbers_are_plain();
    paths_have_folders();
    memory_and_machine();
    programs_run(self);
    processes_are_known(self);
    libraries_load(count > 1 ? arguments[1] : NULL);
    if (count > 1) planted_libraries_do_not_load(self, arguments[1]);
    free(self);
    CHECK(tdmi_folder_remove(folder));
    printf("%d failures\n", failures);
    return failures > 0;
}
