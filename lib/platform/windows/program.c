/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Arguments, streams, consoles and Ctrl-C. */
#include "platform/program.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#include "platform/library.h"
#include "platform/threads.h"
#include "win.h"
/* after it */
#include <shellapi.h>

/* The console's before this program, which others in it have again afterwards; 0: it was not changed. */
static UINT code_page;

static void restore_console(void) {
    if (code_page) (void)SetConsoleOutputCP(code_page);
}

void tdmi_program_begin(int *count, char ***arguments) {
    FILE *const streams[] = {stdin, stdout, stderr};
    int found = 0;
    for (int i = 0; i < 3; i++)
        if (_fileno(streams[i]) >= 0) (void)_setmode(_fileno(streams[i]), _O_BINARY);
    if (tdmi_stream_is_terminal(stdout)) {
        code_page = GetConsoleOutputCP();
        (void)SetConsoleOutputCP(CP_UTF8);
        (void)atexit(restore_console);
    }
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &found);
    char **made = wide ? calloc((size_t)found + 1, sizeof *made) : NULL;
    bool done = made && found == *count;
    for (int i = 0; done && i < found; i++)
        done = (made[i] = tdmi_win_narrow(wide[i])) != 0;
    if (wide) LocalFree(wide);
    if (done) *arguments = made; /* for as long as the program runs */
}

void tdmi_program_slashes(char *path) {
    for (; *path; path++)
        if (*path == '\\') *path = '/';
}

void tdmi_program_path(char *path, size_t size) { (void)tdmi_library_path(NULL, path, size); }

void tdmi_program_become(const char *path, char **arguments) {
    (void)path, (void)arguments;
    errno = ENOSYS;
}

/* ---- streams ---- */

FILE *tdmi_stream_open(const char *path, const char *mode) {
    const wchar_t own[] = {(wchar_t)mode[0], L'b', L'N', L'\0'};
    wchar_t *wide = tdmi_win_wide(path);
    FILE *stream = wide ? _wfopen(wide, own) : NULL;
    free(wide);
    return stream;
}

FILE *tdmi_stream_of(tdmi_file file) {
    const int descriptor = _open_osfhandle(file, _O_BINARY | _O_NOINHERIT);
    FILE *stream = descriptor >= 0 ? _fdopen(descriptor, "wb") : NULL;
    if (!stream && descriptor >= 0)
        _close(descriptor);
    else if (!stream)
        (void)tdmi_win_refuse((HANDLE)file);
    return stream;
}

static HANDLE handle_of(FILE *stream) {
    const int descriptor = _fileno(stream);
    return descriptor < 0 ? INVALID_HANDLE_VALUE : (HANDLE)_get_osfhandle(descriptor);
}

bool tdmi_stream_is_terminal(FILE *stream) {
    const HANDLE handle = handle_of(stream);
    DWORD mode;
    return GetConsoleMode(handle, &mode) &&
           ((mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) ||
            SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING));
}

bool tdmi_terminal_has_colours(void) { return true; }

int tdmi_stream_columns(FILE *stream) {
    CONSOLE_SCREEN_BUFFER_INFO screen;
    return GetConsoleScreenBufferInfo(handle_of(stream), &screen)
               ? screen.srWindow.Right - screen.srWindow.Left + 1
               : 0;
}

/* ---- interrupts ---- */

enum { INTERRUPT_END = 15 }; /* of the console: SIGTERM elsewhere */

static HANDLE event; /* is set by each interrupt */
static _Atomic bool catches;
static _Atomic int caught;
static char last_words[256];
static tdmi_mutex words_lock = TDMI_MUTEX_INIT;

/* As an interrupt ends it, at once: ExitProcess calls libraries, whose threads were ended perhaps with a lock. */
static void end_now(void) {
    restore_console();
    (void)TerminateProcess(GetCurrentProcess(), STATUS_CONTROL_C_EXIT);
}

/* In a thread that the system starts. One that is not caught ends the process, and so does the return from any but
 * those of the keyboard: while this rests, the program ends by itself. */
static BOOL WINAPI on_interrupt(DWORD kind) {
    DWORD put;
    if (catches) {
        caught = kind == CTRL_C_EVENT ? TDMI_INTERRUPT_KEY : INTERRUPT_END;
        (void)SetEvent(event);
        if (kind != CTRL_C_EVENT && kind != CTRL_BREAK_EVENT) Sleep(INFINITE);
        return TRUE;
    }
    TDMI_LOCKED(&words_lock);
    const DWORD length = (DWORD)strlen(last_words);
    if (length > 0) (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), last_words, length, &put, NULL);
    end_now();
    return FALSE;
}

static void install(void) {
    event = CreateEventW(NULL, FALSE, FALSE, NULL);
    (void)SetConsoleCtrlHandler(on_interrupt, TRUE);
}

static tdmi_once installed = TDMI_ONCE_INIT;

void tdmi_interrupt_catch(void) {
    tdmi_once_run(&installed, install);
    caught = 0;
    catches = true;
}

void tdmi_interrupt_catch_key(void) { tdmi_interrupt_catch(); }

void tdmi_interrupt_release(void) { catches = false; }

int tdmi_interrupt_caught(void) { return caught; }

HANDLE tdmi_win_interrupt_event(void) { return event; }

void tdmi_interrupt_rest(double seconds) {
    const DWORD time = seconds < 4e6 ? (DWORD)(seconds * 1e3) : INFINITE;
    if (caught) return;
    if (event)
        (void)WaitForSingleObject(event, time);
    else
        Sleep(time);
}

void tdmi_interrupt_end(int interrupt) {
    (void)interrupt;
    end_now();
}

void tdmi_interrupt_say(const char *text) {
    tdmi_once_run(&installed, install);
    TDMI_LOCKED(&words_lock);
    snprintf(last_words, sizeof last_words, "%s", text);
}

/* ---- the system ---- */

static void ask(const wchar_t *name, const char *otherwise, char *text, size_t size) {
    static const wchar_t key[] = L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion";
    wchar_t wide[128];
    DWORD bytes = sizeof wide;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, wide, &bytes) !=
            ERROR_SUCCESS ||
        !tdmi_win_narrow_into(wide, text, size))
        snprintf(text, size, "%s", otherwise);
}

void tdmi_system_describe(char *name, size_t name_size, char *kernel, size_t kernel_size,
                          char *architecture, size_t architecture_size) {
    SYSTEM_INFO system;
    char build[32];
    GetNativeSystemInfo(&system);
    ask(L"ProductName", "Windows", name, name_size);
    ask(L"CurrentBuildNumber", "unknown", build, sizeof build);
    snprintf(kernel, kernel_size, "build %s", build);
    snprintf(architecture, architecture_size, "%s",
             system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
             : system.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64 ? "aarch64"
                                                                             : "unknown");
}
