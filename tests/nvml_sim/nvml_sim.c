/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libnvidia-ml.so.1 with two made-up cards and a slice, for machines without one.
 *
 * Card 0 answers everything. Card 1 answers memory alone, the rest as cards do that have no sensor or
 * do not allow it. The slice (MIG) has memory and a process. NVML_SIM changes the answers:
 *   init   nvmlInit_v2 fails, as without the kernel module
 *   once   it fails the first time, as while the driver is updated
 *   many   card 0 has 100 processes
 *   lost   every question about a card is answered with "GPU is lost"
 * NVML_SIM_OLD leaves out what old drivers lack, NVML_SIM_FOREIGN functions that every caller needs.
 *
 * Written against the NVML API reference, not against cuda/nvml.c: the two must agree. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15
};

typedef struct card {
    const char *uuid, *pci;
    unsigned long long total, used;
} card;

static card cards[] = {
    {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "0000:3b:00.0", 80ull << 30, 20ull << 30},
    {"GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff", "0000:af:00.0", 24ull << 30, 1ull << 30},
    {"MIG-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", "", 10ull << 30, 2ull << 30},
};
static int initialised;

typedef struct memory {
    unsigned long long total, free, used;
} memory;
typedef struct utilization {
    unsigned int gpu, memory;
} utilization;
typedef struct process {
    unsigned int pid;
    unsigned long long used_gpu_memory;
    unsigned int gpu_instance, compute_instance;
} process;
typedef struct long_process {
    process process;
    unsigned long long used_protected_memory;
} long_process;

#define API __attribute__((visibility("default")))
API int nvmlInit_v2(void);
API const char *nvmlErrorString(int result);
API int nvmlDeviceGetHandleByUUID(const char *uuid, card **out);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, card **out);
API int nvmlDeviceGetMemoryInfo(card *c, memory *out);
API int nvmlDeviceGetUtilizationRates(card *c, utilization *out);
API int nvmlDeviceGetTemperature(card *c, int sensor, unsigned int *out);
API int nvmlDeviceGetPowerUsage(card *c, unsigned int *out);
API int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned int *out);
API int nvmlDeviceGetComputeRunningProcesses_v2(card *c, unsigned int *count, process *list);
API int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned int *count, long_process *list);

static int is_mode(const char *mode) {
    const char *set = getenv("NVML_SIM");
    return set && strcmp(set, mode) == 0;
}

/* The status of a query about a card before the card is looked at. */
static int refusal(const card *c, const void *out) {
    if (!initialised) return UNINITIALIZED;
    if (!c || !out) return INVALID_ARGUMENT;
    return is_mode("lost") ? GPU_IS_LOST : SUCCESS;
}

#ifndef NVML_SIM_FOREIGN
int nvmlInit_v2(void) {
    static int calls;
    calls++;
    if (is_mode("init") || (is_mode("once") && calls == 1)) return DRIVER_NOT_LOADED;
    initialised = 1;
    return SUCCESS;
}
#endif

const char *nvmlErrorString(int result) {
    return result == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}

static int find(const char *text, size_t offset, card **out) {
    if (!initialised) return UNINITIALIZED;
    if (!text || !*text || !out) return INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++) {
        const char *have;
        memcpy(&have, (const char *)&cards[i] + offset, sizeof have);
        if (strcmp(have, text) != 0) continue;
        *out = &cards[i];
        return SUCCESS;
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, card **out) {
    return find(uuid, offsetof(card, uuid), out);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, card **out) {
    return find(pci, offsetof(card, pci), out);
}

int nvmlDeviceGetMemoryInfo(card *c, memory *out) {
    int result = refusal(c, out);
    if (result == SUCCESS) *out = (memory){c->total, c->total - c->used, c->used};
    return result;
}

int nvmlDeviceGetUtilizationRates(card *c, utilization *out) {
    int result = refusal(c, out);
    if (result != SUCCESS) return result;
    if (c != &cards[0]) return NOT_SUPPORTED;
    *out = (utilization){73, 41};
    return SUCCESS;
}

/* An output that NVML does not answer has an unspecified value. */
static int answer(card *c, unsigned int value, unsigned int *out) {
    int result = refusal(c, out);
    if (out) *out = 12345;
    if (result != SUCCESS) return result;
    if (c != &cards[0]) return NOT_SUPPORTED;
    *out = value;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(card *c, unsigned int *out) { return answer(c, 312500, out); }

#ifndef NVML_SIM_OLD
int nvmlDeviceGetTemperature(card *c, int sensor, unsigned int *out) {
    return sensor == 0 ? answer(c, 64, out) : INVALID_ARGUMENT;
}

int nvmlDeviceGetEnforcedPowerLimit(card *c, unsigned int *out) { return answer(c, 700000, out); }
#endif

/* Card 0: the asking process, and one whose memory is not available. */
static int give_processes(card *c, unsigned int *count, process *list) {
    int result = refusal(c, count);
    if (result != SUCCESS) return result;
    if (c == &cards[1]) return NO_PERMISSION;
    unsigned int have = c != &cards[0] ? 1 : is_mode("many") ? 100 : 2;
    unsigned int room = *count;
    *count = have;
    if (room < have) return INSUFFICIENT_SIZE;
    if (!list) return INVALID_ARGUMENT;
    for (unsigned int i = 0; i < have; i++)
        list[i] = (process){900000 + i, 1ull << 20, ~0u, ~0u};
    if (have == 2) {
        list[0] = (process){(unsigned int)getpid(), 3ull << 30, ~0u, ~0u};
        list[1].used_gpu_memory = ~0ull;
    }
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(card *c, unsigned int *count, process *list) {
    return give_processes(c, count, list);
}

#ifndef NVML_SIM_OLD
/* As drivers 535.43 to 535.86 have it; those before and after have version 2's struct. */
int nvmlDeviceGetComputeRunningProcesses_v3(card *c, unsigned int *count, long_process *list) {
    process *of_2 = calloc(*count + 1, sizeof *of_2);
    const int result = of_2 ? give_processes(c, count, of_2) : INVALID_ARGUMENT;
    for (unsigned int i = 0; result == SUCCESS && i < *count; i++)
        list[i] = (long_process){of_2[i], 0};
    free(of_2);
    return result;
}
#endif
