#!/usr/bin/env python3
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""Times the batches of `sentences bench` in ONNX Runtime and PyTorch as well, and prints a table in Markdown.

    python3 peers.py [--prefix COMMAND] ROUNDS PROGRAM [OPTION...]
    python3 peers.py 3 build/release/examples/sentences --device cpu

PROGRAM is `sentences`, and each OPTION one of `sentences bench`. In every round each column is measured once, in a
separate process that has a thread for each core. A time is the median over the rounds of the medians of a process.
--prefix has each of these processes started by a command, such as "taskset -c 0,1". Weights are random.

Takes numpy. A library that is not installed is left out: ONNX Runtime takes onnxruntime and onnx, PyTorch takes torch.
Their embeddings are compared before anything is timed. The libraries pad the ragged row. ONNX Runtime gets a mask in
all rows, as exported models do; PyTorch only in the ragged row. torch.compile compiles each shape separately, with
frozen weights, so that it can pack them. The peak of memory is that of a process, less, for a library in Python, the
peak of a process that only imports it.
"""
import argparse
import importlib.util
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

LAYERS, HEADS, HIDDEN, INTERMEDIATE, VOCABULARY, POSITIONS, EPSILON = 6, 12, 384, 1536, 30522, 512, 1e-12
ROWS = {f"{count}x{length}": [length] * count for count, length in (
    (1, 16), (1, 32), (1, 128), (8, 16), (8, 32), (8, 128), (32, 32), (32, 128))}
ROWS["32x32 ragged"] = [8, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 18, 19, 20, 20, 21, 22, 22, 23, 23, 24, 24, 25,
                        26, 26, 27, 28, 29, 30, 31, 32]
TANDEM = {"Tandem f32": "f32", "Tandem bf16": "bf16"}
PEERS = {"ONNX Runtime, fused": "onnxruntime", "ONNX Runtime, standard": "onnxruntime", "PyTorch": "torch",
         "torch.compile": "torch", "PyTorch bf16": "torch"}
NEEDED = {"onnxruntime": ("onnxruntime", "onnx", "numpy"), "torch": ("torch", "numpy")}
THREADS = len(os.sched_getaffinity(0))
# The parts of a layer, with the shape of the weight.
PARTS = {"qkv": (3 * HIDDEN, HIDDEN), "out": (HIDDEN, HIDDEN), "norm1": (HIDDEN,), "up": (INTERMEDIATE, HIDDEN),
         "down": (HIDDEN, INTERMEDIATE), "norm2": (HIDDEN,)}


def make_weights(numpy):
    def normal(mean, deviation, shape):
        return random.normal(mean, deviation, shape).astype(numpy.float32)
    random = numpy.random.default_rng(1)
    weights = {"words": normal(0, 1, (VOCABULARY, HIDDEN)), "positions": normal(0, 0.4, (POSITIONS, HIDDEN))}
    parts = {f"{part}{i}": shape for i in range(LAYERS) for part, shape in PARTS.items()}
    for name, shape in {"norm": (HIDDEN,), **parts}.items():
        weights[name + "_weight"] = normal(1, 0.1, shape) if len(shape) == 1 else normal(0, 0.06, shape)
        weights[name + "_bias"] = normal(0, 0.1, shape[0])
    return weights


def make_onnx(numpy, weights, fused, path):
    import onnx
    nodes, constants, types = [], [], onnx.TensorProto

    def constant(value, dtype=numpy.float32):
        name = f"constant{len(constants)}"
        constants.append(onnx.numpy_helper.from_array(numpy.ascontiguousarray(value, dtype), name))
        return name

    def axes(*values):
        return constant(values, numpy.int64)

    def op(kind, *inputs, output=None, **attributes):
        output = output or f"value{len(nodes)}"
        domain = "com.microsoft" if kind in ("Attention", "SkipLayerNormalization", "BiasGelu") else ""
        nodes.append(onnx.helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def pair(name):
        return constant(weights[name + "_weight"]), constant(weights[name + "_bias"])

    def product(x, name):
        return op("MatMul", x, constant(weights[name + "_weight"].T))

    def linear(x, name):
        return op("Add", product(x, name), constant(weights[name + "_bias"]))

    def norm(x, name):
        return op("LayerNormalization", x, *pair(name), epsilon=EPSILON)

    def attention(x, name):
        weight, bias = weights[name + "_weight"].T, weights[name + "_bias"]
        if fused:
            return op("Attention", x, constant(weight), constant(bias), mask_int, num_heads=HEADS)
        q, k, v = (op("Transpose", op("Reshape", op("Add", op("MatMul", x, constant(w)), constant(b)),
                                      axes(0, 0, HEADS, HIDDEN // HEADS)), perm=perm)
                   for w, b, perm in zip(numpy.split(weight, 3, 1), numpy.split(bias, 3),
                                         ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = op("Add", op("Div", op("MatMul", q, k), constant(math.sqrt(HIDDEN // HEADS))), mask_scores)
        context = op("Transpose", op("MatMul", op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return op("Reshape", context, axes(0, 0, HIDDEN))

    def add_and_norm(x, y, last, name):
        if not fused:
            return norm(op("Add", linear(y, last), x), name)
        bias = constant(weights[last + "_bias"])
        return op("SkipLayerNormalization", product(y, last), x, *pair(name), bias, epsilon=EPSILON)

    def up(x, name):
        if not fused:
            return op("Gelu", linear(x, name))
        return op("BiasGelu", product(x, name), constant(weights[name + "_bias"]))

    mask, mask_int = op("Cast", "mask", to=types.FLOAT), op("Cast", "mask", to=types.INT32)
    mask_scores = op("Mul", op("Sub", constant(1), op("Unsqueeze", mask, axes(1, 2))), constant(-1e4))
    length = op("Gather", op("Shape", "ids"), axes(1))
    x = op("Add", op("Gather", constant(weights["words"]), "ids"),
           op("Slice", constant(weights["positions"]), axes(0), length, axes(0)))
    x = norm(x, "norm")
    for i in range(LAYERS):
        x = add_and_norm(x, attention(x, f"qkv{i}"), f"out{i}", f"norm1{i}")
        x = add_and_norm(x, up(x, f"up{i}"), f"down{i}", f"norm2{i}")
    total = op("ReduceSum", op("Mul", x, op("Unsqueeze", mask, axes(2))), axes(1), keepdims=0)
    op("LpNormalization", op("Div", total, op("ReduceSum", mask, axes(1), keepdims=1)), axis=-1, p=2, output="y")
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "encoder", [info(name, types.INT64, ["n", "t"]) for name in ("ids", "mask")],
                                   [info("y", types.FLOAT, ["n", HIDDEN])], constants)
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def prepare(folder):
    import numpy
    weights = make_weights(numpy)
    numpy.savez(folder + "/weights.npz", **weights)
    for name in (name for name, library in PEERS.items() if library == "onnxruntime" and not lacking(library)):
        make_onnx(numpy, weights, "fused" in name, f"{folder}/{name}.onnx")


def load_onnxruntime(name, folder):
    """Returns a function of tokens and their mask, which returns a call that returns embeddings. So does load_torch."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: lambda: session.run(None, {"ids": ids, "mask": mask})[0]


def load_torch(name, folder):
    import numpy
    import torch
    functions = torch.nn.functional

    class Encoder(torch.nn.Module):
        def pair(self, name):
            return getattr(self, name + "_weight"), getattr(self, name + "_bias")

        def linear(self, x, name):
            return functions.linear(x, *self.pair(name))

        def norm(self, x, name):
            return functions.layer_norm(x, (HIDDEN,), *self.pair(name), EPSILON)

        def forward(self, ids, mask):
            x = self.norm(functions.embedding(ids, self.words) + self.positions[:ids.shape[1]], "norm")
            for i in range(LAYERS):
                q, k, v = self.linear(x, f"qkv{i}").view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
                y = functions.scaled_dot_product_attention(q, k, v, None if mask is None else mask[:, None, None, :])
                x = self.norm(x + self.linear(y.transpose(1, 2).reshape(x.shape), f"out{i}"), f"norm1{i}")
                y = self.linear(functions.gelu(self.linear(x, f"up{i}")), f"down{i}")
                x = self.norm(x + y, f"norm2{i}")
            mean = x.mean(1) if mask is None else (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            return functions.normalize(mean, dim=1)

    torch.set_num_threads(THREADS)
    encoder, dtype = Encoder(), torch.bfloat16 if "bf16" in name else torch.float32
    for key, array in numpy.load(folder + "/weights.npz").items():
        encoder.register_parameter(key, torch.nn.Parameter(torch.from_numpy(array).to(dtype), requires_grad=False))
    encoder.eval()
    if name == "torch.compile":
        torch._inductor.config.freezing = True
        torch._dynamo.config.recompile_limit = len(ROWS) + 1
        encoder = torch.compile(encoder, dynamic=False)
    call = torch.inference_mode()(encoder)
    return lambda ids, mask: lambda x=torch.from_numpy(ids), m=None if mask.all() else torch.from_numpy(mask).bool(): (
        call(x, m))


def measure(call):
    """Milliseconds: the median of about a third of a second, after two calls to warm up, as in bench.c."""
    times, end = [], time.monotonic() + 0.3
    while len(times) < 7 or (len(times) < 103 and time.monotonic() < end):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[2:])


def work(name, action, folder):
    """Prints, in the process of one library, embeddings or times by row, and the peak of memory in MiB."""
    import numpy
    importlib.import_module(PEERS[name])
    load = load_torch if PEERS[name] == "torch" else load_onnxruntime
    bind, answer = action != "import" and load(name, folder), {}
    for row, lengths in ROWS.items() if bind else ():
        shape = len(lengths), max(lengths)
        ids = (1000 + 7919 * numpy.arange(shape[0] * shape[1])).reshape(shape) % VOCABULARY
        call = bind(ids, (numpy.arange(shape[1]) < numpy.array(lengths)[:, None]).astype(numpy.int64))
        embeddings = call()  # torch.compile compiles here
        answer[row] = embeddings.tolist() if action == "check" else measure(call)
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))
    print(json.dumps([answer, peak]))


def lacking(library):
    return next((name for name in NEEDED[library] if importlib.util.find_spec(name) is None), None)


def run(command):
    """The standard output of a process, and its peak of memory in MiB."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"peers.py: failed: {shlex.join(command)}")
    return output, usage.ru_maxrss / 1024


def ask(name, action, folder, prefix=()):
    return json.loads(run([*prefix, sys.executable, __file__, "--worker", name, action, folder])[0].splitlines()[-1])


def run_tandem(arguments, dtype):
    output, peak = run([*arguments.prefix, arguments.program, "bench", *arguments.options, "--dtype", dtype])
    lines = [line.rsplit(maxsplit=4) for line in output.splitlines()[2:]]
    if {line[0]: int(line[1]) for line in lines} != {row: sum(lengths) for row, lengths in ROWS.items()}:
        sys.exit("peers.py: these are not the rows of `sentences bench`")
    return {line[0]: float(line[2]) for line in lines}, peak


def compare(found):
    """Exits unless all libraries compute nearly the same embeddings. The first is of f32."""
    (first, expected), *others = found.items()
    for name, rows in others:
        cosine = min(sum(map(float.__mul__, x, y)) / math.hypot(*x) / math.hypot(*y)
                     for row in ROWS for x, y in zip(expected[row], rows[row]))
        print(f"{name}, {first}: cosine of {cosine:.9f} at least")
        if not cosine > (0.998 if "bf16" in name else 0.999999):
            sys.exit("peers.py: the libraries do not compute the same")


def print_tables(times, peaks):
    peers = [name for name in times if name in PEERS]
    ratios = {"best f32 / Tandem f32": ("Tandem f32", [name for name in peers if "bf16" not in name]),
              "PyTorch / Tandem, bf16": ("Tandem bf16", [name for name in peers if "bf16" in name])}
    ratios = {title: ratio for title, ratio in ratios.items() if ratio[1]}
    titles = ["sentences x tokens", *times, *ratios]
    print("", "| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles), sep="\n")
    for row in ROWS:
        of = {name: statistics.median(found[row] for found in rounds) for name, rounds in times.items()}
        cells = [f"{of[name]:.1f}" for name in times]
        cells += [f"{min(of[name] for name in them) / of[ours]:.2f}" for ours, them in ratios.values()]
        print("| " + " | ".join([row, *cells]) + " |")
    cells = [f"{statistics.median(values):.0f}" for values in peaks.values()] + [""] * len(ratios)
    print("| " + " | ".join(["peak of memory, MiB", *cells]) + " |")
    spread = [max(of) / min(of) for rounds in times.values() for of in ([r[row] for r in rounds] for row in ROWS)]
    print(f"\nSlowest round over fastest: {statistics.median(spread):.2f} in the median, {max(spread):.2f} at most.")


def main():
    if sys.argv[1:2] == ["--worker"]:
        return prepare(sys.argv[3]) if sys.argv[2] == "prepare" else work(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=shlex.split, default=[])
    parser.add_argument("rounds", type=int)
    parser.add_argument("program")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    os.environ.pop("SENTENCES_MODEL", None)
    for library in filter(lacking, NEEDED):
        print(f"{library} is left out: {lacking(library)} is not installed")
    peers = [name for name, library in PEERS.items() if not lacking(library)]
    columns = [*TANDEM, *peers]
    times, peaks = {name: [] for name in columns}, {name: [] for name in columns}
    with tempfile.TemporaryDirectory() as folder:
        if peers:
            run([sys.executable, __file__, "--worker", "prepare", folder])
            compare({name: ask(name, "check", folder)[0] for name in peers})
        idle = {name: ask(name, "import", folder)[1] for name in peers}
        for i in range(arguments.rounds):
            for name in columns[i % len(columns):] + columns[:i % len(columns)]:
                print(f"round {i + 1} of {arguments.rounds}: {name}", file=sys.stderr)
                found, peak = (run_tandem(arguments, TANDEM[name]) if name in TANDEM else
                               ask(name, "time", folder, arguments.prefix))
                times[name].append(found)
                peaks[name].append(peak - idle.get(name, 0))
    print_tables(times, peaks)


main()
