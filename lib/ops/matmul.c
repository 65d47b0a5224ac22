/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* matmul: the checks, the shape of the product, and its run on a BLAS or by kernels of our own. */
#include "matmul.h"
#include "base/sized.h"
#include "bias_add.h"
#include "matmul_builtin.h"
#include "matmul_trace.h"
#include "record.h"
#include "timeline.h"
#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A tensor as a batch of row-major matrices of one common stride, possibly stored transposed. */
typedef struct matrices {
    int64_t rows, cols; /* of one matrix, as the tensor shows it */
    int64_t ld;         /* distance of stored rows */
    int64_t batch;      /* 1 when there is no batch dimension */
    int64_t stride;     /* between matrices */
    bool transposed;    /* stored as cols x rows */
} matrices;

static tdm_status matrix_of(const char *function, const char *name, const tdm_tensor *t,
                            matrices *m) {
    char text[128];
    if (t->ndim < 2)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of %s is %s, it needs at least two dimensions", function,
                         name, tdmi_shape_text(t, text));
    int last = t->ndim - 1;
    m->rows = t->shape[last - 1];
    m->cols = t->shape[last];
    if (tdm_tensor_get_count(t) == 0) { /* any strides, and extents whose product may overflow */
        m->ld = m->cols > 0 ? m->cols : 1;
        m->batch = 1;
        m->stride = 0;
        m->transposed = false;
        for (int i = 0; i < last - 1; i++)
            if (t->shape[i] == 0) m->batch = 0;
        return TDM_OK;
    }
    int64_t row_stride = t->strides[last - 1], col_stride = t->strides[last];
    /* The stride of a dimension of one element does not matter. */
    bool plain = (col_stride == 1 || m->cols <= 1) && (row_stride >= m->cols || m->rows <= 1);
    bool swapped = (row_stride == 1 || m->rows <= 1) && (col_stride >= m->rows || m->cols <= 1);
    if (!plain && !swapped)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the strides of %s are %lld and %lld; one must be 1 and the other at "
                         "least the extent of that dimension; tdm_cast copies it into a "
                         "contiguous tensor",
                         function, name, (long long)row_stride, (long long)col_stride);
    m->transposed = !plain;
    m->ld = plain ? (m->rows > 1 ? row_stride : m->cols) : (m->cols > 1 ? col_stride : m->rows);
    if (m->ld < 1) m->ld = 1;
    m->stride = 0;
    (void)tdmi_collapse(t, 0, last - 1, &m->batch, &m->stride);
    return TDM_OK;
}

/* How many of the first batch dimensions do not collapse with the others. */
static int apart_of(const tdm_tensor *t) {
    int64_t count, stride;
    return tdm_tensor_get_count(t) == 0 ? 0 : tdmi_collapse(t, 0, t->ndim - 2, &count, &stride) + 1;
}

/* The tensor's first matrices, and the strides to the others; of what is repeated, 0. */
static tdm_tensor first_of(const tdm_tensor *t, const tdm_tensor *c, int apart, int64_t *strides) {
    tdm_tensor first = *t;
    for (int i = 0; i < apart; i++) {
        const bool has = t->ndim == c->ndim && t->shape[i] > 1;
        strides[i] = has ? t->strides[i] : 0;
        if (has) first.shape[i] = 1;
    }
    return first;
}

/* An input repeated along C's batch dimensions that it lacks or has an extent of 1 for. */
static tdm_status repeat_batch(const char *function, const char *name, const tdm_tensor *t,
                               const tdm_tensor *c, tdm_tensor *repeated) {
    char text[128], c_text[128];
    int64_t shape[TDM_MAX_DIMS];
    tdm_tensor least = *t; /* without first dimensions that C has not */
    *repeated = *t;
    if (t->ndim < 2 || c->ndim < 2) return TDM_OK;
    while (least.ndim > c->ndim && least.shape[0] == 1) {
        least.ndim--;
        memmove(least.shape, least.shape + 1, (size_t)least.ndim * sizeof *least.shape);
        memmove(least.strides, least.strides + 1, (size_t)least.ndim * sizeof *least.strides);
    }
    memcpy(shape, c->shape, sizeof shape);
    for (int i = 1; i <= 2; i++)
        shape[c->ndim - i] = t->shape[t->ndim - i];
    if (tdmi_repeat(&least, c->ndim, shape, repeated)) {
        /* the extents of an empty C may overflow with those of a matrix that is not empty */
        if (tdm_tensor_get_count(c) == 0) *repeated = *t;
        return TDM_OK;
    }
    return tdmi_fail(
        TDM_ERROR_INVALID_SHAPE,
        "%s: the batch dimensions of %s %s must be those of c %s, or 1, or be left out", function,
        name, tdmi_shape_text(t, text), tdmi_shape_text(c, c_text));
}

static tdm_status check_shapes(const char *function, const tdm_matmul_options *o,
                               const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *c,
                               const matrices *am, const matrices *bm, const matrices *cm) {
    int64_t m = o->transpose_a ? am->cols : am->rows, ka = o->transpose_a ? am->rows : am->cols;
    int64_t kb = o->transpose_b ? bm->cols : bm->rows, n = o->transpose_b ? bm->rows : bm->cols;
    if (m == cm->rows && n == cm->cols && ka == kb) return TDM_OK;
    char at[128], bt[128], ct[128], why[128];
    if (ka != kb)
        snprintf(why, sizeof why, "a has %lld columns and b %lld rows, which must be equal",
                 (long long)ka, (long long)kb);
    else
        snprintf(why, sizeof why, "c must end in [%lld, %lld]", (long long)m, (long long)n);
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: a %s%s, b %s%s and c %s do not fit: %s",
                     function, tdmi_shape_text(a, at), o->transpose_a ? " transposed" : "",
                     tdmi_shape_text(b, bt), o->transpose_b ? " transposed" : "",
                     tdmi_shape_text(c, ct), why);
}

static tdm_status check_options(const char *function, const tdm_matmul_options *o,
                                const tdm_tensor *c) {
    TDMI_TRY(tdmi_check_activation(function, o->activation));
    if ((unsigned)o->math > TDM_MATH_TF32)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: math is %d, allowed are TDM_MATH_DEFAULT, _IEEE and _TF32", function,
                         (int)o->math);
    if (o->bias) TDMI_TRY(tdmi_check_vector(function, "bias", o->bias, c->shape[c->ndim - 1]));
    return TDM_OK;
}

/* B is read as tdm_pack_weight has written it: with A and C by rows, too. */
static tdm_status check_packed(const char *function, const tdmi_gemm *gemm, const tdm_tensor *b,
                               bool swapped) {
    const bool whole =
        b->ndim == 2 && b->offset == 0 && tdm_tensor_is_contiguous(b) &&
        memcmp(b->shape, b->buffer->packed_shape, sizeof b->buffer->packed_shape) == 0;
    if (whole && !swapped && gemm->transpose_b && !gemm->transpose_a) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: b is packed (tdm_pack_weight): it must be the tensor that was made, with "
                     "transpose_b, and a and c must have rows whose elements are adjacent",
                     function);
}

static bool has_epilogue(const tdmi_gemm *gemm) {
    return gemm->bias || gemm->activation != TDM_ACTIVATION_NONE;
}

/* Matrices that are multiplied by one B are one matrix of all their rows, where these have one distance. */
static void join_batch(tdmi_gemm *g) {
    if (g->batch < 2 || g->b_stride != 0 || g->transpose_a || g->m > INT32_MAX / g->batch) return;
    if (g->m == 1 && g->a_stride >= g->k && g->c_stride >= g->n) {
        g->lda = g->a_stride;
        g->ldc = g->c_stride;
    }
    if (g->a_stride != g->m * g->lda || g->c_stride != g->m * g->ldc) return;
    g->m *= g->batch;
    g->batch = 1;
    g->a_stride = g->c_stride = 0;
}

/* All checks, and the product. C stored transposed is computed as Cᵀ = op(B)ᵀ op(A)ᵀ, and a bias
 * lies along the other dimension then. */
static tdm_status describe(const char *function, tdm_queue *queue, const tdm_matmul_options *o,
                           const tdm_tensor *a, const tdm_tensor *b, const tdm_tensor *c,
                           tdmi_product *p) {
    const tdmi_arg args[] = {{"a", a, 0, 0},
                             {"b", b, TDMI_ARG_PACKED, 0},
                             {"bias", o->bias, TDMI_ARG_OPTIONAL, 0},
                             {"c", c, TDMI_ARG_OUTPUT, 0}};
    TDMI_TRY(tdmi_check_args(function, queue, args, 4));
    tdm_tensor a_all, b_all;
    TDMI_TRY(repeat_batch(function, "a", a, c, &a_all));
    TDMI_TRY(repeat_batch(function, "b", b, c, &b_all));
    const int of_a = apart_of(&a_all), of_b = apart_of(&b_all), of_c = apart_of(c);
    *p = (tdmi_product){.apart = of_a > of_b ? of_a : of_b};
    if (p->apart < of_c) p->apart = of_c;
    int64_t strides[3][TDM_MAX_DIMS];
    const tdm_tensor a_first = first_of(&a_all, c, p->apart, strides[0]);
    const tdm_tensor b_first = first_of(&b_all, c, p->apart, strides[1]);
    const tdm_tensor c_first = first_of(c, c, p->apart, strides[2]);
    memcpy(p->apart_shape, c->shape, sizeof p->apart_shape);
    matrices am, bm, cm;
    TDMI_TRY(matrix_of(function, "a", &a_first, &am));
    TDMI_TRY(matrix_of(function, "b", &b_first, &bm));
    TDMI_TRY(matrix_of(function, "c", &c_first, &cm));
    memcpy(p->apart_stride[0], strides[cm.transposed ? 1 : 0], sizeof strides[0]);
    memcpy(p->apart_stride[1], strides[cm.transposed ? 0 : 1], sizeof strides[0]);
    memcpy(p->apart_stride[2], strides[2], sizeof strides[0]);
    TDMI_TRY(check_shapes(function, o, a, b, c, &am, &bm, &cm));
    TDMI_TRY(check_options(function, o, c));
    const tdm_tensor *left = cm.transposed ? b : a, *right = cm.transposed ? a : b;
    const matrices *lm = cm.transposed ? &bm : &am, *rm = cm.transposed ? &am : &bm;
    bool left_op = cm.transposed ? !o->transpose_b : o->transpose_a;
    bool right_op = cm.transposed ? !o->transpose_a : o->transpose_b;
    p->bias_of_rows = cm.transposed && o->bias;
    p->gemm = (tdmi_gemm){
        .dtype = c->dtype,
        .transpose_a = left_op != lm->transposed,
        .transpose_b = right_op != rm->transposed,
        .tf32 =
            o->math == TDM_MATH_TF32 || (o->math == TDM_MATH_DEFAULT && tdmi_env_values()->tf32),
        .m = cm.transposed ? cm.cols : cm.rows,
        .n = cm.transposed ? cm.rows : cm.cols,
        .k = left_op ? lm->rows : lm->cols,
        .batch = cm.batch,
        .alpha = o->alpha,
        .beta = o->beta,
        .a = tdmi_mem_of(left),
        .b = tdmi_mem_of(right),
        .c = tdmi_mem_of(c),
        .a_offset = left->offset,
        .b_offset = right->offset,
        .c_offset = c->offset,
        .lda = lm->ld,
        .ldb = rm->ld,
        .ldc = cm.ld,
        .a_stride = lm->batch == 1 ? 0 : lm->stride,
        .b_stride = rm->batch == 1 ? 0 : rm->stride,
        .c_stride = cm.stride,
        .bias = tdmi_mem_of(o->bias),
        .bias_offset = o->bias ? o->bias->offset : 0,
        .activation = o->activation,
    };
    if (!p->bias_of_rows) join_batch(&p->gemm);
    if (b->buffer->packing != TDMI_NOT_PACKED)
        TDMI_TRY(check_packed(function, &p->gemm, b, cm.transposed));
    if (b->buffer->packing == TDMI_PACKED_PANELS) {
        p->gemm.panels = true;
        p->gemm.ldb = tdmi_panel_depth(b->dtype, p->gemm.k);
    }
    if (has_epilogue(&p->gemm) && p->gemm.n > INT32_MAX)
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "%s: the rows of c have %lld elements, with bias or activation allowed are "
            "fewer than 2^31",
            function, (long long)p->gemm.n);
    return TDM_OK;
}

static bool empty(const tdmi_gemm *gemm) {
    return gemm->m == 0 || gemm->n == 0 || gemm->batch == 0;
}

/* C = beta C, for alpha 0 or K 0; A and B are not read. */
static tdm_status scale_c(tdm_queue *queue, const tdmi_gemm *gemm, tdm_tensor *c) {
    if (gemm->beta == 0) return tdm_fill(queue, 0, c);
    return gemm->beta == 1 ? TDM_OK : tdm_scale(queue, gemm->beta, c, c);
}

/* The product itself, with what its provider does of the epilogue. */
static tdm_status run_chosen(tdm_queue *queue, const tdmi_gemm *gemm,
                             const tdmi_blas_choice *choice) {
    tdmi_gemm run = tdmi_gemm_fused(gemm, choice->fused);
    run.algorithm = choice->algorithm;
    if (!choice->provider) return tdmi_run_builtin(queue, &run);
    TDMI_WORK_SPAN(
        queue, "product", tdmi_blas_name(choice), "\"product\":\"%s\"," TDMI_PROFILE_QUEUE,
        tdmi_gemm_text(&run, (char[TDMI_PRODUCT_TEXT]){0}), TDMI_PROFILE_QUEUE_OF(queue));
    const tdmi_blas *blas = choice->provider->blas;
    tdm_status status = blas->gemm(choice->provider->state, &run);
    /* The library's own memory. The parts of C that it has computed it computes again from the same operands. */
    if (status == TDM_ERROR_OUT_OF_MEMORY && run.beta == 0 && tdmi_device_make_room(queue->device))
        status = blas->gemm(choice->provider->state, &run);
    return tdmi_queue_submitted(queue, status);
}

bool tdmi_product_multiplies(const tdmi_product *p) {
    return p->gemm.alpha != 0 && p->gemm.k != 0 && !empty(&p->gemm);
}

/* Of rows in bf16 it does not, as oneDNN has no bf16 product that adds to C: by way of f32 it takes 2.4 times as
 * long. A bf16 product overflows no sooner than one in f32. */
static bool bias_goes_first(const tdmi_product *p) {
    return tdmi_bias_goes_first(&p->gemm) && !(p->bias_of_rows && p->gemm.dtype == TDM_BF16);
}

tdmi_gemm tdmi_product_offered(const tdmi_product *p) {
    tdmi_gemm gemm = p->gemm;
    if (!p->bias_of_rows) return gemm;
    if (!bias_goes_first(p)) gemm.bias = NULL;
    return tdmi_gemm_fused(&gemm, TDMI_FUSED_NONE);
}

/* Bias and activation in place, over the stored rows of all matrices. */
static tdm_status run_epilogue(tdm_queue *queue, const tdmi_product *p) {
    const tdmi_gemm *gemm = &p->gemm;
    tdm_bias_add_args args = {
        .rows = gemm->m * gemm->batch,
        .x_offset = gemm->c_offset,
        .x_stride = gemm->ldc,
        .bias_offset = gemm->bias_offset,
        .residual_stride = gemm->ldc,
        .y_offset = gemm->c_offset,
        .y_stride = gemm->ldc,
        .matrix = gemm->m,
        .gap = gemm->batch == 1 ? 0 : gemm->c_stride - gemm->m * gemm->ldc,
        .cols = (tdm_u32)gemm->n,
        .bias_kind = !gemm->bias       ? TDM_BIAS_NONE
                     : p->bias_of_rows ? TDM_BIAS_OF_ROWS
                                       : TDM_BIAS_OF_COLS,
    };
    tdmi_variant variant = {.t = (uint8_t)gemm->dtype, .op = (uint8_t)gemm->activation};
    const tdmi_mem *mems[] = {gemm->c, gemm->bias, NULL, gemm->c};
    return tdmi_run_bias_add(queue, variant, true, mems, &args);
}

/* C = bias, for a product that adds to it. */
static tdm_status put_bias(tdm_queue *queue, const tdmi_product *p) {
    const tdmi_gemm *gemm = &p->gemm;
    const bool of_rows = p->bias_of_rows;
    tdm_elementwise_args args = {
        .rows = gemm->m * gemm->batch,
        .offset = {gemm->c_offset, gemm->bias_offset},
        .inner_stride = {1, of_rows ? 0 : 1},
        .outer_shape = {gemm->batch, gemm->m},
        .outer_stride = {{gemm->c_stride, gemm->ldc}, {0, of_rows ? 1 : 0}},
        .cols = (tdm_u32)gemm->n,
        .outer_ndim = 2,
        .unit_stride = !of_rows,
    };
    const tdmi_mem *mems[] = {gemm->c, gemm->bias};
    return tdmi_launch_cut(queue, tdmi_cast_variant(gemm->dtype, gemm->dtype), args.rows, args.cols,
                           mems, &args, &args.chunk, &args.chunks);
}

tdm_status tdmi_run_product(tdm_queue *queue, const tdmi_product *p,
                            const tdmi_blas_choice *choice) {
    tdmi_product rest = *p; /* of the epilogue */
    const tdmi_gemm gemm = tdmi_product_offered(p);
    if (choice->fused == TDMI_FUSED_NONE && bias_goes_first(p)) {
        if (!choice->provider) TDMI_TRY(tdmi_check_builtin("tdm_matmul", &gemm));
        TDMI_TRY(put_bias(queue, p));
        rest.gemm.bias = NULL;
    }
    TDMI_TRY(run_chosen(queue, &gemm, choice));
    if (choice->fused != TDMI_FUSED_NONE) rest.gemm.bias = NULL;
    if (choice->fused == TDMI_FUSED_ALL) rest.gemm.activation = TDM_ACTIVATION_NONE;
    return has_epilogue(&rest.gemm) ? run_epilogue(queue, &rest) : TDM_OK;
}

/* A provider may find out only as it runs a product that it cannot. */
static tdm_status run_somewhere(tdm_queue *queue, const tdmi_product *p, tdmi_blas_choice *choice) {
    tdm_status status = tdmi_run_product(queue, p, choice);
    while (status == TDM_ERROR_UNSUPPORTED && choice->provider) {
        const tdmi_gemm gemm = tdmi_product_offered(p);
        TDMI_TRY(tdmi_blas_choose_next(queue, &gemm, choice));
        status = tdmi_run_product(queue, p, choice);
    }
    return status;
}

/* A product in a graph. */
typedef struct product_work {
    tdmi_product product;
    tdmi_blas_choice choice;
} product_work;

static tdm_status run_recorded(tdm_queue *queue, void *context) {
    product_work *self = context;
    return run_somewhere(queue, &self->product, &self->choice);
}

static tdm_status record(tdm_queue *queue, const tdmi_product *p, const tdmi_blas_choice *choice) {
    tdmi_work *work = tdmi_record(queue, run_recorded, sizeof(product_work), NULL);
    if (!work) return tdmi_outcome_end(&queue->recording->outcome);
    product_work *self = (product_work *)(void *)work->context;
    *self = (product_work){*p, *choice};
    tdmi_record_place(queue->recording, work, &self->product.gemm.a);
    tdmi_record_place(queue->recording, work, &self->product.gemm.b);
    tdmi_record_place(queue->recording, work, &self->product.gemm.c);
    tdmi_record_place(queue->recording, work, &self->product.gemm.bias);
    return TDM_OK;
}

/* Of a library. The builtin kernels' launches are recorded one by one. */
static tdm_status run_one(tdm_queue *queue, const tdmi_product *p) {
    const tdmi_gemm gemm = tdmi_product_offered(p);
    tdmi_blas_choice choice;
    TDMI_TRY(tdmi_blas_choose(queue, &gemm, &choice));
    tdmi_trace_product(&gemm, tdmi_blas_name(&choice));
    if (queue->recording && choice.provider) return record(queue, p, &choice);
    return run_somewhere(queue, p, &choice);
}

bool tdmi_product_of(const tdmi_product *p, int64_t number, tdmi_product *one) {
    *one = *p;
    int64_t *const offsets[] = {&one->gemm.a_offset, &one->gemm.b_offset, &one->gemm.c_offset};
    for (int i = p->apart - 1; i >= 0; i--) {
        if (p->apart_shape[i] == 0) return false;
        for (int k = 0; k < 3; k++)
            *offsets[k] += number % p->apart_shape[i] * p->apart_stride[k][i];
        number /= p->apart_shape[i];
    }
    return number == 0;
}

static tdm_status run_each(tdm_queue *queue, const tdmi_product *p,
                           tdm_status (*run)(tdm_queue *queue, const tdmi_product *p)) {
    tdmi_product one;
    for (int64_t number = 0; tdmi_product_of(p, number, &one); number++)
        TDMI_TRY(run(queue, &one));
    return TDM_OK;
}

TDMI_SIZED(tdm_matmul_options, TDM_MATMUL_OPTIONS_DEFAULTS, math)

tdm_status tdmi_describe_product(const char *caller, tdm_queue *queue,
                                 const tdm_matmul_options *options, const tdm_tensor *a,
                                 const tdm_tensor *b, const tdm_tensor *c, tdmi_product *p) {
    tdm_matmul_options o = tdm_matmul_options_defaults;
    if (options)
        TDMI_TRY(tdmi_sized_read(caller, "options", &tdm_matmul_options_sized, options, &o));
    return describe(caller, queue, &o, a, b, c, p);
}

static tdm_status multiply_again(const tdmi_verification *v, const tdm_matmul_options *options) {
    tdm_matmul_options again = *options;
    again.bias = v->t[2];
    again.math = TDM_MATH_IEEE;
    if (v->sizes) {
        again.alpha = fabs(again.alpha);
        again.beta = fabs(again.beta);
        again.activation = TDM_ACTIVATION_NONE;
    }
    return tdm_matmul(v->queue, &again, v->t[0], v->t[1], v->t[3]);
}

tdm_status tdm_matmul(tdm_queue *queue, const tdm_matmul_options *options, const tdm_tensor *a,
                      const tdm_tensor *b, tdm_tensor *c) {
    TDMI_UNCANCELLED();
    tdmi_product p;
    TDMI_TRY(tdmi_describe_product(__func__, queue, options, a, b, c, &p));
    if (queue->verifies) {
        tdm_matmul_options o = tdm_matmul_options_defaults;
        if (options)
            TDMI_TRY(tdmi_sized_read(__func__, "options", &tdm_matmul_options_sized, options, &o));
        const tdmi_arg args[] = {
            {"a", a, 0, 0}, {"b", b, 0, 0}, {"bias", o.bias, 0, 0}, {"c", c, TDMI_ARG_OUTPUT, 0}};
        const bool active = o.activation != TDM_ACTIVATION_NONE;
        const bool tf32 = p.gemm.tf32 && p.gemm.dtype == TDM_F32;
        /* of the sum, of what is done with it, and of operands rounded to 11 digits */
        const double factor =
            1.2 * ((double)p.gemm.k / 2 + 5) + (active ? 28 : 0) + (tf32 ? 8192 : 0);
        TDMI_VERIFY(__func__, queue, args, 4, multiply_again(v, &o), .kind = TDMI_VERIFY_SIZES,
                    .factor = factor, .rounds_twice = true,
                    .products = (double)p.gemm.k * fmax(fabs(o.alpha), 1))
    }
    if (tdmi_product_multiplies(&p)) return TDMI_ATTEMPT(run_each(queue, &p, run_one));
    if (empty(&p.gemm)) return TDM_OK;
    TDMI_TRY(scale_c(queue, &p.gemm, c));
    return has_epilogue(&p.gemm) ? run_each(queue, &p, run_epilogue) : TDM_OK;
}
