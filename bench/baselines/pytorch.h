/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* PyTorch beside a row, where a Python that has it was given. */
#ifndef BENCH_PYTORCH_H
#define BENCH_PYTORCH_H

#include <stdbool.h>

#include "rows/shape.h"

/* Does this Python have PyTorch? When not, why (of 256 bytes) says what it answered. */
bool bench_has_pytorch(const char *python, char *why);

/* Seconds of a batch of f32 products and their norms in PyTorch: `form` is "kept" or "logged". NaN
 * and why (of 256 bytes) when it failed. */
double bench_time_pytorch(const char *python, const char *form, const bench_shape *shape,
                          char *why);

#endif
