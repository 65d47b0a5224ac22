/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Host memory: the program's allocator, else malloc. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Before each piece: an allocator gets the size again, and realloc must know it. */
typedef union header {
    size_t size; /* of the piece with this */
    max_align_t align;
} header;

static void *from_malloc(size_t bytes, void *user) {
    (void)user;
    return malloc(bytes);
}

static void to_free(void *pointer, size_t bytes, void *user) {
    (void)bytes, (void)user;
    free(pointer);
}

/* Written before any memory was taken, and by tdmi_env_before_use under its lock. */
static tdm_allocator allocator = {sizeof allocator, from_malloc, to_free, NULL};
static atomic_bool taken; /* a piece was taken from it */

bool tdmi_memory_is_taken(void) { return atomic_load(&taken); }

void tdmi_memory_from(const tdm_allocator *given) {
    allocator = *given;
    if (allocator.allocate) return;
    allocator.allocate = from_malloc;
    allocator.release = to_free;
}

void *tdmi_malloc(size_t size) {
    if (size > PTRDIFF_MAX - sizeof(header)) return NULL;
    if (!atomic_load_explicit(&taken, memory_order_relaxed)) atomic_store(&taken, true);
    header *made = allocator.allocate(size + sizeof(header), allocator.user);
    if (!made) return NULL;
    made->size = size + sizeof(header);
    return made + 1;
}

void *tdmi_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *made = tdmi_malloc(bytes);
    return made ? memset(made, 0, bytes) : NULL;
}

void *tdmi_realloc(void *old, size_t size) {
    void *made = tdmi_malloc(size);
    if (!made || !old) return made;
    const size_t had = ((const header *)old - 1)->size - sizeof(header);
    memcpy(made, old, had < size ? had : size);
    tdmi_free(old);
    return made;
}

void *tdmi_grown(void *items, size_t count, size_t *room, size_t size) {
    if (count < *room) return items;
    const size_t wanted = *room ? 2 * *room : 16;
    void *grown = tdmi_realloc(items, wanted * size);
    if (grown) *room = wanted;
    return grown;
}

char *tdmi_strndup(const char *text, size_t most) {
    const size_t length = tdmi_length(text, most);
    char *copy = tdmi_malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *tdmi_strdup(const char *text) { return tdmi_strndup(text, strlen(text)); }

void tdmi_free(void *pointer) {
    if (!pointer) return;
    header *piece = (header *)pointer - 1;
    allocator.release(piece, piece->size, allocator.user);
}

void tdmi_text_add(tdmi_text *self, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t length = (size_t)vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (self->size - self->used <= length) {
        const size_t size = self->size * 2 + length + 4096;
        char *grown = tdmi_realloc(self->bytes, size);
        if (!grown) {
            self->failed = true;
            return;
        }
        self->bytes = grown;
        self->size = size;
    }
    va_start(arguments, format);
    (void)vsnprintf(self->bytes + self->used, length + 1, format, arguments);
    va_end(arguments);
    self->used += length;
}
