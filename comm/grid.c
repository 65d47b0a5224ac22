/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A grid of ranks, and how matrices lie over it. */
#include "grid.h"

#include "comm.h"

tdm_status tdm_part(int64_t extent, int parts, int index, int64_t *begin, int64_t *count) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, begin);
    TDMI_NOT_NULL(__func__, count);
    if (extent < 0)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: extent is %lld, at least 0",
                               __func__, (long long)extent);
    if (parts < 1)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: parts is %d, at least 1", __func__,
                               parts);
    if (index < 0 || index >= parts)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: index is %d, allowed are 0 to %d",
                               __func__, index, parts - 1);
    *begin = tdmi_part(extent, parts, index);
    *count = tdmi_part(extent, parts, (int64_t)index + 1) - *begin;
    return TDM_OK;
}

/* The sides of the grid, of so many ranks. */
static tdm_status sides(const tdm_comm *comm, int *rows, int *columns) {
    const int ranks = comm->ranks;
    if (*rows == 0 && *columns == 0) {
        for (*rows = 1; (int64_t)(*rows + 1) * (*rows + 1) <= ranks;)
            ++*rows;
        while (ranks % *rows != 0)
            --*rows;
        *columns = ranks / *rows;
    }
    if (*rows > 0 && *columns > 0 && (int64_t)*rows * *columns == ranks) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT,
                           "%s: rows is %d and columns %d, but the communicator has %d ranks",
                           comm->function, *rows, *columns, ranks);
}

tdm_status tdm_grid_create(tdm_comm *comm, int rows, int columns, tdm_grid **grid) {
    TDMI_UNCANCELLED();
    if (grid) *grid = NULL;
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_grid_create"));
    tdm_grid *made = calloc(1, sizeof *made);
    tdm_status status = sides(comm, &rows, &columns);
    if (!grid)
        status = tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT, "%s: grid is NULL", comm->function);
    else if (!made)
        status = tdmi_comm_error(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", comm->function);
    tdmi_comm_describe(comm, TDMI_COMM_GRID_CREATE, 0, -1, NULL);
    comm->header.extents = (uint64_t)(unsigned)rows << 32 | (unsigned)columns;
    status = tdmi_comm_agree(comm, status);
    if (status == TDM_OK) {
        *made = (tdm_grid){.rows = rows,
                           .columns = columns,
                           .at_row = comm->rank / columns,
                           .at_column = comm->rank % columns};
        status = tdm_comm_split(comm, 0, comm->rank, &made->all);
    }
    if (status == TDM_OK) status = tdm_comm_split(comm, made->at_row, made->at_column, &made->row);
    if (status == TDM_OK)
        status = tdm_comm_split(comm, made->at_column, made->at_row, &made->column);
    if (status == TDM_OK) {
        *grid = made;
        return TDM_OK;
    }
    tdmi_comm_outcome why = {0};
    tdmi_comm_outcome_add(&why, status);
    tdm_grid_destroy(made);
    return tdmi_comm_outcome_end(&why);
}

void tdm_grid_destroy(tdm_grid *grid) {
    TDMI_UNCANCELLED();
    if (!grid || tdm_check_fork() != TDM_OK) return;
    tdm_comm_destroy(grid->row);
    tdm_comm_destroy(grid->column);
    tdm_comm_destroy(grid->all);
    free(grid);
}

int tdm_grid_get_rows(const tdm_grid *grid) { return grid ? grid->rows : -1; }
int tdm_grid_get_columns(const tdm_grid *grid) { return grid ? grid->columns : -1; }
int tdm_grid_get_row(const tdm_grid *grid) { return grid ? grid->at_row : -1; }
int tdm_grid_get_column(const tdm_grid *grid) { return grid ? grid->at_column : -1; }

tdm_status tdm_grid_block(const tdm_grid *grid, int64_t rows, int64_t columns, int64_t first[2],
                          int64_t shape[2]) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, grid);
    TDMI_NOT_NULL(__func__, first);
    TDMI_NOT_NULL(__func__, shape);
    if (rows < 0 || columns < 0)
        return tdmi_comm_error(TDM_ERROR_INVALID_ARGUMENT,
                               "%s: rows is %lld and columns %lld, at least 0", __func__,
                               (long long)rows, (long long)columns);
    TDMI_TRY(tdm_part(rows, grid->rows, grid->at_row, &first[0], &shape[0]));
    return tdm_part(columns, grid->columns, grid->at_column, &first[1], &shape[1]);
}
