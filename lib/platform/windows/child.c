/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* This program again: started, listened to, and ended with all that it started. */
#include "platform/child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "platform/clock.h"
#include "platform/program.h"
#include "win.h"

/* Has the number of the handle on which the child answers. */
#define ANSWER "TDM_CHILD_ANSWER"

enum { TO_CHILD, FROM_CHILD, ITS_ERRORS, ITS_ANSWER, STREAMS };
enum { MOST_WORDS = 256, MOST_CHANGES = 31 };

/* ---- starting ---- */

/* The end that is written to can be inherited. */
static bool make_pipe(HANDLE *from, HANDLE *to) {
    if (CreatePipe(from, to, NULL, 0) &&
        SetHandleInformation(*to, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT))
        return true;
    return tdmi_win_fail(GetLastError());
}

/* The null device, or this process's own stream, if it has one. */
static HANDLE make_stream(DWORD own, bool is_apart) {
    const HANDLE here = GetCurrentProcess(), stream = GetStdHandle(own);
    HANDLE made = INVALID_HANDLE_VALUE;
    if (!is_apart && stream && stream != INVALID_HANDLE_VALUE &&
        DuplicateHandle(here, stream, here, &made, 0, TRUE, DUPLICATE_SAME_ACCESS))
        return made;
    made = tdmi_win_open(TDMI_HERE, "NUL", FILE_GENERIC_READ | FILE_GENERIC_WRITE, FILE_OPEN, 0,
                         false);
    if (made != INVALID_HANDLE_VALUE)
        (void)SetHandleInformation(made, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    return made;
}

/* The processes in the job are ended with the last handle to it, or not. */
static void bind_job(HANDLE job, bool ends) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = ends ? JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE : 0;
    (void)SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
}

static bool start(const char *const *arguments, const char *const *changes, HANDLE *streams,
                  bool is_apart, tdmi_child *child) {
    char own[6 * MAX_PATH], answer[64];
    const char *words[MOST_WORDS] = {own}, *all[MOST_CHANGES + 1] = {answer};
    PROCESS_INFORMATION started;
    errno = E2BIG;
    for (size_t i = 0; arguments[i]; i++) {
        if (i + 2 == MOST_WORDS) return false;
        words[i + 1] = arguments[i];
    }
    for (size_t i = 0; changes && changes[i]; i++) {
        if (i + 2 == MOST_CHANGES) return false;
        all[i] = changes[i];
        all[i + 1] = answer;
    }
    snprintf(answer, sizeof answer, ANSWER "=%llu",
             (unsigned long long)(uintptr_t)streams[ITS_ANSWER]);
    tdmi_program_path(own, sizeof own);
    const HANDLE job = CreateJobObjectW(NULL, NULL);
    if (!job) return tdmi_win_fail(GetLastError());
    bind_job(job, true);
    if (!tdmi_win_start(&(tdmi_win_program){.arguments = words,
                                            .environment = all,
                                            .input = streams[TO_CHILD],
                                            .output = streams[FROM_CHILD],
                                            .errors = streams[ITS_ERRORS],
                                            .inherited = streams,
                                            .count = STREAMS,
                                            .flags = is_apart ? CREATE_NO_WINDOW : 0,
                                            .job = job},
                        &started)) {
        (void)tdmi_win_refuse(job);
        return false;
    }
    child->process = (intptr_t)started.hProcess;
    child->group = (intptr_t)job;
    return true;
}

bool tdmi_child_start(const char *const *arguments, const char *const *changes, bool is_apart,
                      tdmi_child *child) {
    HANDLE streams[STREAMS], answer = INVALID_HANDLE_VALUE, errors = INVALID_HANDLE_VALUE;
    for (int i = 0; i < STREAMS; i++)
        streams[i] = INVALID_HANDLE_VALUE;
    streams[TO_CHILD] = make_stream(STD_INPUT_HANDLE, is_apart);
    streams[FROM_CHILD] = make_stream(STD_OUTPUT_HANDLE, is_apart);
    if (!is_apart) streams[ITS_ERRORS] = make_stream(STD_ERROR_HANDLE, false);
    *child = (tdmi_child){.is_apart = is_apart};
    const bool done = make_pipe(&answer, &streams[ITS_ANSWER]) &&
                      (!is_apart || make_pipe(&errors, &streams[ITS_ERRORS])) &&
                      start(arguments, changes, streams, is_apart, child);
    for (int i = 0; i < STREAMS; i++)
        (void)tdmi_win_refuse(streams[i]);
    child->answer = done ? (tdmi_file)answer : tdmi_win_refuse(answer);
    child->errors = done ? (tdmi_file)errors : tdmi_win_refuse(errors);
    return done;
}

/* ---- listening ---- */

_Static_assert(TDMI_NO_FILE == -1, "INVALID_HANDLE_VALUE is no file");

/* Bytes that are there; false at the end. */
static bool look(tdmi_file pipe, DWORD *bytes) {
    *bytes = 0;
    return PeekNamedPipe((HANDLE)pipe, NULL, 0, NULL, bytes, NULL);
}

size_t tdmi_child_read(tdmi_file *pipe, void *bytes, size_t size) {
    DWORD there, got = 0;
    if (*pipe == TDMI_NO_FILE) return 0;
    if (look(*pipe, &there)) {
        if (there == 0) return 0;
        if (there > size) there = (DWORD)size;
        if (ReadFile((HANDLE)*pipe, bytes, there, &got, NULL) && got > 0) return got;
    }
    *pipe = tdmi_win_refuse((HANDLE)*pipe);
    return 0;
}

static bool is_ready(tdmi_file pipe) {
    DWORD there;
    return pipe != TDMI_NO_FILE && (!look(pipe, &there) || there > 0);
}

/* Such pipes cannot be waited for: they are looked at again and again. */
void tdmi_child_wait(const tdmi_child *child, double seconds) {
    enum { PAUSE = 5 }; /* milliseconds */
    const HANDLE ends[] = {(HANDLE)child->process, tdmi_win_interrupt_event()};
    const uint64_t start = tdmi_nanoseconds();
    while (!is_ready(child->answer) && !is_ready(child->errors) &&
           (double)(tdmi_nanoseconds() - start) * 1e-9 < seconds)
        if (WaitForMultipleObjects(ends[1] ? 2 : 1, ends, FALSE, PAUSE) != WAIT_TIMEOUT) return;
}

bool tdmi_child_has_ended(const tdmi_child *child) {
    return WaitForSingleObject((HANDLE)child->process, 0) == WAIT_OBJECT_0;
}

/* Each program of a console is interrupted by itself. */
void tdmi_child_interrupt(const tdmi_child *child, int interrupt) { (void)child, (void)interrupt; }

tdmi_child_end tdmi_child_finish(tdmi_child *child) {
    const HANDLE process = (HANDLE)child->process, job = (HANDLE)child->group;
    DWORD code = 1;
    if (child->is_apart) (void)TerminateJobObject(job, 1);
    if (!tdmi_child_has_ended(child)) (void)TerminateProcess(process, 1);
    (void)WaitForSingleObject(process, INFINITE);
    (void)GetExitCodeProcess(process, &code);
    if (!child->is_apart) bind_job(job, false);
    CloseHandle(job);
    CloseHandle(process);
    child->answer = tdmi_win_refuse((HANDLE)child->answer);
    child->errors = tdmi_win_refuse((HANDLE)child->errors);
    return code < TDMI_WIN_EXCEPTION ? (tdmi_child_end){.status = (int)code}
                                     : (tdmi_child_end){.death = (int)code};
}

/* ---- the child's side ---- */

tdmi_file tdmi_child_answer(void) {
    static tdmi_file answer = TDMI_NO_FILE;
    wchar_t text[32];
    if (answer != TDMI_NO_FILE || GetEnvironmentVariableW(L"" ANSWER, text, 32) == 0) return answer;
    const HANDLE given = (HANDLE)(uintptr_t)wcstoull(text, NULL, 10);
    (void)SetEnvironmentVariableW(L"" ANSWER, NULL); /* not for what this process starts */
    if (GetFileType(given) == FILE_TYPE_PIPE && SetHandleInformation(given, HANDLE_FLAG_INHERIT, 0))
        answer = (tdmi_file)given;
    return answer;
}

void tdmi_child_die_quietly(void) { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX); }

/* ---- deaths ---- */

const char *tdmi_death_name(int death, char *text, size_t size) {
    snprintf(text, size, "exception 0x%08x%s", (unsigned)death, tdmi_win_exception((DWORD)death));
    return text;
}

bool tdmi_death_is_interrupt(int death) { return (DWORD)death == STATUS_CONTROL_C_EXIT; }
