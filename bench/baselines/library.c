/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "baselines/library.h"

#include <stdio.h>
#include <string.h>

#include "baselines/baseline.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"

/* A file of one of these names in a folder, `length` bytes of text. */
static void *open_in(const char *folder, size_t length, const char *const *names) {
    void *library = NULL;
    char path[1024];
    unsigned failure;
    for (; length && *names && !library; names++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, *names) < (int)sizeof path)
            library = tdmi_library_load(path, 0, &failure, NULL, 0);
    return library;
}

void *bench_open_library(const char *const *names, const char *const *folders, char *why) {
    const char *list = tdmi_environment_get("TANDEM_LIBRARY_PATH");
    const char separator[] = {tdmi_path_separator, '\0'};
    void *library = NULL;
    unsigned failure;
    for (size_t length; list && *list && !library; list += length + (list[length] != '\0')) {
        length = strcspn(list, separator);
        library = open_in(list, length, names);
    }
    for (; *names && !library; names++) {
        library = tdmi_library_load(*names, 0, &failure, why, BENCH_WHY_SIZE);
        for (const char *const *folder = folders; !library && folder && *folder; folder++) {
            char path[1024];
            if (tdmi_path_expand(*folder, path, sizeof path))
                library = open_in(path, strlen(path), (const char *const[]){*names, NULL});
        }
    }
    return library;
}

bool bench_resolve(void *library, const char *symbol, void *function, char *why) {
    void *address = tdmi_library_symbol(library, symbol);
    if (!address) {
        snprintf(why, BENCH_WHY_SIZE, "%s is missing", symbol);
        return false;
    }
    memcpy(function, &address, sizeof address);
    return true;
}
