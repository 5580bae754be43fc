"""Kernels as operators of PyTorch: torch.library custom operators, and nodes of domain xcc.kernel where a model is exported to ONNX."""
from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from .. import dtypes
from ._errors import NkiError, NkiTypeError
from ._index import to_int
from ._run import Compiled, Kernel, TensorSpec, _unflatten_results, as_kernel

_WIDER = {"uint16": "int64", "uint32": "int64"}  # what PyTorch computes with instead


def _torch_dtype(d: np.dtype) -> Any:
    import torch

    names = {dtypes.bfloat16: "bfloat16", dtypes.float8_e5m2: "float8_e5m2", dtypes.float8_e4m3fn: "float8_e4m3fn"}
    name = names.get(d, d.name)
    return getattr(torch, _WIDER.get(name, name))


def _shaped(view: Any, whole: Any) -> Any:
    """What a view shows of its tensor."""
    import torch

    at = np.full((), to_int(view.offset), np.int64)
    for s, n in view.dims:
        at = at[..., None] + s * np.arange(n)
    if at.size == view.object.elements and np.array_equal(at.reshape(-1), np.arange(at.size)):
        return whole if tuple(whole.shape) == tuple(view.shape) else whole.reshape(view.shape)
    return whole.reshape(-1)[torch.from_numpy(np.array(at.reshape(-1)))].reshape(view.shape)


def exporting() -> bool:
    """Whether PyTorch is recording a graph for ONNX right now, by its exporter of torch.export."""
    onnx = sys.modules.get("torch.onnx")  # PyTorch loads it at its first use
    if onnx is None:
        return False
    import torch

    return onnx.is_in_onnx_export() and not torch.jit.is_tracing()


def check_traced(name: str, leaves: Sequence[Any]) -> None:
    """Values that a tracer only pretends to compute would become constants of its graph."""
    import torch

    if torch.jit.is_tracing() or any(type(x).__name__ in ("FakeTensor", "FunctionalTensor") for x in leaves):
        raise NkiTypeError("kernel '%s' is called while PyTorch traces a model: make it an operator, %s = xcc.torch.custom_op("
                           "\"my::%s\", %s), and call that" % (name, name, name, name))


def emit(kernel: Kernel, args: tuple, kwargs: dict) -> Any:
    """A node of domain xcc.kernel that carries the kernel as text."""
    import torch

    if not hasattr(torch.onnx, "ops") or not hasattr(torch.onnx.ops, "symbolic_multi_out"):
        raise NkiError("exporting kernels needs torch.onnx.ops.symbolic_multi_out (PyTorch 2.8 or newer), or torch.onnx.export(dynamo=False)")
    compiled, leaves = kernel.prepare(*args, **kwargs)
    operands = [x.to(_torch_dtype(o.dtype)).reshape(o.shape) for x, o in zip(leaves, compiled.inputs)]
    out = torch.onnx.ops.symbolic_multi_out("xcc.kernel::%s" % compiled.name, operands, attrs={"assembly": compiled.assembly()},
                                            dtypes=[_torch_dtype(o.dtype) for o in compiled.results],
                                            shapes=[list(o.shape) for o in compiled.results], version=1)
    of = {o.uid: t for o, t in zip(compiled.results, out)}
    return _unflatten_results(compiled.result, lambda view: _shaped(view, of[view.object.uid]))


def _schema(kernel: Kernel, results: int) -> str:
    """Parameters with a number for a default are numbers; all others are tensors."""
    words = []
    for p in inspect.signature(kernel.func).parameters.values():
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise NkiTypeError("kernel '%s' has a parameter '*%s': give custom_op a schema" % (kernel.func.__name__, p.name))
        kind = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(p.default), "Tensor")
        if p.annotation in (bool, int, float, str):
            kind = p.annotation.__name__
        elif p.annotation in ("bool", "int", "float", "str"):
            kind = p.annotation
        elif p.default is None:
            kind = "Tensor?"
        words.append("%s %s%s" % (kind, p.name, "" if p.default is p.empty else "=%s" % (p.default,)))
    return "(%s) -> %s" % (", ".join(words), "Tensor" if results == 1 else "(%s)" % ", ".join(["Tensor"] * results))


class KernelOp:
    """A kernel as an operator of torch.library. Calling it computes; register_autograd gives it a gradient; a model that calls it
    exports to ONNX by either exporter, as a node of domain xcc.kernel that carries the kernel."""

    def __init__(self, name: str, kernel: Kernel, results: int, schema: Optional[str]):
        import torch

        self.name, self.kernel = name, kernel
        self.op = torch.library.custom_op(name, mutates_args=(), schema=schema or _schema(kernel, results))(self._compute)
        self.op.register_fake(self._fake)
        torch.onnx.register_custom_op_symbolic(name, self._symbolic, 9)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return emit(self.kernel, args, kwargs) if exporting() else self.op(*args, **kwargs)

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Optional[Callable[..., Any]] = None) -> None:
        """As torch.library.CustomOpDef.register_autograd: backward(ctx, *gradients), setup_context(ctx, inputs, output)."""
        self.op.register_autograd(backward, setup_context=setup_context)

    def _compute(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        compiled, _ = self.kernel.prepare(*args, **kwargs)
        return _unflatten_results(compiled.result, lambda v: torch.empty(v.shape, dtype=_torch_dtype(v.object.dtype)))

    def _symbolic(self, g: Any, *values: Any) -> Any:
        """For torch.onnx.export(dynamo=False)."""
        from torch.onnx import symbolic_helper as helper

        args: List[Any] = []
        tensors: List[Tuple[Any, Any]] = []
        for v, p in zip(values, inspect.signature(self.kernel.func).parameters.values()):
            if helper._is_none(v):
                args.append(None)
            elif helper._is_constant(v) and type(p.default) in (bool, int, float, str):
                args.append(type(p.default)(helper._maybe_get_const(v, {bool: "b", int: "i", float: "f", str: "s"}[type(p.default)])))
            else:
                args.append(self._spec(v))
                tensors.append((v, v.type()))
        compiled, _ = self.kernel.prepare(*args)
        return self._node(g, compiled, [v for v, _ in tensors])

    def _spec(self, v: Any) -> TensorSpec:
        t = v.type()
        if t.sizes() is None or any(n is None for n in t.sizes()):
            raise NkiTypeError("operator '%s': a kernel is traced for one shape; export with fixed sizes (no dynamic_axes) for its operands"
                               % self.name)
        return TensorSpec(t.sizes(), str(t.dtype()).rsplit(".", 1)[-1])

    def _node(self, g: Any, compiled: Compiled, values: Sequence[Any]) -> Any:
        from torch.onnx import JitScalarType, symbolic_helper as helper  # type: ignore[attr-defined]

        operands = []
        for v, o in zip(values, compiled.inputs):
            d = _torch_dtype(o.dtype)
            operands.append(v if v.type().dtype() == d else g.op("Cast", v, to_i=int(JitScalarType.from_dtype(d).onnx_type())))
        out = g.op("xcc.kernel::%s" % compiled.name, *operands, assembly_s=compiled.assembly(), outputs=len(compiled.results))
        of = {o.uid: v for o, v in zip(compiled.results, out if isinstance(out, (tuple, list)) else [out])}
        for o in compiled.results:
            of[o.uid].setType(values[0].type().with_dtype(_torch_dtype(o.dtype)).with_sizes(list(o.shape)))

        def shaped(view: Any) -> Any:
            if int(np.prod(view.shape)) != view.object.elements or to_int(view.offset):
                raise NkiTypeError("operator '%s' returns a part of a tensor; export with dynamo=True" % self.name)
            return of[view.object.uid] if tuple(view.shape) == tuple(view.object.shape) else helper._reshape_helper(g, of[view.object.uid], list(view.shape))

        return _unflatten_results(compiled.result, shaped)


def custom_op(name: str, kernel: Any, *, results: int = 1, schema: Optional[str] = None) -> KernelOp:
    """The kernel as the operator `name` ("library::operator"); results: how many tensors it returns."""
    if not isinstance(name, str) or len(name.split("::")) != 2 or not all(part.isidentifier() for part in name.split("::")):
        raise ValueError("name is %r, expected 'library::operator', such as 'my::softmax'" % (name,))
    return KernelOp(name, as_kernel(kernel), results, schema)
