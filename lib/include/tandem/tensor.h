/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors: a plain value that says how to read a buffer.
 *
 * Ownership. References belong to buffers, which are counted; a tensor is only a value. Copying one
 * (y = x), making one of a buffer and taking a view of one take no reference. The functions that
 * allocate (create.h, tdm_to …) give the caller one reference, and tdm_tensor_retain one more;
 * each reference is given back once, by tdm_tensor_release or tdm_buffer_release. After y = x only
 * one of the two is released; with y = tdm_tensor_retain(&x) both are. Releasing a reference that
 * one does not have is a mistake: while the library still remembers the buffer nothing happens but
 * a line in the log (setup.h) and a message in tdm_last_error; a debug build stops there, and
 * AddressSanitizer reports it.
 *
 * Lifetime. A buffer may be released while work on it is queued: its memory is handed out again
 * only when that work is done. The tensor itself may go as soon as a call returns.
 *
 * Dimensions are numbered from 0; in arguments of all functions also from the end, -1 the last.
 *
 * Nothing is checked when a tensor is made by hand: every operation checks its tensors before it
 * starts.
 *
 * Threads: plain values; the functions here touch nothing else. */
#ifndef TANDEM_TENSOR_H
#define TANDEM_TENSOR_H

#include <tandem/buffer.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** The one list of dtypes: X(NAME, name, bytes, kind), kind being FLOAT, SIGNED, UNSIGNED or BOOL.
 * The operations of ops.h compute with floats, those of 16 bits in f32, unless they say otherwise; functions.h,
 * reduce.h and kernel.h compute with integers and bools, too. All dtypes can be moved, filled, cast, saved and
 * printed. A bool is a byte: 0 is false, any other true, and what operations write is 0 or 1. */
#define TDM_DTYPE_LIST(X)                                                                          \
    X(F32, "f32", 4, FLOAT)                                                                        \
    X(F64, "f64", 8, FLOAT)                                                                        \
    X(F16, "f16", 2, FLOAT)                                                                        \
    X(BF16, "bf16", 2, FLOAT)                                                                      \
    X(I32, "i32", 4, SIGNED)                                                                       \
    X(I64, "i64", 8, SIGNED)                                                                       \
    X(U8, "u8", 1, UNSIGNED)                                                                       \
    X(I8, "i8", 1, SIGNED)                                                                         \
    X(I16, "i16", 2, SIGNED)                                                                       \
    X(U16, "u16", 2, UNSIGNED)                                                                     \
    X(U32, "u32", 4, UNSIGNED)                                                                     \
    X(U64, "u64", 8, UNSIGNED)                                                                     \
    X(BOOL, "bool", 1, BOOL)

/** The type of the elements: TDM_ and a name of the list. */
typedef enum tdm_dtype {
#define TDM_DTYPE_ENUM(NAME, name, bytes, kind) TDM_##NAME,
    TDM_DTYPE_LIST(TDM_DTYPE_ENUM)
#undef TDM_DTYPE_ENUM
        TDM_DTYPE_COUNT
} tdm_dtype;

/** "f32" …; "unknown" for any other number. Static storage. */
TDM_API const char *tdm_dtype_name(tdm_dtype dtype);

/** Bytes of one element; 0 for any other number. */
TDM_API size_t tdm_dtype_size(tdm_dtype dtype);

/** Is it a floating dtype? False for a number that is no dtype. */
TDM_API bool tdm_dtype_is_float(tdm_dtype dtype);

/** The most dimensions that a tensor has. */
#define TDM_MAX_DIMS 6

/** How to read a buffer. Its layout is frozen. */
typedef struct tdm_tensor {
    tdm_buffer *buffer;          /**< not a reference */
    tdm_dtype dtype;             /**< of the elements */
    int ndim;                    /**< 1..TDM_MAX_DIMS */
    int64_t shape[TDM_MAX_DIMS]; /**< elements; a 0 makes every operation a no-op */
    int64_t
        strides[TDM_MAX_DIMS]; /**< elements, as in DLPack; 0 repeats an input; never negative */
    int64_t offset;            /**< elements from the start of the buffer */
} tdm_tensor;

/* Views: a shape or strides that are not valid or do not fit are TDM_ERROR_INVALID_SHAPE, what lies outside the buffer
 * or a dimension is TDM_ERROR_OUT_OF_RANGE, and on failure *view is left as it was. *view may be *tensor. */

/** A contiguous tensor of one dimension at the start of a buffer. */
TDM_API tdm_tensor tdm_tensor_1d(tdm_buffer *buffer, tdm_dtype dtype, int64_t n);
/** The same with two dimensions, row-major. */
TDM_API tdm_tensor tdm_tensor_2d(tdm_buffer *buffer, tdm_dtype dtype, int64_t rows, int64_t cols);
/** The same with three dimensions. */
TDM_API tdm_tensor tdm_tensor_3d(tdm_buffer *buffer, tdm_dtype dtype, int64_t batch, int64_t rows,
                                 int64_t cols);

/** A contiguous, row-major tensor of any number of dimensions; checked against the buffer's size. On failure *tensor is
 * all zero. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_init(tdm_buffer *buffer, tdm_dtype dtype, int ndim,
                                                const int64_t *shape, int64_t offset,
                                                tdm_tensor *tensor);

/** Any strided view of the same buffer and dtype; offset counts from the tensor's own. Checked: no
 * element may lie outside the buffer. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_view(const tdm_tensor *tensor, int ndim,
                                                const int64_t *shape, const int64_t *strides,
                                                int64_t offset, tdm_tensor *view);

/** Elements start, start + step, … of one dimension, `count` of them; step ≥ 1. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_slice(const tdm_tensor *tensor, int dim, int64_t start,
                                                 int64_t count, int64_t step, tdm_tensor *view);

/** Two dimensions swapped; no data moves. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_transpose(const tdm_tensor *tensor, int dim0, int dim1,
                                                     tdm_tensor *view);

/** Another shape of as many elements, without moving them: of a contiguous tensor any; of others one that splits
 * dimensions, or joins those that lie as one. One extent may be -1: what the others leave. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_reshape(const tdm_tensor *tensor, int ndim,
                                                   const int64_t *shape, tdm_tensor *view);

/** The tensor repeated to another shape, as the elementwise operations do with their inputs: a view
 * with strides of 0. TDM_ERROR_INVALID_SHAPE when it does not fit. */
TDM_API TDM_MUST_USE tdm_status tdm_tensor_broadcast(const tdm_tensor *tensor, int ndim,
                                                     const int64_t *shape, tdm_tensor *view);

/** The shape of a and b broadcast to each other; `shape` has room for TDM_MAX_DIMS. */
TDM_API TDM_MUST_USE tdm_status tdm_broadcast_shape(const tdm_tensor *a, const tdm_tensor *b,
                                                    int *ndim, int64_t *shape);

/** Row-major without gaps? Dimensions of extent 1 may have any stride; an empty tensor is. False for NULL. */
TDM_API bool tdm_tensor_is_contiguous(const tdm_tensor *tensor);

/** Number of elements. The shape must be valid. 0 for NULL. */
TDM_API int64_t tdm_tensor_get_count(const tdm_tensor *tensor);

#if defined(__cplusplus)
}
#endif
#endif
