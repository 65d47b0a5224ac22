/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Files by handles. */
#include "platform/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "platform/clock.h"
#include "win.h"

enum { PART = 1 << 30 }; /* the system counts bytes of one call in 32 bits */

/* ---- what it is ---- */

static tdmi_file_kind kind_of(HANDLE file, const BY_HANDLE_FILE_INFORMATION *known) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    switch (GetFileType(file)) {
    case FILE_TYPE_CHAR:
        return TDMI_FILE_DEVICE;
    case FILE_TYPE_PIPE:
        return TDMI_FILE_PIPE;
    case FILE_TYPE_DISK:
        break;
    default:
        return TDMI_FILE_OTHER;
    }
    if ((known->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
        GetFileInformationByHandleEx(file, FileAttributeTagInfo, &tag, sizeof tag) &&
        (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT))
        return TDMI_FILE_OTHER;
    return known->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? TDMI_FILE_FOLDER
                                                              : TDMI_FILE_REGULAR;
}

/* Windows counts in 100 ns from 1601 on. */
static int64_t nanoseconds_of(FILETIME time) {
    const uint64_t count = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return (int64_t)((count - UINT64_C(116444736000000000)) * 100);
}

bool tdmi_file_get_info(tdmi_file file, tdmi_file_info *info) {
    const HANDLE handle = (HANDLE)file;
    BY_HANDLE_FILE_INFORMATION known = {0};
    FILE_STANDARD_INFO more;
    *info = (tdmi_file_info){.kind = kind_of(handle, &known), .is_ours = true};
    if (info->kind == TDMI_FILE_DEVICE || info->kind == TDMI_FILE_PIPE) return true;
    if (!GetFileInformationByHandle(handle, &known)) return tdmi_win_fail(GetLastError());
    const uint64_t size = (uint64_t)known.nFileSizeHigh << 32 | known.nFileSizeLow,
                   index = (uint64_t)known.nFileIndexHigh << 32 | known.nFileIndexLow;
    info->kind = kind_of(handle, &known);
    info->is_nameless =
        known.nNumberOfLinks == 0 ||
        (GetFileInformationByHandleEx(handle, FileStandardInfo, &more, sizeof more) &&
         more.DeletePending);
    info->size = size;
    info->identity = (uint64_t)known.dwVolumeSerialNumber * 0x9e3779b97f4a7c15u ^ index;
    info->changed = nanoseconds_of(known.ftLastWriteTime);
    tdmi_win_judge(handle, &info->is_ours, &info->is_shared);
    return true;
}

bool tdmi_file_look_up(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info) {
    const ULONG options = follow ? 0 : FILE_OPEN_REPARSE_POINT;
    const HANDLE file =
        tdmi_win_open(in, name, FILE_READ_ATTRIBUTES | READ_CONTROL, FILE_OPEN, options, false);
    if (file == INVALID_HANDLE_VALUE) return false;
    const bool known = tdmi_file_get_info((tdmi_file)file, info);
    (void)tdmi_win_refuse(file);
    return known;
}

/* ---- opening ---- */

/* A link that is opened itself; a handle that is not its own number, as of a device, is none. */
static bool is_link(HANDLE file) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return GetFileInformationByHandleEx(file, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           tag.ReparseTag == IO_REPARSE_TAG_SYMLINK;
}

tdmi_file tdmi_file_open(tdmi_folder in, const char *name, unsigned how, tdmi_file_info *info) {
    ACCESS_MASK access = FILE_READ_ATTRIBUTES | READ_CONTROL;
    if (!(how & (TDMI_OPEN_WRITE | TDMI_OPEN_APPEND)) || (how & TDMI_OPEN_READ))
        access |= FILE_GENERIC_READ;
    if (how & TDMI_OPEN_WRITE) access |= FILE_GENERIC_WRITE;
    if (how & TDMI_OPEN_APPEND) access |= FILE_APPEND_DATA; /* alone: each write goes to the end */
    const ULONG disposition = how & TDMI_OPEN_NEW    ? FILE_CREATE
                              : how & TDMI_OPEN_MAKE ? FILE_OPEN_IF
                                                     : FILE_OPEN;
    ULONG options = how & TDMI_OPEN_NO_LINK ? FILE_OPEN_REPARSE_POINT : 0;
    if (how & (TDMI_OPEN_WRITE | TDMI_OPEN_APPEND)) options |= FILE_NON_DIRECTORY_FILE;
    const HANDLE file =
        tdmi_win_open(in, name, access, disposition, options, (how & TDMI_OPEN_PRIVATE) != 0);
    if (file == INVALID_HANDLE_VALUE) return TDMI_NO_FILE;
    if ((how & TDMI_OPEN_NO_LINK) && is_link(file)) {
        errno = ELOOP;
        return tdmi_win_refuse(file);
    }
    if (info && !tdmi_file_get_info((tdmi_file)file, info)) return tdmi_win_refuse(file);
    return (tdmi_file)file;
}

bool tdmi_file_close(tdmi_file file) {
    return CloseHandle((HANDLE)file) || tdmi_win_fail(GetLastError());
}

tdmi_file tdmi_file_stderr(void) { return (tdmi_file)GetStdHandle(STD_ERROR_HANDLE); }

/* ---- reading and writing ---- */

static OVERLAPPED place_of(uint64_t offset) {
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

size_t tdmi_file_read(tdmi_file file, uint64_t offset, void *to, size_t size) {
    size_t done = 0;
    while (done < size) {
        OVERLAPPED place = place_of(offset + done);
        DWORD got = 0;
        const DWORD part = size - done < PART ? (DWORD)(size - done) : PART;
        const bool read = ReadFile((HANDLE)file, (char *)to + done, part, &got, &place);
        if (!read) (void)tdmi_win_fail(GetLastError());
        if (read ? got == 0
                 : GetLastError() == ERROR_HANDLE_EOF || GetLastError() == ERROR_BROKEN_PIPE)
            errno = 0;
        if (!read || got == 0) break;
        done += got;
    }
    return done;
}

/* `at` is NULL to write where the last write ended. */
static size_t write_all(tdmi_file file, const uint64_t *at, const void *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        OVERLAPPED place = place_of(at ? *at + done : 0);
        DWORD put = 0;
        const DWORD part = size - done < PART ? (DWORD)(size - done) : PART;
        errno = ENOSPC; /* nothing was taken, and no reason given */
        if (!WriteFile((HANDLE)file, (const char *)bytes + done, part, &put, at ? &place : NULL))
            (void)tdmi_win_fail(GetLastError());
        if (put == 0) break;
        done += put;
    }
    return done;
}

size_t tdmi_file_write(tdmi_file file, const void *bytes, size_t size) {
    return write_all(file, NULL, bytes, size);
}

size_t tdmi_file_write_at(tdmi_file file, uint64_t offset, const void *bytes, size_t size) {
    return write_all(file, &offset, bytes, size);
}

uint64_t tdmi_file_limit(void) { return UINT64_MAX; }

bool tdmi_file_empty(tdmi_file file) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = 0};
    return SetFileInformationByHandle((HANDLE)file, FileEndOfFileInfo, &end, sizeof end) ||
           tdmi_win_fail(GetLastError());
}

/* It has none. */
bool tdmi_file_set_mode(tdmi_file file, unsigned mode) {
    (void)file, (void)mode;
    return true;
}

/* A byte where no file is, as others may not read what is locked. */
bool tdmi_file_lock(tdmi_file file) {
    OVERLAPPED place = place_of(UINT64_C(1) << 62);
    if (LockFileEx((HANDLE)file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                   &place))
        return true;
    const DWORD error = GetLastError();
    return tdmi_win_fail(error == ERROR_IO_PENDING ? ERROR_LOCK_VIOLATION : error);
}

/* ---- names ---- */

/* From the headers of Windows 10's kernel. The first way takes a name away from a file that is open elsewhere, as other
 * systems do; file systems that do not know it have the second. */
enum { RENAME = 10, REMOVE = 13, REMOVE_AT_ONCE = 64, RENAME_AT_ONCE = 65 };
static const NTSTATUS CANNOT_DELETE = (NTSTATUS)0xC0000121;
enum { REPLACE = 1, AT_ONCE = 2, READ_ONLY_TOO = 0x40, REMOVES = 1, REMOVES_READ_ONLY = 0x10 };

typedef struct new_name {
    ULONG flags; /* of the second way a BOOLEAN, which is REPLACE */
    HANDLE folder;
    ULONG bytes;
    WCHAR text[];
} new_name;

NTSTATUS NTAPI NtSetInformationFile(HANDLE file, IO_STATUS_BLOCK *result, void *information,
                                    ULONG size, FILE_INFORMATION_CLASS kind);

static bool set(HANDLE file, int kind, void *information, size_t size, NTSTATUS *status) {
    IO_STATUS_BLOCK result;
    *status =
        NtSetInformationFile(file, &result, information, (ULONG)size, (FILE_INFORMATION_CLASS)kind);
    return *status >= 0;
}

/* `to` is as the kernel has it. The flags of the first way begin with those of the second. */
static bool give_name(HANDLE file, int kind, ULONG flags, HANDLE folder, const wchar_t *to,
                      NTSTATUS *status) {
    const size_t bytes = wcslen(to) * sizeof *to, size = sizeof(new_name) + bytes + sizeof *to;
    new_name *name = calloc(1, size);
    *status = (NTSTATUS)STATUS_NO_MEMORY;
    if (!name) return false;
    *name = (new_name){flags, folder, (ULONG)bytes};
    memcpy(name->text, to, bytes);
    const bool done = set(file, kind, name, size, status);
    free(name);
    return done;
}

/* Where a name cannot be taken away from an open file, the file gets another one, next to it, until it is closed. */
static void set_aside(HANDLE file) {
    enum { LONGEST = 32768 };
    static _Atomic unsigned count;
    NTSTATUS status;
    wchar_t *path = malloc((LONGEST + 64) * sizeof *path);
    const DWORD length = path ? GetFinalPathNameByHandleW(file, path, LONGEST, 0) : 0;
    if (length > 0 && length < LONGEST) {
        wchar_t *name = wcsrchr(path, L'\\') + 1;
        path[1] = L'?'; /* as the kernel has it */
        swprintf(name, 64, L".tandem-%lx-%x-%llx", GetCurrentProcessId(), count++,
                 (unsigned long long)tdmi_nanoseconds());
        (void)give_name(file, RENAME, 0, NULL, path, &status);
    }
    free(path);
}

bool tdmi_win_remove(HANDLE handle) {
    NTSTATUS status;
    ULONG flags = REMOVES | AT_ONCE | REMOVES_READ_ONLY;
    BOOLEAN yes = TRUE, no = FALSE;
    if (set(handle, REMOVE_AT_ONCE, &flags, sizeof flags, &status)) return true;
    /* a file that is to be removed gets no other name: first it is seen whether it may be */
    bool done = set(handle, REMOVE, &yes, sizeof yes, &status);
    if (done && set(handle, REMOVE, &no, sizeof no, &status)) {
        set_aside(handle);
        done = set(handle, REMOVE, &yes, sizeof yes, &status);
    }
    if (!done) (void)tdmi_win_fail(RtlNtStatusToDosError(status));
    if (!done && status == CANNOT_DELETE) errno = EPERM; /* a loaded library, not what waits */
    return done;
}

static bool remove_now(tdmi_folder in, const char *name) {
    const HANDLE file = tdmi_win_open(in, name, DELETE, FILE_OPEN,
                                      FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, false);
    if (file == INVALID_HANDLE_VALUE) return false;
    const bool done = tdmi_win_remove(file);
    (void)tdmi_win_refuse(file);
    return done;
}

/* A scanner or an indexer holds a new file for a moment, in which it is neither renamed nor removed: errno is EACCES,
 * as for what is being removed, or forbidden. Pauses of 1, 2, 4 ... ms, which are 1 s together. */
enum { FIRST_PAUSE = 1000000, LAST_PAUSE = 512000000 };

static bool rests(uint64_t *pause) {
    if (errno != EACCES || *pause > LAST_PAUSE) return false;
    tdmi_sleep(*pause);
    errno = EACCES;
    *pause *= 2;
    return true;
}

/* First the way that replaces a file which is open elsewhere. */
static bool rename_to(HANDLE file, tdmi_folder in, const char *to) {
    const HANDLE folder = in == TDMI_HERE ? NULL : (HANDLE)in;
    NTSTATUS status = 0;
    wchar_t *wide = in == TDMI_HERE ? tdmi_win_full_path(to) : tdmi_win_wide(to);
    if (!wide) return false;
    if (in == TDMI_HERE) wide[1] = L'?'; /* as the kernel has it */
    bool done =
        give_name(file, RENAME_AT_ONCE, REPLACE | AT_ONCE | READ_ONLY_TOO, folder, wide, &status) ||
        give_name(file, RENAME, REPLACE, folder, wide, &status);
    if (!done && RtlNtStatusToDosError(status) == ERROR_ACCESS_DENIED && remove_now(in, to))
        done = give_name(file, RENAME, REPLACE, folder, wide, &status);
    free(wide);
    return done || tdmi_win_fail(RtlNtStatusToDosError(status));
}

static bool rename_now(tdmi_folder in, const char *from, const char *to) {
    const HANDLE file = tdmi_win_open(in, from, DELETE | FILE_READ_ATTRIBUTES, FILE_OPEN,
                                      FILE_OPEN_REPARSE_POINT, false);
    if (file == INVALID_HANDLE_VALUE) return false;
    const bool done = rename_to(file, in, to);
    (void)tdmi_win_refuse(file);
    return done;
}

bool tdmi_file_rename(tdmi_folder in, const char *from, const char *to) {
    uint64_t pause = FIRST_PAUSE;
    while (!rename_now(in, from, to))
        if (!rests(&pause)) return false;
    return true;
}

/* The folder needs no bringing to the disk: NTFS logs names. */
bool tdmi_file_publish(tdmi_file file, const char *from, const char *to, const char **what) {
    const HANDLE own = GetCurrentProcess();
    HANDLE locked = INVALID_HANDLE_VALUE;
    *what = "could not be brought to the disk";
    bool done = FlushFileBuffers((HANDLE)file) || tdmi_win_fail(GetLastError());
    if (done) {
        *what = "could not be held";
        done = DuplicateHandle(own, (HANDLE)file, own, &locked, 0, FALSE, DUPLICATE_SAME_ACCESS) ||
               tdmi_win_fail(GetLastError());
    }
    if (!done) return tdmi_win_refuse((HANDLE)file) != TDMI_NO_FILE;
    *what = "could not be closed";
    done = tdmi_file_close(file);
    if (done) {
        *what = "could not be replaced";
        done = tdmi_file_rename(TDMI_HERE, from, to);
    }
    (void)tdmi_win_refuse(locked);
    return done;
}

bool tdmi_file_remove(tdmi_folder in, const char *name) {
    uint64_t pause = FIRST_PAUSE;
    while (!remove_now(in, name))
        if (!rests(&pause)) return false;
    return true;
}
