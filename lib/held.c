/* What each process holds, in a file that it maps and the others read; see held.h. */
#define _GNU_SOURCE
#include "held.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "disk_cache.h"
#include "words.h"

enum { DEVICES = 64, KEY = 160, MONTH = 30 * 24 * 3600 };

typedef struct held_entry {
    char id[32]; /* in that process, for people */
    char key[KEY];
    atomic_uint_fast64_t open; /* how often it is open; the texts are good when it is not 0 */
    tdmi_held bytes;
} held_entry;

/* The whole file. */
typedef struct held_file {
    char magic[8];
    uint64_t size; /* of this struct, so that another layout is not taken for ours */
    uint64_t pid;
    uint64_t start;   /* of the process, in clock ticks since boot */
    char machine[96]; /* boot and pid namespace, within which pids mean something */
    held_entry entries[DEVICES];
} held_file;

static const char MAGIC[8] = {'T', 'D', 'M', 'H', 'E', 'L', 'D', '1'};

/* Under the lock: the list of open devices, and whether there is a file. The bytes are written
 * without it, by those who have a device open. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held_file own; /* where no file can be made */
static held_file *current;
static char current_path[1100]; /* "" without a file */
static unsigned open_count;

static size_t read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    return length;
}

/* From /proc/<pid>/stat: field 3, the state, and field 22, the start. The second, a name in
 * parentheses, may hold anything. 0 when unknown. */
static uint64_t start_time(uint64_t pid, char *state) {
    char path[64], text[1024];
    *state = '\0';
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    if (read_text(path, text, sizeof text) == 0) return 0;
    const char *at = strrchr(text, ')');
    if (at && at[1]) *state = at[2];
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
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

/* --- this process's own file ------------------------------------------------------------------ */

/* The file is written as a whole before it is mapped: a hole would be filled at the first store,
 * and on a full disk that store would end the process. */
static held_file *map_file(const char *path, const held_file *content) {
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    (void)unlink(path); /* of an earlier process with our pid */
    int descriptor = open(path, flags, 0600);
    if (descriptor < 0) return NULL;
    void *map = MAP_FAILED;
    if (write(descriptor, content, sizeof *content) == (ssize_t)sizeof *content)
        map = mmap(NULL, sizeof *content, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (map != MAP_FAILED) return map;
    (void)unlink(path);
    return NULL;
}

static void start_telling(void) {
    char folder[1060], state;
    memset(&own, 0, sizeof own);
    memcpy(own.magic, MAGIC, sizeof MAGIC);
    own.size = sizeof own;
    own.pid = (uint64_t)getpid();
    own.start = start_time(own.pid, &state);
    name_machine(own.machine, sizeof own.machine);
    current = NULL;
    if (tdmi_cache_folder("held", true, folder, sizeof folder)) {
        snprintf(current_path, sizeof current_path, "%s/%llu", folder, (unsigned long long)own.pid);
        current = map_file(current_path, &own);
    }
    if (current) return;
    current_path[0] = '\0';
    current = &own;
}

static void stop_telling(void) {
    if (current_path[0]) {
        (void)unlink(current_path);
        (void)munmap(current, sizeof *current);
    }
    current_path[0] = '\0';
    current = NULL;
}

tdmi_held *tdmi_held_open(const tdmi_listed_device *devices, size_t index) {
    if (index >= DEVICES) return NULL;
    pthread_mutex_lock(&lock);
    if (open_count++ == 0) start_telling();
    held_entry *entry = &current->entries[index];
    /* A device that is still being closed while it is opened anew has the same texts. */
    if (atomic_load(&entry->open) == 0) {
        snprintf(entry->id, sizeof entry->id, "%s", devices[index].facts.info.id);
        make_key(devices, index, entry->key);
    }
    atomic_fetch_add(&entry->open, 1);
    pthread_mutex_unlock(&lock);
    return &entry->bytes;
}

void tdmi_held_close(size_t index) {
    if (index >= DEVICES) return;
    pthread_mutex_lock(&lock);
    atomic_fetch_sub(&current->entries[index].open, 1);
    if (--open_count == 0) stop_telling();
    pthread_mutex_unlock(&lock);
}

/* --- the files of all processes --------------------------------------------------------------- */

typedef struct holder_list {
    tdmi_holder *items;
    size_t count, room;
} holder_list;

static void add_holder(holder_list *list, const held_file *file, const char *key) {
    for (int i = 0; i < DEVICES; i++) {
        const held_entry *entry = &file->entries[i];
        if (atomic_load(&entry->open) == 0 || strncmp(entry->key, key, KEY) != 0) continue;
        if (list->count == list->room) {
            size_t room = list->room ? 2 * list->room : 16;
            tdmi_holder *grown = realloc(list->items, room * sizeof *grown);
            if (!grown) return;
            list->items = grown;
            list->room = room;
        }
        list->items[list->count++] = (tdmi_holder){file->pid, atomic_load(&entry->bytes)};
        return;
    }
}

/* Ours, a plain file, whole, and named after the process it tells of. */
static bool read_file(int folder, const char *name, held_file *file, struct stat *status) {
    unsigned long pid;
    if (!tdmi_parse_index(name, INT32_MAX, &pid) || pid == 0) return false;
    /* Not waiting, in case it is a pipe. */
    int descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    bool good = fstat(descriptor, status) == 0 && S_ISREG(status->st_mode) &&
                status->st_uid == geteuid() && status->st_size == (off_t)sizeof *file &&
                read(descriptor, file, sizeof *file) == (ssize_t)sizeof *file;
    close(descriptor);
    return good && memcmp(file->magic, MAGIC, sizeof MAGIC) == 0 && file->size == sizeof *file &&
           file->pid == pid && memchr(file->machine, '\0', sizeof file->machine);
}

/* A process of ours answers; one of another user has taken over a pid that is free. One that ended
 * and was not waited for answers too, but holds nothing. */
static bool is_alive(const held_file *file) {
    char state;
    if (kill((pid_t)file->pid, 0) != 0) return false;
    uint64_t start = start_time(file->pid, &state);
    if (state == 'Z' || state == 'X') return false;
    return start == 0 || file->start == 0 || start == file->start;
}

/* The file that was read, unless a new process of that pid has put another in its place. */
static void remove_stale(int folder, const char *name, const struct stat *read) {
    struct stat now;
    if (fstatat(folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == read->st_ino &&
        now.st_mtim.tv_sec == read->st_mtim.tv_sec && now.st_mtim.tv_nsec == read->st_mtim.tv_nsec)
        (void)unlinkat(folder, name, 0);
}

static void read_others(holder_list *list, const char *key) {
    char path[1060], machine[sizeof((held_file *)0)->machine];
    if (!tdmi_cache_folder("held", false, path, sizeof path)) return;
    held_file *file = malloc(sizeof *file);
    DIR *folder = file ? opendir(path) : NULL;
    name_machine(machine, sizeof machine);
    for (struct dirent *found; folder && (found = readdir(folder)) != NULL;) {
        struct stat status;
        if (!read_file(dirfd(folder), found->d_name, file, &status)) continue;
        if (file->pid == (uint64_t)getpid()) continue;
        if (strcmp(file->machine, machine) != 0) {
            if (time(NULL) - status.st_mtime > MONTH)
                remove_stale(dirfd(folder), found->d_name, &status);
        } else if (is_alive(file)) {
            add_holder(list, file, key);
        } else {
            remove_stale(dirfd(folder), found->d_name, &status);
        }
    }
    if (folder) closedir(folder);
    free(file);
}

size_t tdmi_held_list(const tdmi_listed_device *devices, size_t index, tdmi_holder **holders) {
    char key[KEY];
    holder_list list = {0};
    make_key(devices, index, key);
    pthread_mutex_lock(&lock);
    if (current) add_holder(&list, current, key);
    pthread_mutex_unlock(&lock);
    read_others(&list, key);
    *holders = list.items;
    return list.count;
}
