/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tokenizer, case by case, with the vocabulary of a file of its tokens. Usage: tokens VOCABULARY */
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "tokenizer.h"
#include "unicode.h"
#include "vocabulary.h"

enum { ROOM = 64 };

/* 100 characters, with room for more. */
#define TEN "ababababab"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
    const char *text, *tokens;
} cases[] = {
    {"", ""},
    {" \t\r\u3000\u2003 ", ""},
    {"the cat sat.", "the cat sat ."},
    {"The  CAT\tsleeping", "the cat sleep ##ing"},
    {"cats", "cat ##s"},
    {"catx", "[UNK]"}, /* one piece that does not fit makes the whole word unknown */
    {"xcat cat", "[UNK] cat"},
    {"café CAFÉ cafe\u0301", "cafe cafe cafe"},
    {"cat!!dog", "cat ! ! dog"},
    {"cat-dog", "cat [UNK] dog"},
    {"猫cat猫猫", "猫 cat 猫 猫"},
    {"\uFA5Ccat", "[UNK] cat"}, /* a compatibility ideograph */
    {"c\a"
     "a\u200Bt\uFEFF \uFFFD",
     "cat"},
    {"cat\U0001F408 dog", "[UNK] dog"},
    {"[CLS] cat[SEP]dog[MASK", "[CLS] cat [SEP] dog [UNK] [UNK]"},
    {"[mask]", "[UNK] [UNK] [UNK]"},
    {"\u0130", "[UNK]"},
    {"\uFF21", "[UNK]"}, /* a wide A is another letter: its decomposition is no canonical one */
    {"\u212B \u00C5", "a a"},
    {"the\u00A0cat\u2028dog", "the cat dog"},
    {TEN, "ab ##ab ##ab ##ab ##ab"},
    {HUNDRED "b cat", "[UNK] cat"},
    {HUNDRED "\u0301 cat", NULL}, /* marks do not count: 100 characters */
};

static const char *const names[] = {VOCABULARY};

static bool check(bool right, const char *what, const char *got) {
    if (!right) printf("wrong: '%s': '%s'\n", what, got);
    return right;
}

static bool run_case(const tokenizer *t, const char *text, const char *tokens) {
    int32_t ids[ROOM];
    char got[1024] = "";
    const size_t count = tokenize(t, text, strlen(text), ROOM, ids);
    for (size_t i = 0; i < count; i++) {
        strcat(got, names[ids[i]]);
        strcat(got, i + 1 < count ? " " : "");
    }
    char wanted[1024];
    if (!tokens) return check(count == 1 + 50 + 1 + 1, text, got);
    snprintf(wanted, sizeof wanted, "[CLS]%s%s [SEP]", *tokens ? " " : "", tokens);
    return check(strcmp(got, wanted) == 0, text, got);
}

/* A text is cut at `most`, with [SEP] as the last token. */
static bool run_truncation(const tokenizer *t) {
    static const char text[] = "the cat sat on the roof";
    bool good = true;
    for (size_t most = 2; most <= 10; most++) {
        int32_t ids[ROOM];
        const size_t count = tokenize(t, text, strlen(text), most, ids);
        good = check(count == (most < 8 ? most : 8) && ids[0] == 2 && ids[count - 1] == 3, text,
                     "cut") &&
               good;
    }
    int32_t ids[ROOM]; /* a word that is unknown after some of its pieces were put */
    const size_t count = tokenize(t, "abababx cat", 11, 4, ids);
    return check(count == 4 && ids[1] == 1 && ids[2] == 6, "abababx cat", "cut") && good;
}

static bool run_utf8(void) {
    static const struct {
        const char *bytes;
        size_t size, valid;
    } texts[] = {
        {"", 0, 0},
        {"a\0b", 3, 3},
        {"\xC3\xA9", 2, 2},
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"ab\xC3", 3, 2},           /* cut short */
        {"\xE2\x82", 2, 0},         /* cut short */
        {"\xC0\x80", 2, 0},         /* longer than need be */
        {"\xE0\x9F\xBF", 3, 0},     /* longer than need be */
        {"\xF0\x8F\xBF\xBF", 4, 0}, /* longer than need be */
        {"\xED\xA0\x80", 3, 0},     /* a surrogate */
        {"\xF4\x90\x80\x80", 4, 0}, /* past U+10FFFF */
        {"\xF8\x88\x80\x80\x80", 5, 0},
        {"a\x80", 2, 1},
        {"\xC3(", 2, 0},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        good = check(utf8_valid(texts[i].bytes, texts[i].size) == texts[i].valid, "UTF-8",
                     texts[i].bytes) &&
               good;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        char text[4];
        size_t length;
        const size_t size = utf8_encode(c, text);
        if (utf8_decode(text, size, &length) != c || length != size)
            return check(false, "a code point there and back", "");
    }
    return good;
}

int main(int argc, char **argv) {
    tokenizer *const t = argc == 2 ? tokenizer_open(argv[1]) : NULL;
    if (!t) return 1;
    bool good = check(tokenizer_size(t) == sizeof names / sizeof *names, "the vocabulary", "");
    for (size_t i = 0; good && i < sizeof cases / sizeof *cases; i++)
        good = run_case(t, cases[i].text, cases[i].tokens);
    good = run_truncation(t) && good;
    good = run_utf8() && good;
    tokenizer_close(t);
    return good ? 0 : 1;
}
