/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running a user's kernel: its arguments, and the rows that its tensors make. */
#include "user_kernels/kernel.h"

/* Longer rows are done in several launches: kernels index them with 32 bits. */
static const int64_t MAX_COLS = (int64_t)1 << 30;

/* ---- arguments ---- */

static tdm_status check_kind(const char *function, const tdmi_parameter *parameter,
                             const tdm_argument *argument) {
    const bool wants_tensor = tdmi_is_tensor(parameter);
    if (wants_tensor && !argument->tensor)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: %s is a tensor of the kernel, but its argument has none", function,
                         parameter->name);
    if (wants_tensor) return TDM_OK;
    /* an argument of the other kind leaves the member that is read 0 */
    const bool wants_number = parameter->kind == TDM_PARAMETER_NUMBER;
    const bool has_number = argument->number != 0, has_integer = argument->integer != 0;
    const bool is_other = wants_number ? has_integer && !has_number : has_number && !has_integer;
    if (!argument->tensor && !is_other) return TDM_OK;
    static const char *const kinds[] = {"an integer", "a number"};
    return tdmi_fail(
        TDM_ERROR_INVALID_ARGUMENT, "%s: %s is %s of the kernel, but its argument is %s", function,
        parameter->name, kinds[wants_number], argument->tensor ? "a tensor" : kinds[!wants_number]);
}

static int find_parameter(const tdm_kernel *kernel, const char *name) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (strcmp(kernel->parameters[i].name, name) == 0) return i;
    return -1;
}

/* The argument of each parameter. */
static tdm_status sort_arguments(const char *function, const tdm_kernel *kernel,
                                 const tdm_argument *arguments, size_t count,
                                 const tdm_argument *sorted[TDMI_MOST_PARAMETERS]) {
    memset(sorted, 0, TDMI_MOST_PARAMETERS * sizeof(void *));
    TDMI_NOT_NULL(function, arguments);
    if (count > (size_t)kernel->parameter_count)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: there are %zu arguments, but the kernel has %d parameters", function,
                         count, kernel->parameter_count);
    for (size_t i = 0; i < count; i++) {
        if (!arguments[i].name)
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: arguments[%zu] has no name", function,
                             i);
        const int which = find_parameter(kernel, arguments[i].name);
        if (which < 0)
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                             "%s: the kernel has no parameter \"%.80s\"", function,
                             arguments[i].name);
        if (sorted[which])
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: there are two arguments named %s",
                             function, arguments[i].name);
        sorted[which] = &arguments[i];
        TDMI_TRY(check_kind(function, &kernel->parameters[which], &arguments[i]));
    }
    for (int i = 0; i < kernel->parameter_count; i++)
        if (!sorted[i])
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: there is no argument for %s",
                             function, kernel->parameters[i].name);
    return TDM_OK;
}

static tdm_status find_dtypes(tdm_kernel *kernel, const tdm_argument *const *sorted,
                              tdmi_call *self) {
    const char *const function = self->function;
    uint8_t dtypes[TDM_KERNEL_MAX_TENSORS];
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        const tdm_tensor *tensor = sorted[i]->tensor;
        if (parameter->kind != TDM_PARAMETER_TENSOR) continue;
        TDMI_TRY(tdmi_tensor_check(function, parameter->name, tensor));
        if (parameter->dtype != TDM_ANY_DTYPE && parameter->dtype != (int)tensor->dtype)
            return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                             "%s: the dtype of %s is %s, but the kernel was made for %s", function,
                             parameter->name, tdm_dtype_name(tensor->dtype),
                             tdm_dtype_name((tdm_dtype)parameter->dtype));
        self->names[self->count] = parameter->name;
        self->tensors[self->count] = tensor;
        dtypes[self->count++] = (uint8_t)tensor->dtype;
    }
    return tdmi_kernel_for_dtypes(kernel, function, dtypes, &self->typed);
}

static tdm_status check_tensors(const tdmi_call *self) {
    const char *const function = self->function;
    const tdmi_expression *e = &self->typed->expression;
    tdmi_arg args[TDM_KERNEL_MAX_TENSORS];
    unsigned in_place = 0;
    /* without apply an input that is the same view would be broadcast: each row reads what others write */
    for (int i = 0; i < self->count && (!e->has_rows || e->has_apply); i++)
        if (!e->is_written[i]) in_place |= 1u << i;
    for (int i = 0; i < self->count; i++)
        args[i] = (tdmi_arg){self->names[i], self->tensors[i],
                             TDMI_ARG_ANY_DTYPE | (e->is_written[i] ? TDMI_ARG_OUTPUT : 0u),
                             e->is_written[i] ? in_place : 0u};
    TDMI_TRY(tdmi_check_args(function, self->queue, args, self->count));
    if (!self->typed->has_f64 || self->queue->device->facts->info.has_f64) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: the kernel computes in f64, but %s has no f64 arithmetic", function,
                     self->queue->device->facts->info.id);
}

static tdm_status find_views(tdmi_call *self) {
    const char *const function = self->function;
    const tdmi_expression *e = &self->typed->expression;
    const int first = e->outputs[0].tensor;
    const tdm_tensor *y = self->tensors[first];
    for (int i = 0; i < self->count; i++) {
        if (e->is_written[i])
            TDMI_TRY(tdmi_check_same_shape(function, self->names[first], y, self->names[i],
                                           self->tensors[i]));
        TDMI_TRY(tdmi_broadcast(function, self->names[i], self->tensors[i], self->names[first], y,
                                &self->views[i]));
    }
    return TDM_OK;
}

static void set_scalars(const tdm_kernel *kernel, const tdmi_expression *e,
                        const tdm_argument *const *sorted, tdm_expression_args *args) {
    for (int i = 0; i < e->scalar_count; i++) {
        const tdmi_scalar_use use = e->scalars[i];
        if (use.parameter == TDMI_ROW_LENGTH) {
            args->scalars[i] = (int64_t)tdmi_integer_bits(use.type, args->cut.cols);
            continue;
        }
        const tdm_argument *argument = sorted[use.parameter];
        const uint64_t bits = kernel->parameters[use.parameter].kind == TDM_PARAMETER_NUMBER
                                  ? tdmi_number_bits(use.type, argument->number)
                                  : tdmi_integer_bits(use.type, argument->integer);
        args->scalars[i] = (int64_t)bits;
    }
}

/* ---- rows ---- */

static void add_dim(const tdmi_call *self, tdmi_dims *d, int which) {
    d->shape[d->count] = self->views[0].shape[which];
    for (int k = 0; k < self->count; k++)
        d->strides[k][d->count] = self->views[k].strides[which];
    d->count++;
}

/* Dimensions of extent above 1, merged where all operands allow it; unless elements have numbers, those with
 * the largest stride in the first output first. Of rows that are combined the last one stays as it is. */
static tdmi_dims find_dims(const tdmi_call *self) {
    const tdmi_expression *e = &self->typed->expression;
    const int y = e->outputs[0].tensor, ndim = self->views[y].ndim;
    tdmi_dims d = {.operands = self->count};
    for (int i = 0; i < (e->has_rows ? ndim - 1 : ndim); i++)
        if (self->views[y].shape[i] != 1) add_dim(self, &d, i);
    if (!e->has_index) tdmi_dims_sort(&d, y);
    tdmi_dims_merge(&d, INT64_MAX);
    if (e->has_rows) add_dim(self, &d, ndim - 1);
    return d;
}

static void describe(const tdmi_call *self, const tdmi_dims *d, tdm_expression_args *args) {
    const tdm_tensor *y = &self->views[self->typed->expression.outputs[0].tensor];
    const int outer = d->count > 0 ? d->count - 1 : 0;
    args->rows = 1;
    args->outer_ndim = outer;
    args->extent = y->shape[y->ndim - 1];
    for (int i = 0; i < outer; i++) {
        args->rows *= d->shape[i];
        args->outer_shape[i] = d->shape[i];
    }
    for (int k = 0; k < self->count; k++) {
        args->offset[k] = self->views[k].offset;
        args->inner_stride[k] = tdmi_inner_stride(d, k);
        for (int i = 0; i < outer; i++)
            args->outer_stride[k][i] = d->strides[k][i];
    }
}

/* The output is read again, or is not written along memory. */
static bool keeps_outputs(const tdmi_call *self, const tdmi_dims *d) {
    const tdmi_expression *e = &self->typed->expression;
    for (int i = 0; i < self->count; i++) {
        if (!e->is_written[i]) continue;
        if (e->is_read[i] || tdmi_inner_stride(d, i) != 1) return true;
        for (int k = 0; k < self->count; k++)
            if (k != i && self->views[k].buffer == self->views[i].buffer) return true;
    }
    return false;
}

static tdm_status launch(const tdmi_call *self, const tdmi_dims *d, const tdmi_row_form *form,
                         tdm_expression_args *args) {
    const tdm_tensor *y = &self->views[self->typed->expression.outputs[0].tensor];
    const int64_t cols = d->count > 0 ? d->shape[d->count - 1] : 1;
    const size_t size = tdm_dtype_size(y->dtype);
    const tdmi_user_kernel *program = form->program;
    tdmi_variant variant = {.kernel = TDMI_KERNEL_USER,
                            .t = program->t,
                            .u = program->u,
                            .op = program->vectors,
                            .user = program->number};
    const tdmi_mem *mems[TDM_KERNEL_MAX_TENSORS] = {NULL};
    for (int k = 0; k < self->count; k++)
        mems[k] = tdmi_mem_of(&self->views[k]);
    args->index_stride = cols;
    for (int64_t begin = 0; begin < cols; begin += MAX_COLS) {
        const int64_t part = cols - begin < MAX_COLS ? cols - begin : MAX_COLS;
        const tdmi_pieces pieces = tdmi_cut_rows(self->queue, args->rows, part, size);
        variant.stream = tdmi_stores(self->queue, args->rows, part, size, keeps_outputs(self, d));
        variant.vectors = form->is_plain && tdmi_call_is_aligned(self, d);
        args->index = begin;
        args->cut.cols = (tdm_u32)part;
        args->cut.piece = pieces.chunk;
        args->cut.pieces = pieces.chunks;
        TDMI_TRY(
            tdmi_call_launch(self, variant, args->rows * pieces.chunks, pieces.chunk, mems, args));
        for (int k = 0; k < self->count; k++)
            args->offset[k] += part * args->inner_stride[k];
    }
    return TDM_OK;
}

static tdm_status run(tdm_kernel *kernel, const tdm_argument *const *sorted, tdmi_call *self) {
    uint8_t row_kinds[TDM_KERNEL_MAX_TENSORS] = {0};
    tdm_expression_args args;
    const tdmi_row_form *form;
    const tdmi_expression *e = &self->typed->expression;
    const tdmi_dims d = find_dims(self);
    for (int k = 0; k < self->count; k++) {
        if (e->is_written[k] && e->has_rows && !e->has_apply) continue; /* one element a row */
        const int64_t stride = tdmi_inner_stride(&d, k);
        row_kinds[k] = (uint8_t)(stride == 0   ? TDMI_ROW_REPEATED
                                 : stride == 1 ? TDMI_ROW_ADJACENT
                                               : TDMI_ROW_APART);
    }
    TDMI_TRY(tdmi_kernel_for_rows(kernel, self->typed, row_kinds, &form));
    memset(&args, 0, sizeof args);
    describe(self, &d, &args);
    args.cut.cols = (tdm_u32)(d.count > 0 ? d.shape[d.count - 1] : 1);
    set_scalars(kernel, e, sorted, &args);
    return e->has_rows ? tdmi_call_combine(self, &d, form, &args) : launch(self, &d, form, &args);
}

tdm_status tdmi_expression_call(const tdmi_kernel_call *call, tdm_kernel *kernel,
                                const tdm_argument *const *sorted) {
    tdmi_call self = {.function = call->function, .wanted = call, .queue = call->queue};
    TDMI_TRY(find_dtypes(kernel, sorted, &self));
    TDMI_TRY(check_tensors(&self));
    TDMI_TRY(self.typed->expression.has_rows ? tdmi_call_find_rows(&self) : find_views(&self));
    if (tdm_tensor_get_count(self.tensors[self.typed->expression.outputs[0].tensor]) == 0)
        return TDM_OK;
    return run(kernel, sorted, &self);
}

static tdm_status make_call(const tdmi_kernel_call *call, tdm_kernel *kernel,
                            const tdm_argument *arguments, size_t argument_count) {
    const tdm_argument *sorted[TDMI_MOST_PARAMETERS];
    const char *const function = call->function;
    const tdm_queue *queue = call->queue;
    TDMI_NOT_NULL(function, queue);
    TDMI_NOT_NULL(function, kernel);
    TDMI_TRY(tdmi_device_usable(queue->device));
    if (kernel->device != queue->device)
        return tdmi_fail(TDM_ERROR_DEVICE_MISMATCH, "%s: kernel is of %s, but queue is of %s",
                         function, kernel->device->facts->info.id, queue->device->facts->info.id);
    TDMI_TRY(sort_arguments(function, kernel, arguments, argument_count, sorted));
    return kernel->source ? tdmi_source_call(call, kernel, sorted)
                          : tdmi_expression_call(call, kernel, sorted);
}

tdm_status tdm_kernel_run(tdm_queue *queue, tdm_kernel *kernel, const tdm_argument *arguments,
                          size_t argument_count) {
    TDMI_UNCANCELLED();
    const tdmi_kernel_call call = {"tdm_kernel_run", TDMI_RUN, NULL, queue};
    return make_call(&call, kernel, arguments, argument_count);
}

tdm_status tdm_kernel_warm(tdm_queue *queue, tdm_kernel *kernel, const tdm_argument *arguments,
                           size_t argument_count) {
    TDMI_UNCANCELLED();
    const tdmi_kernel_call call = {"tdm_kernel_warm", TDMI_COMPILE, NULL, queue};
    TDMI_TRY(tdmi_check_not_recording(call.function, queue));
    return make_call(&call, kernel, arguments, argument_count);
}

tdm_status tdm_kernel_is_cached(tdm_queue *queue, tdm_kernel *kernel, const tdm_argument *arguments,
                                size_t argument_count, bool *is_cached) {
    TDMI_UNCANCELLED();
    const tdmi_kernel_call call = {"tdm_kernel_is_cached", TDMI_ASK, is_cached, queue};
    TDMI_NOT_NULL(call.function, is_cached);
    *is_cached = false;
    TDMI_TRY(tdmi_check_not_recording(call.function, queue));
    *is_cached = true;
    const tdm_status status = make_call(&call, kernel, arguments, argument_count);
    if (status != TDM_OK) *is_cached = false;
    return status;
}

/* ---- expressions of the library's own ---- */

/* The kernel, made by whichever thread comes first. It has no reference to the device, whose it is. */
static tdm_status find_kernel(const char *function, tdm_device *device, int which,
                              const tdmi_texts *texts, const tdm_parameter *parameters,
                              size_t count, tdm_kernel **kernel) {
    tdm_kernel *made, *none = NULL;
    *kernel = atomic_load(&device->kept_kernels[which]);
    if (*kernel) return TDM_OK;
    TDMI_TRY(tdmi_expression_make(function, device, texts, parameters, count, &made));
    made->is_function = true;
    atomic_store(&device->free_kernel, tdmi_kernel_free);
    if (atomic_compare_exchange_strong(&device->kept_kernels[which], &none, made)) {
        *kernel = made;
    } else {
        tdmi_kernel_free(made);
        *kernel = none;
    }
    return TDM_OK;
}

tdm_status tdmi_call_texts(const char *function, tdm_queue *queue, int which,
                           const tdmi_texts *texts, const tdm_argument *arguments, size_t count,
                           unsigned scalars, tdm_parameter_kind kind) {
    tdm_parameter parameters[5];
    const tdm_argument *sorted[5];
    tdm_kernel *kernel;
    TDMI_NOT_NULL(function, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    for (size_t i = 0; i < count; i++) {
        const bool scalar = scalars >> i & 1;
        parameters[i] =
            (tdm_parameter){arguments[i].name, scalar ? kind : TDM_PARAMETER_TENSOR, TDM_ANY_DTYPE};
        sorted[i] = &arguments[i];
    }
    TDMI_TRY(find_kernel(function, queue->device, which, texts, parameters, count, &kernel));
    const tdmi_kernel_call call = {function, TDMI_RUN, NULL, queue};
    return tdmi_expression_call(&call, kernel, sorted);
}
