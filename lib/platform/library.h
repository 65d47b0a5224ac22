/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries. */
#ifndef TDMI_PLATFORM_LIBRARY_H
#define TDMI_PLATFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* How a library is loaded. A name without a folder is looked for where the system has libraries, and never in the
 * working directory: on Linux by the dynamic loader's rules, on Windows in the program's folder and the system's. */
enum {
    TDMI_LOAD_LAZY = 1, /* functions that it needs itself are found when it calls them first */
    /* Such a name is looked for in the system's folder alone, where a system has one: drivers are there, and a file
     * of that name next to the program is none. */
    TDMI_LOAD_SYSTEM = 2,
    TDMI_LOAD_LOADED =
        4 /* only what this process has loaded already, which counts as another use */
};

/* Why it was not loaded. More than one may be true, or none: there is a file that is no library, or lacks another. */
enum {
    TDMI_LOAD_ABSENT = 1,  /* there is no such file */
    TDMI_LOAD_ACCIDENT = 2 /* memory or descriptors were short: another time it may be loaded */
};

/* Loads a library, or counts another use of it. Its functions are for tdmi_library_symbol alone, not for libraries that
 * are loaded later. NULL: *failure has the bits above, and `why`, which may be NULL, a sentence of the system's that
 * names the file. */
void *tdmi_library_load(const char *file, unsigned how, unsigned *failure, char *why, size_t size);

/* The address of a function or an object; NULL where the library has none of that name. */
void *tdmi_library_symbol(void *library, const char *name);

/* The file that it was loaded from, as the system names it. False where that cannot be told, and `path` is "". */
bool tdmi_library_path(void *library, char *path, size_t size);

/* Ends a use of the library. Only for what no thread can be in, nor ever call again: it may be unmapped at once. */
void tdmi_library_unload(void *library);

/* From here on the library that this code is in stays mapped when the program unloads it: threads run in it. */
void tdmi_library_stay(void);

/* Calls `visit` with the file of each OpenCL driver that the system has in a list, rather than in a folder. */
void tdmi_library_visit_drivers(void (*visit)(void *context, const char *file), void *context);

/* Whether this program can load libraries at all: glibc's dlopen ends a process that was linked with -static. */
bool tdmi_library_can_load(void);

#endif
