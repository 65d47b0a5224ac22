/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels: what each is compiled for, takes and needs, and how its rows are read. The host, the backends and the
 * tests read it here; cmake/KernelUnits.cmake makes the files of the cpu backend of it, and reads of each its
 * names, .file, .t, .u, .small and .needs, written as they are here.
 *
 * X(ID, name, struct, (forms, streams), …): `forms` is how many bodies the entry has in C, by OP (TDM_FLAGS has the
 * rest), and `streams` how many of these, the first, have another one with streaming stores; dtypes.h and the needed
 * headers are known there. Then fields of tdm_kernel_entry; those that are not named are 0. Buffers in order:
 *   elementwise y a b | cast y a | fill y | bias_add x bias residual y | norm x partial out |
 *   layer_norm x residual weight bias partial sum y |
 *   rms_norm x residual weight partial sum y |
 *   batch_norm(_cols) x mean variance weight bias y | l2_normalize x partial y | softmax x mask partial y |
 *   attention q k v mask index y |
 *   matmul(_tiles) a b c | matmul_narrow small large c | range y | random y | transpose y a |
 *   gather_rows y table indices | one_hot y indices | sort_keys words x |
 *   sort_select words x | sort_merge words | sort_take indices values x words |
 *   scatter_order order indices | scatter_add_rows y source words |
 *   reduce x other y | reduce_variance partial y | extreme x places y | cumsum x partial y */
#ifndef TDMI_KERNEL_MANIFEST_H
#define TDMI_KERNEL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "args.h"

/* The dtypes of T: floats; f16, bf16 and f32, for tensor cores, not in C; floats, unsigned integers and bool, for
 * kernels that make elements and store integers by their bits; floats and unsigned integers, for reductions, which read
 * the other dtypes as one of these; unsigned integers alone; all; one. */
typedef enum tdm_kernel_t {
    TDM_T_FLOATS,
    TDM_T_TENSOR,
    TDM_T_STORED,
    TDM_T_NUMBERS,
    TDM_T_BITS,
    TDM_T_ALL,
    TDM_T_U32,
    TDM_T_U64
} tdm_kernel_t;

/* The dtypes of U: the same as T; the same, or f32 where T has 16 bits; these, or u64 for sums of integers; and the
 * dtypes of the casts from which tdmi_cast_variant makes all others. */
typedef enum tdm_kernel_u { TDM_U_SAME, TDM_U_OR_F32, TDM_U_SUMS, TDM_U_CASTS } tdm_kernel_u;

/* Sets of values of OP: a bit for each. */
#define TDM_OPS_OF(op) (UINT32_C(1) << (op))
#define TDM_OPS_BELOW(count) (TDM_OPS_OF(count) - 1)
#define TDM_OPS_IN_COLUMNS UINT32_C(0xaaaaaaaa)
#define TDM_OPS_ALL UINT32_C(0xffffffff)

typedef struct tdm_kernel_entry {
    const char *name, *entry; /* the entry is tdm_<name> */
    const char *file;         /* kernels/<file>.cl, of another kernel; NULL: <name>.cl */
    /* headers between numeric.h, or what reads rows, and the file, in order: a driver's compiler reads no more */
    const char *needs[3];
    size_t args_size;
    tdm_kernel_t t;
    tdm_kernel_u u;
    int buffers;
    int ops;         /* values of OP that a launch may ask for … */
    int integer_ops; /* … and of integers, where these are not all */
    /* the vectors of a row that a lane has at once, of elements of 1 or 2, of 4 and of 8 bytes; 0: rows are not read
     * in vectors. Of casts between sizes it is one, of the smaller dtype. A compromise: enough bytes on their way
     * while others wait, and registers enough for all lanes of a multiprocessor. */
    int vectors[3];
    /* by OP: two vectors at most; rows that are not read in vectors; when rows are not held, no registers for more
     * than one vector of elements of 2 bytes */
    uint32_t two_vectors, by_elements, crowded;
    /* rows that its main loop reads and writes, with flags of OP for one more each, and by OP with a second one; of
     * casts as many vectors as the larger dtype has for one of the smaller */
    int reads, writes, read_flags, write_flags;
    uint32_t reads_second;
    uint32_t results; /* by OP: it writes one element of a row, and no row */
    uint32_t usual;   /* by OP: what tdm_device_warm compiles */
    uint32_t scratch; /* by OP: on a CPU it has a SCRATCH_ARRAY */
    int lanes;        /* of a group, at most, whatever its columns; 0: as many as these are worth */
    bool streams;     /* a launch may ask for streaming stores */
    bool holds;       /* a lane that holds its part of a row spares the kernel reading it again */
    bool loose;       /* rows that are not aligned have the same lanes, element by element: the same bits */
    bool one_size;    /* a group always has the most lanes */
    bool one_lane;    /* it is launched where groups have one lane alone */
    bool of_indices;  /* T may also be that of indices */
    bool native;      /* its lanes do not pay on a CPU: through OpenCL, too, it runs there as C, where a driver has
                       * native kernels */
    bool small;       /* on a CPU it waits for memory: compiled with -O2, less than half as large */
} tdm_kernel_entry;

#define TDM_ACTIVATION_OPS TDM_OPS_BELOW(TDM_ACT_COUNT)

#define TDM_KERNEL_LIST(X) \
    X(ELEMENTWISE, elementwise, tdm_elementwise_args, (TDM_OP_COUNT, TDM_OP_COUNT), \
      .buffers = 3, .ops = TDM_OP_COUNT, .vectors = {2, 2, 4}, .reads = 1, .writes = 1, \
      .reads_second = TDM_OPS_BELOW(TDM_OP_COUNT) & ~TDM_OPS_OF(TDM_OP_SCALE), \
      .usual = TDM_OPS_BELOW(TDM_OP_COUNT), .streams = true) \
    X(CAST, cast, tdm_elementwise_args, (1, 1), \
      .t = TDM_T_ALL, .u = TDM_U_CASTS, .buffers = 2, .ops = 1, .vectors = {2, 2, 2}, .reads = 1, .writes = 1, \
      .usual = TDM_OPS_OF(0), .streams = true, .small = true, .needs = {"convert.h"}) \
    X(FILL, fill, tdm_elementwise_args, (1, 1), \
      .t = TDM_T_BITS, .buffers = 1, .ops = 1, .vectors = {1, 1, 1}, .writes = 1, .usual = TDM_OPS_OF(0), \
      .streams = true) \
    X(BIAS_ADD, bias_add, tdm_bias_add_args, (TDM_OP_BIAS_ADD_COUNT, TDM_OP_BIAS_ADD_COUNT), \
      .buffers = 4, .ops = TDM_OP_BIAS_ADD_COUNT, .vectors = {2, 2, 4}, .streams = true, \
      .reads = 1, .read_flags = TDM_OP_RESIDUAL | TDM_OP_COLS_BIAS, .writes = 1, .needs = {"activation.h"}, \
      .usual = TDM_ACTIVATION_OPS << TDM_OP_COLS_BIAS | (TDM_ACTIVATION_OPS & ~TDM_OPS_OF(TDM_ACT_NONE))) \
    X(NORM, norm, tdm_norm_args, (TDM_OP_NORM_COUNT, 0), \
      .u = TDM_U_OR_F32, .buffers = 3, .ops = TDM_OP_NORM_COUNT, .vectors = {4, 4, 4}, .reads = 1, .loose = true, \
      .usual = TDM_OPS_OF(TDM_OP_NORM_L2), .needs = {"reduce.h", "chunks.h"}) \
    X(LAYER_NORM, layer_norm, tdm_normalize_args, (TDM_OP_ROW_FORMS, TDM_OP_ROW_FORMS), \
      .buffers = 7, .ops = TDM_OP_LAYER_COUNT, .vectors = {4, 4, 4}, .holds = true, .loose = true, .streams = true, \
      .reads = 1, .read_flags = TDM_OP_ROW_WEIGHT | TDM_OP_ROW_BIAS | TDM_OP_ROW_RESIDUAL, \
      .writes = 1, .write_flags = TDM_OP_ROW_SUM, \
      .crowded = TDM_OPS_OF(TDM_OP_LAYER_COUNT - 1), .needs = {"reduce.h", "chunks.h", "residual.h"}, \
      .usual = TDM_OPS_OF(TDM_OP_ROW_WEIGHT | TDM_OP_ROW_BIAS) | \
               TDM_OPS_OF(TDM_OP_ROW_WEIGHT | TDM_OP_ROW_BIAS | TDM_OP_ROW_RESIDUAL | TDM_OP_ROW_SUM)) \
    X(RMS_NORM, rms_norm, tdm_normalize_args, (TDM_OP_ROW_FORMS, TDM_OP_ROW_FORMS), \
      .buffers = 6, .ops = TDM_OP_RMS_COUNT, .vectors = {4, 4, 4}, .holds = true, .loose = true, .streams = true, \
      .reads = 1, .read_flags = TDM_OP_ROW_WEIGHT | TDM_OP_ROW_RESIDUAL, \
      .writes = 1, .write_flags = TDM_OP_ROW_SUM, \
      .needs = {"reduce.h", "chunks.h", "residual.h"}, \
      .usual = TDM_OPS_OF(TDM_OP_ROW_WEIGHT) | \
               TDM_OPS_OF(TDM_OP_ROW_WEIGHT | TDM_OP_ROW_RESIDUAL | TDM_OP_ROW_SUM)) \
    X(BATCH_NORM, batch_norm, tdm_batch_norm_args, (TDM_OP_AFFINE_COUNT, TDM_OP_AFFINE_COUNT), \
      .buffers = 6, .ops = TDM_OP_AFFINE_COUNT, .vectors = {2, 2, 4}, .reads = 1, .writes = 1, .streams = true) \
    X(BATCH_NORM_COLS, batch_norm_cols, tdm_batch_norm_args, (TDM_OP_AFFINE_COUNT, TDM_OP_AFFINE_COUNT), \
      .buffers = 6, .ops = TDM_OP_AFFINE_COUNT, .vectors = {1, 1, 1}, .streams = true, \
      .reads = 3, .read_flags = TDM_OP_WEIGHT | TDM_OP_BIAS, .writes = 1) \
    X(L2_NORMALIZE, l2_normalize, tdm_rows_args, (1, 1), \
      .buffers = 3, .ops = 1, .vectors = {4, 4, 4}, .holds = true, .loose = true, .streams = true, \
      .usual = TDM_OPS_OF(0), .reads = 1, .writes = 1, .needs = {"reduce.h", "chunks.h"}) \
    X(SOFTMAX, softmax, tdm_softmax_args, (TDM_OP_SOFTMAX_FORMS, 1), \
      .buffers = 4, .ops = TDM_OP_SOFTMAX_COUNT, .vectors = {4, 4, 4}, .holds = true, .loose = true, .streams = true, \
      .crowded = TDM_OPS_OF(TDM_OP_SOFTMAX_SCALED), .scratch = TDM_OPS_ALL, \
      .reads = 1, .read_flags = TDM_OP_SOFTMAX_SCALED, .writes = 1, .results = TDM_OPS_OF(TDM_OP_SOFTMAX_LOG_SUM), \
      .usual = TDM_OPS_BELOW(TDM_OP_SOFTMAX_FORMS), .needs = {"reduce.h", "chunks.h"}) \
    X(ATTENTION, attention, tdm_attention_args, (1, 0), \
      .buffers = 6, .ops = 1, .scratch = TDM_OPS_ALL, .lanes = 256, .one_size = true, .native = true, \
      .usual = TDM_OPS_OF(0), .needs = {"grid.h"}) \
    X(MATMUL, matmul, tdm_matmul_args, (TDM_OP_MATMUL_COUNT, 0), \
      .buffers = 3, .ops = TDM_OP_MATMUL_COUNT, .scratch = TDM_OPS_ALL, .one_size = true, \
      .usual = TDM_OPS_BELOW(TDM_OP_MATMUL_COUNT), .needs = {"grid.h"}) \
    X(MATMUL_NARROW, matmul_narrow, tdm_matmul_narrow_args, (TDM_OP_NARROW_COUNT, 0), \
      .buffers = 3, .ops = TDM_OP_NARROW_COUNT, .scratch = TDM_OPS_ALL, \
      .usual = TDM_OPS_BELOW(TDM_OP_NARROW_COUNT), .needs = {"reduce.h"}) \
    X(MATMUL_TILES, matmul_tiles, tdm_matmul_args, (0, 0), \
      .t = TDM_T_TENSOR, .buffers = 3, .ops = TDM_OP_TILES_COUNT, .needs = {"tensor.h"}) \
    X(RANGE, range, tdm_range_args, (1, 1), \
      .t = TDM_T_STORED, .buffers = 1, .ops = 1, .vectors = {1, 1, 1}, .writes = 1, .streams = true) \
    X(RANDOM, random, tdm_random_args, (TDM_OP_RANDOM_COUNT, TDM_OP_RANDOM_COUNT), \
      .t = TDM_T_STORED, .buffers = 1, .ops = TDM_OP_RANDOM_COUNT, .integer_ops = 1, .streams = true, \
      .usual = TDM_OPS_OF(0) | TDM_OPS_OF(TDM_OP_RANDOM_NORMAL), .needs = {"random.h"}) \
    X(TRANSPOSE, transpose, tdm_transpose_args, (1, 1), \
      .t = TDM_T_BITS, .buffers = 2, .ops = 1, .lanes = TDM_TILE_LANES, .streams = true) \
    X(GATHER_ROWS, gather_rows, tdm_gather_args, (1, 1), \
      .t = TDM_T_BITS, .buffers = 3, .ops = 1, .vectors = {2, 2, 2}, .reads = 1, .writes = 1, \
      .usual = TDM_OPS_OF(0), .streams = true) \
    X(ONE_HOT, one_hot, tdm_gather_args, (1, 1), \
      .t = TDM_T_BITS, .buffers = 2, .ops = 1, .vectors = {1, 1, 1}, .writes = 1, .usual = TDM_OPS_OF(0), \
      .streams = true) \
    X(SORT_KEYS, sort_keys, tdm_sort_args, (1, 0), \
      .t = TDM_T_BITS, .buffers = 2, .ops = 1, .usual = TDM_OPS_OF(0), .of_indices = true) \
    X(SORT_SELECT, sort_select, tdm_select_args, (1, 0), \
      .t = TDM_T_BITS, .buffers = 2, .ops = 1, .usual = TDM_OPS_OF(0), .needs = {"reduce.h", "select.h"}) \
    X(SORT_MERGE, sort_merge, tdm_sort_args, (1, 0), \
      .t = TDM_T_U64, .buffers = 1, .ops = 1, .usual = TDM_OPS_OF(0)) \
    X(SORT_TAKE, sort_take, tdm_sort_args, (1, 0), \
      .t = TDM_T_BITS, .buffers = 4, .ops = 1, .usual = TDM_OPS_OF(0)) \
    X(SCATTER_ORDER, scatter_order, tdm_scatter_order_args, (1, 0), \
      .t = TDM_T_U32, .buffers = 2, .ops = 1, .usual = TDM_OPS_OF(0), .one_lane = true) \
    X(SCATTER_ADD_ROWS, scatter_add_rows, tdm_scatter_args, (1, 0), \
      .buffers = 3, .ops = 1, .usual = TDM_OPS_OF(0)) \
    X(REDUCE, reduce, tdm_reduce_args, (T_IS_FLOAT ? TDM_OP_REDUCE_COUNT : TDM_OP_REDUCE_INTEGERS, 0), \
      .t = TDM_T_NUMBERS, .buffers = 3, .ops = TDM_OP_REDUCE_COUNT, .integer_ops = TDM_OP_REDUCE_INTEGERS, \
      .vectors = {2, 4, 4}, .two_vectors = TDM_OPS_OF(TDM_OP_REDUCE_DOT), .loose = true, \
      .reads = 1, .reads_second = TDM_OPS_OF(TDM_OP_REDUCE_DOT), \
      .by_elements = TDM_OPS_OF(TDM_OP_REDUCE_PRODUCT) | TDM_OPS_IN_COLUMNS, .scratch = TDM_OPS_IN_COLUMNS, \
      .usual = TDM_OPS_OF(TDM_OP_REDUCE_SUM) | TDM_OPS_OF(TDM_OP_REDUCE_SUM | TDM_OP_IN_COLUMNS), \
      .small = true, .needs = {"reduce.h", "groups.h"}) \
    X(REDUCE_VARIANCE, reduce_variance, tdm_reduce_args, (2, 0), \
      .file = "reduce", .buffers = 2, .ops = 2, .small = true, .needs = {"reduce.h", "groups.h"}) \
    X(EXTREME, extreme, tdm_reduce_args, (TDM_OP_EXTREME_COUNT, 0), \
      .t = TDM_T_BITS, .buffers = 3, .ops = TDM_OP_EXTREME_COUNT, .vectors = {2, 4, 4}, .reads = 1, \
      .by_elements = TDM_OPS_OF(TDM_OP_EXTREME_PLACE) | TDM_OPS_IN_COLUMNS, .scratch = TDM_OPS_IN_COLUMNS, \
      .usual = TDM_OPS_BELOW(TDM_OP_EXTREME_COUNT), .small = true, .needs = {"reduce.h", "groups.h"}) \
    X(CUMSUM, cumsum, tdm_reduce_args, (TDM_OP_CUMSUM_FORMS, T_SIZE < 8 ? IN_STRIPS * TDM_OP_CUMSUM_FORMS : 0), \
      .t = TDM_T_NUMBERS, .u = TDM_U_SUMS, .buffers = 3, .ops = TDM_OP_CUMSUM_COUNT, \
      .scratch = TDM_OPS_IN_COLUMNS, .usual = TDM_OPS_BELOW(TDM_OP_CUMSUM_FORMS), .small = true, \
      .needs = {"reduce.h", "groups.h"})

typedef enum tdmi_kernel_id {
#define TDMI_KERNEL_ENUM(ID, ...) TDMI_KERNEL_##ID,
    TDM_KERNEL_LIST(TDMI_KERNEL_ENUM)
#undef TDMI_KERNEL_ENUM
        TDMI_KERNEL_COUNT,
    TDMI_KERNEL_USER = TDMI_KERNEL_COUNT /* a user's: tdmi_variant.user says which */
} tdmi_kernel_id;

__attribute__((unused)) static const tdm_kernel_entry tdm_kernel_entries[] = {
#define TDM_KERNEL_ENTRY(ID, kernel, args, forms, ...)                                             \
    {.name = #kernel, .entry = "tdm_" #kernel, .args_size = sizeof(args), __VA_ARGS__},
    TDM_KERNEL_LIST(TDM_KERNEL_ENTRY)
#undef TDM_KERNEL_ENTRY
};

/* Whether a value of OP is in the set. */
static inline bool tdm_has_op(uint32_t ops, unsigned op) {
    return ops >> op & 1;
}

/* The vectors of a row that a lane has at once, for elements of T and U of so many bytes. */
static inline int tdm_kernel_vectors(const tdm_kernel_entry *kernel, unsigned op, size_t t, size_t u) {
    const int vectors = kernel->vectors[t < 4 ? 0 : t / 4];
    if (tdm_has_op(kernel->by_elements, op)) return 0;
    if (kernel->u == TDM_U_CASTS && t != u) return 1;
    return tdm_has_op(kernel->two_vectors, op) && vectors > 2 ? 2 : vectors;
}

/* Likewise of a row that is too long to be held. */
static inline int tdm_kernel_long_vectors(const tdm_kernel_entry *kernel, unsigned op, size_t t) {
    return t == 2 && tdm_has_op(kernel->crowded, op) ? 1 : kernel->vectors[0];
}

#endif
