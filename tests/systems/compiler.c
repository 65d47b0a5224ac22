/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A C compiler for tests under Wine, which starts GCC for Windows of the system below. As clang.exe it makes no
 * library, like LLVM's without Visual Studio. It writes its name and its options to the file COMPILER_LOG, and keeps
 * the text, which is its last argument, as COMPILER_LOG.c. */
#include <windows.h>
/* after it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Z:\a" is "/a". */
static void put(FILE *to, const char *word) {
    const int skipped = strncmp(word, "Z:", 2) == 0 ? 2 : 0;
    fputs(" '", to);
    for (const char *c = word + skipped; *c; c++)
        fputc(*c == '\\' ? '/' : *c, to);
    fputs("'", to);
}

/* Wine does not wait for a program of the system below: the script makes a file at its end. */
static int run(const char *script, const char *end) {
    char line[2048];
    int status = 1;
    STARTUPINFOA how = {.cb = sizeof how};
    PROCESS_INFORMATION started;
    snprintf(line, sizeof line, "sh %s", script + 2);
    for (char *c = line; *c; c++)
        if (*c == '\\') *c = '/';
    if (!CreateProcessA("Z:\\bin\\sh", line, NULL, NULL, TRUE, 0, NULL, NULL, &how, &started))
        return 1;
    for (int i = 0; i < 6000; i++) {
        FILE *file = fopen(end, "r");
        const int found = file ? fscanf(file, "%d", &status) : 0;
        if (file) fclose(file);
        if (found == 1) break;
        Sleep(10);
    }
    return status;
}

int main(int count, char **words) {
    const char *log = getenv("COMPILER_LOG");
    char script[1024], part[1024], end[1024];
    FILE *file = fopen(log, "a");
    if (!file) return 1;
    for (int i = 0; i < count; i++)
        fprintf(file, "%s%s", words[i], i + 1 < count ? " " : "\n");
    fclose(file);
    if (strstr(words[0], "clang")) {
        fputs("clang: error: unable to execute command: program not executable\n", stderr);
        return 1;
    }
    snprintf(script, sizeof script, "%s-%lu.sh", log, GetCurrentProcessId());
    snprintf(end, sizeof end, "%s-%lu.end", log, GetCurrentProcessId());
    snprintf(part, sizeof part, "%s-%lu.part", log, GetCurrentProcessId());
    file = fopen(script, "wb");
    if (!file) return 1;
    fputs("cp", file);
    put(file, words[count - 1]);
    fprintf(file, " \"${0%%-*}.c\"\nx86_64-w64-mingw32-gcc");
    for (int i = 1; i < count; i++)
        put(file, words[i]);
    fputs("\necho $? >", file);
    put(file, part);
    fputs("\nmv", file);
    put(file, part);
    put(file, end);
    fputs("\n", file);
    fclose(file);
    const int status = run(script, end);
    remove(script);
    remove(end);
    return status;
}
