/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products through the BLAS libraries of the host, on OpenCL devices that are the machine's CPU: a native
 * kernel runs in queue order and sees the buffers' host memory, so nothing is copied. */
#include "opencl_backend.h"

typedef struct host_state {
    const tdmi_host_blas *blas;
    tdmi_bqueue *queue;
} host_state;

typedef struct native_product {
    tdmi_host_job job;
    tdmi_bqueue *queue; /* it lives until its work is over */
} native_product;

static void CL_CALLBACK run_native(void *argument) {
    native_product *product = argument;
    const tdm_status status = tdmi_host_job_run(&product->job);
    if (status != TDM_OK) atomic_store(&product->queue->product, (int)status);
}

/* The argument of a native kernel that looks up a buffer's address. The driver copies this and puts
 * the address into base. */
typedef struct probe_block {
    void *base;
    void **seen;
} probe_block;

static void CL_CALLBACK run_probe(void *argument) {
    const probe_block *block = argument;
    *block->seen = block->base;
}

/* In the device's own queue, as work of the program's may wait for what the program does later. */
static tdm_status probe(tdmi_bdevice *device) {
    cl_command_queue queue;
    tdmi_mem mem = {0};
    TDMI_TRY(tdmi_cl_internal_queue(device, &queue));
    void **seen = tdmi_calloc(1, sizeof *seen);
    if (!seen) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    tdm_status status = tdmi_cl_mem_alloc(device, 1, &mem);
    if (status != TDM_OK) {
        tdmi_free(seen);
        return status;
    }
    probe_block block = {NULL, seen};
    const void *location = &block.base;
    const cl_mem handle = mem.handle;
    cl_int code = tdmi_cl.clEnqueueNativeKernel(queue, run_probe, &block, sizeof block, 1, &handle,
                                                &location, 0, NULL, NULL);
    bool over = code != CL_SUCCESS;
    if (!over) {
        code = tdmi_cl.clFinish(queue);
        over = code == CL_SUCCESS || tdmi_cl.clFinish(queue) == CL_SUCCESS;
    }
    device->probed = code == CL_SUCCESS;
    device->in_place = device->probed && *seen && *seen == mem.host;
    tdmi_cl_mem_free(device, &mem); /* the driver holds it for as long as the kernel needs it */
    if (over) tdmi_free(seen);      /* else the kernel may write there yet: never freed */
    return tdmi_cl_check(code, "clEnqueueNativeKernel");
}

/* Fails unless native kernels see buffers in the memory that we gave them. Then no call has to list
 * its buffers: that would only cost time, and PoCL 3.1 sorts the list by age, so that the addresses
 * end in the wrong places. */
tdm_status tdmi_cl_runs_in_place(tdmi_bdevice *device) {
    TDMI_LOCKED(&device->lock);
    if (!device->probed) TDMI_TRY(probe(device));
    if (device->in_place) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE, "this driver keeps buffers away from the host");
}

static tdm_status attach(const tdmi_host_blas *blas, tdmi_bdevice *device, tdmi_bqueue *queue,
                         void *state) {
    *(host_state *)state = (host_state){blas, queue};
    TDMI_TRY(tdmi_host_blas_open(blas));
    return tdmi_cl_runs_in_place(device);
}

static tdm_status run(void *state, const tdmi_gemm *gemm) {
    const host_state *self = state;
    native_product product = {.queue = self->queue};
    /* Memory of the program's may be where only the driver finds it. */
    if (!gemm->a->host || !gemm->b->host || !gemm->c->host || (gemm->bias && !gemm->bias->host))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "a matrix is not in host memory");
    const tdmi_host_operands operands = {gemm->a->host, gemm->b->host,
                                         gemm->bias ? gemm->bias->host : NULL, gemm->c->host};
    TDMI_TRY(tdmi_host_job_init(&product.job, self->blas, gemm, &operands));
    product.job.next = TDMI_NEXT_OTHERS;
    const cl_int code = tdmi_cl.clEnqueueNativeKernel(self->queue->queue, run_native, &product,
                                                      sizeof product, 0, NULL, NULL, 0, NULL, NULL);
    if (code == CL_SUCCESS) return TDM_OK;
    tdmi_host_job_drop(&product.job);
    return tdmi_cl_fail(code, "clEnqueueNativeKernel");
}

TDMI_HOST_BLAS_LIST(TDMI_HOST_PROVIDER)

#define ADDRESS(provider) &provider,
#define HOST_ADDRESS(name) ADDRESS(provider_##name)
const tdmi_blas *const tdmi_cl_blas_of_cpu[] = {TDMI_HOST_BLAS_LIST(HOST_ADDRESS)
                                                    ADDRESS(tdmi_cl_blas_clblast) NULL};
