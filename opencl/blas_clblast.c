/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products through CLBlast, on any OpenCL device. f16 is left to the built-in kernel: CLBlast
 * accumulates it in f16, and Tandem promises sums in f32. bf16 it does not have. */
#include "opencl_backend.h"

#include <clblast_c.h>

#define CLBLAST_FUNCTIONS(X)                                                                       \
    X(CLBlastSgemm)                                                                                \
    X(CLBlastDgemm)                                                                                \
    X(CLBlastSgemmStridedBatched)                                                                  \
    X(CLBlastDgemmStridedBatched)                                                                  \
    X(CLBlastClearCache)

static struct {
#define CLBLAST_MEMBER(name) __typeof__(&name) name;
    CLBLAST_FUNCTIONS(CLBLAST_MEMBER)
#undef CLBLAST_MEMBER
} clblast;

enum {
#define CLBLAST_INDEX(name) INDEX_##name,
    CLBLAST_FUNCTIONS(CLBLAST_INDEX)
#undef CLBLAST_INDEX
        CLBLAST_COUNT
};

static void (*addresses[CLBLAST_COUNT])(void);

static const tdmi_symbol symbols[CLBLAST_COUNT] = {
#define CLBLAST_SYMBOL(name) {#name, &addresses[INDEX_##name], false},
    CLBLAST_FUNCTIONS(CLBLAST_SYMBOL)
#undef CLBLAST_SYMBOL
};

static const char *const names[] = {"libclblast.so.1", NULL};

static tdmi_library library = {
    .title = "CLBlast",
    .names = names,
    .advice = "install CLBlast (Debian, Ubuntu: libclblast1)",
};

/* Around every call into CLBlast: before 1.6.1, two threads whose first products come at once break
 * its cache. A call only queues work, so little is lost. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct clblast_state {
    tdmi_bdevice *device;
    tdmi_bqueue *queue;
} clblast_state;

static tdm_status attach(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {
    clblast_state *self = state;
    self->device = device;
    self->queue = queue;
    pthread_mutex_lock(&lock);
    tdm_status status = tdmi_library_open(&library, symbols, CLBLAST_COUNT);
    if (status == TDM_OK) {
#define CLBLAST_ASSIGN(name) clblast.name = (__typeof__(clblast.name))addresses[INDEX_##name];
        CLBLAST_FUNCTIONS(CLBLAST_ASSIGN)
#undef CLBLAST_ASSIGN
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void detach(void *state) { (void)state; }

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
    if (gemm->m > INT32_MAX - pad || gemm->n > INT32_MAX - pad || gemm->k > INT32_MAX - pad ||
        gemm->batch > INT32_MAX || gemm->lda > INT32_MAX || gemm->ldb > INT32_MAX ||
        gemm->ldc > INT32_MAX || gemm->a_stride > INT32_MAX || gemm->b_stride > INT32_MAX ||
        gemm->c_stride > INT32_MAX)
        return false;
    const int64_t a_rows = gemm->transpose_a ? gemm->k : gemm->m;
    const int64_t b_rows = gemm->transpose_b ? gemm->n : gemm->k;
    const int64_t a_cols = gemm->m + gemm->k - a_rows, b_cols = gemm->n + gemm->k - b_rows;
    if (extent(gemm->a_offset, a_rows, a_cols, gemm->lda, gemm->batch, gemm->a_stride) >
            INT32_MAX ||
        extent(gemm->b_offset, b_rows, b_cols, gemm->ldb, gemm->batch, gemm->b_stride) >
            INT32_MAX ||
        extent(gemm->c_offset, gemm->m, gemm->n, gemm->ldc, gemm->batch, gemm->c_stride) >
            INT32_MAX)
        return false;
    const int64_t m = (gemm->m + pad - 1) / pad * pad, n = (gemm->n + pad - 1) / pad * pad,
                  k = (gemm->k + pad - 1) / pad * pad;
    const double copies = ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n) *
                          (double)gemm->batch;
    return copies <= (double)INT32_MAX;
}

static tdmi_blas_support supports(void *state, const tdmi_gemm *gemm) {
    const clblast_state *self = state;
    if (gemm->bias || gemm->activation != TDM_ACTIVATION_NONE) return TDMI_BLAS_NO;
    if (gemm->dtype == TDM_F64 && !self->device->entry->facts.info.has_f64) return TDMI_BLAS_NO;
    const bool has = gemm->dtype == TDM_F32 || gemm->dtype == TDM_F64;
    return has && fits_int(gemm) ? TDMI_BLAS_YES : TDMI_BLAS_NO;
}

static const char *code_name(CLBlastStatusCode code) {
    switch (code) {
#define CODE_CASE(name)                                                                            \
    case name:                                                                                     \
        return #name;
        CODE_CASE(CLBlastNotImplemented)
        CODE_CASE(CLBlastInvalidMatrixA)
        CODE_CASE(CLBlastInvalidMatrixB)
        CODE_CASE(CLBlastInvalidMatrixC)
        CODE_CASE(CLBlastInvalidDimension)
        CODE_CASE(CLBlastInvalidLeadDimA)
        CODE_CASE(CLBlastInvalidLeadDimB)
        CODE_CASE(CLBlastInvalidLeadDimC)
        CODE_CASE(CLBlastInsufficientMemoryA)
        CODE_CASE(CLBlastInsufficientMemoryB)
        CODE_CASE(CLBlastInsufficientMemoryC)
        CODE_CASE(CLBlastInsufficientMemoryTemp)
        CODE_CASE(CLBlastInvalidBatchCount)
        CODE_CASE(CLBlastInvalidLocalMemUsage)
        CODE_CASE(CLBlastNoDoublePrecision)
        CODE_CASE(CLBlastDatabaseError)
        CODE_CASE(CLBlastUnknownError)
        CODE_CASE(CLBlastUnexpectedError)
#undef CODE_CASE
    default:
        return tdmi_cl_error_name((cl_int)code);
    }
}

#define RUN(PREFIX, type)                                                                          \
    (gemm->batch == 1                                                                              \
         ? clblast.PREFIX##gemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, (type)gemm->alpha, a,      \
                                a_offset, lda, b, b_offset, ldb, (type)gemm->beta, c, c_offset,    \
                                ldc, queue, NULL)                                                  \
         : clblast.PREFIX##gemmStridedBatched(                                                     \
               CLBlastLayoutRowMajor, ta, tb, m, n, k, (type)gemm->alpha, a, a_offset, lda,        \
               (size_t)gemm->a_stride, b, b_offset, ldb, (size_t)gemm->b_stride, (type)gemm->beta, \
               c, c_offset, ldc, (size_t)gemm->c_stride, (size_t)gemm->batch, queue, NULL))

static tdm_status gemm_clblast(void *state, const tdmi_gemm *gemm) {
    clblast_state *self = state;
    cl_command_queue *queue = &self->queue->queue;
    const CLBlastTranspose ta = gemm->transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo;
    const CLBlastTranspose tb = gemm->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
    const size_t m = (size_t)gemm->m, n = (size_t)gemm->n, k = (size_t)gemm->k;
    const size_t lda = (size_t)gemm->lda, ldb = (size_t)gemm->ldb, ldc = (size_t)gemm->ldc;
    const size_t a_offset = (size_t)gemm->a_offset, b_offset = (size_t)gemm->b_offset,
                 c_offset = (size_t)gemm->c_offset;
    cl_mem a = gemm->a->handle, b = gemm->b->handle, c = gemm->c->handle;

    pthread_mutex_lock(&lock);
    atomic_store(&self->device->used_clblast, true);
    CLBlastStatusCode code = gemm->dtype == TDM_F64 ? RUN(CLBlastD, double) : RUN(CLBlastS, float);
    pthread_mutex_unlock(&lock);
    if (code != CLBlastSuccess)
        return tdmi_fail(tdmi_cl_status((cl_int)code),
                         "CLBlast failed with %s (%d) for m = %zu, n = %zu, k = %zu, batch = %lld",
                         code_name(code), (int)code, m, n, k, (long long)gemm->batch);
    return TDM_OK;
}

void tdmi_clblast_forget(tdmi_bdevice *device) {
    /* The cache is keyed by the context's address, which a later context may get again, and it
     * would release its kernels after the context's driver has gone. It can only be cleared as a
     * whole: other devices' kernels are built anew when they are next wanted. */
    if (!atomic_load(&device->used_clblast)) return;
    pthread_mutex_lock(&lock);
    (void)clblast.CLBlastClearCache();
    pthread_mutex_unlock(&lock);
}

void tdmi_clblast_diagnose(void) { tdmi_library_diagnose(&library, symbols, CLBLAST_COUNT); }

const tdmi_blas tdmi_cl_blas_clblast = {
    .id = TDMI_BLAS_clblast,
    .state_size = sizeof(clblast_state),
    .attach = attach,
    .detach = detach,
    .supports = supports,
    .gemm = gemm_clblast,
};
