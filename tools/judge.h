/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Does a device's driver compute rightly? By kernels, operations and buffers as any program has them, so that the same
 * text judges every backend. */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/tandem.h>

/* A LayerNorm of f32, which `tdm doctor --quick` runs, too. */
enum { NORM_ROWS = 20, NORM_COLUMNS = 300 };
#define NORM_EPSILON 1e-5

/* Anything that differs from place to place. */
void norm_values(int seed, float *x);

/* The row and column of the first value of y that is not the LayerNorm of x, computed in f64, or false. */
bool norm_find_wrong(const float *x, const float *y, int *row, int *column, double *wanted);

/* One device in a process, in this order. Everything that may crash or hang is a step of the answer. */
void judge_begin(tdm_device *device, tdm_queue *queue);
void judge_kernel(void);     /* of the program's own: arithmetic, arguments, groups */
void judge_operations(void); /* mapped memory, a product, launches and copies */
void judge_end(void);

/* Adds a line for each thing that is wrong, with what depends on it and what to do; what is right; and speeds. False
 * where something is wrong. */
bool judge_report(char *text, size_t size);

#endif
