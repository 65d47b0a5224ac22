/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "baselines/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"

/* A file of one of these names in a folder, `length` bytes of text. */
static void *open_in(const char *folder, size_t length, const char *const *names) {
    void *library = NULL;
    char path[1024];
    for (; length && *names && !library; names++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, *names) < (int)sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

void *bench_open_library(const char *const *names, const char *const *folders, char *why) {
    const char *list = getenv("TANDEM_LIBRARY_PATH");
    void *library = NULL;
    for (size_t length; list && *list && !library; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        library = open_in(list, length, names);
    }
    for (; *names && !library; names++) {
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        const char *reason = library ? NULL : dlerror();
        if (!library) snprintf(why, BENCH_WHY_SIZE, "%s", reason ? reason : *names);
        for (const char *const *folder = folders; !library && folder && *folder; folder++)
            library = open_in(*folder, strlen(*folder), (const char *const[]){*names, NULL});
    }
    return library;
}

bool bench_resolve(void *library, const char *symbol, void *function, char *why) {
    void *address = dlsym(library, symbol);
    if (!address) {
        snprintf(why, BENCH_WHY_SIZE, "%s is missing", symbol);
        return false;
    }
    memcpy(function, &address, sizeof address);
    return true;
}
