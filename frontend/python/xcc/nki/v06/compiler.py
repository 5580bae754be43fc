"""nki.compiler of the 0.x packages: decorators; the compiler's internals cannot exist here."""
from __future__ import annotations

from typing import Any

from .._unavailable import Names as _Names
from ..compiler import (enable_stack_allocator, force_auto_alloc, multi_buffer, no_reorder, psum, sbuf,  # noqa: F401
                        skip_middle_end_transformations)

_WHY = "is part of AWS's compiler; it does not exist here"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Names("nki.compiler." + name, _WHY)
