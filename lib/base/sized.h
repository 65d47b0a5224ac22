/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Structs that a caller allocates and that begin with their size, so that they can grow: a program
 * that was built against an older header passes a shorter one, against a newer header a longer one.
 */
#ifndef TDMI_SIZED_H
#define TDMI_SIZED_H

#include <stddef.h>

#include "base/fail.h"

/* Of one such struct. */
typedef struct tdmi_sized {
    const char *type;        /* "tdm_matmul_options" */
    const char *initialiser; /* "TDM_MATMUL_OPTIONS_DEFAULTS" */
    size_t first;            /* its size when it was first published */
    size_t size;             /* its size now */
} tdmi_sized;

/* Defines type_sized, type_defaults and the public function type_init of a struct whose last member was `last` when it
 * was first published. */
#define TDMI_SIZED(struct_type, defaults, last)                                                    \
    static const struct_type struct_type##_defaults = defaults;                                    \
    static const tdmi_sized struct_type##_sized = {                                                \
        .type = #struct_type,                                                                      \
        .initialiser = #defaults,                                                                  \
        .first = offsetof(struct_type, last) + sizeof struct_type##_defaults.last,                 \
        .size = sizeof(struct_type),                                                               \
    };                                                                                             \
    void struct_type##_init(struct_type *given, size_t size) {                                     \
        tdmi_sized_init(&struct_type##_sized, &struct_type##_defaults, given, size);               \
    }

/* Copies what the caller gave as `argument` into *own, which holds the defaults: fields that the
 * caller's struct has not are left as they are. Refused are a size of 0 or below the first, and
 * fields of a newer header that are not 0. */
tdm_status tdmi_sized_read(const char *function, const char *argument, const tdmi_sized *type,
                           const void *given, void *own) TDM_MUST_USE;

/* Is the caller's struct one that can be written? */
tdm_status tdmi_sized_check(const char *function, const char *argument, const tdmi_sized *type,
                            const void *given) TDM_MUST_USE;

/* Writes *own to the caller's struct, which was checked, as far as that goes; its size stays. Every
 * byte of fields that this library does not know is 0xff: numbers are TDM_UNKNOWN. */
void tdmi_sized_write(const tdmi_sized *type, const void *own, void *given);

/* Initialises a struct of `size` bytes with the defaults. */
void tdmi_sized_init(const tdmi_sized *type, const void *defaults, void *given, size_t size);

#endif
