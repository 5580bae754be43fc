"""What waits for another module: PyTorch takes seconds to import, and is not loaded only to be told of something."""
from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import Any, Callable


def after_import(name: str, action: Callable[[Any], None]) -> None:
    """action(module), now or as soon as somebody has imported it."""
    if name in sys.modules:
        action(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Waits(name, action))


class _Waits(MetaPathFinder):
    def __init__(self, name: str, action: Callable[[Any], None]):
        self.name, self.action = name, action

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                self.action(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
