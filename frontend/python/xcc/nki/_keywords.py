"""What stands between kernels and the functions of nl and nisa: it tells of arguments that a function does not take.

Keyword arguments that nobody takes are warned of: beta 1 accepts any, and so hides what is misspelt."""
from __future__ import annotations

import difflib
import functools
import inspect
from itertools import chain
from typing import Any, Callable, Dict, FrozenSet

from ._arguments import CAUGHT, in_words, kinds_of, refuse
from ._errors import NkiTypeError, error, warn
from ._tensor import View
from ._trace import current, need_trace

# What changes where or when something runs, or how the compiler treats it, but not what is computed.
_HINTS = frozenset((
    "name", "engine", "mode", "mask", "dtype", "precise_schedule", "max_free_vec_size", "lazy_initialization", "parallel_reduce", "asynchronous",
    "dge_mode", "oob_mode", "perf_mode", "tile_position", "tile_size", "psum_accumulate_flags", "compute_dtype", "directives", "address",
    "alignment", "attributes", "priority", "keepdims", "unique_indices", "enable_out_of_bound_check", "overwrite", "prefix", "print_prefix",
    "buffer", "show_compiler_tb", "data_type", "axis", "tensor",
))
_OF_BETA1 = frozenset(("mask", "dtype"))  # nki 0.6 has views and the destination's type instead
_OF_REDUCTIONS = frozenset(("axis", "keepdims"))  # of no meaning to what is computed element by element
_ABSENT = object()


def check_keywords(names: Dict[str, Any], module: str, prefix: str) -> None:
    """Makes the functions of a module tell of arguments of another kind, and warn of keyword arguments that are no parameters and no hints."""
    for name, f in list(names.items()):
        if inspect.isfunction(f) and f.__module__.startswith("xcc.nki") and not name.startswith("_") and not hasattr(f, "__wrapped__") \
                and not any(str(p.annotation).startswith("Callable") for p in inspect.signature(f).parameters.values()):
            none = _OF_BETA1 if module.endswith("v06.isa") else _OF_REDUCTIONS if module.endswith("_math") else frozenset()
            names[name] = checked(f, prefix, name, _HINTS - none)
            first = next(iter(inspect.signature(f).parameters.values()), None)
            if module.endswith("v06.isa") and first is not None and first.name == "dst" and first.annotation == "_View":
                names[name] = _written(names[name], name)


def checked(f: Callable[..., Any], prefix: str, name: str, hints: FrozenSet[str] = frozenset()) -> Callable[..., Any]:
    parameters = inspect.signature(f).parameters
    order = [p.name for p in parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
    kinds = kinds_of(f, f.__module__.endswith("_math"))
    known = set(parameters) if any(p.kind == p.VAR_KEYWORD for p in parameters.values()) else None
    full = "%s.%s" % (prefix, name)
    api = full if prefix == "nl" else name

    @functools.wraps(f)
    def g(*args: Any, **kw: Any) -> Any:
        if known is not None:
            for k in kw:
                if k not in known and k not in hints and (kw[k] is not None or k not in _HINTS):
                    _warn(full, k, known | hints)
        if current() is None:
            return f(*args, **kw)
        for k, x in chain(zip(order, args), kw.items()):
            if k in kinds and not kinds[k].takes(x):
                refuse(api, k, x, kinds[k])
        try:
            return f(*args, **kw)
        except CAUGHT as e:
            said = in_words(e, api, dict(zip(order, args), **kw))
            if said is e:
                raise
        raise said

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
