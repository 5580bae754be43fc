"""What one trip of a loop leaves to the next one in Python values: where it does, the body cannot be traced once for all trips."""
from __future__ import annotations

import sys
from collections import deque
from typing import Any, Optional

from ._index import Expr
from ._tensor import View

CARRIED = "nl.affine_range: a trip makes the tile '%s' that the next one reads: on the hardware trips run in any order; assign to a tile made before " \
          "the loop, by += where it accumulates, or use nl.sequential_range"
_NOT_THE_KERNELS = frozenset(getattr(sys, "stdlib_module_names", ())) - {"__main__"} | {"xcc", "numpy", "torch", "jax", "ml_dtypes"}
_MADE_BY_CLASS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that Python code defines


def _has_attributes(x: Any) -> bool:
    """Whether x is of a class that the kernel's author wrote: a counter, or a holder of tiles."""
    of = type(x)
    return isinstance(getattr(x, "__dict__", None), dict) and bool(of.__flags__ & _MADE_BY_CLASS) and not isinstance(x, type) and \
        str(of.__module__).partition(".")[0] not in _NOT_THE_KERNELS


class _Same:
    """An object that equals itself alone, and lives on: the next one may not get its address."""

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.x is self.x


def _snapshot(x: Any, depth: int = 3) -> Any:
    """What a mutable container or an object holds, by identity."""
    if depth and isinstance(x, (list, set, deque)):
        return [_snapshot(y, depth - 1) for y in x]
    if depth and isinstance(x, dict):
        return [(k, _snapshot(y, depth - 1)) for k, y in x.items()]
    if depth and _has_attributes(x):
        return {k: _snapshot(y, depth - 1) for k, y in vars(x).items()}
    return x if isinstance(x, (int, float, str)) else _Same(x)


def _differs(now: Any, before: Any) -> bool:
    """Of two snapshots. An attribute that was not there before is made by the body, and no trip reads another's."""
    if isinstance(before, dict) and isinstance(now, dict):
        return any(k not in now or _differs(now[k], y) for k, y in before.items())
    if isinstance(before, list) and isinstance(now, list):
        return len(before) != len(now) or any(_differs(x, y) for x, y in zip(now, before))
    if isinstance(before, tuple) and isinstance(now, tuple):
        return before[0] != now[0] or _differs(now[1], before[1])
    return bool(now != before)


def _interchangeable(old: Expr, new: Expr) -> bool:
    """Index arrays that make no other trip: the same one made again, or one of another tile's shape under an old name, where what
    stands before the loop holds for all trips, as where bodies are traced once."""
    if old.shape != new.shape:
        return bool(old.shape and new.shape)
    return (old.base, old.terms, old.steps) == (new.base, new.terms, new.steps)


class Watch:
    """Notices when one trip of a body leaves Python values that the next one would read."""

    def __init__(self, frame: Any, info: Any):
        self.frame = frame
        self.tile: Optional[str] = None  # the name of a tile that a trip leaves to the next one
        now = frame.f_locals
        shared = set(frame.f_code.co_cellvars + frame.f_code.co_freevars) - info.stored  # a function may rebind them: nonlocal
        self.names = {n: now[n] for n in sorted(info.carried | shared) if n in now}
        self.boxes = [(n, x, _snapshot(x)) for n, x in now.items() if isinstance(x, (list, dict, set, deque)) or _has_attributes(x)]

    def changed(self) -> Optional[str]:
        now = self.frame.f_locals
        for n, old in self.names.items():
            new = now.get(n, old)
            if isinstance(old, Expr) and isinstance(new, Expr) and _interchangeable(old, new):
                continue
            if new is not old and not (isinstance(new, (int, float, str)) and type(new) is type(old) and new == old):
                self.tile = n if isinstance(old, View) and isinstance(new, View) else None
                return "'%s' is rebound in the body and read in the next trip" % n
        for n, box, before in self.boxes:
            if _differs(_snapshot(box), before):
                return "'%s' %s in the body" % (n, "changes" if isinstance(before, dict) else "grows")
        return None
