/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend as the core sees it. */
#include "opencl_backend.h"

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    static const tdmi_blas *const others[] = {&tdmi_cl_blas_clblast, NULL};
    return device->entry->native_kernels ? tdmi_cl_blas_of_cpu : others;
}

const tdmi_backend tdmi_backend_opencl = {
    .name = "opencl",
    .id = TDM_OPENCL,
    .device_size = sizeof(tdmi_bdevice),
    .queue_size = sizeof(tdmi_bqueue),
    .event_size = sizeof(tdmi_bevent),
    .program_size = sizeof(tdmi_bprogram),
    .kernel_size = sizeof(tdmi_bkernel),
    .load = tdmi_cl_load,
    .count = tdmi_cl_count,
    .info = tdmi_cl_info,
    .diagnose = tdmi_cl_diagnose,
    .device_init = tdmi_cl_device_init,
    .device_deinit = tdmi_cl_device_deinit,
    .device_free_memory = tdmi_cl_device_free_memory,
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
