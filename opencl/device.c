/* Discovery, contexts, and the table that the core sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

/* Filled in once by load, read-only from then on. */
static tdmi_cl_entry *entries;
static size_t entry_count;

static int rank(const tdmi_cl_entry *entry) {
    switch (entry->facts.info.type) {
    case TDM_DEVICE_GPU:
        return 0;
    case TDM_DEVICE_ACCELERATOR:
        return 1;
    default:
        return 2;
    }
}

static int compare_entries(const void *left, const void *right) {
    const tdmi_cl_entry *a = left, *b = right;
    int difference = rank(a) - rank(b);
    if (difference == 0) difference = strcmp(a->facts.info.platform, b->facts.info.platform);
    if (difference == 0) difference = strcmp(a->facts.info.pci, b->facts.info.pci);
    return difference != 0 ? difference : a->order - b->order;
}

/* Takes the device into the list, or reports why not. */
static tdm_status add_device(cl_platform_id platform, cl_device_id id, const char *platform_name,
                             int order) {
    tdmi_cl_entry *grown = realloc(entries, (entry_count + 1) * sizeof *entries);
    if (grown == NULL) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot list the OpenCL devices");
    entries = grown;
    tdmi_cl_entry *entry = &entries[entry_count];
    memset(entry, 0, sizeof *entry);
    entry->platform = platform;
    entry->id = id;
    entry->order = order;
    const char *refused = tdmi_cl_describe(entry);
    if (refused == NULL) {
        entry_count++;
        return TDM_OK;
    }
    char subject[256], detail[256];
    snprintf(subject, sizeof subject, "%s (OpenCL platform %s)", entry->facts.info.name,
             platform_name);
    snprintf(detail, sizeof detail, "refused: %s", refused);
    tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, detail,
                  "update the device's OpenCL driver, or use another device");
    return TDM_OK;
}

/* Lists one platform's devices. A platform that cannot tell them is reported and skipped. */
static tdm_status add_platform(cl_platform_id platform, int *order) {
    char name[64], subject[128], detail[256];
    tdmi_cl_platform_text(platform, CL_PLATFORM_NAME, name, sizeof name);
    snprintf(subject, sizeof subject, "OpenCL platform %s",
             name[0] != '\0' ? name : "without name");
    cl_uint count = 0;
    cl_int code = tdmi_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) {
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, subject, "has no devices",
                      "check that the device is present and that this user may open it (groups "
                      "render and video), or remove the driver");
        return TDM_OK;
    }
    cl_device_id *ids = NULL;
    if (code == CL_SUCCESS) {
        ids = calloc(count, sizeof *ids);
        if (ids == NULL)
            return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot list the OpenCL devices");
        code = tdmi_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    }
    if (code != CL_SUCCESS) {
        free(ids);
        snprintf(detail, sizeof detail, "is broken: clGetDeviceIDs failed with %s (%d)",
                 tdmi_cl_error_name(code), code);
        tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, false, subject, detail,
                      "reinstall the driver of this platform, or remove its .icd file");
        return TDM_OK;
    }
    tdm_status status = TDM_OK;
    for (cl_uint i = 0; i < count && status == TDM_OK; i++)
        status = add_device(platform, ids[i], name, (*order)++);
    free(ids);
    char version[160];
    tdmi_cl_platform_text(platform, CL_PLATFORM_VERSION, version, sizeof version);
    snprintf(detail, sizeof detail, "%s, %u device%s", version, count, count == 1 ? "" : "s");
    tdmi_diagnose(TDM_DIAGNOSTIC_DRIVER, true, subject, detail, "");
    return status;
}

static tdm_status load(void) {
    TDMI_TRY(tdmi_cl_load());
    cl_uint count = 0;
    cl_int code = tdmi_cl.clGetPlatformIDs(0, NULL, &count);
    /* Loaders differ in how they say that there is nothing. */
    if (code == CL_SUCCESS && count == 0) code = CL_PLATFORM_NOT_FOUND_KHR;
    if (code != CL_SUCCESS) return tdmi_cl_fail(code, "clGetPlatformIDs");
    cl_platform_id *platforms = calloc(count, sizeof(cl_platform_id));
    if (platforms == NULL)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot list the OpenCL platforms");
    code = tdmi_cl.clGetPlatformIDs(count, platforms, NULL);
    tdm_status status = code == CL_SUCCESS ? TDM_OK : tdmi_cl_fail(code, "clGetPlatformIDs");
    int order = 0;
    for (cl_uint i = 0; i < count && status == TDM_OK; i++)
        status = add_platform(platforms[i], &order);
    free(platforms);
    TDMI_TRY(status);
    if (entry_count == 0)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "%u OpenCL platform%s installed, but none has a device that can be used; "
                         "`tandem doctor` says why",
                         count, count == 1 ? " is" : "s are");
    qsort(entries, entry_count, sizeof *entries, compare_entries);
    return TDM_OK;
}

static size_t device_count(void) { return entry_count; }

static tdm_status info(size_t index, tdmi_device_facts *facts) {
    *facts = entries[index].facts;
    return TDM_OK;
}

static void diagnose(void) {
    tdmi_cl_diagnose();
    tdmi_clblast_diagnose();
}

static tdm_status device_init(tdmi_bdevice *device, size_t index) {
    const tdmi_cl_entry *entry = &entries[index];
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)entry->platform, 0};
    device->entry = entry;
    device->internal = NULL;
    atomic_init(&device->generation, 0);
    atomic_init(&device->used_clblast, false);
    if (pthread_mutex_init(&device->lock, NULL) != 0)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "cannot make the lock of a device");
    cl_int code;
    device->context = tdmi_cl.clCreateContext(properties, 1, &entry->id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        pthread_mutex_destroy(&device->lock);
        /* Not lost: it was never had. Another process may own it for the moment. */
        if (code == CL_DEVICE_NOT_AVAILABLE)
            return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                             "%s: the driver says that the device is not available now",
                             entry->facts.info.name);
        return tdmi_cl_fail(code, "clCreateContext");
    }
    return TDM_OK;
}

static void device_deinit(tdmi_bdevice *device) {
    tdmi_clblast_forget(device);
    if (device->internal != NULL) (void)tdmi_cl.clReleaseCommandQueue(device->internal);
    (void)tdmi_cl.clReleaseContext(device->context);
    pthread_mutex_destroy(&device->lock);
}

static uint64_t device_free_memory(tdmi_bdevice *device) {
    return tdmi_cl_free_memory(device->entry);
}

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    static const tdmi_blas *const gpu[] = {&tdmi_cl_blas_clblast, NULL};
    static const tdmi_blas *const cpu[] = {&tdmi_cl_blas_cblas, &tdmi_cl_blas_clblast, NULL};
    return device->entry->native_kernels ? cpu : gpu;
}

const tdmi_backend tdmi_backend_opencl = {
    .name = "opencl",
    .id = TDM_OPENCL,
    .device_size = sizeof(tdmi_bdevice),
    .queue_size = sizeof(tdmi_bqueue),
    .event_size = sizeof(tdmi_bevent),
    .program_size = sizeof(tdmi_bprogram),
    .kernel_size = sizeof(tdmi_bkernel),
    .load = load,
    .count = device_count,
    .info = info,
    .diagnose = diagnose,
    .device_init = device_init,
    .device_deinit = device_deinit,
    .device_free_memory = device_free_memory,
    .mem_alloc = tdmi_cl_mem_alloc,
    .mem_free = tdmi_cl_mem_free,
    .host_alloc = tdmi_cl_host_alloc,
    .host_free = tdmi_cl_host_free,
    .queue_init = tdmi_cl_queue_init,
    .queue_deinit = tdmi_cl_queue_deinit,
    .queue_flush = tdmi_cl_queue_flush,
    .queue_finish = tdmi_cl_queue_finish,
    .queue_drain = tdmi_cl_queue_drain,
    .write = tdmi_cl_write,
    .read = tdmi_cl_read,
    .copy = tdmi_cl_copy,
    .fill = tdmi_cl_fill,
    .map = tdmi_cl_map,
    .unmap = tdmi_cl_unmap,
    .event_init = tdmi_cl_event_init,
    .event_deinit = tdmi_cl_event_deinit,
    .event_record = tdmi_cl_event_record,
    .event_wait = tdmi_cl_event_wait,
    .event_query = tdmi_cl_event_query,
    .event_elapsed = tdmi_cl_event_elapsed,
    .queue_wait_event = tdmi_cl_queue_wait_event,
    .program_build = tdmi_cl_program_build,
    .program_deinit = tdmi_cl_program_deinit,
    .kernel_init = tdmi_cl_kernel_init,
    .kernel_deinit = tdmi_cl_kernel_deinit,
    .launch = tdmi_cl_launch,
    .blas = blas,
};
