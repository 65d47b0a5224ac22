/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* State dicts: named tensors and metadata. */
#include "state_dict.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/threads.h"
#include "check.h"

int tdmi_compare_name_pointers(const void *a, const void *b) {
    return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

/* With more names the search would take seconds, and a typo could not be guessed anyway. */
enum { MOST_CANDIDATES = 20000 };

tdm_status tdmi_no_such_name(const char *function, const char *where, const char *name,
                             void *const *candidates, size_t count) {
    if (count > MOST_CANDIDATES) count = MOST_CANDIDATES;
    const char **names = count ? tdmi_malloc(count * sizeof *names) : NULL;
    for (size_t i = 0; names && i < count; i++)
        names[i] = *(const char *const *)candidates[i];
    const char *nearest = names ? tdmi_nearest_word(name, names, count) : NULL;
    tdm_status status =
        nearest ? tdmi_fail(TDM_ERROR_NOT_FOUND,
                            "%s: there is no '%.200s' in %.500s; the nearest name is '%.200s'",
                            function, name, where, nearest)
                : tdmi_fail(TDM_ERROR_NOT_FOUND, "%s: there is no '%.200s' in %.500s%s", function,
                            name, where, count ? "" : ", which is empty");
    tdmi_free(names);
    return status;
}

/* ---- lists ---- */

static tdm_status out_of_memory(void) {
    return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a state dict");
}

static void *list_find(const tdmi_dict_list *list, const char *name) {
    tdmi_dict_node *node = list->tree;
    while (node) {
        const int order = strcmp(name, node->name);
        if (order == 0) return node;
        node = order < 0 ? node->less : node->more;
    }
    return NULL;
}

/* Below those of a greater rank; what was there is parted by the name. */
static void tree_add(tdmi_dict_node **at, tdmi_dict_node *added) {
    while (*at && (*at)->rank >= added->rank)
        at = strcmp(added->name, (*at)->name) < 0 ? &(*at)->less : &(*at)->more;
    tdmi_dict_node *old = *at, **less = &added->less, **more = &added->more;
    *at = added;
    while (old) {
        tdmi_dict_node **const place = strcmp(old->name, added->name) < 0 ? less : more;
        *place = old;
        if (place == less)
            old = *(less = &old->more);
        else
            old = *(more = &old->less);
    }
    *less = *more = NULL;
}

static void tree_remove(tdmi_dict_node **at, const tdmi_dict_node *gone) {
    while (*at != gone)
        at = strcmp(gone->name, (*at)->name) < 0 ? &(*at)->less : &(*at)->more;
    tdmi_dict_node *less = gone->less, *more = gone->more;
    while (less && more) {
        tdmi_dict_node *const upper = less->rank > more->rank ? less : more;
        *at = upper;
        if (upper == less)
            less = *(at = &less->more);
        else
            more = *(at = &more->less);
    }
    *at = less ? less : more;
}

static tdm_status list_add(tdmi_dict_list *list, tdmi_dict_node *item) {
    void **grown = tdmi_grown(list->at, list->count, &list->capacity, sizeof *grown);
    if (!grown) return out_of_memory();
    list->at = grown;
    item->rank =
        tdmi_hash(TDMI_HASH_START, &item, sizeof item); /* of where it lies: not of names */
    tree_add(&list->tree, item);
    list->at[list->count++] = item;
    return TDM_OK;
}

static void list_remove(tdmi_dict_list *list, const tdmi_dict_node *item) {
    tree_remove(&list->tree, item);
    size_t index = 0;
    while (list->at[index] != item)
        index++;
    list->count--;
    memmove(&list->at[index], &list->at[index + 1], (list->count - index) * sizeof *list->at);
}

static void list_destroy(tdmi_dict_list *list, void (*destroy)(void *item)) {
    for (size_t i = 0; i < list->count; i++)
        destroy(list->at[i]);
    tdmi_free(list->at);
}

static void destroy_item(void *item) {
    tdmi_dict_item *gone = item;
    tdm_buffer_release(gone->tensor.buffer);
    tdmi_free((void *)gone->node.name);
    tdmi_free(gone);
}

static void destroy_text(void *item) {
    tdmi_dict_text *gone = item;
    tdmi_free((void *)gone->node.name);
    tdmi_free(gone->value);
    tdmi_free(gone);
}

/* ---- texts ---- */

static tdm_status check_text(const char *function, const char *what, const char *text) {
    if (!text) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, what);
    const char *at = text;
    for (size_t bytes = 1; *at && bytes; at += bytes)
        bytes = tdmi_utf8_bytes((const unsigned char *)at);
    if (!*at) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is no UTF-8 at byte %lld", function, what,
                     (long long)(at - text));
}

static tdm_status check_dict(const char *function, const tdm_state_dict *dict) {
    TDMI_NOT_NULL(function, dict);
    return TDM_OK;
}

/* ---- dicts ---- */

tdm_status tdm_state_dict_create(tdm_state_dict **dict) {
    TDMI_NOT_NULL(__func__, dict);
    *dict = tdmi_calloc(1, sizeof **dict);
    return *dict ? TDM_OK : out_of_memory();
}

void tdm_state_dict_destroy(tdm_state_dict *dict) {
    TDMI_UNCANCELLED();
    if (!dict) return;
    list_destroy(&dict->items, destroy_item);
    list_destroy(&dict->metadata, destroy_text);
    tdmi_free(dict);
}

tdm_status tdmi_state_dict_put(tdm_state_dict *dict, const char *name, const tdm_tensor *tensor,
                               bool scalar) {
    tdmi_dict_item *item = list_find(&dict->items, name);
    if (!item) {
        item = tdmi_calloc(1, sizeof *item);
        if (!item) return out_of_memory();
        item->node.name = tdmi_strdup(name);
        tdm_status status = item->node.name ? list_add(&dict->items, &item->node) : out_of_memory();
        if (status != TDM_OK) {
            tdmi_free((void *)item->node.name);
            tdmi_free(item);
            return status;
        }
    }
    /* Taken before the old one is given back: they may be the same. */
    tdm_buffer_retain(tensor->buffer);
    tdm_buffer_release(item->tensor.buffer);
    item->tensor = *tensor;
    item->scalar = scalar;
    return TDM_OK;
}

tdm_status tdm_state_dict_set(tdm_state_dict *dict, const char *name, const tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_dict(__func__, dict));
    TDMI_TRY(check_text(__func__, "name", name));
    if (!*name)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: name is \"\", at least 1 byte", __func__);
    if (strcmp(name, "__metadata__") == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: name is \"__metadata__\", which is reserved; "
                         "tdm_state_dict_set_metadata sets metadata",
                         __func__);
    TDMI_TRY(tdmi_tensor_check_packed(__func__, "tensor", tensor));
    return tdmi_state_dict_put(dict, name, tensor, false);
}

tdm_status tdm_state_dict_get(const tdm_state_dict *dict, const char *name, tdm_tensor *tensor) {
    TDMI_NOT_NULL(__func__, tensor);
    memset(tensor, 0, sizeof *tensor);
    TDMI_TRY(check_dict(__func__, dict));
    TDMI_NOT_NULL(__func__, name);
    const tdmi_dict_item *item = list_find(&dict->items, name);
    if (!item) return tdmi_no_such_name(__func__, "dict", name, dict->items.at, dict->items.count);
    *tensor = item->tensor;
    return TDM_OK;
}

const tdmi_dict_item *tdmi_state_dict_find(const tdm_state_dict *dict, const char *name) {
    return list_find(&dict->items, name);
}

size_t tdm_state_dict_get_count(const tdm_state_dict *dict) { return dict ? dict->items.count : 0; }

const tdmi_dict_item *tdmi_state_dict_at(const tdm_state_dict *dict, size_t index) {
    return dict->items.at[index];
}

static tdm_status check_index(const char *function, size_t index, size_t count) {
    if (index < count) return TDM_OK;
    return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: index is %zu, but there %s %zu", function, index,
                     count == 1 ? "is" : "are", count);
}

tdm_status tdm_state_dict_get_item(const tdm_state_dict *dict, size_t index, const char **name,
                                   tdm_tensor *tensor) {
    TDMI_RESULT(__func__, name);
    TDMI_NOT_NULL(__func__, tensor);
    memset(tensor, 0, sizeof *tensor);
    TDMI_TRY(check_dict(__func__, dict));
    TDMI_TRY(check_index(__func__, index, dict->items.count));
    const tdmi_dict_item *item = dict->items.at[index];
    *name = item->node.name;
    *tensor = item->tensor;
    return TDM_OK;
}

/* ---- metadata ---- */

/* Takes the value over when it succeeds. */
static tdm_status add_text(tdmi_dict_list *list, const char *key, char *value) {
    tdmi_dict_text *text = tdmi_calloc(1, sizeof *text);
    char *name = tdmi_strdup(key);
    if (text) *text = (tdmi_dict_text){.node.name = name, .value = value};
    tdm_status status = text && name ? list_add(list, &text->node) : out_of_memory();
    if (status == TDM_OK) return TDM_OK;
    tdmi_free(text);
    tdmi_free(name);
    return status;
}

tdm_status tdm_state_dict_set_metadata(tdm_state_dict *dict, const char *key, const char *value) {
    TDMI_TRY(check_dict(__func__, dict));
    TDMI_TRY(check_text(__func__, "key", key));
    tdmi_dict_text *text = list_find(&dict->metadata, key);
    if (!value) {
        if (!text) return TDM_OK;
        list_remove(&dict->metadata, &text->node);
        destroy_text(text);
        return TDM_OK;
    }
    TDMI_TRY(check_text(__func__, "value", value));
    char *copy = tdmi_strdup(value);
    if (!copy) return out_of_memory();
    if (text) {
        tdmi_free(text->value);
        text->value = copy;
        return TDM_OK;
    }
    tdm_status status = add_text(&dict->metadata, key, copy);
    if (status != TDM_OK) tdmi_free(copy);
    return status;
}

const char *tdm_state_dict_get_metadata(const tdm_state_dict *dict, const char *key) {
    if (!dict || !key) return NULL;
    const tdmi_dict_text *text = list_find(&dict->metadata, key);
    return text ? text->value : NULL;
}

size_t tdm_state_dict_get_metadata_count(const tdm_state_dict *dict) {
    return dict ? dict->metadata.count : 0;
}

tdm_status tdm_state_dict_get_metadata_item(const tdm_state_dict *dict, size_t index,
                                            const char **key, const char **value) {
    TDMI_RESULT(__func__, key);
    TDMI_RESULT(__func__, value);
    TDMI_TRY(check_dict(__func__, dict));
    TDMI_TRY(check_index(__func__, index, dict->metadata.count));
    const tdmi_dict_text *text = dict->metadata.at[index];
    *key = text->node.name;
    *value = text->value;
    return TDM_OK;
}
