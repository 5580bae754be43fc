"""Registers whose value decides what a kernel does: trip counts of nl.dynamic_range, conditions of `while`.

Programs have no loops or branches by values. Where a kernel that is called on arrays asks for one while it is traced, what the value
depends on is run as a program of its own, and tracing goes on with the value. What is compiled so holds for that call only.
"""
from __future__ import annotations

import copy
import sys
from typing import Any, Callable, List, Sequence, Set

import numpy as np

from .. import dtypes
from ._build import Builder
from ._core import emit_dma, result
from ._errors import NeedRewrite, NeedValue, NkiNotSupported, NkiTypeError, error
from ._finish import finish
from ._races import WRITTEN
from ._record import Instruction, Object
from ._source import is_rewritten
from ._tensor import View
from ._trace import Meeting, Trace, need_trace, tracing


def value_of(tile: View, what: str) -> int:
    """The value of a register that was loaded from a tile."""
    t = need_trace("register")
    if t.open or t.symbolic_grid and any(n > 1 for n in t.grid):
        raise NeedValue(["grid"] + [v.key for v in t.open], "a register's value, for %s" % what)
    if t.value is None:
        raise error("register", "was loaded from a tile: its value is known only when the kernel runs, and %s needs it while tracing; programs of this "
                    "machine have no loops or branches by values: call the kernel on arrays, which traces it for theirs, or make the number an "
                    "argument of the kernel" % what, NkiNotSupported)
    if len(t.values) == _MOST:
        raise error("register", "has been asked for its value %d times while tracing, for %s: does the loop end?" % (_MOST, what))
    t.values.append(t.value(t, tile))
    t.notes.append("traced with the value %d of a register, for %s" % (t.values[-1], what))
    return t.values[-1]


_MOST = 1000


class do_while:  # noqa: N801 - a name of the interface
    """`with do_while(condition):` runs its body, and again as long as the condition, a tensor of one element that the body writes, is not 0."""

    def __init__(self, condition: View):
        need_trace("do_while")
        if not isinstance(condition, View) or condition.size != 1:
            raise error("do_while", "condition is %r, expected a tensor of one element" % (condition,), NkiTypeError)
        code = sys._getframe(1).f_code
        if not is_rewritten(code):
            raise NeedRewrite(code, "do_while: the function's source is not at hand, or `with do_while(...)` is not a statement of its own: its body "
                              "cannot be repeated")
        self.condition = condition

    def again(self) -> bool:
        t = result((1, 1), dtypes.int32)
        emit_dma(t, self.condition.like(self.condition.offset, [(1, 1), (1, 1)], 0), "do_while")
        return value_of(t, "another trip of do_while") != 0


def run_up_to(t: Trace, tile: View, run: Callable[[Any, Sequence[Object]], Sequence[np.ndarray]]) -> int:
    """What a trace has computed of a tile of one element. run: of an archive and the tensors that are its inputs, on the call's arrays."""
    p = copy.copy(t)
    p.records, p.objects, p.names, p.target = _needed(t.records, tile.object), list(t.objects), dict(t.names), "cpu"
    with tracing(p):
        out = p.hbm((1, 1), dtypes.int32, "value")
        emit_dma(out, tile, "register")
    finish(p, {out.object.uid})
    b = Builder(p, "register")
    b.build(p.inputs, [out.object])
    return int(np.asarray(run(b.finish(), p.inputs)[0]).reshape(-1)[0])


def _needed(records: Sequence[Any], o: Object) -> List[Any]:
    """Copies of the records that what is in an object depends on, and all loops."""
    needed: Set[int] = {o.uid}
    kept: Set[int] = set()
    found = True
    while found:
        found = False
        for k, r in enumerate(records):
            if k not in kept and isinstance(r, Instruction) and any(n in WRITTEN and p.object.uid in needed for n, p in r.operands.items()):
                kept.add(k)
                needed |= {p.object.uid for p in r.operands.values()} | {p.index[2].object.uid for p in r.operands.values() if p.index is not None}
                found = True
    for m in records:
        if isinstance(m, Meeting) and m.receives >= 0 and any(records[k] is m.copy for k in kept):
            raise error("register", "its value comes from another core by %s (line %d), and decides what this one does; only what a core itself "
                        "computes may" % (m.api, m.where[1]), NkiNotSupported)
    return [_copied(r) if k in kept else r for k, r in enumerate(records) if k in kept or not isinstance(r, (Instruction, Meeting))]


def _copied(i: Instruction) -> Instruction:
    c = Instruction(i.name, dict(i.operands), dict(i.numbers), i.reals, i.functions, i.engine)
    c.where, c.api, c.open = i.where, i.api, i.open
    return c
