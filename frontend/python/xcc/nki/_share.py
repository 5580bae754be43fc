"""Tiles that take the memory of others where a kernel does not fit: an author's two buffers of which one is read for the last time by
the instruction that fills the other, element by element. The machine computes such an instruction in place.

Only buffers that a kernel writes as a whole before it reads them, all in the same loops: what they hold lives from there to the last
use before they are written again. Two that never live at one time become one.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from ._races import WRITTEN
from ._record import Instruction, Object, Operand, is_whole
from ._trace import Trace

_IN_PLACE = {"tensor_tensor", "tensor_scalar", "activation", "tensor_copy"}  # each element of dst from those at the same place
_FILLS = _IN_PLACE | {"memset", "iota", "dma_copy"}

Life = Tuple[int, int]  # the record that fills a tile, the last that uses what it holds


class _Use(NamedTuple):
    """Of a tile by record number `at`."""

    at: int
    record: Instruction
    names: List[str]  # of the operands


def _fills(u: _Use) -> bool:
    r = u.record
    plain = r.name in _FILLS and not (r.name == "dma_copy" and (r.functions or r.numbers)) and all(o.index is None for o in r.operands.values())
    return plain and u.names == ["dst"] and is_whole(r.operands["dst"])


def _uses(t: Trace) -> Dict[Object, List[_Use]]:
    """Of tiles in SBUF that no index goes through."""
    of: Dict[Object, List[_Use]] = {}
    indices = set()
    for at, r in enumerate(t.records):
        if not isinstance(r, Instruction):
            continue
        for name, o in r.operands.items():
            if o.index is not None:
                indices |= {o.object, o.index[2].object}
            if o.object.space == "sbuf":
                mine = of.setdefault(o.object, [])
                if mine and mine[-1].at == at:
                    mine[-1].names.append(name)
                else:
                    mine.append(_Use(at, r, [name]))
    return {o: uses for o, uses in of.items() if o not in indices}


def _lives(uses: List[_Use]) -> Optional[List[Life]]:
    """When the tile holds something; None where that is not known."""
    lives: List[Life] = []
    for u in uses:
        if u.record.open != uses[0].record.open:
            return None
        if _fills(u):
            lives.append((u.at, u.at))
        elif not lives:
            return None
        else:
            lives[-1] = (lives[-1][0], u.at)
    return lives


def _hands_over(r: Instruction, old: Object, new: Object) -> bool:
    """Whether the instruction reads one tile and fills the other, element by element."""
    dst = r.operands.get("dst")
    return r.name in _IN_PLACE and dst is not None and dst.object is new and all(
        name not in WRITTEN and o.dims == dst.dims and is_whole(o) for name, o in r.operands.items() if o.object is old)


def _apart(t: Trace, x: Object, a: List[Life], y: Object, b: List[Life]) -> bool:
    """Whether the two never hold something at one time."""
    both = sorted([(first, last, x, y) for first, last in a] + [(first, last, y, x) for first, last in b], key=lambda life: life[:2])
    for (_, last, old, new), (first, _, mine, _) in zip(both, both[1:]):
        if last > first or last == first and (mine is old or not _hands_over(t.records[last], old, new)):
            return False
    return True


def _give(t: Trace, old: Object, new: Object) -> None:
    for r in t.records:
        if isinstance(r, Instruction):
            for name, o in r.operands.items():
                if o.object is old:
                    r.operands[name] = Operand(new, o.dtype, o.offset, o.dims, o.clips)
                    r.operands[name].cut = o.cut


def _joined(a: List[Life], b: List[Life]) -> List[Life]:
    """Lives of both in one memory; what is handed over lives on."""
    out: List[Life] = []
    for first, last in sorted(a + b):
        if out and out[-1][1] == first:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return out


def share(t: Trace) -> bool:
    """Whether tiles took the memory of others: of the largest tiles where that goes all that can."""
    uses = _uses(t)
    lives = {o: found for o, found in ((o, _lives(mine)) for o, mine in uses.items()) if found}
    tiles = sorted(lives, key=lambda o: (-o.elements * o.dtype.itemsize, o.uid))
    size = 0
    for k, host in enumerate(tiles):
        if host.elements * host.dtype.itemsize < size:
            break
        for o in tiles[k + 1:]:
            alike = o in lives and (o.shape, o.dtype) == (host.shape, host.dtype) and uses[o][0].record.open == uses[host][0].record.open
            if host in lives and alike and o.elements > 1 and _apart(t, host, lives[host], o, lives[o]):
                _give(t, o, host)
                lives[host] = _joined(lives[host], lives.pop(o))
                t.notes.append("one memory: tile '%s' takes that of '%s'" % (o.name, host.name))
                size = host.elements * host.dtype.itemsize
    return size > 0
