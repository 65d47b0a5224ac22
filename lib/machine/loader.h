/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries opened at run time, never closed. */
#ifndef TDMI_LOADER_H
#define TDMI_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/status.h>

/* One library: filled in statically by its user, opened once by tdmi_library_open. */
typedef struct tdmi_library {
    const char *title;        /* for people: "the OpenCL ICD loader" */
    const char *const *names; /* file names to try in order, NULL-terminated: "libOpenCL.so.1" */
    const char *const
        *paths;         /* directories after TANDEM_LIBRARY_PATH and the system's own; or NULL */
    const char *advice; /* the package to install */
    /* sought by name alone, not in TANDEM_LIBRARY_PATH: another library opens it by that name too, and
     * they must get the same one; where the system has a folder for its own libraries, in that alone */
    bool shared;
    /* filled in by tdmi_library_open, under the loader's lock */
    void *handle;
    tdm_status status; /* TDM_OK, or why it could not be opened; meaningful when tried */
    bool tried;        /* false after a failure by accident: it is tried again */
    bool broken;       /* a file is there and is no such library, or does not open */
    char found[512];   /* the path it was loaded from, or the reasons why each name failed */
} tdmi_library;

/* One symbol wanted from a library: where its address goes, and whether its absence is a failure.
 */
typedef struct tdmi_symbol {
    const char *name;
    void (**address)(void);
    bool optional;
} tdmi_symbol;

/* Why this program opens no libraries: it has more rights than its caller (env.h), or is linked statically, where
 * glibc's dlopen ends the process. NULL: it does open them. */
const char *tdmi_loader_refusal(void);

/* Opens the library if not yet tried and resolves the symbols. TDM_ERROR_UNAVAILABLE with a message
 * that says what was looked for, where, why each try failed and what to install. The outcome is
 * remembered, so asking again costs nothing, unless memory or file descriptors were short, which is
 * TDM_ERROR_IO. Where there is a refusal nothing is opened. Any thread. */
tdm_status tdmi_library_open(tdmi_library *library, const tdmi_symbol *symbols,
                             size_t count) TDM_MUST_USE;

/* A number that changes when another file takes the place of one: of the file's name after all links are followed, its
 * size and its time. 0 where there is none. */
uint64_t tdmi_file_stamp(const char *file);

/* That of the opened library's file; 0 for one that is not open. */
uint64_t tdmi_library_identity(const tdmi_library *library);

/* Opens the library as tdmi_library_open does and adds a TDM_DIAGNOSTIC_LIBRARY item for it. */
void tdmi_library_diagnose(tdmi_library *library, const tdmi_symbol *symbols, size_t count);

/* The same of a library that `open` opens, which may refuse the one that was found: the item has its message then. */
void tdmi_library_diagnose_by(tdmi_library *library, const tdmi_symbol *symbols, size_t count,
                              tdm_status (*open)(void));

#endif
