"""Which elements of a tensor a kernel stores to: those of a returned one that nothing stores to are told of."""
from __future__ import annotations

from typing import List, Optional, Sequence

import numpy as np

from ._finish import _WRITTEN
from ._index import Expr
from ._record import Instruction, Number, Object, Operand, Record

_LARGEST = 1 << 22  # stores that are followed one by one: more would take longer than the kernel's compilation


def _stores(o: Object, records: Sequence[Record]) -> Optional[List[Operand]]:
    """The places that instructions write of a tensor; None where a run's values choose one."""
    out = [p for r in records if isinstance(r, Instruction) for name, p in r.operands.items() if name in _WRITTEN and p.object is o]
    return None if any(p.index is not None or p.dtype.itemsize != o.dtype.itemsize for p in out) else out


def _trips(p: Operand) -> int:
    n = 1
    for v in set(p.variables()):
        n *= v.count
    return n


def _mark(p: Operand, written: np.ndarray) -> None:
    """written[e] = True for each element that a store reaches in any trip of its loops."""
    loops = sorted(set(p.variables()), key=lambda v: v.uid)
    rank = len(loops) + len(p.dims)

    def along(axis: int, count: int) -> np.ndarray:
        return np.arange(count).reshape([count if k == axis else 1 for k in range(rank)])

    trip = {v.uid: along(k, v.count) for k, v in enumerate(loops)}

    def value(x: Number) -> np.ndarray:
        if not isinstance(x, Expr):
            return np.int64(x)
        return sum((trip[v.uid] * c for v, c in x.terms), np.int64(x.base))

    place = value(p.offset)
    inside = np.bool_(True)
    for k, (step, count) in enumerate(p.dims):
        at = along(len(loops) + k, count)
        place = place + at * step
        for dim, bound in p.clips:
            if dim == k:
                inside = inside & (at < value(bound))
    if p.clips:
        shape = np.broadcast_shapes(place.shape, inside.shape)  # a trip may end elsewhere and begin at the same place
        place = np.broadcast_to(place, shape)[np.broadcast_to(inside, shape)]
    written[place[(place >= 0) & (place < written.size)]] = True


def gap(o: Object, records: Sequence[Record]) -> Optional[str]:
    """Words for what of a tensor nothing stores to; None where all is stored to, or where it takes a run to know."""
    stores = _stores(o, records)
    if not stores:
        return None
    counts = [_trips(p) * int(np.prod(p.counts, dtype=np.int64)) for p in stores]
    if sum(counts) > _LARGEST:
        return None if sum(counts) >= o.size else "at least %d of its %d elements" % (o.size - sum(counts), o.size)
    written = np.zeros(o.size, np.bool_)
    for p in stores:
        _mark(p, written)
    left = np.flatnonzero(~written)
    if not left.size:
        return None
    first = [int(n) for n in np.unravel_index(left[0], o.shape)]
    return "%d of its %d elements, the first is %s" % (left.size, o.size, first)
