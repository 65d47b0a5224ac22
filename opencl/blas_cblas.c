/* Products through the machine's CBLAS, on OpenCL devices that are the machine's CPU: a native
 * kernel runs in queue order and sees the buffers' host memory, so nothing is copied. */
#include "opencl.h"

typedef struct cblas_state {
    tdmi_bqueue *queue;
} cblas_state;

/* What the native kernel gets. The driver copies it and puts the addresses of the buffers into
 * base, in the order of the list it was given; a buffer that serves two operands is there once.
 * PoCL 3.1 sorts the list first, by age, and so puts the right addresses into the wrong places:
 * `own` has the addresses as our allocations gave them, to tell by. */
typedef struct native_block {
    tdmi_host_gemm gemm; /* without its pointers */
    void *base[3];
    void *own[3];
    unsigned char count, a, b, c; /* of base; indices into it */
    int64_t a_bytes, b_bytes, c_bytes;
} native_block;

/* The buffer's own address when the driver put it anywhere; else the driver keeps the content
 * elsewhere, and the place in the list is all there is. */
static unsigned char *address(const native_block *block, unsigned char index) {
    for (unsigned char i = 0; i < block->count; i++)
        if (block->base[i] == block->own[index]) return block->own[index];
    return block->base[index];
}

static void CL_CALLBACK run_native(void *argument) {
    native_block *block = argument;
    tdmi_host_gemm gemm = block->gemm;
    gemm.a = address(block, block->a) + block->a_bytes;
    gemm.b = address(block, block->b) + block->b_bytes;
    gemm.c = address(block, block->c) + block->c_bytes;
    tdmi_cblas_gemm(&gemm);
}

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {
    (void)device;
    ((cblas_state *)state)->queue = queue;
    return tdmi_cblas_open();
}

static void detach(void *state) { (void)state; }

static bool supports(void *state, const tdmi_gemm *gemm) {
    (void)state;
    return tdmi_cblas_takes(gemm);
}

/* Where the buffer stands in the list, which grows when it is new. */
static unsigned char place(native_block *block, cl_mem *mems, const tdmi_mem *mem) {
    cl_mem handle = mem->handle;
    unsigned char i = 0;
    while (i < block->count && mems[i] != handle)
        i++;
    if (i < block->count) return i;
    mems[i] = handle;
    block->own[i] = mem->host;
    block->count++;
    return i;
}

static tdm_status gemm_native(void *state, const tdmi_gemm *gemm) {
    cblas_state *self = state;
    const int64_t bytes = (int64_t)tdm_dtype_size(gemm->dtype);
    cl_mem mems[3];
    native_block block = {
        .gemm = tdmi_host_gemm_of(gemm),
        .a_bytes = gemm->a_offset * bytes,
        .b_bytes = gemm->b_offset * bytes,
        .c_bytes = gemm->c_offset * bytes,
    };
    block.a = place(&block, mems, gemm->a);
    block.b = place(&block, mems, gemm->b);
    block.c = place(&block, mems, gemm->c);
    const void *locations[3] = {&block.base[0], &block.base[1], &block.base[2]};
    TDMI_CL_TRY(tdmi_cl.clEnqueueNativeKernel(self->queue->queue, run_native, &block, sizeof block,
                                              block.count, mems, locations, 0, NULL, NULL),
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
