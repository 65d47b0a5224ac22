/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The products that `tdm tune` measures: the usual ones, or those of a file. */
#ifndef TUNE_PRODUCTS_H
#define TUNE_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/tandem.h>

#include "ops/product_text.h"

typedef tdmi_product_words tune_product;

typedef struct tune_list {
    tune_product *products;
    size_t count;
} tune_list;

/* The products that most programs have, in each of the dtypes, those that matter most first. False when
 * memory is short. */
bool tune_list_usual(tune_list *list, const tdm_dtype *dtypes, size_t count);

/* Those of a file as TANDEM_TRACE writes it, each once, by tune_read_lines. */
int tune_list_read(tune_list *list, const char *path);

void tune_list_free(tune_list *list);

/* Takes a line; NULL, or what is wrong with it. */
typedef const char *(*tune_line_taker)(void *context, char *line);

/* Calls `take` with each line of a file but empty ones and those that begin with '#'; `things` is the word for what a
 * line holds, in messages. Prints what is wrong, and where. Returns an exit status. */
int tune_read_lines(const char *path, const char *things, tune_line_taker take, void *context);

#endif
