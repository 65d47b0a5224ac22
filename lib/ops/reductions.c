/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, means, products, variances and their roots, counts and dot products. */
#include <math.h>

#include "reduce.h"
#include "temporary.h"
#include "verify.h"

static tdm_dtype accumulator_of(tdm_dtype dtype) {
    if (!tdm_dtype_is_float(dtype)) return TDM_U64;
    return dtype == TDM_F64 ? TDM_F64 : TDM_F32;
}

tdmi_reduction tdmi_reduction_of(const tdm_tensor *x, const tdm_tensor *y, unsigned op,
                                 double divisor) {
    const tdm_dtype accumulator = accumulator_of(x->dtype);
    const bool is_bool = tdmi_dtype_kind_of(x->dtype) == TDMI_KIND_BOOL;
    const bool is_signed = tdmi_dtype_kind_of(x->dtype) == TDMI_KIND_SIGNED;
    const unsigned digits = 8 * (unsigned)tdm_dtype_size(x->dtype);
    tdmi_reduction r = {.kernel = TDMI_KERNEL_REDUCE,
                        .op = op,
                        .again = op == TDM_OP_REDUCE_PRODUCT ? op : TDM_OP_REDUCE_SUM,
                        .t = tdm_dtype_is_float(x->dtype) ? x->dtype : tdmi_dtype_bits(x->dtype),
                        .again_t = accumulator,
                        .left =
                            tdm_dtype_size(accumulator) * (op == TDM_OP_REDUCE_VARIANCE ? 2 : 1)};
    r.args.divisor = tdmi_scalar(divisor);
    r.args.to = (tdm_i32)y->dtype;
    r.args.sign = is_signed ? (tdm_i64)(UINT64_C(1) << (digits - 1)) : 0;
    r.args.limit = is_bool ? 1 : -1;
    return r;
}

/* An operation and what it gives of nothing. */
typedef struct operation {
    const char *function;
    unsigned op;
    bool floats_alone;
    double of_nothing;
    bool root; /* of a variance */
} operation;

static tdm_status check(const operation *o, const tdm_queue *queue, const tdm_tensor *x,
                        const int *dims, size_t count, const tdm_tensor *y, tdmi_reduced *reduced) {
    TDMI_TRY(tdmi_check_reduced_dtypes(o->function, queue, o->floats_alone, "x", x, "y", y));
    TDMI_TRY(tdmi_check_reduced(o->function, x, dims, count, "y", y, reduced));
    return tdmi_check_extents(o->function, x);
}

/* mean: the sum is divided by the number of elements; correction: of a variance */
static tdm_status reduce(const operation *o, tdm_queue *queue, const tdm_tensor *x, const int *dims,
                         size_t count, bool mean, double correction, tdm_tensor *y) {
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_MOVED, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    const bool variance = o->op == TDM_OP_REDUCE_VARIANCE;
    /* a product overflows, or not, by the order of its factors; the bound of a root needs that of the variance */
    if (o->op != TDM_OP_REDUCE_PRODUCT && !o->root)
        TDMI_VERIFY(o->function, queue, args, 2,
                    reduce(o, v->queue, v->t[0], dims, count, mean, correction, v->t[1]),
                    .kind = variance ? TDMI_VERIFY_VARIANCE : TDMI_VERIFY_SUMS,
                    .factor = mean ? 1 : 0, .number = correction)
    TDMI_TRY(tdmi_check_args(o->function, queue, args, 2));
    tdmi_reduced reduced;
    TDMI_TRY(check(o, queue, x, dims, count, y, &reduced));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    const double left = (double)reduced.elements - correction;
    if (reduced.elements == 0) return tdm_fill(queue, o->of_nothing, y);
    if (variance && !(left > 0)) return tdm_fill(queue, NAN, y);
    const double divisor = mean ? (double)reduced.elements : variance ? left : 1;
    tdmi_reduction r = tdmi_reduction_of(x, y, o->op, divisor);
    r.args.squares = o->root;
    return tdmi_run_reduction(o->function, queue, &r, x, &reduced, y);
}

tdm_status tdm_sum(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                   tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation sum = {"tdm_sum", TDM_OP_REDUCE_SUM, false, 0, false};
    return reduce(&sum, queue, x, dims, count, false, 0, y);
}

tdm_status tdm_mean(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                    tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation mean = {"tdm_mean", TDM_OP_REDUCE_SUM, true, NAN, false};
    return reduce(&mean, queue, x, dims, count, true, 0, y);
}

tdm_status tdm_prod(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                    tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation product = {"tdm_prod", TDM_OP_REDUCE_PRODUCT, false, 1, false};
    return reduce(&product, queue, x, dims, count, false, 0, y);
}

static tdm_status spread(const operation *o, tdm_queue *queue, const tdm_tensor *x, const int *dims,
                         size_t count, double correction, tdm_tensor *y) {
    if (!(correction >= 0) || isinf(correction))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: correction is %g, it must be finite and at least 0", o->function,
                         correction);
    return reduce(o, queue, x, dims, count, false, correction, y);
}

tdm_status tdm_variance(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                        double correction, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation variance = {"tdm_variance", TDM_OP_REDUCE_VARIANCE, true, NAN, false};
    return spread(&variance, queue, x, dims, count, correction, y);
}

tdm_status tdm_standard_deviation(tdm_queue *queue, const tdm_tensor *x, const int *dims,
                                  size_t count, double correction, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation deviation = {"tdm_standard_deviation", TDM_OP_REDUCE_VARIANCE, true, NAN,
                                        true};
    return spread(&deviation, queue, x, dims, count, correction, y);
}

tdm_status tdm_count_nonzero(tdm_queue *queue, const tdm_tensor *x, const int *dims, size_t count,
                             tdm_tensor *y) {
    TDMI_UNCANCELLED();
    static const operation sum = {"tdm_count_nonzero", TDM_OP_REDUCE_SUM, false, 0, false};
    const tdmi_arg args[] = {{"x", x, TDMI_ARG_ANY_DTYPE, 0},
                             {"y", y, TDMI_ARG_MOVED | TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(sum.function, queue, args, 2));
    tdm_tensor truths = *x;
    truths.dtype = TDM_BOOL; /* as which a byte is 1 where it is not 0 */
    if (tdm_dtype_size(x->dtype) == 1)
        return reduce(&sum, queue, &truths, dims, count, false, 0, y);
    tdmi_reduced reduced;
    TDMI_TRY(
        check(&sum, queue, &truths, dims, count, y, &reduced)); /* before the cast is launched */
    TDMI_TRY(tdmi_temporary(queue, TDM_BOOL, x->ndim, x->shape, &truths));
    tdm_status status = tdm_cast(queue, x, &truths);
    if (status == TDM_OK) status = reduce(&sum, queue, &truths, dims, count, false, 0, y);
    tdm_tensor_release(&truths);
    return status;
}

tdm_status tdm_dot(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {
        {"a", a, 0, 0}, {"b", b, 0, 0}, {"y", y, TDMI_ARG_OUTPUT | TDMI_ARG_ANY_DTYPE, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 3));
    TDMI_VERIFY(__func__, queue, args, 3, tdm_dot(v->queue, v->t[0], v->t[1], v->t[2]),
                .kind = TDMI_VERIFY_SUMS, .products = (double)tdm_tensor_get_count(a))
    TDMI_TRY(tdmi_check_reduced_dtypes(__func__, queue, true, "a", a, "y", y));
    TDMI_TRY(tdmi_check_same_shape(__func__, "a", a, "b", b));
    tdmi_reduced reduced;
    TDMI_TRY(tdmi_check_reduced(__func__, a, NULL, 0, "y", y, &reduced));
    if (reduced.elements == 0) return tdm_fill(queue, 0, y);
    tdm_tensor copies[2] = {*a, *b};
    tdm_status status = TDM_OK;
    for (int i = 0; i < 2 && status == TDM_OK; i++) {
        copies[i].buffer = NULL;
        if (tdm_tensor_is_contiguous(i ? b : a))
            copies[i] = *(i ? b : a);
        else
            status = tdmi_copy_of(queue, i ? b : a, &copies[i]);
    }
    if (status == TDM_OK) {
        tdmi_reduction r = tdmi_reduction_of(a, y, TDM_OP_REDUCE_DOT, 1);
        r.other = &copies[1];
        status = tdmi_run_reduction(__func__, queue, &r, &copies[0], &reduced, y);
    }
    for (int i = 0; i < 2; i++)
        if (copies[i].buffer != (i ? b : a)->buffer) tdm_buffer_release(copies[i].buffer);
    return status;
}
