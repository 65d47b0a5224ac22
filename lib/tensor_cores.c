/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products on tensor cores. No driver's documents promise that it takes the kernel, so each process tries it. */
#include "tensor_cores.h"

#include "base/dtype.h"
#include "base/log.h"
#include "launch.h"

/* --- the kernel --------------------------------------------------------------------------------- */

/* A group's lanes and columns of C, of which it has TILE_ROWS rows, and whether it takes more of k at a time. */
typedef struct form {
    uint16_t lanes;
    int cols;
    bool deep;
} form;

/* 64 x 64 elements of C to each warp. */
enum { TILE_ROWS = 128, WIDE = 256, SLIM = 128 };

static int64_t tiles_of(const tdmi_gemm *gemm, int cols) {
    return (gemm->m + TILE_ROWS - 1) / TILE_ROWS * ((gemm->n + cols - 1) / cols);
}

/* Whether rows of A and of B begin at multiples of 16 bytes. */
static bool is_aligned(const tdmi_gemm *gemm) {
    return tdmi_is_aligned(gemm->a_offset | gemm->lda | gemm->a_stride | gemm->b_offset |
                               gemm->ldb | gemm->b_stride,
                           tdm_dtype_size(gemm->dtype));
}

/* Wide tiles read less of A and B, but must be enough for all multiprocessors. Of what lies along k a slice has 32
 * bytes of a row, a sector of the cache, or deep ones 64. Which is better is to be measured: tdm_matmul_tune does. */
static form form_of(const tdmi_device_facts *facts, const tdmi_gemm *gemm) {
    const bool wide = tiles_of(gemm, WIDE) >= facts->info.compute_units / gemm->batch;
    const bool along_k = !gemm->transpose_a && gemm->transpose_b;
    const int usual = (wide ? 0 : 2) + (along_k ? 1 : 0);
    const int number = (usual + gemm->algorithm) % TDMI_TENSOR_FORMS;
    const bool may_be_deep = is_aligned(gemm) && (!gemm->transpose_a || gemm->transpose_b);
    return (form){number < 2 ? 256 : 128, number < 2 ? WIDE : SLIM, number % 2 && may_be_deep};
}

static bool fits(const tdmi_gemm *gemm) {
    int64_t groups;
    return gemm->m <= INT32_MAX && gemm->n <= INT32_MAX && gemm->k <= INT32_MAX &&
           !__builtin_mul_overflow(tiles_of(gemm, SLIM), gemm->batch, &groups) &&
           groups <= INT32_MAX;
}

tdm_matmul_args tdmi_matmul_args(const tdmi_gemm *gemm) {
    return (tdm_matmul_args){
        .batch = gemm->batch,
        .a_offset = gemm->a_offset,
        .b_offset = gemm->b_offset,
        .c_offset = gemm->c_offset,
        .lda = gemm->lda,
        .ldb = gemm->ldb,
        .ldc = gemm->ldc,
        .a_stride = gemm->a_stride,
        .b_stride = gemm->b_stride,
        .c_stride = gemm->c_stride,
        .alpha = tdmi_scalar(gemm->alpha),
        .beta = tdmi_scalar(gemm->beta),
        .m = (tdm_u32)gemm->m,
        .n = (tdm_u32)gemm->n,
        .k = (tdm_u32)gemm->k,
        .read_c = gemm->beta != 0,
    };
}

tdmi_variant tdmi_matmul_variant(const tdmi_gemm *gemm, tdmi_kernel_id kernel) {
    return (tdmi_variant){.kernel = (uint8_t)kernel,
                          .t = (uint8_t)gemm->dtype,
                          .u = (uint8_t)gemm->dtype,
                          .op = (uint8_t)((gemm->transpose_a ? TDM_OP_TRANSPOSE_A : 0u) |
                                          (gemm->transpose_b ? TDM_OP_TRANSPOSE_B : 0u))};
}

tdmi_tensor_launch tdmi_tensor_plan(const tdmi_device_facts *facts, const tdmi_gemm *gemm) {
    const form f = form_of(facts, gemm);
    const int64_t c_stride = tdmi_row_step(gemm->batch, gemm->c_stride);
    tdmi_tensor_launch launch = {
        .variant = tdmi_matmul_variant(gemm, TDMI_KERNEL_MATMUL_TILES),
        .groups = (uint32_t)(tiles_of(gemm, f.cols) * gemm->batch),
        .args = tdmi_matmul_args(gemm),
    };
    launch.variant.op |= (uint8_t)((is_aligned(gemm) ? TDM_OP_TILES_ALIGNED : 0u) |
                                   (f.deep ? TDM_OP_TILES_DEEP : 0u));
    launch.variant.lanes = f.lanes;
    launch.args.vector_c =
        tdmi_is_aligned(gemm->c_offset | gemm->ldc | c_stride, tdm_dtype_size(gemm->dtype));
    return launch;
}

/* --- the trial ---------------------------------------------------------------------------------- */

/* tdm_device.tensor_trials, by dtype. */
enum { UNTRIED, RIGHT, WRONG, FAILED };

/* More than a slice, and tiles that are not whole. */
enum { M = 72, N = 136, K = 104 };

/* Quarters from -1 to 1: all dtypes have them, and f32 their products' sums, so that one result alone is right. */
static double element_of(int matrix, int row, int col) {
    return (double)((row * 7 + col * 5 + row * col * (3 + matrix)) % 9 - 4) / 4;
}

static double result_of(int row, int col) {
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += element_of(0, row, k) * element_of(1, k, col);
    return sum;
}

static void put(void *memory, tdm_dtype dtype, int64_t at, double value) {
    const uint64_t bits = tdmi_element_bits(dtype, value);
    memcpy((char *)memory + at * (int64_t)tdm_dtype_size(dtype), &bits, tdm_dtype_size(dtype));
}

/* A, B and C one after the other. */
enum { ELEMENTS = M * K + K * N + M * N };

static void make_operands(tdm_dtype dtype, void *memory) {
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++)
            put(memory, dtype, i * K + k, element_of(0, i, k));
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
            put(memory, dtype, M * K + k * N + j, element_of(1, k, j));
    for (int i = 0; i < M * N; i++) /* no result */
        put(memory, dtype, M * K + K * N + i, 1e4);
}

static bool is_right(tdm_dtype dtype, const void *memory) {
    const size_t size = tdm_dtype_size(dtype);
    for (int i = 0; i < M * N; i++) {
        const uint64_t right = tdmi_element_bits(dtype, result_of(i / N, i % N));
        const char *got = (const char *)memory + (size_t)(M * K + K * N + i) * size;
        if (memcmp(got, &right, size) != 0) return false;
    }
    return true;
}

/* With a queue and memory of the backend's. */
static tdm_status run_trial(tdm_queue *queue, const tdmi_mem *mem, tdm_dtype dtype, void *memory,
                            bool *over) {
    const tdmi_backend *backend = queue->device->backend;
    const size_t bytes = ELEMENTS * tdm_dtype_size(dtype);
    const tdmi_gemm gemm = {.dtype = dtype,
                            .m = M,
                            .n = N,
                            .k = K,
                            .batch = 1,
                            .alpha = 1,
                            .b_offset = M * K,
                            .c_offset = M * K + K * N,
                            .lda = K,
                            .ldb = N,
                            .ldc = N};
    const tdmi_tensor_launch plan = tdmi_tensor_plan(queue->device->facts, &gemm);
    const tdmi_mem *const mems[] = {mem, mem, mem};
    const tdmi_launch launch = {.groups = plan.groups, .mems = mems, .args = &plan.args};
    tdmi_bkernel *kernel;
    TDMI_TRY(tdmi_queue_own_kernel(queue, plan.variant, &kernel));
    tdm_status status = backend->write(queue->impl, mem, 0, memory, bytes);
    if (status == TDM_OK) status = backend->launch(queue->impl, kernel, &launch);
    if (status == TDM_OK) status = backend->read(queue->impl, mem, 0, memory, bytes);
    const tdm_status end = tdmi_queue_wait(queue, over);
    tdmi_give_back_kernel(queue->device, kernel);
    return status == TDM_OK ? end : status;
}

/* *over: whether the device has done with the memory and the queue. */
static tdm_status try_on(tdm_queue *queue, tdm_dtype dtype, void *memory, bool *over) {
    const tdmi_backend *backend = queue->device->backend;
    tdmi_bdevice *const device = queue->device->impl;
    tdmi_mem mem = {0};
    TDMI_TRY(backend->queue_init(device, 0, queue->impl));
    tdm_status status = backend->mem_alloc(device, ELEMENTS * tdm_dtype_size(dtype), &mem);
    if (status == TDM_OK) {
        status = run_trial(queue, &mem, dtype, memory, over);
        if (!*over) return tdmi_device_result(queue->device, status);
        backend->mem_free(device, &mem);
    }
    backend->queue_deinit(queue->impl);
    return tdmi_device_result(queue->device, status);
}

/* Devices that a trial has lost, of any dtype. Opened again, they are not tried again. */
enum { MOST_LOST = 64 };
static _Atomic(const tdmi_device_facts *) lost[MOST_LOST];

static bool was_lost(const tdm_device *device) {
    for (int i = 0; i < MOST_LOST; i++)
        if (atomic_load(&lost[i]) == device->facts) return true;
    return false;
}

static void remember_lost(const tdm_device *device) {
    for (int i = 0; i < MOST_LOST; i++) {
        const tdmi_device_facts *none = NULL;
        if (atomic_compare_exchange_strong(&lost[i], &none, device->facts)) return;
    }
}

static int try_dtype(tdm_device *device, tdm_dtype dtype) {
    void *const memory = tdmi_malloc(ELEMENTS * tdm_dtype_size(dtype));
    tdm_queue *const queue = tdmi_calloc(1, sizeof *queue);
    void *const impl = tdmi_calloc(1, device->backend->queue_size);
    tdm_status status = TDM_ERROR_OUT_OF_MEMORY;
    bool over = true;
    if (memory && queue && impl) {
        queue->device = device;
        queue->impl = impl;
        make_operands(dtype, memory);
        status = try_on(queue, dtype, memory, &over);
    }
    const bool right = status == TDM_OK && is_right(dtype, memory);
    if (over) { /* else all is kept, as the device may use it for ever */
        tdmi_free(impl);
        tdmi_free(queue);
        tdmi_free(memory);
    }
    if (status == TDM_ERROR_OUT_OF_MEMORY) return UNTRIED; /* another product may have memory */
    if (status == TDM_ERROR_DEVICE_LOST) remember_lost(device);
    if (right) return RIGHT;
    tdmi_log(TDM_LOG_WARNING, "%s does not multiply %s on its tensor cores: %s",
             device->facts->info.id, tdm_dtype_name(dtype),
             status == TDM_OK ? "a trial gave a wrong result" : tdm_last_error());
    return status == TDM_OK ? WRONG : FAILED;
}

/* Whether the cores have such products. Where both matrices of f32 lie across k, lanes run out of registers; those
 * with few rows or columns have another kernel. */
static bool has(const tdmi_gemm *gemm) {
    const bool across = gemm->transpose_a && !gemm->transpose_b;
    if (gemm->m <= TDM_NARROW || gemm->n <= TDM_NARROW || !fits(gemm)) return false;
    return gemm->dtype == TDM_F16 || gemm->dtype == TDM_BF16 ||
           (gemm->dtype == TDM_F32 && gemm->tf32 && !across);
}

/* The outcome of the trial of the tensor cores; UNTRIED where the product is not for them. */
static int trial_of(tdm_device *device, const tdmi_gemm *gemm) {
    static tdmi_mutex lock = TDMI_MUTEX_INIT;
    if (!device->facts->tensor_cores || !has(gemm)) return UNTRIED;
    if (was_lost(device)) return FAILED;
    atomic_int *const trial = &device->tensor_trials[gemm->dtype];
    int found = atomic_load(trial);
    if (found != UNTRIED) return found;
    TDMI_LOCKED(&lock);
    found = atomic_load(trial);
    if (found == UNTRIED) {
        found = try_dtype(device, gemm->dtype);
        atomic_store(trial, found);
    }
    return found;
}

bool tdmi_tensor_takes(tdm_device *device, const tdmi_gemm *gemm) {
    return trial_of(device, gemm) == RIGHT;
}

const char *tdmi_tensor_text(tdm_device *device, const tdmi_gemm *gemm) {
    switch (trial_of(device, gemm)) {
    case RIGHT:
        return "; it uses the tensor cores";
    case WRONG:
        return "; it does not use the tensor cores, as their trial gave a wrong result";
    case FAILED:
        return "; it does not use the tensor cores, as the driver did not take the kernel for them";
    default:
        return "";
    }
}
