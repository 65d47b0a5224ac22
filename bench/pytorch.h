/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* PyTorch beside a row, where a Python that has it was given. */
#ifndef BENCH_PYTORCH_H
#define BENCH_PYTORCH_H

#include "row.h"

/* Times the same work in PyTorch and sets row->pytorch_seconds, for an operation that has a PyTorch
 * form (the norms of many products); a failure is told in row->problem. */
void bench_add_pytorch(const char *python, bench_row *row);

#endif
