/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NCCL, opened at run time where Tandem looks for its own libraries. */
#include <stdio.h>
#include <string.h>

#include <tandem/setup.h>

#include "error.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "system_names.h"
#include "team.h"

tdmi_nccl_functions tdmi_nccl;

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static bool is_open, was_tried;
static char why_not[512]; /* the files that were tried, and how each failed */

static void *try_open(const char *file) {
    unsigned failure;
    char why[384];
    const size_t length = strlen(why_not);
    void *handle = tdmi_library_load(file, 0, &failure, why, sizeof why);
    if (!handle) snprintf(why_not + length, sizeof why_not - length, "%s; ", why);
    return handle;
}

static void *open_anywhere(void) {
    static const char name[] = TDMI_NAMES_NCCL;
    const char *file = tdm_get_setting("TANDEM_NCCL_LIBRARY");
    const char *folders = tdm_get_setting("TANDEM_LIBRARY_PATH");
    void *handle = NULL;
    if (file) return try_open(file);
    while (!handle && folders && *folders) {
        const char *end = strchr(folders, tdmi_path_separator);
        const size_t length = end ? (size_t)(end - folders) : strlen(folders);
        char path[1024];
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
        if (tdmi_path_is_absolute(path)) handle = try_open(path);
        folders += length + (end ? 1 : 0);
    }
    return handle ? handle : try_open(name);
}

static bool find_functions(void *handle) {
#define SYMBOL(name) {#name, &tdmi_nccl.name},
    static const struct {
        const char *name;
        void *address;
    } symbols[] = {TDMI_NCCL_LIST(SYMBOL)};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = tdmi_library_symbol(handle, symbols[i].name);
        if (!symbol) {
            char path[384];
            if (!tdmi_library_path(handle, path, sizeof path)) snprintf(path, sizeof path, "it");
            snprintf(why_not, sizeof why_not, "%s has no function %s; ", path, symbols[i].name);
            return false;
        }
        memcpy(symbols[i].address, &symbol, sizeof symbol);
    }
    return true;
}

static void open_once(void) {
    was_tried = true;
    if (tdmi_process_is_privileged()) {
        snprintf(why_not, sizeof why_not, "a privileged program opens no libraries; ");
        return;
    }
    void *handle = open_anywhere();
    is_open = handle && find_functions(handle);
}

tdm_status tdmi_nccl_open(void) {
    tdmi_mutex_lock(&lock);
    if (!was_tried) open_once();
    tdmi_mutex_unlock(&lock);
    if (is_open) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_UNAVAILABLE,
                           "NVIDIA's NCCL was not found: %sinstall NCCL 2.7 or newer (libnccl2), "
                           "name its directory in TANDEM_LIBRARY_PATH, or its file in "
                           "TANDEM_NCCL_LIBRARY",
                           why_not);
}

tdm_status tdmi_nccl_check(ncclResult_t result, const char *what) {
    if (result == ncclSuccess) return TDM_OK;
    const char *text = tdmi_nccl.ncclGetErrorString(result);
    return tdmi_comm_error(result == ncclRemoteError ? TDM_ERROR_RANK_LOST : TDM_ERROR_BACKEND,
                           "%s: %s (error %d)", what, text ? text : "unknown error", (int)result);
}
