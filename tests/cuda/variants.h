/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernel variants that the library can launch on a CUDA device. */
#ifndef TDM_TEST_CUDA_VARIANTS_H
#define TDM_TEST_CUDA_VARIANTS_H

#include <stdbool.h>

enum { ARCHITECTURES = 7, MOST_ENTRIES = 2 };
extern const int architectures[ARCHITECTURES];

/* Is it one of the data centres' GPUs? All of these must have enough on its way to a multiprocessor. */
bool covers_latency(int architecture);
/* Whether it is the turn of this place in `architectures`, among those: variant `number` is for one of them. */
bool has_turn(int place, int number);

/* A file of kernels. All its entries are compiled together, by the backend as here. */
typedef struct kernel_file {
    char name[32];
    int entries[MOST_ENTRIES]; /* of tdm_kernel_entries */
    int entry_count;
    char *text; /* dialect, args.h, the common headers and the file's own, as the backend has it */
} kernel_file;

/* The values that the backend passes to NVRTC as -DT_ID … -DTEAMS. */
typedef struct variant {
    int t, u, op, lanes, stream, vectors, loose, holds, teams;
} variant;

enum { LESSER = -1 };

/* Calls `found` for each variant of the kernel, a tdmi_kernel_id. `number` counts the variants of one group
 * size; `size` says which one of those of this kernel, 0 being the largest: with vectors first, then those
 * of rows that are not aligned. LESSER stands for 0 where one architecture is enough. */
void for_variants(int kernel, void (*found)(void *context, const variant *v, int number, int size),
                  void *context);

/* Does its file have the kernel for this variant? */
bool has_kernel(int kernel, const variant *v);

/* Bytes of an element of a dtype. */
int dtype_bytes(int dtype);

#endif
