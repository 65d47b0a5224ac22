/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* DLLs. */
#include "platform/library.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "platform/path.h"
#include "win.h"

#define WHERE_SYSTEM LOAD_LIBRARY_SEARCH_SYSTEM32
#define WHERE_PROGRAM                                                                              \
    (LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_USER_DIRS | WHERE_SYSTEM)

static bool exists(const wchar_t *path) {
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

static bool exists_in(const wchar_t *folder, size_t length, const wchar_t *name) {
    wchar_t path[2 * MAX_PATH];
    if (length == 0 || length + wcslen(name) + 2 > sizeof path / sizeof *path) return false;
    swprintf(path, sizeof path / sizeof *path, L"%.*ls\\%ls", (int)length, folder, name);
    return exists(path);
}

/* Is there no such file, rather than one that does not open? The system has one error for this and for a library that
 * the file lacks. */
static bool is_absent(const wchar_t *name, bool is_path, bool system_only) {
    wchar_t folder[MAX_PATH + 1];
    if (is_path) return !exists(name);
    const UINT length = GetSystemDirectoryW(folder, MAX_PATH);
    if (length < MAX_PATH && exists_in(folder, length, name)) return false;
    if (system_only) return true;
    const DWORD whole = GetModuleFileNameW(NULL, folder, MAX_PATH);
    size_t end = whole < MAX_PATH ? whole : 0;
    while (end > 0 && folder[end - 1] != L'\\')
        end--;
    return end == 0 || !exists_in(folder, end - 1, name);
}

static bool is_accident(DWORD error) {
    static const DWORD errors[] = {ERROR_NOT_ENOUGH_MEMORY, ERROR_OUTOFMEMORY,
                                   ERROR_COMMITMENT_LIMIT, ERROR_NO_SYSTEM_RESOURCES,
                                   ERROR_TOO_MANY_OPEN_FILES};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (error == errors[i]) return true;
    return false;
}

static void explain(const char *file, DWORD error, char *why, size_t size) {
    wchar_t words[256] = L"";
    char text[512];
    const DWORD flags =
        FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
    if (FormatMessageW(flags, NULL, error, 0, words, sizeof words / sizeof *words, NULL) == 0 ||
        !tdmi_win_narrow_into(words, text, sizeof text))
        snprintf(text, sizeof text, "error %lu", error);
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '.'))
        text[--length] = '\0';
    snprintf(why, size, "%s: %s", file, text);
}

void *tdmi_library_load(const char *file, unsigned how, unsigned *failure, char *why, size_t size) {
    const bool is_path = tdmi_path_folder_length(file) > 0;
    wchar_t *name = is_path ? tdmi_win_full_path(file) : tdmi_win_wide(file);
    HMODULE library = NULL;
    *failure = 0;
    if (name) {
        wchar_t *plain =
            name; /* the loader takes no "\\?\", which is there for what has no other path */
        if (is_path && wcslen(name) < MAX_PATH + 4 && wcsncmp(name, L"\\\\?\\UNC\\", 8) != 0)
            plain = name + 4;
        DWORD where = how & TDMI_LOAD_SYSTEM ? WHERE_SYSTEM : WHERE_PROGRAM, before = 0;
        if (is_path) where = WHERE_PROGRAM | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR;
        (void)SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX,
                                 &before); /* no windows */
        if (how & TDMI_LOAD_LOADED)
            (void)GetModuleHandleExW(0, plain, &library);
        else
            library = LoadLibraryExW(plain, NULL, where);
        const DWORD error = GetLastError();
        (void)SetThreadErrorMode(before, NULL);
        if (!library) {
            if (is_accident(error)) *failure |= TDMI_LOAD_ACCIDENT;
            if (is_absent(plain, is_path, (how & TDMI_LOAD_SYSTEM) != 0))
                *failure |= TDMI_LOAD_ABSENT;
            if (why) explain(file, error, why, size);
        }
    } else {
        *failure = TDMI_LOAD_ACCIDENT;
        if (why) snprintf(why, size, "%s: out of memory", file);
    }
    free(name);
    return library;
}

void *tdmi_library_symbol(void *library, const char *name) {
    void *found = NULL;
    const FARPROC function = GetProcAddress(library, name);
    _Static_assert(sizeof found == sizeof function, "functions have the addresses of objects");
    memcpy(&found, &function, sizeof found);
    return found;
}

bool tdmi_library_path(void *library, char *path, size_t size) {
    wchar_t wide[2 * MAX_PATH];
    const DWORD most = sizeof wide / sizeof *wide, length = GetModuleFileNameW(library, wide, most);
    snprintf(path, size, "%s", "");
    return length > 0 && length < most && tdmi_win_narrow_into(wide, path, size);
}

/* The values of a key: a file's name, and 0 for one that is used. */
void tdmi_library_visit_drivers(void (*visit)(void *context, const char *file), void *context) {
    HKEY key;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\Khronos\\OpenCL\\Vendors", 0,
                      KEY_READ | KEY_WOW64_64KEY, &key) != ERROR_SUCCESS)
        return;
    for (DWORD i = 0;; i++) {
        wchar_t wide[2 * MAX_PATH];
        char file[6 * MAX_PATH];
        DWORD length = sizeof wide / sizeof *wide, kind, off, size = sizeof off;
        const LSTATUS status =
            RegEnumValueW(key, i, wide, &length, NULL, &kind, (BYTE *)&off, &size);
        if (status == ERROR_NO_MORE_ITEMS) break;
        if (status == ERROR_SUCCESS && kind == REG_DWORD && off == 0 &&
            tdmi_win_narrow_into(wide, file, sizeof file))
            visit(context, file);
    }
    RegCloseKey(key);
}

void tdmi_library_unload(void *library) { FreeLibrary(library); }

void tdmi_library_stay(void) {
    HMODULE own;
    const void *here = (const void *)(uintptr_t)&tdmi_library_stay;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                             here, &own);
}

bool tdmi_library_can_load(void) { return true; }
