/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, and what BERT's tokenizer makes of a code point. */
#ifndef SENTENCES_UNICODE_H
#define SENTENCES_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* The classes of code points for the tokenizer. */
enum kind {
    LETTER,      /* any that is none of the others: a part of a word */
    DROPPED,     /* control, format, private use, and the marks that carry accents */
    SPACE,       /* white space */
    PUNCTUATION, /* a word by itself */
    IDEOGRAPH    /* Chinese: a word by itself, too */
};

/* The code point at text[0], and in *length how many bytes it has (1 to 4, of at most `size`); *length is 0 where
 * there is no valid UTF-8: cut short, longer than need be, a surrogate, or past U+10FFFF. */
uint32_t utf8_decode(const char *text, size_t size, size_t *length);

/* Writes a code point, 1 to 4 bytes, and returns how many. */
size_t utf8_encode(uint32_t code_point, char *text);

/* How many bytes from the start are valid UTF-8: `size` if all are. */
size_t utf8_valid(const char *text, size_t size);

enum kind unicode_kind(uint32_t code_point);

/* Without its accents, and in lower case: 1 to 3 code points, whose number is returned. */
enum { MAX_FOLDED = 3 };
int unicode_fold(uint32_t code_point, uint32_t folded[MAX_FOLDED]);

#endif
