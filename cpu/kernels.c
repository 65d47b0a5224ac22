/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of the kernels of one instruction set. Compiled once per instruction set. */
#include "dialect_c.h"
#include "dtypes.h"

/* The library's list of dtypes and that of the kernels are one. */
#define KIND_FLOAT TDM_KIND_FLOAT
#define KIND_SIGNED TDM_KIND_SIGNED
#define KIND_UNSIGNED TDM_KIND_UNSIGNED
#define KIND_BOOL TDM_KIND_BOOL
#define AGREE(NAME, name, bytes, kind)                                                             \
    _Static_assert(TDM_ID_##NAME == (int)TDM_##NAME &&                                             \
                       TDM_CAT(tdm_size_, TDM_ID_##NAME) == (bytes) &&                             \
                       TDM_CAT(tdm_kind_, TDM_ID_##NAME) == KIND_##kind,                           \
                   name " is not what kernels/dtypes.h says");
TDM_DTYPE_LIST(AGREE)

#define ENTRY(name) TDM_CAT(TDM_CAT(name, _), TDMI_ISA)

/* The entries of kernels with one dtype, declared, and as a row of the table. */
#define FLOATS(X, kernel) X(kernel, 0) X(kernel, 1) X(kernel, 2) X(kernel, 3)
#define UNSIGNED(X, kernel) X(kernel, 6) X(kernel, 9) X(kernel, 10) X(kernel, 11)
#define STORED(X, kernel) FLOATS(X, kernel) UNSIGNED(X, kernel) X(kernel, 12)
#define DECLARE(kernel, t) tdmi_cpu_kernel ENTRY(tdmi_##kernel##_##t##_##t);
#define SLOT(kernel, t) [t] = ENTRY(tdmi_##kernel##_##t##_##t),
#define ROW_OF_FLOATS(kernel)                                                                      \
    { FLOATS(SLOT, kernel) }

FLOATS(DECLARE, elementwise)
UNSIGNED(DECLARE, fill)
UNSIGNED(DECLARE, transpose)
UNSIGNED(DECLARE, gather_rows)
UNSIGNED(DECLARE, one_hot)
UNSIGNED(DECLARE, sort_keys)
UNSIGNED(DECLARE, sort_select)
DECLARE(sort_merge, 11)
DECLARE(scatter_order, 10)
UNSIGNED(DECLARE, sort_take)
FLOATS(DECLARE, bias_add)
FLOATS(DECLARE, norm)
FLOATS(DECLARE, layer_norm)
FLOATS(DECLARE, rms_norm)
FLOATS(DECLARE, batch_norm)
FLOATS(DECLARE, batch_norm_cols)
FLOATS(DECLARE, l2_normalize)
FLOATS(DECLARE, softmax)
FLOATS(DECLARE, matmul)
FLOATS(DECLARE, matmul_narrow)
FLOATS(DECLARE, scatter_add_rows)
FLOATS(DECLARE, reduce)
UNSIGNED(DECLARE, reduce)
FLOATS(DECLARE, reduce_variance)
UNSIGNED(DECLARE, extreme)
FLOATS(DECLARE, cumsum)
STORED(DECLARE, range)
STORED(DECLARE, random)

/* Norms and sums so far of 16-bit rows go to the row's own dtype or to f32. */
#define OR_TO_F32(kernel, t)                                                                       \
    tdmi_cpu_kernel ENTRY(tdmi_##kernel##_##t##_0);                                                \
    static void kernel##_##t(const tdm_group *group, void *const *buffers, const void *args) {     \
        if (group->u == 0)                                                                         \
            ENTRY(tdmi_##kernel##_##t##_0)(group, buffers, args);                                  \
        else                                                                                       \
            ENTRY(tdmi_##kernel##_##t##_##t)(group, buffers, args);                                \
    }
OR_TO_F32(norm, 2)
OR_TO_F32(norm, 3)
OR_TO_F32(cumsum, 2)
OR_TO_F32(cumsum, 3)
#define SLOTS_OR_F32(kernel) SLOT(kernel, 0) SLOT(kernel, 1)[2] = kernel##_2, [3] = kernel##_3,
#define ROW_OF_NORMS(kernel)                                                                       \
    { SLOTS_OR_F32(kernel) }

/* Sums so far of integers are of 64 bits. */
#define DECLARE_INTO_U64(kernel, t) tdmi_cpu_kernel ENTRY(tdmi_##kernel##_##t##_11);
#define SLOT_INTO_U64(kernel, t) [t] = ENTRY(tdmi_##kernel##_##t##_11),
UNSIGNED(DECLARE_INTO_U64, cumsum)

/* Those to each dtype, which choose by the other. */
#define CAST_TO(NAME) ENTRY(TDM_CAT(tdmi_cast_, TDM_ID_##NAME))
#define DECLARE_CAST(NAME, name, bytes, kind) tdmi_cpu_kernel CAST_TO(NAME);
#define AT_CAST(NAME, name, bytes, kind) [TDM_##NAME] = CAST_TO(NAME),
TDM_DTYPE_LIST(DECLARE_CAST)

/* One row for each kernel of TDM_KERNEL_LIST, which also gives their order: a kernel without a row
 * here does not compile. */
#define ROW_ELEMENTWISE ROW_OF_FLOATS(elementwise)
#define ROW_CAST                                                                                   \
    { TDM_DTYPE_LIST(AT_CAST) }
#define ROW_FILL                                                                                   \
    { UNSIGNED(SLOT, fill) }
#define ROW_BIAS_ADD ROW_OF_FLOATS(bias_add)
#define ROW_NORM ROW_OF_NORMS(norm)
#define ROW_LAYER_NORM ROW_OF_FLOATS(layer_norm)
#define ROW_RMS_NORM ROW_OF_FLOATS(rms_norm)
#define ROW_BATCH_NORM ROW_OF_FLOATS(batch_norm)
#define ROW_BATCH_NORM_COLS ROW_OF_FLOATS(batch_norm_cols)
#define ROW_L2_NORMALIZE ROW_OF_FLOATS(l2_normalize)
#define ROW_SOFTMAX ROW_OF_FLOATS(softmax)
#define ROW_MATMUL ROW_OF_FLOATS(matmul)
#define ROW_MATMUL_NARROW ROW_OF_FLOATS(matmul_narrow)
#define ROW_SCATTER_ADD_ROWS ROW_OF_FLOATS(scatter_add_rows)
#define ROW_REDUCE                                                                                 \
    { FLOATS(SLOT, reduce) UNSIGNED(SLOT, reduce) }
#define ROW_REDUCE_VARIANCE ROW_OF_FLOATS(reduce_variance)
#define ROW_EXTREME                                                                                \
    { UNSIGNED(SLOT, extreme) }
#define ROW_CUMSUM                                                                                 \
    { SLOTS_OR_F32(cumsum) UNSIGNED(SLOT_INTO_U64, cumsum) }
#define ROW_RANGE                                                                                  \
    { STORED(SLOT, range) }
#define ROW_RANDOM                                                                                 \
    { STORED(SLOT, random) }
#define ROW_TRANSPOSE                                                                              \
    { UNSIGNED(SLOT, transpose) }
#define ROW_GATHER_ROWS                                                                            \
    { UNSIGNED(SLOT, gather_rows) }
#define ROW_ONE_HOT                                                                                \
    { UNSIGNED(SLOT, one_hot) }
#define ROW_SORT_KEYS                                                                              \
    { UNSIGNED(SLOT, sort_keys) }
#define ROW_SORT_SELECT                                                                            \
    { UNSIGNED(SLOT, sort_select) }
#define ROW_SORT_MERGE                                                                             \
    { SLOT(sort_merge, 11) }
#define ROW_SCATTER_ORDER                                                                          \
    { SLOT(scatter_order, 10) }
#define ROW_SORT_TAKE                                                                              \
    { UNSIGNED(SLOT, sort_take) }
#define ROW(ID, entry, buffers, args) ROW_##ID,

FLOATS(DECLARE, apply)
tdmi_cpu_row TDM_CAT(tdmi_cpu_applied_, TDMI_ISA) = ROW_OF_FLOATS(apply);

/* The block may be the row itself, where an output is an input as it is. */
static void copy_block(void *row, const void *block, size_t bytes, bool stream) {
    const size_t lines = stream ? bytes / TDM_LINE * TDM_LINE : 0;
    for (size_t at = 0; at < lines; at += TDM_LINE)
        tdm_flush(1, (char *)row + at, (const char *)block + at);
    memmove((char *)row + lines, (const char *)block + lines, bytes - lines);
}

static void fence(void) { tdm_fence(); }

#define DECLARE_BLOCKS(t)                                                                          \
    tdmi_cpu_block_load ENTRY(tdmi_block_load_##t);                                                \
    tdmi_cpu_block_store ENTRY(tdmi_block_store_##t);
DECLARE_BLOCKS(2)
DECLARE_BLOCKS(3)
const tdmi_cpu_blocks TDM_CAT(tdmi_cpu_blocks_, TDMI_ISA) = {
    .load = {[2] = ENTRY(tdmi_block_load_2), [3] = ENTRY(tdmi_block_load_3)},
    .store = {[2] = ENTRY(tdmi_block_store_2), [3] = ENTRY(tdmi_block_store_3)},
    .copy = copy_block,
    .fence = fence};

tdmi_cpu_table TDM_CAT(tdmi_cpu_kernels_, TDMI_ISA) = {TDM_KERNEL_LIST(ROW)};
