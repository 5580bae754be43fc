"""Instructions that move data: loads, stores, copies, transposes, broadcasts, constants."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from .. import dtypes
from ._core import (as_tile, emit, emit_copy, emit_dma, emit_fill, is_number, number, place, result, shape_on_chip)
from ._errors import NkiTypeError, error, warn
from ._index import Expr, Mask
from ._mask import Region, region_of, turned
from ._record import Operand
from ._tensor import Dynamic, View, hooks
from ._trace import need_trace


def constant(data: np.ndarray, dtype: Optional[object] = None, name: str = "constant") -> View:
    """A tensor in HBM whose elements are known now."""
    from .. import _arrays

    d = dtypes.to_dtype(dtype) if dtype is not None else dtypes.stored(data.dtype)
    return need_trace("nl.shared_constant").hbm(data.shape, d, name, "constant", _arrays.convert(np.ascontiguousarray(data), d))


def masked_shape(view: View, mask: object) -> View:
    """The view with the axes that its mask's indices have (a load of x[i] under a mask of shape (n, 1))."""
    return view


def load(src: View, dtype: object = None, mask: object = None, api: str = "nl.load", space: str = "sbuf", skip: bool = False,
         empty: Optional[float] = None) -> View:
    """A new tile with a tensor's (or another tile's) elements. skip: where an index lies beyond the tensor nothing is loaded; empty: that
    number is there."""
    if not isinstance(src, View):
        need_trace(api)
        raise error(api, "src is %s, expected a tensor" % type(src).__name__, NkiTypeError)
    if src.on_chip and api == "nl.load":
        warn("%s: src is %r, which the hardware's load does not take: use it as it is, or nl.copy" % (api, src))
    d = src.dtype if dtype is None else dtypes.to_dtype(dtype)
    shape = list(src.shape)
    if not src.on_chip:
        if len(shape) < 2:
            shape = shape + [1] * (2 - len(shape))
        seen = src.like(src.offset, list(src.dims) + [(1, 1)] * (2 - src.ndim))
    else:
        seen = src
    if shape[src.blocks] > 128:
        raise error(api, "a tile of shape %s has %d partitions, at most 128; load it in pieces (nl.affine_range)%s" %
                    (tuple(shape), shape[0], ", or as src.reshape((128, ...))" if src.ndim == 1 else ""), NkiTypeError)
    dst = result(shape, d, space)
    if empty is not None:
        emit_fill(dst, empty, api)
    emit_dma(dst, seen, api, mask, None, skip or empty is not None)
    if mask is not None:
        dst.region = region_of(mask, dst.shape)
    if skip:
        dst.load_again = lambda to: emit_dma(to, seen, api, mask, None, True)
    return dst


def store(dst: View, value: object, mask: object = None, api: str = "nl.store", accumulate: Optional[str] = None, skip: bool = False) -> None:
    """Writes a tile (or a number) to a tensor in HBM."""
    if not isinstance(dst, View):
        need_trace(api)
        raise error(api, "dst is %s, expected a tensor" % type(dst).__name__, NkiTypeError)
    if dst.on_chip and api == "nl.store":
        warn("%s: dst is %r, which the hardware's store does not write: assign to it, dst[...] = value" % (api, dst))
    if is_number(value):
        n = next((k for k, s in enumerate(dst.shape) if s <= 128), None)
        tile = _filled_like(dst, number(value, api), api)
        _ = n
        emit_dma(dst, tile, api, mask, accumulate, skip)
        return
    value = value.value() if isinstance(value, Dynamic) else value
    if not isinstance(value, View):
        raise error(api, "value is %s, expected a tile or a number%s" % (type(value).__name__, "; nl.shared_constant makes a tensor of an array, "
                    "nl.load a tile of that" if isinstance(value, np.ndarray) else ""), NkiTypeError)
    if not value.on_chip and api == "nl.store":
        warn("%s: value is %r, which the hardware's store does not take: load it first (nl.load), or copy by nisa.dma_copy" % (api, value))
    if api == "nl.store" and value.on_chip and value.size == dst.size and value.ndim == dst.ndim and sorted(value.shape) == sorted(dst.shape) \
            and [n for n in value.shape if n != 1] != [n for n in dst.shape if n != 1]:
        warn("%s: value has shape %s, and dst %s: elements go there in the order in which they lie, as if reshaped, and the hardware's store refuses it; "
             "a transpose is nisa.nc_transpose, or nl.load_transpose2d where it is loaded" % (api, value.shape, dst.shape))
    if value.on_chip and value.region is not None and mask is None and value.region.shape == dst.shape and not value.region.rest:
        _store_region(dst, value, api, accumulate, skip)
        return
    emit_dma(dst, on_sbuf(value), api, mask, accumulate, skip)


def _store_region(dst: View, value: View, api: str, accumulate: Optional[str], skip: bool) -> None:
    """A whole store of a tile of which only a part was computed stores all of it, as the hardware does."""
    emit_dma(dst, on_sbuf(value), api, None, accumulate, skip)


def _filled_like(dst: View, value: float, api: str) -> View:
    tile = result((1, 1), dst.dtype)
    emit_fill(tile, value, api)
    return tile.like(0, [(0, n) for n in dst.shape] or [(0, 1)])


def on_sbuf(x: View) -> View:
    """The tile itself, or where the target cannot read PSUM directly (DMA, the tensor engine) a copy in SBUF."""
    if x.object.space != "psum" or need_trace("copy").target == "cpu":
        return x
    return copy(x, api="tensor_copy")


def copy(x: View, dtype: object = None, mask: object = None, api: str = "nl.copy", engine: Optional[str] = None,
         space: str = "sbuf") -> View:
    """A new tile with a tile's elements."""
    x = as_tile(x, api, "src")
    shape = shape_on_chip(x)
    region = region_of(mask, shape)
    dst = result(shape, x.dtype if dtype is None else dtype, space)
    region_in = region if not region.trivial else None
    if not region.empty:
        if region.rest:
            emit_copy(dst, x, api, None, engine)
        else:
            emit_copy(dst, x, api, region_in, engine)
    if mask is not None:
        dst.region = region
    elif x.region is not None and x.region.shape == shape:
        dst.region = x.region
    return dst


def broadcast_to(x: View, shape: Sequence[int], api: str = "broadcast_to", dtype: object = None) -> View:
    """Free dims are repeated by a view; partitions by a copy."""
    if not x.on_chip:
        return x.like(x.offset, [(s if c == n else 0, n) for (s, c), n in zip([(0, 1)] * (len(shape) - x.ndim) + list(x.dims), shape)])
    own = shape_on_chip(x)
    if own[0] == shape[0]:
        from ._core import aligned

        return View(x.object, x.dtype, x.offset, tuple(aligned(x, tuple(shape), api, "src")), 0)
    dst = result(shape, x.dtype if dtype is None else dtype)
    emit("dma_copy", {"dst": place(dst, tuple(shape), None, api, "dst"), "src": place(on_sbuf(x), tuple(shape), None, api, "src")}, api)
    return dst


def two_dims(x: View, api: str, what: str) -> View:
    """A tile as partitions x one free dim; copied when its free dims do not step like one."""
    from ._tensor import split_dims

    shape = shape_on_chip(x)
    if len(shape) == 2 and not x.blocks:
        return x
    free = int(np.prod(shape[1:], dtype=np.int64))
    dims = split_dims(list(x.dims)[1:], [free]) if not x.blocks else None
    if dims is None:
        x = copy(x, api=api)
        dims = [(1, free)]
    return View(x.object, x.dtype, x.offset, (x.dims[0], dims[0]), 0)


def flat_out(dst: View, api: str, keep: bool = False) -> Tuple[View, Callable[[], None]]:
    """A destination as partitions x one free dim, and what to call when it is written: where its free dims do not step like one, it is
    a tile of its own, which that call copies. keep: not all of it is written, so it begins as the destination is."""
    flat = as_rows(dst)
    if flat is not None:
        return flat[0], lambda: None
    shape = shape_on_chip(dst)
    own = copy(dst, api=api) if keep else result(shape, dst.dtype, dst.object.space)
    return two_dims(own, api, "dst"), lambda: emit_copy(dst, own, api)


def as_rows(*views: View) -> Optional[List[View]]:
    """Tiles as partitions x one free dim, without moving elements; None when one cannot be seen so."""
    from ._tensor import split_dims

    out: List[View] = []
    for v in views:
        if v.blocks or v.index is not None or v.scalar_index is not None or v.outside:
            return None
        if v.ndim != 2:
            free = split_dims(list(v.dims)[1:], [int(np.prod(v.shape[1:], dtype=np.int64))])
            if free is None:
                return None
            v = View(v.object, v.dtype, v.offset, (v.dims[0], free[0]), 0)
        out.append(v)
    return out


def emit_transpose(dst: View, src: View, api: str, region: Optional[Region] = None, engine: Optional[str] = None,
                   name: str = "nc_transpose") -> None:
    """dst[j, i] = src[i, j]; region: of src."""
    if region is not None and region.empty:
        return
    src = two_dims(src, api, "data")
    dst, done = flat_out(dst, api, region is not None and not region.trivial)
    s, d = src.shape, dst.shape
    if d != (s[1], s[0]):
        raise error(api, "dst has shape %s, expected %s, the transpose of the data" % (d, (s[1], s[0])), NkiTypeError)
    turned = None if region is None else region.along(d, [1, 0])
    emit(name, {"dst": place(dst, d, turned, api, "dst"), "src": place(src, s, region, api, "data")}, api, engine=engine)
    done()


def transposed(x: View, api: str, dtype: object = None, mask: object = None, space: str = "psum", engine: Optional[str] = None) -> View:
    """A new tile, free x partitions."""
    x = as_tile(x, api, "data")
    x = two_dims(x, api, "data")
    region = region_of(mask, x.shape)
    if x.shape[1] > 128:
        raise error(api, "data of shape %s would have %d partitions when transposed, at most 128; transpose it in pieces" %
                    (x.shape, x.shape[1]), NkiTypeError)
    dst = result((x.shape[1], x.shape[0]), x.dtype if dtype is None else dtype, space)
    emit_transpose(dst, x, api, region, engine)
    dst.region = region.along(dst.shape, [1, 0])
    return dst


def emit_dma_transpose(dst: View, src: View, axes: Optional[Sequence[int]], api: str = "dma_transpose", mask: object = None,
                       skip: bool = False) -> None:
    """2-D [1, 0], 3-D [2, 1, 0], 4-D [3, 1, 2, 0]: a copy whose patterns differ."""
    n = src.ndim
    order = list(axes) if axes is not None else {2: [1, 0], 3: [2, 1, 0], 4: [3, 1, 2, 0]}.get(n)
    if order is None or sorted(order) != list(range(n)):
        raise error(api, "axes %s for %d dims; known are [1, 0], [2, 1, 0] and [3, 1, 2, 0]" % (axes, n), NkiTypeError)
    seen = View(src.object, src.dtype, src.offset, tuple(src.dims[k] for k in order), 0)
    seen.outside, seen.scalar_index = src.outside, src.scalar_index
    if src.index is not None:
        d, step, tile, limit = src.index
        seen.index = (order.index(d), step, tile, limit)
    m = Mask.of(mask) if mask is not None else None
    emit_dma(dst, seen, api, turned(m, order, n) if m is not None else None, None, skip)


def dma_transposed(src: View, axes: Optional[Sequence[int]] = None, dtype: object = None, mask: object = None,
                   api: str = "dma_transpose") -> View:
    n = src.ndim
    order = list(axes) if axes is not None else {2: [1, 0], 3: [2, 1, 0], 4: [3, 1, 2, 0]}.get(n, [])
    if len(order) != n:
        raise error(api, "src has %d dims; 2, 3 or 4 can be transposed" % n, NkiTypeError)
    dst = result([src.shape[k] for k in order], src.dtype if dtype is None else dtype)
    emit_dma_transpose(dst, src, order, api, mask)
    dst.region = region_of(mask, src.shape).along(dst.shape, order)
    return dst


def load_transpose2d(src: View, dtype: object = None, mask: object = None, api: str = "nl.load_transpose2d") -> View:
    if not isinstance(src, View) or src.ndim != 2:
        raise error(api, "src is %r, expected a two-dimensional tensor" % (src,), NkiTypeError)
    return dma_transposed(src, [1, 0], dtype, mask, api)


hooks["broadcast_to"] = broadcast_to
hooks["copy"] = lambda x, dtype=None, **kw: copy(x, dtype, **kw)
