/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* CLBlast itself: opened, and with parameters of our choice. */
#ifndef TDMI_CLBLAST_H
#define TDMI_CLBLAST_H

#include "clblast_settings.h"
#include "opencl_backend.h"

#include <clblast_c.h>

#define TDMI_CLBLAST_FUNCTIONS(X)                                                                  \
    X(CLBlastSgemm)                                                                                \
    X(CLBlastDgemm)                                                                                \
    X(CLBlastSgemmStridedBatched)                                                                  \
    X(CLBlastDgemmStridedBatched)                                                                  \
    X(CLBlastOverrideParameters)                                                                   \
    X(CLBlastClearCache)

/* Its functions, once it is open. */
typedef struct tdmi_clblast_functions {
#define TDMI_CLBLAST_MEMBER(name) __typeof__(&name) name;
    TDMI_CLBLAST_FUNCTIONS(TDMI_CLBLAST_MEMBER)
#undef TDMI_CLBLAST_MEMBER
} tdmi_clblast_functions;
extern tdmi_clblast_functions tdmi_clblast;

tdm_status tdmi_clblast_open(void) TDM_MUST_USE;
const tdmi_library *tdmi_clblast_library(void);

/* Around every call into CLBlast: before 1.6.1, two threads whose first products come at once break
 * its cache. A call only queues work, so little is lost. */
void tdmi_clblast_enter(void);
void tdmi_clblast_leave(void);

/* clblast_tune.c. Whether products of the dtype run, and are right, now: not while another thread tries parameters. */
bool tdmi_clblast_usable(const tdmi_bdevice *device, tdm_dtype dtype);

/* The driver has refused CLBlast's kernels of the dtype: they are not usable until the process ends. Of parameters that
 * are being tried a refusal says nothing more. True when this is news. */
bool tdmi_clblast_refuse(const tdmi_bdevice *device, tdm_dtype dtype);

/* The members of tdmi_blas that have these names. */
extern const char *const tdmi_clblast_setting_names[];
void tdmi_clblast_configure(tdmi_bdevice *device, const char *name, const char *text);
void tdmi_clblast_tune(tdmi_bdevice *device, const tdmi_gemm *gemm, const tdmi_trial *trial);

#endif
