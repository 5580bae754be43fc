"""Memories as kernels name them: nl.sbuf, nl.psum, nl.hbm..., and the allocators of nki.compiler."""
from __future__ import annotations

from typing import Any, Optional, Tuple

from ._tensor import hooks


class Buffer:
    """A memory; of allocators also the place they ask for, which is a hint here: tiles are placed so that none overlap."""

    def __init__(self, space: str, kind: str, place: Any = None):
        self.space = space
        self.kind = kind
        self.place = place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return "nl." + self.kind

    def __str__(self) -> str:
        return self.kind


sbuf = Buffer("sbuf", "sbuf")
psum = Buffer("psum", "psum")
hbm = Buffer("hbm", "hbm")
shared_hbm = Buffer("hbm", "shared_hbm")
private_hbm = Buffer("hbm", "private_hbm")
for _b in (sbuf, psum, hbm, shared_hbm, private_hbm):  # nl.MemoryRegion.sbuf
    setattr(Buffer, _b.kind, _b)



class _OfArguments(Buffer):
    """Where a kernel's arguments lie: kernels ask for it by one name or the other."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and other.space == "hbm"

    __hash__ = Buffer.__hash__


_arguments = _OfArguments("hbm", "shared_hbm")
hooks["buffer"] = lambda o: {"sbuf": sbuf, "psum": psum}.get(o.space) or (_arguments if o.role == "input" else shared_hbm)
