/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The present state of a listed device, put together from the system, the cards' monitors and the
 * reports of processes that use Tandem. Each may be missing. */
#include "devices/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/sized.h"
#include "base/threads.h"
#include "machine/holders.h"
#include "machine/monitor.h"
#include "platform/machine.h"
#include "platform/process.h"

#define X(monitor) extern const tdmi_monitor tdmi_monitor_##monitor;
TDMI_MONITOR_LIST
#undef X

const tdmi_monitor *const tdmi_monitors[] = {
#define X(monitor) &tdmi_monitor_##monitor,
    TDMI_MONITOR_LIST
#undef X
        NULL};

/* Memory that the system would give back at need is not used. */
static void ask_system(tdm_device_usage *usage) {
    uint64_t total, available;
    tdmi_machine_memory(&total, &available);
    usage->memory_total = total;
    if (total != TDM_UNKNOWN && available != TDM_UNKNOWN)
        usage->memory_used = available < total ? total - available : 0;
}

static void ask_monitors(const tdmi_device_facts *facts, tdm_device_usage *usage) {
    /* A slice of a card (MIG) has the card's address, but not its figures. */
    bool slice = strncmp(facts->info.uuid, "MIG-", 4) == 0;
    const uint8_t *uuid = facts->has_uuid ? facts->uuid : NULL;
    const char *pci = slice ? "" : facts->info.pci;
    if (!uuid && !pci[0]) return;
    const tdmi_monitor *const *monitor = tdmi_monitors;
    tdmi_attempt_begin();
    while (*monitor && !(*monitor)->usage(uuid, pci, usage))
        monitor++;
    (void)tdmi_attempt_end(TDM_OK);
}

/* The place of a process that holds memory through Tandem. When all are taken, one that does not
 * gives way; when none is left, NULL. */
static tdm_process *place_of(tdm_device_usage *usage, uint64_t pid) {
    tdm_process *place = NULL;
    for (size_t i = 0; i < usage->process_count; i++) {
        if (usage->processes[i].pid == pid) return &usage->processes[i];
        if (usage->processes[i].tandem_reserved == TDM_UNKNOWN) place = &usage->processes[i];
    }
    if (usage->process_count < TDM_MAX_PROCESSES) place = &usage->processes[usage->process_count++];
    if (place)
        *place = (tdm_process){.pid = pid, .memory = TDM_UNKNOWN, .tandem_reserved = TDM_UNKNOWN};
    return place;
}

static void ask_processes(const tdmi_listed_device *devices, size_t index,
                          tdm_device_usage *usage) {
    tdmi_holder *holders;
    size_t count = tdmi_holders_list(devices, index, &holders);
    usage->tandem_reserved = 0;
    for (size_t i = 0; i < count; i++) {
        usage->tandem_reserved += holders[i].bytes;
        tdm_process *process = place_of(usage, holders[i].pid);
        if (process) process->tandem_reserved = holders[i].bytes;
    }
    tdmi_free(holders);
}

static int by_pid(const void *a, const void *b) {
    uint64_t left = ((const tdm_process *)a)->pid, right = ((const tdm_process *)b)->pid;
    return (left > right) - (left < right);
}

void tdmi_usage_of(const tdmi_listed_device *devices, size_t index, tdm_device_usage *usage) {
    const tdmi_device_facts *facts = &devices[index].facts;
    *usage = (tdm_device_usage){.memory_used = TDM_UNKNOWN,
                                .memory_total = facts->info.memory_total,
                                .utilization = TDM_UNKNOWN,
                                .temperature = TDM_UNKNOWN,
                                .power = TDM_UNKNOWN,
                                .power_limit = TDM_UNKNOWN};
    if (facts->info.type == TDM_DEVICE_CPU)
        ask_system(usage);
    else
        ask_monitors(facts, usage);
    ask_processes(devices, index, usage);
    for (size_t i = 0; i < usage->process_count; i++) {
        tdm_process *process = &usage->processes[i];
        tdmi_process_name(process->pid, process->name, sizeof process->name);
        tdmi_clean_text(process->name, false);
    }
    qsort(usage->processes, usage->process_count, sizeof usage->processes[0], by_pid);
}

TDMI_SIZED(tdm_device_usage, TDM_DEVICE_USAGE_DEFAULTS, processes)

tdm_status tdm_get_listed_device_usage(size_t index, tdm_device_usage *usage) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_enter());
    TDMI_TRY(
        tdmi_sized_check("tdm_get_listed_device_usage", "usage", &tdm_device_usage_sized, usage));
    tdm_device_usage now = {0};
    tdmi_sized_write(&tdm_device_usage_sized, &now, usage); /* for a failure */
    const tdmi_listed_device *devices;
    size_t count;
    TDMI_TRY(tdmi_registry_get(&devices, &count));
    if (index >= count)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "tdm_get_listed_device_usage: index is %zu, but %zu device%s listed",
                         index, count, count == 1 ? " is" : "s are");
    tdmi_usage_of(devices, index, &now);
    tdmi_sized_write(&tdm_device_usage_sized, &now, usage);
    return TDM_OK;
}
