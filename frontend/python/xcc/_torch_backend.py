"""The backend of torch.compile: an archive for each set of sizes that a graph is called with."""
from __future__ import annotations

import contextlib
import copy
import io
import warnings
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
from torch.nn import functional as F

from ._lib import XccError
from .compiler import compile as _compile
from .model import Model
from .torch import to_onnx

MOST = 16  # archives of one graph; further sizes stay with PyTorch


def encoder_layer(x: Any, width: int, heads: int, qkv_w: Any, qkv_b: Any, out_w: Any, out_b: Any, gelu: bool, norm_first: bool, eps: float,
                  norm1_w: Any, norm1_b: Any, norm2_w: Any, norm2_b: Any, w1: Any, b1: Any, w2: Any, b2: Any, mask: Any = None, kind: Any = None) -> Any:
    """torch._transformer_encoder_layer_fwd, which no exporter knows, in operators that they do."""
    if mask is not None:
        raise XccError("a transformer encoder layer with a mask, as PyTorch's fast path runs it, cannot be exported")

    def attention(v: Any) -> Any:
        q, k, w = (t.unflatten(-1, (heads, width // heads)).transpose(-2, -3) for t in F.linear(v, qkv_w, qkv_b).chunk(3, -1))
        return F.linear(F.scaled_dot_product_attention(q, k, w).transpose(-2, -3).flatten(-2), out_w, out_b)

    def feed_forward(v: Any) -> Any:
        hidden = F.linear(v, w1, b1)
        return F.linear(F.gelu(hidden) if gelu else F.relu(hidden), w2, b2)

    def norm1(v: Any) -> Any:
        return F.layer_norm(v, (width,), norm1_w, norm1_b, float(eps))

    def norm2(v: Any) -> Any:
        return F.layer_norm(v, (width,), norm2_w, norm2_b, float(eps))

    if norm_first:
        x = x + attention(norm1(x))
        return x + feed_forward(norm2(x))
    x = norm1(x + attention(x))
    return norm2(x + feed_forward(x))


def with_exportable_operators(graph: Any) -> Any:
    fused = getattr(torch, "_transformer_encoder_layer_fwd", None)
    if not any(n.target is fused for n in graph.graph.nodes):
        return graph
    graph = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
    for n in graph.graph.nodes:
        if n.target is fused:
            n.target = encoder_layer
    graph.recompile()
    return graph


class Traced(torch.nn.Module):
    """The graph as a function of its tensors: numbers are bound, and what it writes to is returned after its results."""

    def __init__(self, graph: Any, values: Sequence[Any], written: List[int]) -> None:
        super().__init__()
        self.graph, self.written = graph, written
        self.numbers = [None if isinstance(v, torch.Tensor) else v for v in values]

    def forward(self, *tensors: Any) -> Tuple[Any, ...]:
        given = iter(tensors)
        values = [next(given) if n is None else n for n in self.numbers]
        for i in self.written:
            values[i] = values[i].clone()
        out = self.graph(*values)
        return tuple(t for t in out if isinstance(t, torch.Tensor)) + tuple(values[i] for i in self.written)


def try_run(graph: Any, values: Sequence[Any]) -> Tuple[List[Any], List[int]]:
    """What the graph returns for copies of these values, and which of them it writes to."""
    copies = [v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values]
    before = [c._version if isinstance(c, torch.Tensor) else 0 for c in copies]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        out = list(graph(*copies))
    written = []
    for i, (c, v) in enumerate(zip(copies, values)):
        if isinstance(c, torch.Tensor) and c._version != before[i]:
            written.append(i)
        elif isinstance(c, torch.Tensor) and not torch.equal(c.nan_to_num(), v.detach().nan_to_num()):
            raise XccError("input %d changes by an operator that does not say so, as batch normalisation does in training" % i)
    return out, written


def exported(traced: Traced, tensors: List[Any]) -> bytes:
    """As ONNX by the exporter that is fast, else by the one that knows more operators."""
    names = ["input_%d" % i for i in range(len(tensors))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return to_onnx(traced, tensors, None, names)
        except Exception as error:  # noqa: BLE001 - exporters raise anything
            first = error
        try:
            return to_onnx(traced, tensors, None, names, dynamo=True, verbose=False)
        except Exception:  # noqa: BLE001
            raise first


def build(graph: Any, values: Sequence[Any], flags: Dict[str, Any]) -> Callable[..., List[Any]]:
    """A function of values of these sizes, which is an archive."""
    results, written = try_run(graph, values)
    graph = with_exportable_operators(graph)
    tensors = [v.detach() for v in values if isinstance(v, torch.Tensor)]
    model = Model(_compile(exported(Traced(graph, values, written), tensors), **flags))
    used = {int(i.name.rsplit("_", 1)[1]) for i in model.inputs}
    count = sum(isinstance(r, torch.Tensor) for r in results)
    if len(model.outputs) != count + len(written):
        raise XccError("the export has %d outputs, not %d" % (len(model.outputs), count + len(written)))
    others = [None if isinstance(r, torch.Tensor) else (r,) for r in results]

    class Forward(torch.autograd.Function):  # without it gradients would end here, unseen
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Tuple[Any, ...]:
            out = model(*[v.detach() for i, v in enumerate(given) if i in used])
            return out if isinstance(out, tuple) else (out,)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise XccError("xcc computes no gradients; train with PyTorch, and compile the trained model")

    def run(*given: Any) -> List[Any]:
        out = Forward.apply(*[v for v in given if isinstance(v, torch.Tensor)])
        with torch.no_grad():
            for i, t in zip(written, out[count:]):
                given[i].copy_(t)
        made = iter(out)
        return [next(made) if o is None else o[0] for o in others]

    return run


def sizes_of(values: Sequence[Any]) -> Tuple[Any, ...]:
    return tuple((v.dtype, tuple(v.shape)) if isinstance(v, torch.Tensor) else v for v in values)


def compiled(graph: Any, examples: Sequence[Any], flags: Dict[str, Any]) -> Callable[..., Any]:
    """Compiled now where all sizes are known, else when it is called. What cannot be exported stays with PyTorch."""
    archives: Dict[Tuple[Any, ...], Callable[..., Any]] = {}

    def of(values: Sequence[Any]) -> Callable[..., Any]:
        key = sizes_of(values)
        if key in archives or len(archives) >= MOST:
            return archives.get(key, graph.forward)
        try:
            archives[key] = build(graph, values, flags)
        except Exception as error:  # noqa: BLE001 - exporters raise anything
            warnings.warn("xcc does not compile this graph, PyTorch runs it: %s" % (str(error).splitlines() or [repr(error)])[0])
            archives[key] = graph.forward
        return archives[key]

    fixed = all(isinstance(x, torch.Tensor) and all(isinstance(n, int) for n in x.shape) for x in examples)
    return of(examples) if fixed else lambda *values: of(values)(*values)
