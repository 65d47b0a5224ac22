/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend as the core sees it. */
#include "cpu_backend.h"

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    (void)device;
    return tdmi_cpu_blas;
}

const tdmi_backend tdmi_backend_cpu = {
    .name = "cpu",
    .id = TDM_CPU,
    .device_size = sizeof(tdmi_bdevice),
    .queue_size = sizeof(tdmi_bqueue),
    .event_size = sizeof(tdmi_bevent),
    .program_size = sizeof(tdmi_bprogram),
    .kernel_size = sizeof(tdmi_bkernel),
    .load = tdmi_cpu_load,
    .count = tdmi_cpu_count,
    .info = tdmi_cpu_info,
    .diagnose = tdmi_cpu_diagnose,
    .device_init = tdmi_cpu_device_init,
    .device_deinit = tdmi_cpu_device_deinit,
    .device_free_memory = tdmi_cpu_device_free_memory,
    .mem_alloc = tdmi_cpu_mem_alloc,
    .mem_free = tdmi_cpu_mem_free,
    .host_alloc = tdmi_cpu_mem_alloc,
    .host_free = tdmi_cpu_mem_free,
    .mem_adopt = tdmi_cpu_mem_adopt,
    .mem_disown = tdmi_cpu_mem_disown,
    .queue_init = tdmi_cpu_queue_init,
    .queue_deinit = tdmi_cpu_queue_deinit,
    .queue_flush = tdmi_cpu_queue_nothing,
    .queue_finish = tdmi_cpu_queue_nothing,
    .queue_drain = tdmi_cpu_queue_nothing,
    .write = tdmi_cpu_write,
    .read = tdmi_cpu_read,
    .copy = tdmi_cpu_copy,
    .copy_peer = tdmi_cpu_copy_peer,
    .fill = tdmi_cpu_fill,
    .map = tdmi_cpu_map,
    .unmap = tdmi_cpu_unmap,
    .event_init = tdmi_cpu_event_init,
    .event_deinit = tdmi_cpu_event_deinit,
    .event_record = tdmi_cpu_event_record,
    .event_wait = tdmi_cpu_event_wait,
    .event_query = tdmi_cpu_event_query,
    .event_elapsed = tdmi_cpu_event_elapsed,
    .queue_wait_event = tdmi_cpu_queue_wait_event,
    .compiler = tdmi_cpu_compiler,
    .program_build = tdmi_cpu_program_build,
    .program_deinit = tdmi_cpu_program_deinit,
    .kernel_init = tdmi_cpu_kernel_init,
    .kernel_deinit = tdmi_cpu_kernel_deinit,
    .launch = tdmi_cpu_launch,
    .blas = blas,
};
