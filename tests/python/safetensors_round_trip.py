# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Our safetensors files against those of Python's package, byte by byte and both ways.

    safetensors_round_trip.py RESAVE DEVICE...

RESAVE is the program of resave.c. A file that Python wrote, loaded and saved by us, must be the same
file; one that we wrote must be read by Python, and be the same when Python writes it again. The seed is
TDM_TEST_SEED or random, and printed.
"""

import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile

from safetensors import TensorSpec, deserialize, serialize

DTYPES = {"F32": ("float32", 4), "F64": ("float64", 8), "F16": ("float16", 2),
          "BF16": ("bfloat16", 2), "I8": ("int8", 1), "I16": ("int16", 2), "I32": ("int32", 4),
          "I64": ("int64", 8), "U8": ("uint8", 1), "U16": ("uint16", 2), "U32": ("uint32", 4),
          "U64": ("uint64", 8), "BOOL": ("bool", 1)}
SHAPES = [[], [1], [7], [0], [3, 0, 2], [5, 4], [1, 1, 1, 1, 1, 1], [2, 3, 1, 2, 2, 2], [70001]]
NAMES = ["a", "Z", "model.layers.10.weight", "model.layers.9.weight", "\u00e9\u20ac\U0001f642",
         "quote\" back\\slash /", "\x01\x1f\x7f\t\n\r\b\f", "\u2028", "~", " ", "{[,:]}"]


def count(shape):
    elements = 1
    for extent in shape:
        elements *= extent
    return elements


def random_tensors(rng):
    """name -> (dtype, shape, bytes), with any bit patterns."""
    names = NAMES + ["t%d" % i for i in range(40)]
    rng.shuffle(names)
    tensors = {}
    for name in names[: rng.randint(0, len(names))]:
        dtype = rng.choice(sorted(DTYPES))
        shape = rng.choice(SHAPES)
        tensors[name] = (dtype, shape, rng.randbytes(count(shape) * DTYPES[dtype][1]))
    return tensors


def python_bytes(tensors, metadata):
    alive = {name: ctypes.create_string_buffer(data, max(len(data), 1))
             for name, (_, _, data) in tensors.items()}
    specs = {name: TensorSpec(dtype=DTYPES[dtype][0], shape=shape,
                              data_ptr=ctypes.addressof(alive[name]), data_len=len(data))
             for name, (dtype, shape, data) in tensors.items()}
    return bytes(serialize(specs, metadata))


def python_tensors(file):
    return {name: (entry["dtype"], list(entry["shape"]), bytes(entry["data"]))
            for name, entry in deserialize(file)}


def header_of(file):
    return json.loads(file[8: 8 + int.from_bytes(file[:8], "little")])


def scrambled_bytes(rng, tensors, metadata):
    """The same content in an order, and with blanks, that no writer chooses."""
    names = list(tensors)
    rng.shuffle(names)
    header, data = {}, b""
    for name in names:
        dtype, shape, content = tensors[name]
        header[name] = {"shape": shape, "data_offsets": [len(data), len(data) + len(content)],
                        "dtype": dtype}
        data += content
    header = dict(rng.sample(sorted(header.items()), len(header)))
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header, ensure_ascii=rng.random() < 0.5).encode() + b" " * rng.randint(0, 9)
    return len(text).to_bytes(8, "little") + text + data


class Resaver:
    def __init__(self, program, device, folder):
        self.program, self.device, self.folder = program, device, folder

    def __call__(self, file):
        source, target = (os.path.join(self.folder, name) for name in ("in", "out"))
        with open(source, "wb") as stream:
            stream.write(file)
        done = subprocess.run([self.program, self.device, source, target], capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, "resave: %s%s" % (done.stdout, done.stderr)
        assert sorted(os.listdir(self.folder)) == ["in", "out"], os.listdir(self.folder)
        with open(target, "rb") as stream:
            return stream.read()


def check(rng, resave):
    tensors = random_tensors(rng)
    # Python writes several entries of metadata in an order that changes from run to run.
    one = rng.choice([None, {"format": "pt"}, {"\u00e9\n": "\"\\\x02\u20ac"}])
    many = {"k%d" % i: "v" * i for i in rng.sample(range(20), 9)}

    python = python_bytes(tensors, one)
    assert resave(python) == python, "a file of Python's came back otherwise"

    ours = resave(scrambled_bytes(rng, tensors, one))
    assert ours == python, "a scrambled file was not written as Python does"
    assert python_tensors(ours) == tensors, "Python reads other tensors from our file"
    assert python_bytes(python_tensors(ours), one) == ours, "Python writes our file otherwise"

    ours = resave(scrambled_bytes(rng, tensors, many))
    metadata = header_of(ours)["__metadata__"]
    assert list(metadata.items()) == sorted(many.items()), "metadata: %s" % metadata
    assert python_tensors(ours) == tensors, "Python reads other tensors along with metadata"
    assert header_of(resave(python_bytes(tensors, many)))["__metadata__"] == many


def main():
    seed = int(os.environ.get("TDM_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print("TDM_TEST_SEED=%d" % seed)
    for device in sys.argv[2:]:
        rng = random.Random(seed)
        for turn in range(6):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(rng, Resaver(sys.argv[1], device, folder))
                except AssertionError as failure:
                    sys.exit("%s, turn %d: %s" % (device, turn, failure))
        print("%s: the files are the same" % device)


main()
