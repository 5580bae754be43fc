"""Trips of nl.affine_range that are not independent: a tile from before the loop that each writes at one place, and that is read
after it. Here trips run in order, and the last one's values remain; the hardware runs them in any order, or at once.

What accumulates (+=, nl.loop_reduce, products into PSUM) reads the place that it writes, and is no race.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._errors import warn_at
from ._index import Expr, Variable
from ._record import Instruction, Object, Operand

WRITTEN = ("dst", "sum", "reduced", "last", "index")  # operands that instructions write


class Trips:
    """Of one nl.affine_range: how many objects there were before it, its index where the body was traced once, and which records each
    traced trip made."""

    __slots__ = ("objects", "variable", "spans")

    def __init__(self, objects: int):
        self.objects = objects
        self.variable: Optional[Variable] = None
        self.spans: List[Tuple[int, int]] = []


def warn_of_races(records: Sequence[Any], loops: Sequence[Trips], kept: Sequence[Object]) -> None:
    """kept: what the kernel returns."""
    told = set()
    for loop in loops:
        for i, o in _written_by_all(records, loop):
            reader = _reader(records, loop, o)
            where = "line %d reads it" % reader.where[1] if reader else "the kernel returns it" if o.object in kept else None
            if where and (i.where, o.object.uid) not in told:
                told.add((i.where, o.object.uid))
                warn_at(i.where, "%s: each trip of nl.affine_range writes %s '%s' %s (made in line %d) at the same place, and %s after the loop: "
                        "on the hardware trips run in any order, so that any of them may be the last; index it by the loop's index, accumulate by "
                        "+= or nl.loop_reduce, or use nl.sequential_range" %
                        (i.api, "tensor" if o.object.space == "hbm" else "tile", o.object.name, list(o.object.shape), o.object.where[1], where))


def warn_of_scopes(records: Sequence[Any], loops: Sequence[Trips]) -> None:
    """Tiles that trips make and that are read after the loop: here they are the last trip's, AWS's compiler refuses them."""
    told = set()
    for loop in loops:
        end = loop.spans[-1][1] if loop.spans else len(records)
        for i in records[end:]:
            for name, p in i.operands.items() if isinstance(i, Instruction) else ():
                o = p.object
                if name not in WRITTEN and o.space != "hbm" and o.uid >= loop.objects and o.position < end and o.uid not in told \
                        and not o.name.startswith("register_"):
                    told.add(o.uid)
                    warn_at(i.where, "%s: reads tile '%s' %s, which each trip of nl.affine_range makes (line %d), after the loop: AWS's compiler "
                            "refuses that; make the tile before the loop and assign to it, t[...] = value" %
                            (i.api, o.name, list(o.shape), o.where[1]))


def _written_by_all(records: Sequence[Any], loop: Trips) -> List[Tuple[Instruction, Operand]]:
    """Writes that happen in more than one trip at the same place."""
    if loop.variable is not None:
        return [(i, o) for i, o in _writes(records, loop.spans[0], loop.objects) if loop.variable not in o.variables()]
    out: List[Tuple[Instruction, Operand]] = []
    first: Dict[str, int] = {}  # the trip that writes a place first
    for n, span in enumerate(loop.spans):
        for i, o in _writes(records, span, loop.objects):
            if first.setdefault(repr(o), n) != n:
                out.append((i, o))
    return out


def _writes(records: Sequence[Any], span: Tuple[int, int], objects: int) -> List[Tuple[Instruction, Operand]]:
    """What a span of records writes, and does not read as well, of the first objects."""
    out = []
    for i in records[span[0]:span[1]]:
        if not isinstance(i, Instruction) or i.numbers.get("accumulate"):
            continue
        for name, o in i.operands.items():
            if name not in WRITTEN or o.object.uid >= objects or o.object.name.startswith("register_") or o.index is not None:
                continue
            if not any(n not in WRITTEN and p.same_place(o) for n, p in i.operands.items()):
                out.append((i, o))
    return out


def _reader(records: Sequence[Any], loop: Trips, o: Operand) -> Optional[Instruction]:
    """The first instruction after the loop that reads what o is a part of, unless one writes that anew before."""
    for i in records[loop.spans[-1][1]:]:
        if not isinstance(i, Instruction):
            continue
        for name, p in i.operands.items():
            if p.object is o.object and name not in WRITTEN and _meet(p, o):
                return i
            if p.index is not None and p.index[2].object is o.object:
                return i
        if any(name in WRITTEN and p.same_place(o) for name, p in i.operands.items()):
            return None
    return None


def _meet(a: Operand, b: Operand) -> bool:
    """Whether two places of an object may have elements in common."""
    if a.dtype != b.dtype:
        return True
    (first, last), (start, end) = _extent(a), _extent(b)
    return first <= end and start <= last


def _extent(o: Operand) -> Tuple[int, int]:
    """The lowest and highest element: of tensors in all, of tiles within a partition."""
    lo, hi = o.offset.bounds() if isinstance(o.offset, Expr) else (o.offset, o.offset)
    dims = o.dims
    if o.object.space != "hbm":
        per = o.object.elements
        dims = [(s, c) for s, c in dims if s % per]
        if lo // per == hi // per:
            lo, hi = lo % per, hi % per
        else:
            lo, hi = 0, per - 1
    return lo + sum(s * (c - 1) for s, c in dims if s < 0), hi + sum(s * (c - 1) for s, c in dims if s > 0)
