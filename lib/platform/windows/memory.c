/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory by the C library's functions for alignment. */
#include "platform/memory.h"

#include <malloc.h>
#include <stdint.h>

#include "win.h"

/* The C library adds the alignment to the size, and may not see that this overflows. */
void *tdmi_aligned_alloc(size_t alignment, size_t size) {
    return size < SIZE_MAX / 2 ? _aligned_malloc(size ? size : 1, alignment) : NULL;
}

void tdmi_aligned_free(void *memory) { _aligned_free(memory); }

size_t tdmi_page_size(void) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

/* Windows has large pages for programs with a right to lock memory, and for memory that is requested so. */
void tdmi_prefer_large_pages(void *memory, size_t size) { (void)memory, (void)size; }
