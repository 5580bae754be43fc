"""nl of the 0.x packages: that of xcc.nki.language, whose loops unroll in kernels of this form; names that beta 1 lacked."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import language as _beta
from .._buffers import Buffer as MemoryRegion  # noqa: F401
from .._index import Expr as _Expr
from .._tensor import View as _View
from ..language import *  # noqa: F401,F403
from ..language import _LoopRange, arange, mgrid, par_dim  # noqa: F401

for _name in dir(_beta):
    if not _name.startswith("_"):
        globals().setdefault(_name, getattr(_beta, _name))
del _name

DType = _beta.float32.__class__


def bypass(x: Any, *args: Any, **kw: Any) -> Any:
    """As an operation of an instruction: leaves its operand as it is."""
    return x


def average(x: _View, axis: Any, **kw: Any) -> _View:
    """The mean over free axes; as an operation, of tensor_partition_reduce."""
    return _beta.mean(x, axis, **kw)


range = lambda *a, **k: _LoopRange(a, False, "nl.range")  # noqa: E731, A001


def fori_loop(lower: Any, upper: Any, body: Callable[..., Any], step: Any = 1, **kw: Any) -> None:
    """body(i) for each i."""
    for i in _beta.static_range(lower, upper, step):
        body(i)


def while_loop(*args: Any, **kw: Any) -> Any:
    """A loop whose end is known only at run time."""
    from .._unavailable import make

    return make("nl.while_loop", "needs a condition computed by the kernel, which programs of this machine do not have")()


def is_sbuf(x: _View) -> bool:
    return x.object.space == "sbuf"


def is_psum(x: _View) -> bool:
    return x.object.space == "psum"


def is_hbm(x: _View) -> bool:
    return x.object.space == "hbm"


def is_on_chip(x: _View) -> bool:
    return x.on_chip
