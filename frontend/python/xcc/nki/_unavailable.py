"""Names of AWS's interface that cannot exist on this machine: they say so when they are used."""
from __future__ import annotations

from typing import Any, Callable

from ._errors import NkiNotSupported, error

_WHY = "needs several NeuronCores or AWS's own package; it does not exist here"


def make(name: str, why: str = _WHY) -> Callable[..., Any]:
    def f(*args: Any, **kw: Any) -> Any:
        raise error(name, why, NkiNotSupported)

    f.__name__ = f.__qualname__ = name.rsplit(".", 1)[-1]
    f.__doc__ = "%s: %s." % (name, why)
    return f


class Names:
    """A stand-in for a module whose names cannot exist: they are found, and fail when called."""

    def __init__(self, name: str, why: str = _WHY):
        self.__dict__["_name"] = name
        self.__dict__["_why"] = why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Names("%s.%s" % (self._name, name), self._why)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        raise error(self._name, self._why, NkiNotSupported)

    def __repr__(self) -> str:
        return "<%s: not available>" % self._name
