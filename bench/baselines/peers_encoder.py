# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""The encoder of sentences in PyTorch, and as models in ONNX's format. peers.py comes after it in one script.

Weights are random, and the same in each library, whose first sentence is compared with NumPy's before it is timed."""
import functools
import itertools
import math
import struct

HIDDEN, HEADS, INNER, LAYERS, VOCABULARY, POSITIONS, EPSILON = 384, 12, 1536, 6, 30522, 512, 1e-12
# The parts of a layer, with the shape of the weight.
PARTS = {"qkv": (3 * HIDDEN, HIDDEN), "out": (HIDDEN, HIDDEN), "norm1": (HIDDEN,), "up": (INNER, HIDDEN),
         "down": (HIDDEN, INNER), "norm2": (HIDDEN,)}


@functools.lru_cache
def encoder_weights():
    import numpy
    random = numpy.random.default_rng(1)

    def normal(mean, deviation, shape):
        return random.normal(mean, deviation, shape).astype(numpy.float32)
    weights = {"words": normal(0, 1, (VOCABULARY, HIDDEN)), "positions": normal(0, 0.4, (POSITIONS, HIDDEN))}
    parts = {f"{part}{i}": shape for i in range(LAYERS) for part, shape in PARTS.items()}
    for name, shape in {"norm": (HIDDEN,), **parts}.items():
        weights[name + "_weight"] = normal(1, 0.1, shape) if len(shape) == 1 else normal(0, 0.06, shape)
        weights[name + "_bias"] = normal(0, 0.1, shape[0])
    return weights


def encoder_batch(p):
    """Tokens and their mask. Ragged sentences are as long as those of Tandem's case, and are padded here."""
    import numpy
    count, most = p["m"], p["n"]
    least = (most + 3) // 4 if p["work"].endswith("+ragged") else most
    rest = count - 1
    lengths = [least + ((most - least) * i + 3 * rest // 4) // rest if rest else most for i in range(count)]
    ids = (1000 + 7919 * numpy.arange(count * most)).reshape(count, most) % VOCABULARY
    return ids, (numpy.arange(most) < numpy.array(lengths)[:, None]).astype(numpy.int64)


def encode_first(ids, mask):
    """The embedding of the first sentence, from the formulas."""
    import numpy
    weights = encoder_weights()

    def linear(x, name):
        return x @ weights[name + "_weight"].T + weights[name + "_bias"]

    def norm(x, name):
        x = x - x.mean(1, keepdims=True)
        return (x / numpy.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * weights[name + "_weight"] +
                weights[name + "_bias"])
    tokens = ids[0, :mask[0].sum()]
    x = norm(weights["words"][tokens] + weights["positions"][:len(tokens)].astype(numpy.float64), "norm")
    for i in range(LAYERS):
        q, k, v = linear(x, f"qkv{i}").reshape(len(tokens), 3, HEADS, -1).transpose(1, 2, 0, 3)
        scores = numpy.exp(q @ k.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS))
        y = (scores / scores.sum(2, keepdims=True) @ v).swapaxes(0, 1).reshape(x.shape)
        x = norm(x + linear(y, f"out{i}"), f"norm1{i}")
        y = linear(x, f"up{i}")
        y *= 0.5 + 0.5 * numpy.vectorize(math.erf)(y / math.sqrt(2))
        x = norm(x + linear(y, f"down{i}"), f"norm2{i}")
    y = x.mean(0)
    return y / math.hypot(*y)


def check_first(embedding, ids, mask, allowed):
    distance = math.hypot(*(encode_first(ids, mask) - embedding))
    if not distance <= allowed:
        raise ArithmeticError(f"its embedding is {distance:.3g} from the right one")


@functools.lru_cache
def torch_encoder(torch, place, kind, compiled):
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
    encoder = Encoder()
    for key, array in encoder_weights().items():
        encoder.register_parameter(key, torch.nn.Parameter(torch.from_numpy(array).to(place, kind), False))
    encoder.eval()
    return torch.compile(encoder, dynamic=False) if compiled else encoder


def torch_encoder_call(torch, place, kind, compiled, p):
    ids, mask = encoder_batch(p)
    if compiled:
        torch._inductor.config.freezing = place == "cpu"
    encoder = torch.inference_mode()(torch_encoder(torch, place, kind, compiled))
    x, m = torch.from_numpy(ids).to(place), None if mask.all() else torch.from_numpy(mask).bool().to(place)
    check_first(encoder(x, m)[0].double().cpu().numpy(), ids, mask, 1e-4 if kind == torch.float32 else 0.1)
    return lambda: encoder(x, m)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One field of a protocol buffer: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_value(name, kind, shape):
    """An input or output: its name, its elements' type, and its extents, some of them names."""
    dims = b"".join(field(1, field(2 if isinstance(extent, str) else 1, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class OnnxGraph:
    """A model in ONNX's format (onnx.proto), as a tape of nodes."""
    FLOAT, INT32, INT64 = 1, 6, 7
    FUSED = ("Attention", "SkipLayerNormalization", "BiasGelu")

    def __init__(self):
        self.parts, self.names = [], (f"value{i}" for i in itertools.count())

    def constant(self, value, integers=False):
        import numpy
        value, name = numpy.ascontiguousarray(value, numpy.int64 if integers else numpy.float32), next(self.names)
        tensor = b"".join(field(1, extent) for extent in value.shape)
        tensor += field(2, self.INT64 if integers else self.FLOAT) + field(8, name) + field(9, value.tobytes())
        self.parts.append(field(5, tensor))
        return name

    @staticmethod
    def content(value):
        """Of an attribute, after what kind of value it is."""
        if isinstance(value, float):
            return 1, varint(2 << 3 | 5) + struct.pack("<f", value)
        return (7, b"".join(field(8, i) for i in value)) if isinstance(value, list) else (2, field(3, value))

    def op(self, kind, *inputs, output=None, **attributes):
        output = output or next(self.names)
        node = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
        for name, value in attributes.items():
            kind_of, content = self.content(value)
            node += field(5, field(1, name) + content + field(20, kind_of))
        self.parts.append(field(1, node + (field(7, "com.microsoft") if kind in self.FUSED else b"")))
        return output

    def model(self, inputs, outputs):
        ends = [field(11, onnx_value(*i)) for i in inputs] + [field(12, onnx_value(*o)) for o in outputs]
        sets = field(8, field(1, "") + field(2, 20)) + field(8, field(1, "com.microsoft") + field(2, 1))
        return field(1, 9) + field(7, b"".join([*self.parts, field(2, "g"), *ends])) + sets


class OnnxEncoder(OnnxGraph):
    """In the standard's operations, or with those of ONNX Runtime that do several at once."""

    def __init__(self, fused):
        super().__init__()
        self.fused, self.weights = fused, encoder_weights()
        op, constant, axes = self.op, self.constant, self.axes
        mask = op("Cast", "mask", to=self.FLOAT)
        self.mask = (op("Cast", "mask", to=self.INT32) if fused else
                     op("Mul", op("Sub", constant(1), op("Unsqueeze", mask, axes(1, 2))), constant(-1e4)))
        length = op("Gather", op("Shape", "ids"), axes(1))
        x = op("Add", op("Gather", constant(self.weights["words"]), "ids"),
               op("Slice", constant(self.weights["positions"]), axes(0), length, axes(0)))
        x = self.norm(x, "norm")
        for i in range(LAYERS):
            x = self.add_and_norm(x, self.attention(x, f"qkv{i}"), f"out{i}", f"norm1{i}")
            x = self.add_and_norm(x, self.up(x, f"up{i}"), f"down{i}", f"norm2{i}")
        total = op("ReduceSum", op("Mul", x, op("Unsqueeze", mask, axes(2))), axes(1), keepdims=0)
        op("LpNormalization", op("Div", total, op("ReduceSum", mask, axes(1), keepdims=1)), output="y", axis=-1, p=2)

    def axes(self, *values):
        return self.constant(values, True)

    def bias(self, name):
        return self.constant(self.weights[name + "_bias"])

    def product(self, x, name):
        return self.op("MatMul", x, self.constant(self.weights[name + "_weight"].T))

    def linear(self, x, name):
        return self.op("Add", self.product(x, name), self.bias(name))

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.constant(self.weights[name + "_weight"]), self.bias(name),
                       epsilon=EPSILON)

    def attention(self, x, name):
        import numpy
        op, weight, bias = self.op, self.weights[name + "_weight"].T, self.weights[name + "_bias"]
        if self.fused:
            return op("Attention", x, self.constant(weight), self.constant(bias), self.mask, num_heads=HEADS)
        q, k, v = (op("Transpose", op("Reshape", op("Add", op("MatMul", x, self.constant(w)), self.constant(b)),
                                      self.axes(0, 0, HEADS, HIDDEN // HEADS)), perm=perm)
                   for w, b, perm in zip(numpy.split(weight, 3, 1), numpy.split(bias, 3),
                                         ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = op("Add", op("Div", op("MatMul", q, k), self.constant(math.sqrt(HIDDEN // HEADS))), self.mask)
        context = op("Transpose", op("MatMul", op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return op("Reshape", context, self.axes(0, 0, HIDDEN))

    def add_and_norm(self, x, y, last, name):
        if not self.fused:
            return self.norm(self.op("Add", self.linear(y, last), x), name)
        return self.op("SkipLayerNormalization", self.product(y, last), x,
                       self.constant(self.weights[name + "_weight"]), self.bias(name), self.bias(last),
                       epsilon=EPSILON)

    def up(self, x, name):
        if not self.fused:
            return self.op("Gelu", self.linear(x, name))
        return self.op("BiasGelu", self.product(x, name), self.bias(name))


@functools.lru_cache
def onnx_encoders(threads):
    ends = ([(name, OnnxGraph.INT64, ("n", "t")) for name in ("ids", "mask")], [("y", OnnxGraph.FLOAT, ("n", HIDDEN))])
    return [onnx_session(OnnxEncoder(fused).model(*ends), threads) for fused in (True, False)]


def onnx_encoder_call(p):
    """That of the graph which is the faster one."""
    ids, mask = encoder_batch(p)

    def call_of(session):
        return lambda: session.run(None, {"ids": ids, "mask": mask})[0]
    calls = [call_of(session) for session in onnx_encoders(p["threads"])]
    for call in calls:
        check_first(call()[0], ids, mask, 1e-4)
    return min(calls, key=lambda call: min(WallClock.seconds(call, 1) for _ in range(5)))
