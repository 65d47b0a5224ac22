/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that have a page here. */
#ifndef OPERATIONS_LIST_H
#define OPERATIONS_LIST_H

#include <stddef.h>

#include "operations/operation.h"

/* The pages; one has the forms of one function, or of some that are alike. With the tags (tests/support/tags.c) of a
 * page's tests, and those that the test of its shapes has, too. */
#define OP_PAGES(X)                                                                                \
    X(bias_add, "rows", "lanes few")                                                               \
    X(layer_norm, "rows lanes", "few kinds")                                                       \
    X(rms_norm, "rows lanes", "few")                                                               \
    X(batch_norm, "rows lanes", "few")                                                             \
    X(l2_normalize, "rows lanes", "few")                                                           \
    X(softmax, "rows lanes", "few kinds")                                                          \
    X(norm, "rows lanes", "few kinds")                                                             \
    X(arithmetic, "", "lanes few")                                                                 \
    X(cast, "", "")                                                                                \
    X(functions, "texts", "")                                                                      \
    X(reduce, "", "")                                                                              \
    X(random, "device", "few")

typedef struct op_list {
    const operation *op;
    size_t count;
} op_list;
#define OP_LIST(array)                                                                             \
    { (array), sizeof(array) / sizeof *(array) }

#define OP_PAGE(name, tags, tags_of_shapes) extern const op_list op_##name;
OP_PAGES(OP_PAGE)
#undef OP_PAGE

/* Operation number i, in the order of the pages, or NULL; and the one of this name. */
const operation *op_at(size_t i);
const operation *op_named(const char *name);

/* The library's function for a ref_reduction. */
tdm_status op_reduce_over(int what, tdm_queue *queue, const tdm_tensor *x, const int *dims,
                          size_t count, double correction, tdm_tensor *y);

#endif
