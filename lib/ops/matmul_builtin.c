/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by kernels of our own: of tiles, and of a narrow C. */
#include "matmul_builtin.h"

#include "submit.h"
#include "tensor_cores.h"

/* The groups of the kernel of tiles. */
static tdm_status count_tiles(const char *function, const tdmi_gemm *gemm, int64_t *groups) {
    const int64_t tiles_m = (gemm->m + TDM_TILE_M - 1) / TDM_TILE_M;
    const int64_t tiles_n = (gemm->n + TDM_TILE_N - 1) / TDM_TILE_N;
    if (gemm->m > INT32_MAX || gemm->n > INT32_MAX || gemm->k > INT32_MAX ||
        __builtin_mul_overflow(tiles_m * tiles_n, gemm->batch, groups) || *groups > INT32_MAX)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: a product of %lldx%lldx%lld, %lld times, is too large for the "
                         "builtin kernel",
                         function, (long long)gemm->m, (long long)gemm->n, (long long)gemm->k,
                         (long long)gemm->batch);
    return TDM_OK;
}

tdm_status tdmi_check_builtin(const char *function, const tdmi_gemm *gemm) {
    int64_t groups;
    return count_tiles(function, gemm, &groups);
}

static tdm_status run_tiles(tdm_queue *queue, const tdmi_gemm *gemm, int64_t groups) {
    tdm_matmul_args args = tdmi_matmul_args(gemm);
    const tdmi_variant variant = tdmi_matmul_variant(gemm, TDMI_KERNEL_MATMUL);
    const tdmi_mem *mems[] = {gemm->a, gemm->b, gemm->c};
    return tdmi_launch_groups(queue, variant, groups, TDM_TILE_M * TDM_TILE_N, mems, &args);
}

/* A product with few rows or columns of C, seen from its small operand, of which element (i, k) lies at
 * offset + i row + k col. */
typedef struct narrow {
    const tdmi_mem *small, *large, *c;
    int64_t rows, offset, row, col, stride;
    bool cols; /* the large one is stored with a row for each k */
    tdm_matmul_narrow_args args;
} narrow;

/* The most bytes of a copy of the small matrix, as the kernel wants it. */
enum { MOST_SCRATCH = 64 << 20 };

/* A product with fewer elements in the large matrix is not worth a copy of the small one: an estimate. */
enum { FEWEST_ELEMENTS = 1024 };

static narrow describe_narrow(const tdmi_gemm *g) {
    const bool of_rows = g->m <= g->n; /* C has few of them, so that A is the small matrix */
    narrow p = {
        .small = of_rows ? g->a : g->b,
        .large = of_rows ? g->b : g->a,
        .c = g->c,
        .rows = of_rows ? g->m : g->n,
        .offset = of_rows ? g->a_offset : g->b_offset,
        .stride = of_rows ? g->a_stride : g->b_stride,
        .cols = of_rows ? !g->transpose_b : g->transpose_a,
    };
    const int64_t ld = of_rows ? g->lda : g->ldb;
    const bool rows_stored = of_rows ? !g->transpose_a : g->transpose_b;
    p.row = rows_stored ? ld : 1;
    p.col = rows_stored ? 1 : ld;
    p.args = (tdm_matmul_narrow_args){
        .batch = g->batch,
        .large = of_rows ? g->n : g->m,
        .s_row = (g->k + TDM_NARROW_STEP - 1) / TDM_NARROW_STEP * TDM_NARROW_STEP,
        .large_offset = of_rows ? g->b_offset : g->a_offset,
        .large_ld = of_rows ? g->ldb : g->lda,
        .large_stride = of_rows ? g->b_stride : g->a_stride,
        .c_offset = g->c_offset,
        .c_small = of_rows ? g->ldc : 1,
        .c_large = of_rows ? 1 : g->ldc,
        .c_stride = g->c_stride,
        .alpha = tdmi_scalar(g->alpha),
        .beta = tdmi_scalar(g->beta),
        .small = (tdm_u32)p.rows,
        .k = (tdm_u32)g->k,
        .read_c = g->beta != 0,
    };
    if (p.stride != 0) p.args.s_stride = p.args.s_row * ((p.rows + 1) / 2 * 2);
    return p;
}

static tdm_dtype arithmetic_of(tdm_dtype dtype) { return dtype == TDM_F64 ? TDM_F64 : TDM_F32; }

/* The bytes of the small matrix's copy; false when they are too many. */
static bool narrow_scratch(const narrow *p, tdm_dtype dtype, int64_t *bytes) {
    const int64_t matrices = p->stride != 0 ? p->args.batch : 1;
    const int64_t elements = p->args.s_row * ((p->rows + 1) / 2 * 2);
    return !__builtin_mul_overflow(elements * (int64_t)tdm_dtype_size(arithmetic_of(dtype)),
                                   matrices, bytes) &&
           *bytes <= MOST_SCRATCH;
}

static tdm_status copy_small(tdm_queue *queue, const narrow *p, tdm_dtype dtype, int64_t bytes,
                             const tdmi_mem *scratch) {
    static const uint32_t zero = 0;
    const int64_t matrices = p->stride != 0 ? p->args.batch : 1;
    if (p->args.s_row != p->args.k || p->rows % 2 != 0)
        TDMI_TRY(tdmi_submit_fill(queue, scratch, 0, (size_t)bytes, &zero, sizeof zero));
    tdm_elementwise_args args = {
        .rows = matrices * p->rows,
        .offset = {0, p->offset},
        .inner_stride = {1, p->col},
        .outer_shape = {matrices, p->rows},
        .outer_stride = {{p->args.s_stride, p->args.s_row}, {p->stride, p->row}},
        .cols = p->args.k,
        .outer_ndim = 2,
        .unit_stride = p->col == 1,
    };
    const tdmi_variant variant = tdmi_cast_variant(arithmetic_of(dtype), dtype);
    const tdmi_mem *mems[] = {scratch, p->small};
    return tdmi_launch_cut(queue, variant, args.rows, args.cols, mems, &args, &args.chunk,
                           &args.chunks);
}

/* Rows of the large matrix with one lane, which a group takes together; columns for which a group is worth
 * its while; and on a GPU columns to a group, each for a lane. */
enum { ROWS_TOGETHER = 4, FEWEST_COLS = 64, COLS_OF_LANES = 64 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The groups, and with it the columns of a step. */
static int64_t count_groups(const tdmi_device_facts *facts, narrow *p, size_t element) {
    int64_t most = facts->max_groups, blocks = p->args.large;
    if (facts->min_group_bytes > 0) {
        const double bytes = (double)p->args.large * (double)p->args.k * (double)p->args.batch *
                             (double)element / (double)facts->min_group_bytes;
        if (bytes < (double)most) most = bytes < 1 ? 1 : (int64_t)bytes;
    }
    const int64_t cols = divide_up(p->args.large, divide_up(most, p->args.batch));
    const int64_t step = divide_up(cols, FEWEST_COLS) * FEWEST_COLS;
    p->args.step = (tdm_u32)(step > TDM_NARROW_COLS ? TDM_NARROW_COLS : step);
    if (facts->row_loops)
        blocks = divide_up(blocks, p->cols ? p->args.step : ROWS_TOGETHER);
    else if (p->cols)
        blocks = divide_up(blocks, COLS_OF_LANES);
    return blocks > most / p->args.batch ? most : blocks * p->args.batch;
}

static tdm_status run_narrow(tdm_queue *queue, tdm_dtype dtype, narrow *p, int64_t bytes) {
    const tdmi_mem *scratch;
    TDMI_TRY(tdmi_queue_scratch(queue, (size_t)bytes, &scratch));
    TDMI_TRY(copy_small(queue, p, dtype, bytes, scratch));
    const int64_t groups = count_groups(queue->device->facts, p, tdm_dtype_size(dtype));
    const tdmi_variant variant = {.kernel = TDMI_KERNEL_MATMUL_NARROW,
                                  .t = (uint8_t)dtype,
                                  .u = (uint8_t)dtype,
                                  .op = p->cols ? TDM_OP_NARROW_COLS : 0,
                                  .stream = tdmi_stores(queue, p->args.large * p->args.batch,
                                                        p->args.k, tdm_dtype_size(dtype), true)};
    const tdmi_mem *mems[] = {scratch, p->large, p->c};
    /* a lane to each column: the choice of lanes gives four to one */
    return tdmi_launch_groups(queue, variant, groups, p->cols ? 4 * COLS_OF_LANES : p->args.k, mems,
                              &p->args);
}

tdm_status tdmi_run_builtin(tdm_queue *queue, const tdmi_gemm *gemm) {
    int64_t groups = 0, bytes;
    TDMI_TRY(count_tiles("tdm_matmul", gemm, &groups));
    const int64_t large = gemm->m > gemm->n ? gemm->m : gemm->n;
    if ((gemm->m <= TDM_NARROW || gemm->n <= TDM_NARROW) && large >= FEWEST_ELEMENTS / gemm->k) {
        narrow p = describe_narrow(gemm);
        if (narrow_scratch(&p, gemm->dtype, &bytes))
            return run_narrow(queue, gemm->dtype, &p, bytes);
    }
    if (!tdmi_tensor_takes(queue->device, gemm)) return run_tiles(queue, gemm, groups);
    const tdmi_tensor_launch plan = tdmi_tensor_plan(queue->device->facts, gemm);
    const tdmi_mem *mems[] = {gemm->a, gemm->b, gemm->c};
    return tdmi_submit_launch(queue, plan.variant, plan.groups, mems, &plan.args);
}
