"""Selections, scans, statistics, searches, gathers, random numbers: the remaining instructions, with a destination each."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import dtypes
from ._compute import (Scalar, check_pairs, emit_activation, emit_binary, emit_reduce, emit_scalars, free_axes, reduced_shape, spread, vector)
from ._core import (Shape, _predicate, aligned, as_tile, emit, emit_copy, emit_dma, emit_fill, emit_iota, is_number, number, place, result,
                    shape_on_chip)
from ._errors import NkiTypeError, error
from ._index import Expr, Mask
from ._mask import Region, region_of
from ._move import as_rows, flat_out, on_sbuf, two_dims
from ._ops import NEUTRAL, op_name
from ._tensor import View, hooks
from ._trace import need_trace

FLOAT_MIN = -3.4028234663852886e38


# -- selections ------------------------------------------------------------------------------------------------------


def emit_affine_select(dst: View, pred: Mask, src: View, fill: float, api: str, region: Optional[Region] = None) -> None:
    """dst = pred ? src : fill, pred a comparison of index expressions."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    if pred.kind == "and":
        for k, p in enumerate(pred.parts):
            emit_affine_select(dst, p, src if k == 0 else dst, fill, api, region)
        return
    if pred.kind == "or":
        emit_where(dst, _predicate(pred, shape), src, fill, api, region)
        return
    assert pred.expr is not None
    e = pred.expr.resolved()
    steps = (0,) * (len(shape) - len(e.steps)) + e.steps
    base: Any = Expr((), e.base, e.terms, ())._simple()
    numbers: Dict[str, Any] = {}
    for k, s in enumerate(steps):
        s = s if shape[k] > 1 else 0
        numbers["step%d" % k] = s
        if region is not None:
            base = base + region.starts[k] * s
    numbers["base"] = base
    emit("affine_select", {"dst": place(dst, shape, region, api, "dst"), "src": place(spread(src, shape, api), shape, region, api, "on_true_tile")},
         api, numbers, {"fill": fill}, {"cmp": pred.kind})


def emit_where(dst: View, predicate: View, a: Scalar, b: Scalar, api: str, region: Optional[Region] = None) -> None:
    """dst = predicate != 0 ? a : b."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    tiles = []
    for x in (a, b):
        if not isinstance(x, View):
            t = result((shape[0],) + (1,) * (len(shape) - 1), dst.dtype)
            emit_fill(t, number(x, api), api)
            x = t
        tiles.append(spread(x, shape, api))
    p = spread(predicate, shape, api)
    emit("select", {"dst": place(dst, shape, region, api, "dst"), "predicate": place(p, shape, region, api, "predicate"),
                    "a": place(tiles[0], shape, region, api, "on_true"), "b": place(tiles[1], shape, region, api, "on_false")}, api)


def emit_range_select(dst: View, src: View, cmp0: str, cmp1: str, bound0: Scalar, bound1: Scalar, start: Any, fill: float, api: str,
                      region: Optional[Region] = None) -> None:
    """dst[p, j] = cmp0(start + j, bound0[p]) and cmp1(start + j, bound1[p]) ? src : fill, indices in f32."""
    shape = shape_on_chip(dst)
    rows = as_rows(dst, src)
    if rows is not None and not isinstance(start, View) and region is None:
        d, s = rows
        bounds = []
        for b in (bound0, bound1):
            if not isinstance(b, View):
                t = result((shape[0], 1), dtypes.float32)
                emit_fill(t, number(b, api), api)
                b = t
            bounds.append(place(spread(b, d.shape, api), d.shape, None, api, "bound"))
        emit("range_select", {"dst": place(d, d.shape, None, api, "dst"), "src": place(s, d.shape, None, api, "on_true_tile"),
                              "bound0": bounds[0], "bound1": bounds[1]}, api, {"start": start}, {"fill": fill}, {"op0": cmp0, "op1": cmp1})
        return
    index = result(shape, dtypes.float32)
    steps = [0] * len(shape)
    step = 1
    for k in range(len(shape) - 1, 0, -1):
        steps[k] = step
        step *= shape[k]
    e = Expr(tuple(shape), 0, (), tuple(steps))
    emit_iota(index, e if isinstance(start, View) else e + start, api)  # type: ignore[arg-type]
    if isinstance(start, View):
        emit_scalars(index, index, [("add", start, False)], api)
    m0, m1 = result(shape, dtypes.uint8), result(shape, dtypes.uint8)
    emit_scalars(m0, index, [(cmp0, bound0, False)], api)
    emit_scalars(m1, index, [(cmp1, bound1, False)], api)
    emit_binary(m0, "min", m0, m1, api)
    emit_where(dst, m0, src, fill, api, region)


# -- accumulators ----------------------------------------------------------------------------------------------------

def only_maximum(op: str, api: str) -> None:
    """The select instructions reduce by one operation."""
    if op != "max":
        raise error(api, "reduce_op is %s, expected nl.maximum: the instruction gives maxima of rows; for others nisa.tensor_reduce of its result" % op,
                    NkiTypeError)


def reduce_into_register(family: str, value: View, op: str, command: Optional[str], res: Optional[View], api: str,
                         region: Optional[Region] = None, negate: bool = False, initial: Optional[Scalar] = None) -> None:
    """Row reductions into an engine's registers. command: idle, reset, reduce, reset_reduce, load_reduce."""
    command = command or "reset_reduce"
    shape = shape_on_chip(value)
    if command == "idle" and res is None:
        return
    rows = register(family, shape[0], api)
    axes = list(range(1, len(shape)))
    start = NEUTRAL.get(op, 0.0)
    start = max(min(start, 3.4028234663852886e38), FLOAT_MIN) if op == "min" else start
    if command == "load_reduce":
        emit_copy(rows, initial, api) if isinstance(initial, View) else emit_fill(rows, number(initial or 0.0, api), api)
        command = "reduce"
    if command == "reset":
        emit_fill(rows, start, api)
    elif command == "reset_reduce":
        if region is not None:
            emit_fill(rows, start, api)
        emit_reduce(rows, op, value, axes, api, region)
    elif command == "reduce":
        part = result((shape[0], 1), dtypes.float32)
        if region is not None:
            emit_fill(part, start, api)
        emit_reduce(part, op, value, axes, api, region)
        emit_binary(rows, op, rows, part, api)
    if res is not None:
        kept = None if region is None else region.along((shape[0], 1), [0, None], True)
        if negate:
            emit_scalars(seen_as_rows(res, shape[0]), rows, [("mul", -1.0, False)], api, kept)
        else:
            emit_copy(seen_as_rows(res, shape[0]), rows, api, kept)


def seen_as_rows(res: View, p: int) -> View:
    """A reduction's destination as (P, 1)."""
    shape = shape_on_chip(res)
    live = [n for n in shape[1:] if n != 1]
    if live or shape[0] != p:
        raise error(None, "reduce_res has shape %s, expected (%d, 1)" % (shape, p), NkiTypeError)
    return View(res.object, res.dtype, res.offset, (res.dims[res.blocks], (1, 1)), 0)


def register(family: str, p: int, api: str) -> View:
    """The registers of p partitions."""
    t = need_trace(api)
    key = "register_" + family
    if key not in t.state:
        t.state[key] = t.tile("sbuf", (128, 1), dtypes.float32, key)
    return t.state[key][0:p, :]


def in_f32(dst: View, region: Optional[Region]) -> Tuple[View, bool]:
    """Where a value is computed that is reduced before it is rounded: dst itself when it is f32."""
    if dst.dtype == dtypes.float32:
        return dst, False
    return result(shape_on_chip(dst), dtypes.float32), True


# -- scans and statistics --------------------------------------------------------------------------------------------


def emit_scan(dst: View, a: View, b: View, initial: Scalar, op0: str, op1: str, api: str, region: Optional[Region] = None,
              reverse0: bool = False, reverse1: bool = False) -> None:
    """r = op1(op0(a[i], r), b[i]), from initial on; dst[i] = r."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    check_pairs(op0, api, "op0")
    check_pairs(op1, api, "op1")
    x, y = spread(a, shape, api), spread(b, shape, api)
    if cuts_deep(region):
        dst, x, y = cut(dst, region, api), cut(x, region, api), cut(y, region, api)
        initial = cut(initial, region, api, True) if isinstance(initial, View) else initial
        region = None
    if region is not None:
        no_rest(region, api)
    d, done = flat_out(dst, api, region is not None)
    x, y = two_dims(x, api, "data0"), two_dims(y, api, "data1")
    flat = d.shape
    operands = {"dst": place(d, flat, region, api, "dst"), "a": place(x, flat, region, api, "data0"),
                "b": place(y, flat, region, api, "data1")}
    reals = {"initial": 0.0}
    if isinstance(initial, View):
        rows = None
        if region is not None:
            rows = Region((flat[0], 1))
            rows.starts[0], rows.counts[0], rows.bounds[0] = region.starts[0], region.counts[0], region.bounds[0]
        operands["initial"] = place(spread(initial, (flat[0], 1), api), (flat[0], 1), rows, api, "initial")
    else:
        reals["initial"] = number(initial, api)
    emit("tensor_tensor_scan", operands, api, {"reverse0": int(reverse0), "reverse1": int(reverse1)}, reals, {"op0": op0, "op1": op1})
    done()


def emit_bn_stats(dst: View, src: View, api: str, region: Optional[Region] = None) -> None:
    """dst[p] = count, mean, variance * count of the even elements, then of the odd ones."""
    src, dst, region = _cut_rows(src, dst, region, api)
    src, (d, done) = two_dims(src, api, "data"), flat_out(dst, api, region is not None)
    if src.shape[1] > 512:
        raise error(api, "data has %d elements per partition, at most 512; split it and combine with bn_aggr" % src.shape[1], NkiTypeError)
    if src.size == 0:
        raise error(api, "data has no elements: is a slice empty?", NkiTypeError)
    emit("bn_stats6", {"dst": place(d, (src.shape[0], 6), _row_region(region, (src.shape[0], 6), api), api, "dst"),
                       "src": place(src, src.shape, region, api, "data")}, api)
    done()


def emit_bn_aggr(dst: View, src: View, api: str, region: Optional[Region] = None) -> None:
    """dst[p] = mean, variance of groups of count, mean, variance * count."""
    src, dst, region = _cut_rows(src, dst, region, api)
    src, (d, done) = two_dims(src, api, "data"), flat_out(dst, api, region is not None)
    if src.shape[1] % 3 or not src.size:
        raise error(api, "data has %d elements per partition, expected groups of three (count, mean, variance * count)" % src.shape[1],
                    NkiTypeError)
    emit("bn_aggr", {"dst": place(d, (src.shape[0], 2), _row_region(region, (src.shape[0], 2), api), api, "dst"),
                     "src": place(src, src.shape, region, api, "data")}, api)
    done()


def emit_partition_reduce(dst: View, op: str, src: View, api: str) -> None:
    """dst[0, ...] = reduction of src over its partitions."""
    shape = shape_on_chip(src)
    s = place(src, shape, None, api, "data")
    from ._record import Operand

    order = list(range(1, len(shape))) + [0]
    source = Operand(s.object, s.dtype, s.offset, ((0, 1),) + tuple(s.dims[k] for k in order))
    d = place(dst, (1,) + shape[1:], None, api, "dst")
    emit("tensor_reduce", {"dst": d, "src": source}, api, {"axes": 1, "negate": 0}, {}, {"op": "add" if op == "average" else op})
    if op == "average":
        emit_scalars(dst, dst, [("mul", 1.0 / shape[0], False)], api)


# -- searches --------------------------------------------------------------------------------------------------------


def _rows(x: View, api: str, what: str) -> View:
    return two_dims(as_tile(x, api, what), api, what)


def _check_eight(x: View, p: int, api: str, what: str) -> None:
    if x.shape != (p, 8):
        raise error(api, "%s has shape %s, expected (%d, 8)" % (what, x.shape, p), NkiTypeError)


def eight(x: View, p: int, api: str, what: str) -> View:
    x = two_dims(as_tile(x, api, what), api, what)
    _check_eight(x, p, api, what)
    return x


def eight_out(x: View, p: int, api: str, what: str, keep: bool) -> Tuple[View, Callable[[], None]]:
    """As eight, of a destination: see flat_out."""
    flat, done = flat_out(as_tile(x, api, what), api, keep)
    _check_eight(flat, p, api, what)
    return flat, done


def cuts_deep(region: Optional[Region]) -> bool:
    """Whether a region cuts tiles of more than two dims, whose rows are then no longer rows of the region."""
    return region is not None and not region.trivial and len(region.shape) > 2


def no_rest(region: Region, api: str) -> None:
    if region.rest:
        raise error(api, "a mask whose comparison has several axes, or `|`, does not cut whole rows; select the elements first "
                    "(nisa.affine_select)", NkiTypeError)


def cut(view: View, region: Region, api: str, rows: bool = False) -> View:
    """The rectangle of a tile that a region covers; rows: its partitions only."""
    no_rest(region, api)
    for b in region.bounds:
        if isinstance(b, Expr):
            b.__index__()  # asks for the loop to be unrolled
    if rows:
        view = two_dims(view, api, "operand")
        dims, axes = list(view.dims), 1
    else:
        dims, axes = aligned(view, region.shape, api), len(region.shape)
    offset: Any = view.offset
    for k in range(axes):
        offset = offset + region.starts[k] * dims[k][0]
        dims[k] = (dims[k][0], region.counts[k])
    return view.like(offset, dims, 0)


def cut_free(view: View, region: Region, api: str) -> View:
    """A tile of one partition, its free dims cut to those of a region."""
    inner = Region(shape_on_chip(view))
    inner.starts[1:], inner.counts[1:], inner.bounds[1:] = region.starts[1:], region.counts[1:], region.bounds[1:]
    inner.rest = region.rest
    return cut(view, inner, api)


def _cut_rows(src: View, dst: View, region: Optional[Region], api: str) -> Tuple[View, View, Optional[Region]]:
    """Source and destination of an instruction of whole rows, with the region that remains."""
    if not cuts_deep(region):
        return src, dst, region
    assert region is not None
    return cut(src, region, api), cut(dst, region, api, True), None


def emit_max8(dst: View, src: View, api: str, region: Optional[Region] = None) -> None:
    if region is not None and region.empty:
        return
    src = as_tile(src, api, "src")
    if region is not None and region.rest:  # elements outside count as smaller than all
        inside = result(shape_on_chip(src), src.dtype)
        emit_fill(inside, FLOAT_MIN, api)
        emit_copy(inside, src, api, region)
        src, region = inside, None
    src, dst, region = _cut_rows(src, dst, region, api)
    src = _rows(src, api, "src")
    d, done = eight_out(dst, src.shape[0], api, "dst", region is not None)
    emit("max8", {"dst": place(d, d.shape, _row_region(region, d.shape, api), api, "dst"), "src": place(src, src.shape, region, api, "src")}, api)
    done()


def whole_rows(region: Optional[Region]) -> Optional[Region]:
    """For instructions that look at whole rows: the rows' lengths must be numbers."""
    if region is not None:
        for b in region.bounds[1:]:
            if isinstance(b, Expr):
                b.__index__()  # asks for the loop to be unrolled
    return region


def _row_region(region: Optional[Region], shape: Shape, api: str) -> Optional[Region]:
    if region is None:
        return None
    whole_rows(region)
    no_rest(region, api)
    r = Region(shape)
    r.starts[0], r.counts[0], r.bounds[0] = region.starts[0], region.counts[0], region.bounds[0]
    return r


def emit_find_index8(dst: View, data: View, vals: View, api: str, region: Optional[Region] = None) -> None:
    if region is not None and region.empty:
        return
    whole = region
    data, dst, region = _cut_rows(as_tile(data, api, "data"), dst, region, api)
    if region is not whole:
        vals = cut(vals, whole, api, True)  # type: ignore[arg-type]
    data = _rows(data, api, "data")
    p = data.shape[0]
    v, (d, done) = eight(vals, p, api, "vals"), eight_out(dst, p, api, "dst", region is not None)
    rows = _row_region(region, (p, 8), api)
    emit("find_index8", {"dst": place(d, (p, 8), rows, api, "dst"), "src": place(data, data.shape, region, api, "data"),
                         "vals": place(v, (p, 8), rows, api, "vals")}, api)
    done()


def emit_match_replace8(dst: View, data: View, vals: View, imm: float, index: Optional[View], api: str,
                        region: Optional[Region] = None) -> None:
    if region is not None and region.empty:
        return
    if cuts_deep(region):
        dst, data, vals = cut(dst, region, api), cut(as_tile(data, api, "data"), region, api), cut(vals, region, api, True)
        index = cut(index, region, api, True) if index is not None else None
        region = None
    data = _rows(data, api, "data")
    p = data.shape[0]
    v, (d, done) = eight(vals, p, api, "vals"), flat_out(dst, api, region is not None)
    rows = _row_region(region, (p, 8), api)
    operands = {"dst": place(d, data.shape, region, api, "dst"), "src": place(data, data.shape, region, api, "data"),
                "vals": place(v, (p, 8), rows, api, "vals")}
    if index is not None:
        places, index_done = eight_out(index, p, api, "dst_idx", region is not None)
        operands["index"] = place(places, (p, 8), rows, api, "dst_idx")
    emit("match_replace8", operands, api, {}, {"imm": imm})
    done()
    if index is not None:
        index_done()


_PIECE = 2048  # columns that are counted at a time: a row of its own for each step would leave long rows no room


def emit_nonzero(dst: View, src: View, first: Any, padding: Any, api: str) -> None:
    """In each 16th partition: dst[:n] = first + the places of the n elements of src that are not 0, dst[n:-1] = padding, dst[-1] = n."""
    s, (d, done) = two_dims(src, api, "src"), flat_out(dst, api, True)
    p, n = s.shape
    if d.shape != (p, n + 1):
        raise error(api, "dst has shape %s, expected %s: a place for each element of src, and their number" % (dst.shape, (p, n + 1)),
                    NkiTypeError)
    for q in range(0, p, 16):
        out, count = result((1, n + 1), d.dtype), result((1, 1), dtypes.float32)  # engines do not begin at partition 16
        emit_fill(out, float(padding), api)
        emit_fill(count, 0.0, api)
        for start in range(0, n, _PIECE):
            columns = slice(start, min(start + _PIECE, n))
            _emit_places(out, s[q:q + 1, columns], count, start, first, api)
        emit_copy(out[:, n:n + 1], count, api)
        emit_dma(d[q:q + 1, :], out, api)
    done()


def _emit_places(out: View, src: View, count: View, start: int, first: Any, api: str) -> None:
    """Of columns from `start` on. Their running count is where each goes; the others go where the count comes in the end."""
    m, n, f32, i32 = src.shape[1], out.shape[1] - 1, dtypes.float32, dtypes.int32
    row, flags, zero, counts, places = result((1, m), src.dtype), *(result((1, m), f32) for _ in range(4))
    emit_dma(row, src, api)
    emit_scalars(flags, row, [("ne", 0.0, False)], api)
    emit_fill(zero, 0.0, api)
    emit_scan(counts, flags, zero, count, "add", "add", api)
    emit_copy(count, counts[:, m - 1:m], api)
    emit_scalars(places, counts, [("sub", float(n + 1), False)], api)  # n, and (count - 1) - n more where there is one
    emit_binary(places, "mul", places, flags, api)
    at, values = result((1, m), i32), result((1, m), i32)
    emit_scalars(at, places, [("add", float(n), False)], api)
    emit_iota(values, Expr((1, m), start, (), (0, 1)) + (first if not isinstance(first, View) else 0), api)  # type: ignore[arg-type]
    if isinstance(first, View):
        emit_scalars(values, values, [("add", first, False)], api)
    to = out.like(out.offset, [out.dims[0], (0, m)])
    to.index = (1, out.dims[1][0], at, n + 1)
    emit_dma(to, values, api)


# -- gathers and shuffles --------------------------------------------------------------------------------------------


def emit_gather(dst: View, src: View, index: View, api: str, region: Optional[Region] = None) -> None:
    """dst[p, i] = src[p, index[p, i]], free dims flattened."""
    if region is not None and region.empty:
        return
    whole_rows(region)
    if cuts_deep(region):
        dst, index, src, region = cut(dst, region, api), cut(index, region, api), cut(src, region, api, True), None
    s, (d, done), x = two_dims(src, api, "data"), flat_out(dst, api, region is not None), two_dims(index, api, "indices")
    rows = None
    if region is not None:  # of the source the same partitions, all elements
        rows = Region(s.shape)
        rows.starts[0], rows.counts[0], rows.bounds[0] = region.starts[0], region.counts[0], region.bounds[0]
    emit("gather", {"dst": place(d, x.shape, region, api, "dst"), "src": place(s, s.shape, rows, api, "data"),
                    "index": place(x, x.shape, region, api, "indices")}, api)
    done()


def emit_local_gather(dst: View, src: View, index: View, per: int, valid: Optional[int], api: str) -> None:
    """8 cores of 16 partitions: the core's indices, partition by partition, choose runs of `per` elements of each partition."""
    s, x = two_dims(src, api, "src_buffer"), two_dims(index, api, "index")
    if x.dtype != dtypes.uint16:
        raise error(api, "index is %s, expected uint16: load it with dtype=nl.uint16" % x.dtype, NkiTypeError)
    if per not in (1, 2, 4, 8, 16, 32):
        raise error(api, "num_elem_per_idx is %d, expected 1, 2, 4, 8, 16 or 32" % per, NkiTypeError)
    count = x.shape[1] * 16 if valid is None else valid
    d, done = flat_out(dst, api)
    if d.shape[1:] != (count * per,):
        raise error(api, "dst has %d elements in each partition, expected %d: the %d indices of a core's 16 partitions choose %d each" %
                    (d.shape[1], count * per, count, per), NkiTypeError)
    emit("local_gather", {"dst": place(d, d.shape, None, api, "dst"), "src": place(s, s.shape, None, api, "src_buffer"),
                          "index": place(x, x.shape, None, api, "index")}, api, {"per": per, "valid": count})
    done()


def indirect(src: View, index: View, n: Optional[int]) -> View:
    """src.indirect(index, n): a tile that is filled wherever it is read."""
    api, rows = "indirect", 16
    if not src.on_chip or not isinstance(index, View) or index.object.space != "sbuf":
        raise error(api, "expected columns of a tile in SBUF or PSUM by offsets in SBUF; rows of a tensor in HBM: .vector_select() or "
                    ".ap(vector_offset=)", NkiTypeError)
    if src.is_indirect():
        raise error(api, "the tile is seen through an index already; copy it first", NkiTypeError)
    if src.shape[0] != index.shape[0] or src.shape[0] % rows:
        raise error(api, "%d partitions and offsets in %d, expected as many, a multiple of %d" % (src.shape[0], index.shape[0], rows), NkiTypeError)
    most = rows * math.prod(index.shape[1:])
    n = most if n is None else n
    if not 0 < n <= most:
        raise error(api, "num_elem is %d, expected 1 to %d: each %d partitions have %d offsets" % (n, most, rows, most), NkiTypeError)
    out = result((src.shape[0], n), src.dtype)
    out.object.gather = lambda: emit_local_gather(out, src, index, 1, n, api)
    return out


hooks["indirect"] = indirect


def emit_shuffle(dst: View, src: View, mask: Sequence[Any], api: str) -> None:
    """Within each 32 partitions: dst[q * 32 + i] = src[q * 32 + mask[i]]; 255 leaves dst[q * 32 + i]."""
    m = [int(i) for i in mask]
    if len(m) != 32:
        raise error(api, "shuffle_mask has %d entries, expected 32" % len(m), NkiTypeError)
    if src.dtype != dst.dtype:
        raise error(api, "src is %s and dst %s, expected one type: elements are moved as they are" % (src.dtype, dst.dtype), NkiTypeError)
    s, (d, done) = two_dims(src, api, "src"), flat_out(dst, api, 255 in m)
    p = d.shape[0]
    if p == s.shape[0] and p % 32 == 0 and s.object is not d.object:
        numbers: Dict[str, Any] = {}
        for k in range(7):
            numbers["mask%d" % k] = sum(row << (8 * b) for b, row in enumerate(m[5 * k:5 * k + 5]))
        emit("nc_stream_shuffle", {"dst": place(d, d.shape, None, api, "dst"), "src": place(s, d.shape, None, api, "src")}, api, numbers)
        done()
        return
    if d.object.space == "psum" and need_trace(api).target != "cpu":  # where transfers do not reach it
        t = on_sbuf(d) if 255 in m else result(d.shape, d.dtype)
        emit_shuffle(t, s, m, api)
        emit_copy(d, t, api)
        done()
        return
    s = on_sbuf(s)
    if s.object is d.object:  # shuffled in place: from a copy
        t = result(s.shape, s.dtype)
        emit_copy(t, s, api)
        s = t
    for q in range(0, p, 32):
        i = 0
        while i < 32 and q + i < p:
            if m[i] == 255:
                i += 1
                continue
            if s.shape[0] == 1 and m[i] != 0 or q + m[i] >= s.shape[0] > 1:
                if q + m[i] >= s.shape[0]:
                    i += 1
                    continue
            j = i + 1
            step = m[j] - m[i] if j < 32 and m[j] != 255 else 0
            while j < 32 and q + j < p and m[j] != 255 and m[j] - m[j - 1] == step and step in (0, 1):
                j += 1
            first = (q + m[i]) if s.shape[0] > 1 else 0
            rows = s.like(s.offset + first * s.dims[0][0], [(s.dims[0][0] * step if j - i > 1 else 0, j - i), s.dims[1]], 0)
            target = d.like(d.offset + (q + i) * d.dims[0][0], [(d.dims[0][0], j - i), d.dims[1]], 0)
            emit_dma(target, rows, api)
            i = j
    done()


def emit_sequence_bounds(dst: View, ids: View, api: str) -> None:
    s, (d, done) = two_dims(ids, api, "segment_ids"), flat_out(dst, api)
    if s.shape[0] != 1:
        raise error(api, "segment_ids has %d partitions, expected 1: all ids lie in one row" % s.shape[0], NkiTypeError)
    n = s.shape[1]
    if d.shape != (s.shape[0], 2 * n):
        raise error(api, "dst has shape %s, expected (%d, 2, %d)" % (dst.shape, s.shape[0], n), NkiTypeError)
    emit("sequence_bounds", {"dst": place(d, d.shape, None, api, "dst"), "src": place(s, s.shape, None, api, "segment_ids")}, api)
    done()


def emit_cumulative(dst: View, src: View, op0: str, op1: str, imm0: Scalar, imm1: Scalar, command: Optional[str], api: str,
                    reverse0: bool = False) -> None:
    """r = op1(op0(src[i], imm0), r), dst[i] = r, along rows. load_reduce starts from imm1, reduce from where the last one ended."""
    if op1 not in ("add", "sub", "mul", "max", "min"):
        raise error(api, "op1 is '%s', expected add, subtract, multiply, maximum or minimum" % op1, NkiTypeError)
    s, (d, done) = two_dims(src, api, "src"), flat_out(dst, api)
    p, n = s.shape
    rows = register("dve", p, api)
    check_pairs(op0, api, "op0")
    for what, imm in ("imm0", imm0), ("imm1", imm1):
        if isinstance(imm, View):
            vector(imm, (p, n), api, what)
    operand = imm0 if isinstance(imm0, View) else result((p, 1), dtypes.float32)
    if not isinstance(imm0, View):
        emit_fill(operand, number(imm0, api), api)
    command = command or "reset_reduce"
    start: Scalar = rows
    if command in ("reset_reduce", "idle"):
        start = {"add": 0.0, "sub": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}.get(op1, 0.0)
    elif command == "load_reduce":
        start = imm1
    operands = {"dst": place(d, (p, n), None, api, "dst"), "a": place(s, (p, n), None, api, "src"),
                "b": place(spread(operand, (p, n), api), (p, n), None, api, "imm0")}
    reals = {"initial": 0.0}
    if isinstance(start, View):
        operands["initial"] = place(start, (p, 1), None, api, "imm1")
    else:
        reals["initial"] = number(start or 0.0, api)
    operands["last"] = place(rows, (p, 1), None, api)
    emit("tensor_tensor_scan", operands, api, {"reverse0": int(reverse0), "reverse1": 0, "cumulative": 1}, reals, {"op0": op0, "op1": op1})
    done()
