/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products through CLBlast, on any OpenCL device. f16 is left to the built-in kernel: CLBlast
 * accumulates it in f16, and Tandem promises sums in f32. bf16 it does not have. */
#include "clblast.h"

#include "base/env.h"
#include "base/log.h"

typedef struct clblast_state {
    tdmi_bdevice *device;
    tdmi_bqueue *queue;
} clblast_state;

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {
    clblast_state *self = state;
    self->device = device;
    self->queue = queue;
    return tdmi_clblast_open();
}

static const tdmi_library *library_of(const void *state) {
    (void)state;
    return tdmi_clblast_library();
}

/* One past the last element of a batch of matrices, or INT64_MAX when that overflows. */
static int64_t extent(int64_t offset, int64_t rows, int64_t cols, int64_t ld, int64_t batch,
                      int64_t stride) {
    int64_t of_rows, of_batch, all;
    if (__builtin_mul_overflow(rows - 1, ld, &of_rows) ||
        __builtin_mul_overflow(batch - 1, stride, &of_batch) ||
        __builtin_add_overflow(of_rows, of_batch, &all) ||
        __builtin_add_overflow(all, offset, &all) || __builtin_add_overflow(all, cols, &all))
        return INT64_MAX;
    return all;
}

/* CLBlast counts in int, also inside the padded copies that it makes of the three matrices. */
static bool fits_int(const tdmi_gemm *gemm) {
    const int64_t pad = 256; /* at least its largest tile */
    const int64_t a_rows = gemm->transpose_a ? gemm->k : gemm->m;
    const int64_t b_rows = gemm->transpose_b ? gemm->n : gemm->k;
    const int64_t a_cols = gemm->m + gemm->k - a_rows, b_cols = gemm->n + gemm->k - b_rows;
    const int64_t counts[] = {
        gemm->m + pad,
        gemm->n + pad,
        gemm->k + pad,
        gemm->batch,
        gemm->lda,
        gemm->ldb,
        gemm->ldc,
        gemm->a_stride,
        gemm->b_stride,
        gemm->c_stride,
        extent(gemm->a_offset, a_rows, a_cols, gemm->lda, gemm->batch, gemm->a_stride),
        extent(gemm->b_offset, b_rows, b_cols, gemm->ldb, gemm->batch, gemm->b_stride),
        extent(gemm->c_offset, gemm->m, gemm->n, gemm->ldc, gemm->batch, gemm->c_stride)};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > INT32_MAX) return false;
    const int64_t m = (gemm->m + pad - 1) / pad * pad, n = (gemm->n + pad - 1) / pad * pad,
                  k = (gemm->k + pad - 1) / pad * pad;
    const double copies = ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n) *
                          (double)gemm->batch;
    return copies <= (double)INT32_MAX;
}

static void configure(void *state, const char *name, const char *text) {
    tdmi_clblast_configure(((clblast_state *)state)->device, name, text);
}

static void search(void *state, const tdmi_gemm *gemm, const tdmi_trial *trial) {
    tdmi_clblast_tune(((clblast_state *)state)->device, gemm, trial);
}

static tdmi_blas_support supports(void *state, const tdmi_gemm *gemm) {
    const clblast_state *self = state;
    if (gemm->bias || gemm->activation != TDM_ACTIVATION_NONE) return TDMI_BLAS_NO;
    if (gemm->dtype == TDM_F64 && !self->device->entry->facts.info.has_f64) return TDMI_BLAS_NO;
    const bool has = gemm->dtype == TDM_F32 || gemm->dtype == TDM_F64;
    const bool runs = has && fits_int(gemm) && tdmi_clblast_usable(self->device, gemm->dtype);
    return runs ? TDMI_BLAS_YES : TDMI_BLAS_NO;
}

/* Its own codes; the others are those of OpenCL. */
static const char *code_name(CLBlastStatusCode code) {
#define CODE(name)                                                                                 \
    { name, #name }
    static const struct {
        CLBlastStatusCode code;
        const char *name;
    } names[] = {CODE(CLBlastNotImplemented),      CODE(CLBlastInvalidMatrixA),
                 CODE(CLBlastInvalidMatrixB),      CODE(CLBlastInvalidMatrixC),
                 CODE(CLBlastInvalidDimension),    CODE(CLBlastInvalidLeadDimA),
                 CODE(CLBlastInvalidLeadDimB),     CODE(CLBlastInvalidLeadDimC),
                 CODE(CLBlastInsufficientMemoryA), CODE(CLBlastInsufficientMemoryB),
                 CODE(CLBlastInsufficientMemoryC), CODE(CLBlastInsufficientMemoryTemp),
                 CODE(CLBlastInvalidBatchCount),   CODE(CLBlastInvalidLocalMemUsage),
                 CODE(CLBlastNoDoublePrecision),   CODE(CLBlastDatabaseError),
                 CODE(CLBlastUnknownError),        CODE(CLBlastUnexpectedError)};
#undef CODE
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code) return names[i].name;
    return tdmi_cl_error_name((cl_int)code);
}

/* The driver does not build or start a kernel. CLBlast says so before it starts the one that writes C, which is the
 * last of a product, so that another provider may run the product. */
static bool is_refusal(CLBlastStatusCode code) {
    switch ((int)code) {
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_GLOBAL_WORK_SIZE:
    case CLBlastInvalidLocalMemUsage:
    case CLBlastNoDoublePrecision:
    case CLBlastDatabaseError:
        return true;
    default:
        return false;
    }
}

/* Is another provider not to take its place unnoticed? */
static bool is_alone(void) {
    const tdmi_env *env = tdmi_env_values();
    return env->blas_count == 1 && env->blas[0] == TDMI_BLAS_clblast;
}

/* As the product of the transposed matrices in columns, which is the same one: of rows CLBlast's kernel for large
 * products would make a temporary as large as C, and transpose it. */
#define RUN(PREFIX, type)                                                                          \
    (gemm->batch == 1                                                                              \
         ? tdmi_clblast.PREFIX##gemm(CLBlastLayoutColMajor, tb, ta, n, m, k, (type)gemm->alpha, b, \
                                     b_offset, ldb, a, a_offset, lda, (type)gemm->beta, c,         \
                                     c_offset, ldc, queue, NULL)                                   \
         : tdmi_clblast.PREFIX##gemmStridedBatched(                                                \
               CLBlastLayoutColMajor, tb, ta, n, m, k, (type)gemm->alpha, b, b_offset, ldb,        \
               (size_t)gemm->b_stride, a, a_offset, lda, (size_t)gemm->a_stride, (type)gemm->beta, \
               c, c_offset, ldc, (size_t)gemm->c_stride, (size_t)gemm->batch, queue, NULL))

static tdm_status run(const clblast_state *self, const tdmi_gemm *gemm) {
    cl_command_queue *queue = &self->queue->queue;
    const CLBlastTranspose ta = gemm->transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo;
    const CLBlastTranspose tb = gemm->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = (size_t)gemm->m, n = (size_t)gemm->n, k = (size_t)gemm->k;
    const size_t lda = (size_t)gemm->lda, ldb = (size_t)gemm->ldb, ldc = (size_t)gemm->ldc;
    const size_t a_offset = (size_t)gemm->a_offset, b_offset = (size_t)gemm->b_offset,
                 c_offset = (size_t)gemm->c_offset;
    cl_mem a = gemm->a->handle, b = gemm->b->handle, c = gemm->c->handle;

    tdmi_clblast_enter();
    atomic_store(&self->device->used_clblast, true);
    CLBlastStatusCode code = gemm->dtype == TDM_F64 ? RUN(CLBlastD, double) : RUN(CLBlastS, float);
    tdmi_clblast_leave();
    if (code == CLBlastSuccess) return TDM_OK;
    const bool goes_on = is_refusal(code) && !is_alone();
    if (goes_on && tdmi_clblast_refuse(self->device, gemm->dtype))
        tdmi_log(TDM_LOG_WARNING,
                 "%s does not run CLBlast's kernels, and multiplies %s without: %s (%d)",
                 self->device->entry->facts.info.id, tdm_dtype_name(gemm->dtype), code_name(code),
                 (int)code);
    return tdmi_fail(goes_on ? TDM_ERROR_UNSUPPORTED : tdmi_cl_status((cl_int)code),
                     "CLBlast failed with %s (%d) for m = %zu, n = %zu, k = %zu, batch = %lld",
                     code_name(code), (int)code, m, n, k, (long long)gemm->batch);
}

/* Does a matrix of a batch lie as CLBlast takes it to where it needs no padded copy: from the buffer's start,
 * one after the other? */
static bool is_packed(int64_t offset, int64_t elements, int64_t stride) {
    return offset == 0 && stride == elements;
}

/* CLBlast 1.5.3 to 1.6.3 forgets offset and stride of a batch's matrices that need no padded copy: whose rows
 * have no gaps, and whose extents are multiples of its tiles, which are at least 8 wide. */
static bool loses_offsets(const tdmi_gemm *gemm) {
    const int64_t m = gemm->m, n = gemm->n, k = gemm->k;
    if (gemm->batch == 1) return false;
    const bool a = gemm->lda == (gemm->transpose_a ? m : k) && m % 8 == 0 && k % 8 == 0;
    const bool b = gemm->ldb == (gemm->transpose_b ? k : n) && n % 8 == 0 && k % 8 == 0;
    const bool c = gemm->ldc == n && m % 8 == 0 && n % 8 == 0;
    return (a && !is_packed(gemm->a_offset, m * k, gemm->a_stride)) ||
           (b && !is_packed(gemm->b_offset, k * n, gemm->b_stride)) ||
           (c && !is_packed(gemm->c_offset, m * n, gemm->c_stride));
}

static tdm_status gemm_clblast(void *state, const tdmi_gemm *gemm) {
    const clblast_state *self = state;
    if (!tdmi_clblast_usable(self->device, gemm->dtype))
        return tdmi_fail(
            TDM_ERROR_UNSUPPORTED,
            "CLBlast's parameters are being searched, or the driver refuses its kernels");
    if (!loses_offsets(gemm)) return run(self, gemm);
    tdmi_gemm one = *gemm;
    one.batch = 1;
    for (int64_t i = 0; i < gemm->batch; i++) {
        one.a_offset = gemm->a_offset + i * gemm->a_stride;
        one.b_offset = gemm->b_offset + i * gemm->b_stride;
        one.c_offset = gemm->c_offset + i * gemm->c_stride;
        const tdm_status status = run(self, &one);
        /* A part that has run is not to be run again by another provider. */
        if (status == TDM_ERROR_UNSUPPORTED && i > 0)
            return tdmi_fail(TDM_ERROR_BACKEND, "%s", tdm_last_error());
        if (status != TDM_OK) return status;
    }
    return TDM_OK;
}

void tdmi_clblast_forget(tdmi_bdevice *device) {
    /* The cache is keyed by the context's address, which a later context may get again, and it
     * would release its kernels after the context's driver has gone. It can only be cleared as a
     * whole: other devices' kernels are built again when they are next wanted. */
    if (!atomic_load(&device->used_clblast)) return;
    tdmi_clblast_enter();
    (void)tdmi_clblast.CLBlastClearCache();
    tdmi_clblast_leave();
}

const tdmi_blas tdmi_cl_blas_clblast = {
    .id = TDMI_BLAS_clblast,
    .state_size = sizeof(clblast_state),
    .attach = attach,
    .supports = supports,
    .gemm = gemm_clblast,
    .library = library_of,
    .settings = tdmi_clblast_setting_names,
    .configure = configure,
    .search = search,
};
