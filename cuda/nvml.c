/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library: how busy a card is, also when OpenCL alone lists it.
 *
 * nvml.h is not part of the toolkit's minimum, so the little that is needed is declared here, after
 * the NVML API reference (docs.nvidia.com/deploy/nvml-api). Processes are listed
 * by version 2: version 1 has a shorter struct, and version 3 a longer one in drivers 535.43 to 535.86. */
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "machine/monitor.h"
#include "system_names.h"

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7, NVML_TEMPERATURE_GPU = 0 };

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct nvmlMemory_t {
    unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;

typedef struct nvmlUtilization_t {
    unsigned int gpu, memory; /* percent */
} nvmlUtilization_t;

typedef struct nvmlProcessInfo_t {
    unsigned int pid;
    unsigned long long usedGpuMemory; /* bytes; all ones when not available */
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef int (*get_processes)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *);

static struct {
    int (*init)(void);
    const char *(*error_string)(int);
    int (*by_uuid)(const char *, nvmlDevice_t *);
    int (*by_pci)(const char *, nvmlDevice_t *);
    int (*memory)(nvmlDevice_t, nvmlMemory_t *);
    int (*utilization)(nvmlDevice_t, nvmlUtilization_t *);
    int (*temperature)(nvmlDevice_t, int, unsigned int *);
    int (*power)(nvmlDevice_t, unsigned int *); /* milliwatts */
    int (*power_limit)(nvmlDevice_t, unsigned int *);
    get_processes processes;
} nvml;

static const char *const names[] = {TDMI_NAMES_NVML, NULL};
static tdmi_library library = {.title = "NVIDIA's management library NVML",
                               .names = names,
                               .advice = "it comes with the NVIDIA driver: install or update that"};

/* A function that the driver lacks leaves its figure unknown; only the way to a card is needed. */
#define SYMBOL(field, name, optional)                                                              \
    { name, (void (**)(void)) & nvml.field, optional }
static const tdmi_symbol symbols[] = {
    SYMBOL(init, "nvmlInit_v2", false),
    SYMBOL(by_uuid, "nvmlDeviceGetHandleByUUID", false),
    SYMBOL(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", false),
    SYMBOL(error_string, "nvmlErrorString", true),
    SYMBOL(memory, "nvmlDeviceGetMemoryInfo", true),
    SYMBOL(utilization, "nvmlDeviceGetUtilizationRates", true),
    SYMBOL(temperature, "nvmlDeviceGetTemperature", true),
    SYMBOL(power, "nvmlDeviceGetPowerUsage", true),
    SYMBOL(power_limit, "nvmlDeviceGetEnforcedPowerLimit", true),
    SYMBOL(processes, "nvmlDeviceGetComputeRunningProcesses_v2", true),
};
enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static bool started;
static char why_not[256]; /* why a library that was opened is of no use; else "" */

/* Whether NVML can be queried. A failed attempt is repeated with the next question: a driver that
 * is being updated is of use again when that is over. */
static bool start(void) {
    if (started) return true;
    why_not[0] = '\0';
    if (tdmi_library_open(&library, symbols, SYMBOLS) != TDM_OK) return false;
    int result = nvml.init();
    started = result == NVML_SUCCESS;
    if (started) return true;
    const char *text = nvml.error_string ? nvml.error_string(result) : NULL;
    snprintf(why_not, sizeof why_not, "nvmlInit_v2 failed with %d%s%s", result, text ? ": " : "",
             text ? text : "");
    return false;
}

/* Our texts of UUIDs are how NVML names card and slice. */
static bool find_by_uuid(const char *prefix, const uint8_t *uuid, nvmlDevice_t *card) {
    char text[48];
    tdmi_uuid_text(prefix, uuid, text);
    return nvml.by_uuid(text, card) == NVML_SUCCESS;
}

static bool find_card(const uint8_t *uuid, const char *pci, nvmlDevice_t *card) {
    if (uuid && (find_by_uuid("GPU", uuid, card) || find_by_uuid("MIG", uuid, card))) return true;
    return pci[0] && nvml.by_pci(pci, card) == NVML_SUCCESS;
}

static void ask_memory(nvmlDevice_t card, tdm_device_usage *usage) {
    nvmlMemory_t memory = {0};
    if (!nvml.memory || nvml.memory(card, &memory) != NVML_SUCCESS || memory.total == 0) return;
    usage->memory_total = memory.total;
    usage->memory_used = memory.used;
}

static void ask_sensors(nvmlDevice_t card, tdm_device_usage *usage) {
    nvmlUtilization_t rates = {0};
    unsigned int value = 0;
    if (nvml.utilization && nvml.utilization(card, &rates) == NVML_SUCCESS)
        usage->utilization = rates.gpu;
    if (nvml.temperature && nvml.temperature(card, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        usage->temperature = value;
    if (nvml.power && nvml.power(card, &value) == NVML_SUCCESS) usage->power = value;
    if (nvml.power_limit && nvml.power_limit(card, &value) == NVML_SUCCESS)
        usage->power_limit = value;
}

/* Asks with room for some; when there are more, once again with room for those and a few that start
 * meanwhile. NULL when NVML does not report it. */
static nvmlProcessInfo_t *list_processes(nvmlDevice_t card, unsigned int *count) {
    unsigned int room = 64;
    for (int attempt = 0; nvml.processes && attempt < 2; attempt++) {
        nvmlProcessInfo_t *list = tdmi_calloc(room, sizeof *list);
        if (!list) return NULL;
        *count = room;
        int result = nvml.processes(card, count, list);
        if (result == NVML_SUCCESS && *count <= room) return list;
        tdmi_free(list);
        if (result != NVML_ERROR_INSUFFICIENT_SIZE || *count > 1u << 20) return NULL;
        room = *count + 16;
    }
    return NULL;
}

static bool is_listed(const tdm_device_usage *usage, uint64_t pid) {
    for (size_t i = 0; i < usage->process_count; i++)
        if (usage->processes[i].pid == pid) return true;
    return false;
}

static void ask_processes(nvmlDevice_t card, tdm_device_usage *usage) {
    unsigned int count = 0;
    nvmlProcessInfo_t *list = list_processes(card, &count);
    for (unsigned int i = 0; list && i < count; i++) {
        if (usage->process_count == TDM_MAX_PROCESSES) break;
        if (is_listed(usage, list[i].pid)) continue;
        usage->processes[usage->process_count++] = (tdm_process){
            .pid = list[i].pid,
            .memory = list[i].usedGpuMemory == UINT64_MAX ? TDM_UNKNOWN : list[i].usedGpuMemory,
            .tandem_reserved = TDM_UNKNOWN};
    }
    tdmi_free(list);
}

static bool fill_usage(const uint8_t *uuid, const char *pci, tdm_device_usage *usage) {
    nvmlDevice_t card = NULL;
    tdmi_mutex_lock(&lock);
    bool usable = start();
    tdmi_mutex_unlock(&lock);
    if (!usable || !find_card(uuid, pci, &card)) return false;
    ask_memory(card, usage);
    ask_sensors(card, usage);
    ask_processes(card, usage);
    return true;
}

static void diagnose(void) {
    char reason[sizeof why_not];
    tdmi_mutex_lock(&lock);
    (void)start();
    memcpy(reason, why_not, sizeof reason);
    tdmi_mutex_unlock(&lock);
    if (reason[0]) {
        char subject[160], detail[sizeof library.found + sizeof reason + 8];
        snprintf(subject, sizeof subject, "%s (%s)", names[0], library.title);
        snprintf(detail, sizeof detail, "%s: %s", library.found, reason);
        tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, false, subject, detail, library.advice);
        return;
    }
    tdmi_library_diagnose(&library, symbols, SYMBOLS);
}

const tdmi_monitor tdmi_monitor_nvml = {.name = "nvml", .usage = fill_usage, .diagnose = diagnose};
