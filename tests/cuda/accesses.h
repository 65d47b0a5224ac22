/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules for a variant's accesses of memory, and the test whether two kernels are the same. */
#ifndef TDM_TEST_CUDA_ACCESSES_H
#define TDM_TEST_CUDA_ACCESSES_H

#include "nvrtc.h"
#include "ptx.h"
#include "ptxas_log.h"
#include "variants.h"

/* For a tdmi_kernel_id: each row in vectors moves by accesses of 128 bits, narrower ones are at its ends; other
 * rows move by elements. */
bool accesses_are_right(int kernel, const variant *v, const ptx_report *accesses);

/* The bytes on their way to a multiprocessor when as many groups are there as fit. */
int bytes_in_flight(const variant *v, const ptxas_report *used, const ptx_report *accesses);

/* The bytes that a multiprocessor must have in flight; 0: none, as the kernel reads no rows in vectors. A kernel that
 * writes more than it reads waits for less. */
int enough_in_flight(int kernel, const variant *v);

/* The rows that a kernel writes in its main loop. */
int rows_written(int kernel, const variant *v);

/* The most instructions an element, as sass_shortest counts them, that are accepted of rows that are held in four
 * vectors a lane by one group each; 0 for any other: a few percent above what NVRTC 13.0 gives for sm_90. With fewer
 * vectors the work for a row outweighs the elements'. */
double most_instructions(int kernel, const variant *v);

/* Are two kernels the same, judged by the size of their code, registers, memory and accesses? Not byte for byte: of
 * 24 KiB and more ptxas was seen to choose other registers in up to 3 % of the bytes, and one more. A multiprocessor
 * hands them out by eights. */
bool is_same_kernel(const compiled *a, const char *name_a, const compiled *b, const char *name_b);

#endif
