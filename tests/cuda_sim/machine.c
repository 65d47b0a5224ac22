/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The simulated machine: its devices, as TDM_CUDA_SIM describes them, and their contexts. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

int sim_library_version;

static sim_machine machine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- the description ----------------------------------------------------------------------------
 */

static void give_up(const char *word) {
    fprintf(stderr, "cuda_sim: TDM_CUDA_SIM: \"%s\" is not understood\n", word);
    _exit(2);
}

static long number_of(const char *word, const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (!*text || *end) give_up(word);
    return value;
}

static void set_name(sim_device *device, const char *text) {
    snprintf(device->name, sizeof device->name, "%.100s%s", text,
             strstr(text, "imulated") ? "" : " (simulated)");
    for (char *c = device->name; *c; c++)
        if (*c == '_') *c = ' ';
}

static void set_uuid(const char *word, sim_device *device, const char *text) {
    memset(device->uuid, 0, sizeof device->uuid);
    if (strcmp(text, "none") == 0) return;
    if (strlen(text) != 32) give_up(word);
    for (int i = 0; i < 16; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        device->uuid[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

static void set_pci(const char *word, sim_device *device, const char *text) {
    device->domain = device->bus = device->slot = 0;
    if (strcmp(text, "none") == 0) return;
    if (sscanf(text, "%x:%x:%x", &device->domain, &device->bus, &device->slot) != 3) give_up(word);
}

/* "name0=…": keys for device 0. False for other keys. */
static bool describe_device(const char *word, const char *key, const char *value) {
    size_t letters = strcspn(key, "0123456789");
    if (!key[letters]) return false;
    long n = number_of(word, key + letters);
    if (n >= SIM_MAX_DEVICES) give_up(word);
    sim_device *device = &machine.all[n];
    if (strncmp(key, "name", letters) == 0 && letters == 4)
        set_name(device, value);
    else if (strncmp(key, "uuid", letters) == 0 && letters == 4)
        set_uuid(word, device, value);
    else if (strncmp(key, "pci", letters) == 0 && letters == 3)
        set_pci(word, device, value);
    else
        return false;
    return true;
}

static void set_fault(const char *word, const char *value) {
    char function[64], plus = '\0';
    unsigned long nth;
    int error;
    if (sscanf(value, "%63[A-Za-z0-9_]:%lu:%d", function, &nth, &error) != 3) {
        if (sscanf(value, "%63[A-Za-z0-9_]:%lu%c:%d", function, &nth, &plus, &error) != 4 ||
            plus != '+')
            give_up(word);
    }
    cuda_sim_fail(function, nth, plus == '+', error);
}

static void set_architectures(const char *word, const char *value) {
    machine.architecture_count = 0;
    for (const char *at = value; *at && machine.architecture_count < 16; at += *at == ',') {
        char *end;
        machine.architectures[machine.architecture_count++] = (int)strtol(at, &end, 10);
        if (end == at) give_up(word);
        at = end;
    }
}

static void set_compiler(const char *word, const char *value) {
    char rest;
    if (value[0] == '/') {
        snprintf(machine.nvrtc_path, sizeof machine.nvrtc_path, "%s", value);
        return;
    }
    machine.nvrtc_minor = 0;
    if (strspn(value, "0123456789.") != strlen(value) ||
        sscanf(value, "%d.%d%c", &machine.nvrtc_major, &machine.nvrtc_minor, &rest) < 1)
        give_up(word);
}

/* A number that all devices have alike, or NULL for other keys. */
static int *find_number(sim_device *device, const char *key) {
    if (strcmp(key, "capability") == 0) return &device->capability;
    if (strcmp(key, "multiprocessors") == 0) return &device->multiprocessors;
    return strcmp(key, "cache") == 0 ? &device->cache : NULL;
}

/* Keys for all devices. False for other keys. */
static bool describe_devices(const char *word, const char *key, const char *value) {
    if (!find_number(&machine.all[0], key)) return false;
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        *find_number(&machine.all[i], key) = (int)number_of(word, value);
    return true;
}

/* Keys for the machine. False for other keys. */
static bool describe_machine(const char *word, const char *key, const char *value) {
    static const struct {
        const char *key;
        int *number;
    } numbers[] = {{"devices", &machine.all_count},
                   {"driver", &machine.driver},
                   {"runtime", &machine.runtime},
                   {"cublas", &machine.blas_major},
                   {"builtins", &machine.builtins},
                   {"compiles", &machine.compiles},
                   {"kernel_threads", &machine.kernel_threads},
                   {"work", &machine.works},
                   {"skew", &machine.skew},
                   {"delay", &machine.delay},
                   {"implicit", &machine.implicit},
                   {"lazy", &machine.lazy},
                   {"leaks", &machine.leaks}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(numbers[i].key, key) != 0) continue;
        *numbers[i].number = (int)number_of(word, value);
        return true;
    }
    return false;
}

static void set_threads(const char *word, const char *value) {
    machine.threads = (uint32_t)number_of(word, value);
#ifndef SIM_THREADS
    if (machine.threads) give_up(word);
#endif
}

static void set(const char *word, const char *key, const char *value) {
    if (strcmp(key, "driver") == 0 && strcmp(value, "stub") == 0)
        machine.stub = true;
    else if (strcmp(key, "nvrtc") == 0)
        set_compiler(word, value);
    else if (strcmp(key, "architectures") == 0)
        set_architectures(word, value);
    else if (strcmp(key, "fail") == 0)
        set_fault(word, value);
    else if (strcmp(key, "threads") == 0)
        set_threads(word, value);
    else if (!describe_machine(word, key, value) && !describe_devices(word, key, value) &&
             !describe_device(word, key, value))
        give_up(word);
}

static void set_defaults(void) {
    /* as NVRTC 13.0 and 11.8 have them, one of each kind */
    static const int newer[] = {75, 80, 86, 89, 90, 100, 120};
    static const int older[] = {52, 61, 70, 75, 80, 86, 89, 90};
    const bool old = sim_library_version && sim_library_version < 12000;
    machine.all_count = 2;
    machine.driver = 13000;
    machine.runtime = sim_library_version ? sim_library_version : 13000;
    machine.architecture_count =
        (int)(old ? sizeof older / sizeof *older : sizeof newer / sizeof *newer);
    memcpy(machine.architectures, old ? older : newer, old ? sizeof older : sizeof newer);
    machine.builtins = machine.compiles = machine.works = 1;
    machine.kernel_threads = 1024;
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        sim_device *device = &machine.all[i];
        char name[32];
        device->number = i;
        snprintf(name, sizeof name, "Simulated GPU %d", i);
        set_name(device, name);
        memset(device->uuid, 0xa0 + i, sizeof device->uuid);
        device->bus = 0x10u + (unsigned)i;
        device->capability = 90;
        device->multiprocessors = 132; /* these as an H100 has them */
        device->cache = 50 << 20;
        device->memory = (size_t)4 << 30;
        device->context.device = device;
    }
}

/* --- CUDA_VISIBLE_DEVICES -----------------------------------------------------------------------
 */

/* "GPU-" or "MIG-" and the first digits of a UUID, of one device only. -1: none, or several. */
static int device_by_uuid(const char *token) {
    int found = -1;
    for (int i = 0; i < machine.all_count; i++) {
        char text[33] = "";
        for (int byte = 0; byte < 16; byte++)
            snprintf(text + 2 * byte, 3, "%02x", machine.all[i].uuid[byte]);
        size_t at = 0;
        const char *c = token + 4;
        while (*c && (*c == '-' || tolower((unsigned char)*c) == text[at]))
            at += *c++ != '-';
        if (*c) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

static int visible_device(const char *token) {
    if (strncmp(token, "GPU-", 4) == 0 || strncmp(token, "MIG-", 4) == 0)
        return device_by_uuid(token);
    char *end;
    long index = strtol(token, &end, 10);
    return end == token || *end || index < 0 || index >= machine.all_count ? -1 : (int)index;
}

/* As the driver reads it: devices up to the first bad entry; none where one is named twice. */
static void choose_visible(const char *list) {
    char copy[1024], *rest = NULL;
    if (!list) {
        for (int i = 0; i < machine.all_count; i++)
            machine.devices[machine.device_count++] = &machine.all[i];
        return;
    }
    snprintf(copy, sizeof copy, "%s", list);
    for (char *token = strtok_r(copy, ", ", &rest); token; token = strtok_r(NULL, ", ", &rest)) {
        int index = visible_device(token);
        if (index < 0) return;
        for (int i = 0; i < machine.device_count; i++) {
            if (machine.devices[i] != &machine.all[index]) continue;
            machine.device_count = 0;
            return;
        }
        machine.devices[machine.device_count++] = &machine.all[index];
    }
}

/* Address space that nothing is mapped to: following a device address on the host crashes. */
static void reserve_addresses(sim_device *device) {
    void *range =
        mmap(NULL, SIM_RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) give_up("(no address space)");
    device->base = device->next = (uintptr_t)range;
}

static void start(void) {
    char copy[2048], *rest = NULL;
    const char *description = getenv("TDM_CUDA_SIM");
    set_defaults();
    snprintf(copy, sizeof copy, "%s", description ? description : "");
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char key[64];
        const char *value = strchr(word, '=');
        if (!value || value - word >= (ptrdiff_t)sizeof key) give_up(word);
        snprintf(key, sizeof key, "%.*s", (int)(value - word), word);
        set(word, key, value + 1);
    }
    if (machine.all_count < 0 || machine.all_count > SIM_MAX_DEVICES) give_up("devices");
    choose_visible(getenv("CUDA_VISIBLE_DEVICES"));
    for (int i = 0; i < machine.all_count; i++)
        reserve_addresses(&machine.all[i]);
}

sim_machine *sim_get(void) {
    pthread_once(&once, start);
    return &machine;
}

__attribute__((destructor)) static void finish(void) {
    if (machine.leaks) (void)cuda_sim_report_leaks();
}

int sim_driver_error(void) {
    const sim_machine *m = sim_get();
    if (m->stub) return cudaErrorStubLibrary;
    if (m->driver / 1000 < m->runtime / 1000) return cudaErrorInsufficientDriver;
    return m->device_count ? 0 : cudaErrorNoDevice;
}

static atomic_bool initialised;

void sim_initialise(void) { atomic_store_explicit(&initialised, true, memory_order_relaxed); }

int sim_check_initialised(const char *function) {
    if (atomic_load_explicit(&initialised, memory_order_relaxed)) return 0;
    sim_report("%s: cuInit was not called", function);
    return CUDA_ERROR_NOT_INITIALIZED;
}

sim_device *sim_device_of(int ordinal, int *error) {
    *error = sim_driver_error();
    if (!*error && (ordinal < 0 || ordinal >= machine.device_count))
        *error = cudaErrorInvalidDevice;
    return *error ? NULL : machine.devices[ordinal];
}

/* --- contexts -----------------------------------------------------------------------------------
 */

enum { MAX_DEPTH = 32 };
static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;
static _Thread_local int chosen;
static _Thread_local int last_error;

int sim_set_error(int error) {
    if (error) last_error = error;
    return error;
}

int sim_take_error(void) {
    int error = last_error;
    last_error = 0;
    return error;
}

int cuda_sim_last_error(void) { return last_error; }

void sim_make_context(sim_device *device) {
    __atomic_store_n(&device->context.made, true, __ATOMIC_RELAXED);
}

int sim_sticky(const struct CUctx_st *context) {
    return __atomic_load_n(&context->sticky, __ATOMIC_RELAXED);
}

void sim_lose_context(CUcontext context, int error) {
    int none = 0;
    (void)__atomic_compare_exchange_n(&context->sticky, &none, error, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED);
}

CUcontext sim_current(void) { return depth ? stack[depth - 1] : NULL; }

bool sim_push(CUcontext context) {
    if (depth == MAX_DEPTH) {
        sim_report("contexts are pushed and never popped");
        return false;
    }
    stack[depth++] = context;
    return true;
}

CUcontext sim_pop(void) { return depth ? stack[--depth] : NULL; }

void sim_set_current(CUcontext context) {
    if (depth)
        stack[depth - 1] = context;
    else
        stack[depth++] = context;
}

void sim_choose(int number) { chosen = number; }

int sim_chosen(void) {
    const CUcontext context = sim_current();
    return context ? context->device->number : chosen;
}

CUcontext sim_context(int *error) {
    CUcontext context = sim_current();
    *error = sim_driver_error();
    if (*error) return NULL;
    if (!context) {
        sim_initialise();
        context = &machine.devices[chosen]->context;
        sim_make_context(machine.devices[chosen]);
        sim_set_current(context);
    }
    *error = sim_sticky(context);
    return *error ? NULL : context;
}

void cuda_sim_lose(int device, int error) {
    sim_lose_context(&sim_get()->devices[device]->context, error);
}

void cuda_sim_choose_late(void) { sim_get()->chooses_late = true; }

bool cuda_sim_has_context(int device) {
    return __atomic_load_n(&sim_get()->devices[device]->context.made, __ATOMIC_RELAXED);
}
