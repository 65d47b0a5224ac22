/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Guessing what a misspelt word was meant to be. Of the library and of the program tdm, which both
 * compile this. */
#ifndef TDMI_SPELLING_H
#define TDMI_SPELLING_H

#include <stddef.h>

/* Levenshtein's distance, with swapped neighbours as one edit as well, upper and lower case being the same, of the
 * first 63 characters. */
size_t tdmi_edit_distance(const char *a, const char *b);

/* The candidate with the smallest edit distance to word, if that is so small that it may be a slip of the keys: a third
 * of word's length, rounded up; else NULL. */
const char *tdmi_nearest_word(const char *word, const char *const *candidates, size_t count);

/* `; did you mean "WORD"?` in text, which is returned; "" where nothing is near. */
enum { TDMI_GUESS = 96 };
const char *tdmi_guess(char text[TDMI_GUESS], const char *word, const char *const *candidates,
                       size_t count);

#endif
