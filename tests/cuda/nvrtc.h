/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NVRTC, opened as it is needed, and the results of a compilation. */
#ifndef TDM_TEST_CUDA_NVRTC_H
#define TDM_TEST_CUDA_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

/* The NVRTC of the newest CUDA that is there, or the file that TDM_TEST_NVRTC names. False, after a
 * line on why, where there is none. */
bool nvrtc_open(int *major, int *minor);

/* Whether it compiles for this architecture: an older one does not for newer devices. */
bool nvrtc_knows(int architecture);

/* Appends "#line" and a file of at most 64 KB to the text, which is malloc'ed or NULL; false when it cannot be read. */
bool append_file(char **text, const char *folder, const char *name);

typedef struct compiled {
    bool good;
    char *log;   /* NVRTC's and ptxas's; freed by compiled_free */
    char *cubin; /* an ELF file, NULL where nothing was made */
    size_t cubin_size;
    char *ptx; /* a text, NULL where nothing was made */
} compiled;

/* Compiles a text for one architecture with the backend's options and `defines`, NULL-terminated;
 * `header` is the text of #include "kernel" in it, or NULL. */
compiled nvrtc_compile(const char *text, const char *header, int architecture,
                       const char *const *defines);
void compiled_free(compiled *c);

/* The machine code of a kernel; NULL when the cubin has none. */
const char *compiled_code(const compiled *c, const char *entry, size_t *size);

#endif
