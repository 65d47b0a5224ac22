/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of the kernels of one instruction set. Compiled once per instruction set. */
#include "kernels.h"

#include "args.h"

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define ENTRY(name) CAT(name##_, TDMI_ISA)
#define DECLARE(name)                                                                              \
    void ENTRY(name)(const tdm_group *group, void *const *buffers, const void *args);

/* f32, f64, f16, bf16 */
#define DECLARE_FLOATS(kernel)                                                                     \
    DECLARE(tdmi_##kernel##_0_0)                                                                   \
    DECLARE(tdmi_##kernel##_1_1)                                                                   \
    DECLARE(tdmi_##kernel##_2_2)                                                                   \
    DECLARE(tdmi_##kernel##_3_3)
#define FLOATS(kernel)                                                                             \
    {                                                                                              \
        ENTRY(tdmi_##kernel##_0_0), ENTRY(tdmi_##kernel##_1_1), ENTRY(tdmi_##kernel##_2_2),        \
            ENTRY(tdmi_##kernel##_3_3)                                                             \
    }

DECLARE_FLOATS(elementwise)
DECLARE_FLOATS(bias_add)
DECLARE_FLOATS(norm)
DECLARE_FLOATS(norm_combine)
DECLARE_FLOATS(layer_norm)
DECLARE_FLOATS(rms_norm)
DECLARE_FLOATS(batch_norm)
DECLARE_FLOATS(batch_norm_cols)
DECLARE_FLOATS(l2_normalize)
DECLARE_FLOATS(softmax)
DECLARE_FLOATS(matmul)

/* Norms of 16-bit rows go to the row's own dtype or to f32. */
#define NORM_TO(kernel, t)                                                                         \
    DECLARE(tdmi_##kernel##_##t##_0)                                                               \
    static void kernel##_##t(const tdm_group *group, void *const *buffers, const void *args) {     \
        if (group->u == 0)                                                                         \
            ENTRY(tdmi_##kernel##_##t##_0)(group, buffers, args);                                  \
        else                                                                                       \
            ENTRY(tdmi_##kernel##_##t##_##t)(group, buffers, args);                                \
    }
NORM_TO(norm, 2)
NORM_TO(norm, 3)
NORM_TO(norm_combine, 2)
NORM_TO(norm_combine, 3)
#define NORMS(kernel)                                                                              \
    { ENTRY(tdmi_##kernel##_0_0), ENTRY(tdmi_##kernel##_1_1), kernel##_2, kernel##_3 }

/* all seven dtypes */
#define DECLARE_ALL(kernel)                                                                        \
    DECLARE_FLOATS(kernel)                                                                         \
    DECLARE(tdmi_##kernel##_4_4)                                                                   \
    DECLARE(tdmi_##kernel##_5_5)                                                                   \
    DECLARE(tdmi_##kernel##_6_6)
#define ALL(kernel)                                                                                \
    {                                                                                              \
        ENTRY(tdmi_##kernel##_0_0), ENTRY(tdmi_##kernel##_1_1), ENTRY(tdmi_##kernel##_2_2),        \
            ENTRY(tdmi_##kernel##_3_3), ENTRY(tdmi_##kernel##_4_4), ENTRY(tdmi_##kernel##_5_5),    \
            ENTRY(tdmi_##kernel##_6_6)                                                             \
    }

DECLARE_ALL(range)
DECLARE_ALL(random)

#define CAST_CASE(t, u)                                                                            \
    case u:                                                                                        \
        ENTRY(tdmi_cast_##t##_##u)(group, buffers, args);                                          \
        break;
#define CAST_TO(t)                                                                                 \
    DECLARE(tdmi_cast_##t##_0)                                                                     \
    DECLARE(tdmi_cast_##t##_1)                                                                     \
    DECLARE(tdmi_cast_##t##_2)                                                                     \
    DECLARE(tdmi_cast_##t##_3)                                                                     \
    DECLARE(tdmi_cast_##t##_4)                                                                     \
    DECLARE(tdmi_cast_##t##_5)                                                                     \
    DECLARE(tdmi_cast_##t##_6)                                                                     \
    DECLARE(tdmi_fill_##t##_6)                                                                     \
    static void cast_##t(const tdm_group *group, void *const *buffers, const void *args) {         \
        switch (group->u) {                                                                        \
            CAST_CASE(t, 0)                                                                        \
            CAST_CASE(t, 1)                                                                        \
            CAST_CASE(t, 2)                                                                        \
            CAST_CASE(t, 3)                                                                        \
            CAST_CASE(t, 4)                                                                        \
            CAST_CASE(t, 5)                                                                        \
            CAST_CASE(t, 6)                                                                        \
        }                                                                                          \
    }
CAST_TO(0)
CAST_TO(1)
CAST_TO(2)
CAST_TO(3)
CAST_TO(4)
CAST_TO(5)
CAST_TO(6)

/* One row for each kernel of TDM_KERNEL_LIST, which also gives their order: a kernel without a row
 * here does not compile. */
#define ROW_ELEMENTWISE FLOATS(elementwise)
#define ROW_CAST                                                                                   \
    { cast_0, cast_1, cast_2, cast_3, cast_4, cast_5, cast_6 }
#define ROW_FILL                                                                                   \
    {                                                                                              \
        ENTRY(tdmi_fill_0_6), ENTRY(tdmi_fill_1_6), ENTRY(tdmi_fill_2_6), ENTRY(tdmi_fill_3_6),    \
            ENTRY(tdmi_fill_4_6), ENTRY(tdmi_fill_5_6), ENTRY(tdmi_fill_6_6)                       \
    }
#define ROW_BIAS_ADD FLOATS(bias_add)
#define ROW_NORM NORMS(norm)
#define ROW_NORM_COMBINE NORMS(norm_combine)
#define ROW_LAYER_NORM FLOATS(layer_norm)
#define ROW_RMS_NORM FLOATS(rms_norm)
#define ROW_BATCH_NORM FLOATS(batch_norm)
#define ROW_BATCH_NORM_COLS FLOATS(batch_norm_cols)
#define ROW_L2_NORMALIZE FLOATS(l2_normalize)
#define ROW_SOFTMAX FLOATS(softmax)
#define ROW_MATMUL FLOATS(matmul)
#define ROW_RANGE ALL(range)
#define ROW_RANDOM ALL(random)
#define ROW(ID, entry, buffers, args) ROW_##ID,

tdmi_cpu_table CAT(tdmi_cpu_kernels_, TDMI_ISA) = {TDM_KERNEL_LIST(ROW)};
