/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The devices of the cpu backend: as many as the environment asks for. */
#include "cpu_backend.h"
#include "host/compiler.h"

tdm_status tdmi_cpu_load(bool *again) {
    *again = false;
    return TDM_OK;
}

size_t tdmi_cpu_count(void) { return (size_t)tdmi_env_cpu_devices(); }

void tdmi_cpu_diagnose(void) {
    tdmi_host_compiler_diagnose();
    tdmi_host_blas_diagnose();
}
