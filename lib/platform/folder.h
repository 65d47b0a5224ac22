/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Folders: made, opened, listed and removed. */
#ifndef TDMI_PLATFORM_FOLDER_H
#define TDMI_PLATFORM_FOLDER_H

#include "platform/file.h"

/* An open folder keeps its meaning when it is renamed, so that what was judged is what is used. TDMI_NO_FOLDER with
 * errno, also where the name is a symbolic link that is not to be followed. `info` may be NULL. */
tdmi_folder tdmi_folder_open(tdmi_folder in, const char *name, bool follow, tdmi_file_info *info);
void tdmi_folder_close(tdmi_folder folder);

/* A folder for this user alone: mode 0700. False with errno: EEXIST where that name is taken. */
bool tdmi_folder_make(tdmi_folder in, const char *name);

/* Calls `visit` with each name in the folder, in no order; "." and ".." may be among them. `visit` may remove the file
 * of that name. False with errno. */
bool tdmi_folder_list(tdmi_folder folder, void (*visit)(void *context, const char *name),
                      void *context);

/* Makes a new folder, of a name that cannot be guessed, for this user alone: in `parent`, or NULL: where the system has
 * temporary files. Its path, without a slash at the end, goes to `path`. False with errno. */
bool tdmi_folder_make_temporary(const char *parent, char *path, size_t size);

/* Removes an empty folder. */
bool tdmi_folder_remove(const char *path);

/* Whether files can be made there, with the rights that this process has. */
bool tdmi_folder_is_writable(const char *path);

#endif
