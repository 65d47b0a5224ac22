/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's own memory, from /proc/meminfo. */
#include "machine/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/device.h>

static uint64_t memory_line(const char *text, const char *name) {
    const char *at = strstr(text, name);
    char *end;
    if (!at) return TDM_UNKNOWN;
    at += strlen(name);
    unsigned long long kilobytes = strtoull(at, &end, 10);
    return end == at ? TDM_UNKNOWN : kilobytes * 1024;
}

void tdmi_host_memory(uint64_t *total, uint64_t *available) {
    char text[512]; /* both are among the first lines */
    FILE *file = fopen("/proc/meminfo", "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    *total = memory_line(text, "MemTotal:");
    *available = memory_line(text, "MemAvailable:");
    if (*total != TDM_UNKNOWN) return;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && size > 0) *total = (uint64_t)pages * (uint64_t)size;
}
