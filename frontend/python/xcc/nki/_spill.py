"""Tiles for which there is no room: they become tensors in HBM, as AWS's compiler spills what does not fit.

On cpu, whose engines reach both memories, the largest ones. On strict targets only lists of tiles (dims before the partitions, or tiles
that one line makes many of), of which the kernel did not say that all lie on the chip at one time: instructions get tiles of their own, and
transfers from and to HBM. Products write to PSUM still, and are copied to SBUF from there.
"""
from __future__ import annotations

import math
from typing import Any, Dict, List, Tuple

from ._index import Expr
from ._record import Instruction, Object, Operand, Record, is_whole
from ._races import WRITTEN
from ._shrink import bytes_on_chip
from ._start import move, tile_for
from ._trace import Trace

LIMIT = 1 << 30  # bytes of tiles of one program


def _to_hbm(t: Trace, o: Object) -> None:
    """The tile becomes a tensor; of a grid each program has a part of it."""
    size = o.size
    o.space, o.role, o.elements, o.partitions = "hbm", "internal", size, 0
    if all(n == 1 for n in t.grid):
        return
    o.private, o.shape, o.elements = True, tuple(t.grid) + o.shape, size * math.prod(t.grid)
    own = Expr((), 0, tuple((v, size * math.prod(t.grid[k + 1:])) for k, v in enumerate(t.grid_variables) if v.count > 1), ())
    operands = [p for r in t.records if isinstance(r, Instruction) for p in r.operands.values()]
    operands += [p.index[2] for p in operands if p.index is not None]
    for p in {id(p): p for p in operands if p.object is o}.values():
        p.offset = own + p.offset


def _one_trace(t: Trace) -> bool:
    """Whether records are those of all programs."""
    return t.symbolic_grid or all(n == 1 for n in t.grid)


def spill(t: Trace) -> List[Object]:
    """Moves the largest tiles to HBM until the others fit; those that it moved."""
    moved: List[Object] = []
    over = bytes_on_chip(t) - LIMIT
    if over <= 0 or t.target != "cpu" or not _one_trace(t):
        return moved
    used = {o.object for r in t.records if isinstance(r, Instruction) for o in r.operands.values()}
    for o in sorted((o for o in used if o.space == "sbuf"), key=lambda o: -o.size * o.dtype.itemsize):
        if over <= 0:
            break
        over -= o.size * o.dtype.itemsize
        _to_hbm(t, o)
        moved.append(o)
    return moved


_FILLS = {"tensor_tensor", "tensor_scalar", "tensor_copy", "memset", "select", "iota", "activation", "tensor_reduce", "affine_select",
          "nc_transpose", "dma_copy"}  # write all of dst
_MOST = 16 << 10  # bytes in a partition that an instruction's own tile may have
_MANY = 4


def spill_list(t: Trace, over: int, space: str) -> List[Object]:
    """Moves to HBM the smallest list of tiles that has as many bytes in a partition as there are too many, or the largest; else tiles
    that one line has made many of, which a list of Python's keeps. Those that it moved."""
    if not _one_trace(t) or space == "psum" and t.interface == "v06":  # where kernels say what lies in which bank
        return []
    uses = {o: found for o, found in _uses(t, space).items() if all(_can_move(r, name) for r, name in found)}
    by_size = sorted((o for o in uses if o.is_list), key=lambda o: (_columns(o), o.uid))
    chosen = next((o for o in by_size if _columns(o) >= over), by_size[-1] if by_size else None)
    moved = [chosen] if chosen is not None and (_columns(chosen) > _MOST or _columns(chosen) >= over) else \
        _many(t, uses, over) if space == "sbuf" else []
    for o in moved:
        out: List[Record] = []
        for r in t.records:
            out += _apart(t, r, o) if isinstance(r, Instruction) and r.name != "dma_copy" else [r]
        t.records[:] = out
        _to_hbm(t, o)
    return moved


def _many(t: Trace, uses: Dict[Object, List[Tuple[Instruction, str]]], over: int) -> List[Object]:
    """As many as it takes of the tiles that a line has made at least _MANY of; those that live long before others."""
    at = {id(r): k for k, r in enumerate(t.records)}
    life = {o: at[id(found[-1][0])] - at[id(found[0][0])] for o, found in uses.items() if not o.is_list and o.name != "moved"}
    lines: Dict[Tuple[Any, ...], List[Object]] = {}
    for o in life:
        lines.setdefault((o.where, o.shape, o.dtype), []).append(o)
    alike = max((v for v in lines.values() if len(v) >= _MANY), key=lambda v: sum(life[o] for o in v) * _columns(v[0]), default=[])
    return sorted(alike, key=lambda o: (-life[o], o.uid))[:max(1, -(-over // _columns(alike[0])))] if alike else []


def _columns(o: Object) -> int:
    return o.elements * o.dtype.itemsize


def _uses(t: Trace, space: str) -> Dict[Object, List[Tuple[Instruction, str]]]:
    """Of tiles in a memory that no index goes through."""
    of: Dict[Object, List[Tuple[Instruction, str]]] = {}
    out = set()
    for r in t.records:
        for name, o in r.operands.items() if isinstance(r, Instruction) else ():
            if o.index is not None:
                out |= {o.object, o.index[2].object}
            of.setdefault(o.object, []).append((r, name))
    return {o: found for o, found in of.items() if o.space == space and o not in out}


def _can_move(r: Instruction, name: str) -> bool:
    """Whether the instruction can have a tile of its own instead of the operand."""
    o = r.operands[name]
    free = o.dtype.itemsize
    for s, c in o.dims[1:]:
        free *= c if s else 1
    fills = r.name in _FILLS or r.name == "nc_matmul" and not r.numbers.get("accumulate")
    plain = o.dtype == o.object.dtype and not o.cut and (name not in WRITTEN or name == "dst" and fills)
    return plain and (r.name == "dma_copy" or r.name == "memset" and is_whole(o) or free <= _MOST)


def _apart(t: Trace, r: Instruction, o: Object) -> List[Record]:
    """The instruction on tiles of its own, between transfers."""
    before: List[Record] = []
    after: List[Record] = []
    for name, p in list(r.operands.items()):
        if p.object is o:
            if is_whole(p) and r.name == "memset":
                p = _in_parts(p)
                own = tile_for(t, r, Operand(o, o.dtype, 0, tuple((0, c) if k == 1 else (s, c) for k, (s, c) in enumerate(p.dims)), p.clips))
                r.operands[name] = Operand(own.object, own.dtype, 0, (own.dims[0],) + own.dims[2:])
            else:
                own = r.operands[name] = tile_for(t, r, p)
            if name == "dst" and r.name in _PRODUCTS and o.space == "psum":
                after.append(_from_psum(t, r, own))
            (after if name == "dst" else before).append(move(r, p, own) if name == "dst" else move(r, own, p))
    return before + [r] + after


_PRODUCTS = ("nc_matmul", "nc_transpose")  # of the Tensor engine, which writes to PSUM


def _from_psum(t: Trace, r: Instruction, own: Operand) -> Instruction:
    """A copy from a tile in PSUM, to which the instruction writes, to its own."""
    there = t.tile("psum", (own.object.partitions, own.object.elements), own.dtype, "moved").object
    there.where, there.depth, there.is_result = r.where, len(r.open), True
    r.operands["dst"] = Operand(there, own.dtype, 0, own.dims, own.clips)
    copy = Instruction("tensor_copy", {"dst": own, "src": Operand(there, own.dtype, 0, own.dims, own.clips)})
    copy.where, copy.api, copy.open = r.where, r.api, r.open
    return copy


def _in_parts(p: Operand) -> Operand:
    """A fill's pattern with a dim over its parts, each of which is written from one tile."""
    o = p.object
    n = o.elements
    parts = next(k for k in range(1, n + 1) if n % k == 0 and n // k * p.dtype.itemsize <= _MOST)
    return Operand(o, p.dtype, 0, ((n, o.partitions), (n // parts, parts), (1, n // parts)))
