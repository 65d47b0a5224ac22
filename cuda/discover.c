/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding the devices, and their facts, without making a context. */
#include "cuda_backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUPS_PER_MULTIPROCESSOR =
        16,         /* 8 groups of 256 lanes fill one; twice that evens out the end */
    ALIGNMENT = 256 /* cudaMalloc's promise */
};

/* One listed device. */
typedef struct listed_device {
    int ordinal;
    struct cudaDeviceProp properties;
} listed_device;

static listed_device *records; /* room for all that there are; each stays where it is */
static size_t record_count;
static int driver_version;  /* 1000 * major + 10 * minor of the newest CUDA the driver supports */
static int runtime_version; /* likewise */

/* One of the runtime's devices, by ordinal: described, or why it could not be asked this time. */
typedef struct asked_device {
    bool described;
    char why[256];
} asked_device;

static pthread_mutex_t asked_lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static asked_device *asked;
static int asked_count;

static tdm_status no_device(cudaError_t error) {
    (void)tdmi_cudart.cudaGetLastError();
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *text = tdmi_cudart.cudaGetErrorString(error);
    const char *advice = tdmi_cuda_advice(error);
    return tdmi_fail(TDM_ERROR_UNAVAILABLE, "no CUDA device: %s%s%s%s%s%s", text,
                     visible ? " (CUDA_VISIBLE_DEVICES is \"" : "", visible ? visible : "",
                     visible ? "\")" : "", *advice ? "; " : "", advice);
}

/* Says whether there is a driver, and how new: the error of cudaGetDeviceCount is the same for an
 * old one and none at all. *error: the one to give advice for. */
static tdm_status find_driver(cudaError_t *error) {
    int runtime = 0;
    (void)tdmi_cuda_succeeds(tdmi_cudart.cudaRuntimeGetVersion(&runtime));
    TDMI_CUDA_TWICE(*error, tdmi_cudart.cudaDriverGetVersion(&driver_version));
    if (*error != cudaSuccess) return no_device(*error);
    if (driver_version == 0) {
        int count = 0;
        *error = tdmi_cudart.cudaGetDeviceCount(&count);
        (void)tdmi_cuda_succeeds(*error);
        if (*error == cudaErrorStubLibrary) return no_device(*error);
    }
    *error = cudaErrorInsufficientDriver;
    if (driver_version == 0)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "there is no NVIDIA driver (libcuda.so.1 was not found): install one that "
                         "supports CUDA %d.%d",
                         runtime / 1000, runtime % 1000 / 10);
    if (driver_version / 1000 < runtime / 1000)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "the NVIDIA driver supports CUDA %d.%d, the runtime is of CUDA %d.%d: "
                         "update the driver, or build with the toolkit of CUDA %d",
                         driver_version / 1000, driver_version % 1000 / 10, runtime / 1000,
                         runtime % 1000 / 10, driver_version / 1000);
    *error = cudaSuccess;
    return TDM_OK;
}

/* How many devices there are, at least one. */
static tdm_status find_devices(int *count, cudaError_t *error) {
    *count = 0;
    TDMI_TRY(find_driver(error));
    TDMI_CUDA_TWICE(*error, tdmi_cudart.cudaGetDeviceCount(count));
    if (*error == cudaSuccess && *count <= 0) *error = cudaErrorNoDevice;
    return *error == cudaSuccess ? TDM_OK : no_device(*error);
}

/* One device that cannot be described must not hide the others. */
static void describe(int ordinal) {
    listed_device *record = &records[record_count];
    cudaError_t error;
    TDMI_CUDA_TWICE(error, tdmi_cudart.cudaGetDeviceProperties(&record->properties, ordinal));
    if (error == cudaSuccess) {
        record->ordinal = ordinal;
        record_count++;
        asked[ordinal].described = true;
        return;
    }
    (void)!tdmi_cuda_fail(error, "cudaGetDeviceProperties");
    snprintf(asked[ordinal].why, sizeof asked[ordinal].why, "%.255s", tdm_last_error());
}

/* What no second question in this process would change. */
static bool is_final(cudaError_t error) {
    switch ((int)error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorStubLibrary:
    case cudaErrorNoDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDeviceNotLicensed:
        return true;
    default:
        return false;
    }
}

/* How many devices the runtime has, and room for what they tell. */
static tdm_status make_room(bool *again) {
    int count;
    cudaError_t error;
    tdm_status status = find_devices(&count, &error);
    *again = status != TDM_OK && !is_final(error);
    TDMI_TRY(status);
    records = tdmi_calloc((size_t)count, sizeof *records);
    asked = records ? tdmi_calloc((size_t)count, sizeof *asked) : NULL;
    if (!asked) {
        tdmi_free(records);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "no memory to list %d CUDA devices", count);
    }
    asked_count = count;
    return TDM_OK;
}

static tdm_status find_all(bool *again) {
    tdm_status status = tdmi_cudart_open();
    *again = status != TDM_OK && status != TDM_ERROR_UNAVAILABLE;
    TDMI_TRY(status);
    if (!asked) TDMI_TRY(make_room(again));
    *again = true;
    cudaError_t error;
    TDMI_CUDA_TWICE(error, tdmi_cudart.cudaRuntimeGetVersion(&runtime_version));
    if (error != cudaSuccess) {
        /* not as TDM_ERROR_OUT_OF_MEMORY, which is the host's and ends the listing */
        (void)!tdmi_cuda_fail(error, "cudaRuntimeGetVersion");
        return tdmi_fail(TDM_ERROR_BACKEND, "%s", tdm_last_error());
    }
    for (int ordinal = 0; ordinal < asked_count; ordinal++)
        if (!asked[ordinal].described) describe(ordinal);
    *again = record_count < (size_t)asked_count;
    return TDM_OK;
}

tdm_status tdmi_cuda_load(bool *again) {
    pthread_mutex_lock(&asked_lock);
    tdm_status status = find_all(again);
    pthread_mutex_unlock(&asked_lock);
    return status;
}

size_t tdmi_cuda_count(void) { return record_count; }

int tdmi_cuda_ordinal(size_t index) { return records[index].ordinal; }

int tdmi_cuda_capability(size_t index) {
    return 10 * records[index].properties.major + records[index].properties.minor;
}

/* CUDA does not tell the function, which of NVIDIA's GPUs is 0. */
static void copy_card(const struct cudaDeviceProp *properties, tdmi_device_facts *facts) {
    uint8_t uuid[16];
    memcpy(uuid, properties->uuid.bytes, sizeof uuid);
    tdmi_set_uuid(facts, uuid);
    tdmi_set_pci(&facts->info, (uint32_t)properties->pciDomainID, (uint32_t)properties->pciBusID,
                 (uint32_t)properties->pciDeviceID, 0);
}

/* The kernel module tells the driver's own version; CUDA only the API version it supports. */
static void copy_driver_version(char *text, size_t size) {
    char module[32] = "";
    FILE *file = fopen("/sys/module/nvidia/version", "re");
    if (file) {
        if (!fgets(module, sizeof module, file)) module[0] = '\0';
        fclose(file);
    }
    module[strcspn(module, "\r\n")] = '\0';
    snprintf(text, size, "%s%sCUDA %d.%d%s", module, *module ? " (" : "", driver_version / 1000,
             driver_version % 1000 / 10, *module ? ")" : "");
}

/* FNV-1a. */
static uint64_t hash_text(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* The core's key has the kernel's text and options; what this folder adds to them comes here. */
static void copy_cache_key(tdmi_device_facts *facts) {
    const tdm_device_info *info = &facts->info;
    int major = 0, minor = 0;
    if (tdmi_nvrtc_open() == TDM_OK) tdmi_nvrtc_version(&major, &minor);
    snprintf(facts->cache_key, sizeof facts->cache_key,
             "cuda %s sm_%d driver %s runtime %s nvrtc %d.%d dialect %016llx", info->name,
             info->compute_capability, info->driver_version, info->api_version, major, minor,
             (unsigned long long)hash_text(tdmi_dialect_cuda));
}

tdm_status tdmi_cuda_info(size_t index, tdmi_device_facts *facts) {
    const struct cudaDeviceProp *properties = &records[index].properties;
    memset(facts, 0, sizeof *facts);
    tdm_device_info *info = &facts->info;
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, properties->name);
    snprintf(info->vendor, sizeof info->vendor, "NVIDIA Corporation");
    snprintf(info->api_version, sizeof info->api_version, "CUDA %d.%d", runtime_version / 1000,
             runtime_version % 1000 / 10);
    copy_driver_version(info->driver_version, sizeof info->driver_version);
    info->backend = TDM_CUDA;
    info->type = TDM_DEVICE_GPU;
    copy_card(properties, facts);
    info->compute_units = properties->multiProcessorCount;
    info->compute_capability = tdmi_cuda_capability(index);
    info->memory_total = properties->totalGlobalMem;
    info->memory_free = TDM_UNKNOWN; /* only a context could tell */
    info->max_allocation = properties->totalGlobalMem;
    info->max_group_size = (uint64_t)properties->maxThreadsPerBlock;
    info->has_f64 = true;
    info->has_f16 = info->compute_capability >= 53;
    info->unified_memory = properties->integrated != 0;

    facts->streaming_stores = true;
    facts->min_lanes = TDMI_CUDA_LEAST_LANES;
    facts->max_lanes = TDMI_CUDA_LEAST_LANES;
    while (facts->max_lanes * 2 <= (uint32_t)properties->maxThreadsPerBlock &&
           facts->max_lanes < TDMI_CUDA_MOST_LANES)
        facts->max_lanes *= 2;
    facts->max_groups = (uint32_t)properties->multiProcessorCount * GROUPS_PER_MULTIPROCESSOR;
    facts->cache_bytes = properties->l2CacheSize > 0 ? (uint64_t)properties->l2CacheSize : 0;
    facts->alignment = ALIGNMENT;
    copy_cache_key(facts);
    return TDM_OK;
}

static void diagnose_devices(void) {
    pthread_mutex_lock(&asked_lock);
    for (int ordinal = 0; ordinal < asked_count; ordinal++) {
        char subject[64];
        if (asked[ordinal].described) continue;
        snprintf(subject, sizeof subject, "CUDA device %d", ordinal);
        tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, asked[ordinal].why,
                      "update the NVIDIA driver, or use another device");
    }
    pthread_mutex_unlock(&asked_lock);
}

void tdmi_cuda_diagnose(void) {
    diagnose_devices();
    if (tdmi_cudart_open() == TDM_OK) {
        int count;
        cudaError_t error;
        tdm_status status = find_devices(&count, &error);
        /* Entries from the first bad one on are passed over in silence: the variable is shown. */
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        char detail[512], version[64];
        copy_driver_version(version, sizeof version);
        snprintf(detail, sizeof detail, "version %s, %d device(s)%s%.256s%s", version, count,
                 visible ? "; CUDA_VISIBLE_DEVICES is \"" : "", visible ? visible : "",
                 visible ? "\"" : "");
        if (status != TDM_OK && driver_version == 0 && error == cudaErrorInsufficientDriver) {
            tdmi_diagnose_missing(TDM_DIAGNOSTIC_DRIVER, "NVIDIA driver", tdm_last_error(),
                                  tdmi_cuda_advice(error));
        } else {
            tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, status == TDM_OK, "NVIDIA driver",
                          status == TDM_OK ? detail : tdm_last_error(), tdmi_cuda_advice(error));
        }
    } else {
        tdmi_diagnose_missing(TDM_DIAGNOSTIC_DRIVER, "NVIDIA driver",
                              "not looked for, because the CUDA runtime cannot be used",
                              "install the CUDA runtime");
    }
    tdmi_cuda_diagnose_libraries();
}
