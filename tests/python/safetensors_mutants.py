# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Damaged safetensors files, each read by Python's package and by us: both take it, or neither does.

    safetensors_mutants.py LIBTANDEM [COUNT]

A mutant is a valid file with some bytes of its header changed, left out, doubled or taken from a list of words.
Allowed to differ is what tandem/state_dict.h says we refuse. The seed is TDM_TEST_SEED or random, and printed.
"""

import collections
import ctypes
import os
import random
import struct
import sys

from safetensors import deserialize

TEXTS = ['{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}',
         '{"__metadata__":{"k":"v"},"b":{"dtype":"I64","shape":[1],"data_offsets":[4,12]},'
         '"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}',
         '{"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"y":{"dtype":"BOOL","shape":[0,3],"data_offsets":[1,1]}}',
         "{}"]
WORDS = ["null", "true", "-1", "0", "1e3", "1.0", "18446744073709551616", "9223372036854775807", '""', "{}", "[]", ",",
         ":", "}", "{", "]", "[", '"', "\\", "\\u0000", "\\ud800", "\x00", "\xff", " ", "\n", "F64", "F8_E4M3", "C64",
         "I16", "__metadata__", '"a":1,', '"extra":[1,{"b":null}],', "4", "24", "2"]
# Files that we refuse and Python's reader takes, by words of our message.
DOCUMENTED = ["is an empty name", "does not begin with '{'", "dimensions", "F8_E4M3", "C64", "NUL byte in object key",
              "u0000 is not allowed", "is 2^58 or more"]


def mutant(rng):
    text = bytearray(rng.choice(TEXTS).encode("utf-8"))
    data = {0: 24, 1: 12, 2: 1, 3: 0}[[t.encode() for t in TEXTS].index(bytes(text))]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        past = min(len(text), at + rng.choice([0, 0, 1, 1, 2, 5]))
        word = rng.choice(WORDS).encode("latin-1") if rng.random() < 0.7 else rng.randbytes(1)
        text[at:past] = rng.choice([word, b"", text[at:past] * 2, word])
        if not text:
            text = bytearray(b"{}")
    size = len(text) if rng.random() < 0.95 else max(0, len(text) + rng.choice([-1, 1, 8, 1 << 20]))
    return struct.pack("<Q", size) + bytes(text) + bytes(max(0, data + (rng.random() < 0.05) * rng.choice([-1, 1])))


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.tdm_last_error.restype = ctypes.c_char_p
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    seed = int(os.environ.get("TDM_TEST_SEED") or random.getrandbits(32))
    print("TDM_TEST_SEED=%d" % seed)
    rng = random.Random(seed)
    results = collections.Counter()
    memory = os.memfd_create("mutant")  # a regular file, which nothing syncs
    path = "/proc/self/fd/%d" % memory
    for _ in range(count):
        content = mutant(rng)
        os.ftruncate(memory, 0)
        os.pwrite(memory, content, 0)
        try:
            theirs = sorted(name for name, _ in deserialize(content))
        except Exception as error:  # of a class of the package's own
            theirs, why = None, str(error)
        handle = ctypes.c_void_p()
        taken = library.tdm_file_open(path.encode(), ctypes.byref(handle)) == 0
        message = "" if taken else library.tdm_last_error().decode("utf-8", "replace")
        if taken:
            names = library.tdm_file_get_count(handle)
            library.tdm_file_destroy(handle)
        if taken == (theirs is not None):
            results["taken by both" if taken else "refused by both"] += 1
            if taken and names != len(theirs):
                print("%d tensors, not %d: %r" % (names, len(theirs), content))
                return 1
        elif not taken and any(word in message for word in DOCUMENTED):
            results["refused by us, as documented"] += 1
        elif taken and b"-0" in content:
            results["taken by us, as -0 is 0"] += 1
        else:
            results["differ"] += 1
            print("%s by us (%s), %s by Python (%s): %r" % (
                "taken" if taken else "refused", message.replace(path, "FILE"),
                "refused" if taken else "taken", why if theirs is None else "", content))
    print(", ".join("%d %s" % (n, what) for what, n in sorted(results.items())))
    return 1 if results["differ"] or not results["taken by both"] else 0


sys.exit(main())
