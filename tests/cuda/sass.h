/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A kernel's machine code, by NVIDIA's disassembler where there is one. */
#ifndef TDM_TEST_CUDA_SASS_H
#define TDM_TEST_CUDA_SASS_H

#include <stdbool.h>
#include <stddef.h>

#include "ptx.h"

/* Whether nvdisasm is there: the file that TDM_TEST_NVDISASM names, or the first in PATH. */
bool sass_is_there(void);

/* A cubin as text, to be freed; NULL when nvdisasm fails. From any thread. */
char *sass_of(const void *cubin, size_t size);

/* How an entry accesses global memory; of the numbers those of accesses alone. False when it is not there. */
bool sass_report_of(const char *sass, const char *entry, ptx_report *report);

/* The instructions of the shortest way through an entry that stores so many vectors of 128 bits: what a lane executes
 * at least where all its vectors are inside a row. 0 when there is none. */
int sass_shortest(const char *sass, const char *entry, int stores);

#endif
