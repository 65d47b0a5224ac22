/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A device's own report, all without a context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "opencl_backend.h"
#include "platform/process.h"

/* Attributes of vendors' extensions that the common headers lack. */
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define DEVICE_PCI_BUS_ID_NV 0x4008
#define DEVICE_PCI_SLOT_ID_NV 0x4009
#define DEVICE_PCI_DOMAIN_ID_NV 0x400A
#define DEVICE_WAVEFRONT_WIDTH_AMD 0x4043

#define MOST_LANES 256u
/* The needs of a group of the kernel matmul_tiles. */
#define TENSOR_LANES 256u
#define TENSOR_MEMORY (48u << 10)
#define LONGEST_TEXT (1u << 20) /* more is no text: the driver is broken */

/* Environment variables that change what a driver's compiler makes of the same source. They are
 * part of the key under which compiled kernels are kept. */
static const char *const compiler_variables[] = {
    "POCL_BINARY_SPECIALIZE_WG",
    "POCL_BITCODE_FINALIZER",
    "POCL_CPU_VECTORIZER",
    "POCL_EXTRA_BUILD_FLAGS",
    "POCL_FORCE_PARALLEL_OUTER_LOOP",
    "POCL_FULL_REPLICATION_THRESHOLD",
    "POCL_KERNELLIB_NAME",
    "POCL_LLVM_CPU_NAME",
    "POCL_MAX_WORK_GROUP_SIZE",
    "POCL_WILOOPS_MAX_UNROLL_COUNT",
    "POCL_WORK_GROUP_METHOD",
    "POCL_WORK_GROUP_SPECIALIZATION",
    "AMD_OCL_BUILD_OPTIONS",
    "AMD_OCL_BUILD_OPTIONS_APPEND",
    "IGC_ExtraOCLOptions",
    "IGC_ExtraOCLInternalOptions",
};

/* The first error since tdmi_cl_describe began, in the thread that describes. */
static _Thread_local struct {
    cl_int code; /* CL_SUCCESS: none */
    cl_uint what;
    bool no_memory; /* of the host's, for us */
} accident;

static void note_accident(cl_int code, cl_uint what) {
    if (accident.code != CL_SUCCESS) return;
    accident.code = code;
    accident.what = what;
}

/* Facts that every driver of OpenCL 1.2 reports, without which a device is of no use. */
static bool must_be_answered(cl_device_info what) {
    static const cl_device_info questions[] = {
        CL_DEVICE_TYPE,
        CL_DEVICE_NAME,
        CL_DEVICE_VENDOR,
        CL_DEVICE_VERSION,
        CL_DRIVER_VERSION,
        CL_DEVICE_PROFILE,
        CL_DEVICE_EXTENSIONS,
        CL_DEVICE_AVAILABLE,
        CL_DEVICE_COMPILER_AVAILABLE,
        CL_DEVICE_ENDIAN_LITTLE,
        CL_DEVICE_MAX_COMPUTE_UNITS,
        CL_DEVICE_MAX_WORK_GROUP_SIZE,
        CL_DEVICE_GLOBAL_MEM_SIZE,
        CL_DEVICE_MAX_MEM_ALLOC_SIZE,
        CL_DEVICE_LOCAL_MEM_SIZE,
    };
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (questions[i] == what) return true;
    return false;
}

/* Asks the device. Drivers differ in how they say that they do not know a question; only what says
 * nothing about the question is an accident, or any failure where there must be an answer. */
static cl_int ask(cl_device_id id, cl_device_info what, size_t size, void *value, size_t *got) {
    cl_int code;
    TDMI_CL_TWICE(code, tdmi_cl.clGetDeviceInfo(id, what, size, value, got));
    bool shortage = code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
    if (code != CL_SUCCESS && (shortage || must_be_answered(what))) note_accident(code, what);
    return code;
}

static bool query(cl_device_id id, cl_device_info what, void *value, size_t size) {
    size_t got = 0;
    if (ask(id, what, size, value, &got) != CL_SUCCESS) return false;
    if (got != size && must_be_answered(what)) note_accident(CL_INVALID_VALUE, what);
    return got == size;
}

static cl_uint query_uint(cl_device_id id, cl_device_info what) {
    cl_uint value = 0;
    return query(id, what, &value, sizeof value) ? value : 0;
}

static cl_ulong query_ulong(cl_device_id id, cl_device_info what) {
    cl_ulong value = 0;
    return query(id, what, &value, sizeof value) ? value : 0;
}

/* A text of any length, malloc'ed; "" when the device does not tell; NULL when memory is short. */
static char *query_text(cl_device_id id, cl_device_info what) {
    size_t size = 0;
    if (ask(id, what, 0, NULL, &size) != CL_SUCCESS) size = 0;
    if (size > LONGEST_TEXT) size = 0;
    char *text = tdmi_calloc(size + 1, 1);
    if (text && size != 0 && ask(id, what, size, text, NULL) != CL_SUCCESS) text[0] = '\0';
    if (!text) accident.no_memory = true;
    return text;
}

/* Copies without the blanks that some drivers put before and after; cut to fit. */
static void copy_trimmed(char *target, size_t size, const char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    if (length >= size) length = size - 1;
    memcpy(target, text, length);
    target[length] = '\0';
    tdmi_clean_text(target, false);
}

static void query_short_text(cl_device_id id, cl_device_info what, char *target, size_t size) {
    char *text = query_text(id, what);
    copy_trimmed(target, size, text ? text : "");
    tdmi_free(text);
}

cl_int tdmi_cl_platform_text(cl_platform_id platform, cl_platform_info what, char *text,
                             size_t size) {
    char whole[512] = "";
    size_t got = 0;
    cl_int code;
    TDMI_CL_TWICE(code, tdmi_cl.clGetPlatformInfo(platform, what, sizeof whole - 1, whole, &got));
    if (code != CL_SUCCESS) whole[0] = '\0';
    copy_trimmed(text, size, whole);
    return code == CL_INVALID_VALUE ? CL_SUCCESS : code;
}

/* The same as part of a description. */
static void query_platform(cl_platform_id platform, cl_platform_info what, char *text,
                           size_t size) {
    cl_int code = tdmi_cl_platform_text(platform, what, text, size);
    if (code != CL_SUCCESS) note_accident(code, what);
}

/* Why a device cannot be used, or NULL. */
static const char *why_refused(cl_device_id id, cl_device_type type) {
    if ((type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CPU)) == 0)
        return "it is neither a GPU nor an accelerator nor a CPU";
    if (!query_uint(id, CL_DEVICE_AVAILABLE)) return "the driver says it is not available";
    if (!query_uint(id, CL_DEVICE_COMPILER_AVAILABLE))
        return "its driver has no compiler for OpenCL C";
    if (!query_uint(id, CL_DEVICE_ENDIAN_LITTLE)) return "it is big-endian";
    char text[64];
    query_short_text(id, CL_DEVICE_PROFILE, text, sizeof text);
    if (strcmp(text, "FULL_PROFILE") != 0) return "it does not have the full profile of OpenCL";
    int major = 0, minor = 0;
    query_short_text(id, CL_DEVICE_VERSION, text, sizeof text);
    if (sscanf(text, "OpenCL %d.%d", &major, &minor) != 2 || major < 1 || (major == 1 && minor < 2))
        return "its OpenCL is older than 1.2";
    return NULL;
}

static void find_pci(cl_device_id id, const char *extensions, tdm_device_info *info) {
    cl_device_pci_bus_info_khr khr;
    cl_device_topology_amd amd;
    cl_uint bus, slot;
    if (tdmi_cl_has_extension(extensions, "cl_khr_pci_bus_info") &&
        query(id, CL_DEVICE_PCI_BUS_INFO_KHR, &khr, sizeof khr)) {
        tdmi_set_pci(info, khr.pci_domain, khr.pci_bus, khr.pci_device, khr.pci_function);
    } else if (tdmi_cl_has_extension(extensions, "cl_nv_device_attribute_query") &&
               query(id, DEVICE_PCI_BUS_ID_NV, &bus, sizeof bus) &&
               query(id, DEVICE_PCI_SLOT_ID_NV, &slot, sizeof slot)) {
        /* The slot holds device and function as in a PCI devfn. */
        tdmi_set_pci(info, query_uint(id, DEVICE_PCI_DOMAIN_ID_NV), bus, slot >> 3, slot & 7);
    } else if (tdmi_cl_has_extension(extensions, "cl_amd_device_attribute_query") &&
               query(id, CL_DEVICE_TOPOLOGY_AMD, &amd, sizeof amd) &&
               amd.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD) {
        tdmi_set_pci(info, 0, (unsigned char)amd.pcie.bus, (unsigned char)amd.pcie.device,
                     (unsigned char)amd.pcie.function);
    }
}

static void find_uuid(cl_device_id id, const char *extensions, tdmi_device_facts *facts) {
    uint8_t uuid[CL_UUID_SIZE_KHR];
    if (tdmi_cl_has_extension(extensions, "cl_khr_device_uuid") &&
        query(id, CL_DEVICE_UUID_KHR, uuid, sizeof uuid))
        tdmi_set_uuid(facts, uuid);
}

static uint32_t floor_power_of_two(uint64_t value) {
    uint32_t power = 1;
    while (power * 2u <= value && power < 1u << 30)
        power *= 2u;
    return power;
}

static void find_groups(const tdmi_cl_entry *entry, const char *extensions,
                        tdmi_device_facts *facts) {
    cl_device_id id = entry->id;
    uint32_t units = facts->info.compute_units > 0 ? (uint32_t)facts->info.compute_units : 1;
    uint32_t largest = floor_power_of_two(facts->info.max_group_size);
    if (facts->info.type == TDM_DEVICE_CPU) {
        /* A barrier ends a loop over the lanes, so those of a row are few: one. */
        enum { MOST_LANES_OF_CPU = 64 };
        facts->min_lanes = 1;
        facts->max_lanes = largest < MOST_LANES_OF_CPU ? largest : MOST_LANES_OF_CPU;
        facts->max_team = 1;
        facts->max_groups = units * 4;
        facts->min_group_bytes = TDMI_HOST_GROUP_BYTES;
        return;
    }
    /* Fewer lanes than the hardware runs together would idle the others. */
    uint32_t together = 32;
    if (tdmi_cl_has_extension(extensions, "cl_amd_device_attribute_query"))
        together = query_uint(id, DEVICE_WAVEFRONT_WIDTH_AMD) == 32 ? 32 : 64;
    facts->max_lanes = largest < MOST_LANES ? largest : MOST_LANES;
    facts->min_lanes = together < facts->max_lanes ? together : facts->max_lanes;
    if (facts->alignment % 16 == 0) facts->min_team = facts->min_lanes;
    facts->max_team = facts->max_lanes;
    facts->max_groups = units * 16;
}

/* With the final zero, which separates one text from the next. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    return tdmi_hash(hash, text, strlen(text) + 1);
}

/* The readable texts are for people who inspect the cache; they may be cut, so everything goes
 * into the hash as well. */
static void make_cache_key(const tdmi_cl_entry *entry, tdmi_device_facts *facts) {
    static const cl_device_info parts[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                           CL_DRIVER_VERSION, CL_DEVICE_EXTENSIONS};
    uint64_t hash = TDMI_HASH_START;
    char version[256];
    query_platform(entry->platform, CL_PLATFORM_VERSION, version, sizeof version);
    hash = hash_text(hash, tdmi_dialect_opencl);
    hash = hash_text(hash_text(hash, facts->info.platform), version);
    hash = hash_text(hash, entry->compiler.options);
    if (entry->compiler.standard) hash = hash_text(hash, entry->compiler.standard);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = query_text(entry->id, parts[i]);
        hash = hash_text(hash, text ? text : "");
        tdmi_free(text);
    }
    for (size_t i = 0; i < sizeof compiler_variables / sizeof compiler_variables[0]; i++) {
        const char *value = tdmi_environment_get(compiler_variables[i]);
        if (value) hash = hash_text(hash_text(hash, compiler_variables[i]), value);
    }
    snprintf(facts->cache_key, sizeof facts->cache_key, "opencl|%.120s|%.120s|%.60s|%016llx",
             version, facts->info.name, facts->info.driver_version, (unsigned long long)hash);
}

uint64_t tdmi_cl_free_memory(const tdmi_cl_entry *entry) {
    size_t kibibytes[2] = {0, 0}; /* free in all, and in the largest block */
    size_t got = 0;
    cl_int code;
    if (!entry->free_memory) return TDM_UNKNOWN;
    TDMI_CL_TWICE(code, tdmi_cl.clGetDeviceInfo(entry->id, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD,
                                                sizeof kibibytes, kibibytes, &got));
    if (code != CL_SUCCESS || got < sizeof kibibytes[0]) return TDM_UNKNOWN;
    return (uint64_t)kibibytes[0] * 1024;
}

static void fill_info(tdmi_cl_entry *entry, const char *extensions, tdm_device_info *info) {
    cl_device_id id = entry->id;
    query_short_text(id, CL_DEVICE_NAME, info->name, sizeof info->name);
    query_short_text(id, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    query_short_text(id, CL_DEVICE_VERSION, info->api_version, sizeof info->api_version);
    query_short_text(id, CL_DRIVER_VERSION, info->driver_version, sizeof info->driver_version);
    query_platform(entry->platform, CL_PLATFORM_NAME, info->platform, sizeof info->platform);
    info->backend = TDM_OPENCL;
    info->compute_units = (int)query_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->memory_total = query_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_allocation = query_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    info->memory_free = tdmi_cl_free_memory(entry);
    size_t group = 0;
    info->max_group_size =
        query(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group) ? group : 1;
    info->has_f16 = tdmi_cl_has_extension(extensions, "cl_khr_fp16");
    info->has_f64 = tdmi_cl_has_extension(extensions, "cl_khr_fp64") ||
                    query_ulong(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    info->unified_memory =
        info->type == TDM_DEVICE_CPU || query_uint(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    if (tdmi_cl_has_extension(extensions, "cl_nv_device_attribute_query"))
        info->compute_capability = (int)(10 * query_uint(id, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) +
                                         query_uint(id, DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
    find_pci(id, extensions, info);
}

/* NULL, or why the device cannot be used; of no meaning when there was an accident. */
static const char *describe(tdmi_cl_entry *entry) {
    cl_device_id id = entry->id;
    tdmi_device_facts *facts = &entry->facts;
    cl_device_type type = query_ulong(id, CL_DEVICE_TYPE);
    /* Named even when refused, for the report. */
    query_short_text(id, CL_DEVICE_NAME, facts->info.name, sizeof facts->info.name);
    const char *refused = why_refused(id, type);
    if (refused) return refused;

    char *extensions = query_text(id, CL_DEVICE_EXTENSIONS);
    if (!extensions) return "memory is short";
    facts->info.type = (type & CL_DEVICE_TYPE_GPU) != 0           ? TDM_DEVICE_GPU
                       : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? TDM_DEVICE_ACCELERATOR
                                                                  : TDM_DEVICE_CPU;
    entry->free_memory = tdmi_cl_has_extension(extensions, "cl_amd_device_attribute_query");
    fill_info(entry, extensions, &facts->info);
    find_uuid(id, extensions, facts);
    char version[256];
    query_short_text(id, CL_DEVICE_VERSION, version, sizeof version);
    entry->compiler = tdmi_cl_compiler_of(&facts->info, version, extensions);
    bool cpu = facts->info.type == TDM_DEVICE_CPU;
    entry->early_markers = !cpu && strncmp(facts->info.vendor, "Intel", 5) == 0;
    facts->one_thread = strcmp(facts->info.platform, "Oclgrind") == 0;
    facts->cache_bytes = query_ulong(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    facts->alignment = query_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    if (facts->alignment == 0) facts->alignment = 128;
    find_groups(entry, extensions, facts);
    entry->native_kernels =
        cpu && (query_ulong(id, CL_DEVICE_EXECUTION_CAPABILITIES) & CL_EXEC_NATIVE_KERNEL) != 0;
    entry->shares_memory =
        cpu && (query_ulong(id, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
    entry->local_memory = query_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
    facts->tensor_cores = entry->compiler.tensor_cores && facts->max_lanes >= TENSOR_LANES &&
                          entry->local_memory >= TENSOR_MEMORY;
    entry->exact_division =
        (query_ulong(id, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    make_cache_key(entry, facts);
    tdmi_free(extensions);
    return NULL;
}

tdm_status tdmi_cl_describe(tdmi_cl_entry *entry, const char **refused) {
    memset(&accident, 0, sizeof accident);
    *refused = describe(entry);
    if (accident.no_memory)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for an OpenCL device");
    if (accident.code == CL_SUCCESS) return TDM_OK;
    return tdmi_fail(TDM_ERROR_BACKEND,
                     "its driver failed with %s (%d) when it was queried for %#x",
                     tdmi_cl_error_name(accident.code), accident.code, (unsigned)accident.what);
}
