"""xcc: compiles models and kernels, and runs what it made.

    archive = xcc.compile("model.onnx")              # bytes; or xcc.compile("model.onnx", "model.neff")
    model = xcc.load("model.neff")                   # or xcc.load(archive)
    y = model(x)                                     # arrays in, arrays out

    xcc.nki: kernels written for AWS's Neuron Kernel Interface.
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

from . import _lib
from ._lib import Model, XccError

__all__ = ["compile", "load", "Model", "XccError", "nki", "__version__"]
__version__ = "0.1.0"


def compile(model: Any, output: Optional[Any] = None, **flags: Any) -> Optional[bytes]:  # noqa: A001 - the library's verb
    """Compiles a model file. flags are the command line's: auto_cast="none", shape="batch=4", a list repeats one.

    Returns the archive, or writes it to `output` and returns None. XccError carries the message of the command line.
    """
    words = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        for v in value if isinstance(value, (list, tuple)) else [value]:
            words.append(flag if v is True else "%s '%s'" % (flag, v))
    lib = _lib.xcc()
    a = _lib.Archive()
    if not lib.xcc_compile(os.fsencode(model), " ".join(words).encode(), ctypes.byref(a.bytes), None, None):
        raise _lib.fail()
    if output is None:
        return bytes(a)
    with open(output, "wb") as f:
        f.write(bytes(a))
    return None


def load(source: Any, threads: int = 0) -> Model:
    """A compiled archive, from a path or from bytes. threads 0: one per core."""
    return Model(source, threads)


def __getattr__(name: str) -> Any:
    if name == "nki":
        import importlib

        return importlib.import_module(".nki", __name__)
    raise AttributeError(name)
