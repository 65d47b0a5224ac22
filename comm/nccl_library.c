/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NCCL, opened at run time where Tandem looks for its own libraries. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <tandem/setup.h>

#include "error.h"
#include "team.h"

tdmi_nccl_functions tdmi_nccl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open, was_tried;
static char why_not[512]; /* what was tried, and how each of it failed */

static void *try_open(const char *file) {
    const size_t length = strlen(why_not);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) snprintf(why_not + length, sizeof why_not - length, "%s; ", dlerror());
    return handle;
}

static void *open_anywhere(void) {
    static const char name[] = "libnccl.so.2";
    const char *file = tdm_get_setting("TANDEM_NCCL_LIBRARY");
    const char *folders = tdm_get_setting("TANDEM_LIBRARY_PATH");
    void *handle = NULL;
    if (file) return try_open(file);
    for (; !handle && folders && *folders; folders += *folders == ':') {
        const size_t length = strcspn(folders, ":");
        char path[1024];
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
        if (*folders == '/') handle = try_open(path);
        folders += length;
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
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol) {
            snprintf(why_not, sizeof why_not, "%s; ", dlerror());
            return false;
        }
        memcpy(symbols[i].address, &symbol, sizeof symbol);
    }
    return true;
}

static void open_once(void) {
    was_tried = true;
    if (getauxval(AT_SECURE)) {
        snprintf(why_not, sizeof why_not, "a privileged program opens no libraries; ");
        return;
    }
    void *handle = open_anywhere();
    is_open = handle && find_functions(handle);
}

tdm_status tdmi_nccl_open(void) {
    pthread_mutex_lock(&lock);
    if (!was_tried) open_once();
    pthread_mutex_unlock(&lock);
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
