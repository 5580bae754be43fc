"""From masks to regions: which part of a tile an instruction touches.

A comparison that depends on one axis cuts that axis: a later start, a smaller count, or a count bounded by an affine expression of
loop variables (a clip). One that depends on variables only switches the whole instruction on or off: a clip of the first axis. What
remains (several axes in one comparison, `or`, `!=`) is a predicate, which the caller must compute as a tile or split.
"""
from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import numpy as np

from ._errors import NkiTypeError, error
from ._index import Expr, Mask, need_value
from ._record import Number


class Region:
    """Of a shape: for each axis its first element, its count and perhaps a bound of the count; and what remains."""

    __slots__ = ("shape", "starts", "counts", "bounds", "rest", "empty", "source")

    def __init__(self, shape: Sequence[int]):
        self.shape = tuple(shape)
        self.starts = [0] * len(self.shape)
        self.counts = list(self.shape)
        self.bounds: List[Optional[Number]] = [None] * len(self.shape)
        self.rest: List[Mask] = []
        self.empty = False
        self.source: Optional[Mask] = None

    @property
    def trivial(self) -> bool:
        return not self.empty and not self.rest and self.counts == list(self.shape) and not any(b is not None for b in self.bounds)

    def along(self, shape: Sequence[int], axes: Sequence[Optional[int]], whole: bool = False) -> Optional["Region"]:
        """What of a result the region leaves: axes says which axis of the region each of the shape's is, if any; None: all of it. whole: none
        of it in trips that leave no element along another axis."""
        out = Region(shape)
        out.empty = self.empty
        for k, axis in enumerate(axes):
            if axis is not None:
                out.starts[k], out.counts[k], out.bounds[k] = self.starts[axis], self.counts[axis], self.bounds[axis]
        if self.rest and not self.empty:
            self._project(out, axes)
        for k, b in enumerate(self.bounds):
            free = next((n for n, bound in enumerate(out.bounds) if bound is None), None)
            if whole and k not in axes and free is not None and isinstance(b, Expr) and b.bounds()[0] <= 0:
                out._bound(free, b._scale(out.starts[free] + out.counts[free]))  # type: ignore[arg-type]
        return None if out.trivial else out

    def _project(self, out: "Region", axes: Sequence[Optional[int]]) -> None:
        """Of what remains of the mask: the places of `out` that have any element."""
        order = [axis for axis in axes if axis is not None]
        rank = len(self.shape)
        if not any(step and k not in order for m in self.rest for e in m.exprs() for k, step in enumerate(e.steps, rank - len(e.steps))):
            out.rest = [turned(m, axes, rank) for m in self.rest]
            return
        inside = np.zeros(self.shape, bool)
        rectangle = tuple(slice(b, b + n) for b, n in zip(self.starts, self.counts))
        inside[rectangle] = np.logical_and.reduce([np.broadcast_to(_holds(m, len(self.shape)), self.shape)[rectangle] for m in self.rest])
        kept = inside.any(tuple(k for k in range(len(self.shape)) if k not in order)).transpose(np.argsort(np.argsort(order)))
        for axis in sorted(set(order)):
            k, within = axes.index(axis), kept.any(tuple(n for n in range(kept.ndim) if n != order.index(axis)))
            _keep(out, k, within)
        out.empty = not kept.any()

    def _cut(self, axis: int, start: int, stop: int) -> None:
        """Keeps [start, stop) of an axis."""
        first, last = self.starts[axis], self.starts[axis] + self.counts[axis]
        new_first, new_last = max(first, start), min(last, stop)
        if new_last <= new_first:
            self.empty = True
            return
        if new_first != first and self.bounds[axis] is not None:
            self.bounds[axis] = self.bounds[axis] - (new_first - first)  # type: ignore[operator]
        self.starts[axis], self.counts[axis] = new_first, new_last - new_first

    def _bound(self, axis: int, bound: Expr) -> None:
        """The axis ends at index `bound`, counted from 0."""
        limit = bound - self.starts[axis]
        assert isinstance(limit, Expr)
        old = self.bounds[axis]
        if old is not None:
            closer = limit - old
            if isinstance(closer, int):
                if closer >= 0:
                    return
            else:
                lo, hi = closer.bounds()
                if lo >= 0:
                    return
                if hi > 0:
                    need_value(limit, "two bounds of one axis", Expr.of(old))  # type: ignore[arg-type]
        lo, hi = limit.bounds()
        if lo >= self.counts[axis]:
            return
        if hi <= 0:
            self.empty = True
            return
        self.bounds[axis] = limit


def turned(m: Mask, axes: Sequence[Optional[int]], rank: int) -> Mask:
    """A mask of `rank` axes for a tile whose axes are some of those, in another order, or None."""
    if m.expr is None:
        return Mask(m.kind, None, tuple(turned(p, axes, rank) for p in m.parts))
    e = m.expr
    shape = (1,) * (rank - len(e.shape)) + e.shape
    steps = (0,) * (rank - len(e.steps)) + e.steps
    return Mask(m.kind, Expr(tuple(1 if k is None else shape[k] for k in axes), e.base, e.terms, tuple(0 if k is None else steps[k] for k in axes)))


def _holds(m: Mask, rank: int) -> np.ndarray:
    """Where a mask without variables holds."""
    if m.expr is None:
        parts = [_holds(p, rank) for p in m.parts]
        return (np.logical_and if m.kind == "and" else np.logical_or).reduce(np.broadcast_arrays(*parts))
    e = m.expr.resolved()
    v = np.full((1,) * rank, e.base)
    for k, (n, step) in enumerate(zip(e.shape, e.steps), rank - len(e.shape)):
        v = v + step * np.arange(n).reshape([n if axis == k else 1 for axis in range(rank)])
    return {"ge": v >= 0, "eq": v == 0, "ne": v != 0}[m.kind]


def _keep(out: Region, axis: int, within: np.ndarray) -> None:
    """Leaves of an axis what is within."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], within.astype(np.int8), [0]])))
    runs = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]
    if len(runs) == 1:
        out._cut(axis, *runs[0])
    elif runs:
        shape = tuple(n if k == axis else 1 for k, n in enumerate(out.shape))
        first, last = (Expr(shape, 0, (), tuple(s if k == axis else 0 for k in range(len(shape)))) for s in (1, -1))
        out.rest.append(Mask("or", None, tuple(Mask("and", None, (Mask("ge", first - a), Mask("ge", last + (b - 1)))) for a, b in runs)))  # type: ignore[arg-type]


def region_of(mask: object, shape: Sequence[int]) -> Region:
    """The region of a shape in which a mask (None: everywhere) holds."""
    r = Region(shape)
    if mask is None or mask is True:
        return r
    m = Mask.of(mask)
    if m is None:
        what = "an array of NumPy" if isinstance(mask, np.ndarray) else repr(mask)
        raise error("mask", "a mask is made of comparisons of index expressions, as in nl.arange(128)[:, None] < n, not of %s; to select by a tile's "
                    "elements use nl.where(condition, x, y)" % what, NkiTypeError)
    r.source = m
    for leaf in m.parts if m.kind == "and" else (m,):
        _apply(r, leaf)
        if r.empty:
            break
    return r


def _apply(r: Region, leaf: Mask) -> None:
    known = leaf.known()
    if known is True:
        return
    if known is False:
        r.empty = True
        return
    if leaf.kind in ("or", "and", "ne"):
        variables = [e for e in leaf.exprs() if e.terms]
        if variables:
            need_value(variables[0], "a mask with `|` or `!=`", *variables[1:])
        r.rest.append(leaf)
        return
    assert leaf.expr is not None
    e = leaf.expr.resolved()
    if leaf.kind == "eq":
        _apply_ge(r, e, leaf)
        negative = e * -1
        _apply_ge(r, negative, leaf)  # type: ignore[arg-type]
        return
    _apply_ge(r, e, leaf)


def _shapes_differ(e: Expr, r: Region) -> Exception:
    return error("mask", "a mask of shape %s for a tile of shape %s; make it of the index arrays that index the tile" % (e.shape, r.shape), NkiTypeError)


def _apply_ge(r: Region, e: Expr, leaf: Mask) -> None:
    """Keeps where e >= 0."""
    rank = len(r.shape)
    if len(e.shape) > rank:
        if any(n != 1 for n in e.shape[:len(e.shape) - rank]):
            raise _shapes_differ(e, r)
    lead = rank - len(e.shape)
    axes = [(k + lead, s, n) for k, (s, n) in enumerate(zip(e.steps, e.shape)) if s and n > 1]
    for k, n in enumerate(e.shape):
        if k + lead >= 0 and n != 1 and r.shape[k + lead] != n and r.shape[k + lead] != 1:
            if k in [a - lead for a, _, _ in axes]:
                raise _shapes_differ(e, r)
    axes = [(k, s, n) for k, s, n in axes if r.shape[k] != 1] if rank else []
    if not axes:
        if not rank:
            if e.terms:
                need_value(e, "a mask of a scalar")
            r.empty = r.empty or e.base < 0
            return
        if not e.terms:
            r.empty = r.empty or e.base < 0
            return
        # On or off: (e + 1) * count of the axis is at least the count, or at most 0. The first axis without a bound.
        axis = next((k for k in range(rank) if r.bounds[k] is None), None)
        if axis is None or len(e.terms) > 1:
            need_value(e, "a mask that switches an instruction")
        on = Expr((), e.base + 1, e.terms, ())._scale(r.starts[axis] + r.counts[axis])  # type: ignore[index, operator]
        if isinstance(on, Expr):
            r._bound(axis, on)  # type: ignore[arg-type]
        return
    if len(axes) > 1:
        if e.terms:
            need_value(e, "a mask of several axes")
        r.rest.append(Mask("ge", e))
        return
    axis, step, _ = axes[0]
    if not e.terms:
        if step < 0:
            r._cut(axis, 0, e.base // -step + 1)
        else:
            r._cut(axis, -(e.base // step), r.shape[axis])
        return
    if step < 0 and all(c % step == 0 for _, c in e.terms) and len(e.terms) == 1:
        r._bound(axis, Expr((), e.base // -step + 1, tuple((v, c // -step) for v, c in e.terms), ()))
        return
    lo, hi = Expr((), e.base, e.terms, ()).bounds()
    need_value(e, "a mask that cuts the beginning of an axis" if step > 0 else "a mask that depends on several loops")
