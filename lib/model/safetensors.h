/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file: parsed, checked and built. */
#ifndef TDMI_MODEL_SAFETENSORS_H
#define TDMI_MODEL_SAFETENSORS_H

#include "state_dict.h"

/* Bytes before the header: its length, little endian. */
enum { TDMI_HEADER_PREFIX = 8 };

typedef struct tdmi_header {
    uint64_t size;           /* of the header itself */
    tdm_file_entry *entries; /* in the order of their bytes, which adjoin */
    size_t count;
    void **by_name; /* pointers to the entries, sorted */
    void *json;     /* json_t, owns names and metadata */
} tdmi_header;

/* Checks the length that the first 8 bytes of a file state. */
tdm_status tdmi_header_size(const char *path, const unsigned char prefix[TDMI_HEADER_PREFIX],
                            uint64_t file_size, uint64_t *size) TDM_MUST_USE;

/* Parses and checks a whole header. On failure *header is empty. */
tdm_status tdmi_header_parse(const char *path, const char *text, size_t size, uint64_t file_size,
                             tdmi_header *header) TDM_MUST_USE;

/* Copies the metadata into a dict. */
tdm_status tdmi_header_copy_metadata(const tdmi_header *header, tdm_state_dict *dict) TDM_MUST_USE;

const char *tdmi_header_metadata(const tdmi_header *header, const char *key);

void tdmi_header_free(tdmi_header *header);

/* A tensor of a file to be written. */
typedef struct tdmi_placed {
    const tdmi_dict_item *item;
    uint64_t begin, size; /* bytes, from the start of the data */
} tdmi_placed;

/* Orders the tensors of a dict as Python's safetensors does and gives each its place; `placed` has
 * room for all. *total: bytes of data. */
tdm_status tdmi_place_tensors(const tdm_state_dict *dict, tdmi_placed *placed,
                              uint64_t *total) TDM_MUST_USE;

/* The prefix and the header of such a file, malloc'ed. */
tdm_status tdmi_header_build(const tdm_state_dict *dict, const tdmi_placed *placed, char **text,
                             size_t *size) TDM_MUST_USE;

#endif
