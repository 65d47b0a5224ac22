/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "stand_in.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find(void *library, const char *name, void *address) {
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "no stand-in with %s: %s\n", name, dlerror());
        abort();
    }
    memcpy(address, &symbol, sizeof symbol);
}

stand_in stand_in_open(void) {
    stand_in found;
    void *library = dlopen(TEST_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    find(library, "opencl_fail", &found.fail);
    find(library, "opencl_heal", &found.heal);
    find(library, "opencl_lazy", &found.lazy);
    return found;
}
