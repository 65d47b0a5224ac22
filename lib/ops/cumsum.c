/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, or products, of the elements so far along one dimension: planned as the sum over that dimension is, whose
 * kernel adds up the parts of what is cut. */
#include "reduce.h"
#include "strided.h"
#include "temporary.h"
#include "verify.h"

/* x's elements, and y's, side by side in the same dimension, as the kernel wants them? */
static bool are_adjacent(const tdmi_reduction_plan *p, int dim) {
    if (!p->adjacent) return false;
    if (p->in_columns) return p->args.y_step == 1;
    return p->x->shape[dim] == 1 || p->y->strides[dim] == 1; /* 1: there is no other element */
}

/* Cutting has x read twice, so a CPU cuts only what has no work for all its cores. */
static void cut(tdmi_reduction_plan *p) {
    const tdmi_device_facts *facts = p->queue->device->facts;
    if (!facts->row_loops || tdmi_items_uncut(p) < facts->info.compute_units)
        tdmi_cut_reduction(p);
    else
        p->args.chunks = 1;
}

static tdm_status scan(tdmi_reduction_plan *p, int dim) {
    const tdmi_mem *x = tdmi_mem_of(p->x), *y = tdmi_mem_of(p->y), *partial = NULL;
    cut(p);
    if (p->args.chunks > 1) TDMI_TRY(tdmi_leave_parts(p, &partial));
    p->args.y_line = p->y->strides[dim];
    p->args.y_chunk = (int64_t)p->args.chunk * (p->in_columns ? p->args.y_line : 1);
    const tdm_dtype to = tdm_dtype_is_float(p->y->dtype) ? p->y->dtype : TDM_U64;
    const unsigned op = p->reduction->op == TDM_OP_REDUCE_PRODUCT ? TDM_OP_CUMSUM_PRODUCT : 0;
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_CUMSUM,
                                  .t = (uint8_t)p->reduction->t,
                                  .u = (uint8_t)to,
                                  .op = (uint8_t)(op | (p->in_columns ? TDM_OP_IN_COLUMNS : 0))};
    const tdmi_mem *mems[] = {x, partial, y};
    return tdmi_launch_reduction(p, variant, mems, &p->args);
}

/* op: TDM_OP_REDUCE_SUM or _PRODUCT */
static tdm_status run(const char *function, tdm_queue *queue, unsigned op, const tdm_tensor *x,
                      int dim, const tdm_tensor *y) {
    tdmi_reduced reduced = {.elements = x->shape[dim]};
    for (int i = 0; i < x->ndim; i++) {
        reduced.dim[i] = i == dim;
        reduced.of_y[i] = i;
    }
    tdmi_reduction sum = tdmi_reduction_of(x, y, op, 1);
    sum.seldom_cut = true;
    tdmi_reduction_plan plan;
    TDMI_TRY(tdmi_plan_reduction(function, queue, &sum, x, &reduced, y, &plan));
    if (are_adjacent(&plan, dim)) return scan(&plan, dim);
    /* those of contiguous tensors are: first of x, then of y */
    tdm_tensor other;
    tdm_status status;
    if (!tdm_tensor_is_contiguous(x)) {
        TDMI_TRY(tdmi_copy_of(queue, x, &other));
        status = run(function, queue, op, &other, dim, y);
    } else {
        TDMI_TRY(tdmi_temporary(queue, y->dtype, y->ndim, y->shape, &other));
        status = run(function, queue, op, x, dim, &other);
        if (status == TDM_OK) status = tdmi_copy_into(queue, &other, y);
    }
    tdm_tensor_release(&other);
    return status;
}

static tdm_status check_and_run(const char *function, tdm_queue *queue, unsigned op,
                                const tdm_tensor *x, int dim, const tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 1}};
    if (op == TDM_OP_REDUCE_SUM)
        TDMI_VERIFY(function, queue, args, 2,
                    check_and_run(function, v->queue, op, v->t[0], dim, v->t[1]),
                    .kind = TDMI_VERIFY_SUMS, .factor = 56)
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    TDMI_TRY(tdmi_check_reduced_dtypes(function, queue, false, "x", x, "y", y));
    TDMI_TRY(tdmi_check_same_shape(function, "x", x, "y", y));
    TDMI_TRY(tdmi_check_dim(function, TDM_ERROR_INVALID_ARGUMENT, "dim", &dim, x->ndim));
    return tdm_tensor_get_count(y) == 0 ? TDM_OK : run(function, queue, op, x, dim, y);
}

tdm_status tdm_cumsum(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return check_and_run("tdm_cumsum", queue, TDM_OP_REDUCE_SUM, x, dim, y);
}

tdm_status tdm_cumprod(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    return check_and_run("tdm_cumprod", queue, TDM_OP_REDUCE_PRODUCT, x, dim, y);
}
