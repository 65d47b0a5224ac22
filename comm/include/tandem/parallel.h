/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Layers and products that the ranks of a communicator share.
 *
 * They are made of tdm_matmul and of the collectives of comm.h, and what that header says of collective functions
 * holds for them: all ranks call them in the same order, what does not fit is an error on every rank, and a rank that
 * is lost is named. Data parallel work needs nothing else than comm.h: broadcast the parameters, give each rank its
 * part of the batch (tdm_part), and gather, or average, what comes out.
 *
 * Threads: as the communicator. */
#ifndef TANDEM_PARALLEL_H
#define TANDEM_PARALLEL_H

#include <tandem/comm.h>
#include <tandem/layers.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Part `index` of `extent` that `parts` share: where it begins, and how many it has. The first extent % parts of
 * them have one more than the others. extent at least 0, parts at least 1, index from 0 to parts - 1. */
TDM_API TDM_MUST_USE tdm_status tdm_part(int64_t extent, int parts, int index, int64_t *begin,
                                         int64_t *count);

/* ---- a linear layer whose weight the ranks share (Shoeybi et al. 2019) ---- */

/** y = activation(x · weightᵀ + bias), of whose outputs each rank has a part: weight [out_r, in] and bias
 * [out_r] or NULL are this rank's. `extents` are the `size` ranks' out_r, the same array on all ranks; NULL where
 * they are equal. x [..., in] is the same on all ranks, and so is y [..., out], all outputs. A program that needs only
 * the rank's own outputs, for instance because tdm_linear_row_parallel comes next, calls tdm_linear instead. */
TDM_API TDM_MUST_USE tdm_status tdm_linear_column_parallel(
    tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *weight,
    const tdm_tensor *bias, const int64_t *extents, tdm_activation activation, tdm_tensor *y);

/** y = activation(Σ x_r · weight_rᵀ + bias), of whose inputs each rank has a part: x [..., in_r] and weight
 * [out, in_r] are this rank's; bias [out] or NULL, and y [..., out], are the same on all ranks. The ranks' products are
 * of y's dtype before they are added. */
TDM_API TDM_MUST_USE tdm_status tdm_linear_row_parallel(tdm_comm *comm, tdm_queue *queue,
                                                        const tdm_tensor *x,
                                                        const tdm_tensor *weight,
                                                        const tdm_tensor *bias,
                                                        tdm_activation activation, tdm_tensor *y);

/* ---- matrices that no single rank has to hold ---- */

/** The ranks of a communicator as rows and columns: rank r is in row r / columns and column r % columns. */
typedef struct tdm_grid tdm_grid;

/** Collective. rows · columns is the communicator's size; both 0: as square as it can be, with no more rows
 * than columns. The grid has its own communicators, split from `comm`, which may be destroyed then. *grid is NULL on
 * failure: TDM_ERROR_UNSUPPORTED where `comm` is over NCCL alone (nccl.h), which cannot be split. */
TDM_API TDM_MUST_USE tdm_status tdm_grid_create(tdm_comm *comm, int rows, int columns,
                                                tdm_grid **grid);

/** Frees a grid; as tdm_comm_destroy, it is not collective. NULL is allowed. */
TDM_API void tdm_grid_destroy(tdm_grid *grid);

/** How many rows and columns the grid has, and where this rank is; -1 for NULL. */
TDM_API int tdm_grid_get_rows(const tdm_grid *grid);
TDM_API int tdm_grid_get_columns(const tdm_grid *grid); /**< see tdm_grid_get_rows */
TDM_API int tdm_grid_get_row(const tdm_grid *grid);     /**< see tdm_grid_get_rows */
TDM_API int tdm_grid_get_column(const tdm_grid *grid);  /**< see tdm_grid_get_rows */

/** This rank's block of a matrix of rows x columns elements: its row of the grid has part `row` of the rows, its
 * column part `column` of the columns (tdm_part). first[2] is where the block begins, shape[2] its extents. */
TDM_API TDM_MUST_USE tdm_status tdm_grid_block(const tdm_grid *grid, int64_t rows, int64_t columns,
                                               int64_t first[2], int64_t shape[2]);

/** C = activation(alpha · A · B + beta · C + bias) of matrices that lie in blocks over the grid: a, b and c are this
 * rank's blocks (tdm_grid_block) of A [M, K], B [K, N] and C [M, N]; `inner` is K. bias is this rank's part of N
 * elements, the same in each column of the grid. options: as tdm_matmul, NULL for its defaults; the transposes are
 * false, but blocks may be transposed views. Collective. A panel of A goes along the rows of the grid and one of B
 * along its columns while the ranks multiply the panels before (SUMMA: van de Geijn and Watts 1997), so that besides
 * its blocks a rank needs memory for two panels of each, no wider than 1024. C of 16 bits is rounded after each
 * panel. */
TDM_API TDM_MUST_USE tdm_status tdm_grid_matmul(tdm_grid *grid, tdm_queue *queue,
                                                const tdm_matmul_options *options, int64_t inner,
                                                const tdm_tensor *a, const tdm_tensor *b,
                                                tdm_tensor *c);

#if defined(__cplusplus)
}
#endif
#endif
