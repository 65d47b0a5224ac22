/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Host memory for the library's own objects and texts: the program's allocator (tandem/setup.h),
 * else malloc. Memory of these functions is released by tdmi_free alone. Any thread. */
#ifndef TDMI_MEMORY_H
#define TDMI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/setup.h>

/* Aligned for any type; NULL when memory is short. */
void *tdmi_malloc(size_t size);
void *tdmi_calloc(size_t count, size_t size);
void *tdmi_realloc(void *old, size_t size);

/* Items of a list that has `count` of them, with room for one more: the same ones, or moved; NULL when memory is short,
 * and then they stay. */
void *tdmi_grown(void *items, size_t count, size_t *room, size_t size);

char *tdmi_strdup(const char *text);
char *tdmi_strndup(const char *text, size_t most);

/* NULL is allowed. */
void tdmi_free(void *pointer);

/* A text that grows, with a 0 at its end; it has failed when memory was short. Its bytes are freed by tdmi_free. */
typedef struct tdmi_text {
    char *bytes;
    size_t size, used;
    bool failed;
} tdmi_text;

void tdmi_text_add(tdmi_text *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes memory from these functions, or from malloc where they are NULL. Before the library is used. */
void tdmi_memory_from(const tdm_allocator *allocator);

/* Whether memory was taken, which goes back to where it came from: then the functions stay. */
bool tdmi_memory_is_taken(void);

#endif
