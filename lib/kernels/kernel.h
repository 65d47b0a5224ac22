/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A user's kernel, and what becomes of it for tensors of certain dtypes and strides. */
#ifndef TDMI_KERNEL_H
#define TDMI_KERNEL_H

#include "kernels/lower.h"
#include "user_kernels.h"

/* For rows of certain kinds. */
typedef struct tdmi_row_form {
    uint8_t row_kinds[TDM_KERNEL_MAX_TENSORS];
    const tdmi_user_kernel *program;
    bool is_plain;
    struct tdmi_row_form *next;
} tdmi_row_form;

/* For tensors of certain dtypes. */
typedef struct tdmi_typed_kernel {
    bool has_f64; /* computes with it */
    _Atomic(tdmi_row_form *) forms;
    struct tdmi_typed_kernel *next;
    tdmi_expression expression;
} tdmi_typed_kernel;

struct tdm_kernel {
    atomic_uint references;
    tdm_device *device;
    pthread_mutex_t lock; /* of who adds to the lists: who reads them needs none */
    _Atomic(tdmi_typed_kernel *) typed;
    int parameter_count;
    tdmi_parameter parameters[TDMI_MOST_PARAMETERS];
    char *text;
};

/* What is read for these dtypes, in the order of the tensors; and what runs for rows of these kinds. Any thread. */
tdm_status tdmi_kernel_for_dtypes(tdm_kernel *kernel, const char *function, const uint8_t *dtypes,
                                  tdmi_typed_kernel **typed) TDM_MUST_USE;
tdm_status tdmi_kernel_for_rows(tdm_kernel *kernel, tdmi_typed_kernel *typed,
                                const uint8_t *row_kinds, const tdmi_row_form **form) TDM_MUST_USE;

#endif
