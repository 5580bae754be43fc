"""nki.compiler: allocators and decorators. Addresses are hints: tiles never overlap here, so a kernel that is right without
aliasing gives the same result."""
from __future__ import annotations

from typing import Any, Callable, Optional

from ._buffers import Buffer
from ._unavailable import Names as _Names


class _Memory:
    def __init__(self, space: str):
        self.space = space

    def alloc(self, func: Optional[Callable[..., Any]] = None, **kw: Any) -> Buffer:
        """A buffer whose tiles a function of the block index places."""
        return Buffer(self.space, self.space, func)

    def mod_alloc(self, **kw: Any) -> Buffer:
        """A buffer in which block i lies at i modulo the number of tiles."""
        return Buffer(self.space, self.space, kw)

    def auto_alloc(self, **kw: Any) -> Buffer:
        return Buffer(self.space, self.space)


sbuf = _Memory("sbuf")
psum = _Memory("psum")


def _decorator(func: Any = None, *args: Any, **kw: Any) -> Any:
    if func is None or not callable(func):
        return lambda f: f
    return func


skip_middle_end_transformations = _decorator
enable_stack_allocator = _decorator
force_auto_alloc = _decorator
multi_buffer = _decorator


def no_reorder(*args: Any, **kw: Any) -> Any:
    """As a decorator or a `with` block: instructions keep their order; they do here anyway."""
    if args and callable(args[0]):
        return args[0]
    import contextlib

    return contextlib.nullcontext()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Names("nki.compiler." + name, "is part of AWS's compiler; it does not exist here")
