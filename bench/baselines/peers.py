# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""A matrix product, a block of two linear layers, or an operation on rows, by another library that Python has:
prints the median seconds of one.

Usage: python3 peers.py LIBRARY DEVICE DTYPE WORK BATCH M N K TRANSPOSE_B THREADS SETS
       python3 peers.py list

LIBRARY is torch, numpy, onnxruntime or pygpu; DEVICE that of the row beside, such as cuda:0; DTYPE f32, f64,
f16 or bf16; WORK matmul, bias_gelu (matmul with both), feed_forward (M rows, width N, inner width K), or what
the benchmark calls an operation on M rows of N; TRANSPOSE_B 0 or 1; THREADS 0 for as many as there are cores;
SETS how many arrays an operation on rows takes in turn, so that it finds them in the cache or does not. Prints
"lacks" where the library has no such work. `list` prints the libraries that are installed and their versions, one
a line."""
import itertools
import os
import statistics
import sys
import time

LIBRARIES = ("torch", "numpy", "onnxruntime", "pygpu")
PRODUCTS = ("matmul", "bias_gelu", "feed_forward")


class Lacks(Exception):
    """The library has no such product."""


def matrices(numpy, dtype, p):
    names = {"f32": "float32", "f64": "float64", "f16": "float16"}
    if dtype not in names:
        raise Lacks
    random = numpy.random.default_rng(12)
    batch = () if p["batch"] == 1 else (p["batch"],)
    b_shape = (p["n"], p["k"]) if p["transpose_b"] else (p["k"], p["n"])
    return [random.uniform(-1, 1, s).astype(names[dtype])
            for s in (batch + (p["m"], p["k"]), batch + b_shape, (p["n"],))]


def torch_feed_forward(torch, place, kind, p):
    rows, width, inner = p["m"], p["n"], p["k"]

    def random(*shape):
        return torch.rand(shape, device=place).sub(0.5).to(kind)
    x, w1, w2 = random(rows, width), random(inner, width), random(width, inner)
    b1, b2, gain, shift = random(inner), random(width), random(width), random(width)
    functions = torch.nn.functional

    def block():
        hidden = functions.gelu(functions.linear(x, w1, b1))
        functions.layer_norm(x + functions.linear(hidden, w2, b2), (width,), gain, shift)
    return block


def torch_reductions(torch):
    """Of the last dimension, of the first or of all, by what `dim` is."""
    def norm(order):
        return lambda x, dim: torch.linalg.vector_norm(x, order, dim)
    return {"norm_l1": norm(1), "norm_l2": norm(2), "norm_inf": norm(float("inf")), "norm_over": norm(2),
            "sum": torch.sum, "mean": torch.mean, "max": torch.amax, "argmax": torch.argmax,
            "prod": lambda x, dim: x.prod() if dim is None else x.prod(dim),
            "variance": lambda x, dim: torch.var(x, dim, correction=0),
            "any": lambda x, dim: x.any() if dim is None else x.any(dim)}


def torch_call(torch, place, kinds, dtype, p):
    """What an operation on rows calls, of x, of a second array of its dtype, and of the array for the result."""
    name, _, form = p["work"].partition("+")
    m, n, native, functions = p["m"], p["n"], torch.ops.aten, torch.nn.functional
    # of what shape these are, the first call says
    *moments, kept = [torch.empty(0, dtype=kinds[dtype], device=place) for _ in range(3)]
    activations = {"relu": torch.relu_, "gelu": lambda y: native.gelu.out(y, out=y),
                   "gelu_tanh": lambda y: native.gelu.out(y, approximate="tanh", out=y),
                   "silu": lambda y: native.silu.out(y, out=y), "sigmoid": torch.sigmoid_, "tanh": torch.tanh_}
    plain = {"bias_add": lambda x, z, y: torch.add(x, z[0], out=y),
             "add": lambda x, z, y: torch.add(x, z, out=y),
             "sub": lambda x, z, y: torch.sub(x, z, out=y),
             "mul": lambda x, z, y: torch.mul(x, z, out=y),
             "div": lambda x, z, y: torch.div(x, z, out=y),
             "exp": lambda x, z, y: torch.exp(x, out=y),
             "axpy": lambda x, z, y: z.add_(x, alpha=0.5),
             "fill": lambda x, z, y: y.fill_(0.5),
             "scale": lambda x, z, y: torch.mul(x, 0.5, out=y),
             "expression": lambda x, z, y: torch.mul(x, 2, out=y),
             "expression+ten": lambda x, z, y: torch.mul(x, 0.5, out=y).add_(1).mul_(x).add_(0.25).mul_(x).add_(2)
                                                    .mul_(x).add_(0.125).mul_(x).add_(0.75),
             "softmax": lambda x, z, y: torch.softmax(x, 1, out=y),
             "layer_norm": lambda x, z, y: native.native_layer_norm.out(x, (n,), z[0], z[-1], 1e-5, out0=y,
                                                                        out1=moments[0], out2=moments[1]),
             "layer_norm+residual": lambda x, z, y: native.native_layer_norm.out(
                 torch.add(x, z, out=kept), (n,), z[0], z[-1], 1e-5, out0=y, out1=moments[0], out2=moments[1]),
             "rms_norm": lambda x, z, y: functions.rms_norm(x, (n,), z[0]),
             "dot": lambda x, z, y: torch.dot(x.view(-1), z.view(-1)),
             "flip": lambda x, z, y: torch.flip(x, (1,)),
             "argsort": lambda x, z, y: torch.sort(x, dim=1, stable=True),
             "top_k": lambda x, z, y: torch.topk(x, 40, dim=1),
             "scaled_softmax": lambda x, z, y: torch.softmax(torch.add(z[0], x, alpha=0.125, out=y), 1, out=y)}
    reductions = torch_reductions(torch)
    if name in ("gather_rows", "scatter_add_rows"):
        rows = torch.randint(0, m, (m,), device=place)
        return {"gather_rows": lambda x, z, y: torch.index_select(x, 0, rows, out=y),
                "scatter_add_rows": lambda x, z, y: y.index_add_(0, rows, x)}[name]
    of_forms = {"": 1, "own_kernel": 1, "columns": 0, "whole": None}
    if name == "cumsum" and form in of_forms:
        return lambda x, z, y: torch.cumsum(x, of_forms[form], out=y)
    if name in reductions and form in of_forms:
        dim = of_forms[form]
        return lambda x, z, y: reductions[name](x, dim=dim)
    if name == "cast" and form in kinds:
        return lambda x, z, y: y.copy_(x)
    if name == "bias_add" and form in activations:
        return lambda x, z, y: activations[form](torch.add(x, z[0], out=y))
    if p["work"] not in plain:
        raise Lacks
    return plain[p["work"]]


def torch_rows(torch, place, kinds, dtype, p):
    call, shape = torch_call(torch, place, kinds, dtype, p), (p["m"], max(1, p["n"]))
    target = kinds.get(p["work"].partition("+")[2], kinds[dtype])
    turns = itertools.cycle([(torch.rand(shape, device=place).sub(0.5).to(kinds[dtype]),
                              torch.rand(shape, device=place).to(kinds[dtype]),
                              torch.zeros(shape, device=place, dtype=target)) for _ in range(max(1, p["sets"]))])
    return lambda: call(*next(turns))


def torch_product(dtype, p):
    import torch
    torch.set_num_threads(p["threads"])
    torch.set_grad_enabled(False)
    kinds = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
    kind = kinds[dtype]
    batch = () if p["batch"] == 1 else (p["batch"],)
    b_shape = (p["n"], p["k"]) if p["transpose_b"] else (p["k"], p["n"])
    on_gpu = p["backend"] == "cuda"
    place = p["device"] if on_gpu else "cpu"
    finish = (lambda: torch.cuda.synchronize(place)) if on_gpu else nothing
    if p["work"] == "feed_forward":
        return torch_feed_forward(torch, place, kind, p), finish
    if p["work"] not in PRODUCTS:
        return torch_rows(torch, place, kinds, dtype, p), finish
    a = torch.rand(batch + (p["m"], p["k"]), device=place).sub(0.5).to(kind)
    b = torch.rand(batch + b_shape, device=place).sub(0.5).to(kind)
    bias = torch.rand(p["n"], device=place).to(kind)
    right = b.transpose(-1, -2) if p["transpose_b"] else b

    def product():
        if p["work"] == "bias_gelu" and p["transpose_b"] and p["batch"] == 1:
            torch.nn.functional.gelu(torch.nn.functional.linear(a, b, bias))
        elif p["work"] == "bias_gelu":
            torch.nn.functional.gelu(torch.matmul(a, right) + bias)
        else:
            torch.matmul(a, right)
    return product, finish


def numpy_product(dtype, p):
    import numpy
    # f16 it computes element by element, and it has no GELU
    if dtype == "f16" or p["work"] != "matmul" or p["backend"] == "cuda":
        raise Lacks
    a, b, _ = matrices(numpy, dtype, p)
    right = b.swapaxes(-1, -2) if p["transpose_b"] else b
    c = numpy.matmul(a, right)
    return lambda: numpy.matmul(a, right, out=c), nothing


def pygpu_product(dtype, p):
    import numpy
    import pygpu
    from pygpu import blas
    if p["batch"] > 1 or dtype not in ("f32", "f64") or p["work"] != "matmul" or p["backend"] == "cpu":
        raise Lacks
    number = p["device"].partition(":")[2]
    context = pygpu.init("cuda" + number if p["backend"] == "cuda" else "opencl0:" + number)
    a, b, _ = (pygpu.array(x, context=context) for x in matrices(numpy, dtype, p))
    c = blas.gemm(1.0, a, b, trans_b=bool(p["transpose_b"]))

    def product():
        blas.gemm(1.0, a, b, 0.0, c, trans_b=bool(p["transpose_b"]), overwrite_c=True)
    return product, c.sync


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One field of a protocol buffer: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_model(kind, shapes, transpose_b):
    """A model in ONNX's format (onnx.proto): y = a b, or the transpose of b."""
    def value(name, shape):
        dims = b"".join(field(1, field(1, extent)) for extent in shape)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))
    nodes = b""
    right = "b"
    if transpose_b:
        order = list(range(len(shapes[1])))
        order[-1], order[-2] = order[-2], order[-1]
        perm = field(1, "perm") + b"".join(field(8, i) for i in order) + field(20, 7)
        nodes += field(1, field(1, "b") + field(2, "t") + field(4, "Transpose") + field(5, perm))
        right = "t"
    nodes += field(1, field(1, "a") + field(1, right) + field(2, "y") + field(4, "MatMul"))
    graph = nodes + field(2, "g") + field(11, value("a", shapes[0])) + field(11, value("b", shapes[1]))
    graph += field(12, value("y", shapes[2]))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def onnxruntime_product(dtype, p):
    import numpy
    import onnxruntime
    kinds = {"f32": 1, "f64": 11}
    if dtype not in kinds or p["work"] != "matmul" or p["backend"] == "cuda":
        raise Lacks
    a, b, _ = matrices(numpy, dtype, p)
    c = numpy.empty(a.shape[:-1] + (p["n"],), a.dtype)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = p["threads"]
    session = onnxruntime.InferenceSession(
        onnx_model(kinds[dtype], (a.shape, b.shape, c.shape), p["transpose_b"]), options,
        providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("a", a)
    binding.bind_cpu_input("b", b)
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(c))
    return lambda: session.run_with_iobinding(binding), nothing


def nothing():
    """For what has waited already."""


def median_of(product, finish):
    """As Tandem is timed: some calls, then one wait."""
    for _ in range(2):
        start = time.perf_counter()
        product()
        finish()
        once = time.perf_counter() - start
        if once > 2.0:
            return once
    runs = max(1, min(1000, int(10e-3 / max(once, 1e-7))))
    samples = []
    end = time.perf_counter() + 0.6
    while len(samples) < 5 or (len(samples) < 301 and time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(runs):
            product()
        finish()
        samples.append((time.perf_counter() - start) / runs)
    return statistics.median(samples)


def installed():
    import importlib
    for name in LIBRARIES:
        try:
            print(name, importlib.import_module(name).__version__)
        except Exception:  # pylint: disable=broad-except # an import may fail in any way
            pass


def main(arguments):
    if arguments == ["list"]:
        installed()
        return 0
    library, device, dtype, work = arguments[:4]
    names = ("batch", "m", "n", "k", "transpose_b", "threads", "sets")
    p = dict(zip(names, map(int, arguments[4:])), device=device, work=work,
             backend=device.partition(":")[0])
    p["threads"] = p["threads"] or len(os.sched_getaffinity(0))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(p["threads"])
    if work not in PRODUCTS and library != "torch":
        print("lacks")
        return 0
    products = {"torch": torch_product, "numpy": numpy_product, "onnxruntime": onnxruntime_product,
                "pygpu": pygpu_product}
    try:
        product, finish = products[library](dtype, p)
    except Lacks:
        print("lacks")
        return 0
    print(f"{median_of(product, finish):.9g}")
    return 0


sys.exit(main(sys.argv[1:]))
