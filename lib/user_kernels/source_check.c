/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Whether a text in the dialect compiles for a backend, also where that has no device. */
#include "user_kernels/kernel.h"

#include "base/env.h"
#include "devices/registry.h"
#include "lanes.h"

static const tdmi_backend *find_backend(tdm_backend id) {
    for (size_t i = 0; i < tdmi_backend_count; i++)
        if (tdmi_backends[i]->id == id) return tdmi_backends[i];
    return NULL;
}

/* T as in a call with tensors of the dtype; U is f64 where some tensor is. */
static void find_dtypes(const tdm_kernel *kernel, tdm_dtype dtype, tdm_dtype *t, tdm_dtype *u) {
    bool any = false, wide = false;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        if (!tdmi_is_tensor(parameter)) continue;
        any = any || parameter->dtype == TDM_ANY_DTYPE;
        wide = wide || parameter->dtype == TDM_F64;
    }
    *t = any ? dtype : wide ? TDM_F64 : TDM_F32;
    *u = wide ? TDM_F64 : *t;
}

static tdm_status check_on_device(tdm_kernel *kernel, tdm_device *device, tdm_dtype t,
                                  tdm_dtype u) {
    enum { USUAL_COLUMNS = 1024 };
    const tdmi_user_kernel *program;
    if ((t == TDM_F64 || u == TDM_F64) && !device->facts->info.has_f64)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "tdm_kernel_check: %s has no f64 arithmetic",
                         device->facts->info.id);
    kernel->device = device;
    TDMI_TRY(tdmi_source_program(kernel, t, u, &program));
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_USER, .t = program->t, .u = program->u, .user = program->number};
    return tdmi_device_compile(device,
                               tdmi_variant_for(device->facts, variant, USUAL_COLUMNS, NULL));
}

static tdm_status check_without_device(const tdm_kernel *kernel, const tdmi_backend *backend,
                                       tdm_dtype t, tdm_dtype u) {
    tdmi_user_kernel made;
    TDMI_TRY(tdmi_source_lower(kernel, t, u, &made));
    const tdm_status status = tdmi_check_source(backend, &made);
    tdmi_free(made.text);
    return status;
}

static tdm_status check(tdm_kernel *kernel, const tdmi_backend *backend, tdm_dtype dtype) {
    tdm_device *device;
    tdm_dtype t, u;
    find_dtypes(kernel, dtype, &t, &u);
    const tdm_status opened = tdm_device_open(backend->name, &device);
    if (opened == TDM_OK) {
        const tdm_status status = check_on_device(kernel, device, t, u);
        tdm_device_release(device);
        return status;
    }
    const bool absent = opened == TDM_ERROR_UNAVAILABLE || opened == TDM_ERROR_NOT_FOUND;
    return absent && tdmi_registry_selects(backend->name) && backend->source_check
               ? check_without_device(kernel, backend, t, u)
               : opened;
}

tdm_status tdm_kernel_check(tdm_backend backend, tdm_dtype dtype, const char *text,
                            const char *file, const char *entry, const tdm_parameter *parameters,
                            size_t parameter_count) {
    TDMI_UNCANCELLED();
    const tdmi_backend *found = find_backend(backend);
    tdm_kernel *kernel;
    if (!found)
        return tdmi_fail(TDM_ERROR_NOT_FOUND, "%s: this library has no backend %d", __func__,
                         (int)backend);
    if ((unsigned)dtype >= TDM_DTYPE_COUNT || !tdm_dtype_is_float(dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %d, it must be that of a float",
                         __func__, (int)dtype);
    TDMI_TRY(tdmi_source_make(__func__, text, file, entry, parameters, parameter_count, &kernel));
    const tdm_status status = check(kernel, found, dtype);
    tdmi_kernel_free(kernel);
    return status;
}
