"""What goes wrong while a kernel is traced, and where.

NkiError is what users see: "FILE:LINE: API: what, what was expected; what to do".
NeedValue never reaches them: it asks the driver to trace the kernel again with some loops unrolled.
"""
from __future__ import annotations

import re
import sys
from typing import Iterable, Optional, Tuple

_HERE = __file__.rsplit("/", 1)[0]


class NkiError(Exception):
    """A kernel breaks a rule of the interface or of the target."""


class NkiTypeError(NkiError, TypeError):
    """A wrong argument."""


class NkiIndexError(NkiError, IndexError):
    """An index outside its tensor."""


class NkiNotSupported(NkiError, NotImplementedError):
    """A name of AWS's interface that cannot exist here."""


class NkiWarning(UserWarning):
    """What runs here, and is wrong on the hardware."""


class NeedValue(BaseException):
    """A symbolic loop index or program id is used where Python needs its value.

    BaseException: a kernel's own `except Exception` must not swallow it.
    """

    def __init__(self, loops: Iterable[object], why: str):
        super().__init__(why)
        self.loops = tuple(loops)
        self.why = why


class NeedRewrite(BaseException):
    """A function joins masks by and, or, not: it must be traced from a rewritten syntax tree."""

    def __init__(self, code: object):
        super().__init__("and/or/not between masks")
        self.code = code
        self.where = user_location()


def user_location() -> Tuple[str, int]:
    """File and line of the innermost frame outside this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    if frame is None:
        return "?", 0
    return frame.f_code.co_filename, frame.f_lineno


def error(api: Optional[str], text: str, kind: type = NkiError) -> Exception:
    """An exception with the kernel's file and line in front; to be raised by the caller."""
    file, line = user_location()
    return kind("%s:%d: %s%s" % (file, line, api + ": " if api else "", text))


_NODE = re.compile(r"(?:kernel[^:]*: )?(?:instruction \d+ )?\(?node '([^']*:\d+)'\)?: ")


def located(text: str) -> str:
    """A message of the library, which names lines of a kernel as nodes of a graph, with the line in front."""
    node = _NODE.match(text)
    return "%s: %s" % (node.group(1), text[node.end():]) if node else text
