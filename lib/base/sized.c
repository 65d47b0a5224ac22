/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Structs that begin with their size. */
#include "base/sized.h"

#include <stddef.h>
#include <string.h>

#include <tandem/tandem.h>

/* No version will have a larger one: a size beyond it is memory that was not initialised. */
enum { MOST = 1 << 16 };

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

tdm_status tdmi_sized_check(const char *function, const char *argument, const tdmi_sized *type,
                            const void *given) {
    if (!given) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, argument);
    size_t size = size_of(given);
    if (size >= type->first && size <= MOST) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "%s: %s->size is %zu, which is not the size of a %s; initialise it with %s",
                     function, argument, size, type->type, type->initialiser);
}

tdm_status tdmi_sized_read(const char *function, const char *argument, const tdmi_sized *type,
                           const void *given, void *own) {
    TDMI_TRY(tdmi_sized_check(function, argument, type, given));
    size_t size = size_of(given);
    for (size_t i = type->size; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                             "%s: %s sets a field that this library (%s) does not have: the "
                             "program was built for a newer one",
                             function, argument, tdm_version());
    memcpy(own, given, size < type->size ? size : type->size);
    memcpy(own, &type->size, sizeof type->size);
    return TDM_OK;
}

void tdmi_sized_write(const tdmi_sized *type, const void *own, void *given) {
    size_t size = size_of(given), known = size < type->size ? size : type->size;
    memcpy((char *)given + sizeof size, (const char *)own + sizeof size, known - sizeof size);
    memset((char *)given + known, 0xff, size - known);
}

void tdmi_sized_init(const tdmi_sized *type, const void *defaults, void *given, size_t size) {
    if (!given || size < sizeof size) return;
    size_t known = size < type->size ? size : type->size;
    memcpy(given, defaults, known);
    memset((char *)given + known, 0, size - known);
    memcpy(given, &size, sizeof size);
}
