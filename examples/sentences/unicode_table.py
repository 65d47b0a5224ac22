#!/usr/bin/env python3
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Makes unicode_table.h: what BERT's tokenizer makes of each code point.

    unicode_table.py > unicode_table.h      with a Python whose unicodedata is of Unicode 14 (3.11)
    unicode_table.py --check FILE           exit status 1: FILE is another table; 77: Python is of another Unicode

Two tables. "kinds" are ranges of code points that are dropped (controls, formats, private use and the marks that
carry accents), white space, punctuation, or ideographs, which are words by themselves. "folds" is the canonical
decomposition (NFD) without marks, in lower case: runs of `count` code points, `step` apart, which become `to`,
`to + to_step` and so on or, where to_step is LIST, the values from values[to] on. Hangul is computed by the C code.

The marks, formats and punctuation are those of Unicode 8, on which the Rust crate of the reference tokenizer
stands; LATER has the ranges in which Python's newer tables have more.
"""
import sys
import unicodedata

VERSION = "14.0.0"
LATER = [
    (0x61D, 0x61D), (0x7FD, 0x7FD), (0x890, 0x8E2), (0x9FD, 0x9FE), (0xA76, 0xA76), (0xAFA, 0xAFF), (0xB55, 0xB55),
    (0xC04, 0xC3C), (0xC77, 0xC77), (0xC84, 0xC84), (0xD00, 0xD00), (0xD3B, 0xD3C), (0xD81, 0xD81), (0xEBA, 0xEBA),
    (0x180F, 0x180F), (0x1885, 0x1886), (0x1ABF, 0x1ACE), (0x1B7D, 0x1B7E), (0x1DF6, 0x1DFB), (0x2E43, 0x2E5D),
    (0xA82C, 0xA82C), (0xA8C5, 0xA8C5), (0xA8FF, 0xA8FF), (0xA9BD, 0xA9BD), (0x10D24, 0x10F89), (0x11070, 0x11074),
    (0x110C2, 0x110CD), (0x111C9, 0x111C9), (0x111CF, 0x111CF), (0x1123E, 0x1123E), (0x1133B, 0x1133B),
    (0x11438, 0x1145E), (0x11660, 0x1166C), (0x116B9, 0x116B9), (0x1182F, 0x11FFF), (0x12FF1, 0x13438),
    (0x16E97, 0x16F4F), (0x16FE2, 0x16FE4), (0x1CF00, 0x1CF46), (0x1E000, 0x1E2EF), (0x1E944, 0x1E95F),
]
CHANGED = {0x166D: "Po", 0x1734: "Mn", 0x111C9: "Po"}  # of another category in Unicode 8
SPACE = [(0x9, 0xA), (0xD, 0xD), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
         (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]
IDEOGRAPH = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
             (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def points(ranges):
    return frozenset(c for first, last in ranges for c in range(first, last + 1))


LATER, SPACE, IDEOGRAPH = points(LATER), points(SPACE), points(IDEOGRAPH)


def category(c):
    if c in CHANGED:
        return CHANGED[c]
    name = unicodedata.category(chr(c))
    return "Cn" if (name in ("Mn", "Cf") or name[0] == "P") and c in LATER else name


def kind_of(c):
    if c in SPACE:
        return "SPACE"
    if c in (0, 0xFFFD) or category(c) in ("Cc", "Cf", "Co", "Mn"):
        return "DROPPED"
    if category(c)[0] == "P" or (0x21 <= c <= 0x7E and not chr(c).isalnum()):
        return "PUNCTUATION"
    return "IDEOGRAPH" if c in IDEOGRAPH else None


def kinds():
    ranges = []
    for c in CODE_POINTS:
        name = kind_of(c)
        if ranges and ranges[-1][1] in (c - 1, 0xD7FF if c == 0xE000 else -1) and ranges[-1][2] == name:
            ranges[-1][1] = c
        elif name:
            ranges.append([c, c, name])
    return ranges


def fold(c):
    parts = unicodedata.normalize("NFD", chr(c))
    return [ord(x.lower()) for x in parts if category(ord(x)) != "Mn"]


def run_from(singles, start):
    """The longest run that begins there: its length, step and to_step."""
    best = (1, 1, 0)
    for step in (1, 2):
        second = singles.get(start + step)
        if second is None or (step == 2 and start + 1 in singles):
            continue
        to_step, length = second - singles[start], 2
        while singles.get(start + length * step) == singles[start] + length * to_step and not (
                step == 2 and start + length * step - 1 in singles):
            length += 1
        if to_step in (0, 1, 2) and length > best[0]:
            best = (length, step, to_step)
    return best


def folds():
    singles, longer = {}, []
    for c in CODE_POINTS:
        if 0xAC00 <= c <= 0xD7A3 or kind_of(c) in ("DROPPED", "SPACE"):
            continue
        parts = fold(c)
        if len(parts) > 1:
            longer.append((c, parts))
        elif parts != [c]:
            singles[c] = parts[0]
    runs, values, listed = [], [], None
    c = 0
    while c < 0x110000:
        if c not in singles:
            c += 1
            continue
        length, step, to_step = run_from(singles, c)
        if length > 2:
            runs.append((c, length, step, str(to_step), singles[c]))
            c += (length - 1) * step + 1
        else:  # a list goes on over gaps of three
            if not (runs and runs[-1][3] == "LIST" and c - runs[-1][0] - runs[-1][1] <= 3):
                runs.append((c, 0, 1, "LIST", len(values)))
            first, count = runs[-1][:2]
            values += [*range(first + count, c), singles[c]]
            runs[-1] = (first, c - first + 1, 1, "LIST", runs[-1][4])
            c += 1
    return runs, values, longer


def lines(items):
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            yield line
            line = "   "
        line += " " + item + ","
    yield line


def table():
    yield "/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */"
    yield f"/* Made by unicode_table.py of Unicode {VERSION}: do not edit. Included by unicode.c alone. */"
    yield "/* clang-format off */"
    yield "static const struct kind_range kinds[] = {"
    yield from lines("{0x%X, 0x%X, %s}" % (first, last, name) for first, last, name in kinds())
    yield "};"
    runs, values, longer = folds()
    yield "static const struct fold_run folds[] = { /* first, count, step, to_step, to */"
    yield from lines("{0x%X, %d, %d, %s, %s}" % (*run[:4], run[4] if run[3] == "LIST" else "0x%X" % run[4])
                     for run in runs)
    yield "};"
    yield "static const uint32_t values[] = {"
    yield from lines("0x%X" % value for value in values)
    yield "};"
    yield "static const struct fold_long long_folds[] = {"
    yield from lines("{0x%X, %d, {%s}}" % (c, len(to), ", ".join("0x%X" % x for x in to)) for c, to in longer)
    yield "};"


def main():
    if unicodedata.unidata_version != VERSION:
        print(f"unicode_table.py: this Python is of Unicode {unicodedata.unidata_version}, the table of {VERSION}",
              file=sys.stderr)
        sys.exit(77)
    text = "\n".join(table()) + "\n"
    if sys.argv[1:2] == ["--check"]:
        with open(sys.argv[2], encoding="ascii") as file:
            if file.read() != text:
                sys.exit(f"unicode_table.py: {sys.argv[2]} is not what this script makes")
    else:
        sys.stdout.write(text)


main()
