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
    const size_t la = tdmi_length(a, LONGEST), lb = tdmi_length(b, LONGEST);
    size_t rows[3][LONGEST + 1];
    for (size_t i = 0; i <= la; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        for (size_t j = 0; j <= lb; j++) {
            row[j] = i + j;
            if (i == 0 || j == 0) continue;
            row[j] = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            if (above[j] + 1 < row[j]) row[j] = above[j] + 1;
            if (row[j - 1] + 1 < row[j]) row[j] = row[j - 1] + 1;
            const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                                 lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
        }
    }
    return rows[la % 3][lb];
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
