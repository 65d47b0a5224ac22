/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "apart.h"
#include "platform/file.h"
#include "platform/folder.h"
#include "platform/process.h"

static void show(const char *path) {
    char text[4096];
    size_t size, shown = 0;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, NULL);
    while (file != TDMI_NO_FILE && (size = tdmi_file_read(file, shown, text, sizeof text)) > 0) {
        fwrite(text, 1, size, stderr);
        shown += size;
    }
    if (file != TDMI_NO_FILE) (void)tdmi_file_close(file);
}

int plain_run_apart(int (*run)(const plain_test *test), const plain_test *test) {
    char folder[512], log[520], name[256], *self;
    tdmi_command_end end;
    (void)run;
    if (_get_pgmptr(&self) != 0 || !tdmi_folder_make_temporary(NULL, folder, sizeof folder))
        return -1;
    snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
    snprintf(log, sizeof log, "%s/log", folder);
    const char *const arguments[] = {self, "--filter", name, "--alone", NULL};
    const tdmi_command command = {arguments, NULL, log, 600};
    const bool started = tdmi_command_run(&command, &end);
    show(log);
    (void)tdmi_file_remove(TDMI_HERE, log);
    (void)tdmi_folder_remove(folder);
    if (started && end.death[0]) fprintf(stderr, "[----] %s\n", end.death);
    return !started || end.is_late || end.death[0] ? -1 : end.status;
}

_Noreturn void plain_end_process(int status) { _Exit(status); }
