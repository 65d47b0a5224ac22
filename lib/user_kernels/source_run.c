/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Running a user's kernel in the dialect: its arguments, as the struct that source.c has made of the parameters. */
#include "user_kernels/kernel.h"

#include "kernel_list.h"
#include "launch.h"

/* The tensors of a call, in the order of the kernel's. */
typedef struct source_call {
    const char *function;
    int count, output_count;
    tdm_dtype t, u;
    const tdm_tensor *tensors[TDM_KERNEL_MAX_TENSORS];
    tdmi_rows rows[TDM_KERNEL_MAX_TENSORS];
    tdmi_arg args[TDM_KERNEL_MAX_TENSORS];
} source_call;

static tdm_status add_tensor(source_call *self, const tdmi_parameter *parameter,
                             const tdm_tensor *tensor) {
    const char *const function = self->function;
    const bool any = parameter->dtype == TDM_ANY_DTYPE;
    TDMI_TRY(tdmi_tensor_check(function, parameter->name, tensor));
    if (!any && parameter->dtype != (int)tensor->dtype)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                         "%s: the dtype of %s is %s, but the kernel was made for %s", function,
                         parameter->name, tdm_dtype_name(tensor->dtype),
                         tdm_dtype_name((tdm_dtype)parameter->dtype));
    self->args[self->count] =
        (tdmi_arg){.name = parameter->name,
                   .tensor = tensor,
                   .flags = (parameter->kind == TDM_PARAMETER_OUTPUT ? TDMI_ARG_OUTPUT : 0u) |
                            (any ? 0u : TDMI_ARG_ANY_DTYPE)};
    self->tensors[self->count++] = tensor;
    return TDM_OK;
}

/* T, and U, which is f64 where T is not but some tensor is: the device needs the arithmetic of both. */
static void find_dtypes(source_call *self) {
    bool any = false, wide = false;
    for (int i = 0; i < self->count; i++) {
        const bool fixed = self->args[i].flags & TDMI_ARG_ANY_DTYPE;
        if (!fixed && !any) self->t = self->tensors[i]->dtype;
        any = any || !fixed;
        wide = wide || self->tensors[i]->dtype == TDM_F64;
    }
    if (!any) self->t = wide ? TDM_F64 : TDM_F32;
    self->u = wide ? TDM_F64 : self->t;
}

static tdm_status find_tensors(source_call *self, tdm_queue *queue, const tdm_kernel *kernel,
                               const tdm_argument *const *arguments) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (arguments[i]->tensor)
            TDMI_TRY(add_tensor(self, &kernel->parameters[i], arguments[i]->tensor));
    for (int i = 0; i < self->count; i++)
        TDMI_TRY(
            tdmi_rows_of(self->function, self->args[i].name, self->tensors[i], &self->rows[i]));
    TDMI_TRY(tdmi_check_args(self->function, queue, self->args, self->count));
    find_dtypes(self);
    return TDM_OK;
}

static bool writes_nothing(const source_call *self) {
    for (int i = 0; i < self->count; i++)
        if ((self->args[i].flags & TDMI_ARG_OUTPUT) && tdm_tensor_get_count(self->tensors[i]) > 0)
            return false;
    return true;
}

static tdm_layout layout_of(const tdm_tensor *tensor, const tdmi_rows *rows) {
    tdm_layout layout = {tensor->offset, rows->rows, rows->cols, rows->stride, {0}};
    for (int d = 0; d <= TDM_MAX_OUTER; d++)
        layout.shape[d] = d < tensor->ndim ? tensor->shape[d] : 1;
    return layout;
}

/* The parameters follow each other without padding, as all have members of 8 bytes. */
static void fill_args(const source_call *self, const tdm_kernel *kernel,
                      const tdm_argument *const *arguments, const tdm_source_launch *launch,
                      unsigned char *args) {
    int tensor = 0;
    memcpy(args, launch, sizeof *launch);
    args += sizeof *launch;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const tdmi_parameter *parameter = &kernel->parameters[i];
        if (tdmi_is_tensor(parameter)) {
            const tdm_layout layout = layout_of(self->tensors[tensor], &self->rows[tensor]);
            tensor++;
            memcpy(args, &layout, sizeof layout);
            args += sizeof layout;
        } else if (parameter->kind == TDM_PARAMETER_NUMBER) {
            const tdm_scalar scalar = tdmi_scalar(arguments[i]->number);
            memcpy(args, &scalar, sizeof scalar);
            args += sizeof scalar;
        } else {
            memcpy(args, &arguments[i]->integer, sizeof arguments[i]->integer);
            args += sizeof arguments[i]->integer;
        }
    }
}

/* Groups for `items`: what a kernel does with a tensor's elements is unknown, so that all tensors count for
 * whether another group pays. */
static int64_t count_groups(const source_call *self, const tdmi_device_facts *facts,
                            int64_t items) {
    int64_t groups = items, bytes = 0;
    if (groups > facts->max_groups) groups = facts->max_groups;
    for (int i = 0; i < self->count; i++)
        bytes += tdm_tensor_get_count(self->tensors[i]) *
                 (int64_t)tdm_dtype_size(self->tensors[i]->dtype);
    if (facts->min_group_bytes > 0 && groups > bytes / facts->min_group_bytes)
        groups = bytes / facts->min_group_bytes;
    return groups > 0 ? groups : 1;
}

static tdm_status launch(const source_call *self, const tdmi_kernel_call *call, tdm_kernel *kernel,
                         const tdm_argument *const *arguments) {
    const tdmi_user_kernel *program;
    const tdmi_mem *mems[TDM_KERNEL_MAX_TENSORS];
    _Alignas(8) unsigned char args[TDM_SOURCE_BYTES] = {0};
    const tdmi_rows *first = &self->rows[0];
    const int64_t rows = first->cols > 0 ? first->rows : 0;
    const tdmi_pieces pieces = tdmi_cut_rows(call->queue, rows > 0 ? rows : 1, first->cols,
                                             tdm_dtype_size(self->tensors[0]->dtype));
    TDMI_TRY(tdmi_source_program(kernel, self->t, self->u, &program));
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_USER, .t = program->t, .u = program->u, .user = program->number};
    if (call->purpose != TDMI_RUN)
        return tdmi_kernel_look_up(call, tdmi_complete_variant(call->queue, variant, first->cols));
    const tdm_source_launch shared = {first->rows, first->cols, pieces.chunk, pieces.chunks};
    fill_args(self, kernel, arguments, &shared, args);
    for (int i = 0; i < self->count; i++)
        mems[i] = tdmi_mem_of(self->tensors[i]);
    const tdmi_device_facts *facts = call->queue->device->facts;
    const int64_t items =
        first->rows < facts->max_groups ? first->rows * (int64_t)pieces.chunks : first->rows;
    const int64_t groups = count_groups(self, facts, items);
    return tdmi_launch_groups(call->queue, variant, groups, first->cols, mems, args);
}

tdm_status tdmi_source_call(const tdmi_kernel_call *call, tdm_kernel *kernel,
                            const tdm_argument *const *arguments) {
    source_call self = {.function = call->function};
    TDMI_TRY(find_tensors(&self, call->queue, kernel, arguments));
    if (writes_nothing(&self)) return TDM_OK;
    return launch(&self, call, kernel, arguments);
}
