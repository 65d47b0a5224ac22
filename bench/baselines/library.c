/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "baselines/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "baselines/baseline.h"

void *bench_open_library(const char *const *names, char *why) {
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        const char *reason = dlerror();
        snprintf(why, BENCH_WHY_SIZE, "%s", reason ? reason : *names);
    }
    return NULL;
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
