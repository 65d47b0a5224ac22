/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elements of a 16-bit float, T_ID, that lie side by side, to and from a block of f32. */
#define BLOCK_END(name) TDM_CAT(TDM_CAT(TDM_CAT(TDM_CAT(tdmi_block_, name), T_ID), _), TDMI_ISA)
tdmi_cpu_block_load BLOCK_END(load_);
tdmi_cpu_block_store BLOCK_END(store_);

void BLOCK_END(load_)(float *block, const void *row, uint32_t n) {
    const tdm_u16 *const from = row;
    uint32_t i = 0;
    for (; i + TDM_LINE_LENGTH <= n; i += TDM_LINE_LENGTH)
        (void)tdm_read_line(block + i, from + i, TDM_LINE_LENGTH, TDM_LINE_LENGTH);
    if (i < n) (void)tdm_read_line(block + i, from + i, (tdm_i32)(n - i), TDM_LINE_LENGTH);
}

void BLOCK_END(store_)(void *row, const float *block, uint32_t n, bool stream, bool bf16) {
    tdm_u16 *const to = row;
    uint32_t i = 0;
    for (; i + TDM_LINE_LENGTH <= n; i += TDM_LINE_LENGTH)
        tdm_write_line(stream, bf16, to + i, block + i, TDM_LINE_LENGTH);
    if (i < n) tdm_write_line(0, bf16, to + i, block + i, (tdm_i32)(n - i));
}

#undef BLOCK_END
