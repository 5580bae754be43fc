"""nki.typing: names for annotations; tensor[128, 512] is allowed and means nothing to the tracer. tensor[[128, 512], nl.float32], a
shape and a type, also stands for an array where none is at hand: nki.benchmark and nki.profile fill it themselves."""
from __future__ import annotations

from typing import Any

from ._run import TensorSpec


class _Annotation:
    def __init__(self, name: str):
        self.__name__ = name

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], (list, tuple)):
            return TensorSpec(*key)
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
