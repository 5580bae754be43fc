"""Tiles in SBUF that are larger than a run may have tiles: they become tensors in HBM, as AWS's compiler spills what does not fit. Only for
cpu, whose engines reach both memories."""
from __future__ import annotations

from typing import List

from ._record import Instruction, Object
from ._shrink import bytes_on_chip
from ._trace import Trace

LIMIT = 1 << 30  # bytes of tiles of one program


def spill(t: Trace) -> List[Object]:
    """Moves the largest tiles of a kernel of one program to HBM until the others fit; those that it moved."""
    moved: List[Object] = []
    over = bytes_on_chip(t) - LIMIT
    if over <= 0 or t.target != "cpu" or any(n > 1 for n in t.grid):
        return moved
    used = {o.object for r in t.records if isinstance(r, Instruction) for o in r.operands.values()}
    for o in sorted((o for o in used if o.space == "sbuf"), key=lambda o: -o.size * o.dtype.itemsize):
        if over <= 0:
            break
        over -= o.size * o.dtype.itemsize
        o.space, o.role, o.elements, o.partitions = "hbm", "internal", o.size, 0
        moved.append(o)
    return moved
