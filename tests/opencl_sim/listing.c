/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libOpenCL.so.1 with made-up platforms and devices, which can be listed and nothing
 * more: no context is made on them. TDM_OPENCL_SIM describes them, words of "key=value", in which
 * '_' stands for a blank:
 *
 *   devices=N      how many, 8 at most
 *   nameN=         "simulated device" unless set
 *   platformN=     "simulated platform" unless set; a platform has the devices that name it
 *   typeN=         gpu (unless set), cpu or accelerator
 *   uuidN=         32 hexadecimal digits; "none" (unless set): the driver lacks cl_khr_device_uuid
 *   pciN=          domain:bus:device.function in hexadecimal, or "none" (unless set)
 *   pci_byN=       how the driver reports the address: khr (unless set), nv, nv_old, which leaves
 *                  out the domain, or amd, which has none; that driver reports free memory, too
 *
 * A word that is none of these ends the process with status 86. Every other function of the library
 * is in refusals.c. Written against the OpenCL specification and that of its extensions. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 8, BAD_DESCRIPTION = 86 };
enum { PCI_BUS_ID_NV = 0x4008, PCI_SLOT_ID_NV = 0x4009, PCI_DOMAIN_ID_NV = 0x400A };
enum { WAVEFRONT_WIDTH_AMD = 0x4043 };

typedef enum pci_query { BY_KHR, BY_NV, BY_OLD_NV, BY_AMD } pci_query;

struct _cl_platform_id {
    char name[64];
};

struct _cl_device_id {
    char name[128], platform_name[64];
    cl_platform_id platform;
    cl_device_type type;
    bool has_uuid, has_pci;
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    cl_device_pci_bus_info_khr pci;
    pci_query pci_by;
};

static struct _cl_device_id devices[MAX_DEVICES];
static struct _cl_platform_id platforms[MAX_DEVICES];
static cl_uint device_count, platform_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- the description -------------------------------------------------------------------------- */

static void refuse(const char *word) {
    fprintf(stderr, "simulated OpenCL: TDM_OPENCL_SIM has the word \"%s\"\n", word);
    _Exit(BAD_DESCRIPTION);
}

static void copy_name(char *target, size_t size, const char *value) {
    snprintf(target, size, "%s", value);
    for (; *target; target++)
        if (*target == '_') *target = ' ';
}

static bool read_uuid(const char *digits, cl_uchar *uuid) {
    if (strlen(digits) != 2 * CL_UUID_SIZE_KHR ||
        digits[strspn(digits, "0123456789abcdefABCDEF")] != '\0')
        return false;
    for (int i = 0; i < CL_UUID_SIZE_KHR; i++) {
        char two[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        uuid[i] = (cl_uchar)strtoul(two, NULL, 16);
    }
    return true;
}

/* The place of a word in a list of words; refused when it is none of them. */
static int choose(const char *word, const char *value, const char *const *choices, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(value, choices[i]) == 0) return i;
    refuse(word);
    return 0;
}

static void read_word(const char *word) {
    static const char *const types[] = {"gpu", "cpu", "accelerator"};
    static const cl_device_type type_bits[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU,
                                               CL_DEVICE_TYPE_ACCELERATOR};
    static const char *const queries[] = {"khr", "nv", "nv_old", "amd"};
    char key[16], value[128], rest;
    unsigned n = 0;
    if (sscanf(word, "devices=%u%c", &device_count, &rest) == 1 && device_count <= MAX_DEVICES)
        return;
    if (sscanf(word, "%15[a-z_]%u=%127s", key, &n, value) != 3 || n >= MAX_DEVICES) refuse(word);
    struct _cl_device_id *device = &devices[n];
    bool none = strcmp(value, "none") == 0;
    if (strcmp(key, "name") == 0) {
        copy_name(device->name, sizeof device->name, value);
    } else if (strcmp(key, "platform") == 0) {
        copy_name(device->platform_name, sizeof device->platform_name, value);
    } else if (strcmp(key, "type") == 0) {
        device->type = type_bits[choose(word, value, types, 3)];
    } else if (strcmp(key, "uuid") == 0) {
        device->has_uuid = !none && read_uuid(value, device->uuid);
        if (!none && !device->has_uuid) refuse(word);
    } else if (strcmp(key, "pci") == 0) {
        cl_device_pci_bus_info_khr *pci = &device->pci;
        device->has_pci = sscanf(value, "%x:%x:%x.%x%c", &pci->pci_domain, &pci->pci_bus,
                                 &pci->pci_device, &pci->pci_function, &rest) == 4;
        if (!none && !device->has_pci) refuse(word);
    } else if (strcmp(key, "pci_by") == 0) {
        device->pci_by = (pci_query)choose(word, value, queries, 4);
    } else {
        refuse(word);
    }
}

static cl_platform_id find_platform(const char *name) {
    cl_uint i = 0;
    while (i < platform_count && strcmp(platforms[i].name, name) != 0)
        i++;
    if (i == platform_count) snprintf(platforms[platform_count++].name, 64, "%s", name);
    return &platforms[i];
}

static void read_description(void) {
    const char *set = getenv("TDM_OPENCL_SIM");
    char *copy = strdup(set ? set : ""), *state = NULL;
    for (int i = 0; i < MAX_DEVICES; i++) {
        strcpy(devices[i].name, "simulated device");
        strcpy(devices[i].platform_name, "simulated platform");
        devices[i].type = CL_DEVICE_TYPE_GPU;
    }
    for (char *word = copy ? strtok_r(copy, " ", &state) : NULL; word;
         word = strtok_r(NULL, " ", &state))
        read_word(word);
    for (cl_uint i = 0; i < device_count; i++)
        devices[i].platform = find_platform(devices[i].platform_name);
    free(copy);
}

/* --- the library ------------------------------------------------------------------------------ */

/* Answers a question as all of clGet…Info do. */
static cl_int answer(const void *value, size_t value_size, size_t size, void *out, size_t *got) {
    if (out && size < value_size) return CL_INVALID_VALUE;
    if (out) memcpy(out, value, value_size);
    if (got) *got = value_size;
    return CL_SUCCESS;
}

/* Texts, of which some are the same for every platform or device. */
static cl_int answer_text(cl_uint what, const char *own, size_t size, void *out, size_t *got) {
    static const struct {
        cl_uint what;
        const char *text;
    } common[] = {
        {CL_PLATFORM_VENDOR, "simulated vendor"}, {CL_PLATFORM_VERSION, "OpenCL 3.0 simulated"},
        {CL_PLATFORM_PROFILE, "FULL_PROFILE"},    {CL_PLATFORM_EXTENSIONS, ""},
        {CL_DEVICE_VENDOR, "simulated vendor"},   {CL_DEVICE_VERSION, "OpenCL 3.0 simulated"},
        {CL_DRIVER_VERSION, "simulated driver"},  {CL_DEVICE_PROFILE, "FULL_PROFILE"}};
    for (size_t i = 0; !own && i < sizeof common / sizeof common[0]; i++)
        if (common[i].what == what) own = common[i].text;
    return own ? answer(own, strlen(own) + 1, size, out, got) : CL_INVALID_VALUE;
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *list, cl_uint *count) {
    pthread_once(&once, read_description);
    if (count) *count = platform_count;
    if (platform_count == 0) return CL_PLATFORM_NOT_FOUND_KHR;
    if ((!list && !count) || (list && room == 0)) return CL_INVALID_VALUE;
    for (cl_uint i = 0; list && i < room && i < platform_count; i++)
        list[i] = &platforms[i];
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *out,
                         size_t *got) {
    const char *own = what == CL_PLATFORM_NAME ? platform->name : NULL;
    return answer_text(what, own, size, out, got);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room,
                      cl_device_id *list, cl_uint *count) {
    cl_uint found = 0;
    for (cl_uint i = 0; i < device_count; i++) {
        if (devices[i].platform != platform || (devices[i].type & type) == 0) continue;
        if (list && found < room) list[found] = &devices[i];
        found++;
    }
    if (count) *count = found;
    return found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int get_extensions(cl_device_id device, size_t size, void *out, size_t *got) {
    static const char *const by[] = {"", " cl_nv_device_attribute_query",
                                     " cl_nv_device_attribute_query",
                                     " cl_amd_device_attribute_query"};
    char text[128];
    snprintf(text, sizeof text, "cl_khr_fp64%s%s%s", device->has_uuid ? " cl_khr_device_uuid" : "",
             device->has_pci && device->pci_by == BY_KHR ? " cl_khr_pci_bus_info" : "",
             by[device->pci_by]);
    return answer_text(CL_DEVICE_EXTENSIONS, text, size, out, got);
}

/* The card's identity, where the driver reports it. */
static cl_int get_card(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *got) {
    const cl_device_pci_bus_info_khr *pci = &device->pci;
    /* NVIDIA's slot is device and function in one. */
    cl_uint slot = pci->pci_device << 3 | pci->pci_function;
    bool by_nv = device->has_pci && (device->pci_by == BY_NV || device->pci_by == BY_OLD_NV);
    if (what == CL_DEVICE_UUID_KHR && device->has_uuid)
        return answer(device->uuid, sizeof device->uuid, size, out, got);
    if (what == CL_DEVICE_PCI_BUS_INFO_KHR && device->has_pci && device->pci_by == BY_KHR)
        return answer(pci, sizeof *pci, size, out, got);
    if (what == PCI_BUS_ID_NV && by_nv)
        return answer(&pci->pci_bus, sizeof pci->pci_bus, size, out, got);
    if (what == PCI_SLOT_ID_NV && by_nv) return answer(&slot, sizeof slot, size, out, got);
    if (what == PCI_DOMAIN_ID_NV && by_nv && device->pci_by == BY_NV)
        return answer(&pci->pci_domain, sizeof pci->pci_domain, size, out, got);
    if (device->pci_by != BY_AMD) return CL_INVALID_VALUE;
    const cl_device_topology_amd place = {.pcie = {.type = CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD,
                                                   .bus = (cl_char)pci->pci_bus,
                                                   .device = (cl_char)pci->pci_device,
                                                   .function = (cl_char)pci->pci_function}};
    const size_t kibibytes = (size_t)6 << 20;
    const cl_uint lanes = 64;
    if (what == CL_DEVICE_TOPOLOGY_AMD && device->has_pci)
        return answer(&place, sizeof place, size, out, got);
    if (what == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD)
        return answer(&kibibytes, sizeof kibibytes, size, out, got);
    if (what == WAVEFRONT_WIDTH_AMD) return answer(&lanes, sizeof lanes, size, out, got);
    return CL_INVALID_VALUE;
}

/* Numbers that are the same for every device. */
static const cl_bool yes = CL_TRUE, no = CL_FALSE;
static const cl_uint units = 16, alignment = 1024;
static const size_t group = 1024;
static const cl_ulong memory = 8ull << 30, cache = 4ull << 20;
static const cl_bitfield math = CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN | CL_FP_FMA;
static const cl_bitfield execution = CL_EXEC_KERNEL;

#define NUMBER(what, value)                                                                        \
    { CL_DEVICE_##what, sizeof(value), &(value) }
static const struct {
    cl_device_info what;
    size_t size;
    const void *value;
} numbers[] = {NUMBER(AVAILABLE, yes),
               NUMBER(COMPILER_AVAILABLE, yes),
               NUMBER(ENDIAN_LITTLE, yes),
               NUMBER(HOST_UNIFIED_MEMORY, no),
               NUMBER(MAX_COMPUTE_UNITS, units),
               NUMBER(MEM_BASE_ADDR_ALIGN, alignment),
               NUMBER(MAX_WORK_GROUP_SIZE, group),
               NUMBER(GLOBAL_MEM_SIZE, memory),
               NUMBER(MAX_MEM_ALLOC_SIZE, memory),
               NUMBER(LOCAL_MEM_SIZE, memory),
               NUMBER(GLOBAL_MEM_CACHE_SIZE, cache),
               NUMBER(SINGLE_FP_CONFIG, math),
               NUMBER(DOUBLE_FP_CONFIG, math),
               NUMBER(EXECUTION_CAPABILITIES, execution)};

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out,
                       size_t *got) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].what == what)
            return answer(numbers[i].value, numbers[i].size, size, out, got);
    switch (what) {
    case CL_DEVICE_NAME:
        return answer_text(what, device->name, size, out, got);
    case CL_DEVICE_EXTENSIONS:
        return get_extensions(device, size, out, got);
    case CL_DEVICE_VENDOR:
    case CL_DEVICE_VERSION:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_PROFILE:
        return answer_text(what, NULL, size, out, got);
    case CL_DEVICE_TYPE:
        return answer(&device->type, sizeof device->type, size, out, got);
    case CL_DEVICE_PLATFORM:
        return answer(&device->platform, sizeof(cl_platform_id), size, out, got);
    default:
        return get_card(device, what, size, out, got);
    }
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *list,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data, cl_int *code) {
    (void)properties;
    (void)count;
    (void)list;
    (void)notify;
    (void)data;
    if (code) *code = CL_DEVICE_NOT_AVAILABLE;
    return NULL;
}
