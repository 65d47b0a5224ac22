/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Questions to the dynamic loader of ELF files. For FreeBSD, too. */
#define _GNU_SOURCE
#include "platform/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

bool tdmi_library_path(void *library, char *path, size_t size) {
    struct link_map *map = NULL;
    const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name;
    snprintf(path, size, "%s", known ? map->l_name : "");
    return path[0] != '\0';
}

/* The first is the program itself. */
static int look_for_interpreter(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP) *(bool *)found = true;
    return 1;
}

bool tdmi_library_can_load(void) {
    bool is_dynamic = false;
    dl_iterate_phdr(look_for_interpreter, &is_dynamic);
    return is_dynamic;
}
