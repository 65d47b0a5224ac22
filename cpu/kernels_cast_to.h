/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The casts to T_ID, and the function that chooses among them. Included once for each dtype. */
#define EACH_U "kernels_cast_kernel.h"
#include "kernels_each_u.h"
#undef EACH_U

#define CAST_TO TDM_CAT(tdmi_cast_, TDM_CAT(T_ID, TDM_CAT(_, TDMI_ISA)))
tdmi_cpu_kernel CAST_TO;
void CAST_TO(const tdm_group *group, void *const *buffers, const void *args) {
    switch (group->u) {
#define EACH_U "kernels_cast_case.h"
#include "kernels_each_u.h"
#undef EACH_U
    }
}
#undef CAST_TO
