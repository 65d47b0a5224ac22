/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder: Windows' headers, texts, errors. */
#ifndef TDMI_WIN_H
#define TDMI_WIN_H

#define WIN32_LEAN_AND_MEAN
#define UNICODE
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#include <windows.h>
/* after it */
#include <winternl.h>

#include <stdbool.h>
#include <stddef.h>

#include "platform/file.h"

/* UTF-16 of UTF-8 and the other way round, whose broken parts become U+FFFD. For free(); NULL with errno. */
wchar_t *tdmi_win_wide(const char *text);
char *tdmi_win_narrow(const wchar_t *text);

/* The same into a buffer of that many bytes; false where it does not fit, and the buffer is "". */
bool tdmi_win_narrow_into(const wchar_t *text, char *narrow, size_t size);

/* Sets errno to what an error of the system means, and returns false. */
bool tdmi_win_fail(DWORD error);

/* The path as it is opened: absolute, of any length. For free(); NULL with errno. */
wchar_t *tdmi_win_full_path(const char *path);

/* Opens by NtCreateFile. `options` are its options but FILE_SYNCHRONOUS_IO_NONALERT, which is always there;
 * `is_private`: what is made is for this user alone. INVALID_HANDLE_VALUE with errno. */
HANDLE tdmi_win_open(tdmi_folder in, const char *name, ACCESS_MASK access, ULONG disposition,
                     ULONG options, bool is_private);

/* Closes what cannot be used, keeps errno, and returns TDMI_NO_FILE, which is TDMI_NO_FOLDER. */
intptr_t tdmi_win_refuse(HANDLE handle);

/* Removes the name by which it was opened, with the right DELETE, at once. False with errno. */
bool tdmi_win_remove(HANDLE handle);

/* A descriptor that lets this user, the administrators and the system in. Static storage; NULL with errno. */
PSECURITY_DESCRIPTOR tdmi_win_private(void);

/* A program that is started: of this process's handles it gets those of `inherited` alone, which can be inherited, and
 * it begins once it is in the job, with all that it starts. The other members are as for CreateProcessW and in
 * platform/process.h. False with errno. */
typedef struct tdmi_win_program {
    const char *const *arguments, *const *environment;
    HANDLE input, output, errors;
    HANDLE *inherited;
    size_t count;
    DWORD flags;
    HANDLE job;
} tdmi_win_program;
bool tdmi_win_start(const tdmi_win_program *program, PROCESS_INFORMATION *started);

/* From here on a process's code says what ended it: a warning (a breakpoint, say) or an error of the kernel's. The
 * function returns " (access violation)" or "". */
#define TDMI_WIN_EXCEPTION 0x80000000u
const char *tdmi_win_exception(DWORD code);

/* Is set by an interrupt (program.h); NULL before any function there that notes it. */
HANDLE tdmi_win_interrupt_event(void);

/* Whether an object is this user's, and whether others than administrators may write to it. */
void tdmi_win_judge(HANDLE handle, bool *is_ours, bool *is_shared);

#endif
