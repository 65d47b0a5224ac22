/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Saving, loading and reading that cannot work: refused with a message, and no file is left.
 * Files that lie: tests/host/safetensors.c. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/array.h"
#include "support/folder.h"

enum { COUNT = 100000, SMALL_BUDGET = 64 << 10 };

static array *x;
static tdm_state_dict *dict;

/* A dict with 400 kB in "x", and a file "f" with two numbers in "old". */
static void start(void) {
    device_open();
    folder_make();
    x = array_1d(TDM_F32, COUNT);
    array_uniform(x, -1, 1);
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "x", &x->t));
    size_t size = 0;
    unsigned char *bytes = safetensors_bytes(
        "{\"old\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", NULL, 8, &size);
    file_write(folder_path("f"), bytes, size);
    free(bytes);
}

static void end(void) {
    tdm_state_dict_destroy(dict);
    folder_remove();
    device_close();
}

TestSuite(tensor_files_refused, .init = start, .fini = end);

static tdm_file_options options_of(tdm_status (*progress)(uint64_t, uint64_t, void *), void *user) {
    return (tdm_file_options){.size = sizeof(tdm_file_options),
                              .budget = SMALL_BUDGET,
                              .progress = progress,
                              .user = user};
}

/* "f" is the old one, and nothing else is there. */
static void check_old(void) {
    tdm_state_dict *old = NULL;
    tdm_tensor t;
    CHECK(folder_holds("f"), "a file was left");
    if (!OK(tdm_load(queue, folder_path("f"), NULL, &old))) return;
    CHECK(tdm_state_dict_get_count(old) == 1 && tdm_state_dict_get(old, "old", &t) == TDM_OK,
          "the old file was changed");
    tdm_state_dict_destroy(old);
}

/* A tensor on another device: both are named, and nothing is written. */
Test(tensor_files_refused, devices) {
    tdm_device *other;
    tdm_buffer *far = NULL;
    if (!device_others(&other, 1) || !OK(tdm_buffer_create(other, 8, &far))) return;
    tdm_tensor t = tdm_tensor_1d(far, TDM_F32, 2);
    char words[160];
    snprintf(words, sizeof words, "far away|%s|%s|tdm_state_dict_to",
             tdm_device_get_info(other)->id, tdm_device_get_info(device)->id);
    OK(tdm_state_dict_set(dict, "far away", &t));
    REFUSED(tdm_save(queue, dict, folder_path("f"), NULL), TDM_ERROR_DEVICE_MISMATCH, words);
    check_old();
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    OK(tdm_file_open(folder_path("f"), &file));
    OK(tdm_file_find(file, "old", &entry));
    snprintf(words, sizeof words, "y|%s|%s", tdm_device_get_info(other)->id,
             tdm_device_get_info(device)->id);
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &t), TDM_ERROR_DEVICE_MISMATCH, words);
    tdm_file_destroy(file);
    tdm_buffer_release(far);
    tdm_device_release(other);
}

/* NULLs, budgets, and data that does not fit the tensor that is read. */
Test(tensor_files_refused, arguments) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    const char *path = folder_path("f");
    tdm_state_dict *got = dict;
    tdm_file_options small_budget = {.size = sizeof(tdm_file_options), .budget = (64 << 10) - 1};
    REFUSED(tdm_save(NULL, dict, path, NULL), invalid, "queue");
    REFUSED(tdm_save(queue, NULL, path, NULL), invalid, "dict");
    REFUSED(tdm_save(queue, dict, NULL, NULL), invalid, "path");
    REFUSED(tdm_save(queue, dict, path, &small_budget), invalid, "budget|65535|65536");
    check_old();
    REFUSED(tdm_load(NULL, path, NULL, &got), invalid, "queue");
    CHECK(!got, "the output of a refused load");
    REFUSED(tdm_load(queue, NULL, NULL, &got), invalid, "path");
    REFUSED(tdm_load(queue, path, NULL, NULL), invalid, "dict");
    REFUSED(tdm_load(queue, path, &small_budget, &got), invalid, "budget|65535");
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    REFUSED(tdm_file_open(NULL, &file), invalid, "path");
    REFUSED(tdm_file_open(path, NULL), invalid, "file");
    if (!OK(tdm_file_open(path, &file))) return;
    REFUSED(tdm_file_get_item(file, 1, &entry), TDM_ERROR_OUT_OF_RANGE, "1");
    REFUSED(tdm_file_get_item(NULL, 0, &entry), invalid, "file");
    REFUSED(tdm_file_get_item(file, 0, NULL), invalid, "entry");
    REFUSED(tdm_file_find(file, "olf", &entry), TDM_ERROR_NOT_FOUND, "'olf'|'old'");
    REFUSED(tdm_file_find(file, NULL, &entry), invalid, "name");
    REFUSED(tdm_file_find(NULL, "old", &entry), invalid, "file");
    CHECK(!entry && tdm_file_get_count(NULL) == 0 && !tdm_file_get_metadata(NULL, "x"), "NULL");
    tdm_file_destroy(NULL);

    check_case("tdm_file_read");
    const tdm_status range = TDM_ERROR_OUT_OF_RANGE;
    OK(tdm_file_get_item(file, 0, &entry));
    array *y = array_1d(TDM_F32, 2), *h = array_1d(TDM_I32, 2), *one = array_1d(TDM_F32, 1);
    array *gaps = array_new(TDM_F32, 1, (int64_t[]){2}, (int64_t[]){3});
    tdm_file_entry copy = *entry;
    tdm_tensor bad = y->t;
    bad.shape[0] = 1000;
    REFUSED(tdm_file_read(queue, NULL, entry, 0, 2, NULL, &y->t), invalid, "file");
    REFUSED(tdm_file_read(queue, file, NULL, 0, 2, NULL, &y->t), invalid, "entry");
    REFUSED(tdm_file_read(queue, file, &copy, 0, 2, NULL, &y->t), invalid, "entry");
    REFUSED(tdm_file_read(NULL, file, entry, 0, 2, NULL, &y->t), invalid, "queue");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, NULL), invalid, "y");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, &small_budget, &y->t), invalid, "budget");
    REFUSED(tdm_file_read(queue, file, entry, -1, 2, NULL, &y->t), range, "-1");
    REFUSED(tdm_file_read(queue, file, entry, 1, 2, NULL, &y->t), range, "first|old");
    REFUSED(tdm_file_read(queue, file, entry, 0, -1, NULL, &y->t), range, "-1");
    REFUSED(tdm_file_read(queue, file, entry, INT64_MAX, 2, NULL, &y->t), range, "first");
    REFUSED(tdm_file_read(queue, file, entry, 2, INT64_MAX, NULL, &y->t), range, "count");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &h->t), TDM_ERROR_INVALID_DTYPE,
            "y|i32|f32|tdm_cast");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &one->t), TDM_ERROR_INVALID_SHAPE,
            "y|1|2");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &gaps->t), TDM_ERROR_UNSUPPORTED,
            "y|contiguous");
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &bad), range, "y");
    tdm_buffer_freeze(y->t.buffer);
    REFUSED(tdm_file_read(queue, file, entry, 0, 2, NULL, &y->t), TDM_ERROR_READ_ONLY, "y");
    ARRAY_SAME(y);
    ARRAY_SAME(h);
    ARRAY_SAME(gaps);
    tdm_file_destroy(file);
}

/* Places where no file can be. */
Test(tensor_files_refused, paths) {
    const tdm_status io = TDM_ERROR_IO;
    tdm_state_dict *got = NULL;
    tdm_file *file = NULL;
    static const char *const paths[] = {
        "/nonexistent/folder/f", "/", "/dev/null", "/dev/full", "", "/tmp/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        check_case("path '%s'", paths[i]);
        REFUSED(tdm_save(queue, dict, paths[i], NULL), io, paths[i]);
        REFUSED(tdm_load(queue, paths[i], NULL, &got), io, paths[i]);
        REFUSED(tdm_file_open(paths[i], &file), io, paths[i]);
        CHECK(!got && !file, "outputs of refused calls");
    }
    check_case("a pipe");
    CHECK(mkfifo(folder_path("pipe"), 0600) == 0, "no pipe");
    REFUSED(tdm_load(queue, folder_path("pipe"), NULL, &got), io, "pipe|regular file");
    REFUSED(tdm_save(queue, dict, folder_path("pipe"), NULL), io, "pipe|regular file");
    remove(folder_path("pipe"));
    check_case("a path through a file");
    REFUSED(tdm_save(queue, dict, folder_path("f/g"), NULL), io, "f/g");
    check_case("a link to nothing");
    CHECK(symlink("nothing", folder_path("link")) == 0, "no link");
    REFUSED(tdm_save(queue, dict, folder_path("link"), NULL), io, "link");
    remove(folder_path("link"));
    check_old();
}

/* A link's file is replaced, not the link; an old file's mode is kept; a new one's is the umask's.
 */
Test(tensor_files_refused, links_and_modes) {
    struct stat status;
    CHECK(symlink("f", folder_path("link")) == 0 && chmod(folder_path("f"), 0640) == 0, "set up");
    OK(tdm_save(queue, dict, folder_path("link"), NULL));
    CHECK(lstat(folder_path("link"), &status) == 0 && S_ISLNK(status.st_mode), "no link any more");
    CHECK(stat(folder_path("f"), &status) == 0 && (status.st_mode & 0777) == 0640 &&
              status.st_size > COUNT * 4,
          "mode %o, %lld bytes", status.st_mode, (long long)status.st_size);
    mode_t before = umask(027);
    OK(tdm_save(queue, dict, folder_path("new"), NULL));
    umask(before);
    CHECK(stat(folder_path("new"), &status) == 0 && (status.st_mode & 0777) == 0640, "mode %o",
          status.st_mode);
    CHECK(folder_holds("f|link|new"), "a file was left");
}

/* Ends the call with a status at a number of bytes; may cut the file first. */
typedef struct ender {
    uint64_t at;
    tdm_status status;
    int calls;
    const char *cut;
} ender;

static tdm_status end_there(uint64_t done, uint64_t total, void *user) {
    ender *e = user;
    (void)total;
    e->calls++;
    if (e->cut && truncate(e->cut, 150000) != 0) return TDM_ERROR_BACKEND;
    return done >= e->at ? e->status : TDM_OK;
}

/* The caller ends the call by its progress function: half-way, and at the last moment. */
Test(tensor_files_refused, cancelled) {
    const uint64_t ends[] = {0, COUNT * 2, COUNT * 4};
    for (int i = 0; i < 3; i++) {
        ender e = {.at = ends[i], .status = TDM_ERROR_NOT_FOUND};
        const tdm_file_options options = options_of(end_there, &e);
        check_case("ended at %llu bytes", (unsigned long long)ends[i]);
        REFUSED(tdm_save(queue, dict, folder_path("f"), &options), TDM_ERROR_NOT_FOUND,
                "cancelled|tdm_save");
        CHECK(i == 0 ? e.calls == 1 : e.calls > 1, "called %d times", e.calls);
        check_old();
    }
    OK(tdm_save(queue, dict, folder_path("g"), NULL));
    const uint64_t before = memory_now(device).in_use;
    for (int i = 0; i < 3; i++) {
        ender e = {.at = ends[i], .status = TDM_ERROR_UNSUPPORTED};
        const tdm_file_options options = options_of(end_there, &e);
        tdm_state_dict *got = dict;
        check_case("load ended at %llu bytes", (unsigned long long)ends[i]);
        REFUSED(tdm_load(queue, folder_path("g"), &options, &got), TDM_ERROR_UNSUPPORTED,
                "cancelled|tdm_load");
        CHECK(!got, "the output of a cancelled load");
    }
    CHECK(before == memory_now(device).in_use, "a cancelled load leaks");
}

/* A full disk, played by the limit on a file's size, past which a write is a signal that ends the process. */
Test(tensor_files_refused, disk_full) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    struct rlimit less = {70000, limit.rlim_max};
    const tdm_file_options options = options_of(NULL, NULL);
    for (int i = 0; i < 3; i++) {
        less.rlim_cur = i == 0 ? 70000 : i == 1 ? 10 : 0;
        setrlimit(RLIMIT_FSIZE, &less);
        char words[64];
        snprintf(words, sizeof words, "byte %d|tdm_save", (int)less.rlim_cur);
        REFUSED(tdm_save(queue, dict, folder_path("f"), i ? NULL : &options), TDM_ERROR_IO, words);
        setrlimit(RLIMIT_FSIZE, &limit);
        check_old();
    }
    OK(tdm_save(queue, dict, folder_path("f"), &options));
}

static tdm_status open_file_meanwhile(uint64_t done, uint64_t total, void *user) {
    tdm_file *file = NULL;
    (void)user;
    if (done < total) OK(tdm_file_open(folder_path("f"), &file));
    tdm_file_destroy(file);
    return TDM_OK;
}

static void make_old(const char *path) {
    const struct timespec now[] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    file_write(path, "x", 1);
    if (utimensat(AT_FDCWD, path, now, 0) != 0) abort();
}

/* This machine's part of such a name. */
static tdm_status note_machine(uint64_t done, uint64_t total, void *machine) {
    DIR *folder = opendir(folder_path("."));
    (void)done, (void)total;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        (void)!sscanf(entry->d_name, ".tandem-%31[0-9a-f]-", (char *)machine);
    if (folder) closedir(folder);
    return TDM_OK;
}

/* A file that a process left when it was killed while it saved goes with the next load or save, that of another machine
 * when it is old; one that is being written, and one that only looks like it, stays. */
Test(tensor_files_refused, leftovers) {
    static const char old[] = ".tandem-0-7fffffff-1a2b-0.tmp", young[] = ".tandem-0-1-2-1.tmp",
                      locked[] = ".tandem-0-1-2-3.tmp", other[] = ".tandem-0-1-2-3.tmp.bak";
    char machine[32] = "", left[64];
    const tdm_file_options noting = options_of(note_machine, machine);
    OK(tdm_save(queue, dict, folder_path("f"), &noting));
    snprintf(left, sizeof left, ".tandem-%s-7fffffff-1a2b-0.tmp", machine);
    CHECK(machine[0], "no temporary file");
    make_old(folder_path(locked));
    make_old(folder_path(other));
    file_write(folder_path(young), "x", 1);
    const int file = open(folder_path(locked), O_RDONLY | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX) != 0) abort();
    for (int saves = 0; saves < 2; saves++) {
        tdm_state_dict *got = NULL;
        const tdm_file_options options = options_of(open_file_meanwhile, NULL);
        check_case(saves ? "a save" : "a load");
        file_write(folder_path(left), "x", 1);
        make_old(folder_path(old));
        if (saves)
            OK(tdm_save(queue, dict, folder_path("f"), &options));
        else
            OK(tdm_load(queue, folder_path("f"), NULL, &got));
        CHECK(folder_holds(".tandem-0-1-2-1.tmp|.tandem-0-1-2-3.tmp|.tandem-0-1-2-3.tmp.bak|f"),
              "files");
        tdm_state_dict_destroy(got);
    }
    close(file);
    tdm_file *opened = NULL;
    OK(tdm_file_open(folder_path("f"), &opened));
    tdm_file_destroy(opened);
    CHECK(folder_holds(".tandem-0-1-2-1.tmp|.tandem-0-1-2-3.tmp.bak|f"), "files");
}

/* The program closed its standard streams, and prints to them none the less: it is not in the file. */
static tdm_status print_meanwhile(uint64_t done, uint64_t total, void *user) {
    (void)user;
    fprintf(stderr, "saved %llu of %llu\n", (unsigned long long)done, (unsigned long long)total);
    return TDM_OK;
}

Test(tensor_files_refused, closed_streams) {
    tdm_file *file = NULL;
    const tdm_file_options options = options_of(print_meanwhile, NULL);
    const int kept = dup(STDERR_FILENO);
    if (kept < 0 || close(STDERR_FILENO) != 0) abort();
    const tdm_status status = tdm_save(queue, dict, folder_path("f"), &options);
    if (dup2(kept, STDERR_FILENO) < 0) abort();
    close(kept);
    OK(status);
    OK(tdm_file_open(folder_path("f"), &file));
    tdm_file_destroy(file);
}

/* Such a file of a read-only model. Root may write that, and takes another user's rights. */
Test(tensor_files_refused, read_only_leftover) {
    static const char left[] = ".tandem-0-7fffffff-1a2b-0.tmp";
    enum { OTHER_USER = 65534 };
    const bool is_root = geteuid() == 0;
    bool may_write = !is_root || (chown(folder_path("."), OTHER_USER, (gid_t)-1) == 0 &&
                                  seteuid(OTHER_USER) == 0);
    may_write = may_write && faccessat(AT_FDCWD, folder_path("."), W_OK, AT_EACCESS) == 0;
    if (!may_write) {
        if (is_root && seteuid(0) != 0) abort();
        folder_remove();
        check_skip("root cannot take another user's rights here");
        return;
    }
    make_old(folder_path(left));
    if (chmod(folder_path(left), 0444) != 0) abort();
    OK(tdm_save(queue, dict, folder_path("g"), NULL));
    if (is_root && seteuid(0) != 0) abort();
    CHECK(folder_holds("f|g"), "files");
}

/* A file that is cut short after it was opened, or while it is read. */
Test(tensor_files_refused, cut_short) {
    OK(tdm_save(queue, dict, folder_path("f"), NULL));
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    if (!OK(tdm_file_open(folder_path("f"), &file))) return;
    OK(tdm_file_get_item(file, 0, &entry));
    char words[64];
    snprintf(words, sizeof words, "byte 150000|f|%llu",
             (unsigned long long)entry->offset + COUNT * 4);
    ender e = {.at = UINT64_MAX, .cut = folder_path("f")};
    const tdm_file_options options = options_of(end_there, &e);
    tdm_state_dict *got = NULL;
    REFUSED(tdm_load(queue, folder_path("f"), &options, &got), TDM_ERROR_IO, words);
    CHECK(!got && e.calls > 0, "the output of a refused load");
    array *y = array_1d(TDM_F32, COUNT);
    REFUSED(tdm_file_read(queue, file, entry, 0, COUNT, NULL, &y->t), TDM_ERROR_IO, words);
    OK(tdm_file_read(queue, file, entry, 0, COUNT / 4, NULL,
                     &(tdm_tensor){y->t.buffer, TDM_F32, 1, {COUNT / 4}, {1}, y->t.offset}));
    REFUSED(tdm_load(queue, folder_path("f"), NULL, &got), TDM_ERROR_IO, "f|x|outside");
    tdm_file_destroy(file);
}
