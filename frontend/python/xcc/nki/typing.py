"""nki.typing: names for annotations; tensor[128, 512] is allowed and means nothing to the tracer."""
from __future__ import annotations

from typing import Any


class _Annotation:
    def __init__(self, name: str):
        self.__name__ = name

    def __getitem__(self, key: Any) -> "_Annotation":
        return self

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return args[0] if args else self

    def __repr__(self) -> str:
        return self.__name__


tensor = _Annotation("tensor")
scalar = _Annotation("scalar")
mutable_tensor = _Annotation("mutable_tensor")
mutable = _Annotation("mutable")
immutable = _Annotation("immutable")
tensor_type = tensor
