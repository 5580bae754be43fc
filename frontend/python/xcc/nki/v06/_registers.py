"""Registers of nisa: numbers that a kernel moves between instructions, known while tracing or read from a tile when it runs.

A register that was loaded from a tile stands for that element: it can be stored, and used as an address (`.ap(scalar_offset=reg)`,
`select(dim, reg)`). What needs its value while tracing (a bound of a loop, a condition) is run first, see _probe.py.
"""
from __future__ import annotations

from typing import Any, Optional, Union

from ... import dtypes
from .. import _move
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
