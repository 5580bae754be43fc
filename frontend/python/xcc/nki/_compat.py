"""Gives xcc's modules AWS's names: neuronxcc.nki (beta 1), nki (0.6) and neuron_dtypes."""
from __future__ import annotations

import importlib.machinery
import logging
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


class _Finder:
    """Finds every module below those that cannot exist here, so that importing them fails only where they are used."""

    roots = ("neuronxcc.nki.compiler.", "neuronxcc.nki._", "neuronxcc.nki.kernels", "neuronxcc.nki.nccl", "neuronxcc.nki.framework",
             "neuronxcc.nki.compile.", "neuronxcc.nki.docs", "neuronxcc.nki.collectives", "neuronxcc.starfish", "nki.compiler.", "nki.collectives",
             "nki.runtime", "nki.framework", "nki._")

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith(cls.roots):
            return None
        return importlib.machinery.ModuleSpec(name, cls, is_package=True)

    @classmethod
    def create_module(cls, spec: Any) -> types.ModuleType:
        return _Absent(spec.name)

    @classmethod
    def exec_module(cls, module: types.ModuleType) -> None:
        pass


def _enums(root: str, isa: types.ModuleType, language: types.ModuleType) -> None:
    """nisa.constants and nl.constants are imported as modules as well."""
    for owner, name in ((isa, "isa.constants"), (language, "language.constants")):
        values = owner.constants  # type: ignore[attr-defined]
        m = types.ModuleType("%s.%s" % (root, name))
        m.__dict__.update({k: getattr(values, k) for k in dir(values) if not k.startswith("_")})
        sys.modules[m.__name__] = m
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)  # type: ignore[arg-type]


def install_beta1(package: types.ModuleType) -> None:
    """neuronxcc -> neuronxcc.nki and its modules."""
    from xcc import nki
    from xcc.nki._cores import core_barrier, sendrecv, sync_program
    from xcc.nki._probe import do_while

    package.__dict__.setdefault("__version__", "2.0.0+xcc")
    logging.__dict__.setdefault("OFF", logging.CRITICAL + 10)  # a level that AWS's package adds, and kernels name
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
    private = _absent(sys.modules["%s.nki._private" % package.__name__], "private_api")
    private.do_while, private.sendrecv, private.core_barrier = do_while, sendrecv, core_barrier  # type: ignore[attr-defined]
    sys.modules["%s.nki.language.iterators" % package.__name__].sync_program = sync_program  # type: ignore[attr-defined]
    _enums("%s.nki" % package.__name__, nki.isa, nki.language)
    for name in ("isa", "language", "compiler"):  # as packages, for modules below them
        getattr(nki, name).__dict__.setdefault("__path__", [])
    starfish = _absent(package, "starfish")
    support = _absent(starfish, "support")
    util = types.ModuleType("%s.starfish.support.util" % package.__name__)
    util.allclose = _allclose  # type: ignore[attr-defined]
    _set(support, "util", util)
    install_host_types(_set(support, "dtype", types.ModuleType("%s.starfish.support.dtype" % package.__name__)))


def install_host_types(module: types.ModuleType) -> None:
    """neuron_dtypes -> the names of _host_types."""
    from xcc.nki import _host_types

    module.__dict__.update({name: getattr(_host_types, name) for name in _host_types.__all__})


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
    _enums(package.__name__, v06.isa, v06.language)
    for name in ("isa", "language", "compiler"):
        getattr(v06, name).__dict__.setdefault("__path__", [])
    for name in ("collectives", "runtime", "framework", "dtype"):
        if name == "dtype":
            _set(package, "dtype", v06.dtype)
            continue
        _absent(package, name)


def install() -> None:
    """AWS's names, unless packages of these names are installed."""
    import importlib.util

    for name, fill in (("neuronxcc", install_beta1), ("nki", install_v06), ("neuron_dtypes", install_host_types)):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            m = types.ModuleType(name)
            m.__path__ = []  # type: ignore[attr-defined]
            sys.modules[name] = m
            fill(m)
