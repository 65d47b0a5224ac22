/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A library that was built without jansson: files are refused. */
#include "base/fail.h"

#include <tandem/state_dict.h>

static tdm_status refuse(const char *function) {
    return tdmi_fail(
        TDM_ERROR_UNSUPPORTED,
        "%s: this library was built without safetensors files (TANDEM_SAFETENSORS=OFF)", function);
}

tdm_status tdm_save(tdm_queue *queue, const tdm_state_dict *dict, const char *path,
                    const tdm_file_options *options) {
    (void)queue, (void)dict, (void)path, (void)options;
    return refuse("tdm_save");
}

tdm_status tdm_load(tdm_queue *queue, const char *path, const tdm_file_options *options,
                    tdm_state_dict **dict) {
    (void)queue, (void)path, (void)options;
    if (dict) *dict = NULL;
    return refuse("tdm_load");
}

tdm_status tdm_file_open(const char *path, tdm_file **file) {
    (void)path;
    if (file) *file = NULL;
    return refuse("tdm_file_open");
}

/* There is no file that the others could be called with. */

void tdm_file_destroy(tdm_file *file) { (void)file; }

size_t tdm_file_get_count(const tdm_file *file) {
    (void)file;
    return 0;
}

tdm_status tdm_file_get_item(const tdm_file *file, size_t index, const tdm_file_entry **entry) {
    (void)file, (void)index;
    if (entry) *entry = NULL;
    return refuse("tdm_file_get_item");
}

tdm_status tdm_file_find(const tdm_file *file, const char *name, const tdm_file_entry **entry) {
    (void)file, (void)name;
    if (entry) *entry = NULL;
    return refuse("tdm_file_find");
}

const char *tdm_file_get_metadata(const tdm_file *file, const char *key) {
    (void)file, (void)key;
    return NULL;
}

tdm_status tdm_file_read(tdm_queue *queue, tdm_file *file, const tdm_file_entry *entry,
                         int64_t first, int64_t count, const tdm_file_options *options,
                         tdm_tensor *y) {
    (void)file, (void)entry, (void)first, (void)count, (void)queue, (void)options, (void)y;
    return refuse("tdm_file_read");
}
