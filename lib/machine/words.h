/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Words that people type: comparing, and guessing what was meant. Of the library and of the program
 * tdm, which both compile this. */
#ifndef TDMI_WORDS_H
#define TDMI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Levenshtein's distance, upper and lower case being the same, of the first 63 characters. */
size_t tdmi_word_distance(const char *a, const char *b);

/* The candidate with the smallest edit distance to word; NULL when there are none. */
const char *tdmi_nearest_word(const char *word, const char *const *candidates, size_t count);

/* Parses the whole text as a decimal number without sign, blank or leading zero, at most max. */
bool tdmi_parse_index(const char *text, unsigned long max, unsigned long *value);

#endif
