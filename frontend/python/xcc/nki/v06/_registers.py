"""Registers of nisa: numbers that a kernel moves between instructions, known while tracing or read from a tile when it runs.

A register that was loaded from a tile stands for that element: it can be stored, and used as an address (`.ap(scalar_offset=reg)`,
`select(dim, reg)`). What needs its value while tracing (a bound of a loop, a condition) is run first, see _probe.py.
"""
from __future__ import annotations

import operator
from typing import Any, Optional, Union

import numpy as np

from ... import dtypes
from .. import _move
from .._compute import emit_binary
from .._core import as_tile, emit_copy, emit_dma, emit_fill, result
from .._errors import NkiTypeError, error
from .._index import Expr
from .._probe import value_of
from .._tensor import View


class VirtualRegister:
    """See the module."""

    def __init__(self, value: Union[int, Expr, View, None] = None):
        self.value = value

    def known(self, what: str) -> Any:
        """The value as a number of the trace."""
        if self.value is None:
            raise error("register", "has no value yet; nisa.register_move or nisa.register_load gives it one", NkiTypeError)
        if isinstance(self.value, View):
            return value_of(self.value, what)
        return self.value

    def __index__(self) -> int:
        return int(self.known("a loop or a condition"))

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self.__index__())

    def __repr__(self) -> str:
        return "<register %r>" % (self.value,)


class NkiScalar:
    """An integer of 32 bits that a kernel computes with: +, - and * give another one, and wrap. As an address, a loop's bound or a
    condition it is as a register is."""

    def __init__(self, value: Union[int, Expr, View]):
        self.value = value

    def _joined(self, op: str, a: Any, b: Any) -> Any:
        if not all(isinstance(x, (int, np.integer, Expr, NkiScalar)) for x in (a, b)):
            return NotImplemented
        x, y = (v.value if isinstance(v, NkiScalar) else v for v in (a, b))
        if isinstance(x, View) or isinstance(y, View):
            t = result((1, 1), dtypes.int32)
            emit_binary(t, op, _one(x), _one(y), "scalar")
            return NkiScalar(t)
        exact = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[op](x, y)
        return NkiScalar(exact if isinstance(exact, Expr) else (exact + 2 ** 31) % 2 ** 32 - 2 ** 31)

    __add__ = lambda self, x: self._joined("add", self, x)  # noqa: E731
    __radd__ = lambda self, x: self._joined("add", x, self)  # noqa: E731
    __sub__ = lambda self, x: self._joined("sub", self, x)  # noqa: E731
    __rsub__ = lambda self, x: self._joined("sub", x, self)  # noqa: E731
    __mul__ = lambda self, x: self._joined("mul", self, x)  # noqa: E731
    __rmul__ = lambda self, x: self._joined("mul", x, self)  # noqa: E731

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self

    def _compared(self, other: object) -> Any:
        raise error("scalar", "a comparison of a scalar has no result that a kernel could use; compare tiles (nisa.tensor_scalar, op0=nl.less) and load "
                    "what comes of it, or let a loop end by the scalar itself, nl.while_loop(scalar, body)", NkiTypeError)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __index__(self) -> int:
        return int(value_of(self.value, "a loop or a condition") if isinstance(self.value, View) else self.value)

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self.__index__())


def _one(x: Any) -> View:
    """A number as a tile of one element."""
    if isinstance(x, View):
        return x
    x = int(x)
    if abs(x) >= 2 ** 24:  # what fills a tile is f32
        return _move.load(_move.constant(np.array([[x]], np.int32)), api="scalar")
    t = result((1, 1), dtypes.int32)
    emit_fill(t, float(x), "scalar")
    return t


def scalar_load(src: View, name: Any = None) -> NkiScalar:
    """A tensor's only element, an int32, as it is now."""
    if not isinstance(src, View) or src.size != 1 or src.dtype != dtypes.int32:
        raise error("scalar_load", "src is %r, expected a tensor of one int32 (scalars of 64 bits do not exist here)" % (src,), NkiTypeError)
    r = VirtualRegister()
    register_load(r, src)
    return NkiScalar(r.value)  # type: ignore[arg-type]


def scalar_store(dst: View, value: Any, name: Any = None) -> None:
    """A tensor's only element, an int32, = value."""
    if not isinstance(dst, View) or dst.size != 1 or dst.dtype != dtypes.int32:
        raise error("scalar_store", "dst is %r, expected a tensor of one int32" % (dst,), NkiTypeError)
    register_store(dst, value if isinstance(value, VirtualRegister) else _one(value.value if isinstance(value, NkiScalar) else value))


def register_alloc(x: Optional[int] = None, name: Any = None) -> VirtualRegister:
    """A register, with a value where one is given."""
    if isinstance(x, View):
        r = VirtualRegister()
        register_load(r, x)
        return r
    return VirtualRegister(x.value if isinstance(x, VirtualRegister) else x)


def register_move(dst: VirtualRegister, src: Any = None, imm: Any = None, name: Any = None) -> None:
    """dst = a number, or another register's value."""
    src = imm if src is None else src
    dst.value = src.value if isinstance(src, VirtualRegister) else src


def register_load(dst: VirtualRegister, src: View, name: Any = None) -> None:
    """dst = a tensor's only element, as it is now."""
    if src.size != 1:
        raise error("register_load", "src has shape %s, expected one element" % (src.shape,), NkiTypeError)
    t = result((1, 1), dtypes.int32)
    one = src.like(src.offset, [(1, 1), (1, 1)], 0)
    if src.on_chip and src.object.space != "psum":
        emit_copy(t, one, "register_load")
    else:
        emit_dma(t, _move.load(one, api="register_load") if src.dtype != dtypes.int32 and not src.on_chip else one, "register_load")
    dst.value = t


def register_store(dst: View, src: VirtualRegister, name: Any = None) -> None:
    """A tensor's only element = src."""
    if dst.size != 1:
        raise error("register_store", "dst has shape %s, expected one element" % (dst.shape,), NkiTypeError)
    value = src.value if isinstance(src, VirtualRegister) else src
    one = dst.like(dst.offset, [(1, 1), (1, 1)], 0)
    if not isinstance(value, View):
        t = result((1, 1), dtypes.int32)
        emit_fill(t, float(VirtualRegister(value).__index__()), "register_store")
        value = t
    if dst.on_chip:
        emit_copy(one, as_tile(value, "register_store", "src"), "register_store")
    else:
        emit_dma(one, value, "register_store")
