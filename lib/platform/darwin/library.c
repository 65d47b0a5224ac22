/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Questions to macOS's dynamic loader. */
#include "platform/library.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <stdio.h>

/* A handle does not name its file: the one of those that are loaded whose handle it is. */
bool tdmi_library_path(void *library, char *path, size_t size) {
    snprintf(path, size, "%s", "");
    for (uint32_t i = _dyld_image_count(); i-- > 0;) {
        const char *name = _dyld_get_image_name(i);
        void *handle = name ? dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
        if (!handle) continue;
        (void)dlclose(handle); /* the same one, counted once more */
        if (handle != library) continue;
        snprintf(path, size, "%s", name);
        return true;
    }
    return false;
}

bool tdmi_library_can_load(void) { return true; }
