"""Gives xcc's modules AWS's names: neuronxcc.nki (beta 1) and nki (0.6)."""
from __future__ import annotations

import sys
import types
from typing import Any

from ._unavailable import Names

_ABSENT = "is part of AWS's compiler; it does not exist here"


class _Absent(types.ModuleType):
    """A module of AWS's package that cannot exist here: its names are found and fail when they are used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Names("%s.%s" % (self.__name__, name), _ABSENT)


def _set(parent: types.ModuleType, name: str, module: types.ModuleType) -> types.ModuleType:
    full = "%s.%s" % (parent.__name__, name)
    sys.modules[full] = module
    setattr(parent, name, module)
    return module


def _absent(parent: types.ModuleType, name: str) -> types.ModuleType:
    m = _Absent("%s.%s" % (parent.__name__, name))
    m.__path__ = []  # type: ignore[attr-defined]
    return _set(parent, name, m)


def install_beta1(package: types.ModuleType) -> None:
    """neuronxcc -> neuronxcc.nki and its modules."""
    from xcc import nki

    package.__dict__.setdefault("__version__", "2.0.0+xcc")
    _set(package, "nki", nki)
    for name in ("language", "isa", "compiler", "typing"):
        sys.modules["%s.nki.%s" % (package.__name__, name)] = getattr(nki, name)
    for name in ("nccl", "_private", "_private_kernels", "_pre_prod_kernels", "kernels", "framework", "compile", "docs", "isa.neuron_isa",
                 "language.iterators", "collectives"):
        m = _Absent("%s.nki.%s" % (package.__name__, name))
        m.__path__ = []  # type: ignore[attr-defined]
        sys.modules["%s.nki.%s" % (package.__name__, name)] = m
        owner: Any = nki
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        setattr(owner, name.rsplit(".", 1)[-1], m)
    starfish = _absent(package, "starfish")
    support = _absent(starfish, "support")
    util = types.ModuleType("%s.starfish.support.util" % package.__name__)
    util.allclose = _allclose  # type: ignore[attr-defined]
    _set(support, "util", util)


def _allclose(a: Any, b: Any, rtol: float = 1e-2, atol: float = 1e-2, verbose: int = 0, **kw: Any) -> bool:
    import numpy as np

    return bool(np.allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol, atol))


def install_v06(package: types.ModuleType) -> None:
    """nki -> the modules of xcc.nki.v06."""
    from xcc.nki import v06

    for name, value in vars(v06).items():
        if not name.startswith("__"):
            package.__dict__[name] = value
    for name in ("language", "isa", "compiler", "typing"):
        sys.modules["%s.%s" % (package.__name__, name)] = getattr(v06, name)
    for name in ("collectives", "runtime", "framework", "dtype"):
        if name == "dtype":
            _set(package, "dtype", v06.dtype)
            continue
        _absent(package, name)


def install() -> None:
    """Both names, unless packages of these names are installed."""
    import importlib.util

    for name, fill in (("neuronxcc", install_beta1), ("nki", install_v06)):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            m = types.ModuleType(name)
            m.__path__ = []  # type: ignore[attr-defined]
            sys.modules[name] = m
            fill(m)
