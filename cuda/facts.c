/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A device's own report, all without a context. */
#include "base/hash.h"
#include "cuda_backend.h"
#include "platform/file.h"
#include "system_names.h"

#include <stdio.h>
#include <string.h>

enum {
    GROUPS_PER_MULTIPROCESSOR =
        16,         /* 8 groups of 256 lanes fill one; twice that evens out the end */
    ALIGNMENT = 256 /* cudaMalloc's promise */
};

/* Attributes are queried one by one, because the struct of all properties differs between versions of CUDA. */
cudaError_t tdmi_cuda_describe(int ordinal, tdmi_cuda_entry *record) {
    const struct {
        enum cudaDeviceAttr attribute;
        int *value;
    } numbers[] = {{cudaDevAttrPciDomainId, &record->pci_domain},
                   {cudaDevAttrPciBusId, &record->pci_bus},
                   {cudaDevAttrPciDeviceId, &record->pci_device},
                   {cudaDevAttrComputeCapabilityMajor, &record->major},
                   {cudaDevAttrComputeCapabilityMinor, &record->minor},
                   {cudaDevAttrMultiProcessorCount, &record->multiprocessors},
                   {cudaDevAttrMaxThreadsPerBlock, &record->most_lanes},
                   {cudaDevAttrL2CacheSize, &record->cache_bytes},
                   {cudaDevAttrIntegrated, &record->integrated}};
    record->ordinal = ordinal;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        cudaError_t error =
            tdmi_cudart.cudaDeviceGetAttribute(numbers[i].value, numbers[i].attribute, ordinal);
        if (error != cudaSuccess) return error;
    }
    CUdevice device = 0;
    CUresult result = tdmi_cudrv.cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS)
        result = tdmi_cudrv.cuDeviceGetName(record->name, (int)sizeof record->name, device);
    if (result == CUDA_SUCCESS && tdmi_cudrv.cuDeviceGetUuid_v2)
        result = tdmi_cudrv.cuDeviceGetUuid_v2(&record->uuid, device);
    if (result == CUDA_SUCCESS) result = tdmi_cudrv.cuDeviceTotalMem_v2(&record->memory, device);
    return (cudaError_t)result;
}

/* CUDA does not tell the function, which of NVIDIA's GPUs is 0. */
static void copy_card(const tdmi_cuda_entry *record, tdmi_device_facts *facts) {
    uint8_t uuid[16];
    memcpy(uuid, record->uuid.bytes, sizeof uuid);
    tdmi_set_uuid(facts, uuid);
    tdmi_set_pci(&facts->info, (uint32_t)record->pci_domain, (uint32_t)record->pci_bus,
                 (uint32_t)record->pci_device, 0);
}

/* The kernel module has the driver's own version; CUDA reports only the API version it supports. */
void tdmi_cuda_driver_text(int driver_version, char *text, size_t size) {
    char module[32] = "";
    const tdmi_file file =
        tdmi_file_open(TDMI_HERE, TDMI_NVIDIA_VERSION_FILE, TDMI_OPEN_READ, NULL);
    if (file != TDMI_NO_FILE) {
        (void)tdmi_file_read(file, 0, module, sizeof module - 1);
        (void)tdmi_file_close(file);
    }
    module[strcspn(module, "\r\n")] = '\0';
    snprintf(text, size, "%s%sCUDA %d.%d%s", module, *module ? " (" : "", driver_version / 1000,
             driver_version % 1000 / 10, *module ? ")" : "");
}

/* The core's key has the kernel's text and options; what this folder adds to them comes here. The architecture and
 * NVRTC's version say whether the result is a cubin or PTX. It runs on every card of the architecture, with every
 * driver of CUDA's major version, so neither is part of the key: a cache can be made elsewhere. */
static void copy_cache_key(tdmi_device_facts *facts) {
    int major = 0, minor = 0;
    if (tdmi_nvrtc_open() == TDM_OK) tdmi_nvrtc_version(&major, &minor);
    snprintf(facts->cache_key, sizeof facts->cache_key, "cuda sm_%d nvrtc %d.%d dialect %016llx",
             facts->info.compute_capability, major, minor,
             (unsigned long long)tdmi_hash(TDMI_HASH_START, tdmi_dialect_cuda,
                                           strlen(tdmi_dialect_cuda)));
}

void tdmi_cuda_fill_facts(const tdmi_cuda_entry *record, int driver_version, int runtime_version,
                          tdmi_device_facts *facts) {
    memset(facts, 0, sizeof *facts);
    tdm_device_info *info = &facts->info;
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, record->name);
    snprintf(info->vendor, sizeof info->vendor, "NVIDIA Corporation");
    snprintf(info->api_version, sizeof info->api_version, "CUDA %d.%d", runtime_version / 1000,
             runtime_version % 1000 / 10);
    tdmi_cuda_driver_text(driver_version, info->driver_version, sizeof info->driver_version);
    info->backend = TDM_CUDA;
    info->type = TDM_DEVICE_GPU;
    copy_card(record, facts);
    info->compute_units = record->multiprocessors;
    info->compute_capability = tdmi_cuda_capability(record);
    info->memory_total = record->memory;
    info->memory_free = TDM_UNKNOWN; /* only a context could tell */
    info->max_allocation = record->memory;
    info->max_group_size = (uint64_t)record->most_lanes;
    info->has_f64 = true;
    info->has_f16 = info->compute_capability >= 53;
    info->unified_memory = record->integrated != 0;

    facts->streaming_stores = true;
    facts->tensor_cores = info->compute_capability >= TDMI_CUDA_TENSOR_CORES;
    facts->min_lanes = TDMI_CUDA_LEAST_LANES;
    facts->min_team = TDMI_CUDA_LEAST_TEAM;
    facts->max_lanes = TDMI_CUDA_LEAST_LANES;
    while (facts->max_lanes * 2 <= (uint32_t)record->most_lanes &&
           facts->max_lanes < TDMI_CUDA_MOST_LANES)
        facts->max_lanes *= 2;
    facts->max_team = facts->max_lanes;
    facts->max_groups = (uint32_t)record->multiprocessors * GROUPS_PER_MULTIPROCESSOR;
    facts->cache_bytes = record->cache_bytes > 0 ? (uint64_t)record->cache_bytes : 0;
    facts->alignment = ALIGNMENT;
    copy_cache_key(facts);
}
