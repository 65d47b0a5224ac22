/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which provider is usually the fastest with a product on the host's cores, as measured; for other products, the first
 * library in the device's order. */
#include "blas_table.h"

#include "args.h"

/* With less to read than this, a call of a library is over before two kernels are launched: an estimate. */
enum { LEAST_ELEMENTS = 64 << 10 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static double products_of(const tdmi_gemm *gemm) {
    return (double)gemm->m * (double)gemm->n * (double)gemm->k;
}

/* The builtin kernels have 32 bits for extents and groups. */
static bool fits_builtin(const tdmi_gemm *gemm, int64_t large) {
    return large <= INT32_MAX && gemm->k <= INT32_MAX &&
           gemm->batch <= INT32_MAX / (large / 64 + 1);
}

bool tdmi_is_narrow(const tdmi_gemm *gemm) {
    const int64_t large = gemm->m < gemm->n ? gemm->n : gemm->m;
    return least(gemm->m, gemm->n) <= TDM_NARROW && large >= LEAST_ELEMENTS / gemm->k &&
           fits_builtin(gemm, large);
}

/* The dimension of which C has little; and how the large matrix is stored. */
typedef enum side { ROWS, COLS } side;
typedef enum storage { BY_ROWS, BY_COLS, ANYHOW } storage;

/* Narrow products with `from` to `to` rows or columns. Measured with k and the other side 4096 on two
 * cores of a Zen 5, with oneDNN 2.6.3 (f32, bf16), OpenBLAS 0.3.21, BLIS 0.9 and MKL 2026 (f64), and on a
 * Zen 4 without MKL. In f64 the kernel takes 0.5 to 0.75 of the best library's time, and with 8 to 16 rows of a
 * matrix that is not transposed 1.1 to 1.5. In bf16 oneDNN is faster with the weights of a linear layer, and as
 * fast with 8 rows of others; with few columns and A transposed the kernel takes half of oneDNN's time. In f32
 * oneDNN is faster with one row; with more and weights of a linear layer the kernel takes 0.6 to 0.8 of its time,
 * with others up to 8 0.85 to 0.95. Where the matrix that the rows are multiplied by is that of a smaller network,
 * oneDNN takes 0.3 to 1 of the kernel's time (256 to 4096 columns, k of 256 to 1536), but with 16 rows from a k of
 * 1024 on 1.1 to 1.9; with two to eight columns 1.1 to 6, whatever the size. */
static const struct {
    tdm_dtype dtype;
    side side;
    storage storage;
    int from, to;
    int64_t least_k;
} table[] = {
    {TDM_F64, ROWS, BY_ROWS, 1, 6, 1},    {TDM_F64, ROWS, BY_COLS, 1, 16, 1},
    {TDM_F64, COLS, ANYHOW, 1, 16, 1},    {TDM_BF16, ROWS, BY_ROWS, 1, 6, 1},
    {TDM_BF16, COLS, BY_ROWS, 1, 6, 1},   {TDM_BF16, COLS, BY_COLS, 1, 12, 1},
    {TDM_F32, ROWS, BY_ROWS, 2, 8, 4096}, {TDM_F32, ROWS, BY_COLS, 3, 12, 4096},
    {TDM_F32, COLS, BY_ROWS, 2, 8, 1},    {TDM_F32, ROWS, BY_COLS, 13, 16, 1024},
};

static bool is_builtins(const tdmi_gemm *gemm) {
    if (!tdmi_is_narrow(gemm)) return false;
    const side few = gemm->m <= gemm->n ? ROWS : COLS;
    const int64_t count = least(gemm->m, gemm->n);
    const bool transposed = few == ROWS ? gemm->transpose_b : gemm->transpose_a;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const bool stored =
            table[i].storage == ANYHOW || (table[i].storage == BY_COLS) == transposed;
        if (table[i].dtype == gemm->dtype && table[i].side == few && stored &&
            count >= table[i].from && count <= table[i].to && gemm->k >= table[i].least_k)
            return true;
    }
    return false;
}

/* OpenBLAS has kernels without packing for small matrices where there is AVX-512. Measured with 0.3.21 and
 * oneDNN 2.6.3 on two cores of a Zen 4, f32, alone and in batches: 4x4x4 0.1 of oneDNN's time, 16x16x16 0.25,
 * 32x32x32 0.4 to 0.8, 48x48x48 0.7 to 1, 64x64x64 in batches 0.8; masked as AVX2 4x4x4 0.3 to 0.5, 16x16x16
 * 0.6 to 1.8. Long ones, as 1x300x300, 4x10x1000 and 100x100x10, take 0.6 to 1. */
enum { SMALL_AVX512 = 48, SMALL_OF_BATCH = 64, SMALL = 8, LONGEST = 1000 };

/* The last condition opens a library, so it is checked only where it matters. */
static bool is_small(const tdmi_gemm *gemm) {
    const double products = products_of(gemm);
    const double most = gemm->batch > 1 ? SMALL_OF_BATCH : SMALL_AVX512, least_most = SMALL;
    if (gemm->m > LONGEST || gemm->n > LONGEST || gemm->k > LONGEST) return false;
    if (products <= least_most * least_most * least_most) return true;
    return products <= most * most * most && tdmi_host_has_avx512();
}

/* With AVX2 oneDNN's dnnl_sgemm is slow at packing wide matrices that are not transposed. Measured with the
 * versions above, masked as AVX2: 512x512x512 OpenBLAS takes 0.7 of oneDNN's time, 32 to 128x4096x4096 0.55,
 * 8x4096x4096 0.8, 768x768x768 1, 1024 and more 0.9 to 0.95; transposed 512x3072x768 and 1024 0.9, less 1.1 to 2.
 * 16-bit products are f32's there. */
enum { WIDE_COLS = 512, WIDE_ROWS = 4 };
static const double large_product = 1e9;

static bool is_wide(const tdmi_gemm *gemm) {
    return gemm->n >= WIDE_COLS && gemm->m >= WIDE_ROWS && !tdmi_host_has_avx512() &&
           (!gemm->transpose_b || products_of(gemm) >= large_product);
}

int tdmi_table_first(const tdmi_gemm *gemm) {
    if (is_builtins(gemm)) return TDMI_BLAS_builtin;
    if (gemm->dtype == TDM_F64) return TDMI_NO_PROVIDER;
    const bool first = is_wide(gemm) || (gemm->dtype == TDM_F32 && is_small(gemm));
    return first ? (int)TDMI_BLAS_openblas : TDMI_NO_PROVIDER;
}
