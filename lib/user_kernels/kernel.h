/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A user's kernel, and what becomes of it for tensors of certain dtypes and strides. */
#ifndef TDMI_KERNEL_H
#define TDMI_KERNEL_H

#include "launch.h"
#include "user_kernels.h"
#include "user_kernels/lower.h"

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

/* The arguments of tdm_kernel_source; a file's and an entry's name. */
typedef struct tdmi_source {
    _Atomic(const tdmi_user_kernel *) programs[TDM_DTYPE_COUNT]; /* by T, once it was made */
    char *file, *entry;
} tdmi_source;

struct tdm_kernel {
    atomic_uint references;
    tdm_device *device;
    tdmi_mutex lock; /* held to add to the lists; reading them needs no lock */
    _Atomic(tdmi_typed_kernel *) typed;
    int parameter_count;
    tdmi_parameter parameters[TDMI_MOST_PARAMETERS];
    tdmi_texts texts; /* their characters lie in `characters` */
    char *characters;
    size_t character_count;
    bool is_function; /* of functions.h */
    tdmi_source
        *source; /* NULL of an expression; else the text is its only statement, and is not read */
};

static inline bool tdmi_is_tensor(const tdmi_parameter *parameter) {
    return parameter->kind == TDM_PARAMETER_TENSOR || parameter->kind == TDM_PARAMETER_OUTPUT;
}

/* kernel.c: makes a kernel of parameters that are right. name_fault: whether a parameter may have a name; if not, why
 * not. outputs: a parameter may be TDM_PARAMETER_OUTPUT. The caller fills in the device. */
typedef struct tdmi_kernel_wanted {
    const char *function;
    const tdmi_texts *texts;
    const tdm_parameter *parameters;
    size_t parameter_count;
    const char *(*name_fault)(const char *name, bool of_rows);
    bool outputs;
} tdmi_kernel_wanted;
tdm_status tdmi_kernel_make(const tdmi_kernel_wanted *wanted, tdm_kernel **kernel) TDM_MUST_USE;
void tdmi_kernel_free(tdm_kernel *kernel);

/* The purpose for which a call's kernel is looked up. */
typedef enum tdmi_purpose { TDMI_RUN, TDMI_COMPILE, TDMI_ASK } tdmi_purpose;

typedef struct tdmi_kernel_call {
    const char *function;
    tdmi_purpose purpose;
    bool *is_compiled; /* the answer of TDMI_ASK */
    tdm_queue *queue;
} tdmi_kernel_call;

/* call.c: compiles the variant, which is complete, or looks whether it is; of a call that does not run. */
tdm_status tdmi_kernel_look_up(const tdmi_kernel_call *call, tdmi_variant variant) TDM_MUST_USE;

/* ---- in the dialect ---- */

/* source.c: what tdm_kernel_source makes, for a public function, without a device. */
tdm_status tdmi_source_make(const char *function, const char *text, const char *file,
                            const char *entry, const tdm_parameter *parameters,
                            size_t parameter_count, tdm_kernel **kernel) TDM_MUST_USE;

/* source.c: the program of a kernel in the dialect, for a T and a U; and what becomes one, whose text is for
 * tdmi_free. */
tdm_status tdmi_source_lower(const tdm_kernel *kernel, tdm_dtype t, tdm_dtype u,
                             tdmi_user_kernel *made) TDM_MUST_USE;
tdm_status tdmi_source_program(tdm_kernel *kernel, tdm_dtype t, tdm_dtype u,
                               const tdmi_user_kernel **program) TDM_MUST_USE;

/* source_run.c: a call of such a kernel, with an argument for each parameter. */
tdm_status tdmi_source_call(const tdmi_kernel_call *call, tdm_kernel *kernel,
                            const tdm_argument *const *arguments) TDM_MUST_USE;

/* ---- expressions ---- */

/* A kernel without a reference to its device, whose arguments are checked. */
tdm_status tdmi_expression_make(const char *function, tdm_device *device, const tdmi_texts *texts,
                                const tdm_parameter *parameters, size_t parameter_count,
                                tdm_kernel **kernel) TDM_MUST_USE;

/* Calls it, with an argument for each parameter, in their order. */
tdm_status tdmi_expression_call(const tdmi_kernel_call *call, tdm_kernel *kernel,
                                const tdm_argument *const *sorted) TDM_MUST_USE;

/* The parsed text for these dtypes, in the order of the tensors; and the program for rows of these kinds. Any
 * thread. */
tdm_status tdmi_kernel_for_dtypes(tdm_kernel *kernel, const char *function, const uint8_t *dtypes,
                                  tdmi_typed_kernel **typed) TDM_MUST_USE;
tdm_status tdmi_kernel_for_rows(tdm_kernel *kernel, tdmi_typed_kernel *typed,
                                const uint8_t *row_kinds, const tdmi_row_form **form) TDM_MUST_USE;

/* A call, and its tensors in the order of the kernel's. */
typedef struct tdmi_call {
    const char *function;
    const tdmi_kernel_call *wanted;
    tdm_queue *queue;
    tdmi_typed_kernel *typed;
    int count;
    const char *names[TDM_KERNEL_MAX_TENSORS];
    const tdm_tensor *tensors[TDM_KERNEL_MAX_TENSORS];
    tdm_tensor views[TDM_KERNEL_MAX_TENSORS]; /* of one shape: the outputs' or, of rows, these' */
} tdmi_call;

/* call.c: from one element of an operand's row, the last dimension, to the next; whether each row that is read or
 * written element by element begins at a multiple of 16 bytes; one launch, as far as the call's purpose is to run. */
int64_t tdmi_inner_stride(const tdmi_dims *d, int operand);
bool tdmi_call_is_aligned(const tdmi_call *self, const tdmi_dims *d);
tdm_status tdmi_call_launch(const tdmi_call *self, tdmi_variant variant, int64_t items,
                            int64_t cols, const tdmi_mem *const *mems,
                            const tdm_expression_args *args) TDM_MUST_USE;

/* run_rows.c: the views of a kernel over rows; what is launched. */
tdm_status tdmi_call_find_rows(tdmi_call *self) TDM_MUST_USE;
tdm_status tdmi_call_combine(const tdmi_call *self, const tdmi_dims *d, const tdmi_row_form *form,
                             tdm_expression_args *args) TDM_MUST_USE;

/* Runs the kernel that the device keeps as number `which`, made of the texts when it first comes. The arguments are
 * tensors, the last of them y, but for those whose bit is in `scalars`, which are of this kind. */
tdm_status tdmi_call_texts(const char *function, tdm_queue *queue, int which,
                           const tdmi_texts *texts, const tdm_argument *arguments, size_t count,
                           unsigned scalars, tdm_parameter_kind kind) TDM_MUST_USE;

#endif
