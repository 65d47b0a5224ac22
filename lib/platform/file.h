/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files: opened, asked, read, written, replaced and removed. */
#ifndef TDMI_PLATFORM_FILE_H
#define TDMI_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open file: a descriptor, or a handle. */
typedef intptr_t tdmi_file;
/* An open folder (folder.h). Where one is an argument, the name is relative to it, and TDMI_HERE is the working
 * directory: then the name is a path. Only under TDMI_HERE does a name have folders. */
typedef intptr_t tdmi_folder;
enum { TDMI_NO_FILE = -1, TDMI_NO_FOLDER = -1, TDMI_HERE = -2 };

typedef enum tdmi_file_kind {
    TDMI_FILE_REGULAR,
    TDMI_FILE_FOLDER,
    TDMI_FILE_DEVICE, /* read and written as a stream: a terminal, the null device */
    TDMI_FILE_PIPE,   /* with a name: opening one may wait, reading it as well */
    TDMI_FILE_OTHER   /* a symbolic link among them */
} tdmi_file_kind;

typedef struct tdmi_file_info {
    tdmi_file_kind kind;
    bool is_ours;      /* belongs to the user whose rights this process has */
    bool is_shared;    /* others than its owner may write to it (on Windows: than administrators) */
    bool is_nameless;  /* was removed, and is there only because it is open */
    uint64_t size;     /* in bytes, of a regular file */
    uint64_t identity; /* the file's number, under all its names; no other has it at that time */
    int64_t changed;   /* when its content changed, in nanoseconds since 1970 */
    uint64_t owner;    /* the user's number, for people; 0 where users have none */
    unsigned mode;     /* the permission bits, for people and tdmi_file_set_mode; 0: has none */
} tdmi_file_info;

/* How a file is opened. One of READ, WRITE or APPEND, or the first two. Whatever is opened is neither waited for nor
 * becomes the process's terminal. */
enum {
    TDMI_OPEN_READ = 1,
    TDMI_OPEN_WRITE = 2,
    TDMI_OPEN_APPEND = 4,   /* each write is one piece at the end, also among those of others */
    TDMI_OPEN_MAKE = 8,     /* is made where there is none, as the umask wants it */
    TDMI_OPEN_NEW = 16,     /* is made; where there is one already, or a link, EEXIST */
    TDMI_OPEN_PRIVATE = 32, /* a file made is for this user alone: mode 0600 */
    TDMI_OPEN_NO_LINK = 64  /* the last name of the path is no symbolic link: else an error */
};

/* TDMI_NO_FILE with errno. A file for writing never has the number of a standard stream, which the program may have
 * closed. Folders can be opened for reading on some systems: `info`, which may be NULL, says what it
 * is. */
tdmi_file tdmi_file_open(tdmi_folder in, const char *name, unsigned how, tdmi_file_info *info);

/* False with errno, when a file system reports only here that it is full. The file is closed in any case. */
bool tdmi_file_close(tdmi_file file);

/* The process's standard error. Not for closing. */
tdmi_file tdmi_file_stderr(void);

/* The kind of an open file, and of a name: that of a link's target where links are followed. */
bool tdmi_file_get_info(tdmi_file file, tdmi_file_info *info);
bool tdmi_file_look_up(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info);

/* How many bytes were read from `offset` on, of whatever size. Fewer than wanted: errno is 0 where the file ends there,
 * else the reason. */
size_t tdmi_file_read(tdmi_file file, uint64_t offset, void *to, size_t size);

/* How many bytes were written, where the last write ended or at the offset, of whatever size. Fewer: errno. Past
 * tdmi_file_limit() a write may end the process, so that callers look first. */
size_t tdmi_file_write(tdmi_file file, const void *bytes, size_t size);
size_t tdmi_file_write_at(tdmi_file file, uint64_t offset, const void *bytes, size_t size);

/* How large a file may become for this process; UINT64_MAX where there is no such limit. */
uint64_t tdmi_file_limit(void);

/* A regular file has no bytes any more. */
bool tdmi_file_empty(tdmi_file file);

/* The permission bits that another file's info had. */
bool tdmi_file_set_mode(tdmi_file file, unsigned mode);

/* Locks a file for this process until it is closed, by whatever means the process ends. Never waits: EWOULDBLOCK when
 * another holds it, another errno where there are no locks. Others can read it all the same. */
bool tdmi_file_lock(tdmi_file file);

/* Brings a file that was written to the disk, closes it, and gives it the name `to` in place of `from`, both in one
 * folder: a reader of `to` has the old file or the whole new one. Its lock is held until then. False with errno, and
 * *what is what failed ("could not be closed", say), for a message; the file is closed and still called `from`. */
bool tdmi_file_publish(tdmi_file file, const char *from, const char *to, const char **what);

/* Gives a file another name, in place of the one that has it, at once. */
bool tdmi_file_rename(tdmi_folder in, const char *from, const char *to);

/* Removes a name that is no folder's. A library that is loaded may not be removable (Windows): false with errno. */
bool tdmi_file_remove(tdmi_folder in, const char *name);

#endif
