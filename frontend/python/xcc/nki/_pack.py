"""Two tiles of up to 64 partitions at one place, where a kernel does not fit: the second takes partitions 64 on of the first's columns.

What starts at partition 0 or 32 of it starts at 64 or 96 there, so instructions reach the same rows. The operands that an instruction
reads in SBUF start at one partition, so tiles that it reads together go to the same half. Tiles of one type and width, whose accesses are
all known; not those of the tensor engine and of instructions that look at their partitions' numbers.
"""
from __future__ import annotations

from typing import Dict, List, Set, Tuple

from ._index import Expr
from ._races import WRITTEN
from ._record import Instruction, Object, Operand
from ._trace import Trace

HALF = 64  # partitions
_BY_PLACE = {"nc_matmul", "nc_transpose", "nc_stream_shuffle", "tensor_partition_reduce", "local_gather", "iota", "affine_select"}

Use = Tuple[Instruction, str]


def _candidates(t: Trace) -> Dict[int, List[Use]]:
    """Uses of tiles of up to 64 partitions in SBUF that may lie in either half."""
    uses: Dict[int, List[Use]] = {}
    out: Set[int] = set()
    for r in t.records:
        if not isinstance(r, Instruction):
            continue
        for name, o in r.operands.items():
            x = o.object
            plain = o.dtype == x.dtype and o.index is None and r.name not in _BY_PLACE
            if o.index is not None:
                out.add(o.index[2].object.uid)
            if x.space == "sbuf" and x.address < 0 and x.partitions <= HALF and plain:
                uses.setdefault(x.uid, []).append((r, name))
            else:
                out.add(x.uid)
    return {uid: found for uid, found in uses.items() if uid not in out}


def _together(t: Trace, free: Dict[int, List[Use]]) -> Tuple[List[Set[int]], Set[int]]:
    """Tiles that instructions read together, and those that they read with one that stays where it is."""
    group = {uid: {uid} for uid in free}
    fixed: Set[int] = set()
    for r in t.records:
        if not isinstance(r, Instruction) or r.name == "dma_copy":
            continue
        read = [o.object.uid for name, o in r.operands.items() if o.object.space == "sbuf" and name not in WRITTEN]
        movable = [uid for uid in read if uid in free]
        if len(movable) < len(read):
            fixed.update(movable)
        for uid in movable[1:]:
            joined = group[movable[0]] | group[uid]
            group.update((member, joined) for member in joined)
    return list({id(g): g for g in group.values()}.values()), fixed


def _halves(t: Trace, free: Dict[int, List[Use]]) -> Tuple[List[Object], List[Object]]:
    """Tiles for the first 64 partitions and for the others: as many bytes as it goes."""
    objects = {o.uid: o for o in t.objects}
    groups, fixed = _together(t, free)
    sides: Tuple[List[Object], List[Object]] = ([], [])
    size = [0, 0]

    def bytes_of(g: Set[int]) -> int:
        return sum(objects[uid].elements * objects[uid].dtype.itemsize for uid in g)

    for g in sorted(groups, key=lambda g: (not g & fixed, -bytes_of(g), min(g))):
        side = 0 if g & fixed or size[0] <= size[1] else 1
        sides[side].extend(objects[uid] for uid in g)
        size[side] += bytes_of(g)
    return sides


def _place(found: List[Use], to: Object, first: int) -> None:
    for r, name in found:
        o = r.operands[name]
        e = Expr.of(o.offset)
        assert e is not None
        r.operands[name] = Operand(to, o.dtype, Expr(e.shape, e.base + first * to.elements, e.terms, e.steps)._simple(), o.dims, o.clips)
        r.operands[name].cut = o.cut


def pack(t: Trace) -> bool:
    """Whether tiles were put in pairs, of one width those that were made one after the other."""
    uses = _candidates(t)
    low, high = _halves(t, uses)
    waiting: Dict[Tuple[object, int, int], List[Object]] = {}
    for o in sorted(low, key=lambda o: -o.uid):
        waiting.setdefault((o.dtype, o.elements, o.depth), []).append(o)
    done = False
    for b in sorted(high, key=lambda o: o.uid):
        of_its_kind = waiting.get((b.dtype, b.elements, b.depth))
        if not of_its_kind:
            continue
        a = of_its_kind.pop()
        both = Object(len(t.objects), "sbuf", (HALF + b.partitions, b.elements), b.dtype, t._name(a.name))
        both.depth, both.position, both.where, both.is_result = a.depth, a.position, a.where, a.is_result and b.is_result
        t.objects.append(both)
        _place(uses[a.uid], both, 0)
        _place(uses[b.uid], both, HALF)
        done = True
    return done
