/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries by dlopen. */
#define _GNU_SOURCE
#include "platform/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The message ends with the system's words for the error. */
static bool is_accident(const char *why) {
    static const int errors[] = {ENOMEM, EMFILE, ENFILE, EAGAIN, EINTR, EIO};
    bool found = !why || strcmp(why, "out of memory") == 0;
    for (size_t i = 0; !found && i < sizeof errors / sizeof *errors; i++)
        found = strstr(why, strerror(errors[i]));
    return found;
}

/* Is there no such file, rather than one that does not open? The message begins with the name when
 * the search found nothing; else with the file's path, or the name of a library that it needs. */
static bool is_absent(const char *file, const char *why) {
    size_t length = strlen(file);
    if (strchr(file, '/')) return access(file, F_OK) != 0;
    return why && strncmp(why, file, length) == 0 && why[length] == ':';
}

/* A library that is opened may bind this thread to one core, and so all threads that it makes: GNU's OpenMP does where
 * OMP_PROC_BIND is set. */
static void *open_unbound(const char *file, int flags) {
#ifdef CPU_SETSIZE
    cpu_set_t cores[8]; /* of 1024 each */
    const bool known = sched_getaffinity(0, sizeof cores, cores) == 0;
    void *library = dlopen(file, flags);
    if (known) (void)sched_setaffinity(0, sizeof cores, cores);
    return library;
#else
    return dlopen(file, flags);
#endif
}

void *tdmi_library_load(const char *file, unsigned how, unsigned *failure, char *why, size_t size) {
    const int flags =
        (how & TDMI_LOAD_LAZY ? RTLD_LAZY : RTLD_NOW) | (how & TDMI_LOAD_LOADED ? RTLD_NOLOAD : 0);
    void *library = open_unbound(file, flags | RTLD_LOCAL);
    *failure = 0;
    if (library) return library;
    const char *reason = dlerror();
    if (is_accident(reason)) *failure |= TDMI_LOAD_ACCIDENT;
    if (is_absent(file, reason)) *failure |= TDMI_LOAD_ABSENT;
    if (why) snprintf(why, size, "%s", reason ? reason : file);
    return NULL;
}

void *tdmi_library_symbol(void *library, const char *name) { return dlsym(library, name); }

void tdmi_library_visit_drivers(void (*visit)(void *context, const char *file), void *context) {
    (void)visit, (void)context;
}

void tdmi_library_unload(void *library) { (void)dlclose(library); }

void tdmi_library_stay(void) {
    Dl_info own;
    const void *here = (const void *)(uintptr_t)&tdmi_library_stay;
    if (tdmi_library_can_load() && dladdr(here, &own) && own.dli_fname)
        (void)dlopen(own.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
    (void)dlerror(); /* of a program that the code is a part of */
}
