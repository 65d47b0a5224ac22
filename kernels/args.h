/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels' argument structs, and the values of OP. Compiled by the host and, before every kernel, by every
 * kernel language; manifest.h has the list. 8-byte members come first in a struct, so that no compiler pads
 * differently; a kernel never gets size_t, bool or half. Offsets and strides are in elements. */
#ifndef TDMI_KERNEL_ARGS_H
#define TDMI_KERNEL_ARGS_H

#if defined(__OPENCL_VERSION__)
typedef long tdm_i64;
typedef int tdm_i32;
typedef uint tdm_u32;
#elif defined(__CUDACC_RTC__)
typedef long long tdm_i64;
typedef int tdm_i32;
typedef unsigned int tdm_u32;
#else
#include <stdint.h>
typedef int64_t tdm_i64;
typedef int32_t tdm_i32;
typedef uint32_t tdm_u32;
#endif

/* Scalars that are f64 on the host (alpha, epsilon): both forms are passed, and the kernel takes
 * the one of its arithmetic, so that a device without f64 never touches a double. */
typedef struct tdm_scalar {
    tdm_i64 f64_bits;
    float f32;
    tdm_i32 reserved;
} tdm_scalar;

/* The activations, as tdm_activation has them: the host compares the two lists. activation.h has a function
 * of each, tdm_act_f32_<NAME>, and one of f64. */
#define TDM_ACT_LIST(X) X(NONE) X(RELU) X(GELU) X(GELU_TANH) X(SILU) X(SIGMOID) X(TANH)
#define TDM_ACT_VALUE(NAME) TDM_ACT_##NAME,
enum { TDM_ACT_LIST(TDM_ACT_VALUE) TDM_ACT_COUNT };

/* Values of OP. */
#define TDM_OP_ADD 0 /* elementwise: y = a + b */
#define TDM_OP_SUB 1
#define TDM_OP_MUL 2
#define TDM_OP_SCALE 3 /* y = alpha a */
#define TDM_OP_AXPY 4  /* y = alpha a + b, b is the old y */
#define TDM_OP_COUNT 5

#define TDM_OP_ACTIVATION 7 /* bias_add: a mask for tdm_activation … */
#define TDM_OP_RESIDUAL 8   /* … and flags: each spares the others' code, which takes time to compile */
#define TDM_OP_COLS_BIAS 16
#define TDM_OP_BIAS_ADD_COUNT 32

#define TDM_OP_WEIGHT 1 /* batch_norm: flags */
#define TDM_OP_BIAS 2
#define TDM_OP_AFFINE_COUNT 4

#define TDM_OP_ROW_RESIDUAL 1 /* layer_norm, rms_norm: flags; of x + residual … */
#define TDM_OP_ROW_FORMS 2    /* on a CPU the others are TDM_FLAGS */
#define TDM_OP_ROW_WEIGHT 2
#define TDM_OP_ROW_SUM 4 /* … which is written, too */
#define TDM_OP_RMS_COUNT 8
#define TDM_OP_ROW_BIAS 8 /* layer_norm */
#define TDM_OP_LAYER_COUNT 16

#define TDM_OP_NORM_L1 0 /* norm: tdm_norm_kind */
#define TDM_OP_NORM_L2 1
#define TDM_OP_NORM_INF 2
#define TDM_OP_NORM_COUNT 3

#define TDM_OP_SOFTMAX_SCALED 1 /* softmax: of scores, which have a factor and may have a mask */
#define TDM_OP_SOFTMAX_FORMS 2
#define TDM_OP_SOFTMAX_LOG 2 /* its logarithm */
#define TDM_OP_SOFTMAX_LOG_SUM 4 /* the logarithm of what it divides by, one element for a row */
#define TDM_OP_SOFTMAX_COUNT 5

/* reduce: what it makes of the elements of each group, two values of OP for each: plus 0 where the elements that
 * become one lie along memory, plus 1 where those of adjacent results do. Integers have the first two. */
#define TDM_OP_REDUCE_SUM 0
#define TDM_OP_REDUCE_PRODUCT 2
#define TDM_OP_REDUCE_INTEGERS 4 /* so many values of OP */
#define TDM_OP_REDUCE_DOT 4 /* along memory alone */
#define TDM_OP_REDUCE_NORM 5 /* in columns alone: L1, or with `squares` L2 */
#define TDM_OP_REDUCE_VARIANCE 6
#define TDM_OP_REDUCE_COUNT 8
#define TDM_OP_IN_COLUMNS 1

#define TDM_OP_EXTREME_VALUE 0 /* extreme: likewise; or with `truth` whether there is one that is not 0 */
#define TDM_OP_EXTREME_PLACE 2
#define TDM_OP_EXTREME_COUNT 4

#define TDM_OP_CUMSUM_FORMS 2 /* cumsum: along memory or in columns, as above */
#define TDM_OP_CUMSUM_PRODUCT 2 /* a flag */
#define TDM_OP_CUMSUM_COUNT 4

#define TDM_OP_TRANSPOSE_A 1 /* matmul: flags */
#define TDM_OP_TRANSPOSE_B 2
#define TDM_OP_MATMUL_COUNT 4
#define TDM_OP_TILES_ALIGNED 4 /* matmul_tiles: all rows of A and B begin at multiples of 16 bytes … */
#define TDM_OP_TILES_DEEP 8    /* … and twice as much of k at a time, in half as many slots, where one lies along k */
#define TDM_OP_TILES_COUNT 16
#define TDM_TILES_BAND 8 /* rows of tiles that groups take together */

#define TDM_OP_NARROW_COLS 1 /* matmul_narrow */
#define TDM_OP_NARROW_COUNT 2

#define TDM_OP_RANDOM_NORMAL 1 /* random: flags; without NORMAL uniform in [0, 1) … */
#define TDM_OP_RANDOM_SCALED 2 /* … and with SCALED low + v scale */
#define TDM_OP_RANDOM_COUNT 4

/* Elementwise work on up to three strided operands (0: y, 1: a, 2: b). The innermost dimension has
 * `cols` elements; the others are `rows` in all, row r is found by dividing r by outer_shape from
 * the last dimension on. A row is cut into `chunks` pieces of `chunk` columns (the last is shorter);
 * one group does one piece at a time. Also the struct of cast (y, a) and fill (y). */
#define TDM_MAX_OUTER 5
typedef struct tdm_elementwise_args {
    tdm_i64 rows;
    tdm_i64 offset[3];
    tdm_i64 inner_stride[3];
    tdm_i64 outer_shape[TDM_MAX_OUTER];
    tdm_i64 outer_stride[3][TDM_MAX_OUTER];
    tdm_scalar alpha;
    tdm_i64 bits; /* fill: the value as stored, in its low bytes */
    tdm_u32 cols, chunk, chunks;
    tdm_i32 outer_ndim;  /* 0: one row */
    tdm_i32 unit_stride; /* all inner strides in use are 1 */
    tdm_i32 reserved;
} tdm_elementwise_args;

/* transpose: matrices of y with rows of `cols` elements that lie side by side, where in a those of a column do:
 * element (i, j) is at i y_step + j of y and at j a_step + i of a. The matrices are found as the rows of
 * elementwise work are. A group takes a tile of so many rows and columns at a time, in terms of ROW_LOOPS and
 * of an element's size in bytes; in local memory its columns are TDM_TILE_STEP elements apart. */
#define TDM_TILE_SIDE(row_loops, size) ((row_loops) ? 128 : (size) < 4 ? 64 : 32)
#define TDM_TILE_STEP(row_loops, size) (TDM_TILE_SIDE(row_loops, size) + ((size) < 4 ? 4 / (size) : 1))
#define TDM_TILE_LANES 128
typedef struct tdm_transpose_args {
    tdm_i64 matrices, rows, cols;
    tdm_i64 y_offset, y_step;
    tdm_i64 a_offset, a_step;
    tdm_i64 outer_shape[TDM_MAX_OUTER];
    tdm_i64 outer_stride[2][TDM_MAX_OUTER];
    tdm_i32 outer_ndim;
    tdm_i32 reserved;
} tdm_transpose_args;

/* y = activation(x + bias) + residual; rows cut into chunks as above. Rows of x and y may come in
 * matrices of so many rows each, with `gap` more than the stride between two of them. */
typedef struct tdm_bias_add_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride; /* stride: from row to row */
    tdm_i64 bias_offset;
    tdm_i64 residual_offset, residual_stride;
    tdm_i64 y_offset, y_stride;
    tdm_i64 matrix, gap;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 bias_kind; /* TDM_BIAS_... */
} tdm_bias_add_args;
#define TDM_BIAS_NONE 0
#define TDM_BIAS_OF_COLS 1 /* an element of the bias to each column */
#define TDM_BIAS_OF_ROWS 2 /* … to each row of a matrix */

/* How kernels that reduce rows take them. A row has `chunks` chunks of `chunk` columns, the last of which may be
 * shorter: their number depends on `cols` and the kernel alone, and so does how the states of a row's chunks are found
 * and merged, so that a row has the same bits in every batch. An item is a piece of a row, `piece` columns that are
 * whole chunks. With pieces == 1 one launch takes whole rows; few long rows are cut into pieces and come to two: the
 * first leaves the state of chunk c of row r in partial[r * chunks + c], and the second merges a row's and writes its
 * pieces. */
#define TDM_MOST_CHUNKS 128
#define TDM_SUM_NUMBERS 3     /* numbers of ACC in a chunk's state: of tdm_squares and tdm_powers */
#define TDM_MOMENTS_NUMBERS 5 /* of tdm_moments */
#define TDM_KEPT_BYTES (128 << 10) /* of powers that softmax keeps of a row of one chunk, where ROW_LOOPS */
#define TDM_ROWS_WHOLE 0
#define TDM_ROWS_SUMS 1
#define TDM_ROWS_WRITES 2
typedef struct tdm_cut {
    tdm_u32 cols, chunk, chunks, piece, pieces;
    tdm_i32 phase; /* TDM_ROWS_... */
} tdm_cut;

/* norm: rows and results are found as rows of elementwise work are. In the second launch an item is a row. */
typedef struct tdm_norm_args {
    tdm_i64 rows;
    tdm_i64 x_offset, out_offset;
    tdm_i64 outer_shape[TDM_MAX_OUTER];
    tdm_i64 x_stride[TDM_MAX_OUTER], out_stride[TDM_MAX_OUTER];
    tdm_cut cut;
    tdm_i32 outer_ndim, reserved;
} tdm_norm_args;

/* layer_norm and rms_norm; the operands that OP leaves out are not touched. */
typedef struct tdm_normalize_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride;
    tdm_i64 residual_offset, residual_stride;
    tdm_i64 weight_offset, bias_offset;
    tdm_i64 sum_offset, sum_stride;
    tdm_i64 y_offset, y_stride;
    tdm_scalar epsilon;
    tdm_cut cut;
} tdm_normalize_args;

/* x [N, C, S] contiguous, rows cut into chunks. S > 1: rows = N * C of cols = S, channel = row %
 * channels. S == 1 (batch_norm_cols): rows = N of cols = C, channel = column. */
typedef struct tdm_batch_norm_args {
    tdm_i64 rows, channels;
    tdm_i64 x_offset, mean_offset, variance_offset, weight_offset, bias_offset, y_offset;
    tdm_scalar epsilon;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 reserved;
} tdm_batch_norm_args;

/* l2_normalize. */
typedef struct tdm_rows_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride;
    tdm_i64 y_offset, y_stride;
    tdm_scalar epsilon;
    tdm_cut cut;
} tdm_rows_args;

/* softmax; without TDM_OP_SOFTMAX_SCALED what follows y_stride is not looked at. A row's mask is found as rows of
 * elementwise work are. Of matrices of causal_rows rows, row i counts its columns up to number
 * i + cols - causal_rows; with 0 every row counts all. */
typedef struct tdm_softmax_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride;
    tdm_i64 y_offset, y_stride;
    tdm_i64 mask_offset;
    tdm_i64 mask_shape[TDM_MAX_OUTER];
    tdm_i64 mask_stride[TDM_MAX_OUTER];
    tdm_i64 causal_rows;
    tdm_scalar scale;
    tdm_cut cut;
    tdm_i32 has_mask, mask_ndim;
} tdm_softmax_args;

/* attention: queries, keys, values and results are found by batch, head and row; `shared` heads of queries have one of
 * keys. An item is a block of TDM_ATTENTION_ROWS rows of queries of a head, and a slice of TDM_ATTENTION_VALUES columns
 * of the values. The index has for each batch how many keys count, or the offsets of `sequences` sequences. */
#define TDM_ATTENTION_ROWS(acc) ((acc) < 8 ? 64 : 32)
#define TDM_ATTENTION_KEYS 64
#define TDM_ATTENTION_VALUES(acc) (512 / (tdm_i32)(acc))
#define TDM_ATTENTION_LENGTHS 1
#define TDM_ATTENTION_OFFSETS 2
typedef struct tdm_attention_args {
    tdm_i64 items;
    tdm_i64 q_offset, q_batch, q_head, q_row;
    tdm_i64 k_offset, k_batch, k_head, k_row;
    tdm_i64 v_offset, v_batch, v_head, v_row;
    tdm_i64 y_offset, y_batch, y_head, y_row;
    tdm_i64 mask_offset, mask_batch, mask_head, mask_row, mask_key;
    tdm_i64 index_offset, index_stride;
    tdm_i64 heads, shared, queries, keys;
    tdm_i64 blocks, slices; /* of the rows of a head, and of the values */
    tdm_i64 sequences;
    tdm_scalar scale;
    tdm_i32 head_size, value_size;
    tdm_i32 causal, has_mask;
    tdm_i32 index, wide; /* index: TDM_ATTENTION_…, or 0; wide: it is of i64, else of i32 */
} tdm_attention_args;

/* y[row, col] = start + i step, i = first + row * cols + col; rows cut into chunks. Integer dtypes
 * take start_i64 and step_i64, and wrap. */
typedef struct tdm_range_args {
    tdm_i64 rows, first;
    tdm_i64 y_offset, y_stride;
    tdm_i64 start_i64, step_i64;
    tdm_scalar start, step;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 reserved;
} tdm_range_args;

/* Random elements number first + row * cols + col, modulo 2^64; rows cut into chunks. */
typedef struct tdm_random_args {
    tdm_i64 rows, first;
    tdm_i64 y_offset, y_stride;
    tdm_scalar low, scale;
    tdm_u32 seed_low, seed_high;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 reserved;
} tdm_random_args;

/* C = alpha op(A) op(B) + beta C, row-major, one group per tile of TDM_TILE_M x TDM_TILE_N of one
 * product of the batch. Groups: batch * ceil(m / TDM_TILE_M) * ceil(n / TDM_TILE_N). */
#define TDM_TILE_M 64
#define TDM_TILE_N 64
typedef struct tdm_matmul_args {
    tdm_i64 batch;
    tdm_i64 a_offset, b_offset, c_offset;
    tdm_i64 lda, ldb, ldc;
    tdm_i64 a_stride, b_stride, c_stride;
    tdm_scalar alpha, beta;
    tdm_u32 m, n, k;
    tdm_i32 read_c;   /* beta != 0 */
    tdm_i32 vector_c; /* matmul_tiles: all rows of C begin at multiples of 16 bytes */
    tdm_i32 reserved;
} tdm_matmul_args;

/* The same product when C has TDM_NARROW rows or fewer, or so few columns: matmul_narrow.cl says how the
 * small matrix lies. Result (i, j), of `small` times `large`, is at i c_small + j c_large. A group takes
 * some of the large matrix's rows or, with one lane, `step` of its columns. */
#define TDM_NARROW 16
#define TDM_NARROW_STEP 16
#define TDM_NARROW_COLS 512
typedef struct tdm_matmul_narrow_args {
    tdm_i64 batch, large;
    tdm_i64 s_row, s_stride;
    tdm_i64 large_offset, large_ld, large_stride;
    tdm_i64 c_offset, c_small, c_large, c_stride;
    tdm_scalar alpha, beta;
    tdm_u32 small, k;
    tdm_i32 read_c; /* beta != 0 */
    tdm_u32 step;   /* columns, TDM_NARROW_COLS at most and a multiple of TDM_NARROW_STEP */
} tdm_matmul_narrow_args;

/* Users' expressions: elementwise work as above, on tensors in the order of the kernel's buffers. The number of
 * an element is index + row * index_stride + column, counted row-major in the shape of the outputs, the last
 * dimension of which is `extent`. Scalars are as their types have them, in the low bytes.
 *
 * Rows are cut into pieces; chunks and phases are of those that combine rows, and have one more buffer, in which each
 * chunk of rows that are cut leaves its value. */
#define TDM_EXPRESSION_TENSORS 12
#define TDM_EXPRESSION_SCALARS 12
typedef struct tdm_expression_args {
    tdm_i64 rows;
    tdm_i64 index, index_stride, extent;
    tdm_i64 outer_shape[TDM_MAX_OUTER];
    tdm_i64 offset[TDM_EXPRESSION_TENSORS];
    tdm_i64 inner_stride[TDM_EXPRESSION_TENSORS];
    tdm_i64 outer_stride[TDM_EXPRESSION_TENSORS][TDM_MAX_OUTER];
    tdm_i64 scalars[TDM_EXPRESSION_SCALARS];
    tdm_cut cut;
    tdm_i32 outer_ndim; /* 0: one row */
    tdm_i32 reserved;
} tdm_expression_args;

/* Users' kernels in the dialect, whose struct is made of their parameters: `rows`, `cols`, `chunk` and `chunks` of
 * tdm_source_launch, which says how the rows of the first tensor are shared out and cut, then a tdm_layout, a
 * tdm_scalar or a tdm_i64 for each. A tensor has `rows` rows of `cols` elements; its extents are 1 past its last. */
#define TDM_DIALECT_VERSION 1
#define TDM_SOURCE_BYTES 896
typedef struct tdm_layout {
    tdm_i64 offset, rows, cols, stride; /* stride: from row to row */
    tdm_i64 shape[TDM_MAX_OUTER + 1];
} tdm_layout;
typedef struct tdm_source_launch {
    tdm_i64 rows, cols, chunk, chunks;
} tdm_source_launch;

/* Rows of y, cut into chunks as above, and an index for each. gather_rows: of rows of a table, `bits` (as stored, in
 * its low bytes) where the index is none of theirs. one_hot: of the column that is `bits`; no table. */
typedef struct tdm_gather_args {
    tdm_i64 rows;
    tdm_i64 table_rows, table_offset, table_stride;
    tdm_i64 index_offset, index_stride;
    tdm_i64 y_offset, y_stride;
    tdm_i64 bits;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 wide; /* indices are i64, else i32 */
} tdm_gather_args;

/* scatter_add_rows: rows of y, cut into chunks as above, and `count` indices, as sorted words from number `words` on
 * or, where that is -1, as scatter_order leaves them: where the list of each row ends, then the lists. */
typedef struct tdm_scatter_args {
    tdm_i64 rows, count, words;
    tdm_i64 source_offset, source_stride;
    tdm_i64 y_offset, y_stride;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 reserved;
} tdm_scatter_args;

/* scatter_order: of `count` indices the lists of rows, in `parts` of `part` rows each, the last of which may have
 * fewer. */
typedef struct tdm_scatter_order_args {
    tdm_i64 rows, count;
    tdm_i64 parts, part;
    tdm_i64 index_offset, index_stride;
    tdm_i32 wide, reserved; /* wide: indices are i64, else i32 */
} tdm_scatter_order_args;

/* sort_keys makes words of rows of x at `to`, those of row r from r cols on, sort_merge makes longer runs at `to`
 * of those at `from`, sort_take reads the sorted ones there. All offsets but x's and the results' are in words.
 * Of 64-bit elements the words of the first time are at `order` the `second` time. With a limit x has indices, of
 * which those that are not below it are taken for the largest. A lane of sort_merge, and a group of sort_take, has a
 * piece of a result at a time. */
#define TDM_SORT_RUN 16
typedef struct tdm_sort_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride, x_step;
    tdm_i64 to, from, order;
    tdm_i64 indices_offset, indices_stride;
    tdm_i64 values_offset, values_stride;
    tdm_i64 infinity; /* as the dtype stores it */
    tdm_i64 limit;
    tdm_u32 cols, run, keep, piece;
    tdm_i32 kind; /* TDM_KIND_..., of x */
    tdm_i32 descending, second;
    tdm_i32 wide, has_values, has_indices; /* wide: the indices are i64 */
} tdm_sort_args;

/* sort_select: chunks of rows of x, of each of which the `keep` largest elements become `slot` words from `to` on, in
 * runs of `run`. From `held` on each chunk has `room` words of scratch, for `most` keys and numbers of elements. Keys
 * are made as extreme makes them. A lane alone compares TDM_SELECT_BLOCK elements at a time; chunks that lanes share
 * have fewer than 2^TDM_SELECT_BITS elements. */
#define TDM_SELECT_BLOCK 64
#define TDM_SELECT_BITS 21
typedef struct tdm_select_args {
    tdm_i64 rows;
    tdm_i64 x_offset, x_stride;
    tdm_i64 to, held;
    tdm_i64 fold, turn, above, zero, limit;
    tdm_u32 cols, chunk, chunks;
    tdm_u32 keep, slot, run, room, most;
} tdm_select_args;

/* reduce, extreme, reduce_variance and cumsum. The elements that become one result are `lines` lines, found in x as
 * rows of elementwise work are. Along memory a line is `cols` adjacent elements; in columns it has one element of each
 * of `cols` adjacent results. Results, or rows of them, are found in the same way, in x and in y. The lines of a
 * result, or the elements of its one line, are cut into `chunks` parts of `chunk` each, the last of which may be
 * shorter; the result of part c is `y_chunk` c elements past that of the first. cumsum writes as many elements as it
 * reads, line by line. */
#define TDM_REDUCE_WIDTH 16384 /* bytes of ACC: the columns that one lane alone has at a time, at most */
#define TDM_REDUCE_COLUMNS(type) (TDM_REDUCE_WIDTH / (tdm_i32)sizeof(type))
typedef struct tdm_reduce_args {
    tdm_i64 rows, lines;
    tdm_i64 x_offset, other_offset, y_offset;
    tdm_i64 outer_shape[TDM_MAX_OUTER];
    tdm_i64 x_stride[TDM_MAX_OUTER], y_stride[TDM_MAX_OUTER];
    tdm_i64 line_shape[TDM_MAX_OUTER], line_stride[TDM_MAX_OUTER];
    tdm_i64 y_step, y_chunk; /* y_step: from column to column */
    tdm_i64 y_line;          /* cumsum: from line to line of columns */
    tdm_scalar divisor;      /* of sums and variances */
    tdm_i64 count;           /* reduce_variance: elements of a result */
    tdm_i64 sign, limit;     /* integers: the sign's bit, or 0; the largest value of a byte */
    /* extreme: see tdm_rank_w32; `nan` as the dtype has it */
    tdm_i64 mask, fold, turn, above, zero, nan;
    tdm_u32 cols, chunk, chunks;
    tdm_i32 outer_ndim, line_ndim;
    tdm_i32 to;      /* reduce: the number of y's dtype */
    tdm_i32 partial; /* of a variance: its mean and its sum of squares are left */
    tdm_i32 wide;    /* places are i64, else i32 */
    tdm_i32 again;   /* extreme: of the places that parts left */
    tdm_i32 squares, truth;
    tdm_i32 width; /* how many columns one lane alone has at a time */
} tdm_reduce_args;

#endif
