/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs, by capture. The queue's work goes to a separate stream meanwhile: others may record events
 * in the queue's usual stream, or wait for it, while this one captures. */
#include "cuda_backend.h"

static tdm_status begin(tdmi_bqueue *queue) {
    if (!queue->capturing) {
        cudaStream_t made = NULL;
        TDMI_TRY(
            tdmi_cuda_check(tdmi_cudart.cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
                            "cudaStreamCreateWithFlags"));
        queue->capturing = made;
    }
    /* "Relaxed" forbids this thread nothing: what cuBLAS does during a capture is not restricted, and other threads
     * allocate memory. */
    TDMI_TRY(tdmi_cuda_check((cudaError_t)tdmi_cudrv.cuStreamBeginCapture_v2(
                                 (CUstream)queue->capturing, CU_STREAM_CAPTURE_MODE_RELAXED),
                             "cuStreamBeginCapture"));
    queue->stream = queue->capturing;
    return TDM_OK;
}

tdm_status tdmi_cuda_capture_begin(tdmi_bqueue *queue) {
    if (!tdmi_cudrv.cuGraphInstantiateWithFlags)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "this driver is older than CUDA 11.4");
    TDMI_CUDA_BEGIN(queue->device);
    return begin(queue);
}

/* A graph of the same shape takes over the new arguments, which is cheaper than to make another one. */
static bool update(const tdmi_bcapture *capture, CUgraph graph) {
    CUgraphExecUpdateResultInfo info;
    return capture->graph && tdmi_cudrv.cuGraphExecUpdate_v2 &&
           tdmi_cudrv.cuGraphExecUpdate_v2(capture->graph, graph, &info) == CUDA_SUCCESS;
}

static tdm_status instantiate(tdmi_bcapture *capture, CUgraph graph) {
    if (update(capture, graph)) return TDM_OK;
    if (capture->graph) (void)tdmi_cudrv.cuGraphExecDestroy(capture->graph);
    capture->graph = NULL;
    return tdmi_cuda_check(
        (cudaError_t)tdmi_cudrv.cuGraphInstantiateWithFlags(&capture->graph, graph, 0),
        "cuGraphInstantiate");
}

/* The queue's work goes to its own stream again, whatever became of the capture. */
static tdm_status end(tdmi_bqueue *queue, CUgraph *graph) {
    tdmi_cuda_calls calls;
    tdm_status status = tdmi_cuda_begin(queue->device, &calls);
    if (status == TDM_OK) {
        status = tdmi_cuda_check(
            (cudaError_t)tdmi_cudrv.cuStreamEndCapture((CUstream)queue->capturing, graph),
            "cuStreamEndCapture");
        if (status != TDM_OK) { /* the stream may still be captured: the next one gets another */
            (void)tdmi_cuda_succeeds(tdmi_cudart.cudaStreamDestroy(queue->capturing));
            queue->capturing = NULL;
        }
        tdmi_cuda_end(&calls);
    }
    queue->stream = queue->own;
    return status;
}

tdm_status tdmi_cuda_capture_end(tdmi_bqueue *queue, tdmi_bcapture *capture) {
    CUgraph graph = NULL;
    TDMI_TRY(end(queue, &graph));
    TDMI_CUDA_BEGIN(queue->device);
    if (capture) capture->device = queue->device;
    tdm_status status = capture ? instantiate(capture, graph) : TDM_OK;
    (void)tdmi_cudrv.cuGraphDestroy(graph);
    return status;
}

tdm_status tdmi_cuda_capture_run(tdmi_bqueue *queue, tdmi_bcapture *capture) {
    TDMI_CUDA_ENTER(queue->device);
    return tdmi_cuda_check(
        (cudaError_t)tdmi_cudrv.cuGraphLaunch(capture->graph, (CUstream)queue->stream),
        "cuGraphLaunch");
}

/* A graph that is still running is freed by the driver when it is done. */
void tdmi_cuda_capture_deinit(tdmi_bcapture *capture) {
    tdmi_cuda_calls calls;
    if (!capture->graph || tdmi_cuda_begin(capture->device, &calls) != TDM_OK) return;
    (void)tdmi_cudrv.cuGraphExecDestroy(capture->graph);
    tdmi_cuda_end(&calls);
    capture->graph = NULL;
}
