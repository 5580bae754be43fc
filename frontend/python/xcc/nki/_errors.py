"""What goes wrong while a kernel is traced, and where.

NkiError is what users see: "FILE:LINE: API: what, what was expected; what to do".
NeedValue never reaches them: it asks the driver to trace the kernel again with some loops unrolled.
"""
from __future__ import annotations

import difflib
import os
import re
import sys
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Tuple

import numpy as np

from ._absent import WRITTEN_AS

_HERE = __file__.rsplit("/", 1)[0]
_NUMPY = (os.path.dirname(np.__file__), "<__array_function__ internals>")  # the second before NumPy 1.25
_BETWEEN = (_HERE,) + _NUMPY  # np.sum(tile) comes back here


class NkiError(Exception):
    """A kernel breaks a rule of the interface or of the target."""

    place = ""  # "FILE:LINE: ", where that is in front of the text
    api: Optional[str] = ""  # what was called; None: not known where the error was made
    callee: Optional[str] = None  # the last function of the interface that it left


class NkiTypeError(NkiError, TypeError):
    """A wrong argument."""


class NkiIndexError(NkiError, IndexError):
    """An index outside its tensor."""


class NkiNameError(NkiError, AttributeError):
    """A name that the interface does not have."""


class NkiNotSupported(NkiError, NotImplementedError):
    """A name of AWS's interface that cannot exist here."""


class NkiWarning(UserWarning):
    """What runs here, and is wrong on the hardware."""


class NeedCpu(BaseException):
    """What a kernel's machine has and no target: the kernel is traced again for cpu."""

    def __init__(self, why: str):
        self.why = why


class NeedValue(BaseException):
    """A symbolic loop index or program id is used where Python needs its value.

    BaseException: a kernel's own `except Exception` must not swallow it.
    """

    def __init__(self, loops: Iterable[object], why: str):
        super().__init__(why)
        self.loops = tuple(loops)
        self.why = why
        _asked.last = self


_asked = threading.local()


def asked() -> Optional[NeedValue]:
    """The last NeedValue of this thread since the last call. Code in C that tries an index as an integer swallows it: array[i] of NumPy."""
    last = getattr(_asked, "last", None)
    _asked.last = None
    return last


class NeedRewrite(BaseException):
    """A function joins masks by and, or, not, or repeats a `with`: it must be traced from a rewritten syntax tree. otherwise: what to
    say where there is none."""

    def __init__(self, code: object, otherwise: str = ""):
        super().__init__("a function needs another form")
        self.code = code
        self.otherwise = otherwise or ("a condition on an index array has no single value: Python's `if`, `and`, `or` cannot decide by it; "
                                       "join masks by & and |, and give them as mask=, or use nl.where")
        self.where = user_location()


def user_location() -> Tuple[str, int]:
    """File and line of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    if frame is None:
        return "?", 0
    return frame.f_code.co_filename, frame.f_lineno or 0


def error(api: Optional[str], text: str, kind: type = NkiError) -> Exception:
    """An exception with the kernel's file and line in front; to be raised by the caller."""
    place = "%s:%d: " % user_location()
    e = kind("%s%s%s" % (place, api + ": " if api else "", text))
    e.place, e.api = place, api  # type: ignore[attr-defined]
    return e


def shape_error(api: Optional[str], what: str, found: Sequence[int], expected: Sequence[int], whose: str = "") -> Exception:
    """An operand of a wrong shape, partitions first; whose: what has the expected one."""
    return error(api, "%s has shape %s, expected %s%s: %s" % (what, tuple(found), tuple(expected), whose, _fitting(tuple(found), tuple(expected))),
                 NkiTypeError)


def _fitting(found: Tuple[int, ...], expected: Tuple[int, ...]) -> str:
    """What makes a tile of one shape fit the other."""
    if len(found) == 2 and found == expected[::-1]:
        return "it is the transpose, which nisa.nc_transpose makes of a tile"
    if found[:1] == (1,) and expected[:1] != (1,):
        return "repeat its partition by x.broadcast_to((%d, ...))" % expected[0]
    if expected[:1] == (1,) and found[:1] != (1,):
        return "one of %d partitions is expected, x[0:1]" % found[0]
    if len(expected) == 2 and found == (expected[1], 1):
        return "a vector lies along the partitions; as a row of every partition it is nl.load(x.reshape((1, %d))).broadcast_to(%s)" % (
            expected[1], expected)
    if found[:1] != expected[:1]:
        return "both have the same partitions; take a part of the larger, x[0:%d]" % min(found[:1] + expected[:1])
    if len(found) != len(expected):
        return "give both the same dims by x.reshape"
    axis = next((k for k in range(1, len(found)) if found[k] != expected[k]), 1)
    return "free dims are equal, or 1, which is repeated; take a part of the larger, x[%s0:%d]" % (":, " * axis, min(found[axis], expected[axis]))


def module_names(module: str, api: str) -> Callable[[str], Any]:
    """A module's __getattr__: names that it lacks are told of with the kernel's line, and with what may be meant."""

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError("module %r has no attribute %r" % (module, name))
        known = [n for n in vars(sys.modules[module]) if not n.startswith("_")]
        near = difflib.get_close_matches(name, known, 1)
        way = WRITTEN_AS.get(name) if api == "nl" else None
        hint = "; " + way if way else "; is %s.%s meant?" % (api, near[0]) if near else ""
        raise error(None, "%s.%s: the interface has no such name%s" % (api, name, hint), NkiNameError)

    return missing


def with_place(e: Exception) -> None:
    """Puts the kernel's file and line in front of what Python says of a wrong argument: of an exception that this package, or what it
    calls, raised, or the call of one of its functions."""
    text = str(e.args[0]) if e.args else ""
    place, ours = None, False
    at = e.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith(_HERE):
            ours = True
        elif not at.tb_frame.f_code.co_filename.startswith(_PACKAGES):
            place, ours = (at.tb_frame.f_code.co_filename, at.tb_lineno or 0), False
        at = at.tb_next
    if place is not None and (ours or _CALL.search(text)):
        e.args = ("%s:%d: %s" % (place + (text,)),) + e.args[1:]


_CALL = re.compile(r"\(\) (missing|got|takes) ")
_PACKAGES = (_HERE, os.path.dirname(_HERE), os.path.dirname(os.__file__), os.path.dirname(_NUMPY[0])) + _NUMPY


_NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def no_array(e: AttributeError, arguments: Mapping[str, Any]) -> Exception:
    """What Python says where a kernel takes an argument for a tensor, with the argument that is none; anything else as it is."""
    found = None if isinstance(e, NkiError) else _NO_ATTRIBUTE.search(str(e))
    name = found and next((k for k, x in arguments.items() if type(x).__name__ == found.group(1)), None)
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if not found or name is None or at is None or at.tb_frame.f_code.co_filename.startswith(_PACKAGES):
        return e
    return NkiTypeError("%s:%d: argument '%s' is of type %s, which has no '%s': tensors are arrays of NumPy, PyTorch or JAX, such as "
                        "numpy.asarray(%s, numpy.float32)" % (at.tb_frame.f_code.co_filename, at.tb_lineno or 0, name, found.group(1), found.group(2), name))


def warn(text: str) -> None:
    """Tells, with the kernel's line, of what runs here and not on the hardware."""
    warn_at(user_location(), text)


def warn_at(where: Tuple[str, int], text: str) -> None:
    """The same of a line that is not the one being traced."""
    file, line = where
    if line:
        warnings.warn_explicit("%s:%d: %s" % (file, line, text), NkiWarning, file, line)
    else:
        warnings.warn(text, NkiWarning, stacklevel=4)


_NODE = re.compile(r"(?:kernel[^:]*: )?(?:instruction \d+ )?\(?node '([^']*:\d+)'\)?: ")


def located(text: str) -> str:
    """A message of the library, which names lines of a kernel as nodes of a graph, with the line in front."""
    node = _NODE.match(text)
    return "%s: %s" % (node.group(1), text[node.end():]) if node else text
