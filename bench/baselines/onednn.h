/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* 16-bit products by oneDNN's matmul primitive, called as it is, with its own threads. */
#ifndef BENCH_ONEDNN_H
#define BENCH_ONEDNN_H

#include "baselines/blas.h"

/* Resolves the product's functions; false, and why, when the library lacks any of them. */
bool bench_onednn_load(void *library, char *why);

/* Whether it has products of this dtype on this machine, and not by its reference implementation. */
bool bench_onednn_has(tdm_dtype dtype);

/* One product. A thread's first one makes the primitive for that shape, and its later ones have the same. */
bool bench_onednn_multiply(const bench_product *product);

#endif
