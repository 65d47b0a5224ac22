/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The C compiler of the machine, for users' kernels on the cpu backend: TANDEM_CPU_COMPILER or, without that,
 * cc, gcc or clang in PATH, looked for once. It is started without a shell, in a private folder that is gone
 * afterwards. Any thread. */
#ifndef TDMI_HOST_COMPILER_H
#define TDMI_HOST_COMPILER_H

#include "backend.h"

/* Which file it is, with its size and time; "" where there is none, or where this program may start none. */
const char *tdmi_host_compiler(void);

/* Whether it keeps the stack aligned for vectors that are wider than those of every processor of this kind. */
bool tdmi_host_compiler_aligns(void);

/* Adds its diagnostic item: which one it is or, where there is none, why and what follows. */
void tdmi_host_compiler_diagnose(void);

/* Compiles a text to a shared library with these options in addition to our own. TDM_ERROR_UNSUPPORTED without a
 * compiler, TDM_ERROR_COMPILE with the first errors, by which `file` is meant, in the message and all in the thread's
 * log, or where it took longer than two minutes and was ended with all that it had started.
 * *library is allocated, for tdmi_free. */
tdm_status tdmi_host_compile(const char *text, const char *file, const char *const *options,
                             tdmi_blob *library) TDM_MUST_USE;

/* Is that, by its name, a private folder of some process in the cache directory, with the files alone that such a
 * process makes? It stays where the process is killed. The second removes it: false with errno. */
bool tdmi_host_compiler_folder_is(const char *name);
bool tdmi_host_compiler_folder_remove(const char *name);

/* Opens such a library, for tdmi_host_unload. TDM_ERROR_COMPILE where the system does not take it. */
tdm_status tdmi_host_load(const tdmi_blob *library, const char *file, void **handle) TDM_MUST_USE;
void tdmi_host_unload(void *library);

#endif
