"""Arrays of NumPy, PyTorch and JAX as bytes of the library's types, and back."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

import numpy as np

from . import _packed, _small_floats, dtypes


def is_array(x: object) -> bool:
    """Something that holds a tensor: a NumPy array, a torch tensor, a JAX array."""
    if isinstance(x, np.ndarray):
        return True
    module = type(x).__module__.split(".")[0]
    return module in ("torch", "jax", "jaxlib") and hasattr(x, "shape") and hasattr(x, "dtype")


def _any(holds: Callable[[Any], bool], x: Any) -> bool:
    """Whether it holds for x, or for something in a list or dict."""
    if isinstance(x, (list, tuple)):
        return any(_any(holds, y) for y in x)
    if isinstance(x, dict):
        return any(_any(holds, y) for y in x.values())
    return holds(x)


def any_traced(*values: Any) -> bool:
    """Whether an array among these is one that JAX is tracing a function with."""
    core = getattr(sys.modules.get("jax"), "core", None)
    return core is not None and _any(lambda x: isinstance(x, core.Tracer), values)


def any_of_torch(*values: Any) -> bool:
    """Whether an array among these is PyTorch's own."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)  # no class where a stand-in has the name
    return isinstance(tensor, type) and _any(lambda x: isinstance(x, tensor), values)


def to_numpy(x: Any) -> np.ndarray:
    """The array itself, or a NumPy array that shares memory where it can."""
    if isinstance(x, np.ndarray):
        return x
    if type(x).__module__.split(".")[0] == "torch":
        t = x.detach().cpu()
        name = str(t.dtype).rsplit(".", 1)[-1]
        if name in ("bfloat16", "float8_e5m2", "float8_e4m3fn"):
            import torch

            bits = torch.int16 if name == "bfloat16" else torch.int8
            return t.contiguous().view(bits).numpy().view(dtypes.to_dtype(name))
        return t.numpy()
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def like(result: np.ndarray, example: Optional[Any]) -> Any:
    """A result in the kind of array that the kernel was called with."""
    if example is None or isinstance(example, np.ndarray):
        return result
    module = type(example).__module__.split(".")[0]
    if module == "torch":
        import torch

        name = {dtypes.bfloat16: "bfloat16", dtypes.float8_e5m2: "float8_e5m2", dtypes.float8_e4m3fn: "float8_e4m3fn"}.get(result.dtype)
        if name is not None:
            bits = np.int16 if name == "bfloat16" else np.int8
            return torch.from_numpy(np.ascontiguousarray(result).view(bits).copy()).view(getattr(torch, name))
        if result.dtype in (dtypes.uint16, dtypes.uint32):
            result = result.astype(np.int64)
        return torch.from_numpy(np.ascontiguousarray(result))
    if module in ("jax", "jaxlib") and "jax" in sys.modules:
        return sys.modules["jax"].numpy.asarray(result)
    return result


def convert(x: np.ndarray, d: np.dtype) -> np.ndarray:
    """The array in another type, rounding to nearest even; also for types that NumPy cannot compute with.

    Four numbers of the last dim become one element of a packed type, and one such element four numbers."""
    if x.dtype == d:
        return x
    if d.names is None and x.dtype.names is None:
        return x.astype(d)
    if dtypes.is_packed(d) and x.dtype.kind == "u" and x.dtype.itemsize == d.itemsize or dtypes.is_packed(x.dtype) and d == dtypes.bits_of(x.dtype):
        return np.ascontiguousarray(x).view(d)
    if dtypes.is_packed(x.dtype) and dtypes.is_float(d):
        return convert(_packed.unpack(x), d)
    if dtypes.is_packed(d) and (x.dtype.kind == "f" or dtypes.is_float(x.dtype)):
        return _packed.pack(convert(x, dtypes.float32), d)
    if _small_floats.is_record(d) and x.dtype.kind in "fiub":
        return _small_floats.encode(x, d)
    if _small_floats.is_record(x.dtype):
        return convert(_small_floats.decode(x), d)
    raise TypeError("%s cannot become %s without the package ml_dtypes" % (x.dtype, d))


def for_user(x: np.ndarray) -> np.ndarray:
    """A result as users get it: numbers where NumPy lacks its type."""
    if not _small_floats.is_record(x.dtype):
        return x
    return _small_floats.decode(x).astype(_small_floats.tagged(x.dtype))
