/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "platform/process.h"
#include "win.h"

/* A text that grows; of length 0 with `failed` once memory was short. */
typedef struct line {
    wchar_t *text;
    size_t length, room;
    bool failed;
} line;

static void put(line *l, wchar_t c) {
    if (l->length == l->room && !l->failed) {
        const size_t room = l->room ? 2 * l->room : 256;
        wchar_t *text = realloc(l->text, room * sizeof *text);
        l->failed = !text;
        if (text) {
            l->text = text;
            l->room = room;
        }
    }
    if (!l->failed) l->text[l->length++] = c;
}

static void put_text(line *l, const wchar_t *text) {
    while (*text)
        put(l, *text++);
}

/* ---- the command line ---- */

/* An argument as the C library of the program takes it apart: in quotes, and of backslashes before one, or before the
 * end, twice as many. */
static void put_argument(line *l, const wchar_t *text) {
    size_t slashes = 0;
    put(l, L'"');
    for (;; text++) {
        for (; *text == L'\\'; text++)
            slashes++;
        const bool doubled = *text == L'"' || *text == L'\0';
        for (size_t i = 0; i < (doubled ? 2 * slashes : slashes); i++)
            put(l, L'\\');
        slashes = 0;
        if (*text == L'\0') break;
        if (*text == L'"') put(l, L'\\');
        put(l, *text);
    }
    put(l, L'"');
}

static wchar_t *finish(line *l) {
    put(l, L'\0');
    if (!l->failed) return l->text;
    free(l->text);
    errno = ENOMEM;
    return NULL;
}

static wchar_t *make_command_line(const char *const *arguments) {
    line made = {0};
    for (size_t i = 0; arguments[i]; i++) {
        wchar_t *wide = tdmi_win_wide(arguments[i]);
        if (i > 0) put(&made, L' ');
        made.failed = made.failed || !wide;
        if (wide) put_argument(&made, wide);
        free(wide);
    }
    return finish(&made);
}

/* ---- the environment ---- */

/* Whether a change ("NAME=value", "NAME" or "PREFIX*") is about the variable of an entry; names have no case. */
static bool is_about(const wchar_t *change, const wchar_t *entry) {
    const size_t length = wcscspn(change, L"=*");
    return _wcsnicmp(change, entry, length) == 0 &&
           (change[length] == L'*' || entry[length] == L'=');
}

static bool is_changed(const wchar_t *entry, wchar_t *const *changes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is_about(changes[i], entry)) return true;
    return false;
}

static void put_entry(line *l, const wchar_t *entry) {
    put_text(l, entry);
    put(l, L'\0');
}

/* Our environment with the changes: entries one after the other, then an empty one. For free(). */
static wchar_t *make_environment(const char *const *changes) {
    enum { MOST = 32 };
    wchar_t *wide[MOST];
    size_t count = 0;
    line made = {0};
    for (; changes && changes[count] && count < MOST; count++) {
        wide[count] = tdmi_win_wide(changes[count]);
        made.failed = made.failed || !wide[count];
    }
    wchar_t *own = made.failed ? NULL : GetEnvironmentStringsW();
    for (const wchar_t *entry = own; entry && *entry; entry += wcslen(entry) + 1)
        if (!is_changed(entry, wide, count)) put_entry(&made, entry);
    if (own) FreeEnvironmentStringsW(own);
    for (size_t i = 0; own && i < count; i++)
        if (wcschr(wide[i], L'=') && !is_changed(wide[i], wide + i + 1, count - i - 1))
            put_entry(&made, wide[i]);
    for (size_t i = 0; i < count; i++)
        free(wide[i]);
    if (made.length == 0) put(&made, L'\0');
    return finish(&made);
}

/* ---- starting it ---- */

bool tdmi_win_start(const tdmi_win_program *program, PROCESS_INFORMATION *started) {
    SIZE_T size = 0;
    bool done = false;
    wchar_t *words = make_command_line(program->arguments),
            *environment = make_environment(program->environment);
    wchar_t *file = tdmi_win_wide(program->arguments[0]);
    (void)InitializeProcThreadAttributeList(NULL, 1, 0, &size);
    LPPROC_THREAD_ATTRIBUTE_LIST list = malloc(size);
    if (words && environment && file && list &&
        InitializeProcThreadAttributeList(list, 1, 0, &size)) {
        const DWORD flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT |
                            EXTENDED_STARTUPINFO_PRESENT | program->flags;
        STARTUPINFOEXW how = {.StartupInfo = {.cb = sizeof how,
                                              .dwFlags = STARTF_USESTDHANDLES,
                                              .hStdInput = program->input,
                                              .hStdOutput = program->output,
                                              .hStdError = program->errors},
                              .lpAttributeList = list};
        done = UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                         program->inherited, program->count * sizeof(HANDLE), NULL,
                                         NULL) &&
               CreateProcessW(file, words, NULL, NULL, TRUE, flags, environment, NULL,
                              &how.StartupInfo, started);
        if (!done) (void)tdmi_win_fail(GetLastError());
        DeleteProcThreadAttributeList(list);
    } else
        errno = ENOMEM;
    if (done) {
        (void)AssignProcessToJobObject(program->job, started->hProcess);
        (void)ResumeThread(started->hThread);
        CloseHandle(started->hThread);
    }
    free(list);
    free(file);
    free(environment);
    free(words);
    return done;
}

/* The null device, and the log. */
static bool open_streams(const char *log, HANDLE *streams) {
    streams[0] = tdmi_win_open(TDMI_HERE, "NUL", FILE_GENERIC_READ, FILE_OPEN, 0, false);
    streams[1] = tdmi_win_open(TDMI_HERE, log, FILE_APPEND_DATA | FILE_READ_ATTRIBUTES,
                               FILE_OPEN_IF, FILE_NON_DIRECTORY_FILE, true);
    for (int i = 0; i < 2; i++)
        if (streams[i] == INVALID_HANDLE_VALUE ||
            !SetHandleInformation(streams[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
            return false;
    return true;
}

const char *tdmi_win_exception(DWORD code) {
    return code == STATUS_ACCESS_VIOLATION ? " (access violation)"
           : code == STATUS_STACK_OVERFLOW ? " (stack overflow)"
                                           : "";
}

/* Those that Windows ends are named by a status of its kernel. */
static void describe_end(DWORD code, tdmi_command_end *end) {
    if (code < TDMI_WIN_EXCEPTION)
        end->status = (int)code;
    else
        snprintf(end->death, sizeof end->death, "exception 0x%08lx ended%s", code,
                 tdmi_win_exception(code));
}

bool tdmi_command_run(const tdmi_command *command, tdmi_command_end *end) {
    const DWORD limit = command->seconds < 4e6 ? (DWORD)(command->seconds * 1e3) : INFINITE;
    HANDLE streams[2] = {INVALID_HANDLE_VALUE, INVALID_HANDLE_VALUE};
    PROCESS_INFORMATION started;
    DWORD code;
    *end = (tdmi_command_end){0};
    const HANDLE job = CreateJobObjectW(NULL, NULL);
    bool done = job || tdmi_win_fail(GetLastError());
    if (!done) return false;
    done = open_streams(command->log, streams);
    if (done)
        done = tdmi_win_start(&(tdmi_win_program){.arguments = command->arguments,
                                                  .environment = command->environment,
                                                  .input = streams[0],
                                                  .output = streams[1],
                                                  .errors = streams[1],
                                                  .inherited = streams,
                                                  .count = 2,
                                                  .flags = CREATE_NO_WINDOW,
                                                  .job = job},
                              &started);
    for (int i = 0; i < 2; i++)
        (void)tdmi_win_refuse(streams[i]);
    if (done) {
        if (WaitForSingleObject(started.hProcess, limit) == WAIT_TIMEOUT) {
            end->is_late = true;
            (void)TerminateJobObject(job, 1);
            (void)TerminateProcess(started.hProcess,
                                   1); /* where it could not be put into the job */
            (void)WaitForSingleObject(started.hProcess, INFINITE);
        }
        if (GetExitCodeProcess(started.hProcess, &code)) describe_end(code, end);
        CloseHandle(started.hProcess);
    }
    const int error = errno;
    CloseHandle(job);
    errno = error;
    return done;
}

bool tdmi_command_is_program(const char *path) {
    tdmi_file_info info;
    wchar_t *wide = tdmi_win_wide(path);
    const size_t length = wide ? wcslen(wide) : 0;
    const bool named = length > 4 && _wcsicmp(wide + length - 4, L".exe") == 0;
    free(wide);
    return named && tdmi_file_look_up(TDMI_HERE, path, true, &info) &&
           info.kind == TDMI_FILE_REGULAR;
}
