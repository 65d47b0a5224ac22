/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory by posix_memalign. */
#define _GNU_SOURCE
#include "platform/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *tdmi_aligned_alloc(size_t alignment, size_t size) {
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void tdmi_aligned_free(void *memory) { free(memory); }

size_t tdmi_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void tdmi_prefer_large_pages(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, size, MADV_HUGEPAGE);
#else
    (void)memory, (void)size; /* the system decides by itself */
#endif
}
