/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding the devices, without making a context. */
#include "cuda_backend.h"
#include "platform/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tdmi_cuda_entry *records; /* room for all that there are; each stays where it is */
static size_t record_count;
static int driver_version;  /* 1000 * major + 10 * minor of the newest CUDA the driver supports */
static int runtime_version; /* the same */

/* One of the runtime's devices, by ordinal: described, or why it could not be queried this time. */
typedef struct asked_device {
    bool described;
    char why[256];
} asked_device;

static tdmi_mutex asked_lock = TDMI_MUTEX_INIT; /* of the two below */
static asked_device *asked;
static int asked_count;

static tdm_status no_device(cudaError_t error) {
    (void)tdmi_cudart.cudaGetLastError();
    const char *visible = tdmi_environment_get("CUDA_VISIBLE_DEVICES");
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
        return tdmi_fail(
            TDM_ERROR_UNAVAILABLE,
            "the NVIDIA driver supports CUDA %d.%d, the runtime is of CUDA %d.%d: "
            "update the driver, or name the directory of an older CUDA's run-time libraries in "
            "TANDEM_LIBRARY_PATH",
            driver_version / 1000, driver_version % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
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
    tdmi_cuda_entry *record = &records[record_count];
    cudaError_t error;
    TDMI_CUDA_TWICE(error, tdmi_cuda_describe(ordinal, record));
    if (error == cudaSuccess) {
        record_count++;
        asked[ordinal].described = true;
        return;
    }
    (void)!tdmi_cuda_fail(error, "asking for its properties");
    snprintf(asked[ordinal].why, sizeof asked[ordinal].why, "%.255s", tdm_last_error());
}

/* Whether no later query in this process would have another result. */
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

/* How many devices the runtime has, and room for what they report. */
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
    status = tdmi_cudrv_open();
    *again = status != TDM_ERROR_UNAVAILABLE;
    TDMI_TRY(status);
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
    TDMI_LOCKED(&asked_lock);
    return find_all(again);
}

size_t tdmi_cuda_count(void) { return record_count; }

const tdmi_cuda_entry *tdmi_cuda_entry_at(size_t index) { return &records[index]; }

tdm_status tdmi_cuda_info(size_t index, tdmi_device_facts *facts) {
    tdmi_cuda_fill_facts(&records[index], driver_version, runtime_version, facts);
    return TDM_OK;
}

static void diagnose_devices(void) {
    TDMI_LOCKED(&asked_lock);
    for (int ordinal = 0; ordinal < asked_count; ordinal++) {
        char subject[64];
        if (asked[ordinal].described) continue;
        snprintf(subject, sizeof subject, "CUDA device %d", ordinal);
        tdmi_diagnose(TDM_DIAGNOSTIC_DEVICE, false, subject, asked[ordinal].why,
                      "update the NVIDIA driver, or use another device");
    }
}

void tdmi_cuda_diagnose(void) {
    diagnose_devices();
    if (tdmi_cudart_open() == TDM_OK) {
        int count;
        cudaError_t error;
        tdm_status status = find_devices(&count, &error);
        if (status == TDM_OK) status = tdmi_cudrv_open();
        /* Entries from the first bad one on are passed over in silence: the variable is shown. */
        const char *visible = tdmi_environment_get("CUDA_VISIBLE_DEVICES");
        char detail[512], version[64];
        tdmi_cuda_driver_text(driver_version, version, sizeof version);
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
