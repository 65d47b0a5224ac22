/* Products through the machine's CBLAS, on OpenCL devices that are the machine's CPU: a native
 * kernel runs in queue order and sees the buffers' host memory, so nothing is copied. */
#include "opencl.h"

typedef struct cblas_state {
    tdmi_bqueue *queue;
    bool in_place; /* the driver works in the memory that we gave the buffers */
} cblas_state;

/* What the native kernel gets. The driver copies it and puts the addresses of listed buffers into
 * `base`. Where it works in our memory none are listed: it would only spend time on them, and PoCL
 * 3.1 sorts the list by age, so that the addresses end in the wrong places. */
typedef struct native_block {
    tdmi_host_gemm gemm; /* without its pointers */
    void *base[3];       /* the operands' buffers */
    int64_t a_bytes, b_bytes, c_bytes;
} native_block;

static void CL_CALLBACK run_native(void *argument) {
    const native_block *block = argument;
    tdmi_host_gemm gemm = block->gemm;
    gemm.a = (const unsigned char *)block->base[0] + block->a_bytes;
    gemm.b = (const unsigned char *)block->base[1] + block->b_bytes;
    gemm.c = (unsigned char *)block->base[2] + block->c_bytes;
    tdmi_cblas_gemm(&gemm);
}

typedef struct probe_block {
    void *base;
    void **seen;
} probe_block;

static void CL_CALLBACK run_probe(void *argument) {
    const probe_block *block = argument;
    *block->seen = block->base;
}

/* Where does a native kernel see a buffer? */
static bool works_in_place(tdmi_bdevice *device, tdmi_bqueue *queue) {
    tdmi_mem mem = {0};
    if (tdmi_cl_mem_alloc(device, 1, &mem) != TDM_OK) return false;
    void *seen = NULL;
    probe_block block = {NULL, &seen};
    const void *location = &block.base;
    cl_mem handle = mem.handle;
    const bool ran =
        tdmi_cl.clEnqueueNativeKernel(queue->queue, run_probe, &block, sizeof block, 1, &handle,
                                      &location, 0, NULL, NULL) == CL_SUCCESS &&
        tdmi_cl.clFinish(queue->queue) == CL_SUCCESS;
    const bool same = ran && mem.host && seen == mem.host;
    tdmi_cl_mem_free(device, &mem);
    return same;
}

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {
    TDMI_TRY(tdmi_cblas_open());
    *(cblas_state *)state = (cblas_state){queue, works_in_place(device, queue)};
    return TDM_OK;
}

static void detach(void *state) { (void)state; }

static bool supports(void *state, const tdmi_gemm *gemm) {
    (void)state;
    return tdmi_cblas_takes(gemm);
}

static tdm_status gemm_native(void *state, const tdmi_gemm *gemm) {
    const cblas_state *self = state;
    const int64_t bytes = (int64_t)tdm_dtype_size(gemm->dtype);
    native_block block = {
        .gemm = tdmi_host_gemm_of(gemm),
        .base = {gemm->a->host, gemm->b->host, gemm->c->host},
        .a_bytes = gemm->a_offset * bytes,
        .b_bytes = gemm->b_offset * bytes,
        .c_bytes = gemm->c_offset * bytes,
    };
    const cl_mem mems[3] = {gemm->a->handle, gemm->b->handle, gemm->c->handle};
    const void *locations[3] = {&block.base[0], &block.base[1], &block.base[2]};
    const bool listed = !self->in_place;
    TDMI_CL_TRY(tdmi_cl.clEnqueueNativeKernel(self->queue->queue, run_native, &block, sizeof block,
                                              listed ? 3 : 0, listed ? mems : NULL,
                                              listed ? locations : NULL, 0, NULL, NULL),
                "clEnqueueNativeKernel");
    return TDM_OK;
}

const tdmi_blas tdmi_cl_blas_cblas = {
    .name = "cblas",
    .state_size = sizeof(cblas_state),
    .attach = attach,
    .detach = detach,
    .supports = supports,
    .gemm = gemm_native,
};
