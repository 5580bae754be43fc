"""What a trace produces: objects (tensors in HBM, tiles on the chip), and a list of instructions and loops.

Operands are access patterns: element (i0, i1, ...) lies at offset + sum of step_d * i_d elements from the object's start.
Partition p of a tile starts at element p * (elements per partition).
"""
from __future__ import annotations

import math
from typing import Callable, Dict, List, Optional, Tuple, Union

import numpy as np

from ._index import Expr, Variable

Number = Union[int, Expr]
Dim = Tuple[int, int]  # step, count


class Object:
    """A tensor in HBM or a tile in SBUF or PSUM."""

    __slots__ = ("uid", "space", "shape", "dtype", "partitions", "elements", "name", "role", "data", "address", "depth",
                 "position", "zeroed", "written", "where", "is_result", "assigned", "private", "reduced", "is_list", "gather")

    def __init__(self, uid: int, space: str, shape: Tuple[int, ...], dtype: np.dtype, name: str):
        self.uid = uid
        self.space = space  # "hbm", "sbuf", "psum"
        self.shape = shape  # HBM: the dims; tiles: partitions, elements
        self.dtype = dtype
        self.partitions = shape[0] if space != "hbm" else 0
        self.elements = shape[1] if space != "hbm" else math.prod(shape)
        self.name = name
        self.role = ""  # HBM: "input", "internal", "constant"
        self.data: Optional[np.ndarray] = None  # of constants
        self.address = -1
        self.depth = 0  # open loops where it was made
        self.position = 0  # of the record list where it was made
        self.zeroed = False  # PSUM: counts as zero until it is written
        self.written = False
        self.where: Tuple[str, int] = ("", 0)
        self.is_result = False  # a tile made for an instruction's result, of which a mask may have left nothing
        self.private = False  # HBM: a part for each program
        self.reduced: Optional[str] = None  # nl.loop_reduce writes it before anything else does: by this operation
        self.is_list = False  # a tile for each index of dims before the partitions
        self.gather: Optional[Callable[[], None]] = None  # of .indirect(): fills it, before each instruction that reads it
        self.assigned = False  # assigned to by the kernel, perhaps under a mask that left nothing

    @property
    def size(self) -> int:
        return self.partitions * self.elements if self.space != "hbm" else self.elements

    def __repr__(self) -> str:
        return "%s %s %s%s" % (self.space, self.name, self.dtype, list(self.shape))


class Operand:
    """An access pattern. clips: (dim, bound) pairs; the count in force is min(count, bound), bound affine in variables.
    index: (dim, step, operand with the indices, limit): rows chosen by a tile; row i of `dim` lies at index[i] * step,
    0 <= index[i] < limit. dim -1: one index for all.
    """

    __slots__ = ("object", "dtype", "offset", "dims", "clips", "index", "cut", "what")

    def __init__(self, obj: Object, dtype: np.dtype, offset: Number, dims: Tuple[Dim, ...],
                 clips: Tuple[Tuple[int, Number], ...] = (), index: Optional[Tuple[int, int, "Operand", int]] = None):
        self.object = obj
        self.dtype = dtype
        self.offset = offset
        self.dims = dims
        self.clips = clips
        self.index = index
        self.cut = False  # a mask leaves out its first partitions
        self.what = ""  # what the kernel calls it: the name of an argument

    @property
    def counts(self) -> Tuple[int, ...]:
        return tuple(c for _, c in self.dims)

    def same_place(self, o: "Operand") -> bool:
        return (self.object is o.object and self.dtype == o.dtype and _equal(self.offset, o.offset) and self.dims == o.dims
                and len(self.clips) == len(o.clips) and all(a[0] == b[0] and _equal(a[1], b[1]) for a, b in zip(self.clips, o.clips))
                and self.index is o.index)

    def variables(self) -> List[Variable]:
        out = [v for v, _ in self.offset.terms] if isinstance(self.offset, Expr) else []
        for _, b in self.clips:
            if isinstance(b, Expr):
                out += [v for v, _ in b.terms]
        return out

    def __repr__(self) -> str:
        return "%s@%r%s%s" % (self.object.name, self.offset, list(self.dims), " clips %r" % (self.clips,) if self.clips else "")


def _equal(a: Number, b: Number) -> bool:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a.base == b.base and a.terms == b.terms
    return type(a) is type(b) and bool(a == b)


def is_whole(o: Operand) -> bool:
    """Whether the pattern has each element of its tile once."""
    size = 1
    for step, count in sorted(d for d in o.dims if d[1] > 1):
        if step != size:
            return False
        size *= count
    plain = o.dtype == o.object.dtype and isinstance(o.offset, int) and o.offset == 0 and not o.clips and o.index is None and not o.cut
    return plain and size == o.object.size


class Instruction:
    """One instruction. numbers: integer immediates, perhaps affine; reals, functions, texts by name."""

    __slots__ = ("name", "operands", "numbers", "reals", "functions", "engine", "where", "api", "open")

    def __init__(self, name: str, operands: Dict[str, Operand], numbers: Optional[Dict[str, Number]] = None,
                 reals: Optional[Dict[str, float]] = None, functions: Optional[Dict[str, str]] = None, engine: Optional[str] = None):
        self.name = name
        self.operands = operands
        self.numbers = numbers or {}
        self.reals = reals or {}
        self.functions = functions or {}
        self.engine = engine
        self.where: Tuple[str, int] = ("", 0)
        self.api = name
        self.open: Tuple[Variable, ...] = ()  # loops around it, outermost first

    def __repr__(self) -> str:
        parts = ["%s=%r" % kv for kv in self.operands.items()]
        parts += ["%s=%r" % kv for kv in {**self.numbers, **self.reals, **self.functions}.items()]
        return "%s(%s)" % (self.name, ", ".join(parts))


class LoopBegin:
    __slots__ = ("variable",)

    def __init__(self, variable: Variable):
        self.variable = variable


class LoopEnd:
    __slots__ = ("variable",)

    def __init__(self, variable: Variable):
        self.variable = variable


Record = Union[Instruction, LoopBegin, LoopEnd]
