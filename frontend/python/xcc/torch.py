"""PyTorch modules, compiled and run by xcc.

    archive = xcc.torch.export(module, (x,))                      # bytes of a .neff
    fast = torch.compile(module, backend="xcc")                   # the same, behind torch.compile

torch.compile finds the name where the package is installed; elsewhere import xcc.torch first.
"""
from __future__ import annotations

import io
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._later import after_import
from .compiler import compile as _compile
from .model import Model


def to_onnx(module: Any, args: Sequence[Any], dynamic_axes: Optional[Dict[str, Any]] = None,
            input_names: Optional[List[str]] = None, dynamo: bool = False, **more: Any) -> bytes:
    """The module as an ONNX model, by torch.onnx.export; dynamo=True: PyTorch's newer exporter."""
    import torch

    if isinstance(module, torch.nn.Module):
        module = module.eval()
    memory = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if dynamo:
            program = torch.onnx.export(module, tuple(args), dynamo=True, input_names=input_names, **more)
            return program.model_proto.SerializeToString()
        torch.onnx.export(module, tuple(args), memory, dynamo=False, input_names=input_names, dynamic_axes=dynamic_axes, **more)
    return memory.getvalue()


def export(module: Any, args: Sequence[Any], dynamic_axes: Optional[Dict[str, Any]] = None,
           input_names: Optional[List[str]] = None, dynamo: bool = False, **flags: Any) -> bytes:
    """Compiles a module; dynamic_axes and input_names as torch.onnx.export has them, flags those of xcc.compile."""
    archive = _compile(to_onnx(module, args, dynamic_axes, input_names, dynamo), **flags)
    assert archive is not None
    return archive


def backend(graph: Any, examples: List[Any], **flags: Any) -> Callable[..., Any]:
    """The backend of torch.compile: a graph becomes an archive for each set of sizes that it is called with, 16 at most.

    What a graph writes to (buffers, caches, arguments) is written to. What cannot be exported stays with PyTorch, with a warning.
    """
    from ._torch_backend import compiled

    flags.setdefault("auto_cast", "none")
    return compiled(graph, examples, flags)


def custom_op(name: str, kernel: Any, *, results: int = 1, schema: Optional[str] = None) -> Any:
    """An NKI kernel as the operator `name` ("library::operator") of torch.library.

    The result is called with tensors; its register_autograd(backward, setup_context=...) is torch.library's. A model that calls it
    exports to ONNX by either exporter of PyTorch: a node of domain xcc.kernel that carries the kernel, so that xcc compiles model
    and kernel into one archive. results: how many tensors the kernel returns; schema: of torch.library, where the parameters'
    defaults do not say which are numbers.
    """
    from .nki._torch import custom_op as make

    return make(name, kernel, results=results, schema=schema)


def _register() -> None:
    """Gives torch.compile the name "xcc" where the package is not installed, so that no entry point says it."""
    from importlib.metadata import distributions

    if any(e.group == "torch_dynamo_backends" and e.name == "xcc" for d in distributions() for e in d.entry_points):
        return  # PyTorch registers it, and refuses a name twice
    # its list of backends takes seconds to import: not before torch.compile does
    after_import("torch._dynamo.backends.registry", lambda module: module.register_backend(backend, name="xcc"))


_register()
