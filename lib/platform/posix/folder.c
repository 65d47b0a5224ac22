/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Folders by descriptors. */
#define _GNU_SOURCE
#include "platform/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/process.h"
#include "posix.h"

tdmi_folder tdmi_folder_open(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info) {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    const int folder = openat(tdmi_posix_place(in), name, flags);
    if (folder < 0 || (info && !tdmi_file_get_info(folder, info))) return tdmi_posix_refuse(folder);
    return folder;
}

void tdmi_folder_close(tdmi_folder folder) { (void)close((int)folder); }

bool tdmi_folder_make(tdmi_folder in, const char *name) {
    return mkdirat(tdmi_posix_place(in), name, 0700) == 0;
}

/* Through another descriptor, as reading moves one. */
bool tdmi_folder_list(tdmi_folder folder, void (*visit)(void *context, const char *name),
                      void *context) {
    const int again = openat((int)folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = again >= 0 ? fdopendir(again) : NULL;
    if (!names) return tdmi_posix_refuse(again) >= 0;
    for (struct dirent *found; (found = readdir(names));)
        visit(context, found->d_name);
    closedir(names);
    return true;
}

bool tdmi_folder_make_temporary(const char *parent, char *path, size_t size) {
    const char *given = parent ? parent : tdmi_environment_get("TMPDIR");
    const char *const parents[] = {given && given[0] == '/' ? given : NULL, parent ? NULL : "/tmp"};
    errno = ENAMETOOLONG;
    for (int i = 0; i < 2; i++) {
        if (!parents[i]) continue;
        const int length = snprintf(path, size, "%s/tandem-XXXXXX", parents[i]);
        if (length > 0 && (size_t)length < size && mkdtemp(path)) return true;
    }
    return false;
}

bool tdmi_folder_remove(const char *path) { return rmdir(path) == 0; }

bool tdmi_folder_is_writable(const char *path) { return access(path, W_OK | X_OK) == 0; }
