/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* BERT's WordPiece tokenizer: a sentence as numbers of a vocabulary. */
#ifndef SENTENCES_TOKENIZER_H
#define SENTENCES_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tokenizer tokenizer;

/* Reads a vocabulary, one token a line, whose number is the line's. NULL after a line on stderr that says what is
 * wrong. */
tokenizer *tokenizer_open(const char *path);
void tokenizer_close(tokenizer *t);

/* How many tokens the vocabulary has. */
size_t tokenizer_size(const tokenizer *t);

/* The tokens of `size` bytes of valid UTF-8, with [CLS] before and [SEP] after them: at most `most` (2 or more) in
 * all, the rest of a longer text is left out. Returns how many. */
size_t tokenize(const tokenizer *t, const char *text, size_t size, size_t most, int32_t *ids);

#endif
