/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The steps of transformers' BertTokenizer for an uncased model:
 *
 *   1. Control characters are dropped, white space of any kind parts words, accents and capitals go, punctuation
 *      and ideographs are words by themselves (unicode.h).
 *   2. A word is cut into pieces of the vocabulary, the longest first; pieces after the first begin with "##".
 *      A word that cannot be cut, or has more than 100 characters, is [UNK]. */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "unicode.h"

enum { MAX_WORD = 100, MAX_WORD_BYTES = 4 * MAX_WORD };

typedef struct token {
    const char *text; /* in the vocabulary's bytes, without its end */
    size_t size;
} token;

struct tokenizer {
    char *bytes;
    token *tokens;
    size_t count;
    int32_t *slots; /* a hash table of numbers, -1 where a slot is free */
    size_t mask;
    size_t longest; /* bytes of the longest token */
    int32_t unknown, first, last;
};

/* Words that stand for themselves wherever they are in a text. */
static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

static size_t hash(const char *text, size_t size) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

/* The slot of that token, or the free one where it would be. */
static size_t find_slot(const tokenizer *t, const char *text, size_t size) {
    size_t slot = hash(text, size) & t->mask;
    while (t->slots[slot] >= 0) {
        const token *const other = &t->tokens[t->slots[slot]];
        if (other->size == size && memcmp(other->text, text, size) == 0) break;
        slot = (slot + 1) & t->mask;
    }
    return slot;
}

static int32_t find(const tokenizer *t, const char *text, size_t size) {
    return size > t->longest ? -1 : t->slots[find_slot(t, text, size)];
}

/* Parts the bytes into lines, which are the tokens. */
static bool read_tokens(tokenizer *t, size_t size) {
    size_t lines = 1, slots = 16;
    for (size_t i = 0; i < size; i++)
        lines += t->bytes[i] == '\n';
    while (slots < 2 * lines)
        slots *= 2;
    t->mask = slots - 1;
    t->tokens = malloc(lines * sizeof *t->tokens);
    t->slots = malloc(slots * sizeof *t->slots);
    if (!t->tokens || !t->slots) return fail("out of memory");
    memset(t->slots, -1, slots * sizeof *t->slots);
    for (size_t at = 0; at < size;) {
        const char *const line = t->bytes + at;
        const char *const end = memchr(line, '\n', size - at);
        size_t length = end ? (size_t)(end - line) : size - at;
        at += length + 1;
        if (length > 0 && line[length - 1] == '\r') length--;
        t->tokens[t->count] = (token){line, length};
        t->slots[find_slot(t, line, length)] = (int32_t)t->count++;
        if (length > t->longest) t->longest = length;
    }
    return true;
}

tokenizer *tokenizer_open(const char *path) {
    tokenizer *const t = calloc(1, sizeof *t);
    size_t size;
    bool good = t ? true : fail("out of memory");
    if (good) t->bytes = read_file(path, &size);
    good = good && t->bytes;
    if (good) good = read_tokens(t, size);
    if (good) {
        t->unknown = find(t, "[UNK]", 5);
        t->first = find(t, "[CLS]", 5);
        t->last = find(t, "[SEP]", 5);
        if (t->unknown < 0 || t->first < 0 || t->last < 0)
            good = fail("%s: a vocabulary has the tokens [UNK], [CLS] and [SEP]", path);
    }
    if (good) return t;
    tokenizer_close(t);
    return NULL;
}

void tokenizer_close(tokenizer *t) {
    if (!t) return;
    free(t->bytes);
    free(t->tokens);
    free(t->slots);
    free(t);
}

size_t tokenizer_size(const tokenizer *t) { return t->count; }

/* A text on its way to tokens: the word so far, and the tokens so far. */
typedef struct output {
    const tokenizer *t;
    int32_t *ids;
    size_t count, most;
    char word[MAX_WORD_BYTES];
    size_t size, characters; /* of the word; of one that is too long only the characters go on */
} output;

static void put(output *o, int32_t id) {
    if (o->count < o->most) o->ids[o->count++] = id;
}

/* Ends the word and cuts it into pieces. */
static void end_word(output *o) {
    const size_t size = o->size, characters = o->characters, before = o->count;
    o->size = o->characters = 0;
    if (characters == 0) return;
    if (characters > MAX_WORD) {
        put(o, o->t->unknown);
        return;
    }
    char piece[MAX_WORD_BYTES + 2] = "##";
    for (size_t at = 0; at < size;) {
        int32_t id = -1;
        size_t end = size;
        for (; end > at; end--) {
            /* Bytes inside a character match no token, as tokens are whole characters. */
            memcpy(piece + 2, o->word + at, end - at);
            id = at == 0 ? find(o->t, piece + 2, end - at) : find(o->t, piece, end - at + 2);
            if (id >= 0) break;
        }
        if (id < 0) { /* no piece fits: the whole word is unknown */
            o->count = before;
            put(o, o->t->unknown);
            return;
        }
        put(o, id);
        at = end;
    }
}

static void put_character(output *o, uint32_t code_point) {
    if (unicode_kind(code_point) == PUNCTUATION) {
        end_word(o);
        o->size = utf8_encode(code_point, o->word);
        o->characters = 1;
        end_word(o);
        return;
    }
    if (o->characters < MAX_WORD) o->size += utf8_encode(code_point, o->word + o->size);
    o->characters++;
}

/* The number of a special token at the start of the text, and its length; -1 where there is none. */
static int32_t find_special(const tokenizer *t, const char *text, size_t size, size_t *length) {
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        *length = strlen(special[i]);
        if (*length <= size && memcmp(text, special[i], *length) == 0)
            return find(t, text, *length);
    }
    return -1;
}

size_t tokenize(const tokenizer *t, const char *text, size_t size, size_t most, int32_t *ids) {
    output o = {.t = t, .ids = ids, .most = most - 1};
    put(&o, t->first);
    size_t length;
    for (size_t at = 0; at < size && o.count < o.most; at += length) {
        if (text[at] == '[') {
            const int32_t id = find_special(t, text + at, size - at, &length);
            if (id >= 0) {
                end_word(&o);
                put(&o, id);
                continue;
            }
        }
        const uint32_t code_point = utf8_decode(text + at, size - at, &length);
        if (length == 0) break;
        const enum kind kind = unicode_kind(code_point);
        if (kind == DROPPED) continue;
        if (kind == SPACE || kind == IDEOGRAPH) end_word(&o);
        if (kind == SPACE) continue;
        uint32_t folded[MAX_FOLDED];
        const int count = unicode_fold(code_point, folded);
        for (int i = 0; i < count; i++)
            put_character(&o, folded[i]);
        if (kind == IDEOGRAPH) end_word(&o);
    }
    end_word(&o);
    o.most = most;
    put(&o, t->last);
    return o.count;
}
