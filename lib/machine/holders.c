/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What each process holds, in a file that it writes and the others read; see holders.h. */
#define _GNU_SOURCE
#include "machine/holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/disk_cache.h"

enum {
    DEVICES = 64,
    KEY = 160,
    MONTH = 30 * 24 * 3600,
    COPIES = 16, /* of the library in one process, which have a file each */
    SWEPT = 32   /* files that are looked at when one is made: opening a device stays cheap */
};

typedef struct tdmi_holding {
    char id[32]; /* in that process, for people */
    char key[KEY];
    uint64_t open; /* how often it is open; the texts are good when it is not 0 */
    uint64_t bytes;
} holder_entry;

/* The whole file. */
typedef struct holder_file {
    char magic[8];
    uint64_t size; /* of this struct, so that another layout is not taken for ours */
    uint64_t pid;
    uint64_t start;   /* of the process, in clock ticks since boot */
    char machine[96]; /* boot and pid namespace, within which pids mean something */
    uint64_t stack;   /* where the process has its stack: elsewhere after an exec */
    holder_entry entries[DEVICES];
} holder_file;

static const char MAGIC[8] = {'T', 'D', 'M', 'H', 'E', 'L', 'D', '2'};

/* All under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static holder_file own; /* the truth; the file is a copy of it */
static unsigned open_count;
static char own_name[32];       /* of the file; "" without one */
static int own_descriptor = -1; /* for writing */
static struct stat own_status;  /* which file it is */

static size_t read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    return length;
}

/* From /proc/<pid>/stat: fields 3, the state, 22, the start, and 28, the stack. The second, a name
 * in parentheses, may hold anything. 0 is what is unknown. */
typedef struct life {
    char state;
    uint64_t start, stack;
} life;

static life look_up(uint64_t pid) {
    char path[64], text[1024];
    life found = {0};
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    if (read_text(path, text, sizeof text) == 0) return found;
    const char *at = strrchr(text, ')');
    if (at && at[1]) found.state = at[2];
    for (int field = 3; at && field <= 28; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 22) found.start = strtoull(at, NULL, 10);
        if (at && field == 28) found.stack = strtoull(at, NULL, 10);
    }
    return found;
}

static void name_machine(char *text, size_t size) {
    char boot[64], space[32];
    read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = '\0';
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = '\0';
    snprintf(text, size, "%s %s", boot, space);
}

static const char *identity(const tdm_device_info *info) {
    return info->uuid[0] ? info->uuid : info->pci[0] ? info->pci : info->name;
}

static void make_key(const tdmi_listed_device *devices, size_t index, char key[KEY]) {
    const tdm_device_info *info = &devices[index].facts.info;
    size_t before = 0;
    for (size_t i = 0; i < index; i++)
        before += devices[i].backend == devices[index].backend &&
                  strcmp(identity(&devices[i].facts.info), identity(info)) == 0;
    snprintf(key, KEY, "%s|%s|%zu", devices[index].backend->name, identity(info), before);
}

/* --- the files of all processes --------------------------------------------------------------- */

/* "417", or "417.2" for the third copy of the library in process 417. */
static bool parse_name(const char *name, unsigned long *pid) {
    char digits[16];
    size_t length = strcspn(name, ".");
    unsigned long copy;
    if (length >= sizeof digits) return false;
    memcpy(digits, name, length);
    digits[length] = '\0';
    if (!tdmi_parse_index(digits, INT32_MAX, pid) || *pid == 0) return false;
    return name[length] == '\0' ||
           (tdmi_parse_index(name + length + 1, COPIES - 1, &copy) && copy > 0);
}

/* Whole, and named after the process that it is of. */
static bool read_whole(int descriptor, uint64_t pid, holder_file *file) {
    return read(descriptor, file, sizeof *file) == (ssize_t)sizeof *file &&
           memcmp(file->magic, MAGIC, sizeof MAGIC) == 0 && file->size == sizeof *file &&
           file->pid == pid && memchr(file->machine, '\0', sizeof file->machine);
}

static bool is_same(uint64_t told, uint64_t found) {
    return told == 0 || found == 0 || told == found;
}

/* A process of ours answers; one of another user has taken over a pid that is free. One that ended
 * and was not waited for answers too, but holds nothing. */
static bool is_alive(const holder_file *file) {
    if (kill((pid_t)file->pid, 0) != 0) return false;
    life found = look_up(file->pid);
    return found.state != 'Z' && found.state != 'X' && is_same(file->start, found.start) &&
           is_same(file->stack, found.stack);
}

/* The file that was read, unless a new process of that pid has put another in its place. */
static void remove_stale(int folder, const char *name, const struct stat *read) {
    struct stat now;
    if (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == read->st_ino &&
        now.st_mtim.tv_sec == read->st_mtim.tv_sec && now.st_mtim.tv_nsec == read->st_mtim.tv_nsec)
        (void)unlinkat(folder, name, 0);
}

/* Reads a file that is named after a process. True: that process lives, on this machine. If it has
 * ended the file is removed; one that cannot be judged here, after a month. */
static bool read_living(int folder, const char *name, const char *machine, holder_file *file) {
    unsigned long pid;
    struct stat status;
    if (!parse_name(name, &pid)) return false;
    int descriptor = tdmi_cache_open_file(folder, name, &status);
    if (descriptor < 0) return false;
    bool known = read_whole(descriptor, pid, file) && strcmp(file->machine, machine) == 0;
    close(descriptor);
    if (known && is_alive(file)) return true;
    if (known || time(NULL) - status.st_mtime > MONTH) remove_stale(folder, name, &status);
    return false;
}

/* Calls visit() for each name in a folder, and closes the folder. */
static void each_name(int folder, void (*visit)(int folder, const char *name, void *data),
                      void *data) {
    DIR *names = fdopendir(folder);
    struct dirent *found;
    if (!names) {
        close(folder);
        return;
    }
    while ((found = readdir(names)))
        visit(folder, found->d_name, data);
    closedir(names);
}

/* Some of the files whose processes have ended, or are on another machine. */
typedef struct sweep {
    char names[SWEPT][32];
    unsigned found;
    uint64_t random;
} sweep;

/* Any of them is as likely as the others to be among those that are kept, so that the ended ones
 * get their turn however many must stay. (Vitter's algorithm R) */
static void choose(int folder, const char *name, void *data) {
    sweep *s = data;
    unsigned long pid;
    (void)folder;
    if (!parse_name(name, &pid) || kill((pid_t)pid, 0) == 0) return;
    unsigned place = s->found++;
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    if (place >= SWEPT) place = (unsigned)((s->random >> 33) % s->found);
    if (place < SWEPT) snprintf(s->names[place], sizeof s->names[place], "%.31s", name);
}

/* Removes files of ended processes: all of them unless there are many. */
static void sweep_some(int folder, holder_file *scratch) {
    sweep s = {.random = own.pid ^ own.start};
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) return;
    each_name(again, choose, &s);
    for (unsigned i = 0; i < s.found && i < SWEPT; i++)
        (void)read_living(folder, s.names[i], own.machine, scratch);
}

/* --- this process's own file ------------------------------------------------------------------ */

/* A number at which a program without a stdout will not have its stdout. */
static int move_up(int descriptor) {
    if (descriptor < 0 || descriptor > 2) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    close(descriptor);
    return moved;
}

/* The file is written as a whole: a hole would be filled later, when the disk may be full. */
static bool make_file(int folder, const char *name) {
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int made = openat(folder, name, flags, 0600);
    if (made < 0) return false;
    own_descriptor = move_up(made);
    if (own_descriptor >= 0 && fstat(own_descriptor, &own_status) == 0 &&
        pwrite(own_descriptor, &own, sizeof own, 0) == (ssize_t)sizeof own) {
        snprintf(own_name, sizeof own_name, "%s", name);
        return true;
    }
    if (own_descriptor >= 0) close(own_descriptor);
    own_descriptor = -1;
    (void)unlinkat(folder, name, 0);
    return false;
}

/* A name may be taken by an earlier process with our pid, whose file goes; by another copy of the
 * library in this process; or by a process of another container with the same directory. */
static void make_some_file(int folder, holder_file *scratch) {
    for (int copy = 0; copy < COPIES; copy++) {
        char name[sizeof own_name];
        int length = snprintf(name, sizeof name, "%llu", (unsigned long long)own.pid);
        if (copy > 0) snprintf(name + length, sizeof name - (size_t)length, ".%d", copy);
        if (make_file(folder, name)) return;
        if (errno != EEXIST) return;
        if (!read_living(folder, name, own.machine, scratch) && make_file(folder, name)) return;
    }
}

static void start_telling(void) {
    memset(&own, 0, sizeof own);
    memcpy(own.magic, MAGIC, sizeof MAGIC);
    own.size = sizeof own;
    own.pid = (uint64_t)getpid();
    life found = look_up(own.pid);
    own.start = found.start;
    own.stack = found.stack;
    name_machine(own.machine, sizeof own.machine);
    holder_file *scratch = tdmi_malloc(sizeof *scratch);
    int folder =
        scratch && tdmi_cache_may_write(sizeof own) ? tdmi_cache_open("holders", true) : -1;
    if (folder >= 0) {
        sweep_some(folder, scratch);
        make_some_file(folder, scratch);
        close(folder);
    }
    tdmi_free(scratch);
}

static bool is_own(const struct stat *status) {
    return status->st_dev == own_status.st_dev && status->st_ino == own_status.st_ino;
}

/* A program that closes all descriptors, as daemons do, may have opened another file since
 * with the number of ours: that one is neither written nor closed. */
static bool have_descriptor(void) {
    struct stat status;
    if (own_descriptor >= 0 && fstat(own_descriptor, &status) == 0 && is_own(&status)) return true;
    own_descriptor = -1;
    return false;
}

static void reopen(void) {
    int folder = tdmi_cache_open("holders", false);
    if (folder < 0) return;
    int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    own_descriptor = move_up(openat(folder, own_name, flags));
    close(folder);
    struct stat status;
    if (own_descriptor < 0 || (fstat(own_descriptor, &status) == 0 && is_own(&status))) return;
    close(own_descriptor);
    own_descriptor = -1;
}

/* Copies a part of `own` to the file. By writing, because truncating a mapped file would end the
 * process that has it mapped. What fails leaves others with an old number. */
static void tell(const void *part, size_t size) {
    if (!own_name[0] || !tdmi_cache_may_write(sizeof own)) return;
    if (!have_descriptor()) reopen();
    if (own_descriptor >= 0)
        (void)!pwrite(own_descriptor, part, size, (const char *)part - (const char *)&own);
}

static void stop_telling(void) {
    int folder = own_name[0] ? tdmi_cache_open("holders", false) : -1;
    struct stat status;
    if (folder >= 0) {
        if (fstatat(folder, own_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && is_own(&status))
            (void)unlinkat(folder, own_name, 0);
        close(folder);
    }
    if (have_descriptor()) close(own_descriptor);
    own_descriptor = -1;
    own_name[0] = '\0';
}

tdmi_holding *tdmi_holding_open(const tdmi_listed_device *devices, size_t index) {
    if (index >= DEVICES) return NULL;
    TDMI_LOCKED(&lock);
    if (open_count++ == 0) start_telling();
    tdmi_holding *entry = &own.entries[index];
    /* A device that is opened again while it is still being closed has the same texts. */
    if (entry->open++ == 0) {
        snprintf(entry->id, sizeof entry->id, "%s", devices[index].facts.info.id);
        make_key(devices, index, entry->key);
        tell(entry, offsetof(holder_entry, open));
    }
    tell(&entry->open, sizeof entry->open);
    return entry;
}

void tdmi_holding_add(tdmi_holding *holding, uint64_t bytes) {
    if (!holding) return;
    TDMI_LOCKED(&lock);
    holding->bytes += bytes;
    tell(&holding->bytes, sizeof holding->bytes);
}

void tdmi_holding_close(size_t index) {
    if (index >= DEVICES) return;
    TDMI_LOCKED(&lock);
    tdmi_holding *entry = &own.entries[index];
    entry->open--;
    tell(&entry->open, sizeof entry->open);
    if (--open_count == 0) stop_telling();
}

/* --- what all of them hold ---------------------------------------------------------------------
 */

typedef struct holder_list {
    tdmi_holder *items;
    size_t count, room;
    const char *key;
    char own_name[sizeof own_name];
    char machine[sizeof((holder_file *)0)->machine];
    holder_file file;
} holder_list;

/* The copies of the library in one process are one holder. */
static void add_holder(holder_list *list, const holder_file *file) {
    const holder_entry *entry = file->entries, *end = file->entries + DEVICES;
    while (entry < end && (entry->open == 0 || strncmp(entry->key, list->key, KEY) != 0))
        entry++;
    if (entry == end) return;
    size_t place = 0;
    while (place < list->count && list->items[place].pid != file->pid)
        place++;
    if (place == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        tdmi_holder *grown = tdmi_realloc(list->items, room * sizeof *grown);
        if (!grown) return;
        list->items = grown;
        list->room = room;
    }
    if (place == list->count) list->items[list->count++] = (tdmi_holder){file->pid, 0};
    list->items[place].bytes += entry->bytes;
}

static void add_living(int folder, const char *name, void *data) {
    holder_list *list = data;
    if (strcmp(name, list->own_name) != 0 && read_living(folder, name, list->machine, &list->file))
        add_holder(list, &list->file);
}

size_t tdmi_holders_list(const tdmi_listed_device *devices, size_t index, tdmi_holder **holders) {
    char key[KEY];
    *holders = NULL;
    holder_list *list = tdmi_calloc(1, sizeof *list);
    if (!list) return 0;
    make_key(devices, index, key);
    list->key = key;
    name_machine(list->machine, sizeof list->machine);
    pthread_mutex_lock(&lock);
    if (open_count > 0) add_holder(list, &own);
    memcpy(list->own_name, own_name, sizeof own_name);
    pthread_mutex_unlock(&lock);
    int folder = tdmi_cache_open("holders", false);
    if (folder >= 0) each_name(folder, add_living, list);
    size_t count = list->count;
    *holders = list->items;
    tdmi_free(list);
    return count;
}
