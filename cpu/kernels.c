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

/* The entries of the kernels and, for each T, which one: made of kernels/manifest.h. */
#include "kernels_table.h"

#define DECLARE(t) tdmi_cpu_kernel ENTRY(tdmi_apply_##t##_##t);
#define SLOT(t) [t] = ENTRY(tdmi_apply_##t##_##t),
FLOATS(DECLARE)
tdmi_cpu_row TDM_CAT(tdmi_cpu_applied_, TDMI_ISA) = {FLOATS(SLOT)};

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
#define LOAD_SLOT(t) [t] = ENTRY(tdmi_block_load_##t),
#define STORE_SLOT(t) [t] = ENTRY(tdmi_block_store_##t),
HALVES(DECLARE_BLOCKS)
const tdmi_cpu_blocks TDM_CAT(tdmi_cpu_blocks_, TDMI_ISA) = {
    .load = {HALVES(LOAD_SLOT)}, .store = {HALVES(STORE_SLOT)}, .copy = copy_block, .fence = fence};
