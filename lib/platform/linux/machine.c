/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine, by /proc and /sys. */
#define _GNU_SOURCE
#include "platform/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static uint64_t memory_line(const char *text, const char *name) {
    const char *at = strstr(text, name);
    char *end;
    if (!at) return UINT64_MAX;
    at += strlen(name);
    unsigned long long kilobytes = strtoull(at, &end, 10);
    return end == at ? UINT64_MAX : kilobytes * 1024;
}

void tdmi_machine_memory(uint64_t *total, uint64_t *available) {
    char text[512]; /* both are among the first lines */
    FILE *file = fopen("/proc/meminfo", "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    *total = memory_line(text, "MemTotal:");
    *available = memory_line(text, "MemAvailable:");
    if (*total != UINT64_MAX) return;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && size > 0) *total = (uint64_t)pages * (uint64_t)size;
}

/* The first line of /proc/cpuinfo that begins with `key`; the text after the colon goes to value. */
static bool cpu_value(const char *key, char *value, size_t size) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *colon = strchr(line, ':');
        if (!colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    fclose(file);
    return found;
}

/* The maker by name on x86 and s390x; by number on ARM (Arm Ltd is 0x41) and RISC-V. */
void tdmi_machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size) {
    char text[128];
    struct utsname system;
    if (!cpu_value("model name", name, name_size))
        snprintf(name, name_size, "%s", uname(&system) == 0 ? system.machine : "CPU");
    if (cpu_value("vendor_id", text, sizeof text))
        snprintf(vendor, vendor_size, "%s", text);
    else if (cpu_value("CPU implementer", text, sizeof text) ||
             cpu_value("mvendorid", text, sizeof text))
        snprintf(vendor, vendor_size, "vendor %.50s", text);
    else
        snprintf(vendor, vendor_size, "unknown vendor");
}

uint64_t tdmi_machine_cache(void) {
    long size = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE) /* glibc's own */
    size = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    if (size > 0) return (uint64_t)size;
    unsigned long long kib = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    if (file && fscanf(file, "%lluK", &kib) != 1) kib = 0;
    if (file) fclose(file);
    return kib * 1024;
}

void tdmi_machine_instructions(void (*take)(void *context, const char *text), void *context) {
    static const char *const lines[] = {"model name", "flags", "Features", "isa", "features"};
    char piece[512]; /* of a line, which may be some thousand bytes long */
    bool begins = true, wanted = false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    while (fgets(piece, sizeof piece, file) && !(begins && piece[0] == '\n')) {
        for (size_t i = 0; begins && i < sizeof lines / sizeof *lines; i++)
            wanted = wanted || strncmp(piece, lines[i], strlen(lines[i])) == 0;
        if (wanted) take(context, piece);
        begins = strchr(piece, '\n');
        wanted = wanted && !begins;
    }
    fclose(file);
}
