/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* For programs alone: arguments, standard streams, terminals, and interrupts. No part of the libraries. */
#ifndef TDMI_PLATFORM_PROGRAM_H
#define TDMI_PLATFORM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "platform/file.h"

/* First in main(): its arguments are UTF-8 from here on, and standard streams take bytes as they are. */
void tdmi_program_begin(int *count, char ***arguments);

/* Where backslashes separate the parts of a path, slashes do so from here on. */
void tdmi_program_slashes(char *path);

/* The file that runs; "" where that cannot be told. */
void tdmi_program_path(char *path, size_t size);

/* This process goes on as another program, with all its streams. Returns, with errno, where that cannot be started, or
 * where a process cannot do so (Windows). */
void tdmi_program_become(const char *path, char **arguments);

/* ---- streams ---- */

/* fopen by a path in UTF-8, "r", "w" or "a", for bytes. Closed in programs that are started. */
FILE *tdmi_stream_open(const char *path, const char *mode);

/* A stream that writes to an open file, which it owns. NULL with errno, and the file is closed. */
FILE *tdmi_stream_of(tdmi_file file);

/* Whether a standard stream is a terminal that obeys escape sequences. */
bool tdmi_stream_is_terminal(FILE *stream);

/* Whether the user's terminal shows colours. */
bool tdmi_terminal_has_colours(void);

/* Columns of a stream's terminal; 0 where it is none, or does not say. */
int tdmi_stream_columns(FILE *stream);

/* ---- interrupts ---- */

enum { TDMI_INTERRUPT_KEY = 2 }; /* Ctrl-C */

/* From catch to release an interrupt (Ctrl-C, SIGTERM, the end of the terminal or of the output's reader) is only
 * noted, and comes through while the main thread waits in tdmi_child_wait or rests. One that was ignored before
 * stays ignored. */
void tdmi_interrupt_catch(void);
/* The same of Ctrl-C alone, also where it was ignored, as in the background of a shell's script. */
void tdmi_interrupt_catch_key(void);
void tdmi_interrupt_release(void);

/* The last interrupt since tdmi_interrupt_catch(), or 0. */
int tdmi_interrupt_caught(void);

/* Rests for that time, or until an interrupt is caught. */
void tdmi_interrupt_rest(double seconds);

/* Ends this process as that interrupt would have. */
void tdmi_interrupt_end(int interrupt);

/* The text printed to stderr when Ctrl-C or SIGTERM ends the process; may be changed at any time. */
void tdmi_interrupt_say(const char *text);

/* ---- the system ---- */

/* For people: "Debian GNU/Linux 12 (bookworm)", "6.1.0-18-amd64", "x86_64". */
void tdmi_system_describe(char *name, size_t name_size, char *kernel, size_t kernel_size,
                          char *architecture, size_t architecture_size);

#endif
