/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A state dict, as the files of lib/model/ share it. */
#ifndef TDMI_MODEL_STATE_DICT_H
#define TDMI_MODEL_STATE_DICT_H

#include "base/fail.h"

#include <tandem/state_dict.h>

/* A node of a treap (Seidel, Aragon 1996), whose depth does not depend on the names. It begins with the name, as
 * tdm_file_entry does: one comparison serves them all. */
typedef struct tdmi_dict_node {
    const char *name; /* owned */
    struct tdmi_dict_node *less, *more;
    uint64_t rank; /* above those that have a lesser one */
} tdmi_dict_node;

typedef struct tdmi_dict_item {
    tdmi_dict_node node;
    tdm_tensor tensor; /* with one reference of its buffer */
    bool scalar;       /* it was shape [] in its file, and is written so again */
} tdmi_dict_item;

typedef struct tdmi_dict_text {
    tdmi_dict_node node;
    char *value; /* owned */
} tdmi_dict_text;

/* Pointers in the order of first insertion, and the treap. */
typedef struct tdmi_dict_list {
    void **at; /* tdmi_dict_item or tdmi_dict_text */
    size_t count, capacity;
    tdmi_dict_node *tree;
} tdmi_dict_list;

struct tdm_state_dict {
    tdmi_dict_list items, metadata;
};

/* tdm_state_dict_set, which also says whether the tensor is a scalar. */
tdm_status tdmi_state_dict_put(tdm_state_dict *dict, const char *name, const tdm_tensor *tensor,
                               bool scalar) TDM_MUST_USE;

/* The item of that name, or NULL without a message. */
const tdmi_dict_item *tdmi_state_dict_find(const tdm_state_dict *dict, const char *name);

/* The index-th item, index < tdm_state_dict_get_count. */
const tdmi_dict_item *tdmi_state_dict_at(const tdm_state_dict *dict, size_t index);

/* Orders pointers to two structs that begin with a name, for qsort. */
int tdmi_compare_name_pointers(const void *a, const void *b);

/* Fails with TDM_ERROR_NOT_FOUND: no `name` among these structs that begin with a name ("tensor",
 * "model.safetensors"), and which is nearest. */
tdm_status tdmi_no_such_name(const char *function, const char *where, const char *name,
                             void *const *candidates, size_t count) TDM_MUST_USE;

#endif
