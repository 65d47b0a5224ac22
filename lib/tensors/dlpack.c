/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors given to other libraries, and taken from them, by DLPack. */
#include <stdio.h>
#include <string.h>

#include <tandem/dlpack.h>

#include "check.h"
#include "core.h"
#include "tensors/dlpack_structs.h"

enum { MAJOR = 1, MINOR = 0, BASE_ALIGNMENT = 16 };

/* ---- dtypes ---- */

static const DLDataType dtypes[TDM_DTYPE_COUNT] = {
    [TDM_F32] = {kDLFloat, 32, 1},   [TDM_F64] = {kDLFloat, 64, 1}, [TDM_F16] = {kDLFloat, 16, 1},
    [TDM_BF16] = {kDLBfloat, 16, 1}, [TDM_I32] = {kDLInt, 32, 1},   [TDM_I64] = {kDLInt, 64, 1},
    [TDM_U8] = {kDLUInt, 8, 1},      [TDM_I8] = {kDLInt, 8, 1},     [TDM_I16] = {kDLInt, 16, 1},
    [TDM_U16] = {kDLUInt, 16, 1},    [TDM_U32] = {kDLUInt, 32, 1},  [TDM_U64] = {kDLUInt, 64, 1},
    [TDM_BOOL] = {kDLBool, 8, 1},
};

static bool find_dtype(DLDataType wanted, tdm_dtype *dtype) {
    for (int i = 0; i < TDM_DTYPE_COUNT; i++) {
        if (dtypes[i].code != wanted.code || dtypes[i].bits != wanted.bits || wanted.lanes != 1)
            continue;
        *dtype = (tdm_dtype)i;
        return true;
    }
    return false;
}

/* ---- devices ---- */

/* The backends' numbers are DLPack's. The number of the device is CUDA's own; for the others it is not needed. */
static DLDevice device_of(const tdm_device *device) {
    const tdm_device_info *info = &device->facts->info;
    void *context, *id = NULL;
    if (info->backend == TDM_CUDA) device->backend->device_handles(device->impl, &context, &id);
    if (info->backend == TDM_OPENCL) id = (void *)(intptr_t)info->index;
    return (DLDevice){(int32_t)info->backend, (int32_t)(intptr_t)id};
}

/* mem_adopt looks whether memory is of this very device: here its kind is enough. */
static bool is_of(const tdm_device *device, DLDevice given) {
    const tdm_backend backend = device->facts->info.backend;
    return given.device_type == (int32_t)backend ||
           (backend == TDM_CPU && given.device_type == kDLCUDAHost) ||
           (backend == TDM_CUDA && given.device_type == kDLCUDAManaged);
}

/* ---- giving ---- */

/* A tensor that was given away, with one of the two structs for it. */
typedef struct given_tensor {
    tdm_buffer *buffer; /* a reference */
    int64_t shape[TDM_MAX_DIMS], strides[TDM_MAX_DIMS];
    union {
        DLManagedTensor legacy;
        DLManagedTensorVersioned versioned;
    } managed;
} given_tensor;

static void take_back(given_tensor *given) {
    TDMI_UNCANCELLED();
    tdm_buffer_release(given->buffer);
    tdmi_free(given);
}

static void delete_versioned(DLManagedTensorVersioned *self) { take_back(self->manager_ctx); }

static void delete_legacy(DLManagedTensor *self) { take_back(self->manager_ctx); }

/* Pending work on the tensor's memory is over, or the caller's to order. */
static tdm_status settle(const char *function, tdm_queue *queue, const tdm_tensor *tensor) {
    const tdm_device *device = tensor->buffer->device;
    TDMI_TRY(tdmi_device_usable(device));
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    if (queue && queue->device != device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH, "%s: tensor is on %s, but queue is of %s",
                         function, device->facts->info.id, queue->device->facts->info.id);
    if (queue) TDMI_TRY(tdm_queue_finish(queue));
    return tdmi_order_foreign(tensor->buffer);
}

static void describe(const tdm_tensor *tensor, given_tensor *given, DLTensor *dl) {
    const tdm_device *device = tensor->buffer->device;
    const tdmi_block *block = tensor->buffer->block;
    const uint64_t offset = (uint64_t)tensor->offset * tdm_dtype_size(tensor->dtype);
    const bool is_address = device->facts->info.backend != TDM_OPENCL;
    memcpy(given->shape, tensor->shape, sizeof given->shape);
    memcpy(given->strides, tensor->strides, sizeof given->strides);
    *dl = (DLTensor){.data = block ? block->mem.handle : NULL,
                     .device = device_of(device),
                     .ndim = tensor->ndim,
                     .dtype = dtypes[tensor->dtype],
                     .shape = given->shape,
                     .strides = given->strides};
    if (!dl->data) return;
    if (is_address)
        dl->data = (char *)dl->data + offset;
    else
        dl->byte_offset = offset;
}

static tdm_status give(const char *function, tdm_queue *queue, const tdm_tensor *tensor,
                       given_tensor **given) {
    TDMI_TRY(tdmi_tensor_check(function, "tensor", tensor));
    TDMI_TRY(settle(function, queue, tensor));
    *given = tdmi_calloc(1, sizeof **given);
    if (!*given)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory for a tensor", function);
    (*given)->buffer = tdm_buffer_retain(tensor->buffer);
    return TDM_OK;
}

tdm_status tdm_tensor_to_dlpack(tdm_queue *queue, const tdm_tensor *tensor,
                                struct DLManagedTensorVersioned **managed) {
    TDMI_UNCANCELLED();
    given_tensor *given;
    TDMI_RESULT(__func__, managed);
    TDMI_TRY(give(__func__, queue, tensor, &given));
    DLManagedTensorVersioned *made = &given->managed.versioned;
    *made = (DLManagedTensorVersioned){
        .version = {MAJOR, MINOR}, .manager_ctx = given, .deleter = delete_versioned};
    if (atomic_load(&tensor->buffer->read_only)) made->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    describe(tensor, given, &made->dl_tensor);
    *managed = made;
    return TDM_OK;
}

tdm_status tdm_tensor_to_dlpack_legacy(tdm_queue *queue, const tdm_tensor *tensor,
                                       struct DLManagedTensor **managed) {
    TDMI_UNCANCELLED();
    given_tensor *given;
    TDMI_RESULT(__func__, managed);
    TDMI_TRY(tdmi_tensor_check(__func__, "tensor", tensor));
    if (atomic_load(&tensor->buffer->read_only))
        return tdmi_fail(TDM_ERROR_READ_ONLY,
                         "%s: tensor is read-only, which DLPack before 1.0 cannot say; "
                         "tdm_tensor_to_dlpack can",
                         __func__);
    TDMI_TRY(give(__func__, queue, tensor, &given));
    DLManagedTensor *made = &given->managed.legacy;
    *made = (DLManagedTensor){.manager_ctx = given, .deleter = delete_legacy};
    describe(tensor, given, &made->dl_tensor);
    *managed = made;
    return TDM_OK;
}

/* ---- taking ---- */

static void delete_taken(void *managed) {
    DLManagedTensorVersioned *taken = managed;
    if (taken->deleter) taken->deleter(taken);
}

static void delete_taken_legacy(void *managed) {
    DLManagedTensor *taken = managed;
    if (taken->deleter) taken->deleter(taken);
}

/* Shape, strides and dtype; and how many elements there are from the first to past the last. */
static tdm_status read_shape(const char *function, const DLTensor *dl, tdm_tensor *tensor,
                             int64_t *extent) {
    const int64_t one = 1;
    tdm_dtype dtype;
    size_t bytes;
    if (!find_dtype(dl->dtype, &dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                         "%s: the dtype has code %d, %d bits and %d lanes, which no dtype of "
                         "Tandem's has",
                         function, dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
    if (dl->ndim < 0 || dl->ndim > TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: ndim is %d, allowed are 0 to %d", function,
                         dl->ndim, TDM_MAX_DIMS);
    const int ndim = dl->ndim > 0 ? dl->ndim : 1;
    const int64_t *shape = dl->ndim > 0 ? dl->shape : &one;
    TDMI_TRY(tdmi_check_shape(function, dtype, ndim, shape, &bytes));
    *tensor = tdmi_tensor_contiguous(NULL, dtype, ndim, shape);
    *extent = tdm_tensor_get_count(tensor);
    if (!dl->strides || dl->ndim == 0 || *extent == 0) return TDM_OK;
    *extent = 1;
    for (int i = 0; i < ndim; i++) {
        int64_t reach;
        if (shape[i] == 1) continue;
        if (dl->strides[i] < 0)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                             "%s: stride %d is %lld, at least 0; have the producer copy the tensor",
                             function, i, (long long)dl->strides[i]);
        if (__builtin_mul_overflow(shape[i] - 1, dl->strides[i], &reach) ||
            __builtin_add_overflow(*extent, reach, extent))
            return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: the strides overflow 64 bits", function);
        tensor->strides[i] = dl->strides[i];
    }
    return TDM_OK;
}

/* The adopted memory: a handle, and the bytes from its start to the tensor. Where it is an address it is one that
 * kernels may take for the start of a vector. */
static tdm_status find_start(const char *function, const tdm_device *device, const DLTensor *dl,
                             size_t element, void **handle, uint64_t *offset) {
    *handle = dl->data;
    *offset = dl->byte_offset;
    if (device->facts->info.backend != TDM_OPENCL) {
        uintptr_t start;
        if (__builtin_add_overflow((uintptr_t)dl->data, dl->byte_offset, &start))
            return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                             "%s: byte_offset is %llu, past the end of memory", function,
                             (unsigned long long)dl->byte_offset);
        *offset = start % BASE_ALIGNMENT;
        *handle = (void *)(start - (uintptr_t)*offset);
    }
    if (*offset % element == 0 && *offset <= INT64_MAX) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "%s: the elements have %zu bytes and do not begin at a multiple of that",
                     function, element);
}

static tdm_status take(const char *function, tdm_device *device, const DLTensor *dl, bool read_only,
                       tdm_release_function release, void *managed, tdm_tensor *tensor) {
    tdm_tensor made;
    int64_t extent = 0;
    uint64_t bytes, offset = 0;
    void *handle = NULL;
    TDMI_TRY(tdmi_device_usable(device));
    if (!is_of(device, dl->device))
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                         "%s: the memory is of DLPack's device type %d, but device is %s, of type "
                         "%d",
                         function, (int)dl->device.device_type, device->facts->info.id,
                         (int)device->facts->info.backend);
    TDMI_TRY(read_shape(function, dl, &made, &extent));
    const size_t element = tdm_dtype_size(made.dtype);
    if (extent > 0 && !dl->data)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: data is NULL", function);
    if (extent > 0) TDMI_TRY(find_start(function, device, dl, element, &handle, &offset));
    if (__builtin_mul_overflow((uint64_t)extent, element, &bytes) ||
        __builtin_add_overflow(bytes, offset, &bytes) || bytes > SIZE_MAX / 2)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: the tensor overflows the address space",
                         function);
    TDMI_TRY(
        tdmi_adopt_memory(function, device, handle, (size_t)bytes, release, managed, &made.buffer));
    made.offset = (int64_t)(offset / element);
    if (read_only) tdm_buffer_freeze(made.buffer);
    *tensor = made;
    return TDM_OK;
}

static tdm_status check_arguments(const char *function, const tdm_device *device,
                                  const void *managed, tdm_tensor *tensor) {
    TDMI_NOT_NULL(function, tensor);
    memset(tensor, 0, sizeof *tensor);
    TDMI_NOT_NULL(function, device);
    TDMI_NOT_NULL(function, managed);
    return TDM_OK;
}

tdm_status tdm_tensor_from_dlpack(tdm_device *device, struct DLManagedTensorVersioned *managed,
                                  tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_arguments(__func__, device, managed, tensor));
    if (managed->version.major != MAJOR)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: managed is of DLPack %u.%u, only major version %d is known", __func__,
                         managed->version.major, managed->version.minor, MAJOR);
    return take(__func__, device, &managed->dl_tensor,
                (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, delete_taken, managed,
                tensor);
}

tdm_status tdm_tensor_from_dlpack_legacy(tdm_device *device, struct DLManagedTensor *managed,
                                         tdm_tensor *tensor) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_arguments(__func__, device, managed, tensor));
    return take(__func__, device, &managed->dl_tensor, false, delete_taken_legacy, managed, tensor);
}
