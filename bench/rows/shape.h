/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A shape as the table of cases writes it: "8192x4096", "1000*100x100x100" for a batch. */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include <stdint.h>

#define BENCH_MAX_EXTENTS 3

typedef struct bench_shape {
    char text[48];
    int64_t batch;                     /* before the '*'; 1 without it */
    int64_t extent[BENCH_MAX_EXTENTS]; /* matmul: M N K; rows x columns; or elements */
    int extents;
} bench_shape;

bench_shape bench_parse_shape(const char *text);

#endif
