/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Opening files and folders, whose names are relative to an open folder or paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "win.h"

/* A path in the form of Windows' kernel, which has no limit then: "\??\C:\x" or "\??\UNC\server\share\x". */
static wchar_t *kernel_path(const wchar_t *path) {
    static const wchar_t usual[] = L"\\??\\", network[] = L"\\??\\UNC\\";
    const DWORD size = GetFullPathNameW(path, 0, NULL, NULL);
    wchar_t *made = size > 0 ? malloc((size + 8) * sizeof *made) : NULL, *full = made + 8;
    if (!made) {
        errno = size > 0 ? ENOMEM : ENOENT;
        return NULL;
    }
    const DWORD length = GetFullPathNameW(path, size, full, NULL);
    if (length == 0 || length >= size) { /* the working directory has changed in between */
        errno = ENOENT;
        free(made);
        return NULL;
    }
    const wchar_t *before = usual;
    if (wcsncmp(full, L"\\\\?\\", 4) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0)
        full += 4;
    else if (full[0] == L'\\' && full[1] == L'\\') {
        before = network;
        full += 2;
    }
    const size_t prefix = wcslen(before), rest = wcslen(full);
    memmove(made + prefix, full, (rest + 1) * sizeof *full);
    memcpy(made, before, prefix * sizeof *before);
    return made;
}

wchar_t *tdmi_win_full_path(const char *path) {
    wchar_t *wide = tdmi_win_wide(path), *made = wide ? kernel_path(wide) : NULL;
    free(wide);
    if (made) made[1] = L'\\'; /* as programs write it: "\\?\" */
    return made;
}

/* An empty name means nothing, as on other systems. */
static wchar_t *object_name(tdmi_folder in, const char *name) {
    if (name[0] == '\0') {
        errno = ENOENT;
        return NULL;
    }
    wchar_t *wide = tdmi_win_wide(name);
    if (in != TDMI_HERE || !wide) return wide;
    wchar_t *made = kernel_path(wide);
    free(wide);
    return made;
}

HANDLE tdmi_win_open(tdmi_folder in, const char *name, ACCESS_MASK access, ULONG disposition,
                     ULONG options, bool is_private) {
    PSECURITY_DESCRIPTOR rights = is_private ? tdmi_win_private() : NULL;
    if (is_private && !rights) return INVALID_HANDLE_VALUE;
    wchar_t *wide = object_name(in, name);
    if (!wide) return INVALID_HANDLE_VALUE;
    const size_t bytes = wcslen(wide) * sizeof *wide;
    HANDLE handle = INVALID_HANDLE_VALUE;
    if (bytes >= UINT16_MAX) {
        errno = ENAMETOOLONG;
    } else {
        const ULONG share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
        UNICODE_STRING text = {(USHORT)bytes, (USHORT)bytes, wide};
        OBJECT_ATTRIBUTES object;
        IO_STATUS_BLOCK result;
        InitializeObjectAttributes(&object, &text, OBJ_CASE_INSENSITIVE,
                                   in == TDMI_HERE ? NULL : (HANDLE)in, rights);
        const NTSTATUS status = NtCreateFile(&handle, access | SYNCHRONIZE, &object, &result, NULL,
                                             FILE_ATTRIBUTE_NORMAL, share, disposition,
                                             options | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
        if (status < 0) {
            handle = INVALID_HANDLE_VALUE;
            (void)tdmi_win_fail(RtlNtStatusToDosError(status));
            if ((unsigned long)status == 0xC00000BA) errno = EISDIR;
        }
    }
    free(wide);
    return handle;
}

intptr_t tdmi_win_refuse(HANDLE handle) {
    const int error = errno;
    if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
    errno = error;
    return TDMI_NO_FILE;
}
