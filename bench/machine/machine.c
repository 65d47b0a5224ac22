/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's processor, memory and system. */
#include "machine/machine.h"

#include <stdio.h>
#include <time.h>

#include <tandem/tandem.h>

#include "platform/machine.h"
#include "platform/program.h"

static const char *cpu_model(char *text, size_t size) {
    char vendor[64];
    tdmi_machine_processor(text, size, vendor, sizeof vendor);
    return text;
}

size_t bench_cache_bytes(void) {
    static size_t largest;
    if (!largest) largest = (size_t)tdmi_machine_cache();
    if (!largest) largest = (size_t)32 << 20;
    return largest;
}

static json_t *describe_devices(void) {
    json_t *list = json_array();
    size_t count;
    const tdm_device_info *info;
    if (tdm_get_device_count(&count) != TDM_OK) return list;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_listed_device(i, &info) != TDM_OK) continue;
        json_t *device = json_object();
        json_object_set_new(device, "id", json_string(info->id));
        json_object_set_new(device, "name", json_string(info->name));
        json_object_set_new(device, "api_version", json_string(info->api_version));
        json_object_set_new(device, "driver_version", json_string(info->driver_version));
        json_array_append_new(list, device);
    }
    return list;
}

json_t *bench_describe_machine(void) {
    char text[256], kernel[256], architecture[256];
    uint64_t memory, available;
    json_t *machine = json_object();
    json_object_set_new(machine, "cpu", json_string(cpu_model(text, sizeof text)));
    json_object_set_new(machine, "cores", json_integer(bench_threads()));
    json_object_set_new(machine, "last_level_cache_bytes",
                        json_integer((json_int_t)bench_cache_bytes()));
    tdmi_machine_memory(&memory, &available);
    json_object_set_new(machine, "memory_bytes", json_integer((json_int_t)memory));
    tdmi_system_describe(text, sizeof text, kernel, sizeof kernel, architecture,
                         sizeof architecture);
    json_object_set_new(machine, "os", json_string(text));
    json_object_set_new(machine, "kernel", json_string(kernel));
    json_object_set_new(machine, "architecture", json_string(architecture));
    const time_t now = time(NULL);
    const struct tm *utc = gmtime(&now);
    if (utc && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", utc) > 0)
        json_object_set_new(machine, "time", json_string(text));
    json_object_set_new(machine, "tandem", json_string(tdm_version()));
    json_object_set_new(machine, "devices", describe_devices());
    return machine;
}

const char *bench_machine_line(char *text, size_t size) {
    char cpu[256], system[256], kernel[256], architecture[256];
    tdmi_system_describe(system, sizeof system, kernel, sizeof kernel, architecture,
                         sizeof architecture);
    snprintf(text, size, "%s, %d cores, last-level cache %zu MiB, %s", cpu_model(cpu, sizeof cpu),
             bench_threads(), bench_cache_bytes() >> 20, system);
    return text;
}
