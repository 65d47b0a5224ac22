/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Paths with drives and backslashes, or slashes. */
#include "platform/path.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "win.h"

const char tdmi_path_separator = ';';

static bool is_slash(char c) { return c == '/' || c == '\\'; }

static bool has_drive(const char *path) {
    return isalpha((unsigned char)path[0]) && path[1] == ':';
}

/* "\x" is on the drive of the working directory, and "C:x" in that drive's. */
bool tdmi_path_is_absolute(const char *path) {
    return (has_drive(path) && is_slash(path[2])) || (is_slash(path[0]) && is_slash(path[1]));
}

size_t tdmi_path_folder_length(const char *path) {
    size_t length = has_drive(path) ? 2 : 0;
    for (size_t i = length; path[i]; i++)
        if (is_slash(path[i])) length = i + 1;
    return length;
}

static size_t name_end(const char *path, size_t from) {
    while (path[from] && !is_slash(path[from]))
        from++;
    return from;
}

size_t tdmi_path_folder_end(const char *path, size_t from) {
    if (from == 0 && has_drive(path)) from = 2;
    if (from == 0 && is_slash(path[0]) && is_slash(path[1])) {
        from = name_end(path, 2);
        if (path[from]) from = name_end(path, from + 1);
    }
    return path[from] ? name_end(path, from + 1) : from;
}

static bool is_link(const char *path) {
    tdmi_file_info info;
    return !tdmi_file_look_up(TDMI_HERE, path, false, &info) || info.kind == TDMI_FILE_OTHER;
}

/* The system's answer begins with "\\?\", or "\\?\UNC\" for "\\". It has none where a volume has no letter for it,
 * as those that are no concern of the mount manager's: a RAM disk, a container's folder. */
char *tdmi_path_resolve(const char *path) {
    const HANDLE file = tdmi_win_open(TDMI_HERE, path, FILE_READ_ATTRIBUTES, FILE_OPEN, 0, false);
    if (file == INVALID_HANDLE_VALUE) return NULL;
    const DWORD size = GetFinalPathNameByHandleW(file, NULL, 0, 0), error = GetLastError();
    wchar_t *wide = size > 0 ? malloc((size + 1) * sizeof *wide) : NULL, *from = NULL;
    char *made = NULL;
    if (size == 0 && (error == ERROR_INVALID_FUNCTION || error == ERROR_PATH_NOT_FOUND) &&
        !is_link(path))
        from = wide = tdmi_win_full_path(path);
    else if (wide && GetFinalPathNameByHandleW(file, wide, size + 1, 0) > 0)
        from = wide;
    if (from) {
        if (wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0) {
            from = wide + 6;
            from[0] = L'\\';
        } else if (wcsncmp(wide, L"\\\\?\\", 4) == 0)
            from = wide + 4;
        made = tdmi_win_narrow(from);
    } else
        errno = wide || size == 0 ? ENOENT : ENOMEM;
    free(wide);
    (void)tdmi_win_refuse(file);
    return made;
}

/* A variable that is not set stays as it is written, and one that is empty leaves a path without a drive. */
bool tdmi_path_expand(const char *folder, char *path, size_t size) {
    wchar_t wide[2 * MAX_PATH], *given = tdmi_win_wide(folder);
    const DWORD most = sizeof wide / sizeof *wide,
                length = given ? ExpandEnvironmentStringsW(given, wide, most) : 0;
    free(given);
    return length > 0 && length <= most && tdmi_win_narrow_into(wide, path, size) &&
           tdmi_path_is_absolute(path);
}
