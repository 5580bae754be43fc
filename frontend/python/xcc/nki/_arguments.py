"""What a function was given: arguments of a kind that it does not take are told of before an instruction is made of them.

A parameter that is annotated as a tensor takes a tensor; others that several functions share have a row in _KINDS. What gets past
that, and what Python says of it then, is told in the function's name and with its arguments (in_words).
"""
from __future__ import annotations

import inspect
import os
import re
import reprlib
from typing import Any, Callable, Dict, Mapping, NamedTuple, Tuple

import numpy as np

from .. import dtypes
from ._core import is_number
from ._enums import reduce_cmd
from ._errors import _BETWEEN, NkiError, NkiTypeError, error
from ._index import Expr, Mask
from ._tensor import View, par_dim
from ._trace import need_trace


class Kind(NamedTuple):
    takes: Callable[[Any], bool]
    words: str


def _integer(x: object) -> bool:
    return isinstance(x, (int, np.integer, Expr, par_dim)) or callable(getattr(x, "__index__", None)) and not isinstance(x, np.ndarray)


def _integers(x: object) -> bool:
    return isinstance(x, (tuple, list, np.ndarray)) and all(_integer(n) for n in x)


def _sizes(x: object) -> bool:
    return _integer(x) or _integers(x)


def _steps(x: object) -> bool:
    return isinstance(x, (tuple, list, np.ndarray)) and all(_integers(pair) and len(pair) == 2 for pair in x)


def _number(x: object) -> bool:
    return is_number(x) and not isinstance(x, np.ndarray) and not isinstance(x, complex) or isinstance(x, np.ndarray) and x.size == 1


def _operand(x: object) -> bool:
    return isinstance(x, View) or hasattr(x, "value") or _number(x)  # value: of a register


def _choice(x: object) -> bool:
    return isinstance(x, (View, Mask)) or _number(x)


TILE = Kind(lambda x: isinstance(x, View) or hasattr(x, "get_view"), "a tile")
_SIZES = Kind(_sizes, "sizes, such as (128, 512)")
_STEPS = Kind(_steps, "a [step, count] for each free dim, such as [[1, 512]]")
_NUMBER = Kind(_number, "a number")
_OPERAND = Kind(_operand, "a number, or a tile of one element for each partition")
_ELEMENTS = Kind(_choice, "a tile or a number")
_COMMAND = Kind(lambda x: isinstance(x, (reduce_cmd, str)), "one of nisa.reduce_cmd")
_KINDS = {
    "shape": _SIZES, "pattern": _STEPS, "fill_value": _NUMBER, "imm": _NUMBER, "epsilon": _NUMBER, "padding_val": _NUMBER,
    "operand0": _OPERAND, "operand1": _OPERAND, "imm0": _OPERAND, "imm1": _OPERAND, "initial": _OPERAND, "bias": _OPERAND, "scale": _OPERAND,
    "prob": _OPERAND, "rate": _OPERAND, "max_value": _OPERAND, "condition": _ELEMENTS, "on_false": _ELEMENTS,
    "range_start": Kind(lambda x: _operand(x) and x == x, "an integer, or a tile of one"), "num_elem_per_idx": Kind(_integer, "an integer"),
    "reduce_res": TILE, "dst_idx": TILE, "reduce_cmd": _COMMAND,
    "shuffle_mask": Kind(_integers, "32 integers: which of its 32 rows each partition takes"),
    "srcs": Kind(lambda x: isinstance(x, (tuple, list)) and all(isinstance(v, View) for v in x), "a list of tensors"),
}
_OF_TENSORS = ("View", "_View", "tensor")  # as annotations have them


def kinds_of(f: Callable[..., Any], elementwise: bool) -> Dict[str, Kind]:
    """The kinds of a function's parameters, as far as they are known; elementwise: x and y are tiles or numbers."""
    kinds = {}
    for p in inspect.signature(f).parameters.values():
        kind = TILE if p.annotation in _OF_TENSORS else _KINDS.get(p.name)
        if elementwise and p.name in ("x", "y"):
            kind = _ELEMENTS
        if kind is not None:
            kinds[p.name] = kind if p.default is p.empty else Kind(lambda x, takes=kind.takes: x is None or takes(x), kind.words)  # type: ignore
    return kinds


_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def named(x: object) -> str:
    """A value as a message has it."""
    return getattr(x, "__name__", None) or _short.repr(x).replace("\n", " ")


def refuse(api: str, name: str, value: object, kind: Kind) -> None:
    """Raises what is said of an argument of another kind."""
    need_trace(api)
    hint = ""
    if kind is TILE and callable(value) and not isinstance(value, type):
        hint = "; is it the operation? The order of arguments differs between instructions: name them, %s=tile, op=..." % name
    elif isinstance(value, np.ndarray) or kind is TILE and isinstance(value, (list, tuple)):
        hint = ": pass arrays to the kernel as arguments, or make one by nl.shared_constant, and load it (nl.load)"
    elif kind is TILE and is_number(value):
        hint = ": a tile of one number is nl.full((128, 1), number, dtype=nl.float32)"
    raise error(api, "%s is %s, expected %s%s" % (name, type(value).__name__ if isinstance(value, np.ndarray) else named(value), kind.words, hint),
                NkiTypeError)


_CALL = re.compile(r"\(\) (missing|got|takes) ")
_METHODS = ("reshape", "view", "permute", "broadcast", "reshape_dim")  # of tensors: called by a function of the interface
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_OURS = _BETWEEN + (_PACKAGE, os.path.dirname(os.__file__))


def _of_the_kernel(e: BaseException) -> bool:
    """Whether it comes from a function that the kernel passed."""
    at, last = e.__traceback__, None
    while at is not None:
        last, at = at, at.tb_next
    return last is not None and not last.tb_frame.f_code.co_filename.startswith(_OURS)


def in_words(e: Exception, api: str, given: Mapping[str, object]) -> Exception:
    """What Python says of arguments, told with the kernel's line, the function's name and the arguments."""
    if isinstance(e, NkiError):
        if e.place and (e.api is None or e.api == e.callee or e.api in _METHODS):  # of a function that the one which the kernel calls is made of
            text = str(e.args[0])[len(e.place):]
            e.args = ("%s%s: %s" % (e.place, api, text[len(e.api) + 2:] if e.api else text),) + e.args[1:]
            e.api = api
        e.callee = api
        return e
    text = str(e.args[0]) if e.args else type(e).__name__
    if _CALL.search(text) or _of_the_kernel(e):
        return e
    if not isinstance(e, dtypes.NoDataType):
        text = "%s; it was given %s" % (text, ", ".join("%s=%s" % (k, named(v)) for k, v in given.items()))
    said = error(api, text, NkiTypeError)
    said.callee = api  # type: ignore[attr-defined]
    return said


CAUGHT: Tuple[type, ...] = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, NkiError)
