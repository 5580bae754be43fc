"""xcc: compiles models and kernels, and runs what it made.

    archive = xcc.compile("model.onnx")              # bytes; or xcc.compile("model.onnx", "model.neff")
    model = xcc.load("model.neff")                   # or xcc.load(archive)
    y = model(x)                                     # arrays in, arrays out

    xcc.jax      JAX functions: jit, aot
    xcc.torch    PyTorch modules: export, the backend of torch.compile
    xcc.onnx_backend   ONNX's backend interface
    xcc.register_op, xcc.custom_op   operators of one's own in C, and AWS's custom C++ operators
    xcc.nki      kernels written for AWS's Neuron Kernel Interface
"""
from __future__ import annotations

from typing import Any

from ._lib import XccError
from .compiler import compile  # noqa: A004 - the library's verb
from .custom_op import register_op
from .model import Model, Source, TensorInfo

__all__ = ["compile", "custom_op", "load", "register_op", "Model", "TensorInfo", "XccError", "jax", "nki", "onnx_backend", "torch", "__version__"]
__version__ = "0.1.0"


def load(source: Source, threads: int = 0, **options: Any) -> Model:
    """A compiled archive, from a path or from bytes. threads 0: one per core. Options are Model's: allow_code, custom_ops."""
    return Model(source, threads, **options)


def __getattr__(name: str) -> Any:
    if name in ("jax", "nki", "onnx_backend", "torch"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(name)
