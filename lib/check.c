/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks of tensors, shared by all operations. */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "base/dtype.h"
#include "core.h"

const char *tdmi_shape_text(const tdm_tensor *tensor, char text[128]) {
    size_t length = 0;
    length += (size_t)snprintf(text, 128, "[");
    for (int i = 0; i < tensor->ndim && length < 120; i++)
        length += (size_t)snprintf(text + length, 128 - length, "%s%lld", i ? ", " : "",
                                   (long long)tensor->shape[i]);
    if (length < 127) snprintf(text + length, 128 - length, "]");
    return text;
}

/* The first and one past the last element that the tensor touches. False when the numbers overflow.
 * An empty tensor touches nothing, however large its other extents: begin == end. */
static bool extent(const tdm_tensor *tensor, int64_t *begin, int64_t *end) {
    int64_t last = tensor->offset;
    int64_t count = 1;
    bool empty = tdm_tensor_get_count(tensor) == 0;
    for (int i = 0; i < tensor->ndim && !empty; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(count, tensor->shape[i], &count) ||
            __builtin_mul_overflow(tensor->shape[i] - 1, tensor->strides[i], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return false;
    }
    if (last >= INT64_MAX / 16) return false;
    *begin = tensor->offset;
    *end = empty ? tensor->offset : last + 1;
    return true;
}

tdm_status tdmi_check_shape(const char *function, tdm_dtype dtype, int ndim, const int64_t *shape,
                            size_t *bytes) {
    if ((unsigned)dtype >= TDM_DTYPE_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %d, which is not a dtype", function,
                         (int)dtype);
    if (ndim < 1 || ndim > TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: ndim is %d, allowed are 1 to %d", function,
                         ndim, TDM_MAX_DIMS);
    TDMI_NOT_NULL(function, shape);
    uint64_t size = tdm_dtype_size(dtype);
    bool empty = false, overflow = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                             "%s: dimension %d of shape is %lld, at least 0", function, i,
                             (long long)shape[i]);
        empty = empty || shape[i] == 0;
        overflow = overflow || __builtin_mul_overflow(size, shape[i], &size);
    }
    if (empty) size = 0;
    if (!empty && (overflow || size > INT64_MAX))
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: a %s tensor of this shape overflows 64 bits",
                         function, tdm_dtype_name(dtype));
    /* Of 32 bits the largest size stands for all that are larger: no device allows it. */
    *bytes = size < SIZE_MAX ? (size_t)size : SIZE_MAX;
    return TDM_OK;
}

tdm_status tdmi_tensor_check_packed(const char *function, const char *name,
                                    const tdm_tensor *tensor) {
    char text[128];
    if (!tensor) return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function, name);
    if (!tensor->buffer)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s has no buffer", function, name);
    if (atomic_load_explicit(&tensor->buffer->references, memory_order_relaxed) == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: %s was released: its buffer has no references left", function, name);
    if ((unsigned)tensor->dtype >= TDM_DTYPE_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of %s is %d, which is not a dtype",
                         function, name, (int)tensor->dtype);
    if (tensor->ndim < 1 || tensor->ndim > TDM_MAX_DIMS)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: %s has %d dimensions, allowed are 1 to %d",
                         function, name, tensor->ndim, TDM_MAX_DIMS);
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: dimension %d of %s is %lld, at least 0",
                             function, i, name, (long long)tensor->shape[i]);
        if (tensor->strides[i] < 0)
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: stride %d of %s is %lld, at least 0",
                             function, i, name, (long long)tensor->strides[i]);
    }
    int64_t begin, end;
    if (tensor->offset < 0)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "%s: the offset of %s is %lld, at least 0",
                         function, name, (long long)tensor->offset);
    if (!extent(tensor, &begin, &end))
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: the shape %s of %s with its strides overflows", function,
                         tdmi_shape_text(tensor, text), name);
    size_t elements = tensor->buffer->size / tdm_dtype_size(tensor->dtype);
    if ((uint64_t)end > elements)
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "%s: %s %s reaches element %lld of its buffer, which has room for %zu %s",
                         function, name, tdmi_shape_text(tensor, text), (long long)end - 1,
                         elements, tdm_dtype_name(tensor->dtype));
    return TDM_OK;
}

tdm_status tdmi_tensor_check(const char *function, const char *name, const tdm_tensor *tensor) {
    TDMI_TRY(tdmi_tensor_check_packed(function, name, tensor));
    if (tensor->buffer->packing == TDMI_NOT_PACKED) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: %s is packed (tdm_pack_weight), which tdm_linear and tdm_matmul alone "
                     "take, as weight and as b",
                     function, name);
}

static bool same_view(const tdm_tensor *a, const tdm_tensor *b) {
    if (a->dtype != b->dtype || a->ndim != b->ndim || a->offset != b->offset) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

/* The adjacent elements along a dimension of a view, and the common divisor of the strides that repeat them and of
 * `pitch`. */
static int64_t runs_of(const tdm_tensor *tensor, int64_t *pitch) {
    int64_t run = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] <= 1) continue;
        if (tensor->strides[i] == 1 && run == 1) {
            run = tensor->shape[i];
            continue;
        }
        for (int64_t rest = tensor->strides[i]; rest != 0;) {
            int64_t next = *pitch % rest;
            *pitch = rest;
            rest = next;
        }
    }
    return run;
}

/* Whether two views lie between each other, like blocks of columns of one matrix, or its even and
 * odd elements: runs that repeat with one pitch and are disjoint modulo that pitch. */
static bool interleaved(const tdm_tensor *a, const tdm_tensor *b) {
    if (a->dtype != b->dtype) return false;
    int64_t pitch = 0;
    int64_t a_run = runs_of(a, &pitch), b_run = runs_of(b, &pitch);
    if (pitch == 0) return false;
    /* a covers [0, a_run) of a pitch that begins where a does */
    int64_t b_begins = ((b->offset - a->offset) % pitch + pitch) % pitch;
    return b_begins >= a_run && b_begins + b_run <= pitch;
}

static bool overlaps(const tdm_tensor *a, const tdm_tensor *b) {
    if (a->buffer != b->buffer) return false;
    int64_t begin_a, end_a, begin_b, end_b;
    if (!extent(a, &begin_a, &end_a) || !extent(b, &begin_b, &end_b)) return true;
    int64_t size_a = (int64_t)tdm_dtype_size(a->dtype), size_b = (int64_t)tdm_dtype_size(b->dtype);
    if (begin_a == end_a || begin_b == end_b) return false;
    if (begin_a * size_a >= end_b * size_b || begin_b * size_b >= end_a * size_a) return false;
    return !interleaved(a, b);
}

/* An output must not have two elements in one place: sorted by stride, each dimension steps over
 * all that the smaller ones reach. */
static bool elements_distinct(const tdm_tensor *tensor) {
    int64_t reach = 0;
    bool used[TDM_MAX_DIMS] = {false};
    if (tdm_tensor_get_count(tensor) == 0) return true;
    for (int round = 0; round < tensor->ndim; round++) {
        int least = -1;
        for (int i = 0; i < tensor->ndim; i++)
            if (!used[i] && (least < 0 || tensor->strides[i] < tensor->strides[least])) least = i;
        used[least] = true;
        if (tensor->shape[least] == 1) continue;
        if (tensor->strides[least] <= reach) return false;
        reach += (tensor->shape[least] - 1) * tensor->strides[least];
    }
    return true;
}

static tdm_status check_output(const char *function, const tdmi_arg *args, int count, int which) {
    const tdmi_arg *output = &args[which];
    if (atomic_load_explicit(&output->tensor->buffer->read_only, memory_order_relaxed))
        return tdmi_fail(TDM_ERROR_READ_ONLY,
                         "%s: the buffer of %s is read-only (tdm_buffer_freeze)", function,
                         output->name);
    if (!elements_distinct(output->tensor))
        return tdmi_fail(TDM_ERROR_OVERLAP,
                         "%s: the strides of %s may put several elements in one place: one is "
                         "not larger than all that the smaller ones reach",
                         function, output->name);
    for (int i = 0; i < count; i++) {
        const tdmi_arg *other = &args[i];
        if (i == which || !other->tensor || !overlaps(output->tensor, other->tensor)) continue;
        bool allowed = (output->in_place >> i) & 1;
        if (allowed && same_view(output->tensor, other->tensor)) continue;
        return tdmi_fail(TDM_ERROR_OVERLAP, "%s: %s overlaps %s; allowed is %s", function,
                         output->name, other->name,
                         allowed ? "only exactly the same view" : "no overlap");
    }
    return TDM_OK;
}

static tdm_status check_device(const char *function, const tdm_queue *queue, const tdmi_arg *args,
                               int count, int which) {
    const tdm_device *device = args[which].tensor->buffer->device;
    if (device == queue->device) return TDM_OK;
    for (int i = 0; i < count; i++)
        if (args[i].tensor && args[i].tensor->buffer && args[i].tensor->buffer->device != device)
            return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                             "%s: %s is on %s, but %s is on %s (and queue is of %s); move one with "
                             "tdm_to",
                             function, args[which].name, device->facts->info.id, args[i].name,
                             args[i].tensor->buffer->device->facts->info.id,
                             queue->device->facts->info.id);
    return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH,
                     "%s: %s is on %s, but queue is of %s; move it with tdm_to or use a "
                     "queue of its device",
                     function, args[which].name, device->facts->info.id,
                     queue->device->facts->info.id);
}

tdm_status tdmi_check_same_dtype(const char *function, const char *a_name, const tdm_tensor *a,
                                 const char *b_name, const tdm_tensor *b) {
    if (a->dtype == b->dtype) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                     "%s: the dtype of %s is %s, but that of %s is %s; tdm_cast converts", function,
                     b_name, tdm_dtype_name(b->dtype), a_name, tdm_dtype_name(a->dtype));
}

static tdm_status check_dtype(const char *function, const tdmi_arg *args, int which) {
    const tdmi_arg *arg = &args[which];
    if (arg->flags & (TDMI_ARG_ANY_DTYPE | TDMI_ARG_MOVED)) return TDM_OK;
    if (!tdm_dtype_is_float(arg->tensor->dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of %s is %s, it must be one of %s",
                         function, arg->name, tdm_dtype_name(arg->tensor->dtype),
                         tdmi_float_dtypes());
    for (int i = 0; i < which; i++) {
        if (!args[i].tensor || (args[i].flags & TDMI_ARG_ANY_DTYPE)) continue;
        return tdmi_check_same_dtype(function, args[i].name, args[i].tensor, arg->name,
                                     arg->tensor);
    }
    return TDM_OK;
}

tdm_status tdmi_check_computes(const char *function, const tdm_device *device, const char *name,
                               tdm_dtype dtype) {
    if (dtype != TDM_F64 || device->facts->info.has_f64) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: %s is f64, but %s has no f64 arithmetic", function,
                     name, device->facts->info.id);
}

tdm_status tdmi_check_finite(const char *function, const char *name, double value,
                             tdm_dtype dtype) {
    if (isfinite(value) && (dtype == TDM_F64 || isfinite((float)value))) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s is %g, it must be finite in %s", function,
                     name, value, dtype == TDM_F64 ? "f64" : "f32");
}

tdm_status tdmi_check_epsilon(const char *function, double epsilon, tdm_dtype dtype) {
    if (!(epsilon >= 0))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: epsilon is %g, it must be at least 0",
                         function, epsilon);
    return tdmi_check_finite(function, "epsilon", epsilon, dtype);
}

tdm_status tdmi_check_args(const char *function, tdm_queue *queue, const tdmi_arg *args,
                           int count) {
    TDMI_NOT_NULL(function, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    for (int i = 0; i < count; i++) {
        if (!args[i].tensor && (args[i].flags & TDMI_ARG_OPTIONAL)) continue;
        TDMI_TRY((args[i].flags & TDMI_ARG_PACKED ? tdmi_tensor_check_packed : tdmi_tensor_check)(
            function, args[i].name, args[i].tensor));
        TDMI_TRY(check_dtype(function, args, i));
        TDMI_TRY(check_device(function, queue, args, count, i));
        if (args[i].flags & TDMI_ARG_MOVED) continue;
        TDMI_TRY(tdmi_check_computes(function, queue->device, args[i].name, args[i].tensor->dtype));
    }
    for (int i = 0; i < count; i++)
        if (args[i].tensor && (args[i].flags & TDMI_ARG_OUTPUT))
            TDMI_TRY(check_output(function, args, count, i));
    if (tdmi_profiles() && count > 0 && args[0].tensor)
        tdmi_profile_note("\"dtype\":\"%s\",\"shape\":\"%s\"," TDMI_PROFILE_QUEUE,
                          tdm_dtype_name(args[0].tensor->dtype),
                          tdmi_shape_text(args[0].tensor, (char[128]){0}),
                          TDMI_PROFILE_QUEUE_OF(queue));
    if (queue->recording) tdmi_graph_begin_operation(queue->recording);
    for (int i = 0; i < count; i++)
        if (args[i].tensor)
            TDMI_TRY(
                tdmi_order(queue, args[i].tensor->buffer, (args[i].flags & TDMI_ARG_OUTPUT) != 0));
    return TDM_OK;
}

tdm_status tdm_check_fork(void) {
    TDMI_UNCANCELLED();
    TDMI_NOT_FORKED();
    return TDM_OK;
}

tdm_status tdm_check_operands(const char *function, tdm_queue *queue, const tdm_operand *operands,
                              int count) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, function);
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    if (count < 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: count is %d, at least 0", function,
                         count);
    if (count > 0) TDMI_NOT_NULL(function, operands);
    for (int i = 0; i < count; i++)
        if (!operands[i].name)
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: operands[%d].name is NULL", function,
                             i);
    return tdmi_check_args(function, queue, operands, count);
}

tdm_status tdmi_check_dim(const char *function, tdm_status status, const char *name, int *dim,
                          int ndim) {
    if (*dim < -ndim || *dim >= ndim)
        return tdmi_fail(status, "%s: %s is %d, allowed are %d to %d", function, name, *dim, -ndim,
                         ndim - 1);
    if (*dim < 0) *dim += ndim;
    return TDM_OK;
}

tdm_status tdmi_check_dims(const char *function, const tdm_tensor *x, const int *dims, size_t count,
                           bool named[TDM_MAX_DIMS]) {
    memset(named, 0, TDM_MAX_DIMS * sizeof *named);
    if (count > 0 && !dims)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: dims is NULL, but count is %zu", function,
                         count);
    if (count > (size_t)x->ndim)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: count is %zu, but x has %d dimensions",
                         function, count, x->ndim);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        int dim = dims[i];
        snprintf(name, sizeof name, "dims[%zu]", i);
        TDMI_TRY(tdmi_check_dim(function, TDM_ERROR_INVALID_ARGUMENT, name, &dim, x->ndim));
        if (named[dim])
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: dims[%zu] repeats dimension %d",
                             function, i, dim);
        named[dim] = true;
    }
    return TDM_OK;
}

bool tdmi_is_same_shape(const tdm_tensor *a, const tdm_tensor *b) {
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

tdm_status tdmi_check_wanted_shape(const char *function, const char *name, const tdm_tensor *tensor,
                                   const tdm_tensor *wanted) {
    if (tdmi_is_same_shape(tensor, wanted)) return TDM_OK;
    char text[128], wanted_text[128];
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, it must be %s", function,
                     name, tdmi_shape_text(tensor, text), tdmi_shape_text(wanted, wanted_text));
}

tdm_status tdmi_check_same_shape(const char *function, const char *a_name, const tdm_tensor *a,
                                 const char *b_name, const tdm_tensor *b) {
    if (tdmi_is_same_shape(a, b)) return TDM_OK;
    char a_text[128], b_text[128];
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, but that of %s is %s",
                     function, a_name, tdmi_shape_text(a, a_text), b_name,
                     tdmi_shape_text(b, b_text));
}

bool tdmi_repeat(const tdm_tensor *tensor, int ndim, const int64_t *shape, tdm_tensor *view) {
    int missing = ndim - tensor->ndim;
    if (missing < 0) return false;
    tdm_tensor made = *tensor;
    made.ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        bool repeated = i < missing || (tensor->shape[i - missing] == 1 && shape[i] != 1);
        if (!repeated && tensor->shape[i - missing] != shape[i]) return false;
        made.shape[i] = shape[i];
        made.strides[i] = repeated ? 0 : tensor->strides[i - missing];
    }
    *view = made;
    return true;
}

tdm_status tdmi_broadcast(const char *function, const char *name, const tdm_tensor *tensor,
                          const char *y_name, const tdm_tensor *y, tdm_tensor *view) {
    if (tdmi_repeat(tensor, y->ndim, y->shape, view)) return TDM_OK;
    char text[128], y_text[128];
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: the shape of %s is %s, which does not broadcast to that of %s, %s",
                     function, name, tdmi_shape_text(tensor, text), y_name,
                     tdmi_shape_text(y, y_text));
}

tdm_status tdmi_check_vector(const char *function, const char *name, const tdm_tensor *tensor,
                             int64_t n) {
    char text[128];
    if (tensor->ndim != 1 || tensor->shape[0] != n)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, it must be [%lld]",
                         function, name, tdmi_shape_text(tensor, text), (long long)n);
    if (n > 1 && tensor->strides[0] != 1)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the stride of %s is %lld, it must be 1; tdm_cast copies it", function,
                         name, (long long)tensor->strides[0]);
    return TDM_OK;
}

int tdmi_collapse(const tdm_tensor *tensor, int from, int to, int64_t *count, int64_t *stride) {
    *count = 1;
    for (int i = to - 1; i >= from; i--) {
        if (tensor->shape[i] == 1) continue;
        if (*count == 1)
            *stride = tensor->strides[i];
        else if (tensor->strides[i] != *stride * *count)
            return i;
        *count *= tensor->shape[i];
    }
    return -1;
}

tdm_status tdmi_rows_of(const char *function, const char *name, const tdm_tensor *tensor,
                        tdmi_rows *rows) {
    int last = tensor->ndim - 1;
    rows->cols = tensor->shape[last];
    rows->rows = 1;
    rows->stride = rows->cols;
    for (int i = 0; i < last; i++) /* more than can be counted are rows of nothing, or not there */
        if (__builtin_mul_overflow(rows->rows, tensor->shape[i], &rows->rows))
            rows->rows = INT64_MAX;
    if (rows->rows == 0 || rows->cols == 0) return TDM_OK;
    if (rows->cols > 1 && tensor->strides[last] != 1)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the rows of %s have stride %lld, it must be 1; tdm_cast copies it "
                         "into a contiguous tensor",
                         function, name, (long long)tensor->strides[last]);
    if (rows->cols > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the rows of %s have %lld elements, allowed are fewer than 2^31",
                         function, name, (long long)rows->cols);
    int64_t count;
    const int apart = tdmi_collapse(tensor, 0, last, &count, &rows->stride);
    if (apart < 0) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: the rows of %s have no common stride (dimension %d); tdm_cast copies it "
                     "into a contiguous tensor",
                     function, name, apart);
}

tdm_status tdmi_rows_of_residual(const char *function, const tdm_tensor *x,
                                 const tdm_tensor *residual, int64_t x_rows, tdmi_rows *rows) {
    const int missing = x->ndim - residual->ndim;
    bool fits = missing >= 0;
    for (int i = 0; fits && i < residual->ndim; i++)
        fits = residual->shape[i] == x->shape[missing + i];
    if (!fits) return tdmi_check_same_shape(function, "x", x, "residual", residual);
    TDMI_TRY(tdmi_rows_of(function, "residual", residual, rows));
    if (rows->rows != 1 || x_rows == 1) return TDM_OK;
    rows->rows = x_rows;
    rows->stride = 0;
    return TDM_OK;
}
