/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors shared with other libraries through DLPack, without a copy: NumPy, PyTorch, JAX, CuPy, TVM and others know
 * it. docs/dlpack.md has a whole program.
 *
 * The structs are those of DLPack's header dlpack/dlpack.h, which need not be included: DLManagedTensorVersioned of
 * version 1, and DLManagedTensor of the versions before, which has no way to say that memory is read-only. cpu, CUDA
 * and OpenCL devices are kDLCPU, kDLCUDA and kDLOpenCL; the data of the last is a cl_mem.
 *
 * Ownership. The owner of a managed tensor calls its deleter, once, when nothing uses the memory any more: neither the
 * host nor queued work. Tandem's deleters may be called from any thread, also after the tensor, the queue and the
 * device were released. Until then the memory is neither freed nor handed out again.
 *
 * Overlap. Two tensors that were made over the same memory count as different memory: a call that writes one while it
 * reads the other is not refused. */
#ifndef TANDEM_DLPACK_H
#define TANDEM_DLPACK_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** Makes a managed tensor of a tensor. It has a reference to the buffer, which its deleter gives back, and the same
 * shape and strides; byte_offset is 0 but for OpenCL. A read-only buffer (tdm_buffer_freeze) is marked as read-only.
 *
 * The data is ready for the consumer, whatever it works with, when the call returns: `queue`, which is of the
 * tensor's device, is finished. With NULL the call waits for nothing: no work may be pending on the tensor, or the
 * program orders it itself, by the events of opencl.h and cuda.h. *managed is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_to_dlpack(tdm_queue *queue, const tdm_tensor *tensor,
                                                     struct DLManagedTensorVersioned **managed);

/** The same for consumers of DLPack before 1.0. A read-only buffer is refused with TDM_ERROR_READ_ONLY. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_to_dlpack_legacy(tdm_queue *queue,
                                                            const tdm_tensor *tensor,
                                                            struct DLManagedTensor **managed);

/** Makes a tensor over the memory of a managed tensor, which must be this device's: host memory for a cpu device,
 * memory of that card, or managed memory, for CUDA, a cl_mem of the device's context for OpenCL. The buffer has the one
 * reference that the caller gets (tdm_tensor_release). From now on `managed` is the library's: its deleter is called
 * when the buffer's last reference is gone and work on it is over, as release is of tdm_cuda_adopt_memory.
 *
 * A tensor of no dimensions becomes one of the shape [1]; strides of dimensions with less than two elements are
 * made again. One that is read-only gets a read-only buffer. The buffer begins up to 15 bytes before the data, so that
 * it begins at a multiple of 16; the tensor's offset makes up for it.
 *
 * Nothing is waited for: the producer's work is over, or ordered before that of the queues that will use the tensor. In
 * Python's protocol a CUDA queue's stream (tdm_cuda_get_stream) is what __dlpack__ is given.
 *
 * Refused: dtypes that Tandem lacks, more than TDM_MAX_DIMS dimensions, negative strides, elements that do not lie at
 * multiples of their size, a major version other than 1. On failure *tensor is all zero, and
 * `managed` remains the caller's. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_from_dlpack(tdm_device *device,
                                                       struct DLManagedTensorVersioned *managed,
                                                       tdm_tensor *tensor);

/** The same for producers of DLPack before 1.0. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_from_dlpack_legacy(tdm_device *device,
                                                              struct DLManagedTensor *managed,
                                                              tdm_tensor *tensor);

#if defined(__cplusplus)
}
#endif
#endif
