/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine's processor, memory and system. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <tandem/tandem.h>

/* The value of the first line "key : value" or KEY="value" of a file. */
static bool read_value(const char *path, const char *key, char *value, size_t size) {
    FILE *stream = fopen(path, "r");
    char line[512];
    bool found = false;
    while (stream && !found && fgets(line, sizeof line, stream)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *text = line + strlen(key);
        text += strspn(text, " \t:=\"");
        snprintf(value, size, "%.*s", (int)strcspn(text, "\"\n"), text);
        found = true;
    }
    if (stream) fclose(stream);
    return found;
}

static const char *cpu_model(char *text, size_t size) {
    struct utsname names;
    if (!read_value("/proc/cpuinfo", "model name", text, size))
        snprintf(text, size, "%s", uname(&names) == 0 ? names.machine : "unknown");
    return text;
}

static const char *system_name(char *text, size_t size) {
    if (!read_value("/etc/os-release", "PRETTY_NAME", text, size)) snprintf(text, size, "unknown");
    return text;
}

size_t bench_cache_bytes(void) {
    static size_t largest;
    if (largest) return largest;
    for (int i = 0; i < 8; i++) {
        char path[96], unit = 0;
        unsigned long size = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *stream = fopen(path, "r");
        if (!stream) break;
        if (fscanf(stream, "%lu%c", &size, &unit) == 2) {
            size <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
            if (size > largest) largest = size;
        }
        fclose(stream);
    }
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
    char text[256];
    struct utsname names;
    json_t *machine = json_object();
    json_object_set_new(machine, "cpu", json_string(cpu_model(text, sizeof text)));
    json_object_set_new(machine, "cores", json_integer(bench_threads()));
    json_object_set_new(machine, "last_level_cache_bytes",
                        json_integer((json_int_t)bench_cache_bytes()));
    json_object_set_new(
        machine, "memory_bytes",
        json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * (json_int_t)sysconf(_SC_PAGESIZE)));
    json_object_set_new(machine, "os", json_string(system_name(text, sizeof text)));
    if (uname(&names) == 0) {
        json_object_set_new(machine, "kernel", json_string(names.release));
        json_object_set_new(machine, "architecture", json_string(names.machine));
    }
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        json_object_set_new(machine, "time", json_string(text));
    json_object_set_new(machine, "tandem", json_string(tdm_version()));
    json_object_set_new(machine, "devices", describe_devices());
    return machine;
}

const char *bench_machine_line(char *text, size_t size) {
    char cpu[256], system[256];
    snprintf(text, size, "%s, %d cores, last-level cache %zu MiB, %s", cpu_model(cpu, sizeof cpu),
             bench_threads(), bench_cache_bytes() >> 20, system_name(system, sizeof system));
    return text;
}
