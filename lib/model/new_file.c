/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A file that appears whole or not at all. */
#define _GNU_SOURCE
#include "new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"

enum {
    ATTEMPTS = 100,
    WRITE_LIMIT = 1 << 30 /* Linux writes no more than 2 GiB in one call */
};

static tdm_status failed(const char *path, const char *what, int error) {
    return tdmi_fail(TDM_ERROR_IO, "%s: %s: %s", path, what, strerror(error));
}

static tdm_status out_of_memory(void) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
}

/* Where the file goes, and the mode of the one that is there (else 0). */
static tdm_status find_place(const char *path, char **place, mode_t *mode) {
    struct stat status;
    size_t length = strlen(path);
    *mode = 0;
    *place = NULL;
    if (length == 0 || path[length - 1] == '/')
        return tdmi_fail(TDM_ERROR_IO, "'%s': is not the name of a file", path);
    if (stat(path, &status) == 0) {
        if (!S_ISREG(status.st_mode))
            return tdmi_fail(TDM_ERROR_IO, "%s: is not a regular file", path);
        *mode = status.st_mode & 0777;
        /* The file that a link means is replaced, not the link. */
        char *resolved = realpath(path, NULL);
        if (!resolved) return failed(path, "cannot be resolved", errno);
        *place = tdmi_strdup(resolved);
        free(resolved);
        return *place ? TDM_OK : out_of_memory();
    }
    if (errno != ENOENT) return failed(path, "cannot be written", errno);
    if (lstat(path, &status) == 0)
        return tdmi_fail(TDM_ERROR_IO, "%s: is a symbolic link to nothing", path);
    *place = tdmi_strdup(path);
    return *place ? TDM_OK : out_of_memory();
}

/* Length of the folder's part of a path, with the slash; 0: the current folder. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* ---- files of processes that have ended ----
 *
 * A file is locked for as long as it is written: one without a lock is what a process left that was killed. The system
 * takes the lock away with the process, whatever its number and machine. Where the file system has no locks none is
 * found, and nothing is removed. */

static bool lock_file(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

static bool is_aside(const char *name) {
    unsigned long pid, time;
    unsigned count;
    int length = 0;
    return sscanf(name, ".tandem-%lx-%lx-%x.tmp%n", &pid, &time, &count, &length) == 3 &&
           length > 0 && name[length] == '\0';
}

static void remove_if_left(int folder, const char *name) {
    struct stat status;
    const int file = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        lock_file(file))
        (void)unlinkat(folder, name, 0);
    close(file);
}

void tdmi_new_file_remove_left(const char *path) {
    char *resolved = realpath(path, NULL);
    const char *at = resolved ? resolved : path;
    const size_t length = folder_length(at);
    char *name = length ? tdmi_strndup(at, length) : tdmi_strdup(".");
    DIR *names = name ? opendir(name) : NULL;
    for (struct dirent *found; names && (found = readdir(names));)
        if (is_aside(found->d_name)) remove_if_left(dirfd(names), found->d_name);
    if (names) closedir(names);
    tdmi_free(name);
    free(resolved);
}

/* Locks what was just made. False when another process took it for one that was left, in between, and removes it. */
static bool hold(tdmi_new_file *file) {
    struct stat status;
    if (!lock_file(file->descriptor) && errno == EWOULDBLOCK) return false;
    return fstat(file->descriptor, &status) == 0 && status.st_nlink > 0;
}

/* Not mkstemp, whose mode is 0600: to learn the umask one must set it, for all threads. The name is
 * short even where the file's is long, for names have a limit. */
static tdm_status create_aside(tdmi_new_file *file) {
    static atomic_uint counter;
    size_t folder = folder_length(file->path), room = folder + 64;
    file->aside = tdmi_malloc(room);
    if (!file->aside) return out_of_memory();
    for (int i = 0; i < ATTEMPTS; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(file->aside, room, "%.*s.tandem-%lx-%lx-%x.tmp", (int)folder, file->path,
                 (unsigned long)getpid(), (unsigned long)now.tv_nsec,
                 atomic_fetch_add(&counter, 1));
        file->descriptor = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0) {
            if (hold(file)) return TDM_OK;
            close(file->descriptor);
            file->descriptor = -1;
            errno = EEXIST;
        }
        if (errno != EEXIST && errno != EINTR) break;
    }
    return failed(file->path, "no file can be made next to it", errno);
}

static void forget(tdmi_new_file *file) {
    tdmi_free(file->path);
    tdmi_free(file->aside);
    *file = (tdmi_new_file){.descriptor = -1};
}

tdm_status tdmi_new_file_begin(const char *path, tdmi_new_file *file) {
    *file = (tdmi_new_file){.descriptor = -1};
    mode_t mode;
    tdm_status status = find_place(path, &file->path, &mode);
    if (status == TDM_OK) {
        tdmi_new_file_remove_left(file->path);
        status = create_aside(file);
    }
    if (status != TDM_OK) {
        forget(file);
        return status;
    }
    if (mode && fchmod(file->descriptor, mode) != 0)
        return tdmi_new_file_end(file, failed(path, "the mode cannot be kept", errno));
    return TDM_OK;
}

tdm_status tdmi_new_file_write(tdmi_new_file *file, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        const uint64_t limit = tdmi_file_limit(),
                       left = limit > file->size ? limit - file->size : 0;
        const size_t part = size < WRITE_LIMIT ? size : (size_t)WRITE_LIMIT;
        errno = EFBIG;
        const ssize_t written =
            left > 0 ? write(file->descriptor, at, part < left ? part : (size_t)left) : -1;
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            return tdmi_fail(TDM_ERROR_IO, "%s: byte %llu could not be written: %s", file->path,
                             (unsigned long long)file->size,
                             written < 0 ? strerror(errno) : "nothing was taken");
        at += written;
        size -= (size_t)written;
        file->size += (uint64_t)written;
    }
    return TDM_OK;
}

/* So that the new name is on the disk too. The file is in its place even if this fails, and
 * some file systems cannot do it: no failure. */
static void sync_folder(const char *path) {
    size_t folder = folder_length(path);
    char *name = folder ? tdmi_strndup(path, folder) : tdmi_strdup(".");
    if (!name) return;
    int descriptor = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
    tdmi_free(name);
}

tdm_status tdmi_new_file_end(tdmi_new_file *file, tdm_status status) {
    if (status == TDM_OK && fsync(file->descriptor) != 0)
        status = failed(file->path, "could not be brought to the disk", errno);
    /* The lock stays until the file is in its place. */
    const int locked = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    if (locked < 0 && status == TDM_OK) status = failed(file->path, "could not be held", errno);
    /* Network file systems tell here that they are full. */
    if (close(file->descriptor) != 0 && status == TDM_OK)
        status = failed(file->path, "could not be closed", errno);
    if (status == TDM_OK && rename(file->aside, file->path) != 0)
        status = failed(file->path, "could not be replaced", errno);
    if (status == TDM_OK)
        sync_folder(file->path);
    else
        unlink(file->aside);
    if (locked >= 0) close(locked);
    forget(file);
    return status;
}
