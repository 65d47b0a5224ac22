/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The formats that a run can write. */
#ifndef BENCH_FORMAT_H
#define BENCH_FORMAT_H

/* How the rows are printed to stdout. */
typedef enum bench_format {
    BENCH_TABLE,
    BENCH_MD, /* a table of Markdown */
    BENCH_CSV,
    BENCH_JSON,
    BENCH_JSONL /* a row a line, as it is measured */
} bench_format;

#endif
