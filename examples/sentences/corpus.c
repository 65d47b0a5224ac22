/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "corpus.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "unicode.h"

/* Lines end in "\n"; one after the last line's is none. */
static bool split(corpus *c, const char *name, size_t size) {
    size_t count = size > 0 && c->text[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        count += c->text[i] == '\n';
    if (count == 0) return fail("%s: there are no sentences", name);
    c->lines = malloc(count * sizeof *c->lines);
    if (!c->lines) return fail("out of memory");
    for (size_t at = 0; at < size;) {
        const char *const text = c->text + at;
        const char *const end = memchr(text, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) : size - at;
        const size_t valid = utf8_valid(text, length);
        if (valid < length)
            return fail("%s: line %zu is not UTF-8, from its byte %zu on", name, c->count + 1,
                        valid + 1);
        c->lines[c->count++] = (line){text, length};
        at += length + 1;
    }
    return true;
}

static bool cut(corpus *c, const tokenizer *t, size_t most) {
    token_lists *const tokens = &c->tokens;
    size_t room = 0, used = 0;
    tokens->starts = malloc((c->count + 1) * sizeof *tokens->starts);
    if (!tokens->starts) return fail("out of memory");
    for (size_t i = 0; i < c->count; i++) {
        if (room - used < most) {
            room = 2 * room + 1024 + most;
            int32_t *const larger = realloc(tokens->ids, room * sizeof *larger);
            if (!larger) return fail("out of memory");
            tokens->ids = larger;
        }
        tokens->starts[i] = used;
        used += tokenize(t, c->lines[i].text, c->lines[i].size, most, tokens->ids + used);
    }
    tokens->starts[c->count] = used;
    tokens->count = c->count;
    return true;
}

static bool finish(corpus *c, const char *name, size_t size, const tokenizer *t, size_t most) {
    if (c->text && split(c, name, size) && cut(c, t, most)) return true;
    corpus_deinit(c);
    return false;
}

bool corpus_read(const char *path, const tokenizer *t, size_t most, corpus *c) {
    size_t size;
    *c = (corpus){.text = read_file(path, &size)};
    return finish(c, strcmp(path, "-") == 0 ? "standard input" : path, size, t, most);
}

bool corpus_of(const char *text, size_t size, const char *name, const tokenizer *t, size_t most,
               corpus *c) {
    *c = (corpus){.text = malloc(size + 1)};
    if (!c->text) return fail("out of memory");
    memcpy(c->text, text, size);
    c->text[size] = '\n'; /* so that no text is an empty line */
    return finish(c, name, size + 1, t, most);
}

void corpus_deinit(corpus *c) {
    free(c->text);
    free(c->lines);
    free(c->tokens.starts);
    free(c->tokens.ids);
    *c = (corpus){0};
}
