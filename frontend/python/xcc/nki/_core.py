"""From views to instructions: what all instruction families share.

Functions named emit_* write a destination that is given; result() makes one. A region (see _mask.py) restricts all operands of an
instruction alike; results of masked instructions remember it, so that a later assignment copies that part only.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import dtypes
from ._errors import NkiIndexError, NkiTypeError, error, shape_error, warn
from ._index import Expr, Mask
from ._mask import Region, region_of
from ._races import WRITTEN
from ._record import Dim, Instruction, Number, Object, Operand
from ._tensor import Dynamic, View, hooks, merge_dims, split_dims
from ._trace import need_trace

Shape = Tuple[int, ...]


def shape_on_chip(view: View) -> Shape:
    """The shape with the partition dim first."""
    b = view.blocks
    s = view.shape
    return s if not b else (s[b],) + s[:b] + s[b + 1:]


def aligned(view: View, shape: Shape, api: str, what: str = "operand") -> List[Dim]:
    """The view's dims, one for each of `shape`; step 0 where it is broadcast."""
    b = view.blocks
    dims = list(view.dims) if not b else [view.dims[b]] + list(view.dims[:b]) + list(view.dims[b + 1:])
    if view.on_chip and len(shape) > len(dims):
        dims = dims[:1] + [(0, 1)] * (len(shape) - len(dims)) + dims[1:]
    while len(dims) < len(shape):
        dims.insert(0, (0, 1))
    while len(dims) > len(shape):
        unit = next((k for k, (_, c) in enumerate(dims) if c == 1), None)
        if unit is None:
            break
        dims.pop(unit)
    ok = len(dims) == len(shape) and all(c == n or c == 1 for (_, c), n in zip(dims, shape))
    if not ok:
        raise shape_error(api, what, view.shape, shape)
    return [(s, c) if c == n else (0, n) for (s, c), n in zip(dims, shape)]


def place(view: View, shape: Shape, region: Optional[Region], api: str, what: str = "operand") -> Operand:
    """The access pattern of a view seen as `shape`, in a region of that shape."""
    if view.factor_mask is not None:
        raise error(api, "%s is indexed by a condition, x[mask]; only factors of nl.matmul and nisa.nc_matmul are, others take mask=" % what,
                    NkiIndexError)
    if view.outside and (region is None or region.trivial):
        dim, lo, hi, size = view.outside
        raise error(api, "index %d is out of bounds for axis %d with size %d; cut what lies beyond by mask=(index < %d)" %
                    (lo if lo < 0 else hi, dim, size, size), NkiIndexError)
    dims = aligned(view, shape, api, what)
    offset: Any = view.offset
    clips: List[Tuple[int, Number]] = []
    if region is not None and not region.trivial:
        for k in range(len(shape)):
            if region.starts[k]:
                offset = offset + region.starts[k] * dims[k][0]
            dims[k] = (dims[k][0], region.counts[k])
            bound = region.bounds[k]
            if bound is not None:
                clips.append((k, bound))
    if isinstance(offset, Expr):
        offset = offset.resolved()._simple()
    index = None
    if view.index is not None:
        axis, step, tile, limit = view.index
        axis += len(shape) - view.ndim if view.ndim <= len(shape) and not view.on_chip else 0
        inner = Region((shape[axis],))
        if region is not None:
            inner.starts[0], inner.counts[0], inner.bounds[0] = region.starts[axis], region.counts[axis], region.bounds[axis]
        flat = tile.like(tile.offset, [d for d in tile.dims if d[1] > 1] or [(1, 1)])
        index = (axis, step, Operand(flat.object, flat.dtype, flat.offset + inner.starts[0] * flat.dims[0][0],
                                     ((flat.dims[0][0], inner.counts[0]),),
                                     ((0, inner.bounds[0]),) if inner.bounds[0] is not None else ()), limit)
    elif view.scalar_index is not None:
        step, tile, limit = view.scalar_index
        index = (-1, step, Operand(tile.object, tile.dtype, tile.offset, ((1, 1),)), limit)
    o = Operand(view.object, view.dtype, offset, tuple(dims), tuple(clips), index)
    o.cut = region is not None and len(shape) > 0 and region.starts[0] > 0
    o.what = "" if what == "operand" else what
    return o


def result(shape: Sequence[int], dtype: object, space: str = "sbuf", name: Optional[str] = None) -> View:
    """A new tile for a result."""
    v = need_trace("result").tile(space, shape, dtypes.to_dtype(dtype), name)
    v.object.is_result = True
    return v


def emit(name: str, operands: Dict[str, Operand], api: Optional[str] = None, numbers: Optional[Dict[str, Any]] = None,
         reals: Optional[Dict[str, float]] = None, functions: Optional[Dict[str, str]] = None,
         engine: Optional[str] = None) -> Instruction:
    t = need_trace(api or name)
    _gather_indirect(name, operands, api or name)
    _check_memories(name, operands, api or name)
    _check_partitions(name, operands, api or name)
    if name in _ELEMENTWISE:
        _write_once(operands)
    for k, v in (numbers or {}).items():
        if isinstance(v, Expr):
            numbers[k] = v.resolved()._simple()  # type: ignore[index]
    return t.emit(Instruction(name, operands, numbers, reals, functions, engine), api)


def _gather_indirect(name: str, operands: Dict[str, Operand], api: str) -> None:
    """What .indirect() has chosen of a tile is read when the instruction is."""
    for what, o in operands.items():
        gather = o.object.gather
        if gather is None:
            continue
        if what in WRITTEN and not (what == "index" and name.endswith("gather")):
            raise error(api, "%s is written through .indirect(), which is supported for operands that are read: write to a tile, and scatter by "
                        "nisa.dma_copy with vector_offset" % what, NkiTypeError)
        if name == "nc_matmul":
            raise error(api, "%s is read through .indirect(): the Tensor engine takes offsets of 32 partitions, the others of 16, which are "
                        "supported; copy it to a tile by nisa.tensor_copy first" % what, NkiTypeError)
        o.object.gather = None
        gather()
        o.object.gather = gather


_WHICH = {"a": "first ", "b": "second ", "src": ""}  # of an instruction's operands, in the order of the interfaces
_BY_DMA = ("dma_copy", "nc_matmul")  # the first is free to repeat partitions, the second has patterns of its own


def _check_memories(name: str, operands: Dict[str, Operand], api: str) -> None:
    """Engines reach the chip's memories, DMA all."""
    if name == "dma_copy" or api == "assignment":  # which warns
        return
    for what, o in operands.items():
        if o.object.space == "hbm":
            raise error(api, "%s is a tensor in HBM, which engines do not reach: %s" % (what, "write to a tile (buffer=nl.sbuf), which nl.store or "
                        "nisa.dma_copy stores" if what == "dst" else "load it first (nl.load, nisa.dma_copy)"), NkiTypeError)


_ELEMENTWISE = ("tensor_copy", "tensor_tensor", "tensor_scalar", "activation", "select", "memset", "dma_copy")


def _write_once(operands: Dict[str, Operand]) -> None:
    """A free axis along which no operand moves (an index array that is broadcast, and no element's index) is one of a single element."""
    dst = operands["dst"]
    for k, (step, count) in enumerate(dst.dims):
        if k and step == 0 and count > 1 and all(len(o.dims) == len(dst.dims) and o.dims[k][0] == 0 and o.index is None and not o.clips
                                                 for o in operands.values()):
            for o in set(operands.values()):
                o.dims = o.dims[:k] + ((0, 1),) + o.dims[k + 1:]


def _check_partitions(name: str, operands: Dict[str, Operand], api: str) -> None:
    """An engine reads the partitions that it writes: it repeats none."""
    if name in _BY_DMA:
        return
    for what, o in operands.items():
        step, count = o.dims[0] if o.dims else (1, 1)
        if step == 0 and count > 1 and o.object.space != "hbm" and o.index is None:
            raise error(api, "the %soperand has 1 partition, the result has %d; engines do not repeat partitions: use x.broadcast_to((%d, ...)), or "
                        "nl.add, nl.multiply and the like, which do that by a copy" % (_WHICH.get(what, what + " "), count, count), NkiTypeError)


def as_tile(x: object, api: str, what: str) -> View:
    """An operand that must be on the chip."""
    if isinstance(x, Dynamic):
        return x.value()
    if not isinstance(x, View):
        need_trace(api)
        hint = "; is it the operation? The order of arguments differs between instructions: name them, %s=tile, op=..." % what if callable(x) else ""
        raise error(api, "%s is %s, expected a tile%s" % (what, getattr(x, "__name__", type(x).__name__), hint), NkiTypeError)
    if not x.on_chip:
        raise error(api, "%s is a tensor in HBM; load it first (nl.load)" % what, NkiTypeError)
    return x


def is_number(x: object) -> bool:
    return isinstance(x, (int, float, np.generic, Expr)) or (isinstance(x, np.ndarray) and x.size == 1)


def number(x: object, api: str) -> float:
    if isinstance(x, Expr):
        return x.__index__()
    if not is_number(x) or isinstance(x, (complex, np.complexfloating)):
        what = "an array of shape %s" % (x.shape,) if isinstance(x, np.ndarray) else getattr(x, "__name__", None) or repr(x)
        raise error(api, "%s is given where a number is expected%s" % (
            what, "; pass it to the kernel as an argument, and load it" if isinstance(x, np.ndarray) else ""), NkiTypeError)
    return float(x.reshape(-1)[0] if isinstance(x, np.ndarray) else x)  # type: ignore[arg-type]


# -- copies ----------------------------------------------------------------------------------------------------------


def emit_fill(dst: View, value: float, api: str = "memset", region: Optional[Region] = None, engine: Optional[str] = None) -> None:
    shape = shape_on_chip(dst) if dst.on_chip else dst.shape
    if region is not None and region.empty:
        return
    emit("memset", {"dst": place(dst, shape, region, api, "dst")}, api, reals={"value": value}, engine=engine)


def emit_copy(dst: View, src: View, api: str = "tensor_copy", region: Optional[Region] = None, engine: Optional[str] = None) -> None:
    """dst = src between tiles, converting."""
    shape = shape_on_chip(dst)
    if region is not None and region.empty:
        return
    if region is not None and region.rest:
        emit_select(dst, region, src, api)
        return
    emit("tensor_copy", {"dst": place(dst, shape, region, api, "dst"), "src": place(src, shape, region, api, "src")}, api, engine=engine)


def predicate_tile(region: Region, shape: Shape) -> View:
    """u8: where what remains of a region's mask holds."""
    out: Optional[View] = None
    for m in region.rest:
        t = _predicate(m, shape)
        if out is None:
            out = t
        else:
            emit("tensor_tensor", {"dst": place(out, shape, None, "mask"), "a": place(out, shape, None, "mask"),
                                   "b": place(t, shape, None, "mask")}, "mask", functions={"op": "min"})
    assert out is not None
    return out


def _predicate(m: Mask, shape: Shape) -> View:
    out = result(shape, dtypes.uint8)
    if m.expr is not None:
        index = result(shape, dtypes.int32)
        emit_iota(index, m.expr, "mask")
        emit("tensor_scalar", {"dst": place(out, shape, None, "mask"), "src": place(index, shape, None, "mask")}, "mask",
             reals={"scalar0": 0.0, "scalar1": 0.0}, functions={"op0": m.kind, "op1": "identity"})
        return out
    parts = [_predicate(p, shape) for p in m.parts]
    for p in parts[1:]:
        emit("tensor_tensor", {"dst": place(parts[0], shape, None, "mask"), "a": place(parts[0], shape, None, "mask"),
                               "b": place(p, shape, None, "mask")}, "mask", functions={"op": "min" if m.kind == "and" else "max"})
    return parts[0]


def emit_select(dst: View, region: Region, src: Union[View, float], api: str) -> None:
    """dst = src where the region's remaining mask holds, within its rectangle."""
    shape = shape_on_chip(dst)
    p = predicate_tile(region, shape)
    whole = Region(shape)
    whole.starts, whole.counts, whole.bounds = region.starts, region.counts, region.bounds
    if not isinstance(src, View):
        tile = result(shape, dst.dtype)
        emit_fill(tile, src, api)
        src = tile
    d = place(dst, shape, whole, api, "dst")
    emit("select", {"dst": d, "predicate": place(p, shape, whole, api), "a": place(src, shape, whole, api, "src"), "b": d}, api)


def emit_iota(dst: View, e: Expr, api: str) -> None:
    """dst = the expression's values."""
    shape = shape_on_chip(dst)
    e = e.resolved()
    steps = (0,) * (len(shape) - len(e.steps)) + e.steps
    numbers: Dict[str, Any] = {"base": Expr((), e.base, e.terms, ())._simple()}
    for k, s in enumerate(steps):
        numbers["step%d" % k] = s if shape[k] > 1 else 0
    emit("iota", {"dst": place(dst, shape, None, api, "dst")}, api, numbers=numbers)


# -- DMA -------------------------------------------------------------------------------------------------------------


def _squeezed(dims: Sequence[Dim]) -> List[Dim]:
    return [d for d in dims if d[1] != 1]


def match_shapes(dst: View, src: View, api: str) -> Tuple[View, View, Shape]:
    """Two views of a copy under one shape: equal shapes, or shapes that differ by dims of size 1, or by a reshape of one."""
    if dst.blocks or src.blocks:
        dst = _partition_first(dst)
        src = _partition_first(src)
    if dst.shape == src.shape:
        return dst, src, dst.shape
    if tuple(c for _, c in _squeezed(dst.dims)) == tuple(c for _, c in _squeezed(src.dims)) and all(
            v.index is None or v.dims[v.index[0]][1] != 1 for v in (dst, src)):
        shape = dst.shape if dst.on_chip or not src.on_chip else src.shape
        return _reseen(dst, shape), _reseen(src, shape), shape
    if src.size == dst.size and dst.index is None and src.index is None:
        for a, b, swap in ((src, dst, False), (dst, src, True)):
            dims = split_dims(a.dims, b.shape)
            if dims is not None:
                v = a.like(a.offset, dims)
                return (dst, v, dst.shape) if not swap else (v, src, src.shape)
        common = _common_dims(dst, src)
        if common is not None:
            return common
    if src.size < dst.size or src.ndim < dst.ndim:
        aligned(src, dst.shape, api, "src")  # broadcasts, or fails with both shapes
        return dst, src, dst.shape
    raise shape_error(api, "src", src.shape, dst.shape, ", as dst has")


def _partition_first(v: View) -> View:
    b = v.blocks
    return v if not b else v.like(v.offset, [v.dims[b]] + list(v.dims[:b]) + list(v.dims[b + 1:]), 0)


def _reseen(v: View, shape: Shape) -> View:
    live = iter(_squeezed(v.dims))
    seen = v.like(v.offset, [(0, 1) if n == 1 else next(live) for n in shape], 0)
    if v.index is not None:  # the axis whose places a tile tells, among those of more than one element
        axis = len(_squeezed(v.dims[:v.index[0]]))
        seen.index = ([k for k, n in enumerate(shape) if n != 1][axis],) + v.index[1:]
    return seen


def _common_dims(dst: View, src: View) -> Optional[Tuple[View, View, Shape]]:
    """Both views cut into dims fine enough for both."""
    a, b = merge_dims(dst.dims), merge_dims(src.dims)
    da: List[Dim] = []
    db: List[Dim] = []
    while a and b:
        (sa, ca), (sb, cb) = a.pop(), b.pop()
        n = min(ca, cb)
        if ca % n or cb % n:
            return None
        da.insert(0, (sa, n))
        db.insert(0, (sb, n))
        if ca > n:
            a.append((sa * n, ca // n))
        if cb > n:
            b.append((sb * n, cb // n))
    if a or b:
        return None
    return dst.like(dst.offset, da, 0), src.like(src.offset, db, 0), tuple(c for _, c in da)


def _as_stored(dst: View, src: View, masked: bool) -> Tuple[View, View]:
    """A copy of elements that are wider than those a tensor in HBM has, as one of the tensor's own elements."""
    for v in (dst, src):
        if not v.on_chip and v.dtype.itemsize > v.object.dtype.itemsize and dst.dtype == src.dtype and not dst.is_indirect() \
                and not src.is_indirect() and dst.shape == src.shape:
            if dst.dims[-1][0] == 1 and src.dims[-1][0] == 1:
                return dst.view(v.object.dtype), src.view(v.object.dtype)
            if masked:
                break
            return _in_parts(dst, v.object.dtype), _in_parts(src, v.object.dtype)
    return dst, src


def _in_parts(v: View, d: np.dtype) -> View:
    """The same bytes as a narrower type, in a dim of their own: elements that do not follow each other."""
    k = v.itemsize // d.itemsize
    return View(v.object, d, v.offset * k, tuple((s * k, c) for s, c in v.dims) + ((1, k),), v.blocks)


# What a kernel's author knows to be a transfer: of tiles in PSUM these are errors.
_TRANSFERS = ("dma_copy", "dma_compute", "dma_transpose", "nl.load", "nl.load_transpose2d", "nl.store", "nl.atomic_rmw", "assignment", "return")


def emit_dma(dst: View, src: View, api: str = "dma_copy", mask: object = None, accumulate: Optional[str] = None,
             skip: bool = False) -> None:
    """dst = src (or += with accumulate "add"), converting; rows chosen by index tiles."""
    if mask is not None and dst.shape != src.shape and not (src.shape == () or dst.shape == ()):
        m = Mask.of(mask)
        longer = max((dst, src), key=lambda v: v.ndim)
        if m is not None and m.shape and len(m.shape) > longer.ndim:
            pass
    dst, src = _as_stored(dst, src, mask is not None)
    dst, src, shape = match_shapes(dst, src, api)
    if not shape:
        shape = (1,)
        dst, src = dst.like(dst.offset, [(1, 1)]), src.like(src.offset, [(1, 1)])
    region = region_of(mask, shape)
    if region.empty:
        return
    if api not in _TRANSFERS and "psum" in (dst.object.space, src.object.space) and need_trace(api).target != "cpu":
        _by_way_of_sbuf(dst, src, api, region)
        return
    if region.rest:
        if not dst.outside and not src.outside and dst.on_chip and accumulate is None:
            temporary = result(shape, dst.dtype)
            emit_dma(temporary, src, api)
            emit_copy(dst, temporary, api, region)
            return
        _split_dma(dst, src, shape, region, api, accumulate, skip)
        return
    numbers: Dict[str, Any] = {}
    if accumulate is not None:
        numbers["accumulate"] = 1
    if skip:
        numbers["skip"] = 1
    operands = {"dst": place(dst, shape, region, api, "dst"), "src": place(src, shape, region, api, "src")}
    emit("dma_copy", operands, api, numbers=numbers)


def _by_way_of_sbuf(dst: View, src: View, api: str, region: Region) -> None:
    """A transfer that is part of another instruction, of tiles in PSUM, which DMA does not reach."""
    if src.object.space == "psum":
        once = src.like(src.offset, [(step, n if step else 1) for step, n in src.dims], 0)  # what is repeated is copied once
        held = result(once.shape, src.dtype)
        emit_copy(held, once, api)
        src = held.like(held.offset, [(at if step else 0, n) for (at, _), (step, n) in zip(held.dims, src.dims)], 0)
    if dst.object.space != "psum":
        emit_dma(dst, src, api, region.source)
        return
    moved = result(shape_on_chip(dst), dst.dtype)
    emit_dma(moved, src, api)
    emit_copy(dst, moved, api, region)


def _split_dma(dst: View, src: View, shape: Shape, region: Region, api: str, accumulate: Optional[str], skip: bool) -> None:
    """One copy for each index of an axis of the mask that remains: with it fixed, masks cut one axis."""
    source = region.source
    axis = next(k for m in region.rest for e in m.exprs() for k, s in enumerate(e.steps, len(shape) - len(e.steps)) if s)
    for i in range(region.starts[axis], region.starts[axis] + region.counts[axis]):
        def fixed(v: View) -> View:
            dims = aligned(v, shape, api)
            r = v.like(v.offset + i * dims[axis][0], dims[:axis] + [(0, 1)] + dims[axis + 1:], 0)
            return r
        m = _fix(source, axis - len(shape), i)  # type: ignore[arg-type]
        emit_dma(fixed(dst), fixed(src), api, m, accumulate, skip)


def _fix(m: Mask, axis: int, i: int) -> Mask:
    """The mask with one axis (counted from the last, -1) at a value."""
    if m.expr is None:
        return Mask(m.kind, None, tuple(_fix(p, axis, i) for p in m.parts))
    e = m.expr
    if -axis > len(e.shape) or e.shape[axis] == 1:
        return m
    k = len(e.shape) + axis
    return Mask(m.kind, Expr(e.shape[:k] + (1,) + e.shape[k + 1:], e.base + i * e.steps[k], e.terms, e.steps[:k] + (0,) + e.steps[k + 1:]))


# -- what Python's operators on views do -----------------------------------------------------------------------------


class LoopReduce:
    """nl.loop_reduce(x, op, ...): assigned to d it means d = op(d, x). What nothing wrote before begins with op's neutral element (_finish.py)."""

    def __init__(self, value: View, op: str, region: Optional[Region]):
        self.value = value
        self.op = op
        self.region = region


def same_place(a: View, b: View) -> bool:
    if a.object is not b.object or a.dims != b.dims or a.dtype != b.dtype or a.index is not b.index:
        return False
    d = a.offset - b.offset  # type: ignore[operator]
    return type(d) is int and d == 0


def _begun(o: Object) -> bool:
    """Whether something wrote a tile, or it counts as zero."""
    return o.space == "hbm" or o.zeroed or o.assigned or any(
        x.object is o for r in need_trace("assignment").records if isinstance(r, Instruction) for n, x in r.operands.items() if n in WRITTEN)


def assign(dst: View, value: object) -> None:
    """dst[...] = value."""
    if isinstance(value, LoopReduce) and not _begun(dst.object):
        dst.object.reduced = value.op
    dst.object.assigned = True
    if not dst.on_chip:
        warn("assignment: %r lies in HBM, which the hardware's engines do not write: nl.store(dst, value), or nisa.dma_copy" % dst)
    if isinstance(value, LoopReduce):
        combine(dst, value.op, value.value, value.region)
        return
    if isinstance(value, View):
        if same_place(dst, value):
            return
        if not dst.on_chip or not value.on_chip:
            emit_dma(dst, value, "assignment")
            return
        if value.load_again is not None and value.dtype == dst.dtype:
            _load_there(dst, value)
            return
        region = value.region
        shape = shape_on_chip(dst)
        if region is not None and region.shape != shape:
            region = _region_seen_as(region, shape)
        emit_copy(dst, value, "assignment", region)
        return
    if is_number(value):
        emit_fill(dst, number(value, "assignment"), "assignment")
        return
    if isinstance(value, np.ndarray):
        from ._move import constant

        assign(dst, constant(value))
        return
    raise error("assignment", "a tile cannot be assigned %r" % (value,), NkiTypeError)


def _load_there(dst: View, value: View) -> None:
    """dst[...] = a load that skips rows: what it skips stays as it is in dst."""
    records = need_trace("assignment").records
    last = records[-1]
    if isinstance(last, Instruction) and last.operands["dst"].object is value.object:
        records.pop()
    value.load_again(dst)  # type: ignore[misc]


def _region_seen_as(r: Region, shape: Shape) -> Optional[Region]:
    """A region under a shape that differs by dims of size 1."""
    live = [(n, s, c, b) for n, s, c, b in zip(r.shape, r.starts, r.counts, r.bounds) if n != 1]
    want = [n for n in shape if n != 1]
    if [n for n, _, _, _ in live] != want:
        return None
    if r.rest:
        return None
    lost = any((c != 1 or b is not None) and n == 1 for n, c, b in zip(r.shape, r.counts, r.bounds))
    if lost:
        return None
    out = Region(shape)
    out.empty = r.empty
    it = iter(live)
    for k, n in enumerate(shape):
        if n != 1:
            _, out.starts[k], out.counts[k], out.bounds[k] = next(it)
    return out


def combine(dst: View, op: str, value: object, region: Optional[Region] = None) -> None:
    """dst = op(dst, value)."""
    api = "%s=" % {"add": "+", "sub": "-", "mul": "*", "div": "/"}.get(op, op)
    if not dst.on_chip:
        raise error(api, "a tensor in HBM cannot be computed with; load it first", NkiTypeError)
    shape = shape_on_chip(dst)
    if isinstance(value, View):
        if region is None:
            region = value.region if value.region is not None and value.region.shape == shape else None
        if region is not None and region.empty:
            return
        if region is not None and region.rest:
            t = result(shape, dst.dtype)
            emit("tensor_tensor", {"dst": place(t, shape, None, api), "a": place(dst, shape, None, api),
                                   "b": place(value, shape, None, api)}, api, functions={"op": op})
            emit_copy(dst, t, api, region)
            return
        emit("tensor_tensor", {"dst": place(dst, shape, region, api), "a": place(dst, shape, region, api),
                               "b": place(value, shape, region, api)}, api, functions={"op": op})
        return
    emit("tensor_scalar", {"dst": place(dst, shape, region, api), "src": place(dst, shape, region, api)}, api,
         reals={"scalar0": number(value, api), "scalar1": 0.0}, functions={"op0": op, "op1": "identity"})


def accumulate(dst: View, op: str, value: object) -> View:
    """dst += value and the like, in place. Products added to PSUM become accumulating products (_finish.py)."""
    dst.object.assigned = True
    combine(dst, op, value)
    return dst


hooks["assign"] = assign
hooks["accumulate"] = accumulate
