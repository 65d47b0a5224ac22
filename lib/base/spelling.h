/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Guessing what a misspelt word was meant to be. Of the library and of the program tdm, which both
 * compile this. */
#ifndef TDMI_SPELLING_H
#define TDMI_SPELLING_H

#include <stddef.h>

/* Levenshtein's distance, upper and lower case being the same, of the first 63 characters. */
size_t tdmi_edit_distance(const char *a, const char *b);

/* The candidate with the smallest edit distance to word; NULL when there are none. */
const char *tdmi_nearest_word(const char *word, const char *const *candidates, size_t count);

#endif
