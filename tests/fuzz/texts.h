/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the fuzz targets; and, without libFuzzer, texts of the language's own words at random. */
#ifndef FUZZ_TEXTS_H
#define FUZZ_TEXTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONGEST = 4096 };

static inline bool is_of_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Is it a word of the text? Parameters that are not are refused. */
static inline bool is_used(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || !is_of_word(at[-1])) && !is_of_word(at[length])) return true;
    return false;
}

#if !defined(TDM_LIBFUZZER)
static uint64_t state;

static inline uint32_t random_below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static char written[LONGEST - 64];
static size_t length;

/* The kept corpus, in a file of the folder FUZZ_CORPUS: an input a line, with \\, \n and \xNN as printf has them. */
static struct corpus_line {
    size_t size;
    char *bytes;
} corpus[512];
static size_t corpus_lines;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline size_t decode(const char *text, char *bytes) {
    size_t size = 0;
    while (*text && *text != '\n') {
        const char escape = *text == '\\' ? text[1] : '\0';
        char digits[3] = "";
        if (escape == 'x') memcpy(digits, text + 2, 2);
        bytes[size++] = escape == 'x'   ? (char)strtoul(digits, NULL, 16)
                        : escape == 'n' ? '\n'
                                        : *text;
        text += escape == 'x' ? 4 : escape ? 2 : 1;
    }
    return size;
}

static inline void run_corpus(const char *target) {
    static char text[4 * LONGEST];
    snprintf(text, sizeof text, "%s/%s.txt", FUZZ_CORPUS, target);
    FILE *file = fopen(text, "r");
    if (!file) perror(text), exit(1);
    while (corpus_lines < sizeof corpus / sizeof *corpus && fgets(text, sizeof text, file)) {
        struct corpus_line *line = &corpus[corpus_lines++];
        line->bytes = malloc(strlen(text) + 1);
        if (!line->bytes) abort();
        line->size = decode(text, line->bytes);
        LLVMFuzzerTestOneInput((const uint8_t *)line->bytes, line->size);
    }
    fclose(file);
}

/* Runs the target's corpus. Of a program's arguments, INPUTS and SEED. Returns how many to make. */
static inline long begin_random(int argc, char **argv, const char *target) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000003u;
    run_corpus(target);
    printf("%zu kept, %ld new inputs, seed %llu\n", corpus_lines, count, (unsigned long long)state);
    fflush(stdout);
    return count;
}

/* A line in `written`, the start of another perhaps before its end, with up to three bytes changed, put in or left out.
 * Returns its size. */
static inline size_t change_line(void) {
    const struct corpus_line *a = &corpus[random_below((uint32_t)corpus_lines)];
    const struct corpus_line *b =
        random_below(4) ? a : &corpus[random_below((uint32_t)corpus_lines)];
    const size_t cut = random_below((uint32_t)(a->size < b->size ? a->size : b->size) + 1);
    size_t size = b->size;
    memcpy(written, b->bytes, b->size);
    memcpy(written, a->bytes, cut);
    for (uint32_t i = random_below(4); i > 0 && size > 1 && size < sizeof written - 1; i--) {
        char *at = written + random_below((uint32_t)size);
        const uint32_t how = random_below(4);
        const size_t rest = size - (size_t)(at - written);
        if (how == 0) memmove(at, at + 1, rest - 1), size--;
        if (how == 1) memmove(at + 1, at, rest), size++;
        if (how > 0)
            *at = how == 3 ? written[random_below((uint32_t)size)] : (char)random_below(256);
    }
    return size;
}

static inline void add(const char *word) {
    const size_t more = strlen(word);
    if (length + more + 1 >= sizeof written) return;
    memcpy(written + length, word, more + 1);
    length += more;
}

static inline const char *add_one_of(const char *const *words, size_t count) {
    const char *word = words[random_below((uint32_t)count)];
    add(word);
    return word;
}
#define ADD_ONE_OF(words) add_one_of(words, sizeof(words) / sizeof *(words))

static inline void add_value(int depth) {
    static const char *const values[] = {
        "x",     "b",  "x",   "s",    "k",     "z",          "t",
        "0",     "1",  "0.5", "1e-3", "0x1F",  "2147483648", "9999999999999999999",
        "1e999", "pi", "nan", "inf",  "index", "row",        "column",
        "true"};
    static const char *const unary[] = {"-",      "~",     "!",    "exp(",   "sqrt(", "abs(",
                                        "i32(",   "u64(",  "f64(", "bool(",  "tanh(", "gelu(",
                                        "round(", "sign(", "u32(", "isnan(", "("};
    static const char *const binary[] = {" + ",  " - ", " * ",  " / ",  " % ",  " << ",
                                         " >> ", " < ", " <= ", " == ", " != ", " & ",
                                         " ^ ",  " | ", " && ", " || "};
    static const char *const calls[] = {"max(", "min(", "pow(", "remainder(", "nextafter("};
    static const char *const calls_of_three[] = {"where(", "clamp(", "fma("};
    switch (depth > 0 ? random_below(8) : 0) {
    case 0:
    case 1:
        ADD_ONE_OF(values);
        return;
    case 2:
    case 3: {
        const char *word = ADD_ONE_OF(unary);
        add_value(depth - 1);
        if (strchr(word, '(')) add(")");
        return;
    }
    case 4:
        add_value(depth - 1);
        add(" ? ");
        add_value(depth - 1);
        add(" : ");
        add_value(depth - 1);
        return;
    case 5: {
        const bool three = random_below(2);
        if (three)
            ADD_ONE_OF(calls_of_three);
        else
            ADD_ONE_OF(calls);
        for (int i = 0; i < (three ? 3 : 2); i++) {
            if (i) add(", ");
            add_value(depth - 1);
        }
        add(")");
        return;
    }
    default:
        add_value(depth - 1);
        ADD_ONE_OF(binary);
        add_value(depth - 1);
        return;
    }
}
#endif
#endif
