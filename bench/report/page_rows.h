/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of the page with every row, and what its numbers are. */
#ifndef BENCH_PAGE_ROWS_H
#define BENCH_PAGE_ROWS_H

#include "report/plots.h"

/* A term and its sentence in a <dl>. */
void bench_page_term(FILE *page, const char *term, const char *sentence);

/* A sentence for each number of the rows. */
void bench_page_terms(const bench_figures *figures);

/* The table. On a narrow page each row is a card, whose figures have their names next to them. */
void bench_page_rows(const bench_figures *figures);

#endif
