/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The sentences of a file, one a line. */
#ifndef SENTENCES_CORPUS_H
#define SENTENCES_CORPUS_H

#include "encode.h"
#include "tokenizer.h"

typedef struct line {
    const char *text; /* without its end, and no 0 after it */
    size_t size;
} line;

typedef struct corpus {
    char *text;
    size_t count;
    line *lines;
    token_lists tokens;
} corpus;

/* Reads a file ("-": standard input) of at least one line, all of which are UTF-8, and cuts each into tokens, of
 * which the first `most` count. False after a line on stderr. */
bool corpus_read(const char *path, const tokenizer *t, size_t most, corpus *c);

/* One sentence of a text of so many bytes, which `name` is for messages; the text is copied. */
bool corpus_of(const char *text, size_t size, const char *name, const tokenizer *t, size_t most,
               corpus *c);

void corpus_deinit(corpus *c);

#endif
