"""NKI kernels on this machine: traced, compiled by xcc, run by its runtime.

This package has the form of neuronxcc.nki (instructions return their results); xcc.nki.v06 that of nki 0.6 (instructions have a
destination). `xcc.nki.simulate(kernel, *arrays)` runs either kind.
"""
from __future__ import annotations

from typing import Any

from . import compiler, isa, language, typing  # noqa: F401
from ._errors import NkiError, NkiIndexError, NkiNotSupported, NkiTypeError, NkiWarning  # noqa: F401
from ._run import Compiled, Kernel, TensorSpec, jit, simulate_kernel, timed  # noqa: F401
from ._tensor import View as tensor  # noqa: F401
from ._unavailable import make as _unavailable

benchmark = timed("benchmark", {"warmup": 10, "iters": 100})
baremetal = timed("baremetal", {})
profile = timed("profile", {})


def trace(func: Any = None, **options: Any) -> Any:
    """nki.trace: a kernel that is called within others, or run by simulate_kernel."""
    return jit(func, mode="trace", **options)


def simulate(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """simulate(kernel, *arrays) runs; simulate(kernel) gives a function that does."""
    if not args and not kwargs:
        return lambda *a, **k: simulate_kernel(kernel, *a, **k)
    return simulate_kernel(kernel, *args, **kwargs)

FrameworkKernel = _unavailable("nki.FrameworkKernel", "is a base class of AWS's framework bridges; xcc.jax and xcc.torch take kernels as they are")
