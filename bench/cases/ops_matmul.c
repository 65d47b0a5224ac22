/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* matmul: plain, with B transposed (weights stored [out, in]), with an epilogue, and the batch with
 * the Frobenius norm of each product: norms that stay on the device, that are kept there and read
 * once, or that are read one by one, each as soon as its product is done, and written to a log. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/segment.h"
#include "operations/formulas.h"
#include "platform/process.h"
#include "reference/values.h"

enum { PLAIN, TRANSPOSED_B, BIAS_GELU, NORM_L2, NORM_L2_KEPT, NORM_L2_LOGGED };
enum { A, B, C, BIAS_OR_NORM, HOST_NORM };

static bool transposes_b(const bench_case *c) {
    return c->op->variant == TRANSPOSED_B || c->op->variant == BIAS_GELU;
}

static tdm_dtype norm_dtype(const bench_case *c) {
    return c->dtype == TDM_F16 || c->dtype == TDM_BF16 ? TDM_F32 : c->dtype;
}

static void plan_matmul(const bench_case *c, bench_plan *plan) {
    const int64_t batch = c->shape.batch, m = c->shape.extent[0], n = c->shape.extent[1],
                  k = c->shape.extent[2];
    const int variant = c->op->variant;
    const bool transposed = transposes_b(c);
    const int ndim = batch > 1 ? 3 : 2;
    const int64_t a[3] = {batch, m, k}, y[3] = {batch, m, n};
    const int64_t b[3] = {batch, transposed ? n : k, transposed ? k : n};
    bench_add_operand(plan, c->dtype, ndim, a + 3 - ndim, true, false, -1.0, 1.0);
    bench_add_operand(plan, c->dtype, ndim, b + 3 - ndim, true, false, -1.0, 1.0);
    bench_add_operand(plan, c->dtype, ndim, y + 3 - ndim, false, true, 0.0, 0.0);
    if (variant == BIAS_GELU) bench_add_operand(plan, c->dtype, 1, &n, true, false, -1.0, 1.0);
    if (variant >= NORM_L2)
        bench_add_operand(plan, norm_dtype(c), 1, &batch, false, true, 0.0, 0.0);
    if (variant > NORM_L2) {
        const int host = bench_add_operand(plan, norm_dtype(c), 1, &batch, false, true, 0.0, 0.0);
        plan->operand[host].on_host = true;
    }
    plan->flops = 2.0 * (double)batch * (double)m * (double)n * (double)k;
    plan->transpose_b = transposed;
    plan->row_count = batch * m;
    plan->row_length = n;
    plan->row_cost = k;
}

static tdm_status call_matmul(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = transposes_b(c);
    if (c->op->variant == BIAS_GELU) {
        options.bias = &set->tensor[BIAS_OR_NORM];
        options.activation = TDM_ACTIVATION_GELU;
    }
    return tdm_matmul(queue, &options, &set->tensor[A], &set->tensor[B], &set->tensor[C]);
}

static tdm_status call_matmul_norm(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_status status = call_matmul(c, queue, set);
    if (status != TDM_OK) return status;
    tdm_tensor products = tdm_tensor_2d(set->tensor[C].buffer, c->dtype, c->shape.batch,
                                        c->shape.extent[0] * c->shape.extent[1]);
    return tdm_row_norm(queue, TDM_NORM_L2, &products, &set->tensor[BIAS_OR_NORM]);
}

static tdm_status call_matmul_norm_kept(const bench_case *c, tdm_queue *queue, bench_set *set) {
    const tdm_tensor *norms = &set->tensor[BIAS_OR_NORM];
    tdm_status status = call_matmul_norm(c, queue, set);
    if (status != TDM_OK) return status;
    return tdm_buffer_read(queue, norms->buffer, 0, set->host[HOST_NORM],
                           (size_t)c->shape.batch * tdm_dtype_size(norms->dtype));
}

/* Product i alone, its norm, one read, one line of a log. */
static tdm_status log_product(tdm_queue *queue, bench_set *set, int64_t i) {
    static char log[64 * 1024];
    static size_t length;
    tdm_tensor t[BIAS_OR_NORM + 1];
    for (int j = 0; j < BIAS_OR_NORM; j++) {
        t[j] = set->tensor[j];
        t[j].ndim = 2;
        for (int d = 0; d < 2; d++) {
            t[j].shape[d] = set->tensor[j].shape[d + 1];
            t[j].strides[d] = set->tensor[j].strides[d + 1];
        }
        t[j].offset = i * set->tensor[j].strides[0];
    }
    t[BIAS_OR_NORM] = set->tensor[BIAS_OR_NORM];
    t[BIAS_OR_NORM].shape[0] = 1;
    t[BIAS_OR_NORM].offset = i;
    tdm_status status = tdm_matmul(queue, NULL, &t[A], &t[B], &t[C]);
    if (status == TDM_OK) status = tdm_norm(queue, TDM_NORM_L2, &t[C], &t[BIAS_OR_NORM]);
    if (status != TDM_OK) return status;
    const tdm_dtype dtype = t[BIAS_OR_NORM].dtype;
    const size_t size = tdm_dtype_size(dtype), at = (size_t)i * size;
    char *host = (char *)set->host[HOST_NORM] + at;
    status = tdm_buffer_read(queue, t[BIAS_OR_NORM].buffer, at, host, size);
    if (length > sizeof log - 64) length = 0;
    length += (size_t)snprintf(log + length, sizeof log - length, "product %lld: norm %.6g\n",
                               (long long)i, (double)decode(dtype, host));
    return status;
}

static tdm_status call_matmul_norm_logged(const bench_case *c, tdm_queue *queue, bench_set *set) {
    tdm_status status = TDM_OK;
    for (int64_t i = 0; i < c->shape.batch && status == TDM_OK; i++)
        status = log_product(queue, set, i);
    return status;
}

/* The factor of the bound, which is 16 eps of f32 times the sum of the magnitudes: TF32 has 10 bits after the first,
 * and two operands that it truncates are 2 / 1024 off. */
static const double tf32_factor = 1.0 + 2.0 / 1024.0 / (16.0 * FLT_EPSILON);

static bool uses_tf32(const bench_case *c) {
    const char *math = tdmi_environment_get("TANDEM_MATH");
    return c->dtype == TDM_F32 && math && strcmp(math, "tf32") == 0;
}

/* The norms of the products that the device computed, which were compared before. */
static bool reference_norm(bench_segment *s) {
    const int64_t elements = s->c->shape.extent[0] * s->c->shape.extent[1];
    for (int64_t i = 0; i < s->count; i++) {
        const double *product = bench_matrix(s, C, (s->first + i) * elements, 1, 0, elements);
        if (!product) return false;
        s->y[i] = ref_reduce(REF_L2, s->c->dtype, norm_dtype(s->c), elements, product, 1, 0,
                             &s->bound[i]);
        bench_segment_free(s);
    }
    return true;
}

static bool reference_matmul(bench_segment *s) {
    if (s->output >= BIAS_OR_NORM) return reference_norm(s);
    const bench_case *c = s->c;
    const int64_t m = c->shape.extent[0], n = c->shape.extent[1], k = c->shape.extent[2];
    const int64_t matrix = s->row / m, column = s->first, cols = s->count;
    ref_gemm gemm = {.dtype = c->dtype, .m = 1, .n = cols, .k = k, .alpha = 1.0};
    gemm.transpose_b = transposes_b(c);
    gemm.a = bench_matrix(s, A, s->row * k, 1, k, k);
    gemm.b = gemm.transpose_b ? bench_matrix(s, B, (matrix * n + column) * k, cols, k, k)
                              : bench_matrix(s, B, matrix * k * n + column, k, n, cols);
    if (c->op->variant == BIAS_GELU) {
        gemm.bias = bench_matrix(s, BIAS_OR_NORM, column, 1, 0, cols);
        gemm.activation = TDM_ACTIVATION_GELU;
        if (!gemm.bias) return false;
    }
    if (!gemm.a || !gemm.b) return false;
    ref_matmul(&gemm, s->y, s->bound);
    for (int64_t i = 0; i < cols && uses_tf32(c); i++)
        s->bound[i] *= tf32_factor;
    return true;
}

#define MATMUL(title, kind, how, work)                                                             \
    {                                                                                              \
        .name = title, .variant = kind, .baseline = BENCH_BASELINE_GEMM, .plan = plan_matmul,      \
        .call = how, .reference = reference_matmul, .peers = work                                  \
    }

const bench_op bench_ops_matmul[] = {
    MATMUL("matmul", PLAIN, call_matmul, "matmul"),
    MATMUL("matmul+transpose_b", TRANSPOSED_B, call_matmul, "matmul"),
    MATMUL("matmul+bias_gelu", BIAS_GELU, call_matmul, "bias_gelu"),
    MATMUL("matmul+norm_l2", NORM_L2, call_matmul_norm, NULL),
    MATMUL("matmul+norm_l2_kept", NORM_L2_KEPT, call_matmul_norm_kept, "matmul+norm_l2_kept"),
    MATMUL("matmul+norm_l2_logged", NORM_L2_LOGGED, call_matmul_norm_logged,
           "matmul+norm_l2_logged"),
    {0},
};
