# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The table of docs/operations.md: it has every operation of the headers, and cpu takes the dtypes and the results that
its rows say, and no others. Usage: dtypes.py LIBRARY SOURCE"""
import re
import sys
from ctypes import (CDLL, Structure, addressof, byref, c_double, c_int, c_int64, c_size_t, c_void_p,
                    create_string_buffer)


class Tensor(Structure):
    _fields_ = [("buffer", c_void_p), ("dtype", c_int), ("ndim", c_int), ("numbers", c_int64 * 13)]


tandem, source = CDLL(sys.argv[1]), sys.argv[2]
HEADERS = [open(f"{source}/lib/include/tandem/{name}.h", encoding="utf-8").read()
           for name in "tensor ops functions reduce arrays attention layers".split()]
COLUMN = {"FLOAT": 0, "SIGNED": 1, "UNSIGNED": 1, "BOOL": 2}
DTYPES = {name: COLUMN[kind] for name, kind in re.findall(r'X\([A-Z0-9]+, "(\w+)", \d, (\w+)\)', HEADERS[0])}
NAMES, OTHERS = list(DTYPES), {"f32", "f16", "i32", "i64", "u64", "bool"}  # results that are tried, too
SHAPES = ((r"\w*_norm\w* weight|\w+ (bias|mean|variance)|\w+_rows indices|one_hot indices|arg(max|min) indices|"
           r"isin values|row_norm out|logsumexp y", [4]), (r"(reduced|dot) y|norm out", [1]), (r"stack y", [1, 4, 4]),
          (r"diff y", [3, 4]), (r"attention \w", [1, 4, 4]), (r".*", [4, 4]))
device, queue, tensors = c_void_p(), c_void_p(), {}
assert tandem.tdm_device_open(b"cpu", byref(device)) == tandem.tdm_queue_create(device, 0, byref(queue)) == 0


def tensor(dtype, parameter, is_output):
    shape = next(extents for pattern, extents in SHAPES if re.fullmatch(pattern, parameter))
    made = tensors.setdefault((dtype, *shape, is_output and parameter), Tensor())  # outputs overlap nothing
    assert made.buffer or not tandem.tdm_ones(queue, NAMES.index(dtype), len(shape), (c_int64 * 6)(*shape), byref(made))
    return byref(made)


def takes(function, parameters, first, later, result):
    """Is a call not refused, whose inputs are of these dtypes, and whose output is?"""
    arguments, dtype, reduces = [queue], first, "dims" in parameters and function not in ("flip", "roll")
    others = {"generator": create_string_buffer(16), "n": c_int64(1), "diagonal": c_int64(0),
              "count": c_size_t(function in ("concat", "stack"))}  # the rest are 0, or NULL
    for kind, name in re.findall(r"([^,]*?)\W*(\w+)(?:,|$)", parameters)[1:]:
        if name == "indices" and ("const" in kind or function == "top_k"):
            arguments.append(tensor("i64", f"{function} {name}", function == "top_k"))
        elif "const tdm_tensor *const" in kind:
            arguments.append((c_void_p * 1)(addressof(tensor(first, name, False)._obj)))
        elif "const tdm_tensor" in kind and name != "residual":
            arguments.append(tensor(dtype, f"{function} {name}", False))
            dtype = later
        elif "tdm_tensor" in kind and name not in ("residual", "sum"):
            arguments.append(tensor(result, f"{'reduced' if reduces else function} {name}", True))
        else:
            arguments.append(c_double(1) if "double" in kind else others.get(name))
    return getattr(tandem, "tdm_" + function)(*arguments) == 0


def results(words, dtype):
    """The dtypes of a result, as the page has them."""
    own = {dtype, "f32"} if words == "its own, or f32" and dtype in ("f16", "bf16") else {dtype}
    return set(NAMES) if words == "any" else own if words.startswith("its own") else set(words.split(", "))


rows, faults, found = {}, [], set()
for line in open(f"{source}/docs/operations.md", encoding="utf-8"):
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    for name in re.findall(r"`(\w+)`", cells[0]) if len(cells) == 6 else ():
        rows.setdefault(name, []).append(cells[1:])
code = re.sub(r"/\*.*?\*/", "", "".join(HEADERS), flags=re.S)
for function, text in re.findall(r"tdm_status\s+tdm_(\w+)\((tdm_queue \*queue,[^)]*)\)", code):
    if re.search(r"provider|pack_|mirror|linear_", function):
        continue  # they take what another function does
    parameters, here = " ".join(text.split()), rows.get(function, [])
    found.add(function)
    inputs = len(re.findall(r"const tdm_tensor \*(?:const \*)?(?!indices|residual)\w", parameters))
    for dtype, column in DTYPES.items():
        tried = {dtype} | (OTHERS if inputs else set())
        said = tried & set().union(*(results(row[3], dtype) for row in here if row[column] == "yes"))
        got = {result for result in tried if takes(function, parameters, dtype, dtype, result)}
        if got != said:
            faults.append(f"{function} of {dtype} has the results {sorted(got)}, in the page {sorted(said)}")
    first, later = ("f32", "f16") if any(row[0] == "yes" for row in here) else ("i32", "u8")
    mixed = "" if inputs < 2 else "yes" if takes(function, parameters, first, later, first) else "no"
    faults += [f"{function}: mixed is '{mixed}', in the page '{row[4]}'" for row in here if row[4] != mixed]
faults += [f"{name} is no operation of the headers" for name in rows.keys() - found]
print(*faults, f"{len(found)} operations, {len(faults)} faults", sep="\n")
sys.exit(bool(faults))
