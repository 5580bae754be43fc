"""Random one-node models for compare_operators.py --random: parameters that the tables of operator_cases.py do not combine.

Each function of DRAWS makes one case from the generator; what ONNX's checker and both references refuse is left out."""
import re
import ml_dtypes as ml, numpy as np
from onnx import helper
import operator_cases as table
from operator_cases import Case, FLOATS, FP8, INTS, NARROW, REDUCTIONS, i64, values

rng = None


def one(*choices):
    return choices[rng.integers(len(choices))]


def some(chance=.5, /, **k):
    """Each of these attributes with this chance; None is left out."""
    return {a: v for a, v in k.items() if v is not None and rng.random() < chance}


def size(zero=.08):
    return 0 if rng.random() < zero else int(one(1, 1, 2, 3, 4, 5, 7, 17))


def shape(lo=1, hi=4, zero=.08):
    return [size(zero) for _ in range(rng.integers(lo, hi + 1))]


def numeric():
    return one(np.float32, np.float32, np.float32, np.float64, np.float16, ml.bfloat16, np.int32, np.int64, np.int8, np.uint8, np.int16, np.uint32)


def signed_axes(rank, lo=0, axes=None):
    axes = rng.permutation(rank)[:rng.integers(lo, rank + 1)] if axes is None else axes
    return [int(a) - (rank if rng.random() < .5 else 0) for a in axes]


def reduce():
    s, op = shape(0), one(*REDUCTIONS)
    axes, t = signed_axes(len(s)), numeric()
    x = values(t, *s, lo=.5 if op == "ReduceLogSum" else -2, hi=2)
    k = some(.6, keepdims=one(0, 1))
    if rng.random() < .3:
        return Case(op, [x], **k, **some(.7, axes=axes or None))
    return Case(op, [x] + ([] if rng.random() < .2 else [i64(*axes)]), **k, **some(.5, noop_with_empty_axes=one(0, 1)))


def arg_or_top():
    s = shape(1)
    axis = int(rng.integers(-len(s), len(s)))
    x = values(one(np.float32, np.float64, np.int64, np.int32, np.float16, np.int8), *s, lo=-2, hi=2)
    if rng.random() < .3:  # equal values
        x = np.round(x.astype(np.float64)).astype(x.dtype)
    op = one("ArgMax", "ArgMin", "TopK", "TopK", "Unique", "NonZero", "Compress", "CumSum", "Hardmax", "Softmax", "LogSoftmax")
    if op == "TopK":
        return Case(op, [x, i64(int(rng.integers(0, s[axis] + 1)))], 2, **some(.7, axis=axis, largest=one(0, 1)))
    if op == "Unique":
        return Case(op, [x], 4, **some(.6, axis=axis), **some(.5, sorted=one(1, 1, 0)))
    if op == "NonZero":
        return Case(op, [np.round(x.astype(np.float64)).astype(x.dtype)])
    if op == "Compress":
        n = s[axis] if rng.random() < .6 else int(np.prod(s))
        return Case(op, [x, values(np.bool_, max(0, n + int(one(0, 0, -1, 2))))], **some(.7, axis=axis))
    if op == "CumSum":
        return Case(op, [x, np.array(axis, one(np.int32, np.int64))], **some(.5, exclusive=1, reverse=1))
    return Case(op, [x], **some(.7, axis=axis), **(some(.5, keepdims=0, select_last_index=1) if op.startswith("Arg") else {}))


def gather():
    s, op = shape(1), one("Gather", "GatherElements", "GatherND")
    x, axis, it = values(one(np.float32, np.int64, np.bool_, object, np.float16, np.uint8), *s), int(rng.integers(-len(s), len(s))), one(np.int64, np.int32)
    n = s[axis]
    if op == "GatherND":
        batch = int(rng.integers(0, len(s)))
        depth = int(rng.integers(1, len(s) - batch + 1))
        outer = s[:batch] + shape(0, 2)
        index = np.stack([rng.integers(-max(d, 1), max(d, 1), outer) for d in s[batch:batch + depth]], -1)
        if 0 in s[batch:batch + depth]:
            index = index[..., :0, :] if index.ndim > batch + 1 else index
        return Case(op, [x, index.astype(np.int64)], **some(1, batch_dims=batch))
    index_shape = shape(0, 3) if op == "Gather" else [max(0, d - int(rng.integers(0, 2))) if i != axis % len(s) else size() for i, d in enumerate(s)]
    index = rng.integers(-max(n, 1), max(n, 1), index_shape) if n else np.zeros([0] + index_shape[1:], int)
    return Case(op, [x, np.asarray(index).astype(it)], **some(1, axis=axis))


def scatter():
    s, op = shape(1, 3, 0.04), one("ScatterElements", "ScatterND", "Scatter")
    t, how = one(np.float32, np.float32, np.int64, np.float64, np.int32, np.float16), one(None, None, "add", "mul", "max", "min")
    x, axis = values(t, *s), int(rng.integers(-len(s), len(s)))
    if op == "ScatterND":
        depth, rows = int(rng.integers(1, len(s) + 1)), int(rng.integers(0, 5))
        if 0 in s[:depth]:
            rows = 0
        index = np.stack([rng.integers(-max(d, 1), max(d, 1), rows) for d in s[:depth]], -1)
        if how is None and rows:  # of duplicates one wins, which is not said
            kept = np.unique(index % np.array(s[:depth]), axis=0, return_index=True)[1]
            index = index[kept]
        return Case(op, [x, index.astype(np.int64), values(t, len(index), *s[depth:])], **some(1, reduction=how))
    ishape = [int(rng.integers(0, d + 1)) if i != axis % len(s) else d for i, d in enumerate(s)]
    index = np.stack([rng.permutation(s[axis])[:ishape[axis]] for _ in range(max(1, int(np.prod(ishape)) // max(1, ishape[axis])))])
    order = [i for i in range(len(s)) if i != axis % len(s)] + [axis % len(s)]
    index = index[:int(np.prod([ishape[i] for i in order[:-1]]))].reshape([ishape[i] for i in order]).transpose(np.argsort(order))
    if how:
        index = rng.integers(-max(s[axis], 1), max(s[axis], 1), ishape) if s[axis] else index
    else:
        index = np.where(rng.random(ishape) < .4, index - s[axis], index)
    return Case(op, [x, index.astype(one(np.int64, np.int32)), values(t, *ishape)], **some(1, axis=axis, reduction=how))


def slices():
    s = shape(1)
    axes = [int(a) for a in rng.permutation(len(s))[:rng.integers(1, len(s) + 1)]]
    far = lambda n: int(one(*range(-n - 3, n + 4), 2**63 - 1, -2**63, 2**31 - 1, -2**31))
    starts, ends = [[far(s[a]) for a in axes] for _ in range(2)]
    steps = [int(one(1, 1, 2, -1, -1, -2, 3, 2**31 - 1, -2**31, 2**63 - 1)) for _ in axes]
    given = signed_axes(len(s), axes=axes)
    x = values(one(np.float32, np.int64, object, np.bool_, np.uint8, np.float16), *s)
    if rng.random() < .2:
        return Case("Slice", [x], starts=starts, ends=ends, axes=axes)
    return Case("Slice", [x, i64(*starts), i64(*ends), i64(*given), i64(*steps)])


def pads():
    s, mode = shape(1, 4, .04), one("constant", "constant", "edge", "reflect", "wrap")
    axes = [int(a) for a in rng.permutation(len(s))[:rng.integers(1, len(s) + 1)]] if rng.random() < .5 else list(range(len(s)))
    most = lambda a: max(0, s[a] - 1) if mode == "reflect" else s[a] if mode == "wrap" else 4
    amounts = [int(rng.integers(-min(2, s[a]), most(a) + 1)) for a in axes * 2]
    if any(a + b + s[x] < 0 for a, b, x in zip(amounts, amounts[len(axes):], axes)):
        amounts = [max(0, a) for a in amounts]
    t = one(np.float32, np.int32, np.int64, np.float64, np.uint8, np.float16, np.bool_)
    ins = [values(t, *s), i64(*amounts), values(t) if rng.random() < .5 else None, i64(*signed_axes(len(s), axes=axes)) if axes != list(range(len(s))) or rng.random() < .3 else None]
    while ins[-1] is None:
        ins.pop()
    return Case("Pad", ins, **some(1, mode=mode))


def einsum():
    letters = "abcdij"
    n = int(rng.integers(1, 4))
    dims = {c: size(.03) for c in letters}
    dims = {c: min(d, 5) for c, d in dims.items()}
    terms = ["".join(rng.choice(list(letters), rng.integers(0 if n > 1 else 1, 4), replace=rng.random() < .15)) for _ in range(n)]
    dots = rng.random() < .3
    spread = [2, 3][:rng.integers(1, 3)]
    shapes = [[dims[c] for c in t] for t in terms]
    if dots:
        cut = [int(rng.integers(0, len(spread) + 1)) for _ in terms]
        cut[0] = 0
        shapes = [[1 if rng.random() < .2 else d for d in spread[c:]] + x for c, x in zip(cut, shapes)]
        terms = ["..." + t for t in terms]
    used = sorted(set("".join(terms)) - {"."})
    out = "".join(rng.permutation(used)[:rng.integers(0, len(used) + 1)])
    text = ",".join(terms) + ("" if rng.random() < .2 else "->" + ("..." if dots else "") + out)
    t = one(np.float32, np.float32, np.float64, np.int32, np.int64)
    return Case("Einsum", [values(t, *x, lo=-2, hi=2) for x in shapes], equation=text.replace(",", one(",", ", ")))


def attention():
    B, Hk, group = int(one(1, 2)), int(one(1, 2, 3)), int(one(1, 2, 4))
    Hq, q, k, d, dv = Hk * group, int(one(1, 1, 2, 5, 9)), int(one(1, 3, 6, 17)), int(one(2, 4, 8)), int(one(1, 4, 6))
    past, t = int(one(0, 0, 0, 1, 4)), one(np.float32, np.float32, np.float16, np.float64)
    total, a = k + past, some(.4, scale=.3, is_causal=1, softcap=2., softmax_precision=int(one(1, 10, 1)))
    if rng.random() < .5:
        a.update(q_num_heads=Hq, kv_num_heads=Hk)
        ins = [values(t, B, q, Hq * d), values(t, B, k, Hk * d), values(t, B, k, Hk * dv)]
    else:
        ins = [values(t, B, Hq, q, d), values(t, B, Hk, k, d), values(t, B, Hk, k, dv)]
    kind = one(None, np.bool_, t)
    mask = None if kind is None else values(kind, *one((q, total), (B, 1, q, total), (B, Hq, q, total), (Hq, q, total)))
    if mask is not None and kind is np.bool_:
        mask[..., 0] = True
    ins += [mask] + ([values(t, B, Hk, past, d), values(t, B, Hk, past, dv)] if past else [])
    n = int(one(3, 4)) if past else int(one(1, 1, 4))
    a.update(some(.2, left_window_size=int(one(0, 1, 3)), right_window_size=int(one(0, 2))))
    if n == 4:
        a.update(some(.7, qk_matmul_output_mode=int(one(0, 1, 2, 3))))
    if not past and rng.random() < .25:
        ins += [None, None, rng.integers(1, k + 1, B)]
    while ins[-1] is None:
        ins.pop()
    return Case("Attention", ins, n, unused=(1, 2) if n == 4 and not past else (), **a)


def norms():
    op, t = one("LayerNormalization", "RMSNormalization", "GroupNormalization", "InstanceNormalization", "BatchNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization"), one(*FLOATS)
    s = shape(2 if op in ("LayerNormalization", "RMSNormalization", "LpNormalization") else 3, 5, .03)
    axis, eps = int(rng.integers(-len(s), len(s))), some(.5, epsilon=float(one(1e-3, .1, 0.)))
    if op == "LayerNormalization":
        w = s[axis % len(s):]
        return Case(op, [values(t, *s), values(t, *w)] + ([values(t, *w)] if rng.random() < .6 else []), int(one(1, 1, 3)), axis=axis, **eps)
    if op == "RMSNormalization":
        return Case(op, [values(t, *s), values(t, *s[axis % len(s):])], axis=axis, **eps)
    if op == "GroupNormalization":
        g = int(one(1, 2, 3))
        s[1] = g * max(1, s[1])
        return Case(op, [values(t, *s), values(t, s[1]), values(t, s[1])], num_groups=g, **eps)
    if op == "InstanceNormalization":
        return Case(op, [values(t, *s), values(t, s[1]), values(t, s[1])], **eps)
    if op == "BatchNormalization":
        return Case(op, [values(t, *s)] + [values(t, s[1], lo=.2) for _ in range(4)], **eps)
    if op == "LRN":
        return Case(op, [values(t, *s)], size=int(one(1, 2, 3, 5, 8)), **some(.5, alpha=.3, beta=.5, bias=2.))
    if op == "LpNormalization":
        return Case(op, [values(t, *s)], axis=axis, p=int(one(1, 2)))
    return Case(op, [values(t, *s)], **some(.6, axes=signed_axes(len(s), 1)))


def quantised():
    q = one(np.uint8, np.int8)
    zero = lambda t, *s: rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, s).astype(t)
    scale = lambda *s: rng.uniform(.01, .1, s).astype(np.float32)
    op = one("QLinearMatMul", "MatMulInteger", "ConvInteger", "QLinearConv", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
    if op in ("QLinearMatMul", "MatMulInteger"):
        m, k, n, batch, w = size(), size(), size(), shape(0, 2), one(np.uint8, np.int8)
        a, b = zero(q, *batch, m, k), zero(w, *(batch if rng.random() < .5 else []), k, n)
        if op == "MatMulInteger":
            za = one(None, zero(q), zero(q, m) if not batch else zero(q, 1))
            zb = one(None, zero(w), zero(w, n))
            ins = [a, b, za, zb]
            while ins[-1] is None:
                ins.pop()
            return Case(op, ins)
        rows = n if rng.random() < .4 else None
        bs, bz = (scale(n), zero(w, n)) if rows else (scale(), zero(w))
        return Case(op, [a, scale(), zero(q), b, bs, bz, scale() * 20, zero(q)])
    if op in ("ConvInteger", "QLinearConv"):
        g, ci, co, nd = int(one(1, 1, 2, 3)), int(one(1, 2, 4)), int(one(1, 2, 5)), int(one(1, 2, 2))
        kernel, w = [int(one(1, 2, 3)) for _ in range(nd)], one(np.uint8, np.int8)
        x, f = zero(q, 2, g * ci, *[k + int(rng.integers(0, 5)) for k in kernel]), zero(w, g * co, ci, *kernel)
        k = some(.5, pads=[int(rng.integers(0, 2)) for _ in range(2 * nd)], strides=[int(one(1, 2)) for _ in range(nd)], dilations=[int(one(1, 1, 2)) for _ in range(nd)])
        if op == "ConvInteger":
            return Case(op, [x, f] + one([], [zero(q)], [zero(q), zero(w)], [zero(q), zero(w, g * co)]), group=g, **k)
        ws, wz = one((scale(), zero(w)), (scale(g * co), zero(w, g * co) if w is np.uint8 else np.zeros(g * co, w)))
        return Case(op, [x, scale(), zero(q), f, ws, wz, scale() * 20, zero(q)] + ([rng.integers(-500, 500, g * co).astype(np.int32)] if rng.random() < .5 else []), group=g, **k)
    if op == "DynamicQuantizeLinear":
        return Case(op, [values(np.float32, *shape(0), lo=one(-5, 1, -5), hi=one(5, 7))], 3)
    t = one(np.uint8, np.int8, np.uint16, np.int16, ml.int4, ml.uint4, ml.float8_e4m3fn, ml.float8_e5m2, ml.float8_e4m3fnuz, ml.float8_e5m2fnuz)
    s = shape(1, 3, .03)
    axis, ft = int(rng.integers(-len(s), len(s))), one(np.float32, np.float32, np.float16)
    block = int(one(1, 2, 3)) if rng.random() < .4 else 0
    how = "scalar" if rng.random() < .4 else "blocks" if block else "axis"
    ws = [] if how == "scalar" else [-(-d // block) if i == axis % len(s) else d for i, d in enumerate(s)] if block else [s[axis]]
    sc = rng.uniform(.05, .5, ws).astype(ft)
    zp = None if rng.random() < .3 else values(t, *ws, lo=0, hi=7 if "4" in np.dtype(t).name else 9) if "float" not in np.dtype(t).name else np.zeros(ws, t)
    k = dict(axis=axis, **(dict(block_size=block) if how == "blocks" else {}))
    if op == "QuantizeLinear":
        x = (rng.standard_normal(s) * one(1, 10, 100)).astype(ft)
        return Case(op, [x, sc] + ([] if zp is None else [zp]), **k, **some(.3, saturate=one(0, 1)))
    x = values(t, *s, lo=-9 if "4" not in np.dtype(t).name else -7, hi=7)
    return Case(op, [x, sc] + ([] if zp is None else [zp]), **k)


KINDS = FLOATS + INTS + [np.bool_] + NARROW + FP8[2:]


def casts():
    a, b = KINDS[rng.integers(len(KINDS))], KINDS[rng.integers(len(KINDS))]
    wide = rng.standard_normal(40) * one(1, 10, 300, 1e5)
    if table.is_float(a) and rng.random() < .5 and (table.is_float(b) or b in FP8):
        wide[:4] = np.nan, np.inf, -np.inf, -0.
    if not table.is_float(a) and a not in FP8:
        wide = values(a, 40, lo=-120, hi=120).astype(np.float64) if a not in NARROW else values(a, 40, lo=-2, hi=3).astype(np.float64)
    if not table.is_float(b) and b not in FP8 and b is not np.bool_:  # beyond the range is undefined
        n = ml.iinfo(b) if b in NARROW else np.iinfo(b)
        wide = np.clip(np.nan_to_num(wide), float(n.min) + 1 if n.min else 0, float(min(n.max, 60000)))
    if b is ml.float8_e8m0fnu:  # of numbers below 0 nothing is said
        wide = np.abs(np.nan_to_num(wide, posinf=1)) + .1
    x = wide.astype(a)
    if not table.is_float(b) and b not in FP8 and a in FP8:
        wide = np.clip(wide, -7 if b not in (ml.int2, ml.uint2) else 0, 7 if b not in (ml.int2, ml.uint2) else 1)
        x = np.clip(wide, 0 if b not in (ml.int4, np.int8, np.int16, np.int32, np.int64) else -7, 7).astype(a)
    to = helper.np_dtype_to_tensor_dtype(np.dtype(b))
    if rng.random() < .2:
        return Case("CastLike", [x, values(b, 1)], **some(.4, saturate=0))
    return Case("Cast", [x], to=to, **some(.4, saturate=one(0, 1)), **(some(.6, round_mode=one("up", "down", "nearest")) if b is ml.float8_e8m0fnu else {}))


def resize():
    nd = int(one(1, 2, 2, 3))
    s = [int(one(1, 2)), int(one(1, 3))] + [int(one(1, 2, 3, 4, 5, 7)) for _ in range(nd)]
    mode = one("nearest", "linear", "cubic", "linear") if nd == 2 else one("nearest", "linear")
    k = some(.8, coordinate_transformation_mode=one("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
             nearest_mode=one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None)
    if mode == "cubic":
        k.update(some(.4, cubic_coeff_a=float(one(-.5, -.75)), exclude_outside=1))
    if mode != "nearest":
        k.update(some(.3, antialias=1))
    use_axes = rng.random() < .4
    axes = list(range(2, 2 + nd))
    full = lambda v: v if use_axes else [1, 1] + v
    if use_axes:
        k["axes"] = signed_axes(len(s), axes=[axes[i] for i in rng.permutation(nd)] if rng.random() < .3 else axes)
    t = one(np.float32, np.float32, np.float64, np.float16)
    if mode == "nearest" or not any(a < 0 for a in k.get("axes", [])) and not k.get("antialias"):
        t = one(t, np.uint8, np.int8, np.int32)  # the evaluator rounds, as xcc; onnxruntime truncates, and alone takes negative axes
    if rng.random() < .5:
        sc = [float(one(.5, 1, 2, 1.5, .6, 3, .34, 2.7)) for _ in range(nd)]
        return Case("Resize", [values(t, *s), None, np.array(full(sc), np.float32)], mode=mode, fixed=2, **k)
    sizes = [int(one(1, 2, 3, 4, 6, 9)) for _ in range(nd)]
    if use_axes or rng.random() < .3:
        k.update(some(.4, keep_aspect_ratio_policy=one("stretch", "not_larger", "not_smaller")))
    return Case("Resize", [values(t, *s), None, None, i64(*(sizes if use_axes else s[:2] + sizes))], mode=mode, fixed=3, **k)


def signal():
    t, op = one(np.float32, np.float32, np.float64), one("DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow", "BlackmanWindow")
    if op == "DFT":
        s, c = [max(1, d) for d in shape(1, 3, 0)], int(one(1, 2))
        axis = int(rng.integers(0, len(s)))
        inverse = one(0, 0, 1)
        onesided = 1 if not inverse and c == 1 and rng.random() < .4 else 0
        ins = [values(t, *s, c)] + one([], [np.array(int(one(1, 2, 3, 8, 9)), np.int64)])
        if rng.random() < .4:
            return Case(op, ins, axis=axis, inverse=inverse, onesided=onesided, only=[17])
        return Case(op, ins + ([None] if len(ins) == 1 else []) + [np.array(axis - (len(s) + 1 if rng.random() < .4 else 0), np.int64)], inverse=inverse, onesided=onesided)
    if op == "STFT":
        frame, step, n = int(one(2, 3, 4, 8)), int(one(1, 2, 3)), int(one(8, 9, 17))
        w = values(t, frame, lo=.1, hi=1) if rng.random() < .6 else None
        c = int(one(1, 1, 2))
        return Case(op, [values(t, int(one(1, 2)), n, c), np.array(step, np.int64), w] + ([np.array(frame, np.int64)] if w is None or rng.random() < .6 else []), onesided=1 if c == 1 and rng.random() < .6 else 0, fixed=1)
    if op == "MelWeightMatrix":
        return Case(op, [np.array(int(one(1, 4, 8)), np.int64), np.array(int(one(8, 16, 31)), np.int64), np.array(int(one(8000, 8192)), np.int64), np.float32(one(0, 20)), np.float32(one(2000, 4000))])
    return Case(op, [np.array(int(one(2, 3, 10, 17)), one(np.int64, np.int32))], **some(.6, periodic=one(0, 1)), **some(.3, output_datatype=int(one(1, 11, 10))))


def pools():
    nd, op = int(one(1, 2, 2, 3)), one("MaxPool", "AveragePool", "LpPool", "MaxPool")
    kernel = [int(one(1, 2, 3, 4)) for _ in range(nd)]
    s = [int(one(1, 2)), int(one(1, 3))] + [k + int(rng.integers(0, 6)) for k in kernel]
    k = dict(kernel_shape=kernel, **some(.5, strides=[int(one(1, 2, 3)) for _ in range(nd)], dilations=[int(one(1, 1, 2)) for _ in range(nd)], ceil_mode=1))
    if rng.random() < .3:
        k["auto_pad"] = one("SAME_UPPER", "SAME_LOWER", "VALID")
        k.pop("dilations", 0)  # which onnxruntime forgets here
    else:
        k.update(some(.6, pads=[int(rng.integers(0, v)) if v > 1 else 0 for v in kernel * 2]))
    t = one(np.float32, np.float32, np.float64, np.float16)
    if op == "AveragePool":
        k.update(some(.5, count_include_pad=1))
    if op == "LpPool":
        k.update(some(.5, p=int(one(1, 2, 3))))
    x = values(one(t, np.int8, np.uint8) if op == "MaxPool" else t, *s)
    return Case(op, [x], 2 if op == "MaxPool" and rng.random() < .4 else 1, **k, **(some(.4, storage_order=1) if op == "MaxPool" else {}))


def convolutions():
    nd, op, g = int(one(1, 2, 2, 3)), one("Conv", "Conv", "ConvTranspose"), int(one(1, 1, 2, 4))
    ci, co, kernel = int(one(1, 2, 3)), int(one(1, 2, 5)), [int(one(1, 2, 3)) for _ in range(nd)]
    t = one(np.float32, np.float32, np.float32, np.float64, np.float16)
    k = some(.5, strides=[int(one(1, 2, 3)) for _ in range(nd)], dilations=[int(one(1, 1, 2)) for _ in range(nd)])
    if rng.random() < .3:
        k["auto_pad"] = one("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        k.update(some(.6, pads=[int(rng.integers(0, 3)) for _ in range(2 * nd)]))
    s = [int(one(0, 1, 2, 2, 2)), g * ci] + [2 * v + int(rng.integers(0, 5)) for v in kernel]
    if op == "Conv":
        w = values(t, g * co, ci, *kernel)
    else:
        w = values(t, g * ci, co, *kernel)
        strides = k.get("strides", [1] * nd)
        k.update(some(.3, output_padding=[int(rng.integers(0, v)) for v in strides]))
    return Case(op, [values(t, *s), w] + ([values(t, g * co)] if rng.random() < .5 else []), group=g, **k)


def recurrent():
    op = one("RNN", "GRU", "LSTM")
    gates, direction = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], one("forward", "reverse", "bidirectional")
    D, B, I, H, steps = 1 + (direction == "bidirectional"), int(one(1, 2, 3)), int(one(1, 3, 5)), int(one(1, 4, 7)), int(one(1, 2, 5))
    layout = 1 if op != "RNN" and rng.random() < 0 else 0
    f = lambda *s: values(np.float32, *s, lo=-1, hi=1)
    ins = [f(steps, B, I), f(D, gates * H, I), f(D, gates * H, H), one(None, f(D, 2 * gates * H)), one(None, rng.integers(1, steps + 1, B).astype(np.int32)), one(None, f(D, B, H))]
    if op == "LSTM":
        ins += [one(None, f(D, B, H)), one(None, f(D, 3 * H))]
    while ins[-1] is None:
        ins.pop()
    k = dict(hidden_size=H, direction=direction, **some(.3, clip=.5))
    if op == "GRU":
        k.update(some(.5, linear_before_reset=1))
    if op == "LSTM":
        k.update(some(.2, input_forget=1))
    if rng.random() < .4:
        k["activations"] = [str(one("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Softplus")) for _ in range(D * {1: 1, 3: 2, 4: 3}[gates])]
    return Case(op, ins, 3 if op == "LSTM" else 2, **k)


def moves():
    op, s = one("Reshape", "Expand", "Tile", "Transpose", "Concat", "Split", "DepthToSpace", "Trilu", "ReverseSequence", "OneHot", "EyeLike", "CenterCropPad", "Col2Im", "GridSample", "Range", "Where", "Clip"), shape(1)
    t = one(np.float32, np.int64, object, np.bool_, np.uint8, np.float16, np.float64)
    x = values(t, *s)
    if op == "Reshape":
        zero_ok = rng.random() < .3
        target = list(s) if rng.random() < .4 else [int(np.prod(s))] + [1] * int(rng.integers(0, 3))
        target = [int(v) for v in rng.permutation(target)] if rng.random() < .4 else target
        at = int(rng.integers(len(target)))
        rest = int(np.prod(target[:at] + target[at + 1:]))
        if rest and rng.random() < .6:
            target[at] = -1
        elif not zero_ok and at < len(s) and target[at] == s[at]:
            target[at] = 0
        return Case(op, [x, i64(*target)], **some(1, allowzero=1 if zero_ok else None))
    if op == "Expand":
        return Case(op, [values(t, *[1 if rng.random() < .4 else d for d in s]), i64(*([int(one(1, 2))] * int(rng.integers(0, 2)) + [1 if rng.random() < .2 and d != 1 else d for d in s]))])
    if op == "Tile":
        return Case(op, [x, i64(*[int(one(0, 1, 1, 2, 3)) for _ in s])])
    if op == "Transpose":
        return Case(op, [x], **some(.8, perm=[int(v) for v in rng.permutation(len(s))]))
    if op == "Concat":
        axis = int(rng.integers(-len(s), len(s)))
        return Case(op, [values(t, *[size() if i == axis % len(s) else d for i, d in enumerate(s)]) for _ in range(rng.integers(1, 5))], axis=axis)
    if op == "Split":
        axis, n = int(rng.integers(-len(s), len(s))), int(one(1, 2, 3))
        if rng.random() < .5:
            return Case(op, [x], n, axis=axis, num_outputs=n)
        cuts = sorted(int(v) for v in rng.integers(0, s[axis] + 1, n - 1))
        return Case(op, [x, i64(*np.diff([0, *cuts, s[axis]]))], n, axis=axis)
    if op == "Trilu":
        s = shape(2)
        return Case(op, [values(one(np.float32, np.int64, np.bool_), *s)] + one([], [np.array(int(rng.integers(-6, 7)), np.int64)]), **some(.5, upper=0))
    if op == "ReverseSequence":
        s = shape(2, 4, 0)
        time = int(one(0, 1))
        return Case(op, [values(t, *s), rng.integers(1, s[time] + 1, s[1 - time])], time_axis=time, batch_axis=1 - time)
    if op == "OneHot":
        depth = int(one(1, 3, 5))
        return Case(op, [rng.integers(-depth - 1, depth + 2, shape(0, 3)).astype(one(np.int64, np.int32)), np.array(depth, np.int64), values(one(np.float32, np.int64), 2)], **some(.6, axis=int(one(-1, 0))))
    if op == "EyeLike":
        return Case(op, [values(np.float32, size(), size())], **some(.6, k=int(rng.integers(-4, 5)), dtype=int(one(1, 7, 11, 6))))
    if op == "CenterCropPad":
        axes = [int(a) for a in rng.permutation(len(s))[:rng.integers(1, len(s) + 1)]]
        return Case(op, [x, i64(*[int(one(1, 2, 5, 8)) for _ in axes])], axes=axes)
    if op == "GridSample":
        nd = int(one(2, 2, 3))
        s = [2, int(one(1, 3))] + [int(one(1, 2, 4, 5)) for _ in range(nd)]
        grid = rng.uniform(-1.6, 1.6, (2, *[int(one(1, 3, 4)) for _ in range(nd)], nd)).astype(np.float32)
        return Case(op, [values(np.float32, *s), grid], **some(.7, mode=one("linear", "nearest", "cubic") if nd == 2 else one("linear", "nearest"), padding_mode=one("zeros", "border", "reflection"), align_corners=one(0, 1)))
    if op == "Range":
        t = one(np.float32, np.int64, np.int32, np.float64, np.int16)
        return Case(op, [np.array(int(rng.integers(-9, 9)), t), np.array(int(rng.integers(-9, 9)), t), np.array(int(one(1, 2, -1, -3, 5)), t)])
    if op == "Where":
        pick = lambda: [1 if rng.random() < .3 else d for d in s][int(rng.integers(0, 2)):]
        return Case(op, [values(np.bool_, *pick()), values(t, *pick()), values(t, *pick())])
    if op == "Clip":
        t = one(np.float32, np.int64, np.int8, np.float16, np.uint8)
        return Case(op, [values(t, *s), one(None, values(t)), values(t)])
    if op == "Col2Im":
        image, block = [int(one(3, 4, 5)) for _ in range(2)], [int(one(1, 2, 3)) for _ in range(2)]
        p, d, st = [int(one(0, 0, 1)) for _ in range(4)], [int(one(1, 1, 2)) for _ in range(2)], [int(one(1, 1, 2)) for _ in range(2)]
        out = [(image[i] + p[i] + p[i + 2] - d[i] * (block[i] - 1) - 1) // st[i] + 1 for i in range(2)]
        return Case(op, [values(np.float32, 1, 2 * block[0] * block[1], max(0, out[0]) * max(0, out[1])), i64(*image), i64(*block)], pads=p, dilations=d, strides=st, fixed=1)
    b = int(one(1, 2, 3))
    return Case("DepthToSpace", [values(np.float32, 2, b * b * int(one(1, 2)), 2, 3)], blocksize=b, mode=one("DCR", "CRD"))


DRAWS = [reduce, arg_or_top, gather, scatter, slices, pads, einsum, attention, norms, quantised, casts, resize, signal, pools, convolutions, recurrent, moves]


def cases(pattern, count, seed):
    """`count` of those whose family:operator matches"""
    global rng
    rng = table.rng = np.random.default_rng(seed)
    families = [d for d in DRAWS if re.search(pattern.split(":")[0], d.__name__)] or DRAWS
    made = tries = 0
    while made < count and tries < 100 * count:
        tries += 1
        c = families[rng.integers(len(families))]()
        if re.search(pattern, "random_" + c.op) or re.search(pattern, families[0].__name__):
            made += 1
            yield c
