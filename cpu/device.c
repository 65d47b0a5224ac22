/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend's table, and what the machine tells of itself. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cpu.h"
#include "machine/host_memory.h"

static tdm_status load(bool *again) {
    *again = false;
    return TDM_OK;
}

static size_t count(void) { return (size_t)tdmi_env_cpu_devices(); }

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

static tdm_status info(size_t index, tdmi_device_facts *facts) {
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
    facts->min_lanes = facts->max_lanes = 1;
    /* A few pieces per core, so that a core that is held up does not hold up the rest. */
    facts->max_groups = (uint32_t)tdmi_worker_count() * 4;
    facts->min_group_bytes = TDMI_HOST_GROUP_BYTES;
    facts->cache_bytes = cache_size();
    facts->alignment = 4096;
    return TDM_OK;
}

static tdm_status device_init(tdmi_bdevice *device, size_t index) {
    device->index = index;
    return TDM_OK;
}

static void device_deinit(tdmi_bdevice *device) { (void)device; }

static uint64_t device_free_memory(tdmi_bdevice *device) {
    (void)device;
    uint64_t total, available;
    tdmi_host_memory(&total, &available);
    return available;
}

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    (void)device;
    return tdmi_cpu_blas;
}

const tdmi_backend tdmi_backend_cpu = {
    .name = "cpu",
    .id = TDM_CPU,
    .device_size = sizeof(tdmi_bdevice),
    .queue_size = sizeof(tdmi_bqueue),
    .event_size = sizeof(tdmi_bevent),
    .program_size = sizeof(tdmi_bprogram),
    .kernel_size = sizeof(tdmi_bkernel),
    .load = load,
    .count = count,
    .info = info,
    .diagnose = tdmi_host_blas_diagnose,
    .device_init = device_init,
    .device_deinit = device_deinit,
    .device_free_memory = device_free_memory,
    .mem_alloc = tdmi_cpu_mem_alloc,
    .mem_free = tdmi_cpu_mem_free,
    .host_alloc = tdmi_cpu_mem_alloc,
    .host_free = tdmi_cpu_mem_free,
    .queue_init = tdmi_cpu_queue_init,
    .queue_deinit = tdmi_cpu_queue_deinit,
    .queue_flush = tdmi_cpu_queue_nothing,
    .queue_finish = tdmi_cpu_queue_nothing,
    .queue_drain = tdmi_cpu_queue_nothing,
    .write = tdmi_cpu_write,
    .read = tdmi_cpu_read,
    .copy = tdmi_cpu_copy,
    .copy_peer = tdmi_cpu_copy_peer,
    .fill = tdmi_cpu_fill,
    .map = tdmi_cpu_map,
    .unmap = tdmi_cpu_unmap,
    .event_init = tdmi_cpu_event_init,
    .event_deinit = tdmi_cpu_event_deinit,
    .event_record = tdmi_cpu_event_record,
    .event_wait = tdmi_cpu_event_wait,
    .event_query = tdmi_cpu_event_query,
    .event_elapsed = tdmi_cpu_event_elapsed,
    .queue_wait_event = tdmi_cpu_queue_wait_event,
    .program_build = tdmi_cpu_program_build,
    .program_deinit = tdmi_cpu_program_deinit,
    .kernel_init = tdmi_cpu_kernel_init,
    .kernel_deinit = tdmi_cpu_kernel_deinit,
    .launch = tdmi_cpu_launch,
    .blas = blas,
};
