/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the POSIX systems' files share, and those that each of these systems has to define. */
#ifndef TDMI_POSIX_H
#define TDMI_POSIX_H

#include <fcntl.h>

#include "platform/file.h"

static inline int tdmi_posix_place(tdmi_folder in) { return in == TDMI_HERE ? AT_FDCWD : (int)in; }

/* Closes what cannot be used, keeps errno, and returns -1. */
int tdmi_posix_refuse(int descriptor);

/* The environment with changes as platform/process.h and child.h have them: pointers to texts of others. For free(). */
char **tdmi_posix_environment(const char *const *changes);

/* A process that was just started gets as large a stack as it may have, before it starts others. */
void tdmi_system_give_stack(int child);

/* Whether the program at this path, which can be executed, only asks the user to install another. */
bool tdmi_system_is_stand_in(const char *path);

#endif
