/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The test kernels in C: the table, and f32 and f64. */
#define TDMI_ISA test
#include "dialect_c.h"
#include "dtypes.h"
#include "numeric.h"
/* behind numeric.h */
#include "random.h"
#include "reduce.h"

#include "kernels_c.h"

#define U_ID T_ID
#define T_ID 0
#include "macros.cl"
#undef T_ID
#define T_ID 1
#include "macros.cl"

#define DECLARE(name) tdmi_cpu_kernel tdmi_##name##_2_2_test, tdmi_##name##_3_3_test;
TEST_KERNEL_LIST(DECLARE)

#define ROW(name)                                                                                  \
    {                                                                                              \
        tdmi_##name##_0_0_test, tdmi_##name##_1_1_test, tdmi_##name##_2_2_test,                    \
            tdmi_##name##_3_3_test                                                                 \
    }

const tdmi_cpu_entry test_kernels_c[TEST_KERNELS][TEST_DTYPES] = {
#define TEST_ROW(name) ROW(name),
    TEST_KERNEL_LIST(TEST_ROW)};
