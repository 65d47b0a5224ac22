/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Largest and smallest elements, where they are, and whether there are elements that are not 0: of any dtype, by
 * its bits. */
#include <math.h>

#include "indexed.h"
#include "reduce.h"
#include "verify.h"

/* The kind of an extreme, apart from its dtype. */
typedef struct extreme {
    const char *function;
    unsigned op;
    bool truth;
    bool smallest;   /* or all */
    bool magnitudes; /* of floats without their sign */
} extreme;

/* How the keys of kernels/extreme.cl are made. Those of up to 32 bits have 32. */
static tdmi_reduction reduction_of(const extreme *e, tdm_dtype dtype) {
    const size_t size = tdm_dtype_size(dtype);
    const bool is_float = tdm_dtype_is_float(dtype), truth = e->truth;
    const int64_t highest = size == 8 ? INT64_MAX : INT32_MAX;
    const tdmi_ranks ranks = tdmi_ranks_of(dtype);
    const tdm_dtype bits = tdmi_dtype_bits(dtype);
    tdmi_reduction r = {.kernel = TDMI_KERNEL_EXTREME,
                        .op = e->op,
                        .again = e->op,
                        .t = bits,
                        .again_t = truth ? TDM_U8 : bits,
                        .left = truth                           ? 1
                                : e->op == TDM_OP_EXTREME_PLACE ? sizeof(int64_t)
                                                                : size};
    r.args.truth = truth;
    r.args.mask = is_float && (truth || e->magnitudes) ? highest : -1;
    r.args.turn = (e->smallest ? -1 : 0) ^ (truth ? 0 : ranks.turn);
    r.args.fold = ranks.fold;
    r.args.above = ranks.above;
    r.args.zero = ranks.zero;
    r.args.nan = is_float ? (int64_t)tdmi_element_bits(dtype, NAN) : 0;
    r.args.limit = ranks.limit;
    return r;
}

static tdm_status check_not_empty(const char *function, const tdmi_reduced *reduced) {
    if (reduced->elements > 0) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                     "%s: the dimensions of x that are reduced have no elements, so there is "
                     "no extreme",
                     function);
}

/* Values, of x's dtype, or truths. */
static tdm_status find(const extreme *e, tdm_queue *queue, const tdm_tensor *x, const int *dims,
                       size_t count, tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(e->function, queue, args, 2, find(e, v->queue, v->t[0], dims, count, v->t[1]),
                .kind = TDMI_VERIFY_EXACT)
    TDMI_TRY(tdmi_check_args(e->function, queue, args, 2));
    if (!e->truth) TDMI_TRY(tdmi_check_same_dtype(e->function, "x", x, "y", y));
    if (e->truth && y->dtype != TDM_BOOL)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of y is %s, it must be bool",
                         e->function, tdm_dtype_name(y->dtype));
    tdmi_reduced reduced;
    TDMI_TRY(tdmi_check_reduced(e->function, x, dims, count, "y", y, &reduced));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    if (e->truth && reduced.elements == 0) return tdm_fill(queue, e->smallest, y);
    TDMI_TRY(check_not_empty(e->function, &reduced));
    extreme chosen = *e; /* the largest of bools is whether any is true */
    chosen.truth = e->truth || x->dtype == TDM_BOOL;
    const tdmi_reduction r = reduction_of(&chosen, x->dtype);
    return tdmi_run_reduction(e->function, queue, &r, x, &reduced, y);
}

tdm_status tdm_max(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                   tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const extreme largest = {"tdm_max", TDM_OP_EXTREME_VALUE, false, false, false};
    return find(&largest, queue, x, dims, count, y);
}

tdm_status tdm_min(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                   tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const extreme smallest = {"tdm_min", TDM_OP_EXTREME_VALUE, false, true, false};
    return find(&smallest, queue, x, dims, count, y);
}

tdmi_reduction tdmi_largest_magnitude(tdm_dtype dtype) {
    return reduction_of(&(extreme){.op = TDM_OP_EXTREME_VALUE, .magnitudes = true}, dtype);
}

tdm_status tdm_any(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                   tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const extreme any = {"tdm_any", TDM_OP_EXTREME_VALUE, true, false, false};
    return find(&any, queue, x, dims, count, y);
}

tdm_status tdm_all(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                   tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const extreme all = {"tdm_all", TDM_OP_EXTREME_VALUE, true, true, false};
    return find(&all, queue, x, dims, count, y);
}

static tdm_status find_places(const char *function, bool smallest, tdm_queue *queue,
                              const tdm_tensor *x, int dim, tdm_tensor *indices) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"indices", indices, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(function, queue, args, 2,
                find_places(function, smallest, v->queue, v->t[0], dim, v->t[1]),
                .kind = TDMI_VERIFY_EXACT)
    const extreme place = {function, TDM_OP_EXTREME_PLACE, false, smallest, false};
    TDMI_TRY(tdmi_check_args(function, queue, args, 2));
    TDMI_TRY(tdmi_check_indices(function, "indices", indices));
    TDMI_TRY(tdmi_check_dim(function, TDM_ERROR_INVALID_ARGUMENT, "dim", &dim, x->ndim));
    tdmi_reduced reduced;
    TDMI_TRY(tdmi_check_reduced(function, x, &dim, 1, "indices", indices, &reduced));
    if (tdm_tensor_get_count(indices) == 0) return TDM_OK;
    TDMI_TRY(check_not_empty(function, &reduced));
    tdmi_reduction r = reduction_of(&place, x->dtype);
    r.args.wide = indices->dtype == TDM_I64;
    return tdmi_run_reduction(function, queue, &r, x, &reduced, indices);
}

tdm_status tdm_argmax(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    return find_places("tdm_argmax", false, queue, x, dim, indices);
}

tdm_status tdm_argmin(tdm_queue *queue, const tdm_tensor *x, int dim, tdm_tensor *indices) {
    TDMI_UNCANCELLED();
    return find_places("tdm_argmin", true, queue, x, dim, indices);
}
