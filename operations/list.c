/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "operations/list.h"

#include <string.h>

static const op_list *const pages[] = {
#define OP_PAGE(name, tags, tags_of_shapes) &op_##name,
    OP_PAGES(OP_PAGE)
#undef OP_PAGE
};

const operation *op_at(size_t i) {
    for (size_t p = 0; p < sizeof pages / sizeof *pages; i -= pages[p++]->count)
        if (i < pages[p]->count) return &pages[p]->op[i];
    return NULL;
}

const operation *op_named(const char *name) {
    const operation *op;
    for (size_t i = 0; (op = op_at(i)); i++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}
