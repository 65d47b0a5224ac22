/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Folders by handles. */
#include "platform/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/path.h"
#include "win.h"

/* SystemFunction036, by its name in Windows' header. */
BOOLEAN NTAPI SystemFunction036(void *bytes, ULONG size);

tdmi_folder tdmi_folder_open(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info) {
    const ULONG options = FILE_DIRECTORY_FILE | (follow ? 0 : FILE_OPEN_REPARSE_POINT);
    tdmi_file_info found;
    const HANDLE folder = tdmi_win_open(
        in, name, FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES | READ_CONTROL,
        FILE_OPEN, options, false);
    if (folder == INVALID_HANDLE_VALUE) return TDMI_NO_FOLDER;
    if (!tdmi_file_get_info((tdmi_file)folder, &found)) return tdmi_win_refuse(folder);
    if (found.kind != TDMI_FILE_FOLDER) {
        errno = ELOOP;
        return tdmi_win_refuse(folder);
    }
    if (info) *info = found;
    return (tdmi_folder)folder;
}

void tdmi_folder_close(tdmi_folder folder) { CloseHandle((HANDLE)folder); }

bool tdmi_folder_make(tdmi_folder in, const char *name) {
    const HANDLE folder =
        tdmi_win_open(in, name, FILE_READ_ATTRIBUTES, FILE_CREATE, FILE_DIRECTORY_FILE, true);
    if (folder == INVALID_HANDLE_VALUE) return false;
    CloseHandle(folder);
    return true;
}

/* The entries in a buffer of the system's layout. */
static bool visit_all(const char *entries, void (*visit)(void *context, const char *name),
                      void *context) {
    for (size_t at = 0;;) {
        const FILE_FULL_DIR_INFO *entry = (const void *)(entries + at);
        const size_t length = entry->FileNameLength / sizeof(wchar_t);
        wchar_t *wide = malloc((length + 1) * sizeof *wide);
        char *name = NULL;
        if (wide) {
            memcpy(wide, entry->FileName, length * sizeof *wide);
            wide[length] = L'\0';
            name = tdmi_win_narrow(wide);
        }
        free(wide);
        if (!name) return false;
        visit(context, name);
        free(name);
        if (entry->NextEntryOffset == 0) return true;
        at += entry->NextEntryOffset;
    }
}

bool tdmi_folder_list(tdmi_folder folder, void (*visit)(void *context, const char *name),
                      void *context) {
    enum { BYTES = 16384 };
    char *entries = malloc(BYTES);
    FILE_INFO_BY_HANDLE_CLASS kind = FileFullDirectoryRestartInfo;
    bool done = entries;
    if (!entries) errno = ENOMEM;
    while (done && GetFileInformationByHandleEx((HANDLE)folder, kind, entries, BYTES)) {
        done = visit_all(entries, visit, context);
        kind = FileFullDirectoryInfo;
    }
    const DWORD error = GetLastError();
    free(entries);
    return done &&
           (error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND || tdmi_win_fail(error));
}

bool tdmi_folder_make_temporary(const char *parent, char *path, size_t size) {
    wchar_t wide[MAX_PATH + 1];
    char usual[3 * MAX_PATH] = "";
    if (!parent) {
        if (GetTempPathW(MAX_PATH + 1, wide) == 0 ||
            !tdmi_win_narrow_into(wide, usual, sizeof usual) || !tdmi_path_is_absolute(usual)) {
            errno = ENOENT;
            return false;
        }
        usual[strlen(usual) - 1] = '\0'; /* ends with a backslash */
        parent = usual;
    }
    for (int tries = 0; tries < 100; tries++) {
        uint64_t number;
        if (!SystemFunction036(&number, sizeof number)) break;
        const int length =
            snprintf(path, size, "%s/tandem-%016llx", parent, (unsigned long long)number);
        errno = ENAMETOOLONG;
        if (length < 0 || (size_t)length >= size) return false;
        if (tdmi_folder_make(TDMI_HERE, path)) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

bool tdmi_folder_remove(const char *path) {
    const HANDLE folder = tdmi_win_open(TDMI_HERE, path, DELETE, FILE_OPEN,
                                        FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT, false);
    if (folder == INVALID_HANDLE_VALUE) return false;
    const bool done = tdmi_win_remove(folder);
    (void)tdmi_win_refuse(folder);
    return done;
}

bool tdmi_folder_is_writable(const char *path) {
    const HANDLE folder = tdmi_win_open(TDMI_HERE, path, FILE_ADD_FILE | FILE_TRAVERSE, FILE_OPEN,
                                        FILE_DIRECTORY_FILE, false);
    if (folder == INVALID_HANDLE_VALUE) return false;
    CloseHandle(folder);
    return true;
}
