/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plan of a reduction over any dimensions of strided tensors. */
#ifndef TDMI_REDUCE_H
#define TDMI_REDUCE_H

#include <tandem/reduce.h>

#include "launch.h"

/* Which dimensions of x are reduced, and which of y each of the others is; -1 where y has none. */
typedef struct tdmi_reduced {
    bool dim[TDM_MAX_DIMS];
    int of_y[TDM_MAX_DIMS];
    int64_t elements; /* that become one */
} tdmi_reduced;

/* Reads dims, and checks that y, called `name`, has what is left of x's shape. */
tdm_status tdmi_check_reduced(const char *function, const tdm_tensor *x, const int *dims,
                              size_t count, const char *name, const tdm_tensor *y,
                              tdmi_reduced *reduced) TDM_MUST_USE;

/* Kernels index each dimension of x with 32 bits; an empty x is not read. */
tdm_status tdmi_check_extents(const char *function, const tdm_tensor *x) TDM_MUST_USE;

/* A reduction: a kernel, and an operation of it without the form; x and y as the kernel takes them. */
typedef struct tdmi_reduction {
    tdmi_kernel_id kernel;
    unsigned op;
    unsigned again;          /* the operation that puts together what this one has left of parts */
    tdm_dtype t, again_t;    /* of the kernel, and of that */
    size_t left;             /* bytes of what is left of a part */
    bool seldom_cut;         /* a CPU cuts only what has no work for all its cores */
    const tdm_tensor *other; /* of a dot product: like x, which is contiguous then; else NULL */
    tdm_reduce_args args;    /* without where elements lie and how they are cut */
} tdmi_reduction;

/* Runs it on an x of at least one element, and on a y that is not empty. */
tdm_status tdmi_run_reduction(const char *function, tdm_queue *queue,
                              const tdmi_reduction *reduction, const tdm_tensor *x,
                              const tdmi_reduced *reduced, const tdm_tensor *y) TDM_MUST_USE;

/* A reduction of tensors whose lines are known. */
typedef struct tdmi_reduction_plan {
    tdm_queue *queue;
    const tdmi_reduction *reduction;
    const tdm_tensor *x, *y;
    tdm_reduce_args args;
    int64_t places; /* all offsets and strides of x, joined by | */
    bool in_columns;
    bool adjacent; /* elements of lines, or columns, are: else the plan is of no use */
} tdmi_reduction_plan;

/* The steps of tdmi_run_reduction: the plan; for how many groups there is work if nothing is cut; how its lines are
 * cut; of what is cut, the result of each part left in scratch memory, those of a row of results part by part; a launch
 * of a kernel that has tdm_reduce_args. */
tdm_status tdmi_plan_reduction(const char *function, tdm_queue *queue,
                               const tdmi_reduction *reduction, const tdm_tensor *x,
                               const tdmi_reduced *reduced, const tdm_tensor *y,
                               tdmi_reduction_plan *plan) TDM_MUST_USE;
int64_t tdmi_items_uncut(const tdmi_reduction_plan *plan);
void tdmi_cut_reduction(tdmi_reduction_plan *plan);
tdm_status tdmi_leave_parts(const tdmi_reduction_plan *plan, const tdmi_mem **scratch) TDM_MUST_USE;
tdm_status tdmi_launch_reduction(const tdmi_reduction_plan *plan, tdmi_variant variant,
                                 const tdmi_mem *const *mems,
                                 const tdm_reduce_args *args) TDM_MUST_USE;

/* The arguments that are the same for every sum, product, norm or variance of these dtypes; op: TDM_OP_REDUCE_… */
tdmi_reduction tdmi_reduction_of(const tdm_tensor *x, const tdm_tensor *y, unsigned op,
                                 double divisor);

/* A contiguous copy, whose buffer the caller releases. */
tdm_status tdmi_copy_of(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *copy) TDM_MUST_USE;

/* y's dtype is that of x, or f32 where that is a float of 16 bits; of integers, which may be refused, it has 64
 * bits. */
tdm_status tdmi_check_reduced_dtypes(const char *function, const tdm_queue *queue,
                                     bool floats_alone, const char *name, const tdm_tensor *x,
                                     const char *y_name, const tdm_tensor *y) TDM_MUST_USE;

/* The same of infinity norms, which are extremes of the bits. */
tdmi_reduction tdmi_largest_magnitude(tdm_dtype dtype);

#endif
