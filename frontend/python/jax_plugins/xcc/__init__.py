"""The platform "xcc" of JAX: JAX_PLATFORMS=xcc python program.py compiles and runs every jit by xcc, on this machine's processor.

JAX finds this module by its name and calls initialize(). The plug-in itself is libxcc_pjrt.so, looked for where xcc's
other libraries are.
"""
from __future__ import annotations

import collections
import dataclasses
import os
from typing import Any

import xcc._lib as _lib

NAME = "xcc"


def library() -> str:
    """The file of the plug-in."""
    for path in _lib.candidates("xcc_pjrt"):
        if os.path.exists(path):
            return path
    raise ImportError("libxcc_pjrt is not found; build the project and set XCC_LIBRARY_PATH to its build folder")


def _share_rules() -> None:
    """Operators that JAX lowers for each platform by a rule of its own: the CPU's rules are ours, LAPACK calls and rules that
    modules imported later bring included."""
    from jax._src.interpreters import mlir

    rules = mlir._platform_specific_lowerings
    rules[NAME] = collections.ChainMap(rules[NAME], rules["cpu"])  # type: ignore[assignment]
    from jax._src.lax import linalg

    linalg._platform_prefix_map.setdefault(NAME, "cpu")


def _take_branches_for_cpu() -> None:
    """jax.lax.platform_dependent(cpu=f, tpu=g): f is ours too, unless there is a branch of our name."""
    from jax._src.interpreters import mlir
    from jax._src.lax.control_flow import conditionals

    def widened(branches: Any) -> Any:
        if branches is None or any(names is not None and NAME in names for names in branches):
            return branches
        return tuple(names + (NAME,) if names is not None and "cpu" in names else names for names in branches)

    def index(ctx: Any, *, platforms: Any) -> Any:
        return conditionals._platform_index_lowering(ctx, platforms=widened(platforms))

    def cond(ctx: Any, *args: Any, **params: Any) -> Any:
        return conditionals._cond_lowering(ctx, *args, **dict(params, branches_platforms=widened(params.get("branches_platforms"))))

    mlir.register_lowering(conditionals.platform_index_p, index, platform=NAME)
    mlir.register_lowering(conditionals.cond_p, cond, platform=NAME)


def _call_exports_for_cpu() -> None:
    """What jax.export wrote for the CPU can be called on xcc."""
    from jax._src.export import _export
    from jax._src.interpreters import mlir

    def call(ctx: Any, *args: Any, exported: Any) -> Any:
        if NAME not in exported.platforms:
            exported = dataclasses.replace(exported, platforms=tuple(NAME if name == "cpu" else name for name in exported.platforms))
        return _export._call_exported_lowering(ctx, *args, exported=exported)

    mlir.register_lowering(_export.call_exported_p, call, platform=NAME)


def _refuse_callbacks() -> None:
    """What calls Python while it runs is refused in words that say how it can be done."""
    from jax._src import callback, debugging
    from jax._src.interpreters import mlir

    ways = {"jax.pure_callback": "compute it outside of jit and pass the result in, or write it with jax.numpy",
            "jax.experimental.io_callback": "return the values from the function, and do the rest outside of jit",
            "jax.debug.callback": "return the values from the function and look at them outside of jit",
            "jax.debug.print": "return the values from the function and print them outside of jit"}
    for module, primitive, name in ((callback, "pure_callback_p", "jax.pure_callback"), (callback, "io_callback_p", "jax.experimental.io_callback"),
                                    (debugging, "debug_callback_p", "jax.debug.callback"), (debugging, "debug_print_p", "jax.debug.print")):
        if not hasattr(module, primitive):
            continue

        def refuse(*args: Any, name: str = name, **kwargs: Any) -> Any:
            raise NotImplementedError("%s calls Python while the program runs, which programs of xcc cannot: %s. With JAX_PLATFORMS=xcc,cpu the "
                                      "function runs on the CPU where its arguments are there: jax.device_put(x, jax.devices('cpu')[0])" % (name, ways[name]))

        mlir.register_lowering(getattr(module, primitive), refuse, platform=NAME)


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
    for step in (_share_rules, _take_branches_for_cpu, _call_exports_for_cpu, _refuse_callbacks, _allow_donation, _allow_cache):
        try:
            step()
        except (ImportError, AttributeError) as e:  # parts of JAX that are not public: without them less works
            import warnings

            warnings.warn("xcc: this version of JAX differs from those known: %s" % e)
