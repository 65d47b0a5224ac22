/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What the machine reports of its processor. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cpu_backend.h"
#include "machine/host_memory.h"

/* The first line of a /proc file that begins with `key`; the text after the colon goes to value. */
static bool proc_value(const char *path, const char *key, char *value, size_t size) {
    FILE *file = fopen(path, "re");
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

/* Of the cache that all cores share; 0 when unknown. */
static uint64_t cache_size(void) {
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

static void copy_text(char *to, size_t size, const char *from) {
    snprintf(to, size, "%.*s", (int)size - 1, from);
}

/* By name on x86 and s390x; by number on ARM (Arm Ltd is 0x41) and RISC-V. */
static void find_vendor(char *vendor, size_t size) {
    char text[128];
    if (proc_value("/proc/cpuinfo", "vendor_id", text, sizeof text))
        copy_text(vendor, size, text);
    else if (proc_value("/proc/cpuinfo", "CPU implementer", text, sizeof text) ||
             proc_value("/proc/cpuinfo", "mvendorid", text, sizeof text))
        snprintf(vendor, size, "vendor %.50s", text);
    else
        copy_text(vendor, size, "unknown vendor");
}

tdm_status tdmi_cpu_info(size_t index, tdmi_device_facts *facts) {
    tdm_device_info *out = &facts->info;
    char text[256];
    (void)index;
    if (!proc_value("/proc/cpuinfo", "model name", text, sizeof text)) {
        struct utsname name;
        copy_text(text, sizeof text, uname(&name) == 0 ? name.machine : "CPU");
    }
    copy_text(out->name, sizeof out->name, text);
    find_vendor(out->vendor, sizeof out->vendor);
    snprintf(out->api_version, sizeof out->api_version, "Tandem %s, %s kernels", tdm_version(),
             tdmi_cpu_isa());
    out->type = TDM_DEVICE_CPU;
    out->compute_units = tdmi_worker_count();
    tdmi_host_memory(&out->memory_total, &out->memory_free);
    out->max_allocation = out->memory_total < PTRDIFF_MAX ? out->memory_total : PTRDIFF_MAX;
    out->max_group_size = 1;
    out->has_f64 = true;
    out->has_f16 = false;
    out->unified_memory = true;
    facts->host_memory = true;
    facts->streaming_stores = true;
    facts->synchronous = true;
    facts->row_loops = true;
    facts->min_lanes = facts->max_lanes = 1;
    /* A few pieces per core, so that a core that is held up does not hold up the rest. */
    facts->max_groups = (uint32_t)tdmi_worker_count() * 4;
    facts->min_group_bytes = TDMI_HOST_GROUP_BYTES;
    facts->cache_bytes = cache_size();
    facts->alignment = 4096;
    return TDM_OK;
}
