"""What all programs of a grid do alike, one does.

Kernels for two cores (kernel[2] in the form of nki 0.2 and later) compute small results on both and store them twice, the same values
to the same place. The first program stores them here: nothing else of what programs write may meet, which the library proves.
"""
from __future__ import annotations

from typing import List, Sequence, Set

import numpy as np

from ._finish import _WRITTEN
from ._index import Expr, Variable
from ._record import Instruction, Operand
from ._trace import Trace


def store_once(t: Trace) -> None:
    """Leaves stores of what does not depend on the program to the first one."""
    if t.interface != "v06" or not t.symbolic_grid or all(n == 1 for n in t.grid):
        return
    records = [r for r in t.records if isinstance(r, Instruction)]
    own = _different(records, t.grid_variables)
    read = {o.object.uid for r in records for n, o in r.operands.items() if n not in _WRITTEN}
    for r in records:
        dst = r.operands.get("dst")
        if dst is None or r.name != "dma_copy" or dst.object.space != "hbm" or dst.object.uid in read | own or r.numbers.get("accumulate"):
            continue
        if any(o.index is not None or any(k == 0 for k, _ in o.clips) for o in r.operands.values()):
            continue
        _only_first(t, r)
        t.notes.append("stored by the first program: %s:%d: all programs store the same values" % r.where)


def _own_part(o: Operand, grid: Sequence[Variable]) -> Operand:
    """An operand as its program sees it: of a tensor that each program has for itself, without where the program's own lies."""
    if not o.object.private or o.dtype != o.object.dtype or not isinstance(o.offset, Expr):
        return o
    own = {v: int(np.prod(o.object.shape[k + 1:], dtype=np.int64)) for k, v in enumerate(grid)}
    terms = tuple((v, n) for v, n in o.offset.terms if own.get(v) != n)
    return Operand(o.object, o.dtype, Expr((), o.offset.base, terms, ()), o.dims, o.clips, o.index)


def _varies(o: Operand, grid: Sequence[Variable]) -> bool:
    return bool(set(grid) & set(_own_part(o, grid).variables())) or o.index is not None and _varies(o.index[2], grid)


def _different(records: List[Instruction], grid: Sequence[Variable]) -> Set[int]:
    """Objects whose elements, or places, differ between programs."""
    found: Set[int] = set()
    while True:
        before = len(found)
        for r in records:
            varies = any(_varies(o, grid) for o in r.operands.values()) or any(
                isinstance(x, Expr) and set(grid) & {v for v, _ in x.terms} for x in r.numbers.values())
            reads = [o.object for n, o in r.operands.items() if n not in _WRITTEN] + [
                o.index[2].object for o in r.operands.values() if o.index is not None]
            if varies or any(o.uid in found for o in reads):
                found |= {o.object.uid for n, o in r.operands.items() if n in _WRITTEN}
        if len(found) == before:
            return found


def _only_first(t: Trace, r: Instruction) -> None:
    n = r.operands["dst"].dims[0][1]
    bound = Expr((), n, tuple((v, -n) for v in t.grid_variables if v.count > 1), ())
    for name, o in r.operands.items():
        r.operands[name] = Operand(o.object, o.dtype, o.offset, o.dims, o.clips + ((0, bound),))
