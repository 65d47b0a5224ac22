/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WRAP_H
#define BENCH_WRAP_H

#include <stdio.h>

/* A text in lines of at most `width` columns (0: one line), all of them indented. */
void bench_print_wrapped(FILE *stream, const char *text, int width, int indent);

#endif
