/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* This process, its environment, and others. */
#include "platform/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "platform/path.h"
#include "platform/threads.h"
#include "win.h"

uint64_t tdmi_process_id(void) { return GetCurrentProcessId(); }

uint64_t tdmi_process_user(void) { return 0; }

/* No program has rights that its caller lacks: Windows asks the user first. */
bool tdmi_process_is_privileged(void) { return false; }

/* A job may have a limit in hundredths of a percent of all the machine's processors. */
static int quota(int all) {
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate;
    const DWORD hard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    if (!QueryInformationJobObject(NULL, JobObjectCpuRateControlInformation, &rate, sizeof rate,
                                   NULL) ||
        (rate.ControlFlags & hard) != hard)
        return all;
    const int cores = (int)(((uint64_t)rate.CpuRate * (uint64_t)all + 9999) / 10000);
    return cores < 1 ? 1 : cores < all ? cores : all;
}

/* Of the processors' group that this process is in: 64 at most. */
int tdmi_process_cores(void) {
    DWORD_PTR own, system;
    SYSTEM_INFO all;
    GetSystemInfo(&all);
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &system) || own == 0)
        return quota((int)all.dwNumberOfProcessors);
    const int bound = __builtin_popcountll(own), rate = quota((int)all.dwNumberOfProcessors);
    return bound < rate ? bound : rate;
}

/* There is no fork. */
void tdmi_process_on_fork(void (*child)(void)) { (void)child; }

/* ---- its environment ---- */

/* The values that were returned, as each can be read until it changes: the system itself gives copies. */
typedef struct value {
    struct value *next;
    char *name, *text;
} value;
static value *values;
static tdmi_mutex values_lock = TDMI_MUTEX_INIT;

/* The text is ours from here on. */
static const char *keep(const char *name, char *text) {
    TDMI_LOCKED(&values_lock);
    for (value *v = values; v; v = v->next)
        if (strcmp(v->name, name) == 0 && strcmp(v->text, text) == 0) {
            free(text);
            return v->text;
        }
    value *v = malloc(sizeof *v + strlen(name) + 1);
    if (!v) {
        free(text);
        return NULL;
    }
    *v = (value){values, (char *)(v + 1), text};
    memcpy(v->name, name, strlen(name) + 1);
    values = v;
    return text;
}

const char *tdmi_environment_get(const char *name) {
    enum { LONGEST = 32768 }; /* of Windows */
    wchar_t *wide_name = tdmi_win_wide(name), *wide = malloc(LONGEST * sizeof *wide);
    char *text = NULL;
    if (wide_name && wide) {
        SetLastError(ERROR_SUCCESS);
        const DWORD length = GetEnvironmentVariableW(wide_name, wide, LONGEST);
        if (length < LONGEST && (length > 0 || GetLastError() == ERROR_SUCCESS))
            text = tdmi_win_narrow(wide);
    }
    free(wide_name);
    free(wide);
    return text ? keep(name, text) : NULL;
}

/* Names that begin with "=" are the system's. */
void tdmi_environment_visit(const char *prefix,
                            void (*visit)(const char *name, const char *value)) {
    wchar_t *all = GetEnvironmentStringsW();
    for (const wchar_t *entry = all; entry && *entry; entry += wcslen(entry) + 1) {
        char *text = entry[0] == L'=' ? NULL : tdmi_win_narrow(entry),
             *equals = text ? strchr(text, '=') : NULL;
        if (equals && strncmp(text, prefix, strlen(prefix)) == 0) {
            char name[64];
            const size_t length = (size_t)(equals - text);
            snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
            visit(name, equals + 1);
        }
        free(text);
    }
    if (all) FreeEnvironmentStringsW(all);
}

/* ---- others ---- */

static HANDLE open_process(uint64_t id, DWORD rights) {
    return id <= UINT32_MAX
               ? OpenProcess(rights | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)id)
               : NULL;
}

static bool has_ended(HANDLE process) { return WaitForSingleObject(process, 0) == WAIT_OBJECT_0; }

tdmi_process_life tdmi_process_look_up(uint64_t id) {
    tdmi_process_life found = {0};
    FILETIME start, end, kernel, user;
    const HANDLE process = open_process(id, SYNCHRONIZE);
    if (!process) return found;
    found.has_ended = has_ended(process);
    if (GetProcessTimes(process, &start, &end, &kernel, &user))
        found.start = (uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime;
    CloseHandle(process);
    return found;
}

bool tdmi_process_answers(uint64_t id) {
    const HANDLE process = open_process(id, SYNCHRONIZE);
    const bool alive = process && !has_ended(process);
    if (process) CloseHandle(process);
    return alive;
}

/* The machine; a process's start is a time, and says which of its starts it was. */
void tdmi_process_space(char *text, size_t size) {
    wchar_t wide[64];
    DWORD bytes = sizeof wide;
    snprintf(text, size, "%s", "");
    if (RegGetValueW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\Microsoft\\Cryptography", L"MachineGuid",
                     RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY, NULL, wide, &bytes) == ERROR_SUCCESS)
        (void)tdmi_win_narrow_into(wide, text, size);
}

void tdmi_process_name(uint64_t id, char *name, size_t size) {
    wchar_t wide[2 * MAX_PATH];
    char path[6 * MAX_PATH] = "";
    DWORD length = sizeof wide / sizeof *wide;
    const HANDLE process = open_process(id, 0);
    if (process && QueryFullProcessImageNameW(process, 0, wide, &length))
        (void)tdmi_win_narrow_into(wide, path, sizeof path);
    if (process) CloseHandle(process);
    snprintf(name, size, "%s", path + tdmi_path_folder_length(path));
}
