"""Tracing: running a kernel's Python once (or a few times) and noting the instructions that it asks for.

A Trace holds what one run notes. trace_kernel() runs until no symbolic index is asked for its value any more: each time one is, the
loop behind it (or the grid) joins the set that is unrolled, and the kernel runs again from the start.
"""
from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from .. import dtypes
from .._small_floats import inside_kernels
from ._errors import _HERE, NeedCpu, NeedRewrite, NeedValue, NkiError, NkiTypeError, asked, error, warn_at, with_place
from ._index import Expr, Variable, to_int
from ._loops import CARRIED, Watch
from ._races import Trips
from ._record import Instruction, LoopBegin, LoopEnd, Number, Object, Operand, Record
from ._source import loop_info, rewrite
from ._tensor import View, hooks

_local = threading.local()
UNROLL = os.environ.get("XCC_NKI_UNROLL") == "1"  # every loop: to see whether tracing bodies once is at fault


def current() -> Optional["Trace"]:
    """The trace that the calling thread is in; None outside kernels."""
    return getattr(_local, "trace", None)


inside_kernels.append(lambda: current() is not None)
hooks["interface"] = lambda: getattr(current(), "interface", "beta1")


@contextlib.contextmanager
def tracing(t: "Trace") -> Iterator[None]:
    """Within, instructions go to this trace."""
    before = current()
    _local.trace = t
    try:
        yield
    finally:
        _local.trace = before


def need_trace(api: str) -> "Trace":
    t = current()
    if t is None:
        raise error(api, "works inside a kernel only (a function under nki.jit, or called by nki.simulate_kernel)")
    return t


class Meeting:
    """Among records, where a program waits for another: see _cores.py."""

    __slots__ = ("api", "where", "receives", "copy")

    def __init__(self, api: str, where: Tuple[str, int], receives: int = -1):
        self.api = api
        self.where = where
        self.receives = receives  # from this program; -1: nothing
        self.copy: Optional[Record] = None


class Trace:
    """One run of a kernel's Python."""

    def __init__(self, grid: Sequence[int], target: str, unroll: Set[object], interface: str):
        self.grid = tuple(grid)
        self.target = target
        self.unroll = unroll
        self.interface = interface  # "beta1": loops stay loops; "v06": ranges unroll
        self.records: List[Any] = []  # Record, and Meeting until programs are joined
        self.objects: List[Object] = []
        self.open: List[Variable] = []
        self.inputs: List[Object] = []
        self.value: Optional[Callable[["Trace", View], int]] = None  # runs what a register's value depends on, where there are arrays for it
        self.values: List[int] = []  # that it gave
        self.affine: List[Trips] = []  # the loops of nl.affine_range, where its trips are to be independent
        self.prints: List[Tuple[str, Object, Tuple[Variable, ...], View]] = []
        self.shared: List[View] = []
        self.shared_next = 0
        self.notes: List[str] = []
        self.state: Dict[str, Any] = {}  # of instruction families: accumulators, seeds
        self.base_frame: Any = None
        self.symbolic_grid = "grid" not in unroll
        self.program: Optional[Tuple[int, ...]] = None
        self.grid_variables = [Variable(n, "program_id(%d)" % k, "grid") for k, n in enumerate(self.grid)] if self.symbolic_grid else []
        self.names: Dict[str, int] = {}
        self.where_cache: Tuple[Any, int, Tuple[str, int]] = (None, 0, ("", 0))

    # -- objects ----------------------------------------------------------------------------------------------------

    def _name(self, stem: str) -> str:
        n = self.names.get(stem, 0)
        self.names[stem] = n + 1
        return stem if n == 0 else "%s_%d" % (stem, n)

    def _object(self, space: str, shape: Tuple[int, ...], dtype: np.dtype, name: Optional[str]) -> Object:
        if not dtypes.is_stored(dtype):
            raise error(None, "data type %s is none of the machine's, whose numbers have at most 32 bits: nl.float32, nl.bfloat16, nl.int32 and the like" %
                        dtype, NkiTypeError)
        o = Object(len(self.objects), space, shape, dtype, self._name(name or space))
        o.depth = len(self.open)
        o.position = len(self.records)
        o.where = self.where()
        self.objects.append(o)
        return o

    def tile(self, space: str, shape: Sequence[int], dtype: np.dtype, name: Optional[str] = None, blocks: int = 0,
             address: int = -1) -> View:
        """A tile: shape[blocks] partitions; what comes before numbers tiles, what follows lies in a partition."""
        sizes = [int(n) for n in shape]
        if len(sizes) == blocks + 1:
            sizes.append(1)
        p = sizes[blocks]
        if p > 128:
            raise error(None, "a tile of shape %s has %d partitions, at most 128; put the rest into the free dims, or loop"
                        % (tuple(sizes), p), NkiTypeError)
        if any(n <= 0 for n in sizes):
            raise error(None, "shape %s has a dim of size %d; sizes are positive%s" %
                        (tuple(sizes), min(sizes), ": is a slice empty?" if min(sizes) == 0 else ""), NkiTypeError)
        free = math.prod(sizes[blocks + 1:])
        count = math.prod(sizes[:blocks])
        o = self._object(space, (p, count * free), dtype, name)
        o.address = address
        o.is_list = count > 1
        dims: List[Tuple[int, int]] = []
        step = 1
        for n in reversed(sizes[blocks + 1:]):
            dims.insert(0, (step, n))
            step *= n
        dims.insert(0, (count * free, p))
        for n in reversed(sizes[:blocks]):
            dims.insert(0, (step, n))
            step *= n
        return View(o, dtype, 0, tuple(dims), blocks)

    def hbm(self, shape: Sequence[int], dtype: np.dtype, name: Optional[str], role: str = "internal",
            data: Optional[np.ndarray] = None) -> View:
        o = self._object("hbm", tuple(int(n) for n in shape), dtype, name or "tensor")
        o.role = role
        o.data = data
        return full_view(o)

    # -- instructions -----------------------------------------------------------------------------------------------

    def where(self) -> Tuple[str, int]:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back  # type: ignore[assignment]
        return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno or 0)

    def emit(self, i: Instruction, api: Optional[str] = None) -> Instruction:
        i.where = self.where()
        i.api = api or i.name
        i.open = tuple(self.open)
        self.records.append(i)
        return i

    # -- loops ------------------------------------------------------------------------------------------------------

    def begin(self, v: Variable) -> None:
        self.open.append(v)
        self.records.append(LoopBegin(v))

    def end(self, v: Variable) -> None:
        if v not in self.open:
            return
        while True:
            top = self.open.pop()
            top.closed = True
            self.records.append(LoopEnd(top))
            if top is v:
                return

    def loop_key(self, frame: Any) -> object:
        """Where a loop stands: the lines of the calls that lead to it."""
        out = []
        while frame is not None and frame is not self.base_frame:
            if not frame.f_code.co_filename.startswith(_HERE):
                out.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return tuple(out)

    def program_id(self, axis: int) -> Any:
        if axis >= len(self.grid):
            return 0
        if self.grid[axis] == 1:
            return 0
        if self.symbolic_grid:
            return Expr((), 0, ((self.grid_variables[axis], 1),), ())
        assert self.program is not None
        return self.program[axis]


def full_view(o: Object) -> View:
    dims: List[Tuple[int, int]] = []
    step = 1
    for n in reversed(o.shape):
        dims.insert(0, (step, n))
        step *= n
    return View(o, o.dtype, 0, tuple(dims), 0)


# -- ranges ----------------------------------------------------------------------------------------------------------


class LoopRange:
    """nl.affine_range and the like. Iterating gives a symbolic index once, or all values."""

    def __init__(self, args: Sequence[object], symbolic: bool, api: str):
        a = [to_int(x) for x in args]
        self.range = range(*a)
        self.symbolic = symbolic
        self.api = api

    def __len__(self) -> int:
        return len(self.range)

    def __iter__(self) -> Iterator[Any]:
        r = self.range
        t = current()
        if t is None or not self.symbolic or len(r) <= 1:
            yield from r
            return
        trips = Trips(len(t.objects))
        if self.api == "nl.affine_range":
            t.affine.append(trips)
        frame = sys._getframe(1)
        info = loop_info(frame.f_code, frame.f_lineno)
        key = t.loop_key(frame)
        if info is None or not info.simple or key in t.unroll or UNROLL or len(t.open) + len(t.grid) >= 9:
            for value in r:
                begin = len(t.records)
                yield value
                trips.spans.append((begin, len(t.records)))
            return
        v = trips.variable = Variable(len(r), info.name, key)
        watch = Watch(frame, info)
        begin = len(t.records)
        t.begin(v)
        try:
            yield Expr((), r.start, ((v, r.step),), ())
            why = watch.changed()
            if why:
                if watch.tile and self.api == "nl.affine_range":
                    warn_at((frame.f_code.co_filename, frame.f_lineno), CARRIED % watch.tile)
                raise NeedValue([key], why)
        finally:
            t.end(v)
            trips.spans.append((begin, len(t.records)))


# -- kernels ---------------------------------------------------------------------------------------------------------


class Traced:
    """A finished trace: what to build, and how results become arrays."""

    def __init__(self, trace: Trace, inputs: List[Object], result: Any):
        self.trace = trace
        self.inputs = inputs
        self.result = result  # the kernel's return value, with Views in it


def trace_kernel(function: Callable[..., Any], bind: Callable[[Trace], Tuple[tuple, dict, List[Object]]], grid: Sequence[int],
                 target: str, interface: str, finish: Callable[[Trace, Any], Any], platform: Optional[str] = None,
                 value: Optional[Callable[[Trace, View], int]] = None) -> Traced:
    """bind makes the arguments of a run: parameters become tensors of the trace. finish emits what follows the kernel's return. value:
    see Trace."""
    unroll: Set[object] = set()
    notes: List[str] = []
    for attempt in range(200):
        t = Trace(grid, target, unroll, interface)
        t.notes, t.value = notes, value
        t.state["platform_target"] = platform
        t.base_frame = sys._getframe(0)
        try:
            with tracing(t):
                return _run_asking(t, function, bind, finish)
        except NeedValue as need:
            new = set(need.loops) - unroll
            if not new:
                raise NkiError("internal: %s is needed of a loop that is unrolled already" % need.why)
            notes.append("unrolled: %s" % need.why)
            unroll |= new
            if attempt > 20:  # many loops: stop asking one by one
                unroll |= {v.key for r in t.records if isinstance(r, LoopBegin) for v in (r.variable,)}
        except NeedCpu as need:
            notes.append("compiled for cpu: %s" % need.why)
            target = "cpu"
        except NeedRewrite as need:
            if not rewrite(need.code):  # type: ignore[arg-type]
                raise NkiTypeError("%s:%d: %s" % (need.where + (need.otherwise,))) from None
        except (TypeError, ValueError, AttributeError, LookupError) as e:
            if not isinstance(e, NkiError):
                with_place(e)
            raise
        finally:
            t.base_frame = None
    raise NkiError("tracing does not come to an end")


def _run_asking(t: Trace, function: Callable[..., Any], bind: Callable[..., Any], finish: Callable[[Trace, Any], Any]) -> Traced:
    """_run, which also raises a NeedValue that other code swallowed."""
    asked()
    try:
        traced = _run(t, function, bind, finish)
    except Exception:
        need = asked()
        if need is not None:
            raise need from None
        raise
    need = asked()
    if need is not None:
        raise need
    return traced


def _run(t: Trace, function: Callable[..., Any], bind: Callable[..., Any], finish: Callable[[Trace, Any], Any]) -> Traced:
    args, kwargs, inputs = bind(t)
    t.inputs = inputs
    if t.symbolic_grid:
        result = finish(t, function(*args, **kwargs))
        while t.open:
            t.end(t.open[-1])
        return Traced(t, inputs, result)
    result, first = None, []
    for number in np.ndindex(*t.grid):
        t.program = tuple(int(n) for n in number)
        t.shared_next = 0
        t.state = {k: x for k, x in t.state.items() if not k.startswith("register_")}
        first.append(len(t.records))
        out = finish(t, function(*args, **kwargs))
        while t.open:
            t.end(t.open[-1])
        result = out if result is None else result
    if any(isinstance(r, Meeting) for r in t.records):
        from ._cores import interleave

        interleave(t, first)
    return Traced(t, inputs, result)
