"""Where instructions may start: engines reach partitions by groups, so on strict targets what they touch of up to 32 partitions starts
at a multiple of 32, up to 64 at 0 or 64, more at 0.

Who calls an instruction chooses its partitions and is told by the library. Assignments of numbers and copies name no instruction, and
masks that leave out the first partitions choose none: what lies elsewhere is moved to a tile of its own by DMA, which starts anywhere,
before or after.
"""
from __future__ import annotations

from typing import Dict, List

from ._errors import warn_at
from ._finish import _WRITTEN
from ._index import Expr
from ._record import Dim, Instruction, Operand, Record
from ._trace import Trace

_GROUP = 32
_MOVED = ("assignment", "mask", "return")
_TRANSFERS = {"dma_copy"}
_ROWWISE = {"tensor_tensor", "tensor_scalar", "tensor_copy", "memset", "select", "iota", "activation", "tensor_reduce", "affine_select",
            "random", "dropout"}  # dim 0 of every operand runs over partitions


def stage(t: Trace) -> None:
    """Rewrites t.records for a strict target."""
    out: List[Record] = []
    for r in t.records:
        if isinstance(r, Instruction) and _is_moved(r):
            out += _staged(t, r)
        else:
            out.append(r)
    t.records[:] = out


def _is_moved(r: Instruction) -> bool:
    cut = any(o.cut for o in r.operands.values())
    return r.name in _ROWWISE and (cut or r.api in _MOVED) or r.name == "nc_matmul" and cut


def warn_of_starts(t: Trace) -> None:
    """On cpu, whose instructions start anywhere, of what strict targets refuse."""
    told = set()
    for r in t.records:
        if not isinstance(r, Instruction) or r.name in _TRANSFERS or _is_moved(r) or (r.where, r.api) in told:
            continue
        for name, o in r.operands.items():
            if o.object.space == "hbm" or _starts_well(o):
                continue
            told.add((r.where, r.api))
            n = _rows(o)
            good = "0, 32, 64 or 96" if n <= _GROUP else "0 or 64" if n <= 2 * _GROUP else "0"
            warn_at(r.where, "%s: operand '%s' starts at partition %s: it is computed here, and an error on trn1 and trn2, where what an instruction uses "
                    "of %d partition%s starts at %s; move it there by dma_copy, which starts anywhere, or load it there" %
                    (r.api, o.what or name, _first(o), n, "s" * (n > 1), good))
            break


def _staged(t: Trace, r: Instruction) -> List[Record]:
    before: List[Record] = []
    after: List[Record] = []
    tiles: Dict[str, Operand] = {}
    for name, o in r.operands.items():
        if o.object.space != "sbuf" or o.index is not None or _starts_well(o):
            tiles[name] = o
            continue
        own = tile_for(t, r, o)
        tiles[name] = own
        if name not in _WRITTEN or o.clips:
            before.append(move(r, own, o))
        if name in _WRITTEN:
            after.append(move(r, o, own))
    if not before and not after:
        return [r]
    r.operands = tiles
    t.notes.append("moved by DMA: %s:%d: %s starts at a partition where engines do not" % (r.where[0], r.where[1], r.api))
    return before + [r] + after


def _apart(o: Operand) -> int:
    """Elements from one partition to the next."""
    return max(o.object.elements * o.object.dtype.itemsize // o.dtype.itemsize, 1)


def _rows(o: Operand) -> int:
    """Partitions that it has at least."""
    return o.dims[0][1] if o.dims and o.dims[0][0] == _apart(o) and not any(k == 0 for k, _ in o.clips) else 1


def _first(o: Operand) -> str:
    """The partition where it starts, or those of several trips."""
    e, apart = Expr.of(o.offset), _apart(o)
    assert e is not None
    steps = [c // apart for _, c in e.terms if c >= apart]
    return "%d%s" % (e.base // apart, "".join(", %d, ..." % (e.base // apart + s) for s in steps[:1]))


def _starts_well(o: Operand) -> bool:
    apart, n = _apart(o), _rows(o)
    if any(s > apart and c > 1 for s, c in o.dims):
        return True  # for the library to judge
    unit = _GROUP if n <= _GROUP else 2 * _GROUP if n <= 2 * _GROUP else 4 * _GROUP
    if not isinstance(o.offset, Expr):
        return o.offset // apart % unit == 0
    return o.offset.base // apart % unit == 0 and all(c % apart or c // apart % unit == 0 for _, c in o.offset.terms)


def tile_for(t: Trace, r: Instruction, o: Operand) -> Operand:
    """A tile of its own in the operand's shape; dims that repeat do not."""
    counts = [c if s else 1 for s, c in o.dims]
    free = 1
    for c in counts[1:]:
        free *= c
    own = t.tile("sbuf", (counts[0], free), o.dtype, "moved").object
    own.where, own.depth, own.is_result = r.where, len(r.open), True
    dims: List[Dim] = []
    step = 1
    for c, (s, n) in zip(reversed(counts[1:]), reversed(o.dims[1:])):
        dims.insert(0, (step if s else 0, n))
        step *= c
    dims.insert(0, (free if o.dims[0][0] else 0, o.dims[0][1]))
    return Operand(own, o.dtype, 0, tuple(dims), o.clips)


def move(r: Instruction, dst: Operand, src: Operand) -> Instruction:
    """dst = src, each element once."""
    once = [k for k, (s, c) in enumerate(dst.dims) if s or c == 1]
    where = {k: n for n, k in enumerate(once)}

    def cut(o: Operand) -> Operand:
        return Operand(o.object, o.dtype, o.offset, tuple(o.dims[k] for k in once), tuple((where[k], b) for k, b in o.clips if k in where))

    i = Instruction("dma_copy", {"dst": cut(dst), "src": cut(src)})
    i.where, i.api, i.open = r.where, "dma_copy", r.open
    return i
