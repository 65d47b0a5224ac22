/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The devices as JSON. */
#include <jansson.h>

#include "devices.h"
#include "tools.h"

static json_t *json_number(uint64_t value) {
    return value == TDM_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *json_text_or_null(const char *text) {
    return text[0] ? json_string(text) : json_null();
}

static json_t *json_process(const tdm_process *process) {
    json_t *object = json_object();
    json_object_set_new(object, "pid", json_integer((json_int_t)process->pid));
    json_object_set_new(object, "name", json_text_or_null(process->name));
    json_object_set_new(object, "memory", json_number(process->memory));
    json_object_set_new(object, "tandem_reserved", json_number(process->tandem_reserved));
    return object;
}

/* The names and units of tdm_device_usage. */
static json_t *json_usage(const tdm_device_usage *usage) {
    json_t *object = json_object(), *processes = json_array();
    json_object_set_new(object, "memory_used", json_number(usage->memory_used));
    json_object_set_new(object, "memory_total", json_number(usage->memory_total));
    json_object_set_new(object, "tandem_reserved", json_number(usage->tandem_reserved));
    json_object_set_new(object, "utilization", json_number(usage->utilization));
    json_object_set_new(object, "temperature", json_number(usage->temperature));
    json_object_set_new(object, "power", json_number(usage->power));
    json_object_set_new(object, "power_limit", json_number(usage->power_limit));
    for (size_t i = 0; i < usage->process_count; i++)
        json_array_append_new(processes, json_process(&usage->processes[i]));
    json_object_set_new(object, "processes", processes);
    return object;
}

json_t *json_device(const device_row *row) {
    const tdm_device_info *info = row->info;
    json_t *device = json_object();
    json_object_set_new(device, "id", json_string(info->id));
    json_object_set_new(device, "default", json_boolean(row->is_default));
    json_object_set_new(device, "name", json_string(info->name));
    json_object_set_new(device, "vendor", json_string(info->vendor));
    json_object_set_new(device, "backend", json_string(tdm_backend_name(info->backend)));
    json_object_set_new(device, "index", json_integer(info->index));
    json_object_set_new(device, "platform", json_string(info->platform));
    json_object_set_new(device, "api_version", json_string(info->api_version));
    json_object_set_new(device, "driver_version", json_string(info->driver_version));
    json_object_set_new(device, "type", json_string(device_type_name(info->type)));
    json_object_set_new(device, "compute_units", json_integer(info->compute_units));
    json_object_set_new(device, "compute_capability", json_integer(info->compute_capability));
    json_object_set_new(device, "memory_total", json_number(info->memory_total));
    json_object_set_new(device, "memory_free", json_number(info->memory_free));
    json_object_set_new(device, "max_allocation", json_number(info->max_allocation));
    json_object_set_new(device, "max_group_size", json_number(info->max_group_size));
    json_object_set_new(device, "f64", json_boolean(info->has_f64));
    json_object_set_new(device, "f16", json_boolean(info->has_f16));
    json_object_set_new(device, "unified_memory", json_boolean(info->unified_memory));
    json_object_set_new(device, "uuid", json_text_or_null(info->uuid));
    json_object_set_new(device, "pci", json_text_or_null(info->pci));
    json_object_set_new(device, "same_as", json_text_or_null(info->same_as));
    json_object_set_new(device, "usage", json_usage(&row->usage));
    return device;
}

json_t *json_time(const device_snapshot *snapshot) {
    char now[32] = "";
    const struct tm *local = localtime(&snapshot->time);
    if (local) strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S%z", local);
    return json_string(now);
}

json_t *json_devices(const device_snapshot *snapshot) {
    json_t *root = json_object(), *counts = json_object(), *devices = json_array();
    for (int b = 0; b < TDM_BACKEND_COUNT; b++)
        json_object_set_new(counts, tdm_backend_name(all_backends[b]),
                            json_integer((json_int_t)snapshot->backend_counts[b]));
    for (size_t i = 0; i < snapshot->count; i++)
        json_array_append_new(devices, json_device(&snapshot->rows[i]));
    json_object_set_new(root, "version", json_string(tdm_version()));
    json_object_set_new(root, "time", json_time(snapshot));
    json_object_set_new(root, "device_counts", counts);
    json_object_set_new(root, "physical_gpus", json_integer((json_int_t)snapshot->gpu_count));
    json_object_set_new(root, "devices", devices);
    return root;
}
