"""The form of nki 0.2 to 0.6: instructions have a destination, ranges unroll, results are returned tensors."""
from __future__ import annotations

import types as _types
from typing import Any

from .. import typing  # noqa: F401
from .._errors import NkiError  # noqa: F401
from .._run import Kernel, TensorSpec, jit as _jit, simulate_kernel as _simulate, timed as _timed  # noqa: F401
from .._tensor import View as tensor  # noqa: F401
from . import compiler, isa, language  # noqa: F401

dtype = _types.ModuleType("nki.dtype")
for _name in ("float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn", "int8", "int16", "int32", "uint8", "uint16",
              "uint32", "bool_", "tfloat32", "float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4", "float8_e8m0fnu"):
    setattr(dtype, _name, getattr(language, _name))

benchmark = _timed("benchmark", {"warmup": 10, "iters": 100}, "v06")
baremetal = _timed("baremetal", {}, "v06")
profile = _timed("profile", {}, "v06")


def jit(fn: Any = None, mode: str = "auto", **options: Any) -> Any:
    """@nki.jit: makes a kernel of a function."""
    return _jit(fn, mode, _interface="v06", **options)


def trace(fn: Any = None, **options: Any) -> Any:
    return jit(fn, mode="trace", **options)


def simulate(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """nki.simulate(kernel)(*arrays): runs a kernel on arrays. Warns of elements that are read before anything wrote them."""
    from .._run import as_kernel

    k = as_kernel(kernel, "v06")
    k = k._with(mode="simulation") if isinstance(k, Kernel) else k
    return k(*args, **kwargs) if args or kwargs else k


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    return simulate(kernel)(*args, **kwargs)


cpu_simulate = simulate
