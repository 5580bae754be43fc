"""After tracing: products that accumulate in PSUM, copies that are not needed.

Rewrites of a trace's instructions:
- dst[...] = nl.loop_reduce(...): a tile that nothing wrote before is filled, where it was made, with the operation's neutral element.
- `psum += nc_matmul(...)`: the product goes to a tile of its own and an addition follows; both become one accumulating product.
- dst[...] = op(...): a result that is only copied is computed where the copy would put it.
- the first product of a PSUM group overwrites: its tile counts as zero since it was made.
"""
from __future__ import annotations

import math
from typing import Dict, List, Optional, Set, Tuple

import numpy as np

from .. import dtypes
from ._errors import NkiError
from ._index import Expr, Variable
from ._races import WRITTEN as _WRITTEN
from ._record import Dim, Instruction, LoopBegin, LoopEnd, Number, Object, Operand, Record
from ._shrink import parts
from ._tensor import merge_dims
from ._trace import Trace

# Instructions whose every element of dst depends on the elements at the same place only.
_ELEMENTWISE = {"tensor_tensor", "tensor_scalar", "activation", "tensor_copy", "memset", "select", "affine_select", "iota"}
# Their f32 result may be rounded by whoever stores it.
_ROUNDS_ONCE = {"tensor_tensor", "tensor_scalar", "activation", "tensor_reduce", "nc_matmul", "tensor_tensor_scan", "affine_select"}
_FORWARD = _ELEMENTWISE | {"tensor_reduce", "tensor_tensor_scan", "dma_copy", "nc_matmul", "nc_transpose", "max8"}


Clips = Tuple[Tuple[int, Number], ...]


class _Uses:
    """Which instructions touch an object."""

    def __init__(self, records: List[Record]):
        self.of: Dict[int, List[Tuple[int, str, Instruction]]] = {}
        for k, r in enumerate(records):
            if isinstance(r, Instruction):
                for name, o in r.operands.items():
                    self.of.setdefault(o.object.uid, []).append((k, name, r))
                    if o.index is not None:
                        self.of.setdefault(o.index[2].object.uid, []).append((k, name + ".index", r))

    def __call__(self, o: Object) -> List[Tuple[int, str, Instruction]]:
        return self.of.get(o.uid, [])


def finish(t: Trace, kept: Set[int]) -> None:
    """Rewrites t.records. kept: objects that are read after the kernel."""
    _begin_reductions(t)
    _accumulate(t, kept)
    _forward(t, kept)
    _first_products(t)
    _check_reads(t)


_NEUTRAL = {"add": 0.0, "mul": 1.0, "max": -math.inf, "min": math.inf}


def _begin_reductions(t: Trace) -> None:
    for o in sorted(t.objects, key=lambda o: -o.position):
        if o.reduced not in _NEUTRAL:
            continue
        value = _NEUTRAL[o.reduced]
        if math.isinf(value) and not dtypes.is_float(o.dtype):
            limits = np.iinfo(o.dtype)
            value = float(limits.min if value < 0 else limits.max)
        fill = Instruction("memset", {"dst": Operand(o, o.dtype, 0, ((o.elements, o.partitions), (1, o.elements)))}, reals={"value": value})
        fill.where, fill.api, fill.open = o.where, "nl.loop_reduce", _open_at(t.records, o.position)
        t.records.insert(o.position, fill)


def _open_at(records: List[Record], position: int) -> Tuple[Variable, ...]:
    """The loops around a place among the instructions."""
    out: List[Variable] = []
    for r in records[:position]:
        if isinstance(r, LoopBegin):
            out.append(r.variable)
        elif isinstance(r, LoopEnd):
            out.remove(r.variable)
    return tuple(out)


def _check_reads(t: Trace) -> None:
    """What the kernel itself made and reads must have been written by something, in whatever order."""
    written = {o.object.uid for r in t.records if isinstance(r, Instruction) for n, o in r.operands.items() if n in _WRITTEN}
    for r in t.records:
        if not isinstance(r, Instruction):
            continue
        read = [o.object for n, o in r.operands.items() if n not in _WRITTEN]
        read += [o.index[2].object for o in r.operands.values() if o.index is not None]
        for o in read:
            if o.uid in written or o.is_result or o.assigned or o.space == "hbm" and o.role != "internal":
                continue
            does = "stores" if r.name == "dma_copy" and o is r.operands["src"].object and o.space != "hbm" else "reads"
            what, instead = ("tensor", "store to it first") if o.space == "hbm" else ("tile", "assign to it first, or make it with nl.zeros")
            raise NkiError("%s:%d: %s: %s %s '%s' %s, which nothing has written (made in line %d); %s" %
                           (r.where[0], r.where[1], r.api, does, what, o.name, list(o.shape), o.where[1], instead))


def _drop(records: List[Record], gone: Set[int]) -> None:
    records[:] = [r for k, r in enumerate(records) if k not in gone]


def _free(o: Operand) -> Tuple[Dim, List[Dim], Clips]:
    """A pattern without the form in which it is seen: its partitions, and its free dims, merged."""
    return o.dims[0], merge_dims(o.dims[1:]), o.clips


def _as_product(dst: Operand, place: Operand) -> Optional[Operand]:
    """A pattern as a product writes it, of two dims."""
    if len(dst.dims) == len(place.dims):
        return dst if dst.counts == place.counts else None
    free = merge_dims(dst.dims[1:]) or [(1, 1)]
    if len(free) != 1 or (dst.dims[0][1], free[0][1]) != place.counts or dst.clips or dst.index is not None:
        return None
    return Operand(dst.object, dst.dtype, dst.offset, (dst.dims[0], free[0]))


def _accumulate(t: Trace, kept: Set[int]) -> None:
    uses = _Uses(t.records)
    gone: Set[int] = set()
    for k in range(1, len(t.records)):
        add, mm = t.records[k], t.records[k - 1]
        if not isinstance(add, Instruction) or not isinstance(mm, Instruction) or mm.name != "nc_matmul" or add.name != "tensor_tensor":
            continue
        if add.functions.get("op") != "add" or mm.numbers.get("accumulate"):
            continue
        dst, a, b = add.operands["dst"], add.operands["a"], add.operands["b"]
        place = mm.operands["dst"]
        if b.object is not place.object or not dst.same_place(a) or dst.object.space != "psum" or dst.dtype != dtypes.float32:
            continue
        if b.offset != place.offset or _free(b) != _free(place) or len(uses(b.object)) != 2 or b.object.uid in kept:
            continue
        to = _as_product(dst, place)
        if to is None:
            continue
        mm.operands["dst"] = to
        mm.numbers["accumulate"] = -1
        gone.add(k)
    _drop(t.records, gone)


def _forward(t: Trace, kept: Set[int]) -> None:
    uses = _Uses(t.records)
    gone: Set[int] = set()
    for k, r in enumerate(t.records):
        if not isinstance(r, Instruction) or r.name != "tensor_copy":
            continue
        dst, src = r.operands["dst"], r.operands["src"]
        tile = src.object
        if tile.uid in kept or tile.space == "hbm" or dst.object is tile or len(uses(tile)) != 2:
            continue
        at, name, maker = uses(tile)[0]
        if maker is r or name != "dst" or maker.name not in _FORWARD or maker.open != r.open or at in gone:
            continue
        made = maker.operands["dst"]
        if not _equal_places(made, src) or not _types_agree(maker, made, dst) or not _memory_agrees(maker, dst):
            continue
        if any(isinstance(x, (LoopBegin, LoopEnd)) for x in t.records[at:k]) or _touched(t.records, at, k, dst, maker):
            continue
        maker.operands["dst"] = dst
        gone.add(k)
    _drop(t.records, gone)


def _equal_places(a: Operand, b: Operand) -> bool:
    return a.same_place(b)


def _types_agree(maker: Instruction, made: Operand, dst: Operand) -> bool:
    if made.dtype == dst.dtype:
        return True
    if made.dtype != dtypes.float32:
        return False
    if maker.name in ("dma_copy", "memset", "tensor_copy"):
        return maker.name != "tensor_copy" or maker.operands["src"].dtype == dtypes.float32
    if maker.name in _ROUNDS_ONCE:
        return dtypes.is_float(dst.dtype) and all(dtypes.is_float(o.dtype) for n, o in maker.operands.items() if n != "dst")
    return False


def _memory_agrees(maker: Instruction, dst: Operand) -> bool:
    if maker.name == "nc_matmul":
        return dst.object.space == "psum" and dst.dtype == dtypes.float32 and not maker.numbers.get("accumulate")
    if maker.name == "dma_copy":
        return dst.object.space == "sbuf" and len(maker.operands["src"].dims) == len(dst.dims)
    return True


def _touched(records: List[Record], at: int, k: int, dst: Operand, maker: Instruction) -> bool:
    """Whether computing straight into dst would disturb what is read."""
    for n, o in maker.operands.items():
        if n == "dst":
            continue
        if o.object is dst.object:
            same = o.offset == dst.offset and o.dims == dst.dims and o.dtype == dst.dtype
            if not (same and maker.name in _ELEMENTWISE and o.index is None):
                return True
        if o.index is not None and o.index[2].object is dst.object:
            return True
    for r in records[at + 1:k]:
        if isinstance(r, Instruction):
            for o in r.operands.values():
                if o.object is dst.object or (o.index is not None and o.index[2].object is dst.object):
                    return True
    if dst.index is not None:
        return True
    return False


def _first_products(t: Trace) -> None:
    """Resolves accumulate = -1: what a PSUM tile holds before its first product counts as zero."""
    uses = _Uses(t.records)
    zero: List[Object] = []
    for o in t.objects:
        if o.space != "psum":
            continue
        mine = uses(o)
        groups = [(k, r) for k, n, r in mine if r.name == "nc_matmul" and n == "dst" and r.numbers.get("accumulate") == -1]
        if not groups:
            if (o.zeroed or _adds_first(mine)) and not _written_first(mine):
                zero.append(o)
            continue
        if _resolve_alone(o, mine, groups):
            continue
        if not o.zeroed and _resolve_straight(o, mine, groups) or _resolve_parts(o, mine):
            continue
        for _, r in groups:
            r.numbers["accumulate"] = 1
        zero.append(o)
    if zero:
        _insert_zeros(t, zero)


def _adds_first(mine: List[Tuple[int, str, Instruction]]) -> bool:
    """Whether what touches a tile first adds a product to it."""
    if not mine:
        return False
    r = mine[0][2]
    return r.name == "tensor_tensor" and r.functions.get("op") == "add" and r.operands["dst"].same_place(r.operands["a"])


def _written_first(mine: List[Tuple[int, str, Instruction]]) -> bool:
    """Whether what reads a tile, or adds to it, finds what an instruction before it, in the same loops or around them, has written there."""
    for k, name, r in mine:
        if name in _WRITTEN and not r.numbers.get("accumulate"):
            continue
        p = r.operands.get(name)
        if p is None or not any(at < k and n == "dst" and w.open == r.open[:len(w.open)] and w.operands[n].index is None and not w.operands[n].clips
                                and w.operands[n].same_place(p) for at, n, w in mine):
            return False
    return True


def _resolve_alone(o: Object, mine: List[Tuple[int, str, Instruction]], groups: List[Tuple[int, Instruction]]) -> bool:
    """One product in loops writes the tile: it overwrites when the loops that do not move it are in their first trip."""
    writers = {id(r) for k, n, r in mine if n == "dst"}
    if len(groups) != 1 or writers != {id(groups[0][1])}:
        return False
    r = groups[0][1]
    d = r.operands["dst"]
    if any(k < groups[0][0] for k, n, x in mine if n != "dst" and x is not r):
        return False
    inside = r.open[o.depth:]
    moving = [v for v, _ in d.offset.terms] if isinstance(d.offset, Expr) else []
    still = [v for v in inside if v not in moving]
    alike = all(n in x.operands and x.operands[n].same_place(d) for _, n, x in mine)  # what is read is what the product's trip has written
    if d.clips and (not alike or any(v in still for v in d.variables())):
        return False
    if o.zeroed and not alike:
        covered = 1
        for c in d.counts + tuple(v.count for v in moving if v in inside):
            covered *= c
        if covered != o.size:
            return False
    # Loops that move the tile must stand outside those that do not, or each place would be reset again: it is not, as the
    # sum is of loops that do not move it.
    r.numbers["accumulate"] = Expr((), 0, tuple((v, 1) for v in sorted(still, key=lambda v: v.uid)), ())._simple()
    return True



def _resolve_parts(o: Object, mine: List[Tuple[int, str, Instruction]]) -> bool:
    """Products that write columns which no other has: each of them alone."""
    for part in parts(mine) or [[]]:
        groups = [(k, r) for k, n, r in part if r.name == "nc_matmul" and n == "dst" and r.numbers.get("accumulate") == -1]
        if not groups or not _resolve_alone(o, part, groups):
            return False
    return True


def _resolve_straight(o: Object, mine: List[Tuple[int, str, Instruction]], groups: List[Tuple[int, Instruction]]) -> bool:
    """No loops between: the first product at a place overwrites, unless something else wrote there."""
    if any(len(r.open) != o.depth for _, _, r in mine):
        return False
    written: List[Operand] = []
    plan: List[Tuple[Instruction, int]] = []
    for _, n, r in mine:
        d = r.operands.get("dst")
        if n != "dst" or d is None:
            continue
        if d.clips:
            return False
        seen = [w for w in written if _overlaps(w, d)]
        if r.name == "nc_matmul" and r.numbers.get("accumulate") == -1:
            if not seen:
                plan.append((r, 0))
            elif any(_contains(w, d) for w in seen):
                plan.append((r, 1))
            else:
                return False
        written.append(d)
    for r, v in plan:
        r.numbers["accumulate"] = v
    return True


def _range(d: Operand) -> Tuple[int, int]:
    lo = hi = d.offset if isinstance(d.offset, int) else 0
    for s, c in d.dims:
        hi += s * (c - 1) if s > 0 else 0
        lo += s * (c - 1) if s < 0 else 0
    return lo, hi


def _overlaps(a: Operand, b: Operand) -> bool:
    if isinstance(a.offset, Expr) or isinstance(b.offset, Expr):
        return True
    (la, ha), (lb, hb) = _range(a), _range(b)
    if ha < lb or hb < la:
        return False
    per = a.object.elements
    fa, fb = _columns(a, per), _columns(b, per)
    return not (fa[1] < fb[0] or fb[1] < fa[0])


def _columns(d: Operand, per: int) -> Tuple[int, int]:
    lo = hi = (d.offset if isinstance(d.offset, int) else 0) % per
    for s, c in d.dims:
        if s % per or not s:
            hi += max(s, 0) * (c - 1)
    return lo, hi


def _contains(a: Operand, b: Operand) -> bool:
    if isinstance(a.offset, Expr) or isinstance(b.offset, Expr):
        return a.same_place(b)
    if a.offset == b.offset and a.dims == b.dims:
        return True
    per = a.object.elements
    ca, cb = _columns(a, per), _columns(b, per)
    n = 1
    for s, c in a.dims:
        n *= c
    dense = n == (ca[1] - ca[0] + 1) * max([c for s, c in a.dims if s and s % per == 0] or [1])
    (la, ha), (lb, hb) = _range(a), _range(b)
    return dense and ca[0] <= cb[0] and cb[1] <= ca[1] and la // per <= lb // per and hb // per <= ha // per


def _insert_zeros(t: Trace, zero: List[Object]) -> None:
    """A fill before the first use of each tile, in the loops in which the tile was made."""
    first: Dict[int, int] = {}
    stack: List[int] = []
    for k, r in enumerate(t.records):
        if isinstance(r, LoopBegin):
            stack.append(k)
        elif isinstance(r, LoopEnd):
            stack.pop()
        else:
            for o in r.operands.values():
                if o.object.uid not in first:
                    at = stack[o.object.depth] if len(stack) > o.object.depth else k
                    first[o.object.uid] = at
    add: Dict[int, List[Instruction]] = {}
    for o in zero:
        if o.uid in first:
            i = Instruction("memset", {"dst": Operand(o, o.dtype, 0, ((o.elements, o.partitions), (1, o.elements)))}, reals={"value": 0.0})
            i.where, i.api = o.where, "nl.zeros"
            add.setdefault(first[o.uid], []).append(i)
    out: List[Record] = []
    stack2: List[object] = []
    for k, r in enumerate(t.records):
        for i in add.get(k, []):
            i.open = tuple(stack2)  # type: ignore[arg-type]
            out.append(i)
        if isinstance(r, LoopBegin):
            stack2.append(r.variable)
        elif isinstance(r, LoopEnd):
            stack2.pop()
        out.append(r)
    t.records[:] = out
