"""What holds arrays among a kernel's arguments and results: lists, tuples, dicts, dataclasses and other objects that carry parameters."""
from __future__ import annotations

import copy
import dataclasses
from typing import Any, Callable, List, Optional, Tuple

CARRIERS: List[type] = []  # classes whose instances' attributes are looked through besides dataclasses'


def parts(x: Any) -> Optional[List[Tuple[Any, Any]]]:
    """(key, value) of each; None: x holds nothing."""
    if type(x) in (list, tuple) or isinstance(x, tuple) and hasattr(x, "_fields"):
        return list(enumerate(x))
    if type(x) is dict:
        return list(x.items())
    if isinstance(x, tuple(CARRIERS)) or dataclasses.is_dataclass(x) and not isinstance(x, type):
        return list(vars(x).items()) if hasattr(x, "__dict__") else [(f.name, getattr(x, f.name)) for f in dataclasses.fields(x)]
    return None


def mapped(x: Any, f: Callable[[Any, Any], Any]) -> Any:
    """x with f(key, value) in the place of each part; x itself where f changes none of an object's."""
    found = parts(x)
    if found is None:
        return x
    new = [(k, f(k, v)) for k, v in found]
    if isinstance(x, dict):
        return dict(new)
    if isinstance(x, (list, tuple)):
        values = [v for _, v in new]
        return type(x)(*values) if hasattr(x, "_fields") else type(x)(values)
    if all(v is old for (_, v), (_, old) in zip(new, found)):
        return x
    made = copy.copy(x)
    for k, v in new:
        object.__setattr__(made, k, v)  # frozen ones too
    return made
