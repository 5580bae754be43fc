"""The cases of compare_operators.py: for each family a generator of one-node models.

A case that a version of its operator does not admit is dropped by ONNX's checker, so tables here need not say which
version has which attribute or element type. Values come from one seeded generator per family.
"""
import itertools, zlib
import ml_dtypes as ml, numpy as np, onnx
from onnx import helper

FLOATS = [np.float32, np.float16, np.float64, ml.bfloat16]
INTS = [np.int32, np.int64, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64]
NARROW = [ml.int4, ml.uint4, ml.int2, ml.uint2]
FP8 = [ml.float6_e2m3fn, ml.float6_e3m2fn, ml.float8_e4m3fn, ml.float8_e4m3fnuz, ml.float8_e5m2, ml.float8_e5m2fnuz, ml.float8_e8m0fnu, ml.float4_e2m1fn]
ALL = FLOATS + INTS + [np.bool_, object, np.complex64, np.complex128]
rng = np.random.default_rng(0)


class Case:
    def __init__(self, op, inputs, nout=1, domain="", tol=None, decide=None, only=None, unused=(), base=21, fixed=None, shared=None, **attrs):
        self.op, self.nout, self.domain, self.tol, self.decide = op, nout, domain, tol, decide
        self.only, self.unused, self.base, self.attrs = only, unused, base, attrs
        self.shared = shared  # outputs that onnxruntime wants in the memory of inputs
        self.fixed = fixed  # from which operand on there are constants without static shapes (-N: always), "shapes": not without
        self.inputs = [v if v is None or isinstance(v, list) else np.asarray(v) for v in inputs]

    def attributes(self, opset):
        return {k: v(opset) if callable(v) else v for k, v in self.attrs.items()}


def is_float(t):
    return np.dtype(t).kind == "f" or np.dtype(t) == ml.bfloat16


def values(t, *shape, lo=-3, hi=3):
    t = np.dtype(t)
    if t == object:
        return rng.choice(np.array(["a", "bc", "", "Zürich", "x y"], dtype=object), shape or ()) if shape else np.array("bc", dtype=object)
    if t == np.bool_:
        return np.asarray(rng.integers(0, 2, shape), t)
    if t.kind == "c":
        return np.asarray(rng.uniform(lo, hi, shape) + 1j * rng.uniform(lo, hi, shape)).astype(t)
    if t.kind == "u" or t in (ml.uint4, ml.uint2):
        lo, hi = max(lo, 0), max(hi, 3)
    if t.kind in "iu" or t in NARROW:
        return np.asarray(rng.integers(int(np.ceil(lo)), int(hi) + 1, shape)).astype(t)
    return np.asarray(rng.uniform(lo, hi, shape)).astype(t)


def f(*shape, lo=-3, hi=3):
    return values(np.float32, *shape, lo=lo, hi=hi)


def i64(*v):
    return np.array(v, dtype=np.int64)


def special(t):
    if is_float(t):
        return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.nan, np.inf, -np.inf, 1e-7, -7.5, 65000.]).astype(t)
    if np.dtype(t).kind in "iu":
        n = np.iinfo(t)
        return np.array([0, 1, 2, 3, 7, n.max, n.max - 1, n.min, n.min + 1], dtype=t)
    return values(t, 9)


SHAPES = [(), (5,), (0, 3), (2, 3, 4), (1, 2, 1, 2, 1, 2, 1, 3)]
BROADCASTS = [((), ()), ((3,), ()), ((), (2, 3)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((3, 1), (1, 4)), ((0, 3), (3,)),
              ((2, 0), (1, 1)), ((1, 2, 1, 2, 1, 3), (2, 2, 1, 2, 1)), ((4, 1, 5), (4, 7, 1)), ((17,), (17,)),
              ((2, 3, 1, 5), (3, 4, 1)), ((1,), (3, 1)), ((2, 1, 1, 3), (2, 5, 4, 3))]

UNARY = {  # domain of the random values, attribute choices
    "Abs": (-3, 3), "Neg": (-3, 3), "Sign": (-3, 3), "Ceil": (-3, 3), "Floor": (-3, 3), "Round": (-4, 4), "Exp": (-4, 4),
    "Log": (.01, 5), "Sqrt": (0, 9), "Reciprocal": (.3, 4), "Relu": (-3, 3), "Sigmoid": (-6, 6), "Tanh": (-4, 4),
    "Erf": (-3, 3), "Sin": (-9, 9), "Cos": (-9, 9), "Tan": (-1.4, 1.4), "Asin": (-1, 1), "Acos": (-1, 1), "Atan": (-5, 5),
    "Sinh": (-4, 4), "Cosh": (-4, 4), "Asinh": (-9, 9), "Acosh": (1, 9), "Atanh": (-.95, .95), "Softplus": (-9, 9),
    "Softsign": (-9, 9), "HardSwish": (-5, 5), "Mish": (-5, 5), "IsNaN": (-3, 3), "IsInf": (-3, 3), "Not": (0, 1),
    "BitwiseNot": (-9, 9), "Identity": (-3, 3), "Elu": (-3, 3), "LeakyRelu": (-3, 3), "Selu": (-3, 3), "Celu": (-3, 3),
    "HardSigmoid": (-5, 5), "ThresholdedRelu": (-3, 3), "Shrink": (-3, 3), "Gelu": (-4, 4), "Swish": (-4, 4),
    "Shape": (0, 3), "Size": (0, 3), "NonZero": (-1, 1),
}
UNARY_ATTRIBUTES = {
    "Elu": [dict(alpha=.3)], "LeakyRelu": [dict(alpha=.3), dict(alpha=-.2), dict(alpha=1.5)], "Selu": [dict(alpha=2., gamma=3.)],
    "Celu": [dict(alpha=.3), dict(alpha=2.)], "HardSigmoid": [dict(alpha=.5, beta=.1)],
    "ThresholdedRelu": [dict(alpha=.3), dict(alpha=0.), dict(alpha=-1.)],
    "Shrink": [dict(lambd=1., bias=.5), dict(lambd=.1), dict(bias=1.)], "Gelu": [dict(approximate="tanh")],
    "Swish": [dict(alpha=.3)], "IsInf": [dict(detect_negative=0), dict(detect_positive=0), dict(detect_negative=0, detect_positive=0)],
    "Shape": [dict(start=1), dict(start=-1), dict(end=-1), dict(start=1, end=2), dict(start=-9, end=9), dict(start=2, end=1)],
    "Identity": [], }


def unary():
    for op, (lo, hi) in UNARY.items():
        for k, t in enumerate(ALL + NARROW + FP8):
            for shape in SHAPES if k == 0 else [(2, 3, 5), (33,)]:
                yield Case(op, [values(t, *shape, lo=lo, hi=hi)])
            if t != object and (np.dtype(t).kind in "iuf" or t is ml.bfloat16):
                yield Case(op, [special(t)])
            for a in UNARY_ATTRIBUTES.get(op, []):
                yield Case(op, [values(t, 3, 7, lo=lo, hi=hi)], **a)
                if is_float(t):
                    yield Case(op, [special(t)], **a)
    for t in ALL:
        for lo, hi in ((-1, 1), (0, 1), (None, 1), (-1, None), (2, -2), (None, None)):
            if t in (object, np.bool_) or np.dtype(t).kind == "c":
                continue
            n = [None if v is None else np.array(max(v, 0) if np.dtype(t).kind == "u" else v).astype(t) for v in (lo, hi)]
            for x in (values(t, 3, 7), special(t), values(t)):
                yield Case("Clip", [x, *n])
        for a in (dict(min=-1., max=1.), dict(max=1.), dict(min=-1.), {}):
            yield Case("Clip", [values(t, 3, 7)], **a)
            if is_float(t):
                yield Case("Clip", [special(t)], **a)
    for c in (1, 3):
        for t in FLOATS + INTS:
            for s in ((2, 3, 4), (4,), (1, 1), (2, 1, 1), (3, 1), ()):
                yield Case("PRelu", [values(t, 2, 2, 3, 4) if len(s) == 3 and s != (2, 3, 4) else values(t, 2, 3, 4) if s != (3, 1) else values(t, 2, 3, 5), values(t, *s)])
    yield Case("PRelu", [special(np.float32), f(1)])


BINARY = "Add Sub Mul Div Pow Mod Max Min Sum Mean And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift".split()


def binary():
    for op in BINARY:
        attribute_choices = {"Mod": [{}, dict(fmod=1)], "BitShift": [dict(direction="LEFT"), dict(direction="RIGHT")]}.get(op, [{}])
        for t in ALL:
            nonzero = op in ("Div", "Mod")
            for a in attribute_choices:
                lo, hi = (0, 7) if op == "BitShift" else (-3, 3) if op != "Pow" else (.5, 3)
                for sa, sb in BROADCASTS if t in (np.float32, np.int64, np.bool_, np.uint8) else BROADCASTS[3:6]:
                    x, y = values(t, *sa, lo=lo if op != "Pow" else -3, hi=9), values(t, *sb, lo=lo, hi=hi)
                    if nonzero and t not in (object, np.bool_):
                        y = np.where(y == np.zeros((), t), np.ones((), t), y).astype(t)
                    yield Case(op, [x, y], **a)
                if t not in (object, np.bool_) and np.dtype(t).kind != "c" and not (op == "Pow" and not is_float(t)):
                    s = special(t)
                    x, y = np.repeat(s, len(s)), np.tile(s, len(s))
                    if not is_float(t):
                        ok = np.ones(x.shape, bool)
                        if nonzero:
                            ok &= (y != 0) & ~((x == np.iinfo(t).min) & (y == np.array(-1).astype(t)))
                        if op == "BitShift":
                            ok &= (y >= 0) & (y < np.dtype(t).itemsize * 8)
                        x, y = x[ok], y[ok]
                    yield Case(op, [x, y], **a)
        for t in (np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_, np.int8, ml.bfloat16, np.uint64):
            if op in ("Max", "Min", "Sum", "Mean"):
                yield Case(op, [values(t, 2, 3)])
                yield Case(op, [values(t, 2, 3), values(t, 3), values(t), values(t, 4, 1, 1)])
                yield Case(op, [values(t, 2, 3)] * 3)
        for axis in (None, 0, 1, 2, -1):
            extra = {} if axis is None else dict(axis=axis)
            for t in (np.float32, np.int64, np.bool_):
                y = {None: (4, 5), 0: (2,), 1: (3, 4), 2: (4,), -1: (5,)}[axis]
                yield Case(op, [values(t, 2, 3, 4, 5, lo=1), values(t, *y, lo=1)], broadcast=1, **extra)
                if axis is None:
                    yield Case(op, [values(t, 2, 3, 4, 5, lo=1), values(t, lo=1)], broadcast=1)
                    yield Case(op, [values(t, 2, 3, lo=1), values(t, 1, lo=1)], broadcast=1)
                    yield Case(op, [values(t, 2, 3, lo=1), values(t, 2, 3, lo=1)])
    for t, u in itertools.product([np.float32, np.float64, np.int32, np.int64, np.float16, ml.bfloat16], FLOATS + INTS):
        yield Case("Pow", [values(t, 2, 7, lo=1, hi=4), values(u, 7, lo=0, hi=3)])
        yield Case("Pow", [values(t, 2, 7, lo=-4, hi=4), np.array(2).astype(u)])
        if is_float(u):
            yield Case("Pow", [values(t, 2, 7, lo=1, hi=4), np.array(.5).astype(u)])
    for e in (0, 1, 2, 3, -1, -2, .5, -.5, 4, 10):
        yield Case("Pow", [special(np.float32), np.float32(e)])
        yield Case("Pow", [f(3, 5), np.array([e], np.float32)])
    for t in ALL:
        for c, x, y in (((3,), (2, 3), ()), ((), (2, 3), (3,)), ((2, 1), (1, 3), (2, 3)), ((4, 1, 1), (3, 1), (5,)), ((0,), (0,), (1,))):
            yield Case("Where", [values(np.bool_, *c), values(t, *x), values(t, *y)])


REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split()


def reduction():
    axes = [None, [0], [1], [-1], [0, 2], [-1, -3], [2, 0, 1], [0, 1, 2], [1, 2]]
    for op in REDUCTIONS:
        lo = .1 if op == "ReduceLogSum" else -3
        for k, t in enumerate(FLOATS + INTS + [np.bool_]):
            for ax in axes if k == 0 else axes[:5]:
                for keep in (0, 1):
                    x = values(t, 3, 4, 5, lo=max(lo, 1) if op == "ReduceLogSum" and not is_float(t) else lo, hi=3)
                    as_attribute = {} if ax is None else dict(axes=ax)
                    yield Case(op, [x], keepdims=keep, **as_attribute)
                    if ax is not None:
                        yield Case(op, [x, i64(*ax)], keepdims=keep)
            yield Case(op, [values(t, 3, 4), i64()], noop_with_empty_axes=1)
            yield Case(op, [values(t, 3, 4), i64()], noop_with_empty_axes=0)
            yield Case(op, [values(t, 3, 4)], noop_with_empty_axes=1)
            yield Case(op, [values(t, 3, 4), i64()])
            for empty, ax in (((2, 0, 3), [1]), ((0, 3), [0]), ((0, 3), [1]), ((0,), [0])):
                yield Case(op, [values(t, *empty), i64(*ax)])
                yield Case(op, [values(t, *empty), i64(*ax)], keepdims=0)
            yield Case(op, [values(t, lo=1)])
            yield Case(op, [values(t, 2, 1, 2, 3, 1, 2), i64(1, 3, -1)])
        for x in (special(np.float32), np.float32([[1, np.nan], [np.inf, 2], [-np.inf, np.inf], [-np.inf, -np.inf], [800, 900], [0, -0.]])):
            yield Case(op, [x, i64(-1)])
            yield Case(op, [x], axes=[x.ndim - 1])
        for shape, ax in (((2, 7, 130), [1]), ((2, 7, 130), [2]), ((300, 5), [0]), ((1000,), [0]), ((4, 3, 9, 11), [2, 3]), ((4, 3, 9, 11), [0, 2, 3]), ((4, 3, 9, 11), [1])):
            yield Case(op, [f(*shape, lo=.5, hi=1.2), i64(*ax)])
            yield Case(op, [f(*shape, lo=.5, hi=1.2)], axes=ax, keepdims=0)
        yield Case(op, [special(np.int32)], axes=[0])
    for op in ("ArgMax", "ArgMin"):
        for t in FLOATS + INTS:
            for ax in (None, 0, 1, -1, -3):
                for keep, last in itertools.product((0, 1), (0, 1, None)):
                    a = {} if ax is None else dict(axis=ax)
                    yield Case(op, [values(t, 3, 4, 5, lo=-1, hi=1).round().astype(t)], keepdims=keep, **a, **({} if last is None else dict(select_last_index=last)))
        for x in (np.float32([[1, np.nan, 3, np.nan], [np.nan, 1, 2, 3], [np.inf, 3, np.inf, -np.inf], [-0., 0, -0., 0]]), special(np.int64), f(1), values(np.uint64, 0, 3)):
            for last in (0, 1):
                yield Case(op, [x], axis=-1, select_last_index=last)
    for op in ("CumSum", "CumProd"):
        for t in FLOATS + INTS[:2] + [np.uint32, np.uint64]:
            for axis, ex, rev in itertools.product((0, 1, -1), (0, 1), (0, 1)):
                for it in (np.int32, np.int64):
                    yield Case(op, [values(t, 3, 4, 2), np.array(axis, it)], exclusive=ex, reverse=rev)
        yield Case(op, [f(3, 0), np.int64(1)])
        yield Case(op, [f(3, 2), i64(1)])
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for t in FLOATS:
            for axis in (None, 0, 1, 2, -1, -2, -3):
                yield Case(op, [values(t, 3, 4, 5)], **({} if axis is None else dict(axis=axis)))
        for x in (f(), f(5), f(2, 0), f(0, 4), f(2, 3, 4, 5, 2), f(2, 300), f(7, 1), np.float32([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 1], [np.nan, 0], [1e30, -1e30]])):
            for axis in (None, -1, 0, 1):
                yield Case(op, [x], **({} if axis is None else dict(axis=axis)))
        yield Case(op, [np.float32([[1, 1, 0], [2, 3, 3]])])
    for axes_ in (None, [0], [1, 2], [-1], [0, 2, 3], [0, 1, 2, 3], [-1, -2]):
        yield Case("MeanVarianceNormalization", [f(2, 3, 4, 5)], **({} if axes_ is None else dict(axes=axes_)))
    for p, axis in itertools.product((1, 2), (-1, 0, 1)):
        for t in FLOATS:
            yield Case("LpNormalization", [values(t, 2, 3, 4)], p=p, axis=axis)
        yield Case("LpNormalization", [np.float32([[0, 0], [1, 0]])], p=p, axis=-1)


def views():
    for t in ALL + NARROW + FP8:
        x = values(t, 2, 3, 4)
        for s in ([4, 6], [-1], [0, -1], [0, 0, 0], [2, 0, -1], [1, 24, 1], [-1, 0, 4], [0, 12]):
            yield Case("Reshape", [x, i64(*s)])
            yield Case("Reshape", [x], shape=s)
        for p in (None, [0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1]):
            yield Case("Transpose", [x], **({} if p is None else dict(perm=p)))
        for axis in (None, 0, 1, 2, 3, -1, -2, -3):
            yield Case("Flatten", [x], **({} if axis is None else dict(axis=axis)))
        x = values(t, 1, 3, 1, 2)
        for ax in (None, [0], [2], [0, 2], [-2], [-4, 2], [2, 0]):
            yield Case("Squeeze", [x] + ([] if ax is None else [i64(*ax)]))
            yield Case("Squeeze", [x], **({} if ax is None else dict(axes=ax)))
        x = values(t, 3, 2)
        for ax in ([0], [1], [2], [-1], [-3], [0, 1], [1, 3], [-1, 0], [3, 0], [-1, -2], [0, 4, 1]):
            yield Case("Unsqueeze", [x, i64(*ax)])
            yield Case("Unsqueeze", [x], axes=ax)
        for s in ([3, 2], [4, 1, 1], [1], [2, 1, 2], [0, 1, 1], [5, 3, 2], [1, 1, 1, 2]):
            yield Case("Expand", [values(t, 3, 2), i64(*s)])
        yield Case("Expand", [values(t), i64(2, 2)])
        yield Case("Expand", [values(t, 1), i64()])
        for r in ([1, 1], [2, 1], [1, 3], [2, 2], [0, 2]):
            yield Case("Tile", [values(t, 3, 2), i64(*r)])
        yield Case("Tile", [values(t, 2), i64(3)])
        yield Case("Tile", [values(t), i64()])
        yield Case("Tile", [values(t, 2, 3), np.int64(3), np.int64(1)])
        yield Case("Tile", [values(t, 2, 3).astype(t), np.array([3]).astype(t if t != object else np.int64), np.array([1]).astype(t if t != object else np.int64)])
        for axis in (None, 0, 1, -1, -2):
            a = {} if axis is None else dict(axis=axis)
            shapes = ((2, 3), (4, 3)) if axis in (0, -2) else ((2, 3), (2, 1))
            yield Case("Concat", [values(t, *s) for s in shapes], **a)
        yield Case("Concat", [values(t, 2, 0), values(t, 2, 3), values(t, 2, 2)], axis=1)
        yield Case("Concat", [values(t, 2, 3)], axis=0)
        yield Case("Concat", [values(t, 2)] * 3, axis=0)
        for axis in (0, 1, -1):
            n = 6 if axis else 4
            x = values(t, 4, 6)
            yield Case("Split", [x, i64(1, n - 1)], 2, axis=axis)
            yield Case("Split", [x], 2, axis=axis, split=[1, n - 1])
            yield Case("Split", [x, i64(0, n)], 2, axis=axis)
            for k in (1, 2, 3, 4):
                yield Case("Split", [x], k, axis=axis)
                yield Case("Split", [x], k, axis=axis, num_outputs=k)
        yield Case("Split", [values(t, 4), i64(1, 2, 1)], 3)
        yield Case("Split", [values(t, 7)], 3, num_outputs=3)
        yield Case("Split", [values(t, 5)], 4, num_outputs=4)
        yield Case("Split", [values(t, 5), i64(2, 3)], 2, unused=(0,))
        yield Case("Split", [values(t, 2, 5), np.array([2, 3]).astype(t if t != object else np.int64)], 2, axis=1)
        x = values(t, 4, 5, 6)
        for st, en, ax, sp in SLICES:
            for it in (np.int64, np.int32):
                st, en = (np.clip(v, -2**31, 2**31 - 1) if it is np.int32 else v for v in (st, en))
                yield Case("Slice", [x, np.array(st, it), np.array(en, it)] + ([] if ax is None else [np.array(ax, it)] if sp is None else [np.array(ax, it), np.array(sp, it)]) if not (ax is None and sp) else [x, np.array(st, it), np.array(en, it), None, np.array(sp, it)])
            if sp is None:
                yield Case("Slice", [x], starts=list(map(int, st)), ends=list(map(int, en)), **({} if ax is None else dict(axes=ax)))
        for n in (2, 3):
            for mode in (None, "DCR", "CRD"):
                yield Case("DepthToSpace", [values(t, 2, 18 if n == 3 else 8, 2, 3)], blocksize=n, **({} if mode is None else dict(mode=mode)))
                yield Case("SpaceToDepth", [values(t, 2, 3, 2 * n, 3 * n)], blocksize=n, **({} if mode is None else dict(mode=mode)))
        for s in ([4, 5], [2, 3], [6, 2], [4, 4], [3, 8], [5, 6]):
            yield Case("CenterCropPad", [values(t, 4, 5), i64(*s)])
        yield Case("CenterCropPad", [values(t, 4, 5, 3), i64(3, 7)], axes=[2, 0])
        yield Case("CenterCropPad", [values(t, 4, 5, 3), i64(7, 2)], axes=[-1, -2])
        for k in (None, 0, 1, -1, 3, -3, 9, -9):
            for up in (0, 1):
                for s in ((3, 4), (2, 4, 3), (3, 0)):
                    yield Case("Trilu", [values(t, *s)] + ([] if k is None else [np.int64(k)]), upper=up)
    for s, z in (([0, 3], 1), ([3, 0], 1), ([0], 1), ([0, 0, 5], 1), ([-1, 3], 0), ([0, -1], 0), ([0, 3, -1], 0)):
        yield Case("Reshape", [f(0, 3), i64(*s)], allowzero=z)
    yield Case("Reshape", [f(), i64(1, 1)])
    yield Case("Reshape", [f(1, 1), i64()])
    yield Case("Transpose", [f(2, 1, 3, 2, 1, 2, 2, 3)], perm=[7, 0, 3, 1, 6, 2, 5, 4])
    yield Case("Transpose", [f(2, 3, 4, 5)], perm=[0, 2, 3, 1])
    yield Case("Transpose", [f(2, 3, 4, 5)], perm=[0, 3, 1, 2])
    yield Case("Transpose", [f(2, 3, 4, 5)], perm=[3, 0, 2, 1])
    yield Case("Transpose", [f()])
    yield Case("Transpose", [f(0, 2)])
    yield Case("Flatten", [f()], axis=0)
    yield Case("Flatten", [f(2, 0, 3)], axis=1)
    yield Case("ReverseSequence", [f(4, 3, 2), i64(1, 4, 2)])
    for t in ALL:
        for ta, ba in ((0, 1), (1, 0)):
            yield Case("ReverseSequence", [values(t, 4, 4, 2), i64(1, 4, 2, 3)], time_axis=ta, batch_axis=ba)


INT = 2**63 - 1
SLICES = [([0], [2], None, None), ([1, 0], [3, 4], None, None), ([1], [-1], [0], None), ([-3], [INT], [1], None), ([0, 1, 2], [4, 5, 6], [0, 1, 2], None),
          ([0, 1], [2, 3], [2, 0], None), ([0], [9], [-1], None), ([3], [1], [0], None), ([-100], [100], [1], None), ([1, 2], [4, 3], [-1, -2], None),
          ([0], [5], [1], [2]), ([5], [0], [1], [-1]), ([-1], [-1000], [2], [-2]), ([-1], [-INT], [2], [-1]), ([9], [-9], [1], [-3]), ([0, 5], [4, 0], [0, 2], [3, -2]),
          ([2], [2], [0], [1]), ([1, 0, 0], [3, 4, 4], None, [1, 2, 3])]


def indexing():
    for t in ALL + NARROW[:2] + FP8[:2]:
        x = values(t, 4, 3, 5)
        for axis in (None, 0, 1, 2, -1, -2):
            for it in (np.int64, np.int32):
                for s in ((), (2,), (2, 3), (0,), (1, 1, 2)):
                    yield Case("Gather", [x, values(it, *s, lo=-3, hi=2)], **({} if axis is None else dict(axis=axis)))
            n = x.shape[axis or 0]
            yield Case("GatherElements", [x, values(np.int64, 2, 3, 4, lo=-3, hi=2)], **({} if axis is None else dict(axis=axis)))
            yield Case("GatherElements", [x, values(np.int32, 1, 2, 2, lo=-3, hi=2)], **({} if axis is None else dict(axis=axis)))
        for b in (None, 0, 1, 2):
            for s in ((2, 1), (2, 2), (4, 1), (4, 3, 1), (4, 2), (4, 3, 2, 1), (3,), (4, 2, 2), (2, 3)):
                hi = 1
                yield Case("GatherND", [x, values(np.int64, *s, lo=-2, hi=hi)], **({} if b is None else dict(batch_dims=b)))
        for red in (None, "none", "add", "mul", "max", "min") if t is not object else (None, "none"):
            a = {} if red is None else dict(reduction=red)
            for axis in (None, 0, 1, -1):
                aa = {} if axis is None else dict(axis=axis)
                unique = red in (None, "none")
                n = x.shape[axis or 0]
                index = np.argsort(rng.random((n, 3 if axis in (0, None) else 4, 2)), axis=0)
                idx = np.moveaxis(index, 0, (axis or 0) % 3) if axis in (0, None) else np.argsort(rng.random((3, 3, 4)), axis=axis)[:3, :3, :4]
                if not unique:
                    idx = values(np.int64, *idx.shape, lo=-3, hi=2)
                elif axis in (None, 0):
                    idx = idx - 2
                yield Case("ScatterElements", [x, idx.astype(np.int64), values(t, *idx.shape)], **a, **aa)
                yield Case("ScatterElements", [x, idx.astype(np.int32), values(t, *idx.shape)], **a, **aa)
                if red is None:
                    yield Case("Scatter", [x, idx.astype(np.int64) % 3, values(t, *idx.shape)], **aa)
            for idx, us in ((i64(2, 0).reshape(2, 1), (2, 3, 5)), (np.array([[0, 1], [3, 2], [-1, -2]]), (3, 5)), (np.array([[[0, 1, 1], [1, 2, 2]]]), (1, 2)),
                            (np.array([[0], [0]]), (2, 3, 5)), (np.zeros((0, 2), np.int64), (0, 5)), (i64(2), (3, 5)), (np.zeros((2, 0), np.int64), (2, 4, 3, 5))):
                if red in (None, "none") and idx.shape in ((2, 0),) or red in (None, "none") and idx.shape == (2, 1) and (idx == 0).all():
                    continue
                yield Case("ScatterND", [x, idx, values(t, *us)], **a)
        for axis in (None, 0, 1, -1):
            c = values(np.bool_, 3)
            yield Case("Compress", [x, c], **({} if axis is None else dict(axis=axis)))
            yield Case("Compress", [x, np.array([True, False, True, True, False, False, True][: 7 if axis is None else 3])], **({} if axis is None else dict(axis=axis)))
        for axis, srt in itertools.product((None, 0, 1, -1), (None, 0, 1)):
            y = values(t, 6, 3, lo=-1, hi=1)
            if not isinstance(y.ravel()[0], str) and is_float(t):
                y = np.round(y.astype(np.float32)).astype(t)
            for n in (1, 4):
                yield Case("Unique", [y], n, **({} if axis is None else dict(axis=axis)), **({} if srt is None else dict(sorted=srt)))
            yield Case("Unique", [y], 4, unused=(1, 2), **({} if axis is None else dict(axis=axis)), **({} if srt is None else dict(sorted=srt)))
        for k, axis, lar, srt in itertools.product((1, 3), (None, 0, -2), (None, 0), (None, 1)):
            y = rng.permutation(values(t, 5, 4).size).reshape(5, 4).astype(t) if t not in (object, np.bool_) else values(t, 5, 4)
            a = {n: v for n, v in (("axis", axis), ("largest", lar), ("sorted", srt)) if v is not None}
            yield Case("TopK", [y, i64(k)], 2, **a)
            yield Case("TopK", [values(t, 5, 4, lo=-1, hi=1), i64(k)], 2, **a)
            yield Case("TopK", [y], 2, k=k, **a)
    yield Case("TopK", [np.float32([[1, np.nan, 3, np.inf], [2, 2, -np.inf, np.nan], [0., -0., 1, -1]]), i64(2)], 2)
    yield Case("TopK", [f(3, 4), i64(0)], 2)
    yield Case("TopK", [f(3, 400), i64(50)], 2)
    yield Case("TopK", [f(400), i64(400)], 2, largest=0)
    yield Case("Gather", [f(4, 3), i64(-4, 3, 0)])
    yield Case("Unique", [np.float32([np.nan, 1, np.nan, 0., -0., 1])], 4)
    yield Case("Unique", [f(0)], 4)
    yield Case("Unique", [f(0, 3)], 4, axis=0)
    yield Case("Unique", [f()], 4)
    for t in (np.float32, np.int64, np.int32, np.bool_, np.uint8):
        for s in ((), (1,), (0,), (3, 4), (2, 2, 2), (0, 3)):
            yield Case("NonZero", [values(t, *s, lo=-1, hi=1)])
    yield Case("NonZero", [np.float32([0, -0., np.nan, 1])])
    for it, dt, vt in ((np.int64, np.int64, np.float32), (np.int32, np.int64, np.int64), (np.float32, np.float32, np.float32), (np.int64, np.int32, np.int32),
                       (np.uint8, np.int64, np.bool_), (np.int64, np.int64, object), (np.float64, np.int64, np.float16), (np.int8, np.uint8, np.float64)):
        for axis in (None, -1, 0, 1, -2, 2):
            for s in ((), (3,), (2, 3), (0,)):
                a = {} if axis is None else dict(axis=axis)
                on = np.array(["off", "on"], object) if vt is object else np.array([0, 1]).astype(vt) if vt is np.bool_ else np.array([2, 5]).astype(vt)
                yield Case("OneHot", [values(it, *s, lo=-6, hi=6).round().astype(it), np.array(5, dt), on], **a)
                yield Case("OneHot", [values(it, *s, lo=-6, hi=6).round().astype(it), np.array([5], dt), on], **a)
    for t in ALL:
        for k in (None, 0, 1, -1, 9, -9):
            yield Case("EyeLike", [values(t, 3, 5)], **({} if k is None else dict(k=k)))
            yield Case("EyeLike", [values(t, 4, 2)], dtype=10, **({} if k is None else dict(k=k)))
        yield Case("EyeLike", [values(t, 4, 4)], dtype=7)
    for t in (np.float32, np.float64, np.int16, np.int32, np.int64, np.float16, ml.bfloat16):
        for a, b, c in ((0, 5, 1), (0, 5, 2), (5, 0, -2), (3, 3, 1), (5, 1, 1), (0, 1, 7), (-3, 4, 3)):
            yield Case("Range", [np.array(v).astype(t) for v in (a, b, c)])
        if is_float(t):
            yield Case("Range", [np.array(v).astype(t) for v in (0.5, 3, .25)])
            yield Case("Range", [np.array(v).astype(t) for v in (0, 1, .1)])
            yield Case("Range", [np.array(v).astype(t) for v in (1, -1, -.3)])
    for t in ALL + NARROW + FP8:
        if t is object or np.dtype(t).kind == "c":
            continue
        for s in ([2, 3], [], [0, 3], [1]):
            yield Case("ConstantOfShape", [i64(*s)], value=onnx.numpy_helper.from_array(values(t, 1), "v"))
    yield Case("ConstantOfShape", [i64(2, 3)])
    boxes = np.sort(rng.uniform(0, 1, (2, 12, 2, 2)), axis=2).reshape(2, 12, 4).astype(np.float32)
    for c, n, iou, score in itertools.product((0, 1), (None, 0, 2, 100), (None, .3, .0, 1.), (None, .4)):
        sc = rng.random((2, 3, 12)).astype(np.float32)
        b = boxes if not c else np.concatenate([boxes[..., :2], boxes[..., 2:] * .5], -1)
        opt = [None if n is None else i64(n), None if iou is None else np.float32([iou]), None if score is None else np.float32([score])]
        while opt and opt[-1] is None:
            opt.pop()
        yield Case("NonMaxSuppression", [b, sc, *opt], center_point_box=c)
    flipped = boxes[..., [2, 3, 0, 1]]
    yield Case("NonMaxSuppression", [flipped, rng.random((2, 3, 12)).astype(np.float32), i64(5), np.float32([.3])])
    yield Case("NonMaxSuppression", [boxes, np.round(rng.random((2, 3, 12)) * 3).astype(np.float32), i64(5), np.float32([.3])])
    yield Case("NonMaxSuppression", [boxes, rng.random((2, 3, 12)).astype(np.float32), np.int64(5), np.float32(.3), np.float32(.2)])
    yield Case("NonMaxSuppression", [boxes[:, :0], rng.random((2, 3, 0)).astype(np.float32), i64(5)])


def padding():
    for t in ALL:
        for mode in (None, "constant", "reflect", "edge", "wrap"):
            m = {} if mode is None else dict(mode=mode)
            for pads in ([0, 1, 2, 1], [1, 0, 0, 2], [2, 2, 2, 2], [0, 0, 0, 0]):
                for cv in ([], [values(t)]):
                    yield Case("Pad", [values(t, 3, 4), i64(*pads), *cv], **m)
                yield Case("Pad", [values(t, 3, 4)], pads=pads, **m)
                yield Case("Pad", [values(t, 3, 4)], pads=pads, value=1.5, **m)
                yield Case("Pad", [values(t, 3, 4)], paddings=pads, **m)
            for pads in ([-1, 1, 0, 2], [0, -1, -1, -1], [-1, 2, -1, -1], [-2, -1, 1, 0]):
                yield Case("Pad", [values(t, 4, 5), i64(*pads)], **m)
                yield Case("Pad", [values(t, 4, 5)], pads=pads, **m)
            for pads, ax in (([1, 2], [1]), ([1, 0, 2, 1], [2, 0]), ([1, 1], [-1]), ([0, 1, 1, 1], [-2, -1])):
                for it in (np.int64, np.int32):
                    yield Case("Pad", [values(t, 3, 4, 5), i64(*pads), None, np.array(ax, it)], **m)
                    yield Case("Pad", [values(t, 3, 4, 5), i64(*pads), values(t), np.array(ax, it)], **m)
            yield Case("Pad", [values(t, 3), i64(5, 7)], **m)
            yield Case("Pad", [values(t, 2, 3, 4, 5), i64(0, 0, 1, 2, 0, 0, 2, 1)], **m)
    yield Case("Pad", [f(0, 3), i64(1, 1, 1, 1)])


def linear():
    for t in FLOATS + INTS[:2] + [np.uint32, np.uint64]:
        for a, b in (((3,), (3,)), ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)),
                     ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((1, 7), (7, 1)), ((4, 5, 2, 3), (4, 5, 3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)),
                     ((17, 33), (33, 65)), ((2, 1, 70), (2, 70, 3)), ((1, 1, 2, 3), (4, 1, 3, 2))):
            yield Case("MatMul", [values(t, *a), values(t, *b)])
        for ta, tb in itertools.product((None, 0, 1), (0, 1)):
            for c in (None, (2, 4), (4,), (2, 1), (1,), (), (1, 4), (1, 1)):
                for al, be in ((None, None), (.5, 2.), (2., 0.)):
                    a = {k: v for k, v in (("transA", ta), ("transB", tb), ("alpha", al), ("beta", be)) if v is not None}
                    ins = [values(t, *((3, 2) if ta else (2, 3))), values(t, *((4, 3) if tb else (3, 4)))]
                    yield Case("Gemm", ins + ([] if c is None else [values(t, *c)]), **a)
                    if c is not None:
                        yield Case("Gemm", ins + [values(t, *c)], broadcast=1, **a, only={1, 6})
    yield Case("Gemm", [f(0, 3), f(3, 4), f(4)])
    yield Case("Gemm", [f(2, 0), f(0, 4), f(4)])
    yield Case("Gemm", [f(2, 0), f(0, 4)])
    for ta, tb in itertools.product((np.uint8, np.int8), (np.uint8, np.int8)):
        for sa, sb in (((2, 3), (3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((40, 70), (70, 30))):
            x, y = values(ta, *sa, lo=-100, hi=120), values(tb, *sb, lo=-100, hi=120)
            yield Case("MatMulInteger", [x, y])
            yield Case("MatMulInteger", [x, y, np.array(7, ta)])
            yield Case("MatMulInteger", [x, y, np.array(7, ta), np.array(3, tb)])
            yield Case("MatMulInteger", [x, y, None, np.array(3, tb)])
            if len(sb) == 2 and len(sa) == 2:
                yield Case("MatMulInteger", [x, y, None, values(tb, sb[1])])
                yield Case("MatMulInteger", [x, y, values(ta, sa[0]), values(tb, sb[1])])
            for st in (np.float32, np.float16):
                q = lambda v: np.array(v, st)
                yield Case("QLinearMatMul", [x, y][:1] + [q(.02), np.array(3, ta), y, q(.01), np.array(5, tb), q(.3), np.array(9, ta)], tol=(0, 1))
                if len(sb) == 2:
                    yield Case("QLinearMatMul", [x, q(.02), np.array(3, ta), y, values(st, sb[1], lo=.01, hi=.02), values(tb, sb[1]), q(.3), np.array(9, ta)], tol=(0, 1))
        for a in (dict(), dict(pads=[1, 1, 1, 1]), dict(strides=[2, 2]), dict(group=2), dict(auto_pad="SAME_UPPER"), dict(dilations=[2, 2])):
            x, w = values(ta, 2, 4, 7, 6, lo=-100, hi=120), values(tb, 6, 2 if a.get("group") else 4, 3, 3, lo=-100, hi=120)
            yield Case("ConvInteger", [x, w], **a)
            yield Case("ConvInteger", [x, w, np.array(7, ta), np.array(3, tb)], **a)
            yield Case("ConvInteger", [x, w, np.array(7, ta), values(tb, 6)], **a)
            q = np.float32
            yield Case("QLinearConv", [x, q(.02), np.array(3, ta), w, q(.01), np.array(5, tb), q(.5), np.array(9, ta)], tol=(0, 1), **a)
            yield Case("QLinearConv", [x, q(.02), np.array(3, ta), w, values(q, 6, lo=.01, hi=.02), np.zeros(6, tb), q(.5), np.array(9, ta), values(np.int32, 6, lo=-900, hi=900)], tol=(0, 1), **a)
    for eq, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)),
                        ("...ij,...jk->...ik", (2, 5, 3, 4), (5, 4, 2)), ("b...,b...->b", (2, 3, 4), (2, 3, 4)), ("...ii->...i", (2, 3, 3)), ("i,j->ij", (2,), (3,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
                        ("i,i", (3,), (3,)), ("ba", (2, 3)), ("a...b->b...a", (2, 3, 4, 5)), ("...", (2, 3)), ("...a,...a", (2, 3), (1, 3)), ("ij, jk , kl -> il", (2, 3), (3, 4), (4, 5)), ("iij,jk->ik", (3, 3, 2), (2, 4)),
                        ("abc,cde,ea->bd", (2, 3, 4), (4, 5, 6), (6, 2)), (",ij->ij", (), (2, 3)), ("i->", (0,)), ("iij->ji", (2, 2, 3)), ("...i,...i->...", (2, 3, 4), (4,)), ("AbC,Cb->A", (2, 3, 4), (4, 3)), ("ab,b->ba", (2, 3), (3,)),
                        ("i...->...", (2, 3, 4)), ("ij...,jk...->ik...", (2, 3, 5), (3, 4, 5)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)), ("bhqk,bkhd->bqhd", (2, 3, 4, 5), (2, 5, 3, 6)), ("bac,bcd->adb", (2, 3, 4), (2, 4, 5)), ("ab,cd->abcd", (2, 3), (4, 5))):
        for t in (np.float32, np.float64, np.float16, np.int32, np.int64):
            yield Case("Einsum", [values(t, *s) for s in shapes], equation=eq)
    for t in FLOATS:
        for s in ((2, 2), (3, 3), (4, 5, 5), (2, 3, 1, 1), (2, 4, 4)):
            yield Case("Det", [values(t, *s)])
    yield Case("Det", [np.zeros((3, 3), np.float32)])
    yield Case("Det", [f(0, 3, 3)])


AUTO_PADS = [None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]


def convolution():
    spatial = {1: (9,), 2: (7, 8), 3: (5, 6, 4)}
    for rank in (1, 2, 3):
        for ap, st, di, pads, g, bias in itertools.product(AUTO_PADS, (None, 2, 3), (None, 2), (None, 1, "odd"), (1, 2, 4), (0, 1)):
            if pads and ap not in (None, "NOTSET") or (rank == 3 and rng.random() < .8) or rng.random() < .6:
                continue
            a = {k: v for k, v in (("auto_pad", ap), ("strides", st and [st] + [1 if st == 3 else st] * (rank - 1)), ("dilations", di and [di] * rank)) if v is not None}
            if pads:
                a["pads"] = [1] * (2 * rank) if pads == 1 else ([0, 2, 1, 1, 0, 2] if rank == 3 else [0, 2, 1, 0] if rank == 2 else [2, 1])
            if g > 1:
                a["group"] = g
            k = (3, 2, 3)[:rank]
            t = rng.choice([0, 0, 0, 1, 2, 3])
            t = FLOATS[t]
            x = values(t, 2, 4, *spatial[rank])
            w = values(t, rng.choice([4, 8]), 4 // g, *k)
            yield Case("Conv", [x, w] + ([values(t, w.shape[0])] if bias else []), **a, **({} if rng.random() < .5 else dict(kernel_shape=k)))
            w = values(t, 4, rng.choice([1, 2, 3]), *k)
            for extra in ({}, dict(output_padding=[1] + [0] * (rank - 1)), dict(output_shape=[v * 2 for v in spatial[rank]])):
                if extra and "output_padding" in extra and not (st or di):
                    continue
                b = dict(a)
                if "output_shape" in extra:
                    b.pop("pads", None)
                    if not st:
                        extra = dict(output_shape=[v + 1 for v in spatial[rank]])
                yield Case("ConvTranspose", [x, w] + ([values(t, w.shape[1] * g)] if bias else []), **b, **extra)
    for shape, kshape, a in (((1, 3, 5, 5), (2, 3, 1, 1), {}), ((1, 3, 5, 5), (2, 3, 1, 1), dict(strides=[2, 2])), ((0, 3, 5, 5), (2, 3, 3, 3), {}), ((2, 16, 9, 9), (16, 1, 3, 3), dict(group=16, pads=[1] * 4)),
                             ((2, 16, 9, 9), (32, 1, 3, 3), dict(group=16)), ((1, 40, 12, 12), (48, 40, 3, 3), dict(pads=[1] * 4, strides=[2, 2])), ((1, 3, 32, 32), (16, 3, 7, 7), dict(pads=[3] * 4, strides=[2, 2])),
                             ((1, 8, 3, 3), (8, 8, 5, 5), dict(pads=[4] * 4)), ((1, 2, 2, 2, 2, 2), (3, 2, 2, 1, 2, 1), {}), ((1, 4, 6, 6), (4, 4, 3, 3), dict(pads=[5, 0, 0, 5], dilations=[1, 2]))):
        yield Case("Conv", [f(*shape), f(*kshape)], **a)
        yield Case("Conv", [f(*shape), f(*kshape), f(kshape[0])], **a)
    for a in ({}, dict(pads=[1, 1, 1, 1]), dict(strides=[2, 2]), dict(dilations=[2, 2], pads=[1, 0, 1, 0]), dict(group=2), dict(offset_group=2)):
        for bias, mask in itertools.product((0, 1), (0, 1)):
            x = f(2, 4, 6, 7)
            w = f(6, 4 // a.get("group", 1), 2, 3)
            og = a.get("offset_group", 1)
            p, s, d = a.get("pads", [0] * 4), a.get("strides", [1, 1]), a.get("dilations", [1, 1])
            oh = (6 + p[0] + p[2] - d[0] - 1) // s[0] + 1
            ow = (7 + p[1] + p[3] - 2 * d[1] - 1) // s[1] + 1
            yield Case("DeformConv", [x, w, f(2, og * 12, oh, ow, lo=-2, hi=2), f(6) if bias else None, f(2, og * 6, oh, ow, lo=0, hi=1) if mask else None], kernel_shape=[2, 3], **a)
    for img, blk, a in (((5, 5), (1, 5), {}), ((6, 6), (2, 3), dict(strides=[2, 3])), ((5, 5), (2, 2), dict(pads=[1, 0, 1, 1])), ((6, 6), (2, 2), dict(dilations=[2, 3])), ((4, 5, 3), (1, 2, 2), {}), ((9,), (3,), dict(strides=[2]))):
        n = len(img)
        p, s, d = a.get("pads", [0] * 2 * n), a.get("strides", [1] * n), a.get("dilations", [1] * n)
        L = np.prod([(img[i] + p[i] + p[i + n] - d[i] * (blk[i] - 1) - 1) // s[i] + 1 for i in range(n)])
        for t in (np.float32, np.int32, np.float64, np.bool_):
            yield Case("Col2Im", [values(t, 2, 3 * int(np.prod(blk)), int(L)), i64(*img), i64(*blk)], **a)


def pooling():
    spatial = {1: (10,), 2: (7, 8), 3: (5, 6, 4)}
    for op, rank in itertools.product(("MaxPool", "AveragePool", "LpPool"), (1, 2, 3)):
        for ap, st, di, pads, ceil, k in itertools.product(AUTO_PADS, (None, 2, 3), (None, 2), (None, 1, "odd"), (None, 1), (2, 3)):
            if pads and ap not in (None, "NOTSET") or rng.random() < (.5 if rank == 2 else .85):
                continue
            a = {n: v for n, v in (("auto_pad", ap), ("strides", st and [st] + [1 if st == 3 else st] * (rank - 1)), ("dilations", di and [di] * rank), ("ceil_mode", ceil)) if v is not None}
            if pads:
                a["pads"] = [1] * (2 * rank) if pads == 1 else ([0, 1, 1, 1, 0, 1] if rank == 3 else [0, 1, 1, 0] if rank == 2 else [1, 0])
            a["kernel_shape"] = [k] + [3] * (rank - 1)
            t = FLOATS[rng.choice([0, 0, 0, 1, 2, 3])]
            x = values(t, 2, 3, *spatial[rank])
            if op == "AveragePool":
                yield Case(op, [x], **a)
                yield Case(op, [x], count_include_pad=1, **a)
            elif op == "LpPool":
                for p in (None, 1, 3):
                    yield Case(op, [x], **a, **({} if p is None else dict(p=p)))
                yield Case(op, [x], p=2., **a)
            else:
                yield Case(op, [x], **a)
                yield Case(op, [x], 2, **a)
                yield Case(op, [x], 2, storage_order=1, **a)
                yield Case(op, [values(np.int8, 2, 3, *spatial[rank], lo=-100, hi=100)], **a)
                yield Case(op, [values(np.uint8, 2, 3, *spatial[rank], lo=0, hi=200)], **a)
    yield Case("MaxPool", [np.float32([[[1, np.nan, 2, -np.inf, -np.inf, -np.inf, 3]]])], kernel_shape=[2])
    yield Case("MaxPool", [np.full((1, 1, 4), -np.inf, np.float32)], 2, kernel_shape=[2], pads=[1, 1])
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        for t in FLOATS:
            for s in ((2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 2), (2, 3)):
                for a in ({}, dict(p=1), dict(p=3), dict(p=2.)):
                    yield Case(op, [values(t, *s)], **a)
    x = f(1, 2, 4, 6)
    for k, s, p, extra in (([2, 2], [2, 2], [0] * 4, None), ([2, 3], [2, 3], [0] * 4, None), ([3, 3], [1, 1], [0] * 4, None), ([2, 2], [2, 2], [0] * 4, i64(1, 2, 5, 7)), ([2, 2], [2, 2], [1, 1, 1, 1], None)):
        import onnx.reference as R
        m = helper.make_model(helper.make_graph([helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=k, strides=s, pads=p)], "g", [helper.make_tensor_value_info("x", 1, x.shape)],
                                                [helper.make_tensor_value_info("y", 1, None), helper.make_tensor_value_info("i", 7, None)]))
        y, i = R.ReferenceEvaluator(m).run(None, {"x": x})
        yield Case("MaxUnpool", [y, i] + ([] if extra is None else [extra]), kernel_shape=k, strides=s, pads=p)
    rois = np.float32([[0, 0, 4, 4], [1.3, 2.1, 5.7, 7.2], [2, 2, 2, 2], [-1, -2, 3, 9], [4, 4, 12, 12]])
    for mode, ct, sr, sc, oh in itertools.product((None, "avg", "max"), (None, "half_pixel", "output_half_pixel"), (None, 0, 2, 3), (None, .5, 1.7), (None, 3)):
        a = {n: v for n, v in (("mode", mode), ("coordinate_transformation_mode", ct), ("sampling_ratio", sr), ("spatial_scale", sc), ("output_height", oh), ("output_width", oh and 2)) if v is not None}
        yield Case("RoiAlign", [f(2, 3, 8, 9), rois, i64(0, 1, 1, 0, 1)], **a)
    for sc in (None, .5):
        yield Case("MaxRoiPool", [f(2, 3, 8, 9), np.float32([[0, 0, 0, 4, 4], [1, 1, 2, 7, 6], [1, 0, 0, 8, 7]])], pooled_shape=[2, 3], **({} if sc is None else dict(spatial_scale=sc)))
    for t in FLOATS:
        for size in (1, 2, 3, 4, 5):
            yield Case("LRN", [values(t, 2, 6, 3, 4)], size=size)
            yield Case("LRN", [values(t, 2, 6, 3)], size=size, alpha=.2, beta=.5, bias=2.)


def normalization():
    for t in FLOATS:
        for s in ((2, 3), (2, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4), (4,), (0, 3, 2)):
            c = s[1] if len(s) > 1 else 1
            ins = [values(t, *s), values(t, c), values(t, c), values(t, c), values(t, c, lo=.1, hi=2)]
            for a in ({}, dict(epsilon=.1), dict(momentum=.5), dict(spatial=1), dict(is_test=1), dict(is_test=1, spatial=1), dict(training_mode=0)):
                yield Case("BatchNormalization", ins, **a)
            if len(s) > 2:
                yield Case("BatchNormalization", [ins[0]] + [values(t, *s[1:], lo=.1, hi=2) for _ in range(4)], spatial=0)
                yield Case("BatchNormalization", [ins[0]] + [values(t, *s[1:], lo=.1, hi=2) for _ in range(4)], spatial=0, is_test=1)
            yield Case("BatchNormalization", ins, 3, training_mode=1)
            yield Case("BatchNormalization", ins, 3, training_mode=1, momentum=.3, epsilon=.01)
            if len(s) > 1:
                yield Case("InstanceNormalization", ins[:3])
                yield Case("InstanceNormalization", ins[:3], epsilon=.1)
            for axis in (None, 0, 1, -1, -2):
                k = axis if axis is not None else -1
                if len(s) < 2 and k in (1, -2):
                    continue
                w = s[k:] if k < 0 else s[k:]
                ax = {} if axis is None else dict(axis=axis)
                yield Case("LayerNormalization", [values(t, *s), values(t, *w), values(t, *w)], 1, **ax)
                yield Case("LayerNormalization", [values(t, *s), values(t, *w)], 3, epsilon=.1, **ax)
                yield Case("LayerNormalization", [values(t, *s), values(t, *w)], 3, unused=(1,), **ax)
                yield Case("LayerNormalization", [values(t, *s), values(t, w[-1])], 1, **ax)
                yield Case("LayerNormalization", [values(t, *s), values(t, *w)], 2, stash_type=1, **ax)
                yield Case("RMSNormalization", [values(t, *s), values(t, *w)], **ax)
                yield Case("RMSNormalization", [values(t, *s), values(t, w[-1])], epsilon=.1, **ax)
                yield Case("RMSNormalization", [values(t, *s), values(t, *w)], stash_type=1, **ax)
        for s in ((2, 6, 4), (2, 6, 3, 3), (2, 6), (1, 6, 2, 2, 2)):
            for g in (1, 2, 3, 6):
                yield Case("GroupNormalization", [values(t, *s), values(t, 6), values(t, 6)], num_groups=g)
                yield Case("GroupNormalization", [values(t, *s), values(t, 6), values(t, 6)], num_groups=g, epsilon=.1)
                yield Case("GroupNormalization", [values(t, *s), values(t, g), values(t, g)], num_groups=g, only={18})
    for op, a in (("Dropout", {}), ("Dropout", dict(ratio=.3)), ("Dropout", dict(is_test=1)), ("Dropout", dict(seed=3))):
        for t in FLOATS:
            for n in (1, 2):
                yield Case(op, [values(t, 3, 4)], n, **a)
                yield Case(op, [values(t, 3, 4), np.float32(.3)], n)
                yield Case(op, [values(t, 3, 4), np.float32(.3), np.bool_(False)], n)
                yield Case(op, [values(t, 3, 4), np.float32(0), np.bool_(True)], n)
                yield Case(op, [values(t, 3, 4), None, np.bool_(False)], n)
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for red, w, ign, s in itertools.product((None, "none", "sum", "mean"), (0, 1), (None, 1, -1), ((), (3,), (2, 3))):
            for t, it in ((np.float32, np.int64), (np.float64, np.int32), (np.float16, np.int64)):
                y = values(it, 4, *s, lo=0, hi=4)
                if ign is not None:
                    y.ravel()[::3] = ign
                a = {k: v for k, v in (("reduction", red), ("ignore_index", ign)) if v is not None}
                for n in (1, 2):
                    yield Case(op, [values(t, 4, 5, *s), y] + ([values(t, 5, lo=.1)] if w else []), n, **a)


def resize():
    coords = [None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"]
    for mode, ct in itertools.product(("nearest", "linear", "cubic"), coords):
        for nm in ((None, "floor", "ceil", "round_prefer_ceil", "round_prefer_floor") if mode == "nearest" else (None,)):
            for extra in ({}, dict(exclude_outside=1), dict(cubic_coeff_a=-.5), dict(antialias=1), dict(antialias=1, exclude_outside=1), dict(extrapolation_value=7.)):
                if mode != "cubic" and "cubic_coeff_a" in extra or mode == "nearest" and "exclude_outside" in extra or "extrapolation_value" in extra and ct != "tf_crop_and_resize":
                    continue
                a = {k: v for k, v in (("mode", mode), ("coordinate_transformation_mode", ct), ("nearest_mode", nm)) if v is not None}
                a.update(extra)
                crop = np.float32([0, 0, .23, .12, 1, 1, .91, 1.17]) if ct == "tf_crop_and_resize" else None
                x = f(1, 2, 5, 6)
                for sc in ([1, 1, 2, 2], [1, 1, .6, .8], [1, 1, 1.5, .5], [1, 1, 3.3, 1]):
                    yield Case("Resize", [x, crop if crop is not None else None, np.float32(sc)], **a)
                    yield Case("Resize", [x, crop if crop is not None else np.float32([]), np.float32(sc)], **a)
                    if ct is None and not extra and mode != "cubic":
                        yield Case("Resize", [x, np.float32(sc)], **a)
                        yield Case("Upsample", [x, np.float32(np.maximum(sc, 1))], mode=mode)
                        yield Case("Upsample", [x], mode=mode, scales=[float(v) for v in np.maximum(sc, 1)])
                for sz in ([1, 2, 8, 9], [1, 2, 3, 4], [1, 2, 1, 1], [1, 2, 5, 7]):
                    yield Case("Resize", [x, crop, None, i64(*sz)], **a)
                    yield Case("Resize", [x, crop if crop is not None else np.float32([]), np.float32([]), i64(*sz)], **a)
    for mode, pol, axes in itertools.product(("nearest", "linear", "cubic"), (None, "stretch", "not_larger", "not_smaller"), (None, [2, 3], [3, 2], [1, 3])):
        for sz in ((8, 9), (3, 9), (4, 2), (5, 6)):
            a = {k: v for k, v in (("mode", mode), ("keep_aspect_ratio_policy", pol), ("axes", axes)) if v is not None}
            x = f(1, 2, 5, 6)
            yield Case("Resize", [x, None, None, i64(*(sz if axes else (1, 2, *sz)))], **a)
        if axes:
            yield Case("Resize", [f(1, 2, 5, 6), None, np.float32([1.7, .7])], mode=mode, axes=axes)
            yield Case("Resize", [f(1, 2, 5, 6), np.float32([.1, .2, .8, .9]), None, i64(4, 7)], mode=mode, axes=axes, coordinate_transformation_mode="tf_crop_and_resize")
    for t in FLOATS + [np.uint8, np.int8, np.int32, np.int64]:
        for mode in ("nearest", "linear", "cubic"):
            yield Case("Resize", [values(t, 2, 1, 4, 5, lo=0, hi=100), None, np.float32([1, 1, 2, 1.5])], mode=mode)
            yield Case("Resize", [values(t, 2, 1, 4, 5, lo=0, hi=100), np.float32([]), np.float32([1, 1, 2, 1.5])], mode=mode)
    for s, sc in (((7,), [1.6]), ((3, 7), [2, .6]), ((1, 2, 5), [1, 1, 2.5]), ((1, 1, 3, 4, 3), [1, 1, 2, 1.5, .5]), ((2, 3, 4), [2, 2, 2])):
        for mode in ("nearest", "linear", "cubic"):
            yield Case("Resize", [f(*s), None, np.float32(sc)], mode=mode)
            yield Case("Resize", [f(*s), None, np.float32(sc)], mode=mode, coordinate_transformation_mode="align_corners")
    for mode, pm, ac in itertools.product((None, "linear", "nearest", "cubic", "bilinear", "bicubic"), (None, "zeros", "border", "reflection"), (None, 1)):
        a = {k: v for k, v in (("mode", mode), ("padding_mode", pm), ("align_corners", ac)) if v is not None}
        for t in FLOATS:
            yield Case("GridSample", [values(t, 2, 3, 4, 5), values(t, 2, 3, 6, 2, lo=-1.6, hi=1.6)], **a)
        yield Case("GridSample", [f(2, 3, 4, 5), f(2, 3, 6, 2, lo=-5, hi=5)], **a)
        yield Case("GridSample", [f(2, 3, 1, 1), f(2, 3, 6, 2, lo=-1.6, hi=1.6)], **a)
        if mode not in ("cubic", "bicubic"):
            yield Case("GridSample", [f(2, 2, 3, 4, 5), f(2, 2, 3, 2, 3, lo=-1.6, hi=1.6)], **a)
    for t, ac in itertools.product(FLOATS, (None, 0, 1)):
        a = {} if ac is None else dict(align_corners=ac)
        yield Case("AffineGrid", [values(t, 2, 2, 3), i64(2, 3, 4, 5)], **a)
        yield Case("AffineGrid", [values(t, 2, 3, 4), i64(2, 3, 2, 4, 5)], **a)
        yield Case("AffineGrid", [values(t, 1, 2, 3), i64(1, 3, 1, 1)], **a)


def recurrent():
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}
    T, B, I, H = 4, 3, 5, 2
    choices = {"RNN": [None, ["Relu"], ["Affine"], ["ScaledTanh"], ["LeakyRelu"], ["ThresholdedRelu"], ["HardSigmoid"], ["Elu"], ["Softsign"], ["Softplus"]],
               "GRU": [None, ["Sigmoid", "Relu"], ["HardSigmoid", "Softsign"], ["HardSigmoid", "ScaledTanh"], ["Sigmoid", "LeakyRelu"]],
               "LSTM": [None, ["Sigmoid", "Relu", "Softsign"], ["HardSigmoid", "Tanh", "ScaledTanh"], ["Sigmoid", "Elu", "Tanh"]]}
    for op, n in gates.items():
        for d, act, coef, clip, layout, lens, init, bias, extra in itertools.product((None, "reverse", "bidirectional"), choices[op], (0, 1), (None, .4), (None, 1), (0, 1), (0, 1), (0, 1), (0, 1, 2)):
            if rng.random() < .93 or coef and not act:
                continue
            D = 2 if d == "bidirectional" else 1
            a = {k: v for k, v in (("direction", d), ("clip", clip), ("layout", layout)) if v is not None}
            if act:
                a["activations"] = act * D
                if coef or any(v in ("Affine", "ScaledTanh", "ThresholdedRelu") for v in act):
                    a["activation_alpha"] = [.3 + .1 * k for k in range(len(act) * D)]
                    a["activation_beta"] = [.2 + .05 * k for k in range(len(act) * D)]
            state = (B, D, H) if layout else (D, B, H)
            for t in (np.float32, np.float64) if rng.random() < .2 else (np.float32,):
                ins = [values(t, *((B, T, I) if layout else (T, B, I))), values(t, D, n * H, I, lo=-1, hi=1), values(t, D, n * H, H, lo=-1, hi=1), values(t, D, 2 * n * H) if bias else None,
                       np.int32([T, 2, 1]) if lens else None, values(t, *state) if init else None]
                b = dict(a)
                if op == "LSTM":
                    ins += [values(t, *state) if init else None, values(t, D, 3 * H) if extra == 1 else None]
                    if extra == 2:
                        b["input_forget"] = 1
                if op == "GRU" and extra:
                    b["linear_before_reset"] = 1
                outs = 3 if op == "LSTM" else 2
                while ins[-1] is None:
                    ins.pop()
                yield Case(op, ins, outs, hidden_size=H, **b)
                yield Case(op, ins, 2, hidden_size=H, unused=(0,), **b)
                yield Case(op, ins, 1, hidden_size=H, output_sequence=1, **b)
                yield Case(op, ins, outs, hidden_size=H, output_sequence=1, **b)


def quantization():
    q8 = [np.int8, np.uint8, np.int16, np.uint16]
    for t in FLOATS:
        for q in q8 + NARROW + FP8:
            x = values(t, 3, 4, lo=-40, hi=40)
            zero = lambda *s: values(q, *s, lo=0, hi=1) if q in q8 + NARROW else np.zeros(s).astype(q)
            for a, s, xs in (({}, (), (3, 4)), (dict(axis=0), (3,), (3, 4)), (dict(axis=-1), (4,), (3, 4)), (dict(axis=1), (4,), (3, 4)), ({}, (4,), (3, 4)), (dict(axis=1), (1,), (3, 4)),
                             (dict(axis=1, block_size=2), (3, 2), (3, 4)), (dict(axis=0, block_size=2), (2, 4), (4, 4)), (dict(axis=0, block_size=3), (2, 4), (5, 4)), (dict(axis=-2, block_size=2), (2, 2, 3), (2, 4, 3)), (dict(axis=1), (3,), (2, 3, 2, 2))):
                for sat in (None, 0) if q in FP8 else (None,):
                    for st in {t, np.float32}:
                        ops = [values(t, *xs, lo=-40, hi=40), values(st, *s, lo=.2, hi=2)]
                        b = dict(a) if sat is None else dict(a, saturate=sat)
                        yield Case("QuantizeLinear", ops + [zero(*s)], **b)
                        if q is np.uint8:
                            yield Case("QuantizeLinear", ops, **b)
                        dt = helper.np_dtype_to_tensor_dtype(np.dtype(q))
                        yield Case("QuantizeLinear", ops, output_dtype=dt, **b)
                        if st is np.float32:
                            yield Case("QuantizeLinear", ops, output_dtype=dt, precision=1, **b)
                if True:
                    v = values(q, *xs, lo=-2 if q in NARROW else -40, hi=1 if q in NARROW else 40)
                    sc = values(t, *s, lo=.2, hi=2)
                    yield Case("DequantizeLinear", [v, sc], **a)
                    yield Case("DequantizeLinear", [v, sc, zero(*s)], **a)
                    yield Case("DequantizeLinear", [v, sc], output_dtype=helper.np_dtype_to_tensor_dtype(np.dtype(t)), **a)
                    yield Case("DequantizeLinear", [values(np.int32, *xs, lo=-99, hi=99), sc], **a)
        for q in q8:
            yield Case("QuantizeLinear", [np.array([.5, 1.5, -.5, 2.5, 1e9, -1e9, np.inf, -np.inf]).astype(t), np.array(1).astype(t), np.array(3).astype(q)])
    for x in (f(3, 4), f(5, lo=1, hi=2), f(5, lo=-3, hi=-2), np.zeros(4, np.float32), np.float32([0, 1]), np.float32([-1.5, 2.5, .5])):
        yield Case("DynamicQuantizeLinear", [x], 3)
    dtypes = FLOATS + INTS + [np.bool_, object] + NARROW + FP8
    for a, b in itertools.product(dtypes, dtypes):
        to = 8 if b is object else helper.np_dtype_to_tensor_dtype(np.dtype(b))
        if a is object:
            if b is object:
                continue
            xs = [np.array(["1", "-0", "7", "2", " 3"[1:]], object)]
            if is_float(b):
                xs.append(np.array(["1.5", "nan", "-inf", "INF", "1e-3", "+2", "-0.25", "1e30"], object))
        elif np.dtype(a).kind in "iu" and np.dtype(a).itemsize > 1:
            xs = [values(a, 7, lo=-3, hi=9), special(a)]
        elif np.dtype(a) in [np.dtype(v) for v in FP8] or a is np.int8 or a is np.uint8:
            xs = [np.arange(16 if a is ml.float4_e2m1fn else 64 if np.dtype(a).name.startswith('float6') else 256).astype(np.uint8).view(a)]
            if is_float(b) is False and b is not np.bool_ and a not in (np.int8, np.uint8):
                xs = [values(a, 7, lo=0, hi=4)]
        elif is_float(a):
            xs = [values(a, 9, lo=0, hi=6)]
            if is_float(b) or np.dtype(b) in [np.dtype(v) for v in FP8] or b in (np.bool_,):
                xs += [special(a), values(a, 200, lo=-500, hi=500), values(a, 60, lo=-.01, hi=.01)]
            elif b not in (object,) + tuple(NARROW) and np.dtype(b).kind == "i":
                xs.append(values(a, 9, lo=-99, hi=99))
        else:
            xs = [values(a, 9, lo=-8, hi=15)]
        for x in xs:
            yield Case("Cast", [x], to=to)
            if b in FP8:
                yield Case("Cast", [x], to=to, saturate=0)
                for m in ("up", "down", "nearest"):
                    yield Case("Cast", [x], to=to, round_mode=m)
        if b is not object:
            yield Case("CastLike", [xs[0], values(b, 2)])
            if b in FP8:
                yield Case("CastLike", [xs[-1], values(b, 2)], saturate=0)
        yield Case("Cast", [xs[0]], to=onnx.TensorProto.DataType.Name(to))
        yield Case("BitCast", [xs[0]], to=to)


def text():
    S = lambda *a: np.array(a, dtype=object)
    for x, y in ((S("a", "b"), S("c", "d")), (S("a", "b"), np.array("z", object)), (S("a", "b").reshape(2, 1), S("é", "日本", "")), (np.array([], object), S("a"))):
        yield Case("StringConcat", [x, y])
    for d, m in itertools.product((None, "", ",", "--", " "), (None, 0, 1, 2)):
        a = {k: v for k, v in (("delimiter", d), ("maxsplit", m)) if v is not None}
        for x in (S("a,b,c", "", "x", ",a,,b,", "a--b--c", "  a  b ", "a b\tc\nd"), np.array("a b,c", object), S("a b", "c d e", "f", " g").reshape(2, 2), np.array([], object), S("", " ")):
            yield Case("StringSplit", [x], 2, **a)
    for pat in (r"a.*", r"\d+", r"[a-z]+@[a-z]+\.(com|org)", r"(?i)ABC", r"", r"a|b", r"^x$", r"[^0-9]*", r"\w{2,3}", r"(ab)+c?", r"\bfoo\b", r".", r"\p{L}+", r"a\.b", r"(?:x|y)z", r"[\w.-]+"):
        yield Case("RegexFullMatch", [S("abc", "123", "me@x.com", "a", "b", "", "x", "foo", "ab", "ababc", "é", "a.b", "xz", "a\nb")], pattern=pat)
    for c, sens, stop in itertools.product((None, "LOWER", "UPPER", "NONE"), (None, 0, 1), (None, ["monday"], ["Monday", "ÉTÉ"])):
        a = {k: v for k, v in (("case_change_action", c), ("is_case_sensitive", sens), ("stopwords", stop)) if v is not None}
        yield Case("StringNormalizer", [S("Monday", "tuesday", "été", "MONDAY")], **a)
        yield Case("StringNormalizer", [S("Monday", "tuesday", "monday").reshape(1, 3)], **a)
        yield Case("StringNormalizer", [S("monday", "monday")], **a)
    for mode, (lo, hi), skip, w in itertools.product(("TF", "IDF", "TFIDF"), ((1, 1), (2, 2), (1, 2), (1, 3)), (0, 1, 3), (0, 1)):
        pool, counts = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 1, 2, 3], [0, 4, 10]
        a = dict(mode=mode, min_gram_length=lo, max_gram_length=hi, max_skip_count=skip, ngram_counts=counts, ngram_indexes=[0, 1, 2, 3, 4, 5, 6, 7])
        if w:
            a["weights"] = [.5, 1., 2., 3., .1, .2, .3, .7]
        for t in (np.int32, np.int64):
            for x in (np.array([1, 1, 3, 3, 3, 7, 5, 6, 7, 8, 1, 2, 3], t), values(t, 2, 9, lo=1, hi=8)):
                yield Case("TfIdfVectorizer", [x], pool_int64s=pool, **a)
        yield Case("TfIdfVectorizer", [S(*"1 1 3 3 3 7 5 6 7 8 1 2 3".split())], pool_strings=[str(v) for v in pool], **a)


def signal():
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for n, per, dt in itertools.product((1, 2, 5, 10), (None, 0), (None, 1, 11, 10, 6)):
            for it in (np.int32, np.int64):
                yield Case(op, [np.array(n, it)], **{k: v for k, v in (("periodic", per), ("output_datatype", dt)) if v is not None})
    for t, axis, inv, one, n, c in itertools.product((np.float32, np.float64), (None, 1, 2, -2, -3), (None, 1), (None, 1), (None, 4, 5, 8, 11), (1, 2)):
        x = values(t, 2, 6, 5, c)
        a = {k: v for k, v in (("inverse", inv), ("onesided", one)) if v is not None}
        if axis is None or axis > 0:
            yield Case("DFT", [x] + ([] if n is None else [np.int64(n)]), tol=(1e-3, 1e-4), only={17}, **a, **({} if axis is None else dict(axis=axis)))
        ins = [x, None if n is None else np.int64(n), None if axis is None else np.int64(axis)]
        while ins[-1] is None:
            ins.pop()
        yield Case("DFT", ins, tol=(1e-3, 1e-4), only={20}, **a)
    for t, one, win, fl, hop in itertools.product((np.float32, np.float64), (None, 0, 1), (0, 1), (None, 8, 7), (3, 4)):
        for c in (1, 2):
            if c == 2 and one != 0:
                continue
            n = fl or 8
            yield Case("STFT", [values(t, 2, 32, c), np.int64(hop), values(t, n) if win else None] + ([np.int64(n)] if fl or not win else []), tol=(1e-3, 1e-4), **({} if one is None else dict(onesided=one)))
    for nm, dl, sr, lo, hi in ((8, 16, 8000, 0., 4000.), (4, 9, 8192, 20., 3000.), (20, 64, 16000, 0., 8000.)):
        for dt in (None, 11, 10):
            yield Case("MelWeightMatrix", [np.int64(nm), np.int64(dl), np.int64(sr), np.float32(lo), np.float32(hi)], **({} if dt is None else dict(output_datatype=dt)))


def sequences():
    for t in (np.float32, np.int64, object, np.bool_, np.float16):
        s = [values(t, 2, 3), values(t, 2, 3), values(t, 1, 3)]
        yield Case("SequenceConstruct", s)
        yield Case("SequenceLength", [s])
        for p in (0, 1, -1, -3, 2):
            yield Case("SequenceAt", [s, np.int64(p)])
            yield Case("SequenceAt", [s, np.int32(p)])
            yield Case("SequenceErase", [s, np.int64(p)])
            yield Case("SequenceInsert", [s, values(t, 4), np.int64(p)])
        yield Case("SequenceInsert", [s, values(t, 4), np.int64(3)])
        yield Case("SequenceInsert", [s, values(t, 4)])
        yield Case("SequenceErase", [s])
        for axis, new in itertools.product((0, -2, 1, -1), (None, 0, 1)):
            yield Case("ConcatFromSequence", [s if axis in (0, -2) and not new else s[:2]], axis=axis, **({} if new is None else dict(new_axis=new)))
        yield Case("ConcatFromSequence", [s[:2]], axis=2, new_axis=1)
        yield Case("ConcatFromSequence", [s[:2]], axis=-3, new_axis=1)
        x = values(t, 5, 6)
        for axis, keep in itertools.product((None, 0, 1, -1), (None, 0, 1)):
            a = {k: v for k, v in (("axis", axis), ("keepdims", keep)) if v is not None}
            yield Case("SplitToSequence", [x], **a)
            yield Case("SplitToSequence", [x, np.int64(2)], **a)
            yield Case("SplitToSequence", [x, np.int32(4)], **a)
            yield Case("SplitToSequence", [x, i64(2, 3 if axis in (None, 0) else 4)], **a)
        yield Case("Identity", [s])


def attention():
    for rep in range(400):
        B, Hq, Hk = 2, 4, int(rng.choice([4, 2, 1]))
        q, k, d, dv = int(rng.choice([1, 3, 6])), int(rng.choice([3, 5, 6])), 4, int(rng.choice([4, 6]))
        t = FLOATS[rng.choice([0, 0, 0, 1, 3])]
        rank3 = rng.random() < .4
        a = {}
        if rng.random() < .3: a["scale"] = .3
        if rng.random() < .4: a["is_causal"] = 1
        if rng.random() < .3: a["softcap"] = 2.
        if rng.random() < .2: a["softmax_precision"] = 1
        past = int(rng.choice([0, 0, 2]))
        total = k + past
        if rank3:
            a.update(q_num_heads=Hq, kv_num_heads=Hk)
            ins = [values(t, B, q, Hq * d), values(t, B, k, Hk * d), values(t, B, k, Hk * dv)]
        else:
            ins = [values(t, B, Hq, q, d), values(t, B, Hk, k, d), values(t, B, Hk, k, dv)]
        m = rng.choice(5)
        mask = [None, values(np.bool_, q, total), values(t, q, total), values(t, B, 1, q, total), values(np.bool_, B, Hq, q, total)][m]
        if mask is not None and mask.dtype == np.bool_:
            mask[..., 0] = True
        ins += [mask] + ([values(t, B, Hk, past, d), values(t, B, Hk, past, dv)] if past else [])
        n = int(rng.choice([1, 3, 4])) if past else int(rng.choice([1, 4]))
        if n == 4 and rng.random() < .7: a["qk_matmul_output_mode"] = int(rng.choice([0, 1, 2, 3]))
        unused = (1, 2) if n == 4 and not past else ()
        if not past and rng.random() < .3:
            ins += [None, None, values(np.int64, B, lo=1, hi=k)]
        while ins[-1] is None:
            ins.pop()
        yield Case("Attention", ins, n, unused=unused, **a)
    for t, inter, rot, pos, heads in itertools.product(FLOATS, (None, 1), (None, 4), (0, 1), (None, 2)):
        B, S, H, D = 2, 3, 2, 8
        n = (rot or D) // 2
        x = values(t, B, H, S, D) if not heads else values(t, B, S, H * D)
        cache = [values(t, 10, n), values(t, 10, n), values(np.int64, B, S, lo=0, hi=9)] if pos else [values(t, B, S, n), values(t, B, S, n)]
        a = {k: v for k, v in (("interleaved", inter), ("rotary_embedding_dim", rot), ("num_heads", heads)) if v is not None}
        yield Case("RotaryEmbedding", [x] + cache, **a)
    for mode, axis in itertools.product((None, "linear", "circular"), (None, -2, 2)):
        for w in (None, i64(0, 2)):
            a = {k: v for k, v in (("mode", mode), ("axis", axis)) if v is not None}
            yield Case("TensorScatter", [f(2, 3, 5, 4), f(2, 3, 2, 4)] + ([] if w is None else [w]), **a)
            if mode == "circular":
                yield Case("TensorScatter", [f(2, 3, 5, 4), f(2, 3, 2, 4), i64(4, 3)], **a)


def graph(nodes, inputs, outputs, inits=()):
    vi = lambda n, t=1, s=None: helper.make_tensor_value_info(n, t, s)
    return helper.make_graph(nodes, "body", [vi(*v) for v in inputs], [vi(*v) for v in outputs], [onnx.numpy_helper.from_array(v, n) for n, v in inits])


def control():
    N = helper.make_node
    body = graph([N("Add", ["s", "x"], ["s2"]), N("Mul", ["x", "x"], ["y"])], [("s", 1, [2]), ("x", 1, [2])], [("s2", 1, [2]), ("y", 1, [2])])
    for d, od in itertools.product((None, 0, 1), (None, 0, 1)):
        a = {k: v for k, v in (("scan_input_directions", None if d is None else [d]), ("scan_output_directions", None if od is None else [od])) if v is not None}
        yield Case("Scan", [f(2), f(4, 2)], 2, body=body, num_scan_inputs=1, **a)
        yield Case("Scan", [f(2), f(2, 4)], 2, body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], **a)
        yield Case("Scan", [f(2), f(2, 4)], 2, body=body, num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[-1], **a)
        yield Case("Scan", [f(2), f(0, 2)], 2, body=body, num_scan_inputs=1, **a)
    yield Case("Scan", [None, f(3, 2), f(3, 4, 2)], 2, body=body, num_scan_inputs=1)
    yield Case("Scan", [i64(4, 2, 3), f(3, 2), f(3, 4, 2)], 2, body=body, num_scan_inputs=1)
    yield Case("Scan", [i64(4, 2, 3), f(3, 2), f(3, 4, 2)], 2, body=body, num_scan_inputs=1, directions=[1])
    two = graph([N("Add", ["s", "x"], ["t"]), N("Sub", ["t", "z"], ["s2"]), N("Mul", ["x", "z"], ["y"]), N("ReduceSum", ["y"], ["r"], keepdims=0)],
                [("s", 1, [2]), ("x", 1, [2]), ("z", 1, [2])], [("s2", 1, [2]), ("y", 1, [2]), ("r", 1, [])])
    yield Case("Scan", [f(2), f(4, 2), f(2, 4)], 3, body=two, num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[1, 0], scan_output_directions=[0, 1], scan_output_axes=[1, 0])
    none = graph([N("Mul", ["x", "x"], ["y"])], [("x", 1, [2])], [("y", 1, [2])])
    yield Case("Scan", [f(4, 2)], 1, body=none, num_scan_inputs=1)
    loop = graph([N("Add", ["v", "v"], ["v2"]), N("Identity", ["v2"], ["o"]), N("Less", ["i", "n"], ["c2"]), N("Cast", ["i"], ["j"], to=1)],
                 [("i", 7, []), ("c", 9, []), ("v", 1, [2])], [("c2", 9, []), ("v2", 1, [2]), ("o", 1, [2]), ("j", 1, [])], [("n", np.int64(2))])
    for m, c in ((5, None), (2, True), (0, True), (5, False), (None, True), (3, None), (1, True)):
        yield Case("Loop", [None if m is None else np.int64(m), None if c is None else np.bool_(c), f(2)], 3, body=loop)
        yield Case("Loop", [None if m is None else i64(m), None if c is None else np.array([c]), f(2)], 3, body=loop)
    grow = graph([N("Concat", ["v", "v"], ["v2"], axis=0), N("Identity", ["c"], ["c2"])], [("i", 7, []), ("c", 9, []), ("v", 1, None)], [("c2", 9, []), ("v2", 1, None)])
    yield Case("Loop", [np.int64(3), np.bool_(True), f(2)], 1, body=grow)
    bare = graph([N("Identity", ["c"], ["c2"]), N("Mul", ["i", "i"], ["o"])], [("i", 7, []), ("c", 9, [])], [("c2", 9, []), ("o", 7, [])])
    yield Case("Loop", [np.int64(3), np.bool_(True)], 1, body=bare)
    yield Case("Loop", [np.int64(0), np.bool_(True)], 1, body=bare)
    then, other = graph([N("Constant", [], ["a"], value=onnx.numpy_helper.from_array(f(2, 3)))], [], [("a", 1, [2, 3])]), graph([N("Constant", [], ["b"], value=onnx.numpy_helper.from_array(f(4)))], [], [("b", 1, [4])])
    for c in (True, False):
        yield Case("If", [np.bool_(c)], then_branch=then, else_branch=other)
        yield Case("If", [np.array([c])], then_branch=then, else_branch=other)
    for t in ALL:
        if np.dtype(t).kind == "c":
            continue
        yield Case("Constant", [], value=onnx.numpy_helper.from_array(values(t, 2, 3)))
    for a in (dict(value_int=3), dict(value_ints=[1, 2]), dict(value_float=.5), dict(value_floats=[1., 2.]), dict(value_string="abc"), dict(value_strings=["a", "b"])):
        yield Case("Constant", [], **a)
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", 1, [3], [1., 2., 3.]), helper.make_tensor("i", 7, [3], [0, 4, 7]), [2, 5])
    yield Case("Constant", [], sparse_value=sparse)
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", 1, [2], [1., 2.]), helper.make_tensor("i", 7, [2, 2], [0, 4, 1, 2]), [2, 5])
    yield Case("Constant", [], sparse_value=sparse)


def late():
    """operators of opset 26 and later, and those that train"""
    for t in FLOATS:
        for a in ({}, dict(alpha=.5)):
            yield Case("SwiGLU", [values(t, 2, 6), values(t, 2, 6)], **a)
        for rule, scale, hk, past in itertools.product((None, "linear", "gated", "delta", "gated_delta"), (None, .3), (1, 2), (0, 1)):
            B, T, H, dk, dv = 2, 3, 2, 4, 3
            for decay, beta in itertools.product((0, 1, 2), (0, 1, 2)):
                if (decay == 0) != (rule in ("linear", "delta")) or (beta == 0) != (rule in ("linear", "gated")):
                    continue
                ins = [values(t, B, T, H * dk, lo=-1, hi=1), values(t, B, T, hk * dk, lo=-.5, hi=.5), values(t, B, T, hk * dv, lo=-1, hi=1),
                       values(t, B, hk, dk, dv, lo=-1, hi=1) if past else None, [None, values(t, B, T, hk, lo=-1, hi=0), values(t, B, T, hk * dk, lo=-1, hi=0)][decay],
                       [None, values(t, B, T, hk, lo=0, hi=1), values(t, B, T, 1, lo=0, hi=1)][beta]]
                while ins[-1] is None:
                    ins.pop()
                yield Case("LinearAttention", ins, 2, q_num_heads=H, kv_num_heads=hk, **{k: v for k, v in (("update_rule", rule), ("scale", scale)) if v is not None})
        for act, bias, past, k, n in itertools.product((None, "silu", "swish", "none"), (0, 1), (0, 1), (1, 3, 5), (1, 4)):
            ins = [values(t, 2, 3, n), values(t, 3, 1, k), values(t, 3) if bias else None, values(t, 2, 3, k - 1) if past else None]
            while ins[-1] is None:
                ins.pop()
            yield Case("CausalConvWithState", ins, 2, **({} if act is None else dict(activation=act)))
    T = "ai.onnx.preview.training"
    for t, step, norm in itertools.product((np.float32, np.float64), (0, 3), (0., .1)):
        x = lambda: values(t, 2, 3, lo=.1)
        yield Case("Adagrad", [np.array(.1, t), np.int64(step), x(), x(), x()], 2, domain=T, decay_factor=.1, epsilon=1e-3, norm_coefficient=norm)
        yield Case("Adam", [np.array(.1, t), np.int64(step), x(), x(), x(), x()], 3, domain=T, alpha=.8, beta=.9, norm_coefficient=norm, norm_coefficient_post=norm)
        for mode in ("standard", "nesterov"):
            yield Case("Momentum", [np.array(.1, t), np.int64(step), x(), x(), x()], 2, domain=T, alpha=.8, beta=.9, norm_coefficient=norm, mode=mode)
    for t in (np.float32, np.int64, object):
        for v in (values(t, 2, 3), [values(t, 2), values(t, 3)]):
            yield Case("OptionalHasElement", [v])
            yield Case("OptionalGetElement", [v])
    body = graph([helper.make_node("Add", ["x", "y"], ["z"])], [("x", 1, None), ("y", 1, None)], [("z", 1, None)])
    for second in (f(2), [f(2), f(1), f(2)]):
        yield Case("SequenceMap", [[f(2), f(3, 2), f(1)], second], body=body)
    for s in ((4, 0), (3, 4)):
        for v in (1, np.int64(3)):
            yield Case("BitShift", [values(np.int8, 3, 4, lo=-100, hi=100), np.array([0, 3, 9, -1], np.int8)], direction="RIGHT")
            yield Case("BitShift", [values(np.int32, 3, 4, lo=-100, hi=100), np.array([0, 3, 40, -1], np.int32)], direction="LEFT")


from operator_cases_ml import classical  # noqa: E402

FAMILIES = [unary, binary, views, linear, convolution, pooling, normalization, reduction, resize, indexing, padding, quantization, recurrent, attention, control, sequences, text, signal, late, classical]


def cases(pattern="", seed=0):
    """those whose family:operator matches; another seed draws other values, and what parameters are drawn"""
    global rng
    import operator_cases_ml
    import re
    for family in FAMILIES:
        rng = operator_cases_ml.rng = np.random.default_rng(zlib.crc32(family.__name__.encode()) + seed)
        for c in family():
            if re.search(pattern, family.__name__ + ":" + c.op):
                yield c
