/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that have a page here. */
#ifndef OPERATIONS_LIST_H
#define OPERATIONS_LIST_H

#include <stddef.h>

#include "operations/operation.h"

/* The pages; one has the forms of one function, or of some that are alike. */
#define OP_PAGES(X)                                                                                \
    X(bias_add)                                                                                    \
    X(layer_norm)                                                                                  \
    X(rms_norm)                                                                                    \
    X(batch_norm)                                                                                  \
    X(l2_normalize)                                                                                \
    X(softmax)                                                                                     \
    X(norm)                                                                                        \
    X(arithmetic)                                                                                  \
    X(cast)                                                                                        \
    X(functions)                                                                                   \
    X(reduce)

typedef struct op_list {
    const operation *op;
    size_t count;
} op_list;
#define OP_LIST(array)                                                                             \
    { (array), sizeof(array) / sizeof *(array) }

#define OP_PAGE(name) extern const op_list op_##name;
OP_PAGES(OP_PAGE)
#undef OP_PAGE

/* Operation number i, in the order of the pages, or NULL; and the one of this name. */
const operation *op_at(size_t i);
const operation *op_named(const char *name);

#endif
