/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product on the host's cores: cut into parts, each of which a worker gives to a BLAS library. The
 * libraries start no threads, so that there is one pool of them, whichever library computes. */
#include <string.h>

#include "backend.h"

#include "host/ending.h"
#include "host/kernels.h"
#include "host/widen.h"

void tdmi_host_blas_diagnose(void) {
#define DIAGNOSE(name) tdmi_host_blas_##name.diagnose();
    TDMI_HOST_BLAS_LIST(DIAGNOSE)
}

/* A product of less is not worth waking a thread, nor is such a part of one: floating-point operations, of
 * which there are more to a second in 16 bits. */
static double least_part(const tdmi_host_job *job) {
    const bool narrow = job->whole.dtype == TDM_F16 || job->whole.dtype == TDM_BF16;
    return narrow && !job->widened ? 500e3 : 250e3;
}

/* Parts begin at multiples of this many rows and columns, where they have many. */
enum { STEP = 16 };

/* In a batch of at least this many products for each worker, each product goes whole to one worker. */
enum { PRODUCTS_PER_WORKER = 2, ITEMS_PER_WORKER = 8 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The extent of a part when `extent` is cut into `parts`. */
static int64_t part_of(int64_t extent, int64_t parts) {
    const int64_t part = divide_up(extent, parts);
    return part >= 24 * STEP ? divide_up(part, STEP) * STEP : part;
}

/* Into at most `parts` rectangles that together read the least of A and B; of two ways that read the same, the
 * one with more cuts between rows. */
static void cut_matrix(tdmi_host_job *job, int64_t parts) {
    const int64_t m = job->whole.m, n = job->whole.n;
    const int64_t step = job->blas->step ? job->blas->step(job->whole.dtype) : 1;
    double fewest = 0;
    for (int64_t pm = parts; pm > 0; pm--) {
        const int64_t pn = parts / pm;
        if (pm * pn != parts || pm > m || pn > divide_up(n, step)) continue;
        const double reads = (double)m * (double)pn + (double)n * (double)pm;
        if (fewest > 0 && reads >= fewest) continue;
        fewest = reads;
        job->rows = part_of(m, pm);
        job->cols = divide_up(part_of(n, pn), step) * step;
    }
}

static void cut(tdmi_host_job *job) {
    const tdmi_host_gemm *g = &job->whole;
    const double one = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    const int64_t batch = job->batch, workers = tdmi_worker_count();
    const double part = least_part(job);
    double worth = one * (double)batch / part;
    const bool shared = workers > 1 && worth >= 2;
    if (shared && batch < PRODUCTS_PER_WORKER * workers) {
        int64_t parts = workers / common_divisor(workers, batch);
        if (one / part < (double)parts) parts = (int64_t)(one / part);
        if (parts > 1) cut_matrix(job, parts);
    }
    job->parts_m = divide_up(g->m, job->rows);
    job->parts_n = divide_up(g->n, job->cols);
    const int64_t parts = batch * job->parts_m * job->parts_n;
    if (worth > (double)(ITEMS_PER_WORKER * workers)) worth = (double)(ITEMS_PER_WORKER * workers);
    job->items = shared ? (uint32_t)least(parts, (int64_t)worth) : 1;
}

static const void *at(const void *base, int64_t elements, tdm_dtype dtype) {
    return (const char *)base + elements * (int64_t)tdm_dtype_size(dtype);
}

/* The part at (pm, pn) of a matrix of the batch. */
static tdmi_host_gemm part_at(const tdmi_host_job *job, int64_t matrix, int64_t pm, int64_t pn) {
    const tdmi_host_gemm *g = &job->whole;
    const int64_t row = pm * job->rows, col = pn * job->cols;
    tdmi_host_gemm part = *g;
    part.m = least(job->rows, g->m - row);
    part.n = least(job->cols, g->n - col);
    part.a = at(g->a, matrix * job->a_stride + (g->transpose_a ? row : row * g->lda), g->dtype);
    part.b = at(g->b, matrix * job->b_stride + (g->transpose_b ? col * g->ldb : col), g->dtype);
    part.c = (void *)at(g->c, matrix * job->c_stride + row * g->ldc + col, g->dtype);
    if (g->bias) part.bias = at(g->bias, col, g->dtype);
    return part;
}

static int plan_number(const tdmi_host_job *job, int64_t pm, int64_t pn) {
    return (pm == job->parts_m - 1 ? 2 : 0) + (pn == job->parts_n - 1 ? 1 : 0);
}

static tdm_status prepare(tdmi_host_job *job) {
    for (int64_t pm = job->parts_m > 1 ? job->parts_m - 2 : 0; pm < job->parts_m; pm++) {
        for (int64_t pn = job->parts_n > 1 ? job->parts_n - 2 : 0; pn < job->parts_n; pn++) {
            const tdmi_host_gemm part = part_at(job, 0, pm, pn);
            TDMI_TRY(job->blas->prepare(&part, &job->plans[plan_number(job, pm, pn)]));
        }
    }
    return TDM_OK;
}

tdm_status tdmi_host_blas_open(const tdmi_host_blas *blas) {
    if (!blas->library) return blas->open();
    if (!tdmi_use_begin()) {
        if (tdmi_host_kernels()) return TDM_OK;
        return tdmi_fail(TDM_ERROR_UNAVAILABLE, "the process is ending, and no library is opened");
    }
    const tdm_status status = blas->open();
    tdmi_use_end(blas->id, TDMI_KIND_OPEN);
    return status;
}

static void release_plans(tdmi_host_job *job) {
    for (int i = 0; i < 4; i++)
        if (job->plans[i]) job->blas->release(job->plans[i]);
}

const tdmi_library *tdmi_host_provider_library(const void *state) {
    return (*(const tdmi_host_blas *const *)state)->library;
}

/* Beyond what the library does by itself there are epilogues, which the cpu backend's kernels do part by
 * part, and 16-bit products by way of f32. */
tdmi_blas_support tdmi_host_provider_supports(void *state, const tdmi_gemm *gemm) {
    const tdmi_host_blas *blas = *(const tdmi_host_blas *const *)state;
    tdmi_gemm plain = *gemm;
    plain.bias = NULL;
    plain.activation = TDM_ACTIVATION_NONE;
    const bool epilogue = gemm->bias || gemm->activation != TDM_ACTIVATION_NONE;
    if (epilogue && !tdmi_host_kernels()) return TDMI_BLAS_NO;
    if (blas->supports(&plain)) return TDMI_BLAS_YES;
    return tdmi_host_widens(blas, &plain) ? TDMI_BLAS_CONVERTS : TDMI_BLAS_NO;
}

tdm_status tdmi_host_job_init(tdmi_host_job *job, const tdmi_host_blas *blas, const tdmi_gemm *gemm,
                              const tdmi_host_operands *operands) {
    *job = (tdmi_host_job){
        .blas = blas,
        .whole =
            {
                .dtype = gemm->dtype,
                .transpose_a = gemm->transpose_a,
                .transpose_b = gemm->transpose_b,
                .panels = gemm->panels,
                .m = gemm->m,
                .n = gemm->n,
                .k = gemm->k,
                .alpha = gemm->alpha,
                .beta = gemm->beta,
                .a = at(operands->a, gemm->a_offset, gemm->dtype),
                .b = at(operands->b, gemm->b_offset, gemm->dtype),
                .c = (void *)at(operands->c, gemm->c_offset, gemm->dtype),
                .lda = gemm->lda,
                .ldb = gemm->ldb,
                .ldc = gemm->ldc,
                .bias = gemm->bias ? at(operands->bias, gemm->bias_offset, gemm->dtype) : NULL,
                .activation = gemm->activation,
            },
        .batch = gemm->batch,
        .a_stride = gemm->a_stride,
        .b_stride = gemm->b_stride,
        .c_stride = gemm->c_stride,
        .rows = gemm->m,
        .cols = gemm->n,
        .next = TDMI_NEXT_LOOP,
    };
    job->widened = tdmi_host_provider_supports(&blas, gemm) == TDMI_BLAS_CONVERTS;
    cut(job);
    if (!blas->prepare || job->widened || !tdmi_use_begin()) return TDM_OK;
    const tdm_status status = prepare(job);
    if (status != TDM_OK) release_plans(job);
    tdmi_use_end(blas->id, TDMI_KIND_PREPARE);
    return status;
}

void tdmi_host_job_drop(tdmi_host_job *job) {
    if (!job->blas->release || !tdmi_use_begin()) return;
    release_plans(job);
    tdmi_use_end(job->blas->id, TDMI_KIND_PREPARE);
}

/* Activation, and a bias that the product has not added, on what has just been computed. */
static void end_part(const tdmi_host_gemm *part, const void *bias) {
    if (!bias && part->activation == TDM_ACTIVATION_NONE) return;
    tdmi_host_epilogue(part->m, part->n, (tdmi_host_matrix){part->dtype, part->c, part->ldc}, bias,
                       part->activation);
}

static bool run_part(const tdmi_host_job *job, int64_t matrix, int64_t pm, int64_t pn) {
    const tdmi_host_gemm part = part_at(job, matrix, pm, pn);
    if (job->widened) return tdmi_host_product_widened(job->blas, &part);
    void *const plan = job->plans[plan_number(job, pm, pn)];
    if (!job->blas->product(&part, plan)) return false;
    if (!part.panels) end_part(&part, plan ? NULL : part.bias);
    return true;
}

static void run_item(void *context, uint32_t item) {
    tdmi_host_job *job = context;
    const int64_t in_matrix = job->parts_m * job->parts_n, parts = job->batch * in_matrix;
    for (int64_t i = parts * item / job->items; i < parts * (item + 1) / job->items; i++)
        if (!run_part(job, i / in_matrix, i % in_matrix / job->parts_n, i % job->parts_n))
            atomic_store(&job->failed, true);
}

/* The kind of product, for each of which a library may make objects at its first one: by dtype, transposes, and whether
 * it is a vector's. */
static unsigned kind_of(const tdmi_host_gemm *g) {
    const bool vector = g->m == 1 || g->n == 1;
    return (unsigned)g->dtype << 3 | (g->transpose_a ? 4U : 0U) | (g->transpose_b ? 2U : 0U) |
           (vector ? 1U : 0U);
}

/* As what C held before, so that it is added before anything is rounded. */
static void put_bias(tdmi_host_gemm *part) {
    const size_t size = tdm_dtype_size(part->dtype);
    for (int64_t i = 0; i < part->m; i++)
        memcpy((char *)part->c + (size_t)(i * part->ldc) * size, part->bias,
               (size_t)part->n * size);
    part->beta = 1;
    part->bias = NULL;
}

/* When libraries are not to be used any more: threads that the program joins at its end multiply yet. */
static bool run_by_kernels(tdmi_host_job *job) {
    job->rows = job->whole.m;
    job->cols = job->whole.n;
    for (int64_t i = 0; i < job->batch; i++) {
        tdmi_host_gemm part = part_at(job, i, 0, 0);
        if (part.bias && part.beta == 0) put_bias(&part);
        if (!tdmi_host_kernels() || !tdmi_host_product(&part)) return false;
        end_part(&part, part.bias);
    }
    return true;
}

tdm_status tdmi_host_job_run(tdmi_host_job *job) {
    if (job->whole.panels) {
        tdmi_parallel(job->items, run_item, job, job->next);
        return TDM_OK;
    }
    if (!tdmi_use_begin()) return run_by_kernels(job) ? TDM_OK : TDM_ERROR_OUT_OF_MEMORY;
    if (job->blas->begin) job->blas->begin();
    tdmi_parallel(job->items, run_item, job, job->next);
    if (job->blas->end) job->blas->end();
    if (job->blas->release) release_plans(job);
    tdmi_use_end(job->blas->id, kind_of(&job->whole));
    return job->failed ? TDM_ERROR_OUT_OF_MEMORY : TDM_OK;
}
