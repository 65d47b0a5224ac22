/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all. */
#include "new_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/memory.h"
#include "platform/clock.h"
#include "platform/folder.h"
#include "platform/path.h"
#include "platform/process.h"

enum { ATTEMPTS = 100 };

static tdm_status failed(const char *path, const char *what, int error) {
    return tdmi_fail(TDM_ERROR_IO, "%s: %s: %s", path, what, strerror(error));
}

static tdm_status out_of_memory(void) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
}

/* Where the file goes, and the mode of the one that is there (else 0). */
static tdm_status find_place(const char *path, char **place, unsigned *mode) {
    tdmi_file_info info;
    *mode = 0;
    *place = NULL;
    if (tdmi_path_folder_length(path) == strlen(path))
        return tdmi_fail(TDM_ERROR_IO, "'%s': is not the name of a file", path);
    if (tdmi_file_look_up(TDMI_HERE, path, true, &info)) {
        if (info.kind != TDMI_FILE_REGULAR)
            return tdmi_fail(TDM_ERROR_IO, "%s: is not a regular file", path);
        *mode = info.mode;
        /* The file that a link means is replaced, not the link. */
        char *resolved = tdmi_path_resolve(path);
        if (!resolved) return failed(path, "cannot be resolved", errno);
        *place = tdmi_strdup(resolved);
        free(resolved);
        return *place ? TDM_OK : out_of_memory();
    }
    if (errno != ENOENT) return failed(path, "cannot be written", errno);
    if (tdmi_file_look_up(TDMI_HERE, path, false, &info))
        return tdmi_fail(TDM_ERROR_IO, "%s: is a symbolic link to nothing", path);
    *place = tdmi_strdup(path);
    return *place ? TDM_OK : out_of_memory();
}

/* ---- files of processes that have ended ----
 *
 * A file is locked for as long as it is written: one without a lock is what a process left that was killed. The system
 * takes the lock away with the process, whatever its number. Where the file system has no locks none is found, and
 * nothing is removed. Locks may be seen on their machine alone, so one of another machine, which the name says, is
 * removed an hour after it was last written. */

enum { LEFT_BY_OTHERS = 3600 };

static unsigned long this_machine(void) {
    char space[256];
    tdmi_process_space(space, sizeof space);
    return (unsigned long)(uint32_t)tdmi_hash(0, space, strlen(space));
}

static bool is_aside(const char *name, unsigned long *machine) {
    unsigned long pid, time;
    unsigned count;
    int length = 0;
    return sscanf(name, ".tandem-%lx-%lx-%lx-%x.tmp%n", machine, &pid, &time, &count, &length) ==
               4 &&
           length > 0 && name[length] == '\0';
}

static void remove_if_left(void *context, const char *name) {
    const tdmi_folder folder = *(const tdmi_folder *)context;
    tdmi_file_info info;
    unsigned long machine;
    if (!is_aside(name, &machine)) return;
    /* a read-only model's opens for reading alone; network file systems lock only what is open for writing */
    tdmi_file file = tdmi_file_open(folder, name, TDMI_OPEN_WRITE | TDMI_OPEN_NO_LINK, &info);
    if (file == TDMI_NO_FILE)
        file = tdmi_file_open(folder, name, TDMI_OPEN_READ | TDMI_OPEN_NO_LINK, &info);
    if (file == TDMI_NO_FILE) return;
    const bool is_old = info.changed / 1000000000 + LEFT_BY_OTHERS < time(NULL);
    if (info.kind == TDMI_FILE_REGULAR && info.is_ours && (is_old || machine == this_machine()) &&
        tdmi_file_lock(file))
        (void)tdmi_file_remove(folder, name);
    (void)tdmi_file_close(file);
}

void tdmi_new_file_remove_left(const char *path) {
    char *resolved = tdmi_path_resolve(path);
    const char *at = resolved ? resolved : path;
    const size_t length = tdmi_path_folder_length(at);
    char *name = length ? tdmi_strndup(at, length) : tdmi_strdup(".");
    tdmi_folder folder = name ? tdmi_folder_open(TDMI_HERE, name, true, NULL) : TDMI_NO_FOLDER;
    if (folder != TDMI_NO_FOLDER) {
        (void)tdmi_folder_list(folder, remove_if_left, &folder);
        tdmi_folder_close(folder);
    }
    tdmi_free(name);
    free(resolved);
}

/* Locks what was just made. False when another process took it for one that was left, in between, and removes it. */
static bool hold(tdmi_new_file *file) {
    tdmi_file_info info;
    if (!tdmi_file_lock(file->file) && errno == EWOULDBLOCK) return false;
    return tdmi_file_get_info(file->file, &info) && !info.is_nameless;
}

/* Not mkstemp, whose mode is 0600: to learn the umask one must set it, for all threads. The name is
 * short even where the file's is long, for names have a limit. */
static tdm_status create_aside(tdmi_new_file *file) {
    static atomic_uint counter;
    size_t folder = tdmi_path_folder_length(file->path), room = folder + 64;
    file->aside = tdmi_malloc(room);
    if (!file->aside) return out_of_memory();
    for (int i = 0; i < ATTEMPTS; i++) {
        snprintf(file->aside, room, "%.*s.tandem-%lx-%lx-%lx-%x.tmp", (int)folder, file->path,
                 this_machine(), (unsigned long)tdmi_process_id(),
                 (unsigned long)(tdmi_nanoseconds() % 1000000000), atomic_fetch_add(&counter, 1));
        file->file = tdmi_file_open(TDMI_HERE, file->aside, TDMI_OPEN_WRITE | TDMI_OPEN_NEW, NULL);
        if (file->file != TDMI_NO_FILE) {
            if (hold(file)) return TDM_OK;
            (void)tdmi_file_close(file->file);
            file->file = TDMI_NO_FILE;
            errno = EEXIST;
        }
        if (errno != EEXIST && errno != EINTR) break;
    }
    return failed(file->path, "no file can be made next to it", errno);
}

static void forget(tdmi_new_file *file) {
    tdmi_free(file->path);
    tdmi_free(file->aside);
    *file = (tdmi_new_file){.file = TDMI_NO_FILE};
}

tdm_status tdmi_new_file_begin(const char *path, tdmi_new_file *file) {
    *file = (tdmi_new_file){.file = TDMI_NO_FILE};
    unsigned mode;
    tdm_status status = find_place(path, &file->path, &mode);
    if (status == TDM_OK) {
        tdmi_new_file_remove_left(file->path);
        status = create_aside(file);
    }
    if (status != TDM_OK) {
        forget(file);
        return status;
    }
    if (mode && !tdmi_file_set_mode(file->file, mode))
        return tdmi_new_file_end(file, failed(path, "the mode cannot be kept", errno));
    return TDM_OK;
}

tdm_status tdmi_new_file_write(tdmi_new_file *file, const void *bytes, size_t size) {
    const uint64_t limit = tdmi_file_limit(), left = limit > file->size ? limit - file->size : 0;
    const size_t part = size < left ? size : (size_t)left;
    const size_t written = tdmi_file_write(file->file, bytes, part);
    file->size += written;
    if (written == size) return TDM_OK;
    return tdmi_fail(TDM_ERROR_IO, "%s: byte %llu could not be written: %s", file->path,
                     (unsigned long long)file->size, strerror(written == part ? EFBIG : errno));
}

tdm_status tdmi_new_file_end(tdmi_new_file *file, tdm_status status) {
    const char *what;
    if (status != TDM_OK)
        (void)tdmi_file_close(file->file);
    else if (!tdmi_file_publish(file->file, file->aside, file->path, &what))
        status = failed(file->path, what, errno);
    if (status != TDM_OK) (void)tdmi_file_remove(TDMI_HERE, file->aside);
    forget(file);
    return status;
}
