/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The structs of lib/tensors/dlpack_structs.h against those of DLPack's own header, whatever its version. Compiled, not
 * run; C++ checks only that the two public headers can be included together. */
#if !defined(__cplusplus)
#define DLPackVersion our_DLPackVersion
#define DLDevice our_DLDevice
#define DLDataType our_DLDataType
#define DLTensor our_DLTensor
#define DLManagedTensor our_DLManagedTensor
#define DLManagedTensorVersioned our_DLManagedTensorVersioned
#define DLPACK_FLAG_BITMASK_READ_ONLY our_read_only
#define kDLCPU our_kDLCPU
#define kDLCUDA our_kDLCUDA
#define kDLCUDAHost our_kDLCUDAHost
#define kDLOpenCL our_kDLOpenCL
#define kDLCUDAManaged our_kDLCUDAManaged
#define kDLInt our_kDLInt
#define kDLUInt our_kDLUInt
#define kDLFloat our_kDLFloat
#define kDLBfloat our_kDLBfloat
#define kDLBool our_kDLBool
#include "lib/tensors/dlpack_structs.h"
#undef DLPackVersion
#undef DLDevice
#undef DLDataType
#undef DLTensor
#undef DLManagedTensor
#undef DLManagedTensorVersioned
#undef DLPACK_FLAG_BITMASK_READ_ONLY
#undef kDLCPU
#undef kDLCUDA
#undef kDLCUDAHost
#undef kDLOpenCL
#undef kDLCUDAManaged
#undef kDLInt
#undef kDLUInt
#undef kDLFloat
#undef kDLBfloat
#undef kDLBool
#endif

#include <dlpack/dlpack.h>

#include <tandem/tandem.h>

#if !defined(__cplusplus)
#define SAME(type) _Static_assert(sizeof(our_##type) == sizeof(type), #type)
#define MEMBER(type, member)                                                                       \
    _Static_assert(offsetof(our_##type, member) == offsetof(type, member) &&                       \
                       sizeof(((our_##type *)0)->member) == sizeof(((type *)0)->member),           \
                   #type "." #member)
#define NUMBER(name) _Static_assert((int)our_##name == (int)name, #name)

SAME(DLDevice);
MEMBER(DLDevice, device_type);
MEMBER(DLDevice, device_id);
SAME(DLDataType);
MEMBER(DLDataType, code);
MEMBER(DLDataType, bits);
MEMBER(DLDataType, lanes);
SAME(DLTensor);
MEMBER(DLTensor, data);
MEMBER(DLTensor, device);
MEMBER(DLTensor, ndim);
MEMBER(DLTensor, dtype);
MEMBER(DLTensor, shape);
MEMBER(DLTensor, strides);
MEMBER(DLTensor, byte_offset);
SAME(DLManagedTensor);
MEMBER(DLManagedTensor, dl_tensor);
MEMBER(DLManagedTensor, manager_ctx);
MEMBER(DLManagedTensor, deleter);
NUMBER(kDLCPU);
NUMBER(kDLCUDA);
NUMBER(kDLCUDAHost);
NUMBER(kDLOpenCL);
NUMBER(kDLCUDAManaged);
NUMBER(kDLInt);
NUMBER(kDLUInt);
NUMBER(kDLFloat);
NUMBER(kDLBfloat);
_Static_assert((int)TDM_CPU == (int)kDLCPU && (int)TDM_CUDA == (int)kDLCUDA &&
                   (int)TDM_OPENCL == (int)kDLOpenCL,
               "backends have DLPack's numbers");

#if defined(DLPACK_MAJOR_VERSION)
SAME(DLPackVersion);
MEMBER(DLPackVersion, major);
MEMBER(DLPackVersion, minor);
SAME(DLManagedTensorVersioned);
MEMBER(DLManagedTensorVersioned, version);
MEMBER(DLManagedTensorVersioned, manager_ctx);
MEMBER(DLManagedTensorVersioned, deleter);
MEMBER(DLManagedTensorVersioned, flags);
MEMBER(DLManagedTensorVersioned, dl_tensor);
NUMBER(kDLBool);
_Static_assert(our_read_only == DLPACK_FLAG_BITMASK_READ_ONLY, "the flag of read-only tensors");
#endif
#endif

/* Without a cast. */
tdm_status both(tdm_queue *queue, tdm_device *device, DLManagedTensor *theirs, tdm_tensor *tensor,
                DLManagedTensor **ours);
tdm_status both(tdm_queue *queue, tdm_device *device, DLManagedTensor *theirs, tdm_tensor *tensor,
                DLManagedTensor **ours) {
    tdm_status status = tdm_tensor_from_dlpack_legacy(device, theirs, tensor);
    return status == TDM_OK ? tdm_tensor_to_dlpack_legacy(queue, tensor, ours) : status;
}
