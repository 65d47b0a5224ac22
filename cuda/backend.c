/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend as the core sees it. */
#include "cuda_backend.h"

static const tdmi_blas *const *blas(tdmi_bdevice *device) {
    static const tdmi_blas *const providers[] = {&tdmi_cuda_blas_cublas, NULL};
    (void)device;
    return providers;
}

const tdmi_backend tdmi_backend_cuda = {
    .name = "cuda",
    .id = TDM_CUDA,
    TDMI_BACKEND_SIZES,
    TDMI_BACKEND_TABLE(TDMI_BACKEND_NAME, tdmi_cuda) TDMI_CUDA_TABLE(TDMI_BACKEND_NAME, tdmi_cuda)
        .queue_drain = tdmi_cuda_queue_finish,
    .orders_devices = true,
    .adopts_addresses = true,
    .loss_ends_work = true,
    .capture_size = sizeof(tdmi_bcapture),
    .blas = blas,
};
