"""The platform "xcc" of JAX: JAX_PLATFORMS=xcc python program.py compiles and runs every jit by xcc, on this machine's processor.

JAX finds this module by its name and calls initialize(). The plug-in itself is libxcc_pjrt.so, looked for where xcc's
other libraries are.
"""
from __future__ import annotations

import os

import xcc._lib as _lib

NAME = "xcc"


def library() -> str:
    """The file of the plug-in."""
    for path in _lib.candidates("xcc_pjrt"):
        if os.path.exists(path):
            return path
    raise ImportError("libxcc_pjrt is not found; build the project and set XCC_LIBRARY_PATH to its build folder")


def _share_rules() -> None:
    """Operators that JAX lowers for each platform by a rule of its own: the CPU's rules are ours, LAPACK calls included."""
    from jax._src.interpreters import mlir

    for primitive, rule in list(mlir._platform_specific_lowerings["cpu"].items()):
        mlir._platform_specific_lowerings[NAME].setdefault(primitive, rule)
    from jax._src.lax import linalg

    linalg._platform_prefix_map.setdefault(NAME, "cpu")


def _allow_donation() -> None:
    from jax._src.interpreters import mlir

    if NAME not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(NAME)


def _allow_cache() -> None:
    """JAX keeps compiled programs for platforms in a list of its own; ours can be kept too."""
    from jax._src import compilation_cache

    listed = compilation_cache.is_cache_used

    class Listed:
        platform = "cpu"
        supports_executable_serialization = True

    compilation_cache.is_cache_used = lambda backend: listed(Listed if backend.platform == NAME else backend)


def initialize() -> None:
    import jax._src.xla_bridge as xla_bridge

    _lib.xcc(), _lib.xrt()  # the plug-in uses these two, which a wheel has under other names than the linker's
    getattr(xla_bridge, "_nonexperimental_plugins", set()).add(NAME)  # no warning
    # Below the CPU's priority: installing xcc does not change what JAX programs run on unless they ask for it.
    xla_bridge.register_plugin(NAME, priority=-100, library_path=library())
    for step in (_share_rules, _allow_donation, _allow_cache):
        try:
            step()
        except (ImportError, AttributeError) as e:  # parts of JAX that are not public: without them less works
            import warnings

            warnings.warn("xcc: this version of JAX differs from those known: %s" % e)
