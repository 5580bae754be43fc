"""From a finished trace to an archive: objects, loops and instructions are handed to libxcc's kernel builder."""
from __future__ import annotations

import ctypes
import os
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import _arrays, _lib, dtypes
from ._errors import NkiError, NkiIndexError
from ._index import Expr, Variable
from ._ops import BITS, COMPARES, LOGICAL
from ._record import Dim, Instruction, LoopBegin, LoopEnd, Number, Object, Operand
from ._told import in_its_words, told
from ._trace import Trace

_FUNCTIONS = {"shift_left": "shl", "shift_right": "shr", "bypass": "identity"}
_DIMS = 6  # of an access pattern
_UNSIGNED = {dtypes.int32: dtypes.uint32, dtypes.int16: dtypes.uint16, dtypes.int8: dtypes.uint8}
_ALIGNED = {"tensor_copy", "memset", "tensor_tensor", "tensor_scalar", "tensor_alu", "activation", "select", "dma_copy", "gather",
            "scatter", "dma_accumulate", "random", "dropout"}  # operands of equal counts: dims can be merged


class Builder:
    """One kernel under construction in the library."""

    def __init__(self, t: Trace, name: str):
        self.lib = _lib.xcc()
        self.trace = t
        self.kernel = self.lib.xcc_kernel_new(name.encode(), t.target.encode())
        if not self.kernel:
            raise _lib.fail()
        self.numbers: Dict[int, int] = {}  # object uid -> the library's number
        self.variables: Dict[int, int] = {}  # variable uid -> the library's number
        self.at: Tuple[Any, ...] = ()
        self.buffers = [ctypes.create_string_buffer(n) for n in (_lib.OPERAND.size * 8, _lib.NUMBER.size * 12, _lib.REAL.size * 8,
                                                                  _lib.FUNCTION.size * 8)]

    def __del__(self) -> None:
        if getattr(self, "kernel", None):
            self.lib.xcc_kernel_free(self.kernel)
            self.kernel = None

    # -- objects ----------------------------------------------------------------------------------------------------

    def _dims(self, shape: Sequence[int]) -> Any:
        return (ctypes.c_int64 * max(len(shape), 1))(*shape)

    def object(self, o: Object) -> int:
        n = self.numbers.get(o.uid)
        if n is not None:
            return n
        name, d = o.name.encode(), dtypes.name_of(o.dtype).encode()
        if o.space == "hbm":
            args = (self.kernel, name, d, len(o.shape), self._dims(o.shape))
            if o.role == "input":
                n = self.lib.xcc_input(*args)
            elif o.role == "constant":
                data = np.ascontiguousarray(o.data)
                n = self.lib.xcc_constant(*args, data.ctypes.data)
            else:
                n = self.lib.xcc_internal(*args)
        else:
            n = self.lib.xcc_tile(self.kernel, o.space.encode(), name, d, o.partitions, o.elements, o.address)
            if n >= 0 and o.is_result:  # a mask may have left elements out: they are of no interest to whoever masks
                self.lib.xcc_tile_is_partial(self.kernel, n)
        if n < 0:
            raise self.failure(o.where)
        self.numbers[o.uid] = n
        return n

    def failure(self, where: Tuple[str, int] = ("", 0), origin: Optional[Instruction] = None,
                made: Optional[Instruction] = None) -> Exception:
        text = (self.lib.xcc_error() or b"").decode(errors="replace")
        if origin is None or made is None:
            text = told(text, self.trace, lower)
        else:
            text = in_its_words(text.replace("%s:%d: " % where, "", 1), [origin], lambda _: [made])
        if where[0] and not text.startswith(where[0]):
            text = "%s:%d: %s" % (where[0], where[1], text)
        return (NkiIndexError if "out of bounds" in text else NkiError)(text)

    # -- instructions -----------------------------------------------------------------------------------------------

    def build(self, inputs: Sequence[Object], results: Sequence[Object]) -> None:
        t = self.trace
        for o in inputs:
            self.object(o)
        if t.grid_variables and any(n > 1 for n in t.grid):
            if not self.lib.xcc_grid(self.kernel, len(t.grid), self._dims(t.grid)):
                raise self.failure()
            for k, v in enumerate(t.grid_variables):
                self.variables[v.uid] = k
        for r in t.records:
            if isinstance(r, LoopBegin):
                n = self.lib.xcc_loop(self.kernel, r.variable.count)
                if n < 0:
                    raise self.failure()
                self.variables[r.variable.uid] = n
            elif isinstance(r, LoopEnd):
                if not self.lib.xcc_end(self.kernel):
                    raise self.failure()
            else:
                self.locate(r)
                for i in lower(r):
                    self.emit(i, r)
        for k, o in enumerate(results):
            if not self.lib.xcc_result(self.kernel, self.object(o), ("output%d" % k).encode()):
                raise self.failure()

    def locate(self, i: Instruction) -> None:
        at = (i.where, i.api)
        if at != self.at:
            self.at = at
            self.lib.xcc_at(self.kernel, i.where[0].encode(), i.where[1], i.api.encode())

    def _operand(self, k: int, name: str, o: Operand) -> None:
        coef = [0] * _lib.MAX_VARS
        offset = o.offset
        if isinstance(offset, Expr):
            for v, c in offset.terms:
                coef[self.variables[v.uid]] += c
            offset = offset.base
        dims: List[int] = []
        for s, c in o.dims:
            dims += (s, c)
        dims += [0] * (2 * _lib.MAX_RANK - len(dims))
        clips: List[int] = []
        for dim, bound in o.clips:
            assert isinstance(bound, Expr) and len(bound.terms) == 1
            v, c = bound.terms[0]
            clips += (dim, self.variables[v.uid], -c, bound.base)
        n = len(clips) // 4
        clips += [0] * (4 * _lib.MAX_CLIPS - len(clips))
        d = _lib.text(dtypes.name_of(o.dtype)) if o.dtype != o.object.dtype else 0
        _lib.OPERAND.pack_into(self.buffers[0], k * _lib.OPERAND.size, _lib.text(name), self.object(o.object), len(o.dims), d, offset,
                               *coef, *dims, n, 0, *clips)

    def _number(self, k: int, name: str, x: Number) -> None:
        coef = [0] * _lib.MAX_VARS
        base = x
        if isinstance(x, Expr):
            for v, c in x.terms:
                coef[self.variables[v.uid]] += c
            base = x.base
        _lib.NUMBER.pack_into(self.buffers[1], k * _lib.NUMBER.size, _lib.text(name), int(base), *coef)  # type: ignore[call-overload]

    def emit(self, i: Instruction, origin: Instruction) -> None:
        for k, (name, o) in enumerate(i.operands.items()):
            self._operand(k, name, o)
        for k, (name, x) in enumerate(i.numbers.items()):
            self._number(k, name, x)
        for k, (name, value) in enumerate(i.reals.items()):
            _lib.REAL.pack_into(self.buffers[2], k * _lib.REAL.size, _lib.text(name), float(value))
        for k, (name, f) in enumerate(i.functions.items()):
            _lib.FUNCTION.pack_into(self.buffers[3], k * _lib.FUNCTION.size, _lib.text(name), _lib.text(_FUNCTIONS.get(f, f)))
        c = _lib.Instruction(i.name.encode(), len(i.operands), len(i.numbers), len(i.reals), len(i.functions),
                             *[ctypes.addressof(b) for b in self.buffers], i.engine.encode() if i.engine else None)
        if not self.lib.xcc_emit(self.kernel, ctypes.byref(c)):
            raise self.failure(origin.where, origin, i)

    def finish(self) -> _lib.Archive:
        a = _lib.Archive()
        if not self.lib.xcc_kernel_finish(self.kernel, ctypes.byref(a.bytes)):
            raise self.failure()
        return a

    def assembly(self) -> str:
        """As a model carries it; the builder is of no use afterwards."""
        s = self.lib.xcc_kernel_assembly(self.kernel)
        if not s:
            raise self.failure()
        return s.decode()

    def unwritten(self) -> Optional[Tuple[str, Object]]:
        """Where and of which tile or tensor elements are read that nothing has written; None: of none that can be told of."""
        where = ctypes.c_char_p()
        n = self.lib.xcc_kernel_unwritten(self.kernel, ctypes.byref(where))
        found = next((o for o in self.trace.objects if self.numbers.get(o.uid) == n), None)
        return ((where.value or b"").decode(errors="replace"), found) if found else None

    def text(self) -> str:
        s = self.lib.xcc_kernel_text(self.kernel)
        if not s:
            raise self.failure()
        return s.decode()


# -- rows of the instruction set --------------------------------------------------------------------------------------


def lower(r: Instruction) -> List[Instruction]:
    """The library's instructions for one of ours."""
    f = _LOWER.get(r.name)
    out: List[Instruction] = []
    for i in f(r) if f else [r]:
        out += _split(_compress(i)) if i.name in _ALIGNED else [i]
    return out


def _engine(r: Instruction) -> Optional[str]:
    return r.engine


def _make(r: Instruction, name: str, operands: Dict[str, Operand], numbers: Optional[Dict[str, Any]] = None,
          reals: Optional[Dict[str, float]] = None, functions: Optional[Dict[str, str]] = None) -> Instruction:
    return Instruction(name, operands, numbers, reals, functions, r.engine)


def _copy(r: Instruction) -> List[Instruction]:
    dst, src = r.operands["dst"], r.operands["src"]
    rank = len(dst.dims)
    for o, name in ((src, "gather"), (dst, "scatter")):
        if o.index is None:
            continue
        axis, step, rows, limit = o.index
        limit = min(limit, _room(o, step))
        if axis < 0:
            index = Operand(rows.object, rows.dtype, rows.offset, ((0, 1),) * rank)
        else:
            dims: List[Dim] = [(0, 1)] * rank
            dims[axis] = rows.dims[0]
            index = Operand(rows.object, rows.dtype, rows.offset, tuple((s, c) if k == axis else (0, dst.dims[k][1]) for k, (s, c) in enumerate(dims)),
                            dst.clips)
        numbers = {"stride": step, "limit": limit}
        if r.numbers.get("skip"):
            numbers["skip"] = 1
        functions = {}
        if name == "scatter" and r.numbers.get("accumulate"):
            functions["combine"] = "add"
        plain = [Operand(x.object, x.dtype, x.offset, x.dims, x.clips) for x in (dst, src)]
        return [_make(r, name, {"dst": plain[0], "src": plain[1], "index": index}, numbers, {}, functions)]
    if r.numbers.get("accumulate"):
        return [_make(r, "dma_accumulate", r.operands, {}, {}, {"op": "add"})]
    if r.name == "tensor_copy" and _narrows(dst.dtype, src.dtype):
        return [_make(r, "tensor_alu", r.operands, {}, {}, {"op0": "identity", "op1": "identity"})]
    return [_make(r, r.name, r.operands)]


def _room(o: Operand, step: int) -> int:
    """How many values an index may have so that the pattern stays within its object."""
    top = o.offset.bounds()[1] if isinstance(o.offset, Expr) else o.offset
    top += sum(s * (c - 1) for s, c in o.dims if s > 0)
    return max((o.object.size - 1 - top) // max(step, 1) + 1, 1)


def _narrows(dst: np.dtype, src: np.dtype) -> bool:
    """Whether integers are copied to a type that does not hold all of them, which limits them; those of 32 bits keep their bits."""
    if dst == src or dtypes.is_float(dst) or dtypes.is_float(src) or "b" in (dst.kind, src.kind) or dst.itemsize == src.itemsize == 4:
        return False
    d, s = np.iinfo(dst), np.iinfo(src)
    return bool(d.min > s.min or d.max < s.max)


def _tensor_tensor(r: Instruction) -> List[Instruction]:
    op = r.functions["op"]
    o = r.operands
    if op in ("shift_left", "shift_right"):
        o = {n: _unsigned(x) for n, x in o.items()}
    if _by_floats(op, o) or op in ("shift_left", "shift_right"):
        return [_make(r, "tensor_alu", {"dst": o["dst"], "src": o["a"], "a": o["b"]}, {}, {}, {"op0": op, "op1": "identity"})]
    return [_make(r, "tensor_tensor", o, {}, {}, {"op": op})]


def _by_floats(op: str, o: Dict[str, Operand]) -> bool:
    """Whether integers are computed with in f32, and the result is rounded and limited to its type: those of 32 bits are not, nor where no
    result lies beyond its type."""
    if any(dtypes.is_float(x.dtype) for n, x in o.items() if n != "dst"):
        return False
    types = {x.dtype for x in o.values()}
    if op in ("div", "pow") or dtypes.is_float(o["dst"].dtype):
        return True
    return not (op in BITS + COMPARES + LOGICAL or all(d.itemsize == 4 for d in types) or op in ("max", "min") and len(types) == 1)


def _unsigned(o: Operand) -> Operand:
    d = _UNSIGNED.get(o.dtype)
    return o if d is None else Operand(o.object, d, o.offset, o.dims, o.clips, o.index)


_BITWISE = ("and", "or", "xor", "shift_left", "shift_right", "bitnot")


def _tensor_scalar(r: Instruction) -> List[Instruction]:
    o = dict(r.operands)
    bits = any(f in _BITWISE for f in r.functions.values())
    if not bits and "operand0" not in o and "operand1" not in o and "reduced" not in o:
        return [_make(r, "tensor_scalar", {"dst": o["dst"], "src": o["src"]}, r.numbers, r.reals, r.functions)]
    if any(f.startswith("shift") for f in r.functions.values()):
        o = {n: _unsigned(x) for n, x in o.items()}
    operands = {"dst": o["dst"], "src": o["src"]}
    if "operand0" in o:
        operands["a"] = o["operand0"]
    if "operand1" in o:
        operands["b"] = o["operand1"]
    if "reduced" in o:
        operands["reduced"] = o["reduced"]
    return [_make(r, "tensor_alu", operands, r.numbers, r.reals, r.functions)]


def _reduce(r: Instruction) -> List[Instruction]:
    return [_make(r, "tensor_reduce", r.operands, {"axes": r.numbers["axes"]}, {"scale": -1.0 if r.numbers.get("negate") else 1.0}, r.functions)]


def _steps(r: Instruction) -> Dict[str, Any]:
    rank = len(r.operands["dst"].dims)
    numbers: Dict[str, Any] = {"base": r.numbers["base"]}
    for k in range(rank):
        numbers["step%d" % (6 - rank + k)] = r.numbers.get("step%d" % k, 0)
    return numbers


def _iota(r: Instruction) -> List[Instruction]:
    return [_make(r, "iota_pattern", r.operands, _steps(r))]


def _affine_select(r: Instruction) -> List[Instruction]:
    return [_make(r, "affine_predicate", r.operands, _steps(r), r.reals, {"compare": r.functions["cmp"]})]


def _matmul(r: Instruction) -> List[Instruction]:
    def turned(o: Operand) -> Operand:
        return Operand(o.object, o.dtype, o.offset, (o.dims[1], o.dims[0]), tuple((1 - k, b) for k, b in o.clips))

    o = r.operands
    return [_make(r, "nc_matmul", {"dst": turned(o["dst"]), "stationary": o["stationary"], "moving": turned(o["moving"])},
                  {"accumulate": r.numbers.get("accumulate", 0)})]


def _scan(r: Instruction) -> List[Instruction]:
    return [_make(r, "tensor_scan", r.operands, r.numbers, {"start": r.reals["initial"]}, r.functions)]


def _search(name: str) -> Any:
    def f(r: Instruction) -> List[Instruction]:
        operands = {"values" if n == "vals" else n: o for n, o in r.operands.items()}
        return [_make(r, name, operands, r.numbers, {"value": v for v in r.reals.values()}, r.functions)]
    return f


def _gather(r: Instruction) -> List[Instruction]:
    dst, src, index = (r.operands[n] for n in ("dst", "src", "index"))
    rows, (step, count) = src.dims[0], src.dims[1]
    pattern = Operand(src.object, src.dtype, src.offset, (rows, (0, dst.dims[1][1])), dst.clips)
    return [_make(r, "gather", {"dst": dst, "src": pattern, "index": index}, {"stride": step, "limit": count})]


def _local_gather(r: Instruction) -> List[Instruction]:
    return [_make(r, "local_gather", r.operands, {"elements": r.numbers["per"], "valid": r.numbers["valid"]})]


def _sequence_bounds(r: Instruction) -> List[Instruction]:
    d, s = r.operands["dst"], r.operands["src"]
    n = s.dims[1][1]
    step = d.dims[1][0]
    starts = Operand(d.object, d.dtype, d.offset, (d.dims[0], (step, n)))
    ends = Operand(d.object, d.dtype, d.offset + n * step, (d.dims[0], (step, n)))
    return [_make(r, "sequence_bounds", {"starts": starts, "ends": ends, "src": s})]


_LOWER = {
    "dma_copy": _copy, "tensor_copy": _copy, "tensor_tensor": _tensor_tensor, "tensor_scalar": _tensor_scalar, "tensor_reduce": _reduce,
    "iota": _iota, "affine_select": _affine_select, "nc_matmul": _matmul, "tensor_tensor_scan": _scan,
    "find_index8": _search("nc_find_index8"), "match_replace8": _search("nc_match_replace8"), "gather": _gather,
    "local_gather": _local_gather, "sequence_bounds": _sequence_bounds,
}


def _compress(i: Instruction) -> Instruction:
    """Fewer dims where all operands step alike; the first (partitions) stays by itself."""
    ops = list(i.operands.values())
    rank = max(len(o.dims) for o in ops)
    if rank <= 2 or any(len(o.dims) != rank for o in ops):
        return i
    counts = ops[0].counts
    if any(o.counts != counts for o in ops):
        return i
    clipped = {k for o in ops for k, _ in o.clips}
    groups: List[List[int]] = [[0]]
    for k in range(1, rank):
        if counts[k] == 1 and k not in clipped and (k < rank - 1 or len(groups) > 1):
            continue
        g = groups[-1]
        last = g[-1]
        joins = len(groups) > 1 and k not in clipped and last not in clipped and all(o.dims[last][0] == o.dims[k][0] * counts[k] for o in ops)
        if joins:
            g.append(k)
        else:
            groups.append([k])
    if len(groups) == rank:
        return i
    new: Dict[str, Operand] = {}
    where = {k: n for n, g in enumerate(groups) for k in g}
    for name, o in i.operands.items():
        dims = tuple((o.dims[g[-1]][0], int(np.prod([counts[k] for k in g], dtype=np.int64))) for g in groups)
        new[name] = Operand(o.object, o.dtype, o.offset, dims, tuple((where[k], b) for k, b in o.clips), o.index)
    return Instruction(i.name, new, i.numbers, i.reals, i.functions, i.engine)


def _split(i: Instruction) -> List[Instruction]:
    """Several instructions where the operands have more dims than an access pattern: one for each index of the shortest free dim."""
    ops = list(i.operands.values())
    rank = len(ops[0].dims)
    if rank <= _DIMS or any(len(o.dims) != rank or o.counts != ops[0].counts for o in ops):
        return [i]
    clipped = {k for o in ops for k, _ in o.clips}
    axis = min((k for k in range(1, rank) if k not in clipped), key=lambda k: ops[0].counts[k], default=0)
    if not axis:
        return [i]
    out: List[Instruction] = []
    for n in range(ops[0].counts[axis]):
        part = {name: Operand(o.object, o.dtype, o.offset + n * o.dims[axis][0], o.dims[:axis] + o.dims[axis + 1:],
                              tuple((k - (k > axis), b) for k, b in o.clips), o.index) for name, o in i.operands.items()}
        out += _split(Instruction(i.name, part, i.numbers, i.reals, i.functions, i.engine))
    return out
