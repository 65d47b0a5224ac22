# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The work of rows in other libraries that Python has, for `tdm bench`: answers with the median seconds of each.

Usage: python3 -c "$(cat peers_encoder.py peers.py)" list [torch]
       python3 -c "$(cat peers_encoder.py peers.py)" serve LIBRARY THREADS

`list` prints the libraries that are installed and their versions, one a line; `list torch` fails where PyTorch is not
there. `serve` reads requests, a line each, and answers each with a line: seconds, "lacks" where the library has no such
work, or "failed" and why. One process has all rows: starting a library takes seconds. THREADS is 0 for as many as there
are cores. A request is

    DEVICE CARD DTYPE WORK BATCH M N K TRANSPOSE_B SETS

DEVICE is that of the row, such as opencl:0; CARD the CUDA device that is the same card, where PyTorch, torch.compile
and Triton work then, else "-"; DTYPE f32, f64, f16 or bf16; WORK matmul, bias_gelu (matmul with both), feed_forward
(M rows, width N, inner width K), encoder (M sentences of N tokens) and encoder+ragged (of a quarter of N and more), or what the benchmark calls an operation on M rows of N; TRANSPOSE_B 0 or 1; SETS how
many arrays calls take in turn, so that they find them in the cache or do not."""
import gc
import itertools
import os
import statistics
import sys
import tempfile
import time

LIBRARIES = ("torch", "numpy", "onnxruntime", "inductor", "triton")
# The work that torch.compile is given, which takes seconds for each row, and at which widths.
COMPILED, COMPILED_WIDTHS = ("layer_norm", "rms_norm", "softmax"), (768, 4096, 65536)


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
    shapes = ((rows, width), (inner, width), (inner,), (width, inner), (width,), (width,), (width,))
    arrays = in_turn(lambda: [torch.rand(s, device=place).sub(0.5).to(kind) for s in shapes], p["sets"])
    functions = torch.nn.functional

    def block():
        x, w1, b1, w2, b2, gain, shift = arrays()
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
    """The call of an operation on rows: of x, of a second array of its dtype, and of the array for the result."""
    name, _, form = p["work"].partition("+")
    m, n, native, functions = p["m"], p["n"], torch.ops.aten, torch.nn.functional
    kept = torch.empty(0, dtype=kinds[dtype], device=place)  # the first call sets its shape
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
             # native_layer_norm.out would copy what this returns
             "layer_norm": lambda x, z, y: functions.layer_norm(x, (n,), z[0], z[-1]),
             "layer_norm+residual": lambda x, z, y: functions.layer_norm(torch.add(x, z, out=kept), (n,), z[0], z[-1]),
             "rms_norm": lambda x, z, y: functions.rms_norm(x, (n,), z[0], 1e-5),
             "rms_norm+residual": lambda x, z, y: functions.rms_norm(torch.add(x, z, out=kept), (n,), z[0], 1e-5),
             "l2_normalize": lambda x, z, y: functions.normalize(x, dim=1, out=y),
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


def in_turn(make, sets):
    """The next of so many sets of arrays at each call."""
    turns = itertools.cycle([make() for _ in range(max(1, sets))])
    return lambda: next(turns)


def row_arrays(torch, place, kinds, dtype, p):
    """x, a second array and the one for the result, in turn."""
    shape = (p["m"], max(1, p["n"]))
    target = kinds.get(p["work"].partition("+")[2], kinds[dtype])
    return in_turn(lambda: (torch.rand(shape, device=place).sub(0.5).to(kinds[dtype]),
                            torch.rand(shape, device=place).to(kinds[dtype]),
                            torch.zeros(shape, device=place, dtype=target)), p["sets"])


def torch_norms(torch, place, p):
    """The norms of many products: of all in one call, or each logged by itself. Both wait for what they read."""
    a, b = (torch.rand(p["batch"], *s, device=place).mul(2).sub(1) for s in ((p["m"], p["k"]), (p["k"], p["n"])))

    def kept():
        torch.linalg.norm(torch.bmm(a, b), dim=(1, 2)).tolist()

    def logged():
        return [f"product {i}: norm {torch.linalg.norm(a[i] @ b[i]).item():.6g}\n" for i in range(p["batch"])]
    return {"matmul+norm_l2_kept": kept, "matmul+norm_l2_logged": logged}[p["work"]]


def torch_matmul(torch, place, kind, p):
    batch = () if p["batch"] == 1 else (p["batch"],)
    b_shape = (p["n"], p["k"]) if p["transpose_b"] else (p["k"], p["n"])
    arrays = in_turn(lambda: (torch.rand(batch + (p["m"], p["k"]), device=place).sub(0.5).to(kind),
                              torch.rand(batch + b_shape, device=place).sub(0.5).to(kind),
                              torch.empty(batch + (p["m"], p["n"]), device=place, dtype=kind)), p["sets"])
    bias = torch.rand(p["n"], device=place).to(kind)

    def product():
        a, b, c = arrays()
        right = b.transpose(-1, -2) if p["transpose_b"] else b
        if p["work"] == "matmul":
            torch.matmul(a, right, out=c)
        elif p["transpose_b"] and p["batch"] == 1:
            torch.nn.functional.gelu(torch.nn.functional.linear(a, b, bias))
        else:
            torch.nn.functional.gelu(torch.matmul(a, right) + bias)
    return product


def torch_place(torch, p):
    """Where PyTorch works, and how that is timed."""
    torch.set_num_threads(p["threads"])
    torch.set_grad_enabled(False)
    if p["card"] == "-":
        return "cpu", WallClock()
    torch.cuda.set_device(p["card"])
    # the benchmark's rows have the mode of TANDEM_MATH
    torch.set_float32_matmul_precision("high" if os.environ.get("TANDEM_MATH") == "tf32" else "highest")
    return p["card"], EventClock(torch.cuda)


def torch_kinds(torch):
    return {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


def torch_work(dtype, p):
    import torch
    place, clock = torch_place(torch, p)
    kinds = torch_kinds(torch)
    if p["work"].startswith("matmul+norm_l2_"):
        if dtype != "f32":
            raise Lacks
        return torch_norms(torch, place, p), WallClock()
    if p["work"].startswith("encoder"):
        return torch_encoder_call(torch, place, kinds[dtype], False, p), clock
    if p["work"] == "feed_forward":
        return torch_feed_forward(torch, place, kinds[dtype], p), clock
    if p["work"] in ("matmul", "bias_gelu"):
        return torch_matmul(torch, place, kinds[dtype], p), clock
    call, arrays = torch_call(torch, place, kinds, dtype, p), row_arrays(torch, place, kinds, dtype, p)
    return lambda: call(*arrays()), clock


def check_like(torch, call, eager, arrays, dtype):
    """Fails where a call does not give what PyTorch gives."""
    x, z, y = arrays()
    wanted, got = eager(x, z, torch.zeros_like(y)).double(), call(x, z, y).double()
    difference = (got - wanted).abs().max().item()
    bound = {"f32": 1e-4, "f16": 1e-2, "bf16": 6e-2}[dtype] * max(1.0, wanted.abs().max().item())
    if not difference <= bound:
        raise ArithmeticError(f"it differs by {difference:.3g} from PyTorch")


def inductor_work(dtype, p):
    import torch
    place, clock = torch_place(torch, p)
    torch.compiler.reset()  # else, after a few rows, it would compile no more of them
    if p["work"].startswith("encoder"):
        return torch_encoder_call(torch, place, torch_kinds(torch)[dtype], True, p), clock
    if p["card"] == "-" or dtype == "f64" or p["work"] not in COMPILED or p["n"] not in COMPILED_WIDTHS:
        raise Lacks
    kinds, n, functions = torch_kinds(torch), p["n"], torch.nn.functional
    forms = {"layer_norm": lambda x, z: functions.layer_norm(x, (n,), z[0], z[-1]),
             "rms_norm": lambda x, z: functions.rms_norm(x, (n,), z[0], 1e-5),
             "softmax": lambda x, z: torch.softmax(x, 1)}
    compiled = torch.compile(forms[p["work"]], dynamic=False)
    arrays = row_arrays(torch, place, kinds, dtype, p)
    check_like(torch, lambda x, z, y: compiled(x, z), torch_call(torch, place, kinds, dtype, p), arrays, dtype)

    def call():
        x, z, _ = arrays()
        compiled(x, z)
    return call, clock


# Triton reads the text of its kernels from their file. A program has ROWS rows, whole, in registers.
TRITON_KERNELS = '''
import triton
import triton.language as tl


@triton.jit
def tile(rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    return r * n + c, c, (r < rows) & (c < n)


@triton.jit
def layer_norm(X, W, B, Y, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at, c, inside = tile(rows, n, ROWS, BLOCK)
    x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(W + c, mask=c < n, other=0.0).to(tl.float32)
    b = tl.load(B + c, mask=c < n, other=0.0).to(tl.float32)
    d = tl.where(inside, x - (tl.sum(x, 1) / n)[:, None], 0.0)
    factor = 1.0 / tl.sqrt(tl.sum(d * d, 1) / n + eps)
    tl.store(Y + at, d * factor[:, None] * w + b, mask=inside)


@triton.jit
def rms_norm(X, W, B, Y, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at, c, inside = tile(rows, n, ROWS, BLOCK)
    x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(W + c, mask=c < n, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(x * x, 1) / n + eps)
    tl.store(Y + at, x * factor[:, None] * w, mask=inside)


@triton.jit
def softmax(X, W, B, Y, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at, c, inside = tile(rows, n, ROWS, BLOCK)
    x = tl.load(X + at, mask=inside, other=float("-inf")).to(tl.float32)
    e = tl.where(inside, tl.exp(x - tl.max(x, 1)[:, None]), 0.0)
    tl.store(Y + at, e / tl.sum(e, 1)[:, None], mask=inside)
'''


def triton_kernels():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tandem_rows.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(TRITON_KERNELS)
        sys.path.insert(0, folder)
        try:
            import tandem_rows
        finally:
            sys.path.remove(folder)
    return tandem_rows


def triton_call(kernel, rows, n):
    """Of x, of an array whose first and last row are weight and bias, and of the result."""
    block = 1 << max(0, n - 1).bit_length()
    rows_each = max(1, 2048 // block)
    grid, warps = (-(-rows // rows_each),), min(32, max(4, block // 1024 * 2))

    def call(x, z, y):
        kernel[grid](x, z[0], z[-1], y, rows, n, 1e-5, ROWS=rows_each, BLOCK=block, num_warps=warps)
        return y
    return call


def triton_work(dtype, p):
    if p["card"] == "-" or dtype == "f64" or p["work"] not in COMPILED or not 0 < p["n"] <= 65536:
        raise Lacks
    import torch
    place, clock = torch_place(torch, p)
    kinds = torch_kinds(torch)
    arrays = row_arrays(torch, place, kinds, dtype, p)
    call = triton_call(getattr(triton_kernels(), p["work"]), p["m"], p["n"])
    check_like(torch, call, torch_call(torch, place, kinds, dtype, p), arrays, dtype)
    return lambda: call(*arrays()), clock


def numpy_work(dtype, p):
    import numpy
    # f16 it computes element by element, and it has no GELU
    if dtype == "f16" or p["work"] != "matmul" or p["backend"] == "cuda":
        raise Lacks

    def make():
        a, b, _ = matrices(numpy, dtype, p)
        right = b.swapaxes(-1, -2) if p["transpose_b"] else b
        return a, right, numpy.matmul(a, right)
    arrays = in_turn(make, p["sets"])

    def product():
        a, right, c = arrays()
        numpy.matmul(a, right, out=c)
    return product, WallClock()


def onnx_session(model, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnxruntime_work(dtype, p):
    if p["backend"] == "cuda":
        raise Lacks
    if p["work"].startswith("encoder") and dtype == "f32":
        return onnx_encoder_call(p), WallClock()
    import numpy
    import onnxruntime
    kinds = {"f32": OnnxGraph.FLOAT, "f64": 11}
    if dtype not in kinds or p["work"] != "matmul":
        raise Lacks
    a, b, _ = matrices(numpy, dtype, p)
    c = numpy.empty(a.shape[:-1] + (p["n"],), a.dtype)
    graph, right = OnnxGraph(), "b"
    if p["transpose_b"]:
        *outer, rows, cols = range(b.ndim)
        right = graph.op("Transpose", "b", perm=[*outer, cols, rows])
    graph.op("MatMul", "a", right, output="y")
    ends = [[(name, kinds[dtype], array.shape)] for name, array in (("a", a), ("b", b), ("y", c))]
    session = onnx_session(graph.model(ends[0] + ends[1], ends[2]), p["threads"])

    def bind():
        binding, values = session.io_binding(), []
        for name, array in (("a", a), ("b", b), ("y", c)):
            values.append(onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()))
            (binding.bind_ortvalue_output if name == "y" else binding.bind_ortvalue_input)(name, values[-1])
        return binding, values  # which own the memory
    bindings = in_turn(bind, p["sets"])
    return lambda: session.run_with_iobinding(bindings()[0]), WallClock()


class WallClock:
    """Seconds of some calls."""
    span = 0.6  # seconds of samples: cores are shared, and other work on them comes and goes

    @staticmethod
    def seconds(call, runs):
        start = time.perf_counter()
        for _ in range(runs):
            call()
        return time.perf_counter() - start


class EventClock:
    """The same by the device's own clock, where calls only queue work: between two events in the stream."""
    span = 0.2

    def __init__(self, cuda):
        self.cuda = cuda
        self.events = [cuda.Event(enable_timing=True) for _ in range(2)]

    def seconds(self, call, runs):
        first, last = self.events
        self.cuda.synchronize()
        first.record()
        for _ in range(runs):
            call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3


def median_of(call, clock, sets):
    """Of samples of 10 ms and more, in which every set has its turn."""
    once = 0.0
    for _ in range(2):
        once = clock.seconds(call, 1)
        if once > 2.0:
            return once
    once = clock.seconds(call, max(1, sets)) / max(1, sets)
    runs = max(1, min(1000, max(sets, int(10e-3 / max(once, 1e-7)))))
    if once > 0.1:
        runs = 1
    samples = []
    end = time.perf_counter() + clock.span
    while len(samples) < 5 or (len(samples) < 301 and time.perf_counter() < end):
        samples.append(clock.seconds(call, runs) / runs)
    return statistics.median(samples)


def installed(wanted):
    import importlib
    modules = {"inductor": ("torch._inductor", "triton")}
    for name in wanted or LIBRARIES:
        try:
            found = [importlib.import_module(module) for module in modules.get(name, (name,))]
            print(name, getattr(found[-1], "__version__", "?"))
        except Exception:  # pylint: disable=broad-except # an import may fail in any way
            if wanted:
                raise


def answer(library, threads, line):
    """The line for a request."""
    device, card, dtype, work, *numbers = line.split()
    p = dict(zip(("batch", "m", "n", "k", "transpose_b", "sets"), map(int, numbers)), device=device, card=card,
             work=work, backend=device.partition(":")[0], threads=threads)
    try:
        call, clock = WORKS[library](dtype, p)
        return f"{median_of(call, clock, p['sets']):.9g}"
    except Lacks:
        return "lacks"
    except Exception as error:  # pylint: disable=broad-except # the next row may have better luck
        return "failed " + " ".join(f"{type(error).__name__}: {error}".split())


def give_back(card):
    """Leaves the memory to Tandem, and on cores lets the threads come to rest."""
    gc.collect()
    if card == "-":
        time.sleep(0.2)
    elif "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def serve(library, threads):
    threads = threads or len(os.sched_getaffinity(0))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)
    # output of libraries is no answer
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        text = answer(library, threads, line)
        give_back(line.split()[1])
        print(text, file=answers, flush=True)


WORKS = {"torch": torch_work, "numpy": numpy_work, "onnxruntime": onnxruntime_work,
         "inductor": inductor_work, "triton": triton_work}

if __name__ == "__main__":
    if sys.argv[1] == "list":
        installed(sys.argv[2:])
    else:
        serve(sys.argv[2], int(sys.argv[3]))
