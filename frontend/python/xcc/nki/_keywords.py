"""Keyword arguments that nobody takes: beta 1 accepts any, and so hides what is misspelt. Here they are told of."""
from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, Dict

from ._errors import NkiTypeError, error, warn
from ._tensor import View
from ._trace import need_trace

# What changes where or when something runs, or how the compiler treats it, but not what is computed.
_HINTS = {
    "name", "engine", "mode", "mask", "dtype", "precise_schedule", "max_free_vec_size", "lazy_initialization", "parallel_reduce", "asynchronous",
    "dge_mode", "oob_mode", "perf_mode", "tile_position", "tile_size", "psum_accumulate_flags", "compute_dtype", "directives", "address",
    "alignment", "attributes", "priority", "keepdims", "unique_indices", "enable_out_of_bound_check", "overwrite", "prefix", "print_prefix",
    "buffer", "show_compiler_tb", "data_type", "axis", "tensor",
}
_OF_BETA1 = {"mask", "dtype"}  # nki 0.6 has views and the destination's type instead
_ABSENT = object()


def check_keywords(names: Dict[str, Any], module: str, prefix: str) -> None:
    """Makes the functions of a module warn of keyword arguments that are no parameters and no hints."""
    for name, f in list(names.items()):
        if inspect.isfunction(f) and f.__module__.startswith("xcc.nki") and not name.startswith("_"):
            parameters = inspect.signature(f).parameters
            if any(p.kind == p.VAR_KEYWORD for p in parameters.values()) and f.__module__ == module:
                f = _checked(f, "%s.%s" % (prefix, name), set(parameters), _HINTS - (_OF_BETA1 if module.endswith("v06.isa") else set()))
                names[name] = _written(f, name) if module.endswith("v06.isa") and next(iter(parameters)) == "dst" else f


def _checked(f: Callable[..., Any], api: str, parameters: set, hints: set) -> Callable[..., Any]:
    @functools.wraps(f)
    def g(*args: Any, **kw: Any) -> Any:
        for k in kw:
            if k not in parameters and k not in hints and (kw[k] is not None or k not in _HINTS):
                _warn(api, k, parameters | hints)
        return f(*args, **kw)

    return g


def _written(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """An instruction whose first argument is what it writes."""
    how = "an instruction of nki 0.6 writes to its first argument, dst, a tile that nl.ndarray makes, and returns nothing"

    @functools.wraps(f)
    def g(*args: Any, **kw: Any) -> Any:
        dst = args[0] if args else kw.get("dst", _ABSENT)
        if dst is not _ABSENT and not isinstance(dst, View):
            need_trace(name)
            raise error(name, "dst is %s, expected a tile: %s" % (type(dst).__name__, how), NkiTypeError)
        try:
            return f(*args, **kw)
        except TypeError as e:
            if str(e).startswith(name + "() missing"):
                e.args = ("%s: %s" % (e.args[0], how),)
            raise

    return g


def _warn(api: str, word: str, known: set) -> None:
    near = difflib.get_close_matches(word, sorted(known - _HINTS), 1) or difflib.get_close_matches(word, sorted(known), 1)
    text = "%s has no argument '%s', it has no effect%s" % (api, word, "; is '%s' meant?" % near[0] if near else "")
    warn(text)
