#!/usr/bin/env python3
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Compares the tokens of `sentences tokens` with those of the package tokenizers, the reference.

    check_tokenizer.py PROGRAM MODEL [COUNT]

COUNT lines (10000): words of many scripts, accents, punctuation, symbols, emoji, rare and long words, special tokens;
then two lines for each code point of Unicode. Prints the differences; exit status 1 if there are any.
"""
import random
import subprocess
import sys

from tokenizers import Tokenizer

SCRIPTS = [  # first and last code points of letters
    (0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x24F), (0x250, 0x2FF), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x587),
    (0x5D0, 0x5EA), (0x620, 0x6D3), (0x710, 0x74F), (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FE), (0xA00, 0xA7F),
    (0xA80, 0xAFF), (0xB00, 0xB7F), (0xB80, 0xBFF), (0xC00, 0xC7F), (0xC80, 0xCFF), (0xD00, 0xD7F), (0xD80, 0xDFF),
    (0xE01, 0xE5B), (0xE80, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF),
    (0x1200, 0x139F), (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1E00, 0x1FFE),
    (0x2C00, 0x2DFF), (0x3041, 0x30FF), (0x3105, 0x312F), (0x4E00, 0x9FFF), (0xA000, 0xA4CF), (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE70, 0xFEFC), (0xFF01, 0xFFEE), (0x10330, 0x1034A), (0x10400, 0x1044F),
    (0x1D400, 0x1D7FF), (0x20000, 0x20400),
]
OTHERS = [  # marks, punctuation, symbols, controls
    (0x300, 0x36F), (0x2010, 0x205F), (0x20A0, 0x20BF), (0x2190, 0x22FF), (0x3000, 0x303F), (0x1F300, 0x1F6FF),
    (0x1F900, 0x1F9FF), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x0, 0x9), (0xB, 0x40), (0x5B, 0x60), (0x7B, 0xBF),
]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[cls]", "[MASK", "##ing", "'s", "\r", "\t", "\u3000", "\ufeff"]


def lines(count, vocabulary):
    generator = random.Random(1)

    def character(ranges):
        return chr(generator.randint(*generator.choice(ranges)))

    def word():
        kind = generator.random()
        if kind < 0.35:
            return generator.choice(vocabulary).removeprefix("##")
        if kind < 0.75:
            script = [generator.choice(SCRIPTS)]
            return "".join(character(script) for _ in range(generator.randint(1, 8)))
        if kind < 0.8:
            return generator.choice(SPECIAL)
        if kind < 0.82:
            return "ab" * generator.randint(40, 60) + generator.choice(["", "é", "c"])
        if kind < 0.9:
            return "".join(x + character(OTHERS[:1]) for x in generator.choice(vocabulary))
        return "".join(character(SCRIPTS + OTHERS) for _ in range(generator.randint(1, 6)))

    for _ in range(count):
        words = [word() for _ in range(generator.choice([0, 1, 3, 10, 20, 200]))]
        yield generator.choice([" ", " ", "", ", "]).join(words).replace("\n", " ")
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000 and c != 0xA:
            yield "a" + chr(c) + "b"
            yield chr(c) + " x"


def main(program, folder, count="10000"):
    tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    with open(folder + "/vocab.txt", encoding="utf-8") as file:
        texts = list(lines(int(count), file.read().split("\n")))
    given = subprocess.run([program, "tokens", "-", "--model", folder], input="\n".join(texts) + "\n", encoding="utf-8",
                           stdout=subprocess.PIPE, check=True).stdout.splitlines()
    assert len(given) == len(texts), f"{len(given)} lines for {len(texts)}"
    differences = 0
    for first in range(0, len(texts), 10000):
        part = texts[first:first + 10000]
        for text, wanted, got in zip(part, tokenizer.encode_batch(part), given[first:]):
            if wanted.ids != [int(x) for x in got.split()]:
                differences += 1
                print(f"{text!a}: {wanted.ids}, not {got}")
    print(f"{len(texts)} lines ({count} made up, and two for each code point): {differences} differences")
    return 1 if differences else 0


if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
sys.exit(main(*sys.argv[1:]))
