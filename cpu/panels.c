/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Weights in panels: packed, and multiplied by rows.
 *
 * A weight [n, k] has a panel for each `cols` of its rows, the last filled up with zeros. A panel has, for each unit of
 * k, that unit of all its rows next to each other; a unit has 4 bytes, one f32 or two bf16. */
#include <string.h>

#include "cpu_backend.h"

/* Tiles that take one turn through all panels: a turn's rows are in the cache. */
enum { TILES = 4 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t tdmi_cpu_panel_cols(tdm_dtype dtype) {
    const tdmi_cpu_panels *panels = tdmi_cpu_panel_strips();
    const bool has = dtype == TDM_F32 || (dtype == TDM_BF16 && panels->bf16 && tdmi_cpu_has_bf16());
    return has ? panels->cols : 0;
}

void tdmi_cpu_panels_pack(tdm_dtype dtype, int64_t n, int64_t k, const void *weight, void *panels) {
    enum { UNIT = 4 };
    const int64_t cols = tdmi_cpu_panel_cols(dtype), row = k * (int64_t)tdm_dtype_size(dtype);
    char *to = panels;
    memset(to, 0,
           (size_t)(divide_up(n, cols) * cols * tdmi_panel_depth(dtype, k)) *
               tdm_dtype_size(dtype));
    for (int64_t panel = 0; panel < n; panel += cols)
        for (int64_t at = 0; at < row; at += UNIT, to += cols * UNIT)
            for (int64_t j = 0; j < least(cols, n - panel); j++)
                memcpy(to + j * UNIT, (const char *)weight + (panel + j) * row + at,
                       (size_t)least(UNIT, row - at));
}

int64_t tdmi_cpu_panels_product(const tdmi_host_gemm *g) {
    const tdmi_cpu_panels *panels = tdmi_cpu_panel_strips();
    const int64_t size = (int64_t)tdm_dtype_size(g->dtype), cols = panels->cols;
    const int64_t panel = tdmi_panel_depth(g->dtype, g->k) * size * cols;
    const int64_t turns =
        divide_up(g->m, TILES * panels->rows); /* all of whole tiles, nearly alike */
    const int64_t m = least(g->m, divide_up(divide_up(g->m, turns), panels->rows) * panels->rows);
    void (*const strip)(const tdmi_cpu_strip *) = g->dtype == TDM_BF16 ? panels->bf16 : panels->f32;
    for (int64_t col = 0; col < g->n; col += cols) {
        const tdmi_cpu_strip s = {
            .m = m,
            .k = g->k,
            .lda = g->lda,
            .ldc = g->ldc,
            .a = g->a,
            .panel = (const char *)g->b + col / cols * panel,
            .bias = g->bias ? (const char *)g->bias + col * size : NULL,
            .c = (char *)g->c + col * size,
            .alpha = (float)g->alpha,
            .beta = (float)g->beta,
            .cols = (uint32_t)least(cols, g->n - col),
        };
        strip(&s);
    }
    return m;
}
