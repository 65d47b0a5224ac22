/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files by descriptors. */
#define _GNU_SOURCE
#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/path.h"
#include "posix.h"

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

enum { PART = 1 << 30 }; /* Linux moves no more than 2 GiB in one call, macOS less */

/* ---- what it is ---- */

static tdmi_file_kind kind_of(mode_t mode) {
    return S_ISREG(mode)    ? TDMI_FILE_REGULAR
           : S_ISDIR(mode)  ? TDMI_FILE_FOLDER
           : S_ISCHR(mode)  ? TDMI_FILE_DEVICE
           : S_ISFIFO(mode) ? TDMI_FILE_PIPE
                            : TDMI_FILE_OTHER;
}

static bool fill(bool known, const struct stat *status, tdmi_file_info *info) {
    if (!known) return false;
    /* Unsigned, as a file system may have any time. */
    const uint64_t changed =
        (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
    *info = (tdmi_file_info){.kind = kind_of(status->st_mode),
                             .is_ours = status->st_uid == geteuid(),
                             .is_shared = (status->st_mode & (S_IWGRP | S_IWOTH)) != 0,
                             .is_nameless = status->st_nlink == 0,
                             .size = (uint64_t)status->st_size,
                             .identity = (uint64_t)status->st_dev * 0x9e3779b97f4a7c15u ^
                                         (uint64_t)status->st_ino,
                             .changed = (int64_t)changed,
                             .owner = status->st_uid,
                             .mode = status->st_mode & 0777};
    return true;
}

bool tdmi_file_get_info(tdmi_file file, tdmi_file_info *info) {
    struct stat status;
    return fill(fstat((int)file, &status) == 0, &status, info);
}

bool tdmi_file_look_up(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info) {
    struct stat status;
    const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
    return fill(fstatat(tdmi_posix_place(in), name, &status, flags) == 0, &status, info);
}

/* ---- opening ---- */

int tdmi_posix_refuse(int descriptor) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    errno = error;
    return -1;
}

tdmi_file tdmi_file_open(tdmi_folder in, const char *name, unsigned how, tdmi_file_info *info) {
    const unsigned writes = TDMI_OPEN_WRITE | TDMI_OPEN_APPEND;
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    flags |= !(how & writes) ? O_RDONLY : how & TDMI_OPEN_READ ? O_RDWR : O_WRONLY;
    if (how & TDMI_OPEN_APPEND) flags |= O_APPEND;
    if (how & (TDMI_OPEN_MAKE | TDMI_OPEN_NEW)) flags |= O_CREAT;
    if (how & TDMI_OPEN_NEW) flags |= O_EXCL;
    if (how & TDMI_OPEN_NO_LINK) flags |= O_NOFOLLOW;
    int descriptor =
        openat(tdmi_posix_place(in), name, flags, how & TDMI_OPEN_PRIVATE ? 0600 : 0666);
    /* The number of a standard stream that the program closed: what is printed there would get into the file. */
    if ((how & writes) && descriptor >= 0 && descriptor <= STDERR_FILENO) {
        const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)tdmi_posix_refuse(descriptor);
        descriptor = moved;
    }
    if (descriptor < 0 || (info && !tdmi_file_get_info(descriptor, info)))
        return tdmi_posix_refuse(descriptor);
    return descriptor;
}

bool tdmi_file_close(tdmi_file file) { return close((int)file) == 0; }

tdmi_file tdmi_file_stderr(void) { return STDERR_FILENO; }

/* ---- reading and writing ---- */

size_t tdmi_file_read(tdmi_file file, uint64_t offset, void *to, size_t size) {
    size_t done = 0;
    while (done < size) {
        const size_t part = size - done < PART ? size - done : PART;
        const ssize_t got = pread((int)file, (char *)to + done, part, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

/* `at` is NULL to write where the last write ended. */
static size_t write_all(int descriptor, const uint64_t *at, const void *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const char *from = (const char *)bytes + done;
        const size_t part = size - done < PART ? size - done : PART;
        errno = ENOSPC; /* nothing was taken, and no reason given */
        const ssize_t put = at ? pwrite(descriptor, from, part, (off_t)(*at + done))
                               : write(descriptor, from, part);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;
        done += (size_t)put;
    }
    return done;
}

size_t tdmi_file_write(tdmi_file file, const void *bytes, size_t size) {
    return write_all((int)file, NULL, bytes, size);
}

size_t tdmi_file_write_at(tdmi_file file, uint64_t offset, const void *bytes, size_t size) {
    return write_all((int)file, &offset, bytes, size);
}

uint64_t tdmi_file_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}

bool tdmi_file_empty(tdmi_file file) { return ftruncate((int)file, 0) == 0; }

bool tdmi_file_set_mode(tdmi_file file, unsigned mode) {
    return fchmod((int)file, (mode_t)mode) == 0;
}

bool tdmi_file_lock(tdmi_file file) { return flock((int)file, LOCK_EX | LOCK_NB) == 0; }

/* ---- names ---- */

/* So that the new name is on the disk too. The file is in its place even if this fails, and
 * some file systems cannot do it: no failure. */
static void sync_folder(const char *path) {
    const size_t length = tdmi_path_folder_length(path);
    char *name = length ? strndup(path, length) : strdup(".");
    const int descriptor = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(name);
    if (descriptor < 0) return;
    (void)!fsync(descriptor);
    close(descriptor);
}

bool tdmi_file_publish(tdmi_file file, const char *from, const char *to, const char **what) {
    *what = "could not be brought to the disk";
    if (fsync((int)file) != 0) return tdmi_posix_refuse((int)file) >= 0;
    *what = "could not be held";
    const int locked = fcntl((int)file, F_DUPFD_CLOEXEC, 0);
    if (locked < 0) return tdmi_posix_refuse((int)file) >= 0;
    /* Network file systems tell here that they are full. */
    *what = "could not be closed";
    bool done = close((int)file) == 0;
    if (done) {
        *what = "could not be replaced";
        done = rename(from, to) == 0;
    }
    if (done) sync_folder(to);
    (void)tdmi_posix_refuse(locked);
    return done;
}

bool tdmi_file_rename(tdmi_folder in, const char *from, const char *to) {
    return renameat(tdmi_posix_place(in), from, tdmi_posix_place(in), to) == 0;
}

bool tdmi_file_remove(tdmi_folder in, const char *name) {
    return unlinkat(tdmi_posix_place(in), name, 0) == 0;
}
