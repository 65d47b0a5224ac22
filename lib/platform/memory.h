/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that begins at a multiple of something. */
#ifndef TDMI_PLATFORM_MEMORY_H
#define TDMI_PLATFORM_MEMORY_H

#include <stddef.h>

/* The alignment is a power of two and a multiple of a pointer's size, the size is any. NULL when memory is short.
 * For tdmi_aligned_free alone, which takes NULL. */
void *tdmi_aligned_alloc(size_t alignment, size_t size);
void tdmi_aligned_free(void *memory);

/* Bytes of a page. */
size_t tdmi_page_size(void);

/* Large pages would do for this memory, which lies at a multiple of their size: its first use takes fewer faults. This
 * is a wish. */
void tdmi_prefer_large_pages(void *memory, size_t size);

#endif
