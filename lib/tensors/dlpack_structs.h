/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* DLPack's structs, of its versions 1 and before, as https://dmlc.github.io/dlpack describes them. tests/dlpack
 * compares them with DLPack's own header. */
#ifndef TDMI_DLPACK_STRUCTS_H
#define TDMI_DLPACK_STRUCTS_H

#include <stdint.h>

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLCUDAManaged = 13 };

typedef struct DLDevice {
    int32_t device_type, device_id;
} DLDevice;

enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

enum { DLPACK_FLAG_BITMASK_READ_ONLY = 1 };

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif
