/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Each process reports the memory it holds in a file, which the others read; see holders.h. */
#include "machine/holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "machine/disk_cache.h"
#include "platform/process.h"
#include "platform/threads.h"

enum {
    DEVICES = 64,
    KEY = 160,
    SECOND = 1000000000,
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
static tdmi_mutex lock = TDMI_MUTEX_INIT;
static holder_file own; /* the truth; the file is a copy of it */
static unsigned open_count;
static char own_name[32];                   /* of the file; "" without one */
static tdmi_file own_handle = TDMI_NO_FILE; /* for writing */
static uint64_t own_identity;               /* which file it is */

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
static bool read_whole(tdmi_file from, uint64_t pid, holder_file *file) {
    return tdmi_file_read(from, 0, file, sizeof *file) == sizeof *file &&
           memcmp(file->magic, MAGIC, sizeof MAGIC) == 0 && file->size == sizeof *file &&
           file->pid == pid && memchr(file->machine, '\0', sizeof file->machine);
}

static bool is_same(uint64_t reported, uint64_t found) {
    return reported == 0 || found == 0 || reported == found;
}

/* A process of ours answers; one of another user has taken over a pid that is free. One that ended
 * and was not waited for answers too, but holds nothing. */
static bool is_alive(const holder_file *file) {
    if (!tdmi_process_answers(file->pid)) return false;
    const tdmi_process_life found = tdmi_process_look_up(file->pid);
    return !found.has_ended && is_same(file->start, found.start) &&
           is_same(file->stack, found.stack);
}

/* The file that was read, unless a new process of that pid has put another in its place. */
static void remove_stale(tdmi_folder folder, const char *name, const tdmi_file_info *read) {
    tdmi_file_info now;
    if (tdmi_file_look_up(folder, name, false, &now) && now.identity == read->identity &&
        now.changed == read->changed)
        (void)tdmi_file_remove(folder, name);
}

/* Reads a file that is named after a process. True: that process lives, on this machine. If it has
 * ended the file is removed; one that cannot be judged here, after a month. */
static bool read_living(tdmi_folder folder, const char *name, const char *machine,
                        holder_file *file) {
    unsigned long pid;
    tdmi_file_info info;
    if (!parse_name(name, &pid)) return false;
    const tdmi_file from = tdmi_cache_open_file(folder, name, &info);
    if (from == TDMI_NO_FILE) return false;
    bool known = read_whole(from, pid, file) && strcmp(file->machine, machine) == 0;
    (void)tdmi_file_close(from);
    if (known && is_alive(file)) return true;
    if (known || time(NULL) - info.changed / SECOND > MONTH) remove_stale(folder, name, &info);
    return false;
}

/* Some of the files whose processes have ended, or are on another machine. */
typedef struct sweep {
    char names[SWEPT][32];
    unsigned found;
    uint64_t random;
} sweep;

/* Any of them is as likely as the others to be among those that are kept, so that the ended ones
 * get their turn however many must stay. (Vitter's algorithm R) */
static void choose(void *data, const char *name) {
    sweep *s = data;
    unsigned long pid;
    if (!parse_name(name, &pid) || tdmi_process_answers(pid)) return;
    unsigned place = s->found++;
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    if (place >= SWEPT) place = (unsigned)((s->random >> 33) % s->found);
    if (place < SWEPT) snprintf(s->names[place], sizeof s->names[place], "%.31s", name);
}

/* Removes files of ended processes: all of them unless there are many. */
static void sweep_some(tdmi_folder folder, holder_file *scratch) {
    sweep s = {.random = own.pid ^ own.start};
    (void)tdmi_folder_list(folder, choose, &s);
    for (unsigned i = 0; i < s.found && i < SWEPT; i++)
        (void)read_living(folder, s.names[i], own.machine, scratch);
}

/* --- this process's own file ------------------------------------------------------------------ */

/* The file is written as a whole: a hole would be filled later, when the disk may be full. */
static bool make_file(tdmi_folder folder, const char *name) {
    tdmi_file_info info;
    own_handle = tdmi_file_open(
        folder, name, TDMI_OPEN_READ | TDMI_OPEN_WRITE | TDMI_OPEN_NEW | TDMI_OPEN_PRIVATE, &info);
    if (own_handle == TDMI_NO_FILE) return false;
    own_identity = info.identity;
    if (tdmi_file_write_at(own_handle, 0, &own, sizeof own) == sizeof own) {
        snprintf(own_name, sizeof own_name, "%s", name);
        return true;
    }
    (void)tdmi_file_close(own_handle);
    own_handle = TDMI_NO_FILE;
    (void)tdmi_file_remove(folder, name);
    return false;
}

/* A name may be taken by an earlier process with our pid, whose file goes; by another copy of the
 * library in this process; or by a process of another container with the same directory. */
static void make_some_file(tdmi_folder folder, holder_file *scratch) {
    for (int copy = 0; copy < COPIES; copy++) {
        char name[sizeof own_name];
        int length = snprintf(name, sizeof name, "%llu", (unsigned long long)own.pid);
        if (copy > 0) snprintf(name + length, sizeof name - (size_t)length, ".%d", copy);
        if (make_file(folder, name)) return;
        if (errno != EEXIST) return;
        if (!read_living(folder, name, own.machine, scratch) && make_file(folder, name)) return;
    }
}

static void start_reporting(void) {
    memset(&own, 0, sizeof own);
    memcpy(own.magic, MAGIC, sizeof MAGIC);
    own.size = sizeof own;
    own.pid = tdmi_process_id();
    const tdmi_process_life found = tdmi_process_look_up(own.pid);
    own.start = found.start;
    own.stack = found.stack;
    tdmi_process_space(own.machine, sizeof own.machine);
    holder_file *scratch = tdmi_malloc(sizeof *scratch);
    const tdmi_folder folder = scratch && tdmi_cache_may_write(sizeof own)
                                   ? tdmi_cache_open("holders", true)
                                   : TDMI_NO_FOLDER;
    if (folder != TDMI_NO_FOLDER) {
        sweep_some(folder, scratch);
        make_some_file(folder, scratch);
        tdmi_folder_close(folder);
    }
    tdmi_free(scratch);
}

/* A program that closes all descriptors, as daemons do, may have opened another file since
 * with the number of ours: that one is neither written nor closed. */
static bool have_handle(void) {
    tdmi_file_info info;
    if (own_handle == TDMI_NO_FILE) return false;
    if (tdmi_file_get_info(own_handle, &info) ? info.identity == own_identity : errno != EBADF)
        return true;
    own_handle = TDMI_NO_FILE;
    return false;
}

static void reopen(void) {
    tdmi_file_info info;
    const tdmi_folder folder = tdmi_cache_open("holders", false);
    if (folder == TDMI_NO_FOLDER) return;
    own_handle = tdmi_file_open(folder, own_name,
                                TDMI_OPEN_READ | TDMI_OPEN_WRITE | TDMI_OPEN_NO_LINK, &info);
    tdmi_folder_close(folder);
    if (own_handle == TDMI_NO_FILE || info.identity == own_identity) return;
    (void)tdmi_file_close(own_handle);
    own_handle = TDMI_NO_FILE;
}

/* Copies a part of `own` to the file. By writing, because truncating a mapped file would end the
 * process that has it mapped. After a failure others see an old number. */
static void tell(const void *part, size_t size) {
    if (!own_name[0] || !tdmi_cache_may_write(sizeof own)) return;
    if (!have_handle()) reopen();
    if (own_handle != TDMI_NO_FILE)
        (void)tdmi_file_write_at(own_handle, (uint64_t)((const char *)part - (const char *)&own),
                                 part, size);
}

static void stop_reporting(void) {
    const tdmi_folder folder = own_name[0] ? tdmi_cache_open("holders", false) : TDMI_NO_FOLDER;
    tdmi_file_info info;
    if (folder != TDMI_NO_FOLDER) {
        if (tdmi_file_look_up(folder, own_name, false, &info) && info.identity == own_identity)
            (void)tdmi_file_remove(folder, own_name);
        tdmi_folder_close(folder);
    }
    if (have_handle()) (void)tdmi_file_close(own_handle);
    own_handle = TDMI_NO_FILE;
    own_name[0] = '\0';
}

tdmi_holding *tdmi_holding_open(const tdmi_listed_device *devices, size_t index) {
    if (index >= DEVICES) return NULL;
    TDMI_LOCKED(&lock);
    if (open_count++ == 0) start_reporting();
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
    if (--open_count == 0) stop_reporting();
}

/* --- what all of them hold ---------------------------------------------------------------------
 */

typedef struct holder_list {
    tdmi_holder *items;
    size_t count, room;
    const char *key;
    char own_name[sizeof own_name];
    char machine[sizeof((holder_file *)0)->machine];
    tdmi_folder folder;
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
    tdmi_holder *grown = tdmi_grown(list->items, place, &list->room, sizeof *grown);
    if (!grown) return;
    list->items = grown;
    if (place == list->count) list->items[list->count++] = (tdmi_holder){file->pid, 0};
    list->items[place].bytes += entry->bytes;
}

static void add_living(void *data, const char *name) {
    holder_list *list = data;
    if (strcmp(name, list->own_name) != 0 &&
        read_living(list->folder, name, list->machine, &list->file))
        add_holder(list, &list->file);
}

size_t tdmi_holders_list(const tdmi_listed_device *devices, size_t index, tdmi_holder **holders) {
    char key[KEY];
    *holders = NULL;
    holder_list *list = tdmi_calloc(1, sizeof *list);
    if (!list) return 0;
    make_key(devices, index, key);
    list->key = key;
    tdmi_process_space(list->machine, sizeof list->machine);
    tdmi_mutex_lock(&lock);
    if (open_count > 0) add_holder(list, &own);
    memcpy(list->own_name, own_name, sizeof own_name);
    tdmi_mutex_unlock(&lock);
    list->folder = tdmi_cache_open("holders", false);
    if (list->folder != TDMI_NO_FOLDER) {
        (void)tdmi_folder_list(list->folder, add_living, list);
        tdmi_folder_close(list->folder);
    }
    size_t count = list->count;
    *holders = list->items;
    tdmi_free(list);
    return count;
}
