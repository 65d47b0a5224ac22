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

static uint32_t random_below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* Of a program's arguments, TEXTS and SEED. Returns how many texts to make. */
static long begin_random(int argc, char **argv) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) * 1000003u;
    printf("%ld texts, seed %llu\n", count, (unsigned long long)state);
    fflush(stdout);
    return count;
}

static char written[LONGEST - 64];
static size_t length;

static void add(const char *word) {
    const size_t more = strlen(word);
    if (length + more + 1 >= sizeof written) return;
    memcpy(written + length, word, more + 1);
    length += more;
}

static const char *add_one_of(const char *const *words, size_t count) {
    const char *word = words[random_below((uint32_t)count)];
    add(word);
    return word;
}
#define ADD_ONE_OF(words) add_one_of(words, sizeof(words) / sizeof *(words))

static void add_value(int depth) {
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
