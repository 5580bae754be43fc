"""Elementwise instructions, activations, reductions and products."""
from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import dtypes
from ._core import (Shape, aligned, as_tile, emit, emit_copy, emit_fill, emit_iota, is_number, number, place, predicate_tile, result,
                    shape_on_chip)
from ._errors import NkiTypeError, error, shape_error, warn
from ._index import Expr, Mask, broadcast_shapes, to_int
from ._mask import Region, region_of
from ._move import broadcast_to, copy, flat_out, on_sbuf, transposed, two_dims
from ._ops import BITS, COMPARES, LOGICAL, NEUTRAL, is_unary, op_name
from ._tensor import View, hooks, split_dims
from ._trace import need_trace

Scalar = Union[int, float, View]


# -- elementwise, with a destination ---------------------------------------------------------------------------------


def _rect(region: Optional[Region]) -> Optional[Region]:
    """The region's rectangle; what remains of the mask is applied when the result is assigned."""
    if region is None or region.trivial:
        return None
    return region


def spread(x: View, shape: Shape, api: str) -> View:
    """An operand with as many partitions as the instruction: functions of nl repeat one partition by a copy, instructions do not."""
    own = shape_on_chip(x)
    if own and own[0] == 1 and shape[0] > 1 and api.startswith("nl."):
        return broadcast_to(x, (shape[0],) + own[1:], api)
    return x


def emit_binary(dst: View, op: str, a: View, b: View, api: str, region: Optional[Region] = None, engine: Optional[str] = None) -> None:
    """dst = op(a, b), all tiles."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    check_pairs(op, api)
    _check_bits(op, api, a, b)
    a, b = spread(a, shape, api), spread(b, shape, api)
    if op in _BY_SIZE:
        emit_by_size(dst, op, a, b, api, region)
        return
    if op == "floordiv":
        t = result(shape, dtypes.float32)
        emit("tensor_tensor", {"dst": place(t, shape, region, api), "a": place(a, shape, region, api, "data1"),
                               "b": place(b, shape, region, api, "data2")}, api, functions={"op": "div"}, engine=engine)
        emit_unary(dst, "floor", t, api, region)
        return
    emit("tensor_tensor", {"dst": place(dst, shape, region, api, "dst"), "a": place(a, shape, region, api, "data1"),
                           "b": place(b, shape, region, api, "data2")}, api, functions={"op": op}, engine=engine)


def check_pairs(op: str, api: str, which: str = "op") -> None:
    """What takes one operand is no operation of two tiles."""
    if is_unary(op) and op not in ("bypass", "identity"):
        raise error(api, "%s is %s, which takes one operand, expected one of two, such as nl.add: of one tile it is nisa.activation" % (which, op),
                    NkiTypeError)


def _check_bits(op: str, api: str, *operands: Any) -> None:
    """Bitwise operators take the bits of integers."""
    for x in operands:
        if op in BITS and (isinstance(x, View) and dtypes.is_float(x.dtype) or isinstance(x, float) and x != int(x)):
            raise error(api, "an operand is %s, bitwise operators take integers: load or copy it with dtype=nl.int32, or see its bits by "
                        "x.view(nl.uint32)" % (x.dtype if isinstance(x, View) else x), NkiTypeError)


_BY_SIZE = {"abs_max": "gt", "abs_min": "lt"}


def emit_by_size(dst: View, op: str, a: View, b: View, api: str, region: Optional[Region] = None) -> None:
    """dst = a where |a| is larger (abs_min: smaller) than |b|, else b."""
    shape = shape_on_chip(dst)
    x, y, first = result(shape, dtypes.float32), result(shape, dtypes.float32), result(shape, dtypes.uint8)
    emit_unary(x, "abs", a, api, region)
    emit_unary(y, "abs", b, api, region)
    emit_binary(first, _BY_SIZE[op], x, y, api, region)
    emit("select", {"dst": place(dst, shape, region, api, "dst"), "predicate": place(first, shape, region, api),
                    "a": place(a, shape, region, api), "b": place(b, shape, region, api)}, api)


def _one_by_one(dst: View, src: View, ops: Sequence[Tuple[str, Optional[Scalar], bool]], api: str, region: Optional[Region]) -> None:
    """emit_scalars of operations that are several instructions each."""
    for k, (op, scalar, reverse) in enumerate(ops):
        to = dst if k == len(ops) - 1 else result(shape_on_chip(dst), dtypes.float32)
        if op not in _BY_SIZE:
            emit_scalars(to, src, [(op, scalar, reverse)], api, region)
        else:
            if not isinstance(scalar, View):
                t = result((shape_on_chip(dst)[0], 1), dtypes.float32)
                emit_fill(t, number(scalar, api), api)
                scalar = t
            emit_binary(to, op, scalar if reverse else src, src if reverse else scalar, api, region)
        src = to


def emit_scalars(dst: View, src: View, ops: Sequence[Tuple[str, Optional[Scalar], bool]], api: str,
                 region: Optional[Region] = None, engine: Optional[str] = None, reduced: Optional[View] = None,
                 reduce_op: str = "add") -> None:
    """dst = op1(op0(src, scalar0), scalar1); scalars are numbers or (P, 1) tiles; reversed: op(scalar, x). reduced[row]: the
    reduction of that, before it is rounded (tiles of two dims, no region)."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    src = spread(src, shape, api)
    for op, scalar, _ in ops:
        _check_bits(op, api, src, *([] if op == "bitnot" else [scalar]))
    if any(op in _BY_SIZE for op, _, _ in ops) and reduced is None:
        _one_by_one(dst, src, ops, api, region)
        return
    operands = {"dst": place(dst, shape, region, api, "dst"), "src": place(src, shape, region, api, "data")}
    numbers: Dict[str, Any] = {}
    reals: Dict[str, float] = {}
    functions: Dict[str, str] = {}
    for k in range(2):
        op, scalar, reverse = ops[k] if k < len(ops) else ("identity", 0.0, False)
        if op == "rsqrt" or is_unary(op):
            scalar = 0.0
        if scalar is None:
            raise error(api, "operand%d is missing: op%d is %s, which takes two operands" % (k, k, op), NkiTypeError)
        functions["op%d" % k] = op
        numbers["reverse%d" % k] = int(bool(reverse))
        if isinstance(scalar, View):
            what = "operand%d" % k
            scalar = scalar if k and api == "scalar_tensor_tensor" else vector(scalar, shape, api, what)
            operands[what] = place(spread(scalar, shape, api), shape, region, api, what)
            reals["scalar%d" % k] = 0.0
        else:
            reals["scalar%d" % k] = number(scalar, api)
    if reduced is not None:
        operands["reduced"] = place(reduced, (shape[0], 1), None, api, "reduce_res")
        functions["reduce"] = reduce_op
    emit("tensor_scalar", operands, api, numbers, reals, functions, engine)


def vector(x: View, shape: Shape, api: str, what: str) -> View:
    """A (P, 1) operand."""
    if not x.on_chip:
        raise error(api, "%s is a tensor in HBM; load it first (nl.load)" % what, NkiTypeError)
    own = shape_on_chip(x)
    if any(n != 1 for n in own[1:]) or own[0] not in (1, shape[0]):
        raise error(api, "%s has shape %s, expected one element for each partition: (%d, 1)%s" % (what, own, shape[0], _instead(own, shape, what)),
                    NkiTypeError)
    return x


def _instead(own: Shape, shape: Shape, what: str) -> str:
    """What to do with a tile that is no column."""
    if own == (1, shape[0]):
        return "; a row becomes a column where it is loaded, nl.load(row.reshape((%d, 1)))" % shape[0]
    if own[1:] == shape[1:] and own[0] in (1, shape[0]):
        op = {"bias": "nl.add", "scale": "nl.multiply"}.get(what, "op")
        return "; for a tile of elements use nisa.tensor_tensor(data, x%s, %s)%s" % (
            ".broadcast_to(%s)" % (shape,) if own[0] != shape[0] else "", op, " first" if op != "op" else "")
    return "; a column of a tile is x[0:%d, 0:1]" % shape[0]


def emit_unary(dst: View, op: str, src: View, api: str, region: Optional[Region] = None) -> None:
    """dst = op(src)."""
    if op in BITS or op == "logical_not":
        emit_scalars(dst, src, [(op, 0.0, False)], api, region)
    else:
        emit_activation(dst, op, src, api, region=region)


def emit_activation(dst: View, op: str, src: View, api: str, scale: Scalar = 1.0, bias: Optional[View] = None,
                    region: Optional[Region] = None, sums: Optional[View] = None) -> None:
    """dst = f(src * scale + bias); sums[row] = the rows' sums of that, before it is rounded (tiles of two dims, no region)."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    src = spread(src, shape, api)
    operands = {"dst": place(dst, shape, region, api, "dst"), "src": place(src, shape, region, api, "data")}
    reals = {"factor": 1.0}
    if isinstance(scale, View):
        if scale.dtype != dtypes.float32 and api.startswith("activation"):
            warn("%s: scale is %s, which the hardware does not take: make it a tile of nl.float32" % (api, scale.dtype))
        operands["scale"] = place(spread(vector(scale, shape, api, "scale"), shape, api), shape, region, api, "scale")
    else:
        reals["factor"] = number(scale, api)
    if isinstance(bias, View):
        if not dtypes.is_float(bias.dtype) and api.startswith("activation"):
            raise error(api, "bias is %s, expected a tile of nl.float32, nl.bfloat16 or nl.float16: make it one, or convert it by nl.copy(bias, "
                        "dtype=nl.float32)" % bias.dtype, NkiTypeError)
        operands["bias"] = place(spread(vector(bias, shape, api, "bias"), shape, api), shape, region, api, "bias")
    if sums is not None:
        operands["sum"] = place(sums, (shape[0], 1), None, api, "reduce_res")
    emit("activation", operands, api, {}, reals, {"f": op})


# -- elementwise, with a result --------------------------------------------------------------------------------------


def binary_dtype(op: str, x: object, y: object) -> np.dtype:
    kinds = [v.dtype if isinstance(v, View) else dtypes.of_scalar(v) for v in (x, y)]
    if op in COMPARES or op in LOGICAL:
        return dtypes.uint8
    if op in BITS and op not in ("bitnot",):
        views = [v.dtype for v in (x, y) if isinstance(v, View)]
        return views[0] if len(views) == 1 else dtypes.promote(*views)
    d = dtypes.promote(*kinds)
    if op == "div" and not dtypes.is_float(d):
        return dtypes.float32
    return d


def binary_shape(x: View, y: View, api: str, second: str = "y") -> Shape:
    """Free dims broadcast as in NumPy, the partition dim is always the first."""
    a, b = shape_on_chip(x), shape_on_chip(y)
    n = max(len(a), len(b))
    a = a[:1] + (1,) * (n - len(a)) + a[1:]
    b = b[:1] + (1,) * (n - len(b)) + b[1:]
    for p, q in zip(a, b):
        if p != q and p != 1 and q != 1:
            raise shape_error(api, second, shape_on_chip(y), shape_on_chip(x), ", as the first has")
    return tuple(q if p == 1 else p for p, q in zip(a, b))


def binary(op: str, x: object, y: object, dtype: object = None, mask: object = None, api: Optional[str] = None,
           engine: Optional[str] = None) -> Any:
    """op of two tiles, or of a tile and a number; of two numbers, the number."""
    api = api or "nl.%s" % op
    if isinstance(x, Expr) and not isinstance(y, View) or isinstance(y, Expr) and not isinstance(x, View):
        return python_binary(op, x, y)
    if not isinstance(x, View) and not isinstance(y, View):
        return python_binary(op, x, y)
    d = dtypes.to_dtype(dtype) if dtype is not None else binary_dtype(op, x, y)
    if isinstance(x, View) and isinstance(y, View):
        x, y = as_tile(x, api, "x"), as_tile(y, api, "y")
        shape = binary_shape(x, y, api, "data2" if api == "tensor_tensor" else "y" if api.startswith("nl.") else "the second operand")
        region = region_of(mask, shape)
        if mask is None:
            region = inherited(shape, x, y)
        dst = result(shape, d)
        emit_binary(dst, op, x, y, api, _bounded(region, mask), engine)
    else:
        tile = as_tile(x if isinstance(x, View) else y, api, "x")
        scalar = y if isinstance(x, View) else x
        if scalar is None:
            raise error(api, "None is given where a tile or a number is expected", NkiTypeError)
        if isinstance(scalar, (np.ndarray,)) and scalar.size > 1:
            raise error(api, "an array of shape %s cannot be an operand; pass it as a tensor and load it" % (scalar.shape,), NkiTypeError)
        shape = shape_on_chip(tile)
        region = region_of(mask, shape)
        if mask is None:
            region = inherited(shape, tile)
        dst = result(shape, d)
        if op == "floordiv":
            t = result(shape, dtypes.float32)
            emit_scalars(t, tile, [("div", scalar, not isinstance(x, View))], api, _bounded(region, mask))  # type: ignore[list-item]
            emit_unary(dst, "floor", t, api, _bounded(region, mask))
        else:
            emit_scalars(dst, tile, [(op, scalar, not isinstance(x, View))], api, _bounded(region, mask), engine)  # type: ignore[list-item]
    if not region.trivial:
        dst.region = region
    return dst


def _bounded(region: Region, mask: object) -> Optional[Region]:
    return region if mask is not None and not region.trivial else None


def inherited(shape: Shape, *sources: View) -> Region:
    """Results of unmasked instructions cover all of their tile."""
    return Region(shape)


def python_binary(op: str, x: Any, y: Any) -> Any:
    import operator as o

    f = {"add": o.add, "sub": o.sub, "mul": o.mul, "div": o.truediv, "mod": o.mod, "pow": o.pow, "floordiv": o.floordiv, "eq": o.eq, "ne": o.ne,
         "lt": o.lt, "le": o.le, "gt": o.gt, "ge": o.ge, "and": o.and_, "or": o.or_, "xor": o.xor, "shift_left": o.lshift,
         "shift_right": o.rshift, "max": max, "min": min}.get(op)
    if f is None:
        raise error(None, "%s of two numbers" % op, NkiTypeError)
    if isinstance(x, Mask) or isinstance(y, Mask):
        return x & y if op in ("and", "mul") else x | y
    return f(x, y)


def unary(op: str, x: object, dtype: object = None, mask: object = None, api: Optional[str] = None) -> Any:
    """f(x) of a tile; of a number, the number."""
    api = api or "nl.%s" % op
    if is_number(x):
        f = {"abs": abs, "neg": lambda v: -v, "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "floor": math.floor, "ceil": math.ceil,
             "square": lambda v: v * v, "rsqrt": lambda v: 1 / math.sqrt(v), "reciprocal": lambda v: 1 / v, "trunc": math.trunc,
             "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "bitnot": lambda v: ~v}.get(op)
        if f is None:
            raise error(api, "x is a number, expected a tile", NkiTypeError)
        return f(x if isinstance(x, (int, float)) else number(x, api))
    x = as_tile(x, api, "x")
    shape = shape_on_chip(x)
    region = region_of(mask, shape)
    d = dtypes.to_dtype(dtype) if dtype is not None else dtypes.uint8 if op == "logical_not" else x.dtype
    dst = result(shape, d)
    emit_unary(dst, op, x, api, _bounded(region, mask))
    if not region.trivial:
        dst.region = region
    return dst


# -- reductions ------------------------------------------------------------------------------------------------------


def free_axes(axis: Any, rank: int, api: str) -> List[int]:
    if axis is None:
        raise error(api, "axis is missing: which free dims, 1 to %d, are reduced" % (rank - 1), NkiTypeError)
    if is_number(axis) and isinstance(axis, (float, np.floating)) or isinstance(axis, View):
        two = {"nl.max": "nl.maximum", "nl.min": "nl.minimum", "nl.sum": "nl.add", "nl.prod": "nl.multiply"}.get(api)
        raise error(api, "axis is %s, expected which free dims are reduced, such as 1%s" % (
            "a tile" if isinstance(axis, View) else repr(axis), two and "; of two operands element by element it is %s(x, y)" % two or ""), NkiTypeError)
    given = [to_int(a) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
    for a in given:
        if not -rank <= a < rank:
            raise error(api, "axis %d of a tile of %d dims; free axes are 1 to %d" % (a, rank, rank - 1), NkiTypeError)
    axes = sorted({a % rank for a in given})
    if not axes:
        raise error(api, "axis is empty", NkiTypeError)
    if axes[0] == 0:
        raise error(api, "axis 0 is the partition dim; transpose first, or use tensor_partition_reduce", NkiTypeError)
    return axes


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if k in axes else n for k, n in enumerate(shape))
    left = tuple(n for k, n in enumerate(shape) if k not in axes)
    return left if len(left) > 1 else left + (1,)


def emit_reduce(dst: View, op: str, src: View, axes: Sequence[int], api: str, region: Optional[Region] = None, negate: bool = False,
                fresh: bool = False) -> None:
    """dst = reduction of src over free axes; masked elements do not take part, and where none does, dst keeps what it has, or in one that is
    fresh has the reduction of nothing."""
    if is_unary(op) or op in COMPARES or op not in NEUTRAL:
        raise error(api, "op is '%s', which is no reduction; expected nl.add, nl.multiply, nl.maximum, nl.minimum or the like" % op, NkiTypeError)
    shape = shape_on_chip(src)
    if region is not None and region.empty:
        return
    if region is not None and region.rest and not fresh:
        whole = result(dst.shape, dst.dtype)
        emit_reduce(whole, op, src, axes, api, region, negate, True)
        kept = [None if k in axes else k for k in range(len(shape))]
        emit_copy(dst, whole, api, region.along(dst.shape, kept if dst.ndim == len(shape) else [k for k in kept if k is not None]))
        return
    if region is not None and region.rest:
        t = result(shape, dtypes.float32 if dtypes.is_float(src.dtype) else src.dtype)
        emit_fill(t, max(NEUTRAL[op], -3.4028235e38) if op != "min" else 3.4028235e38, api)
        emit_copy(t, src, api, region)
        src, region = t, None
    kept = [k for k in range(len(shape)) if k not in axes]
    order = kept + list(axes)
    s = place(src, shape, region, api, "data")
    dims = tuple(s.dims[k] for k in order)
    clips = tuple((order.index(k), b) for k, b in s.clips)
    from ._record import Operand

    source = Operand(s.object, s.dtype, s.offset, dims, clips, s.index)
    out_shape = tuple(shape[k] for k in kept)
    sub = None if region is None else region.along(out_shape, kept)
    if dst.ndim == len(shape) and dst.ndim > len(kept) + 1 or dst.ndim == len(shape) and dst.shape == reduced_shape(shape, axes, True):
        seen = dst.like(dst.offset, [d for k, d in enumerate(dst.dims) if k in kept], 0)
    else:
        seen = dst
    d = place(seen, out_shape, sub, api, "dst")
    emit("tensor_reduce", {"dst": d, "src": source}, api, {"axes": len(axes), "negate": int(negate)}, {}, {"op": op})


def reduce(op: str, x: object, axis: Any, dtype: object = None, mask: object = None, negate: bool = False, keepdims: bool = False,
           api: str = "nl.reduce", scale: Optional[float] = None) -> View:
    x = as_tile(x, api, "data")
    shape = shape_on_chip(x)
    axes = free_axes(axis, len(shape), api)
    if 0 in shape:
        raise error(api, "a tile of shape %s has no elements: is a slice empty?" % (shape,), NkiTypeError)
    region = region_of(mask, shape)
    d = x.dtype if dtype is None else dtypes.to_dtype(dtype)
    dst = result(reduced_shape(shape, axes, keepdims), d)
    if region.empty or any(isinstance(region.bounds[k], Expr) and region.bounds[k].bounds()[0] <= 0 for k in axes):  # type: ignore[union-attr]
        emit_fill(dst, NEUTRAL.get(op, 0.0), api)  # in trips that leave no element
    emit_reduce(dst, op, x, axes, api, region if not region.trivial else None, negate, True)
    kept = [k for k in range(len(shape)) if k not in axes]
    dst.region = region.along(dst.shape, [k if k in kept else None for k in range(len(shape))] if keepdims else kept, True)
    return dst


def _masked_count(shape: Shape, axes: Sequence[int], region: Region, like: View, api: str) -> Scalar:
    """How many elements a masked mean divides by."""
    if region.rest:
        ones = Region(shape)
        ones.starts, ones.counts, ones.bounds = region.starts, region.counts, region.bounds
        n = result(like.shape, dtypes.float32)
        if not region.empty:
            emit_reduce(n, "add", predicate_tile(region, shape), axes, api, ones, False, True)
        return n
    n = 1
    for k in axes:
        if region.bounds[k] is not None:
            need = region.bounds[k]
            assert isinstance(need, Expr)
            need.__index__()
        n *= region.counts[k]
    return float(n)


def mean(x: object, axis: Any, dtype: object = None, mask: object = None, keepdims: bool = False, api: str = "nl.mean") -> View:
    x = as_tile(x, api, "x")
    shape = shape_on_chip(x)
    axes = free_axes(axis, len(shape), api)
    region = region_of(mask, shape)
    total = reduce("add", x, axis, dtypes.float32, mask, False, keepdims, api)
    n = _masked_count(shape, axes, region, total, api)
    d = dtypes.to_dtype(dtype) if dtype is not None else x.dtype if dtypes.is_float(x.dtype) else dtypes.float32
    out = result(total.shape, d)
    out.region = total.region
    if isinstance(n, View):
        emit_binary(out, "div", total, n, api, total.region)
    else:
        emit_scalars(out, total, [("mul", 1.0 / n, False)], api, total.region)
    return out


# -- products --------------------------------------------------------------------------------------------------------


Regions = Tuple[Optional[Region], Optional[Region], Optional[Region]]


def product_regions(mask: object, stationary: Optional[Mask], moving: Optional[Mask], first: Shape, second: Shape, api: str) -> Regions:
    """The parts of a product (M, N) and of its factors (K, M), (K, N) under a mask of the product and masks of the factors."""
    whole = Region((first[1], second[1]))
    keep, rows, cols = region_of(mask, whole.shape), region_of(stationary, first), region_of(moving, second)
    if keep.empty or rows.empty or cols.empty:
        whole.empty = True
        return whole, None, None
    if keep.rest or rows.rest or cols.rest:
        raise error(api, "a mask whose comparison has several axes, or `|`, does not cut whole rows or columns of a product", NkiTypeError)
    for b in rows.bounds + cols.bounds:
        if isinstance(b, Expr):
            b.__index__()  # asks for the loop to be unrolled
    if keep.bounds[0] is not None and keep.bounds[1] is None and not Mask.of(mask).shape:  # type: ignore[union-attr]
        keep.bounds[1] = region_of(mask, second[1:]).bounds[0]  # switched off as a whole: neither factor is read
    lo, hi = max(rows.starts[0], cols.starts[0]), min(rows.starts[0] + rows.counts[0], cols.starts[0] + cols.counts[0])
    for axis, factor in ((0, rows), (1, cols)):
        keep._cut(axis, factor.starts[1], factor.starts[1] + factor.counts[1])
    if hi <= lo or keep.empty:
        whole.empty = True
        return whole, None, None
    for axis, factor in ((0, rows), (1, cols)):
        factor.starts, factor.counts, factor.bounds = [lo, keep.starts[axis]], [hi - lo, keep.counts[axis]], [None, keep.bounds[axis]]
    return None if keep.trivial else keep, None if rows.trivial else rows, None if cols.trivial else cols


def emit_matmul(dst: View, stationary: View, moving: View, api: str = "nc_matmul", add: int = 0, mask: object = None,
                regions: Optional[Regions] = None) -> None:
    """dst[M, N] (+)= stationary[K, M] transposed, times moving[K, N]. add: 0 overwrites, 1 adds, -1 adds but for the first product
    since dst was made. regions: what product_regions gave, in place of a mask."""
    if len(shape_on_chip(stationary)) == 3 and len(shape_on_chip(moving)) == 3 and shape_on_chip(stationary)[1] == 2 \
            and shape_on_chip(moving)[1] == 2 and len(shape_on_chip(dst)) == 2:
        for k in range(2):  # double row: two products into one sum
            emit_matmul(dst, stationary[:, k, :], moving[:, k, :], api, add if k == 0 else 1, mask)
        return
    stationary, moving = two_dims(stationary, api, "stationary"), two_dims(moving, api, "moving")
    out, done = flat_out(dst, api, add != 0 or mask is not None)
    (k, m), (k2, n) = stationary.shape, moving.shape
    if k != k2:
        raise error(api, "stationary has %d rows and moving %d; both are the contraction%s" % (k, k2, _rows_advice(api, k, m, k2, n)), NkiTypeError)
    if m > 128:
        raise _too_wide(api, m, n)
    if n > 512:
        raise error(api, "moving has %d columns, at most 512; split N with a loop" % n, NkiTypeError)
    if out.shape != (m, n):
        raise error(api, "dst has shape %s, expected %s: the columns of stationary, which is transposed, and of moving" % (out.shape, (m, n)), NkiTypeError)
    keep, rows, cols = regions if regions is not None else product_regions(mask, None, None, (k, m), (k, n), api)
    if keep is not None and keep.empty:
        return
    emit("nc_matmul", {"dst": place(out, (m, n), keep, api, "dst"), "stationary": place(stationary, (k, m), rows, api, "stationary"),
                       "moving": place(moving, (k, n), cols, api, "moving")}, api, {"accumulate": add})
    done()


def _rows_advice(api: str, k: int, m: int, k2: int, n: int) -> str:
    """Why the rows of two factors may differ."""
    if api == "nc_matmul":
        return ": [K, M] and [K, N]" + (", so stationary is given as its transpose" if m == k2 else "")
    return ": x[M, K] times y[K, N]" + ("; x is [K, M] here, which transpose_x=True says" if m == k2 else "; y is [N, K] here: nl.transpose(y)" if n == k else "")


def _too_wide(api: str, m: int, n: int) -> Exception:
    """A stationary factor of too many columns."""
    return error(api, "stationary has %d columns, at most 128; split M with a loop%s" %
                 (m, ", or exchange the two: moving may have 512, and the result is transposed" if m <= 512 and n <= 128 else ""), NkiTypeError)


def check_factors(stationary: View, moving: View, api: str, alike: bool = False) -> None:
    """The types that the tensor engine multiplies. alike: both f32, or none, as nki 0.6 has it."""
    for x, what in ((stationary, "stationary"), (moving, "moving")):
        if x.object.space == "psum" and api == "nc_matmul":
            warn("%s: %s is %r, and the tensor engine reads SBUF only; it is copied here: nisa.tensor_copy does that" % (api, what, x))
        if not dtypes.is_float(x.dtype) and (alike or x.dtype not in (dtypes.uint8, dtypes.int8)):  # exact, and identities are uint8
            raise error(api, "%s is %s; the tensor engine multiplies f32, bf16, fp16 and fp8: load or copy it with dtype=nl.bfloat16" %
                        (what, x.dtype), NkiTypeError)
    if alike and (stationary.dtype == dtypes.float32) != (moving.dtype == dtypes.float32):
        raise error(api, "stationary is %s and moving %s; where one is float32, so must be the other: copy one of them with dtype=" %
                    (stationary.dtype, moving.dtype), NkiTypeError)


def _whole_factor(x: View, api: str) -> View:
    """A factor x[mask] without its mask where that cuts nothing."""
    if x.factor_mask is None:
        return x
    if region_of(x.factor_mask, shape_on_chip(x)).trivial:
        return x.like(x.offset, x.dims)
    return x


def _cut_product(s: View, m: View, api: str, mask: object) -> View:
    """A product whose moving factor has several free dims and a condition that cuts them: one product for each index of all but the last."""
    shape = shape_on_chip(m)
    region = region_of(m.factor_mask, shape)
    if mask is not None or region.rest or len(shape_on_chip(s)) > 2:
        raise error(api, "a factor of shape %s is cut by its condition; with mask=, `|` or comparisons of several axes that is for factors of two dims" %
                    (shape,), NkiTypeError)
    for b in region.bounds:
        if isinstance(b, Expr):
            b.__index__()  # asks for the loop to be unrolled
    first = region_of(s.factor_mask, shape_on_chip(s))
    dst = result((shape_on_chip(s)[1],) + shape[1:], dtypes.float32, "psum")
    dst.region = region.along(dst.shape, [None] + list(range(1, len(shape)))) or Region(dst.shape)
    if first.empty or region.empty:
        dst.region.empty = True
        return dst
    dst.region.starts[0], dst.region.counts[0], dst.region.bounds[0] = first.starts[1], first.counts[1], first.bounds[1]
    whole, last = m.like(m.offset, m.dims), slice(region.starts[-1], region.starts[-1] + region.counts[-1])
    rows = _contraction(region, shape)
    for at in np.ndindex(*region.counts[1:-1]):
        key = tuple(int(a) + start for a, start in zip(at, region.starts[1:-1]))
        row = (slice(None),) + key + (last,)
        part = whole[row]
        part.outside = None  # the condition cuts what lies beyond
        regions = product_regions(None, s.factor_mask, rows, shape_on_chip(s), shape_on_chip(part), api)
        emit_matmul(dst[row], s.like(s.offset, s.dims), part, api, 0, None, regions)
    return dst


def _contraction(region: Region, shape: Shape) -> Optional[Mask]:
    """The condition on the contraction alone."""
    start, end = region.starts[0], region.starts[0] + region.counts[0]
    if (start, end) == (0, shape[0]):
        return None
    k = Expr((shape[0], 1), 0, (), (1, 0))
    return (k >= start) & (k < end)  # type: ignore[operator, return-value]


def product(stationary: object, moving: object, api: str = "nisa.nc_matmul", mask: object = None, dtype: object = None) -> View:
    """A new tile in PSUM."""
    s, m = as_tile(stationary, api, "stationary"), as_tile(moving, api, "moving")
    check_factors(s, m, api)
    s, m = on_sbuf(s), on_sbuf(m)
    if len(shape_on_chip(s)) < 2 or len(shape_on_chip(m)) < 2:
        raise error(api, "stationary and moving have two dims", NkiTypeError)
    s, m = (copy(x, dtypes.bfloat16, api=api) if x.dtype in (dtypes.uint8, dtypes.int8) else x for x in (s, m))
    s, m = _whole_factor(s, api), _whole_factor(m, api)
    if m.factor_mask is not None and len(shape_on_chip(m)) > 2:
        return _cut_product(s, m, api, mask)
    if s.factor_mask is not None and len(shape_on_chip(s)) > 2:
        raise error(api, "stationary has shape %s and a condition that cuts it; that is for two dims" % (s.shape,), NkiTypeError)
    if len(shape_on_chip(s)) == 3 and shape_on_chip(s)[1] == 2 and len(shape_on_chip(m)) == 3:
        shape: Shape = (shape_on_chip(s)[2], shape_on_chip(m)[2])
    else:
        cols = int(np.prod(shape_on_chip(s)[1:], dtype=np.int64))
        if cols > 128:
            raise _too_wide(api, cols, int(np.prod(shape_on_chip(m)[1:], dtype=np.int64)))
        shape = (cols,) + shape_on_chip(m)[1:]
    dst = result(shape, dtypes.float32 if dtype is None else dtype, "psum")
    if s.factor_mask is None and m.factor_mask is None:
        emit_matmul(dst, s, m, api, 0, mask)
        region: Optional[Region] = region_of(mask, shape) if mask is not None else None
    else:
        second = shape_on_chip(m)
        if len(second) > 2 and mask is not None:
            raise error(api, "a factor with a condition, one of shape %s and mask= at once: give the conditions in one of the two ways" % (second,), NkiTypeError)
        regions = product_regions(mask, s.factor_mask, m.factor_mask, shape_on_chip(s), (second[0], math.prod(second[1:])), api)
        emit_matmul(dst, s.like(s.offset, s.dims), m.like(m.offset, m.dims), api, 0, None, regions)
        region = regions[0]
        if region is not None and len(second) > 2:
            region = region.along(shape, [0] + [None] * (len(second) - 1))
    if region is not None and not region.trivial:
        dst.region = region
    return dst


def matmul(x: object, y: object, transpose_x: bool = False, mask: object = None, api: str = "nl.matmul") -> View:
    x, y = as_tile(x, api, "x"), as_tile(y, api, "y")
    if not transpose_x:
        kept, x = x.factor_mask, copy(transposed(x.like(x.offset, x.dims), api), api=api)
        x.factor_mask = None if kept is None else kept.exchanged()
    return product(x, y, api, mask)


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "mod": "%", "floordiv": "//", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
          "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^", "shift_left": "<<", "shift_right": ">>"}
hooks["binary"] = lambda op, x, y: binary(op, x, y, None, None, _SIGNS.get(op, op))
hooks["matmul"] = lambda x, y: matmul(x, y)
hooks["unary"] = lambda op, x: unary(op, x)
