/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* On pocl, through a stand-in for the ICD loader. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

const char count_device[] = "opencl:0";
const unsigned long count_mapping = 0;

/* The library has opened the stand-in by its path; it is one in the process. */
static void *find(const char *name) {
    static void *library;
    if (!library) library = dlopen(TEST_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (symbol) return symbol;
    fprintf(stderr, "no stand-in with %s: %s\n", name, dlerror());
    exit(1);
}

void count_reset(void) {
    void (*reset)(void);
    void *symbol = find("opencl_count_reset");
    memcpy(&reset, &symbol, sizeof symbol);
    reset();
}

const char *count_called(size_t index, unsigned long *calls) {
    const char *(*called)(size_t, unsigned long *);
    void *symbol = find("opencl_count_called");
    memcpy(&called, &symbol, sizeof symbol);
    return called(index, calls);
}

bool count_is_work(const char *function) { return strncmp(function, "clEnqueue", 9) == 0; }

bool count_is_free(const char *function) {
    (void)function;
    return false;
}

bool count_is_argument(const char *function) { return strcmp(function, "clSetKernelArg") == 0; }
