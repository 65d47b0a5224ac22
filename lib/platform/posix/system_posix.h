/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The names of system_names.h that all POSIX systems have alike. */
#ifndef TDMI_SYSTEM_POSIX_H
#define TDMI_SYSTEM_POSIX_H

/* The compilers' options for a library, with what comes after the text, which functions it exports, and what a linker
 * makes next to it; each with a comma. */
#define TDMI_COMPILER_OPTIONS "-fPIC",
#define TDMI_COMPILER_LIBRARIES "-lm",
#define TDMI_COMPILER_EXPORT ""
#define TDMI_COMPILER_MAKES_TOO

/* The compilers that keep the stack aligned for wide vectors have this in their names; the first of a list may be one
 * that lacks a linker or libraries, so that each is tried. */
#define TDMI_COMPILER_ALIGNS ""
#define TDMI_COMPILER_MAY_LACK false

/* The command that lets this user alone write to a folder, for people. */
#define TDMI_TAKE_RIGHTS "chmod go-w"

#endif
