/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Guessing what a misspelt word was meant to be. */
#include "base/spelling.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LONGEST = 63 };

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

size_t tdmi_edit_distance(const char *a, const char *b) {
    size_t la = tdmi_length(a, LONGEST), lb = tdmi_length(b, LONGEST);
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t above = row[j];
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[lb];
}

const char *tdmi_nearest_word(const char *word, const char *const *candidates, size_t count) {
    const char *nearest = NULL;
    size_t least = (strlen(word) + 2) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = tdmi_edit_distance(word, candidates[i]);
        if (distance < least) {
            least = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *tdmi_guess(char text[TDMI_GUESS], const char *word, const char *const *candidates,
                       size_t count) {
    const char *nearest = tdmi_nearest_word(word, candidates, count);
    text[0] = '\0';
    if (nearest) snprintf(text, TDMI_GUESS, "; did you mean \"%.63s\"?", nearest);
    return text;
}
