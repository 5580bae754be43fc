#!/usr/bin/env python3
"""Random ONNX models against ONNX Runtime, or onnx's reference evaluator where that is absent.

fuzz_peer.py FOLDER [COUNT] [FIRST_SEED [narrow]] writes FOLDER/{exact,half}/SEED/ as `xcc test` reads them; a model with
16-bit floats is in half/. Every node is run by the reference evaluator while drawing, so that its types and shapes
are known; a node that the evaluator refuses is not drawn. narrow: products of f16 with what follows them, transforms,
pools with indices and other operators that need operands of their own. scripts/fuzz-graphs --peer runs xcc on what this writes.
"""
import os
import random
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
except ImportError:
    ort = None
warnings.simplefilter("ignore")
OPSET = 21
FLOATS = ["float32", "float32", "float32", "float64", "float16"]
INTEGERS = ["int32", "int64", "int8", "uint8", "int16", "uint32"]


def onnx_type(a):
    return h.np_dtype_to_tensor_dtype(a.dtype)


class Drawing:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inputs, self.inits, self.values, self.exact = [], [], [], {}, set()

    def name(self, stem="v"):
        return f"{stem}{len(self.values)}"

    def data(self, dtype, shape):
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if np.dtype(dtype).kind in "iu":
            low = 0 if np.dtype(dtype).kind == "u" else -4
            return self.rng.integers(low, 6, shape).astype(dtype)
        return (self.rng.integers(-32, 33, shape) / 16).astype(dtype)

    def add(self, value, where, stem):
        name = self.name(stem)
        self.values[name] = value
        self.exact.add(name)
        where.append(name)
        return name

    def input(self, dtype=None, shape=None):
        dtype = dtype or self.r.choice(FLOATS + INTEGERS + ["bool"])
        if shape is None:
            shape = [self.r.choice([1, 2, 3, 5, 8, 17]) for _ in range(self.r.randint(0, 4))]
        return self.add(self.data(dtype, shape), self.inputs, "x")

    def const(self, value):
        return self.add(np.asarray(value), self.inits, "c")

    def pick(self, kinds="fiub", rank=(0, 9), exact=False, like=None):
        """A value of one of the numpy kinds; None when there is none."""
        fits = [n for n, v in self.values.items() if isinstance(v, np.ndarray) and v.dtype.kind in kinds
                and rank[0] <= v.ndim <= rank[1] and v.size <= 20000 and (not exact or n in self.exact)
                and (like is None or v.dtype == self.values[like].dtype) and n not in self.inits]
        return self.r.choice(fits[-6:] if self.r.random() < 0.7 else fits) if fits else None

    def node(self, op, ins, nout=1, exact=False, **attrs):
        if any(i is None for i in ins):
            return False
        outs = [f"v{len(self.values) + i}" for i in range(nout)]
        n = h.make_node(op, ins, outs, name=outs[0], **attrs)
        feeds = {i: self.values[i] for i in ins if i}
        feeds.update({i: self.values[i] for i in captures(n) if i in self.values})
        g = h.make_graph([n], "g", [h.make_tensor_value_info(k, onnx_type(v), v.shape) for k, v in feeds.items()],
                         [h.make_value_info(o, onnx.TypeProto()) for o in outs])
        try:
            results = ReferenceEvaluator(h.make_model(g, opset_imports=[h.make_opsetid("", OPSET)])).run(None, feeds)
            results = [np.asarray(x) for x in results]
        except Exception:
            return False
        if any(x.size > 20000 or x.ndim > 6 or x.dtype.kind not in "fiub" or
               (x.dtype.kind == "f" and not (np.isfinite(x).all() and (np.abs(x) < 1e4).all())) for x in results):
            return False
        self.nodes.append(n)
        for o, x in zip(outs, results):
            self.values[o] = x
            if exact and all(i in self.exact for i in feeds):
                self.exact.add(o)
        return True


def captures(node):
    names = []
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            for n in a.g.node:
                names += list(n.input) + captures(n)
    return names


def draw_unary(d):
    a = d.pick("f")
    if a is None or np.abs(d.values[a]).max(initial=0) > (2 if d.values[a].dtype == np.float16 else 16):
        return False  # what rounds to a neighbour turns the sine of a large number around
    return d.node(d.r.choice(["Tanh", "Sigmoid", "Sin", "Cos", "Erf", "Softsign", "HardSwish", "Softplus", "Elu", "Selu",
                              "LeakyRelu", "HardSigmoid", "Atan", "Exp", "Mish"]), [a])


def draw_exact(d):
    op = d.r.choice(["Relu", "Neg", "Abs", "Identity", "Sign"])
    return d.node(op, [d.pick("fi", exact=op == "Sign")], exact=True)


def draw_binary(d):
    a = d.pick("fiu")
    b = d.pick("fiu", like=a) if a else None
    op = d.r.choice(["Add", "Sub", "Mul", "Max", "Min"])
    half = a and d.values[a].dtype == np.float16
    return d.node(op, [a, b], exact=not half and op != "Mul")


def draw_compare(d):
    a = d.pick("fiu", exact=True)
    b = d.pick("fiu", like=a, exact=True) if a else None
    return d.node(d.r.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [a, b], exact=True)


def draw_logic(d):
    if d.r.random() < 0.3:
        return d.node("Not", [d.pick("b")], exact=True)
    return d.node(d.r.choice(["And", "Or", "Xor"]), [d.pick("b"), d.pick("b")], exact=True)


def draw_where(d):
    a = d.pick("fiub")
    return d.node("Where", [d.pick("b"), a, d.pick(like=a) if a else None], exact=True)


def draw_cast(d):
    to = d.r.choice(FLOATS + INTEGERS + ["bool"])
    a = d.pick(exact=True)
    if a is None or (to[0] == "u" and d.values[a].dtype.kind not in "ub"):
        return False
    return d.node("Cast", [a], exact=True, to=h.np_dtype_to_tensor_dtype(np.dtype(to)))


def draw_reduce(d):
    a = d.pick("f", (1, 5))
    if a is None:
        return False
    axes = d.r.sample(range(d.values[a].ndim), d.r.randint(1, d.values[a].ndim))
    op = d.r.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"])
    return d.node(op, [a, d.const(np.array(axes))], keepdims=d.r.randint(0, 1))


def draw_arg(d):
    a = d.pick("f", (1, 4), exact=True)
    return a is not None and d.node(d.r.choice(["ArgMax", "ArgMin"]), [a], exact=True,
                                    axis=d.r.randrange(d.values[a].ndim), keepdims=d.r.randint(0, 1))


def draw_softmax(d):
    a = d.pick("f", (1, 4))
    return a is not None and d.node(d.r.choice(["Softmax", "LogSoftmax"]), [a], axis=d.r.randrange(d.values[a].ndim))


def draw_matmul(d):
    a = d.pick("f", (2, 4))
    if a is None or d.values[a].dtype == np.float16:
        return False
    k = d.values[a].shape[-1]
    return d.node("MatMul", [a, d.const(d.data(d.values[a].dtype, [k, d.r.choice([1, 3, 8, 20])]))])


def draw_conv(d):
    a = d.pick("f", (4, 4))
    if a is None or d.values[a].dtype != np.float32:
        return False
    c, k = d.values[a].shape[1], d.r.choice([1, 2, 3])
    m = d.r.choice([1, 4, 7])
    return d.node("Conv", [a, d.const(d.data("float32", [m, c, k, k])), d.const(d.data("float32", [m]))],
                  pads=[d.r.randint(0, k - 1) for _ in range(4)], strides=[d.r.randint(1, 2), d.r.randint(1, 2)])


def draw_pool(d):
    a = d.pick("f", (4, 4))
    if a is None or min(d.values[a].shape[2:]) < 2:  # windows beyond the image: peers round to one place, not none
        return False
    return d.values[a].dtype == np.float32 and d.node(
        d.r.choice(["MaxPool", "AveragePool"]), [a], kernel_shape=[2, 2], strides=[d.r.randint(1, 2)] * 2)


def draw_norm(d):
    a = d.pick("f", (2, 4))
    if a is None or d.values[a].dtype != np.float32:
        return False
    n = d.values[a].shape[-1]
    return d.node("LayerNormalization", [a, d.const(d.data("float32", [n])), d.const(d.data("float32", [n]))],
                  epsilon=0.1)


def draw_transpose(d):
    a = d.pick(rank=(1, 5))
    if a is None:
        return False
    perm = list(range(d.values[a].ndim))
    d.r.shuffle(perm)
    return d.node("Transpose", [a], exact=True, perm=perm)


def draw_reshape(d):
    """To one or two dims; the target may be computed from another value's shape."""
    a = d.pick(rank=(1, 5))
    if a is None:
        return False
    if d.r.random() < 0.5:
        return d.node("Reshape", [a, d.const(np.array([-1]))], exact=True)
    if not d.node("Shape", [a], exact=True, start=0, end=1):
        return False
    s = list(d.values)[-1]
    return d.node("Concat", [s, d.const(np.array([-1]))], exact=True, axis=0) and \
        d.node("Reshape", [a, list(d.values)[-1]], exact=True)


def draw_slice(d):
    """Starts and ends are constants or computed."""
    a = d.pick(rank=(1, 4))
    if a is None:
        return False
    axis = d.r.randrange(d.values[a].ndim)
    size = d.values[a].shape[axis]
    start, end = sorted([d.r.randint(-1, size), d.r.randint(0, size + 2)])
    ends = d.const(np.array([end]))
    if d.r.random() < 0.4:
        size_at = d.node("Shape", [a], exact=True, start=axis, end=axis + 1) and list(d.values)[-1]
        ends = size_at or ends
    return d.node("Slice", [a, d.const(np.array([start])), ends, d.const(np.array([axis])),
                            d.const(np.array([d.r.choice([1, 1, 2])]))], exact=True)


def draw_move(d):
    a = d.pick(rank=(1, 4))
    if a is None:
        return False
    axis = d.r.randrange(d.values[a].ndim)
    size = d.values[a].shape[axis]
    what = d.r.randrange(6)
    if what == 0:
        return d.node("Concat", [a, a], exact=True, axis=axis)
    if what == 1:
        return d.node("Unsqueeze", [a, d.const(np.array([axis]))], exact=True)
    if what == 2:
        return d.node("Gather", [a, d.const(d.rng.integers(0, max(size, 1), [d.r.randint(1, 4)]))], exact=True, axis=axis)
    if what == 3:
        return d.node("Tile", [a, d.const(d.rng.integers(1, 3, [d.values[a].ndim]))], exact=True)
    if what == 4:
        return size > 1 and d.node("Split", [a], 2, exact=True, axis=axis, num_outputs=2)
    return d.values[a].dtype.kind == "f" and d.node(
        "Pad", [a, d.const(d.rng.integers(0, 3, [2 * d.values[a].ndim]))], exact=True,
        mode=d.r.choice(["constant", "edge"]))


def draw_dynamic(d):
    """Results whose shapes depend on data."""
    what = d.r.randrange(4)
    if what == 0:
        return d.node("NonZero", [d.pick("fib", (1, 3), exact=True)], exact=True)
    if what == 1:
        return d.node("Unique", [d.pick("fi", exact=True)], exact=True, sorted=1)
    a = d.pick(rank=(1, 3))
    if what == 2:
        return a is not None and d.node("Compress", [a, d.const(d.data("bool", [d.values[a].shape[0]]))], exact=True, axis=0)
    b = d.pick("f", (1, 3), exact=True)
    if b is None or d.values[b].shape[-1] < 1:
        return False
    return d.node("TopK", [b, d.const(np.array([1]))], 2, exact=True)


def draw_cumsum(d):
    a = d.pick("fi", (1, 3))
    if a is None or d.values[a].dtype.name not in ("float32", "float64", "int32", "int64"):
        return False
    return d.node("CumSum", [a, d.const(np.array(d.r.randrange(d.values[a].ndim)))], exact=True,
                  reverse=d.r.randint(0, 1), exclusive=d.r.randint(0, 1))


def draw_quant(d):
    """A chain of quantised numbers: quantise, move, dequantise; not where rounding can turn."""
    a = d.pick("f", (1, 4), exact=True)
    if a is None or d.values[a].dtype != np.float32:
        return False
    zero = d.const(np.array(d.r.randint(0, 3), d.r.choice(["int8", "uint8"])))
    scale = d.const(np.float32(0.25))
    if not d.node("QuantizeLinear", [a, scale, zero], exact=True):
        return False
    q = list(d.values)[-1]
    if d.r.random() < 0.5 and d.node("Transpose", [q], exact=True):
        q = list(d.values)[-1]
    return d.node("DequantizeLinear", [q, scale, zero], exact=True)


def draw_if(d):
    a = d.pick("f", (0, 3))
    c = d.pick("b", (0, 0)) or d.input("bool", [])
    if a is None:
        return False
    t = d.name("t")
    branches = []
    for op in (d.r.choice(["Tanh", "Neg", "Identity"]), d.r.choice(["Add", "Abs", "Relu"])):
        ins = [a, a] if op == "Add" else [a]
        branches.append(h.make_graph([h.make_node(op, ins, [t + op])], op,
                                     [], [h.make_tensor_value_info(t + op, onnx_type(d.values[a]), None)]))
    return d.node("If", [c], then_branch=branches[0], else_branch=branches[1])


def draw_loop(d):
    """A carried value, a scan output, a captured value; half of them nest an If."""
    a = d.pick("f", (0, 3))
    if a is None:
        return False
    typ, shape = onnx_type(d.values[a]), d.values[a].shape
    p = d.name("l")
    nodes = [h.make_node("Identity", [p + "c"], [p + "d"]), h.make_node("Tanh", [p + "s"], [p + "u"]),
             h.make_node("Add", [p + "u", a], [p + "t"])]
    if d.r.random() < 0.5:
        g = [h.make_graph([h.make_node(op, [p + "t"], [p + op])], op, [],
                          [h.make_tensor_value_info(p + op, typ, None)]) for op in ("Neg", "Abs")]
        nodes.append(h.make_node("If", [p + "d"], [p + "o"], then_branch=g[0], else_branch=g[1]))
    else:
        nodes.append(h.make_node("Neg", [p + "t"], [p + "o"]))
    info = h.make_tensor_value_info
    body = h.make_graph(nodes, "body", [info(p + "i", T.INT64, []), info(p + "c", T.BOOL, []), info(p + "s", typ, shape)],
                        [info(p + "d", T.BOOL, []), info(p + "t", typ, None), info(p + "o", typ, None)])
    trips = d.const(np.array(d.r.randint(1, 4)))
    return d.node("Loop", [trips, d.const(np.array(True)), a], 2, body=body)


def draw_scan(d):
    a = d.pick("f", (1, 3))
    if a is None or d.values[a].shape[0] < 1:
        return False
    typ, shape = onnx_type(d.values[a]), d.values[a].shape[1:]
    p = d.name("s")
    info = h.make_tensor_value_info
    start = d.const(d.data(d.values[a].dtype, shape))
    body = h.make_graph([h.make_node("Sub", [p + "x", p + "s"], [p + "t"]), h.make_node("Identity", [p + "t"], [p + "y"])],
                        "body", [info(p + "s", typ, shape), info(p + "x", typ, shape)],
                        [info(p + "t", typ, shape), info(p + "y", typ, shape)])
    return d.node("Scan", [start, a], 2, body=body, num_scan_inputs=1)


LENGTHS = list(range(1, 16)) + [21, 22, 26, 30, 35, 36, 49, 60, 64, 77, 91, 97, 105, 120, 121, 128, 143, 210, 243, 256, 360]


def draw_dft(d):
    """Lengths of many factors, cut or padded with zeros, along any axis but the last."""
    dtype = d.r.choice(["float32", "float64"])
    shape = [d.r.randint(1, 3) for _ in range(d.r.randint(1, 2))] + [1 + (d.r.randint(0, 1))]
    axis = d.r.randrange(len(shape) - 1)
    shape[axis] = d.r.choice(LENGTHS)
    length = d.const(np.array(d.r.choice(LENGTHS))) if d.r.random() < 0.3 else ""
    inverse = d.r.random() < 0.3
    onesided = not inverse and shape[-1] == 1 and d.r.random() < 0.5
    return d.node("DFT", [d.input(dtype, shape), length, d.const(np.array(axis))], inverse=int(inverse),
                  onesided=int(onesided))


def narrow(d, *shape):
    return d.input(d.r.choice(["float16", "float16", "float32"]), list(shape))


def draw_tail(d):
    """What follows a product: biases, residuals, activations, casts and back."""
    for _ in range(d.r.randint(0, 4)):
        y = list(d.values)[-1]
        v = d.values[y]
        what = d.r.randrange(6)
        if what == 0:
            bias = d.data(v.dtype, [v.shape[1], 1, 1] if v.ndim == 4 else [v.shape[-1]])
            d.node(d.r.choice(["Add", "Mul"]), [y, d.const(bias)])
        elif what == 1:
            d.node(d.r.choice(["Add", "Sub", "Mul"]), [y, d.input(v.dtype.name, v.shape)])
        elif what == 2:
            d.node("Clip", [y, d.const(np.array(-1, v.dtype)), d.const(np.array(3, v.dtype))])
        elif what == 3:
            to = d.r.choice(["float16", "float32"])
            d.node("Cast", [y], to=h.np_dtype_to_tensor_dtype(np.dtype(to)))
        elif what == 4 and v.ndim == 4 and min(v.shape[2:]) > 2:
            d.node(d.r.choice(["MaxPool", "AveragePool"]), [y], kernel_shape=[2, 3], strides=[d.r.randint(1, 2)] * 2)
        else:
            d.node(d.r.choice(["Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Neg"]), [y])
    return True


def draw_narrow_conv(d):
    c, m = d.r.choice([1, 3, 8, 16, 32]), d.r.choice([1, 4, 8, 16, 24])
    a = narrow(d, d.r.randint(1, 2), c, d.r.randint(3, 15), d.r.randint(3, 15))
    t = d.values[a].dtype
    size = d.r.choice([3, 3, 3, 1, 2])
    pads = [1] * 4 if size == 3 else [d.r.randint(0, size - 1) for _ in range(4)]
    weights = d.const(d.data(t, [m, c, size, size]) / t.type(4 * size))
    return d.node("Conv", [a, weights] + [d.const(d.data(t, [m]))] * d.r.randint(0, 1), pads=pads,
                  strides=[1 if size == 3 else d.r.randint(1, 2)] * 2) and draw_tail(d)


def draw_narrow_matmul(d):
    k = d.r.choice([1, 2, 7, 16, 33, 64, 100])
    a = narrow(d, *([d.r.randint(1, 3)] if d.r.random() < 0.5 else []), d.r.choice([1, 3, 8, 17, 40]), k)
    t = d.values[a].dtype
    b = d.data(t, [k, d.r.choice([1, 5, 16, 33, 64])]) / t.type(4)
    return d.node("MatMul", [a, d.const(b) if d.r.random() < 0.8 else d.input(t.name, b.shape)]) and draw_tail(d)


def draw_norms(d):
    """Of f16 too; values whose squares f16 does not hold."""
    c = d.r.choice([2, 4, 6])
    a = narrow(d, d.r.randint(1, 2), c, d.r.randint(2, 6), d.r.randint(4, 12))
    t = d.values[a].dtype
    if d.r.random() < 0.5:
        d.values[a] = (d.values[a] * 5000).astype(t)
    op = d.r.choice(["LayerNormalization", "InstanceNormalization", "GroupNormalization", "LpNormalization", "Softmax"])
    if op in ("LpNormalization", "Softmax"):
        return d.node(op, [a], axis=d.r.randint(-2, -1))
    n = d.values[a].shape[-1] if op[0] == "L" else c
    scale, bias = (d.const(d.data(t, [n])) for _ in range(2))
    return d.node(op, [a, scale, bias], **({"num_groups": 2} if op[0] == "G" else {}))


def draw_pool_indices(d):
    dtype = d.r.choice(["float32", "float16", "int8", "uint8", "float64"])
    a = d.input(dtype, [d.r.randint(1, 2), d.r.randint(1, 3), d.r.randint(3, 12), d.r.randint(3, 12)])
    kernel = [d.r.randint(1, 3), d.r.randint(1, 3)]
    pads = [d.r.randint(0, k // 2) for k in kernel * 2]
    return d.node("MaxPool", [a], 2, exact=True, kernel_shape=kernel, strides=[d.r.randint(1, 3), d.r.randint(1, 3)],
                  pads=pads, dilations=[d.r.randint(1, 2) if min(d.values[a].shape[2:]) > 5 else 1] * 2)


def draw_deform(d):
    group = d.r.choice([1, 1, 2])
    c, m, size, n = group * d.r.randint(1, 3), group * d.r.randint(1, 4), d.r.randint(1, 3), d.r.randint(1, 2)
    height, width, pad, stride = d.r.randint(4, 9), d.r.randint(4, 9), d.r.randint(0, 1), d.r.randint(1, 2)
    rows, columns = ((x + 2 * pad - size) // stride + 1 for x in (height, width))
    offset_group = d.r.choice([1, c])
    taps = offset_group * size * size
    ins = [d.input("float32", [n, c, height, width]), d.const(d.data("float32", [m, c // group, size, size])),
           d.input("float32", [n, 2 * taps, rows, columns])]
    if d.r.random() < 0.6:
        ins.append(d.const(d.data("float32", [m])))
        if d.r.random() < 0.6:
            ins.append(d.input("float32", [n, taps, rows, columns]))
    return d.node("DeformConv", ins, kernel_shape=[size] * 2, pads=[pad] * 4, strides=[stride] * 2, group=group,
                  offset_group=offset_group)


def draw_top(d):
    dtype = d.r.choice(["float16", "float32", "float64", "int64", "int32"])
    a = d.input(dtype, [d.r.randint(1, 4), d.r.choice([1, 5, 30, 100, 700])])
    k = d.r.randint(1, d.values[a].shape[1])
    return d.node("TopK", [a, d.const(np.array([k]))], 2, exact=True, axis=-1, largest=d.r.randint(0, 1), sorted=1)


def draw_half_quant(d):
    t = d.r.choice([np.float16, np.float32])
    a = d.input(t.__name__, [d.r.randint(1, 4), d.r.randint(1, 40)])
    # in f16 the quotient is one of f16, which ONNX Runtime does not round
    scale = d.const(t(d.r.choice([.25, .5, .1] if t == np.float32 else [.25, .5])))
    zero = d.const(np.array(d.r.randint(0, 3), d.r.choice(["int8", "uint8"])))
    return d.node("QuantizeLinear", [a, scale, zero], exact=True) and \
        d.node("DequantizeLinear", [list(d.values)[-1], scale, zero])


def draw_resize(d):
    a = narrow(d, 1, d.r.randint(1, 4), d.r.randint(2, 7), d.r.randint(2, 7))
    scales = np.array([1, 1, d.r.choice([1, 2, 3, .5, 1.5]), d.r.choice([1, 2, 4, .5])], np.float32)
    return d.node("Resize", [a, "", d.const(scales)], mode=d.r.choice(["nearest", "linear"]), nearest_mode="floor",
                  coordinate_transformation_mode=d.r.choice(["asymmetric", "half_pixel", "align_corners"]))


def draw_scatter(d):
    a = d.input(d.r.choice(["float32", "float16", "int64"]), [d.r.randint(2, 6), d.r.randint(2, 6)])
    v = d.values[a]
    n = d.r.randint(1, 5)
    reduction = d.r.choice(["none", "add", "max", "min", "mul"])
    rows = d.rng.permutation(v.shape[0])[:n] if reduction == "none" else d.rng.integers(0, v.shape[0], n)
    updates = d.input(v.dtype.name, [len(rows), v.shape[1]])
    return d.node("ScatterND", [a, d.const(rows.reshape(-1, 1).astype(np.int64)), updates], reduction=reduction)


def draw_transposed(d):
    c, m = d.r.randint(1, 6), d.r.randint(1, 6)
    a = narrow(d, d.r.randint(1, 2), c, d.r.randint(1, 7), d.r.randint(1, 7))
    size, stride = d.r.randint(1, 4), d.r.randint(1, 3)
    return d.node("ConvTranspose", [a, d.const(d.data(d.values[a].dtype, [c, m, size, size]))], strides=[stride] * 2,
                  pads=[d.r.randint(0, (size - 1) // 2)] * 4) and draw_tail(d)


NARROW = [draw_dft, draw_dft, draw_narrow_conv, draw_narrow_conv, draw_narrow_matmul, draw_narrow_matmul, draw_norms, draw_pool_indices,
          draw_deform, draw_top, draw_half_quant, draw_resize, draw_scatter, draw_transposed]
DRAW = [draw_unary] * 4 + [draw_exact, draw_binary, draw_binary, draw_binary, draw_compare, draw_logic, draw_where,
                           draw_cast, draw_cast, draw_reduce, draw_arg, draw_softmax, draw_matmul, draw_conv, draw_pool,
                           draw_norm, draw_transpose, draw_reshape, draw_slice, draw_slice, draw_move, draw_move,
                           draw_dynamic, draw_cumsum, draw_quant, draw_if, draw_loop, draw_scan]


def expected(model, feeds):
    if not ort:
        return ReferenceEvaluator(model).run(None, feeds)
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(None, feeds)


def write_set(folder, model, inputs, feeds):
    outputs = expected(model, feeds)
    if any(not isinstance(y, np.ndarray) or (y.dtype.kind == "f" and not np.isfinite(y).all()) for y in outputs):
        return False
    os.makedirs(folder)
    for i, n in enumerate(inputs):
        np.save(f"{folder}/input_{i}.npy", feeds[n])
    for i, y in enumerate(outputs):
        np.save(f"{folder}/output_{i}.npy", y)
    return True


def draw(seed, folder, rows):
    d = Drawing(seed)
    if rows is DRAW:
        for _ in range(d.r.randint(1, 3)):
            d.input()
        if d.r.random() < 0.4:
            d.input("float32", [d.r.randint(1, 2), d.r.randint(1, 4), d.r.randint(3, 9), d.r.randint(3, 9)])
    want, tries = d.r.randint(1, 12 if rows is DRAW else 3), 0
    while want > 0 and tries < 200:
        tries += 1
        want -= bool(d.r.choice(rows)(d))
    d.inputs = [i for i in d.inputs if rows is DRAW or any(i in n.input for n in d.nodes)]
    made = [o for n in d.nodes for o in n.output]
    read = {i for n in d.nodes for i in list(n.input) + captures(n)}
    results = [o for o in made if o not in read or d.r.random() < 0.15]
    if not results:
        return None
    symbolic = d.r.random() < 0.5
    dims = {n: [f"s{k}" if symbolic and k > 1 else k for k in d.values[n].shape] for n in d.inputs}
    g = h.make_graph(d.nodes, "random", [h.make_tensor_value_info(n, onnx_type(d.values[n]), dims[n]) for n in d.inputs],
                     [h.make_tensor_value_info(o, onnx_type(d.values[o]), None) for o in results],
                     [nh.from_array(d.values[n], n) for n in d.inits])
    model = h.make_model(g, opset_imports=[h.make_opsetid("", OPSET)], ir_version=10)
    half = any(v.dtype == np.float16 for v in d.values.values())
    folder = f"{folder}/{'half' if half else 'exact'}/{seed}"
    try:
        if not write_set(f"{folder}/test_data_set_0", model, d.inputs, {n: d.values[n] for n in d.inputs}):
            return None
        if symbolic:  # the same symbols at other sizes, where the peer takes them
            other = {k: k + d.r.randint(1, 3) for n in d.inputs for k in d.values[n].shape if k > 1}
            feeds = {n: d.data(d.values[n].dtype, [other.get(k, k) for k in d.values[n].shape]) for n in d.inputs}
            try:
                write_set(f"{folder}/test_data_set_1", model, d.inputs, feeds)
            except Exception:
                pass
    except Exception:
        return None
    onnx.save(model, f"{folder}/model.onnx")
    return folder


def main():
    folder, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rows = NARROW if "narrow" in sys.argv[4:] else DRAW
    made = sum(draw(seed, folder, rows) is not None for seed in range(first, first + count))
    print(f"{made} models of {count} seeds, peer: {'onnxruntime ' + ort.__version__ if ort else 'onnx reference'}")


main()
