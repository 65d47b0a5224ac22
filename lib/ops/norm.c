/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Norms of tensors, of rows and over any dimensions. Where the elements of a result lie along memory the kernel `norm`
 * takes them: those of one line at once, those of several as the norm of the lines' norms. Of columns `reduce` and
 * `extreme` do. */
#include "normalize.h"
#include "reduce.h"
#include "temporary.h"
#include "verify.h"

typedef struct norm_call {
    const char *function;
    tdm_queue *queue;
    tdm_norm_kind kind;
} norm_call;

/* Norms of rows of x, into elements of out; places: all offsets and strides of x, joined by |. */
static tdm_status norm_rows(const norm_call *call, const tdm_tensor *x, const tdm_tensor *out,
                            int64_t cols, int64_t places, tdm_norm_args *args) {
    tdm_queue *const queue = call->queue;
    const size_t size = tdm_dtype_size(x->dtype);
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_NORM,
                                  .t = (uint8_t)x->dtype,
                                  .u = (uint8_t)out->dtype,
                                  .op = (uint8_t)call->kind,
                                  .stream = tdmi_stores(queue, args->rows, cols, size, true),
                                  .vectors = tdmi_reduced_vectors(places, size)};
    const tdmi_mem *mems[] = {tdmi_mem_of(x), NULL, tdmi_mem_of(out)};
    return tdmi_launch_rows(queue, variant, args->rows, cols, mems, 1, TDM_SUM_NUMBERS, args,
                            &args->cut);
}

static tdm_status norms(const norm_call *call, const tdm_tensor *x, const tdmi_reduced *reduced,
                        const tdm_tensor *out);

/* By way of a tensor of another dtype. */
static tdm_status norms_by_way_of(tdm_dtype dtype, const norm_call *call, const tdm_tensor *x,
                                  const tdmi_reduced *reduced, const tdm_tensor *out) {
    tdm_tensor other, result = *out;
    TDMI_TRY(tdmi_temporary(call->queue, dtype, out->ndim, out->shape, &other));
    tdm_status status = norms(call, x, reduced, &other);
    if (status == TDM_OK) status = tdm_cast(call->queue, &other, &result);
    tdm_tensor_release(&other);
    return status;
}

/* The norms of lines, of several that become one result. */
static tdm_status norms_of_lines(const norm_call *call, const tdmi_reduction_plan *p,
                                 tdm_norm_args *args) {
    const tdm_reduce_args *const from = &p->args;
    tdmi_reduced reduced = {.elements = from->lines};
    tdm_tensor lines, out = *p->y;
    out.ndim = from->outer_ndim;
    for (int i = 0; i < from->outer_ndim; i++) {
        reduced.of_y[i] = i;
        out.strides[i] = from->y_stride[i];
    }
    for (int i = 0; i < from->line_ndim; i++) {
        const int to = args->outer_ndim++;
        reduced.dim[to] = true;
        args->outer_shape[to] = from->line_shape[i];
        args->x_stride[to] = from->line_stride[i];
    }
    TDMI_TRY(tdmi_temporary(call->queue, p->x->dtype == TDM_F64 ? TDM_F64 : TDM_F32,
                            args->outer_ndim, args->outer_shape, &lines));
    for (int i = 0; i < args->outer_ndim; i++)
        args->out_stride[i] = lines.strides[i];
    args->rows *= from->lines;
    args->out_offset = lines.offset;
    tdm_status status = norm_rows(call, p->x, &lines, from->cols, p->places, args);
    if (status == TDM_OK) status = norms(call, &lines, &reduced, &out);
    tdm_tensor_release(&lines);
    return status;
}

static tdm_status norms_of_columns(const norm_call *call, const tdm_tensor *x,
                                   const tdmi_reduced *reduced, const tdm_tensor *out) {
    const bool largest = call->kind == TDM_NORM_INF;
    if (largest && x->dtype != out->dtype) return norms_by_way_of(x->dtype, call, x, reduced, out);
    tdmi_reduction r = largest ? tdmi_largest_magnitude(x->dtype)
                               : tdmi_reduction_of(x, out, TDM_OP_REDUCE_NORM, 1);
    r.args.squares = call->kind == TDM_NORM_L2;
    r.again = r.op; /* the norm of norms */
    return tdmi_run_reduction(call->function, call->queue, &r, x, reduced, out);
}

static tdm_status norms(const norm_call *call, const tdm_tensor *x, const tdmi_reduced *reduced,
                        const tdm_tensor *out) {
    static const tdmi_reduction any = {.kernel = TDMI_KERNEL_NORM};
    tdmi_reduction_plan p;
    TDMI_TRY(tdmi_plan_reduction(call->function, call->queue, &any, x, reduced, out, &p));
    if (!p.adjacent) {
        tdm_tensor copy;
        TDMI_TRY(tdmi_copy_of(call->queue, x, &copy));
        const tdm_status status = norms(call, &copy, reduced, out);
        tdm_tensor_release(&copy);
        return status;
    }
    if (p.in_columns) return norms_of_columns(call, x, reduced, out);
    tdm_norm_args args = {.rows = p.args.rows,
                          .x_offset = x->offset,
                          .out_offset = out->offset,
                          .outer_ndim = p.args.outer_ndim};
    for (int i = 0; i < args.outer_ndim; i++) {
        args.outer_shape[i] = p.args.outer_shape[i];
        args.x_stride[i] = p.args.x_stride[i];
        args.out_stride[i] = p.args.y_stride[i];
    }
    if (p.args.lines == 1) return norm_rows(call, x, out, p.args.cols, p.places, &args);
    if (tdm_dtype_size(out->dtype) == 2) /* which is rounded once */
        return norms_by_way_of(TDM_F32, call, x, reduced, out);
    return norms_of_lines(call, &p, &args);
}

static tdm_status run(const norm_call *call, const tdm_tensor *x, const int *dims, size_t count,
                      const char *name, tdm_tensor *out) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {name, out, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(call->function, call->queue, args, 2,
                run(&(norm_call){call->function, v->queue, call->kind}, v->t[0], dims, count, name,
                    v->t[1]),
                .kind = call->kind == TDM_NORM_INF ? TDMI_VERIFY_EXACT : TDMI_VERIFY_TERMS)
    TDMI_TRY(tdmi_check_args(call->function, call->queue, args, 2));
    if ((unsigned)call->kind >= TDM_NORM_COUNT)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: kind is %d, allowed are TDM_NORM_L1, TDM_NORM_L2 and TDM_NORM_INF",
                         call->function, (int)call->kind);
    TDMI_TRY(tdmi_check_reduced_dtypes(call->function, call->queue, true, "x", x, name, out));
    tdmi_reduced reduced;
    TDMI_TRY(tdmi_check_reduced(call->function, x, dims, count, name, out, &reduced));
    if (tdm_tensor_get_count(out) == 0) return TDM_OK;
    if (reduced.elements == 0) return tdm_fill(call->queue, 0, out);
    return norms(call, x, &reduced, out);
}

tdm_status tdm_norm_over(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x, const int *dims,
                         size_t count, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return run(&(norm_call){__func__, queue, kind}, x, dims, count, "y", y);
}

tdm_status tdm_row_norm(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x,
                        tdm_tensor *out) {
    TDMI_UNCANCELLED();
    const int last = x ? x->ndim - 1 : 0;
    return run(&(norm_call){__func__, queue, kind}, x, &last, 1, "out", out);
}

tdm_status tdm_norm(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x, tdm_tensor *out) {
    TDMI_UNCANCELLED();
    return run(&(norm_call){__func__, queue, kind}, x, NULL, 0, "out", out);
}
