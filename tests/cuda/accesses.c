/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "accesses.h"

#include <string.h>

#include "manifest.h"

/* Rows that a kernel reads and writes in its main loop, in vectors of each. */
typedef struct row_counts {
    int reads, writes;
} row_counts;

static int flags(int op, int of) { return __builtin_popcount((unsigned)(op & of)); }

static row_counts rows_of(const tdm_kernel_entry *k, const variant *v) {
    const int t = dtype_bytes(v->t), u = dtype_bytes(v->u);
    if (k->u == TDM_U_CASTS) return (row_counts){u > t ? u / t : 1, t > u ? t / u : 1};
    return (row_counts){
        k->reads + flags(v->op, k->read_flags) + tdm_has_op(k->reads_second, (unsigned)v->op),
        tdm_has_op(k->results, (unsigned)v->op) ? 0 : k->writes + flags(v->op, k->write_flags)};
}

/* The file of reduce, compiled for rows in vectors, has its second kernel, too, which is never launched so. */
static bool is_without_rows(const tdm_kernel_entry *k) { return k->file; }

/* The least accesses of two steps of matmul_tiles: products of 16 x 8 elements, which make 64 x 64, and for an operand
 * that lies along k, or has elements of two bytes, four reads of matrices, once more before the first step. A slice is
 * copied before and in the loop, unless rows are not aligned. C is written in vectors where it can be. */
static bool tiles_are_right(const variant *v, const ptx_report *accesses) {
    const bool narrow = dtype_bytes(v->t) == 2, deep = v->op & TDM_OP_TILES_DEEP;
    const int operands =
        (narrow || !(v->op & TDM_OP_TRANSPOSE_A)) + (narrow || (v->op & TDM_OP_TRANSPOSE_B));
    const int chunks = (v->lanes == 256 ? 128 + 256 : 128 + 128) * (deep ? 4 : 2);
    const int copied = (v->op & TDM_OP_TILES_ALIGNED) ? chunks / v->lanes * (deep ? 2 : 3) : 0;
    return accesses->products == 64 && accesses->matrices == operands * 12 &&
           (copied ? accesses->copies >= copied : accesses->copies == 0) &&
           accesses->wide_stores > 0;
}

bool accesses_are_right(int kernel, const variant *v, const ptx_report *accesses) {
    enum {
        COPIES = 4,
        PARAMETERS = 4,
        RESULTS = 8
    }; /* a compiler makes copies of the ends; some scalars are read; without rows a kernel writes a few elements */
    const tdm_kernel_entry *k = &tdm_kernel_entries[kernel];
    const row_counts rows = rows_of(k, v);
    const int t = dtype_bytes(v->t), u = k->u == TDM_U_CASTS ? dtype_bytes(v->u) : t;
    if (is_without_rows(k)) return true;
    if (kernel == TDMI_KERNEL_MATMUL_TILES) return tiles_are_right(v, accesses);
    if (v->vectors == 0 || v->loose) return accesses->wide_loads == 0 && accesses->wide_stores == 0;
    return accesses->wide_loads >= v->vectors * rows.reads &&
           accesses->wide_stores >= v->vectors * rows.writes &&
           accesses->loads <= accesses->wide_loads * 16 / u * COPIES + PARAMETERS &&
           accesses->stores <=
               accesses->wide_stores * 16 / t * COPIES + (rows.writes > 0 ? PARAMETERS : RESULTS);
}

int rows_written(int kernel, const variant *v) {
    return rows_of(&tdm_kernel_entries[kernel], v).writes;
}

double most_instructions(int kernel, const variant *v) {
    if (!v->holds || v->loose || v->vectors != 4 || v->teams > 1 || dtype_bytes(v->t) > 4) return 0;
    const bool narrow = dtype_bytes(v->t) == 2;
    const row_counts rows = rows_of(&tdm_kernel_entries[kernel], v);
    const double of_rows = (rows.reads + rows.writes) * (narrow ? 3.2 : 2.4);
    switch (kernel) {
    case TDMI_KERNEL_LAYER_NORM:
        return of_rows + (narrow ? 10 : 22);
    case TDMI_KERNEL_RMS_NORM:
        return of_rows + (narrow ? 7.5 : 16);
    case TDMI_KERNEL_L2_NORMALIZE:
        return of_rows + (narrow ? 7 : 14);
    case TDMI_KERNEL_SOFTMAX:
        return of_rows + (narrow ? 21 : 29);
    default:
        return 0;
    }
}

int bytes_in_flight(const variant *v, const ptxas_report *used, const ptx_report *accesses) {
    enum { LANES = 2048, GROUPS = 32, REGISTERS = 65536, SHARED = 160 << 10, WARP = 32 };
    const int size = v->lanes * v->teams;
    const int registers = (used->registers + 7) / 8 * 8; /* they are given out by eights */
    int groups = LANES / size < GROUPS ? LANES / size : GROUPS;
    const int of_registers = REGISTERS / (registers * ((size + WARP - 1) / WARP * WARP));
    if (groups > of_registers) groups = of_registers;
    if (used->shared > 0 && groups > SHARED / used->shared) groups = SHARED / used->shared;
    const int bytes = v->vectors && !v->loose ? accesses->in_flight * 16
                                              : accesses->elements_in_flight * dtype_bytes(v->t);
    return groups * size * bytes;
}

int enough_in_flight(int kernel, const variant *v) {
    enum { ENOUGH = 32 << 10 };
    const tdm_kernel_entry *k = &tdm_kernel_entries[kernel];
    const row_counts rows = rows_of(k, v);
    /* a lane would need twice as many registers for single bytes as it has */
    const int of_bits = dtype_bytes(v->t) == 1 ? ENOUGH / 2 : ENOUGH;
    if (kernel == TDMI_KERNEL_TRANSPOSE && v->lanes == TDM_TILE_LANES) return of_bits;
    if (v->vectors == 0 || v->loose || rows.reads == 0 || is_without_rows(k)) return 0;
    if (kernel == TDMI_KERNEL_GATHER_ROWS || kernel == TDMI_KERNEL_REDUCE) return of_bits;
    return k->u == TDM_U_CASTS ? ENOUGH / rows.writes : ENOUGH;
}

bool is_same_kernel(const compiled *a, const char *name_a, const compiled *b, const char *name_b) {
    enum { TOGETHER = 8 };
    size_t size_a = 0, size_b = 0;
    ptxas_report used_a, used_b;
    ptx_report accesses_a, accesses_b;
    return compiled_code(a, name_a, &size_a) && compiled_code(b, name_b, &size_b) &&
           size_a == size_b && ptxas_report_of(a->log, name_a, &used_a) &&
           ptxas_report_of(b->log, name_b, &used_b) &&
           (used_a.registers + TOGETHER - 1) / TOGETHER ==
               (used_b.registers + TOGETHER - 1) / TOGETHER &&
           used_a.shared == used_b.shared && used_a.local == used_b.local &&
           ptx_report_of(a->ptx, name_a, &accesses_a) &&
           ptx_report_of(b->ptx, name_b, &accesses_b) &&
           memcmp(&accesses_a, &accesses_b, sizeof accesses_a) == 0;
}
