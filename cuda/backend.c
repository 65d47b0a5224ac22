/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend as the core sees it. */
#include "cuda_backend.h"

#include <tandem/setup.h>

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    static const tdmi_blas *const providers[] = {&tdmi_cuda_blas_cublas, NULL};
    (void)device;
    return providers;
}

/* NCCL, which libtandem-comm opens. It is of use with CUDA alone. */
static void diagnose_nccl(void) {
    static void (*get_id)(void);
    static const tdmi_symbol symbol = {"ncclGetUniqueId", &get_id, false};
    static const char *names[] = {"libnccl.so.2", NULL};
    static tdmi_library library = {
        .title = "NVIDIA's NCCL",
        .names = names,
        .advice =
            "install NCCL 2.7 or newer (libnccl2), name its directory in TANDEM_LIBRARY_PATH, or "
            "its file in TANDEM_NCCL_LIBRARY"};
    const char *file = tdm_get_setting("TANDEM_NCCL_LIBRARY");
    if (file) {
        names[0] = file;
        library.shared = true; /* this file and no other */
    }
    tdmi_library_diagnose(&library, &symbol, 1);
}

static void diagnose(void) {
    tdmi_cuda_diagnose();
    if (tdmi_cudart_open() == TDM_OK) diagnose_nccl();
}

const tdmi_backend tdmi_backend_cuda = {
    .name = "cuda",
    .id = TDM_CUDA,
    .device_size = sizeof(tdmi_bdevice),
    .queue_size = sizeof(tdmi_bqueue),
    .event_size = sizeof(tdmi_bevent),
    .program_size = sizeof(tdmi_bprogram),
    .kernel_size = sizeof(tdmi_bkernel),
    .load = tdmi_cuda_load,
    .count = tdmi_cuda_count,
    .info = tdmi_cuda_info,
    .diagnose = diagnose,
    .device_init = tdmi_cuda_device_init,
    .device_deinit = tdmi_cuda_device_deinit,
    .device_free_memory = tdmi_cuda_device_free_memory,
    .mem_alloc = tdmi_cuda_mem_alloc,
    .mem_free = tdmi_cuda_mem_free,
    .host_alloc = tdmi_cuda_host_alloc,
    .host_free = tdmi_cuda_host_free,
    .mem_adopt = tdmi_cuda_mem_adopt,
    .mem_disown = tdmi_cuda_mem_disown,
    .device_handles = tdmi_cuda_device_handles,
    .queue_handle = tdmi_cuda_queue_handle,
    .queue_wait_handle = tdmi_cuda_queue_wait_handle,
    .queue_record_handle = tdmi_cuda_queue_record_handle,
    .queue_adopt = tdmi_cuda_queue_adopt,
    .queue_init = tdmi_cuda_queue_init,
    .queue_deinit = tdmi_cuda_queue_deinit,
    .queue_flush = tdmi_cuda_queue_flush,
    .queue_finish = tdmi_cuda_queue_finish,
    .queue_drain = tdmi_cuda_queue_finish,
    .write = tdmi_cuda_write,
    .read = tdmi_cuda_read,
    .copy = tdmi_cuda_copy,
    .copy_peer = tdmi_cuda_copy_peer,
    .fill = tdmi_cuda_fill,
    .enter = tdmi_cuda_enter,
    .leave = tdmi_cuda_leave,
    .event_init = tdmi_cuda_event_init,
    .event_deinit = tdmi_cuda_event_deinit,
    .event_record = tdmi_cuda_event_record,
    .event_wait = tdmi_cuda_event_wait,
    .event_query = tdmi_cuda_event_query,
    .event_elapsed = tdmi_cuda_event_elapsed,
    .queue_wait_event = tdmi_cuda_queue_wait_event,
    .orders_devices = true,
    .source_check = tdmi_cuda_source_check,
    .program_build = tdmi_cuda_program_build,
    .program_deinit = tdmi_cuda_program_deinit,
    .kernel_init = tdmi_cuda_kernel_init,
    .kernel_deinit = tdmi_cuda_kernel_deinit,
    .launch = tdmi_cuda_launch,
    .capture_size = sizeof(tdmi_bcapture),
    .capture_begin = tdmi_cuda_capture_begin,
    .capture_end = tdmi_cuda_capture_end,
    .capture_run = tdmi_cuda_capture_run,
    .capture_deinit = tdmi_cuda_capture_deinit,
    .blas = blas,
};
