/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "unicode.h"

struct kind_range {
    uint32_t first, last;
    enum kind kind;
};

/* `count` code points from `first` on, `step` apart, become `to`, to + to_step and so on; with LIST they become the
 * values from values[to] on. */
enum { LIST = 100 };
struct fold_run {
    uint32_t first;
    uint16_t count;
    uint8_t step, to_step;
    uint32_t to;
};

struct fold_long {
    uint32_t code_point;
    int count;
    uint32_t to[MAX_FOLDED];
};

#include "unicode_table.h"

uint32_t utf8_decode(const char *text, size_t size, size_t *length) {
    const unsigned char *const bytes = (const unsigned char *)text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *length = 0;
    if (size == 0) return 0;
    const size_t count = bytes[0] < 0x80             ? 1
                         : (bytes[0] & 0xE0) == 0xC0 ? 2
                         : (bytes[0] & 0xF0) == 0xE0 ? 3
                         : (bytes[0] & 0xF8) == 0xF0 ? 4
                                                     : 0;
    if (count == 0 || count > size) return 0;
    uint32_t code_point = count == 1 ? bytes[0] : bytes[0] & (0x7Fu >> count);
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 0;
        code_point = code_point << 6 | (bytes[i] & 0x3F);
    }
    if (code_point < least[count] || code_point > 0x10FFFF ||
        (code_point >= 0xD800 && code_point <= 0xDFFF))
        return 0;
    *length = count;
    return code_point;
}

size_t utf8_encode(uint32_t code_point, char *text) {
    if (code_point < 0x80) {
        text[0] = (char)code_point;
        return 1;
    }
    const size_t count = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i > 0; i--, code_point >>= 6)
        text[i] = (char)(0x80 | (code_point & 0x3F));
    text[0] = (char)((0xF00u >> count & 0xFF) | code_point);
    return count;
}

size_t utf8_valid(const char *text, size_t size) {
    size_t at = 0;
    for (size_t length; at < size; at += length) {
        utf8_decode(text + at, size - at, &length);
        if (length == 0) break;
    }
    return at;
}

enum kind unicode_kind(uint32_t code_point) {
    size_t low = 0, high = sizeof kinds / sizeof *kinds;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code_point < kinds[middle].first)
            high = middle;
        else if (code_point > kinds[middle].last)
            low = middle + 1;
        else
            return kinds[middle].kind;
    }
    return LETTER;
}

/* A syllable of Hangul by the arithmetic of the Unicode standard (section 3.12): two or three letters. */
static int fold_hangul(uint32_t syllable, uint32_t *folded) {
    enum { LEADING = 0x1100, VOWEL = 0x1161, TRAILING = 0x11A7, VOWELS = 21, TRAILINGS = 28 };
    folded[0] = LEADING + syllable / (VOWELS * TRAILINGS);
    folded[1] = VOWEL + syllable / TRAILINGS % VOWELS;
    folded[2] = TRAILING + syllable % TRAILINGS;
    return syllable % TRAILINGS ? 3 : 2;
}

static uint32_t fold_by_run(const struct fold_run *run, uint32_t code_point) {
    const uint32_t distance = code_point - run->first;
    if (distance % run->step || distance / run->step >= run->count) return code_point;
    if (run->to_step == LIST) return values[run->to + distance];
    return run->to + distance / run->step * run->to_step;
}

int unicode_fold(uint32_t code_point, uint32_t folded[MAX_FOLDED]) {
    if (code_point >= 0xAC00 && code_point <= 0xD7A3)
        return fold_hangul(code_point - 0xAC00, folded);
    for (size_t i = 0; i < sizeof long_folds / sizeof *long_folds; i++) {
        if (long_folds[i].code_point != code_point) continue;
        for (int j = 0; j < long_folds[i].count; j++)
            folded[j] = long_folds[i].to[j];
        return long_folds[i].count;
    }
    /* the last run that does not begin after it */
    size_t low = 0, high = sizeof folds / sizeof *folds;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (folds[middle].first <= code_point)
            low = middle + 1;
        else
            high = middle;
    }
    folded[0] = low ? fold_by_run(&folds[low - 1], code_point) : code_point;
    return 1;
}
