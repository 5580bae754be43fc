"""JAX functions, compiled and run by xcc.

    f = xcc.jax.jit(lambda x, w: jnp.tanh(x @ w))    # like jax.jit, on this library
    y = f(x, w)
    archive = xcc.jax.aot(f, jax.ShapeDtypeStruct((8, 4), "float32"), w)     # bytes: write them to a .neff
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from . import _arrays
from .compiler import compile as _compile
from .model import Model


def _lowered(f: Callable, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    import jax

    traced = f if hasattr(f, "lower") else jax.jit(f, keep_unused=True)
    return traced.lower(*args, **kwargs)


def to_hlo(f: Callable, specs: Tuple[Any, ...], kwargs: Optional[Dict[str, Any]] = None) -> bytes:
    """The function's HLO text for arguments of these shapes and types."""
    return _lowered(f, specs, kwargs or {}).as_text(dialect="hlo").encode()


def aot(f: Callable, *specs: Any, **flags: Any) -> bytes:
    """Compiles the function ahead of time; specs: arrays or jax.ShapeDtypeStruct. flags: of xcc.compile."""
    archive = _compile(getattr(f, "__wrapped__", f), *specs, **flags)
    assert archive is not None
    return archive


def jit(f: Optional[Callable] = None, *, threads: int = 0, **flags: Any) -> Callable:
    """Like jax.jit: compiles at the first call with new shapes and types, and runs here. FP32 stays FP32 unless
    auto_cast says otherwise. Arguments and results may be any pytrees of arrays; results are JAX arrays."""
    if f is None:
        return functools.partial(jit, threads=threads, **flags)
    import jax

    flags.setdefault("auto_cast", "none")
    known: Dict[Any, Tuple[Model, Any]] = {}

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        shapes = tuple(jax.api_util.shaped_abstractify(x) for x in leaves)
        key = (tree, shapes)
        if key not in known:
            flat = [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in shapes]
            results: Dict[str, Any] = {}

            def flattened(*values: Any) -> Any:
                a, k = jax.tree_util.tree_unflatten(tree, values)
                out, results["tree"] = jax.tree_util.tree_flatten(f(*a, **k))
                return out

            archive = _compile(flattened, *flat, **flags)
            known[key] = (Model(archive, threads), results["tree"])
        model, out_tree = known[key]
        out = model.run([np.asarray(x, s.dtype) for x, s in zip(map(_arrays.to_numpy, leaves), shapes)])
        return jax.tree_util.tree_unflatten(out_tree, [jax.numpy.asarray(a) for a in out])

    return call
